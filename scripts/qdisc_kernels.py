"""Loads every BPF qdisc into Debian kernels, sends traffic through it, and reconciles its counters with the kernel's.

    python scripts/qdisc_kernels.py PACKAGE ...    kernels by the names of their packages

A short form of qdisc_smoke.py, in virtual time: the load of this machine can't end it.
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
SECONDS = 1800.0


def script() -> str:
    """The network of the loads and the programs."""
    return "".join((GUESTS / f"guest_{name}.sh").read_text() for name in ("network", "kernels"))


def judge(lines: list[str]) -> tuple[list[str], list[str]]:
    """What went wrong, and a line for each program that was loaded."""
    wrong = [line for line in lines if line.startswith("FAILED")]
    shown = []
    loaded: dict[str, float] = {}
    rest = iter(lines)
    for line in rest:
        word, _, name = line.partition(" ")
        if word == "LOADED":
            name, begin, end = name.split()
            loaded[name] = float(end) - float(begin)
        elif word == "STATE":
            [ours] = json.loads(next(rest).removeprefix("FAIRDROPD "))
            [kernel] = json.loads(next(rest).removeprefix("TC "))
            wrong += [f"{name}: {what}" for what in qdisc_smoke.reconciled(ours, kernel)]
            arrived, departed = (ours["counters"][which]["packets"] for which in ("arrived", "departed"))
            if not 0 < departed < arrived:
                wrong.append(f"{name}: {departed} of {arrived} packets left")
            shown.append(f"{name:7} loaded in {loaded[name]:.1f} s, arrived {arrived}, departed {departed}")
    if missing := set(qdisc_smoke.DISCIPLINES) - loaded.keys():
        wrong.append(f"not loaded: {', '.join(sorted(missing))}")
    return wrong, shown


def main(packages: list[str]) -> int:
    """1 where a kernel refuses a program or counts otherwise; 0 where this machine can't run a guest."""
    status = 0
    try:
        flows = CACHE / "flows"
        files = qdisc_smoke.files() | {"bin/flows": flows}
        subprocess.run(["cc", "-O2", "-o", flows, GUESTS / "guest_flows.c"], check=True)
        qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
        for package in packages or [qdisc_vm.NEWEST]:
            kernel = qdisc_vm.fetch(package)
            ended = qdisc_vm.boot(kernel, script(), files, seconds=SECONDS, counted=True)
            (Path(CACHE) / f"kernels-{kernel.version}.log").write_text("\n".join(ended.lines) + "\n")
            wrong, shown = judge(ended.lines)
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
