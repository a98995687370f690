"""Loads every BPF qdisc into Debian kernels, changes it under traffic, and reconciles its counters with the kernel's.

    python scripts/qdisc_kernels.py PACKAGE ...    kernels by the names of their packages

A short form of qdisc_smoke.py, in virtual time, with 1000 changes of each program: a quarter of an hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import qdisc_smoke
import qdisc_vm
from qdisc_vm import CACHE, ROOT, Missing

GUESTS = ROOT / "tests" / "bpf"
SECONDS = 5400.0
# Programs of the guest in C.
TOOLS = ("flows", "verified")
# Of one function, by the kernel's verifier, which gives up at 1,000,000.
MOST_VERIFIED = 500_000


def script() -> str:
    """The network of the loads and the programs."""
    return "".join((GUESTS / f"guest_{name}.sh").read_text() for name in ("network", "kernels"))


def judge(lines: list[str]) -> tuple[list[str], list[str]]:
    """What went wrong, and a line for each program that was loaded."""
    wrong = [line for line in lines if line.startswith("FAILED")]
    shown = []
    loaded: dict[str, float] = {}
    verified: dict[str, int] = {}
    changed: dict[str, int] = {}
    rest = iter(lines)
    for line in rest:
        word, _, name = line.partition(" ")
        if word == "LOADED":
            name, begin, end = name.split()
            loaded[name] = float(end) - float(begin)
        elif word == "VERIFIED":
            name, most, _ = name.split()
            verified[name] = int(most)
        elif word == "CHANGED":
            name, rounds = name.split()
            changed[name] = int(rounds)
        elif word == "STATE":
            [ours] = json.loads(next(rest).removeprefix("FAIRDROPD "))
            [kernel] = json.loads(next(rest).removeprefix("TC "))
            wrong += [f"{name}: {what}" for what in qdisc_smoke.reconciled(ours, kernel)]
            arrived, departed = (ours["counters"][which]["packets"] for which in ("arrived", "departed"))
            if not 0 < departed < arrived:
                wrong.append(f"{name}: {departed} of {arrived} packets left")
            shown.append(
                f"{name:7} loaded in {loaded[name]:.1f} s, {verified.get(name, 0)} instructions verified, "
                f"changed {changed.get(name, 0)} times, arrived {arrived}, departed {departed}"
            )
            if not 0 < verified.get(name, 0) < MOST_VERIFIED:
                wrong.append(f"{name}: {verified.get(name, 0)} instructions verified, of less than {MOST_VERIFIED}")
    if missing := set(qdisc_smoke.DISCIPLINES) - loaded.keys():
        wrong.append(f"not loaded: {', '.join(sorted(missing))}")
    return wrong, shown


def main(packages: list[str]) -> int:
    """1 where a kernel refuses a program or counts otherwise; 0 where this machine can't run a guest."""
    status = 0
    try:
        tools = {f"bin/{name}": CACHE / name for name in TOOLS}
        files = qdisc_smoke.files() | tools
        for name in TOOLS:
            subprocess.run(["cc", "-O2", "-o", CACHE / name, GUESTS / f"guest_{name}.c"], check=True)
        qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
        for package in packages or [qdisc_vm.NEWEST]:
            kernel = qdisc_vm.fetch(package)
            ended = qdisc_vm.boot(kernel, script(), files, seconds=SECONDS, counted=True)
            (Path(CACHE) / f"kernels-{kernel.version}.log").write_text("\n".join(ended.lines) + "\n")
            wrong, shown = judge(ended.lines)
            wrong += qdisc_smoke.leaked(ended)
            wrong += [] if ended.status == 0 else [f"the guest did not come to its end: {ended.lines[-1:]}"]
            print(
                "\n".join([*shown, f"Linux {kernel.version} ({package}): {'; '.join(wrong) or 'passed'}"]), flush=True
            )
            status |= bool(wrong)
    except Missing as reason:
        print(f"qdisc-kernels: skipped: {reason}")
        return status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
