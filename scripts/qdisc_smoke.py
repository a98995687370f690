"""Loads every BPF qdisc into a Debian kernel in a virtual machine, and reconciles its counters with the kernel's own.

python scripts/qdisc_smoke.py [PACKAGE ...]    kernels by the names of their packages; without one, the newest
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import qdisc_vm
from qdisc_vm import CACHE, ROOT, Ended, Missing

OBJECTS = ROOT / "build" / "bpf"
DISCIPLINES = ("red", "choke", "chokew", "ward", "collar")
GUEST = ROOT / "tests" / "bpf" / "guest_smoke.sh"
# Of all kinds together; a round of adding and deleting that lost its queue would lose 20 times as many.
MOST_LEAKED = 300
SECONDS = 345


def fairdropd() -> Path:
    """The program to load with: that of `make fairdropd`, or what cargo has built last."""
    places = [
        ROOT / ".venv" / "bin" / "fairdropd",
        *(ROOT / "target" / name / "fairdropd" for name in ("release", "debug")),
    ]
    found = [Path(os.environ["FAIRDROPD"])] if "FAIRDROPD" in os.environ else [path for path in places if path.exists()]
    if not found:
        raise Missing("there is no fairdropd (make fairdropd, or cargo build --package fairdrop-live)")
    return max(found, key=lambda path: path.stat().st_mtime)


def files() -> dict[str, Path]:
    """What the guest has beside the programs of this machine."""
    objects = {f"objects/fairdrop-{name}.bpf.o": OBJECTS / f"fairdrop-{name}.bpf.o" for name in DISCIPLINES}
    clang = any(shutil.which(name) for name in ("clang-16", "clang-17", "clang-18", "clang-19", "clang"))
    if not clang or not Path("/usr/include/bpf/bpf_helpers.h").exists():
        raise Missing("there is no clang, or there are no headers of libbpf (Debian packages clang-16, libbpf-dev)")
    subprocess.run(["make", "--silent", "-C", ROOT / "bpf", "objects", "native"], check=True)
    libraries = [*Path("/usr/lib").glob("*/libbpf.so.1"), *Path("/usr/lib64").glob("libbpf.so.1")]
    if not libraries:
        raise Missing("libbpf.so.1 is not installed (Debian package libbpf1)")
    for program in ("iperf3", "ip", "tc", "insmod"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            raise Missing(f"{program} is not installed (Debian packages iperf3, iproute2, kmod)")
    return {"bin/poke": OBJECTS / "poke", "bin/fairdropd": fairdropd(), "lib/libbpf.so.1": libraries[0], **objects}


def reconciled(ours: dict[str, Any], kernel: dict[str, Any]) -> list[str]:
    """What differs between the counters of a program and those of the kernel for its qdisc."""
    counters, waiting = ours["counters"], ours["waiting"]
    drops = sum(amount["packets"] for amount in counters["dropped"].values())
    pairs = {
        "departed packets": (counters["departed"]["packets"], kernel["packets"]),
        "departed bytes": (counters["departed"]["bytes"], kernel["bytes"]),
        "dropped packets": (drops, kernel["drops"]),
        "waiting packets": (waiting["packets"], kernel["qlen"]),
        "waiting bytes": (waiting["bytes"], kernel["backlog"]),
        "stuck draws": (counters["stuck_draws"], 0),
    }
    return [
        f"{name}: {one} by the program, {other} by the kernel" for name, (one, other) in pairs.items() if one != other
    ]


def judge(ended: Ended) -> list[str]:
    """What went wrong in a guest; prints a line for each state."""
    wrong = [line for line in ended.lines if line.startswith("FAILED")]
    if ended.status != 0:
        return [*wrong, f"the guest did not come to its end: {ended.lines[-1:]}; its lines are in {CACHE}"]
    rest = iter(ended.lines)
    states: dict[tuple[str, str], dict[str, Any]] = {}
    for line in rest:
        if line.startswith("STATE "):
            _, discipline, name = line.split()
            [ours] = json.loads(next(rest).removeprefix("FAIRDROPD "))
            [kernel] = json.loads(next(rest).removeprefix("TC "))
            states[discipline, name] = ours
            wrong += [f"{discipline}, {name}: {what}" for what in reconciled(ours, kernel)]
    for discipline in DISCIPLINES:
        wrong += judge_states(discipline, states)
    wrong += leaked(ended)
    refused = [line for line in ended.lines if line.startswith("REFUSED ")]
    wrong += [f"not refused: {line}" for line in refused if "; valid: " not in line]
    return wrong if len(refused) == 4 else [*wrong, "some bad words were not tried"]


def judge_states(discipline: str, states: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Whether a program was there, queued, sent and dropped for the causes that it has."""
    names = ("traffic", "change", "replaced", "poked")
    if missing := [name for name in names if (discipline, name) not in states]:
        return [f"{discipline}: no state after {', '.join(missing)}"]
    counters = states[discipline, "traffic"]["counters"]
    dropped = {cause: amount["packets"] for cause, amount in counters["dropped"].items() if amount["packets"]}
    arrived, departed = (counters[name]["packets"] for name in ("arrived", "departed"))
    print(f"{discipline:7} arrived {arrived:6} departed {departed:6} {dropped}")
    expected = {"red": "red_early", "collar": "filter"}.get(discipline, "match_queued")
    wrong = [] if expected in dropped else [f"{discipline}: nothing was dropped as {expected}"]
    if departed < 500:
        wrong.append(f"{discipline}: {departed} packets left in 5 s at 4 Mb/s")
    unchecked = {name: states[discipline, name]["counters"]["unchecked"] for name in names}
    if unchecked.pop("poked") == 0 or any(unchecked.values()):
        wrong.append(f"{discipline}: packets under bad settings: {unchecked}")
    if states[discipline, "replaced"]["counters"]["arrived"]["packets"] == 0:
        wrong.append(f"{discipline}: it was not replaced under traffic")
    if states[discipline, "change"]["options"]["limit"] != "50p":
        wrong.append(f"{discipline}: the limit was not changed")
    return wrong


def leaked(ended: Ended) -> list[str]:
    """Packets that the kernel still holds after all qdiscs are gone."""
    held = {}
    for line in ended.lines:
        if line.startswith("SKBS "):
            _, when, *words = line.split()
            held[when] = sum(int(word) for word in words[1::2])
    print(f"packets held by the kernel: {held}")
    if held.get("after", 10**9) - held.get("before", 0) > MOST_LEAKED:
        return [f"packets are leaked: {held}"]
    return []


def main(packages: list[str]) -> int:
    """0 where all is well or this machine can't run a guest."""
    try:
        files_of_guest = files()
        kernels = [qdisc_vm.fetch(package) for package in packages or [qdisc_vm.NEWEST]]
        qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
    except Missing as reason:
        print(f"qdisc-smoke: skipped: {reason}")
        return 0
    status = 0
    for kernel in kernels:
        ended = qdisc_vm.boot(
            kernel, GUEST.read_text(), files_of_guest, seconds=SECONDS, echo="-v" in os.environ.get("QDISC", "")
        )
        (CACHE / f"smoke-{kernel.version}.log").write_text("\n".join(ended.lines) + "\n")
        wrong = judge(ended)
        print(f"Linux {kernel.version} ({kernel.package}): {'; '.join(wrong) or 'passed'}, {ended.seconds:.0f} s")
        status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
