"""Measures what the BPF qdiscs endure and cost in a virtual machine whose time is counted in instructions.

    python scripts/qdisc_lab.py [PACKAGE]    a kernel by the name of its package; without one, the newest

Results of parts that have ended stay in `build/qdisc/lab`: a campaign that was interrupted goes on where it was. Shares
beside the simulator are `python -m experiments.kernel_shares.campaign`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import qdisc_smoke
import qdisc_vm
from qdisc_vm import CACHE, ROOT, Ended, Kernel, Missing

# Of virtual time, with `-icount shift=2`.
NS_PER_INSTRUCTION = 4
GUESTS = ROOT / "tests" / "bpf"
HOUR = 3600.0


def instructions(ended: Ended) -> dict[str, dict[str, float]]:
    """Instructions for each packet that the generator makes, by qdisc, and the part of them that was dropped."""
    found = {}
    for line in ended.lines:
        if line.startswith("COST "):
            _, name, sent, dropped, microseconds = line.split()
            packets = int(sent) + int(dropped)
            each = int(microseconds) * 1000 / NS_PER_INSTRUCTION / packets
            found[name] = {"instructions": round(each, 1), "packets": packets, "dropped": int(dropped) / packets}
    return found


def endured(ended: Ended) -> dict[str, Any]:
    """Rounds of adding and deleting, packets of the floods, packets held by the kernel before and after."""
    wrong = [line for line in ended.lines if line.startswith("FAILED")] + qdisc_smoke.leaked(ended)
    if wrong:
        raise RuntimeError("\n".join(wrong))
    found: dict[str, Any] = {}
    for line in ended.lines:
        word, _, rest = line.partition(" ")
        if word == "ROUNDS":
            discipline, rounds = rest.split()
            found[discipline] = {"rounds": int(rounds)}
        elif word == "FLOOD":
            discipline, _, text = rest.partition(" ")
            counters = json.loads(text)[0]["counters"]
            found[discipline] |= {name: counters[name]["packets"] for name in ("arrived", "departed")}
        elif word == "MQ":
            found["below mq"] = [qdisc["counters"]["departed"]["packets"] for qdisc in json.loads(rest)]
        elif word == "KMEMLEAK":
            found["kmemleak"] = int(rest)
    return found


def part(kernel: Kernel, files: dict[str, Path], name: str, read: Callable[[Ended], Any]) -> Any:
    """The results of a part, which is run unless it was."""
    kept = CACHE / "lab" / f"{name}-{kernel.version}.json"
    if not kept.exists():
        script = (GUESTS / f"guest_{name}.sh").read_text()
        ended = qdisc_vm.boot(kernel, script, files, seconds=HOUR, counted=True)
        kept.with_suffix(".log").write_text("\n".join(ended.lines) + "\n")
        found = read(ended)
        if ended.status != 0 or not found:
            raise RuntimeError("\n".join(ended.lines[-20:]))
        kept.write_text(json.dumps(found, indent=1) + "\n")
    return json.loads(kept.read_text())


def main(packages: list[str]) -> int:
    """Prints what was measured; 0 also where this machine can't run a guest."""
    try:
        files = qdisc_smoke.files()
        kernel = qdisc_vm.fetch(*packages[:1])
        qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
    except Missing as reason:
        print(f"qdisc-lab: skipped: {reason}")
        return 0
    (CACHE / "lab").mkdir(parents=True, exist_ok=True)
    stress = part(kernel, files, "stress", endured)
    print(f"Linux {kernel.version}: deleted and added under traffic, and flooded")
    for name, result in stress.items():
        print(f"{name:20} {result}")
    costs = part(kernel, files, "cost", instructions)
    print(f"Linux {kernel.version}: instructions for a packet, with those of generator and device; the part dropped")
    for name, cost in costs.items():
        print(f"{name:20} {cost['instructions']:8.0f} {100 * cost['dropped']:6.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
