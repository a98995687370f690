"""Measures the BPF qdiscs in a Debian kernel in a virtual machine, whose time is counted in instructions.

    python scripts/qdisc_lab.py [PACKAGE]    a kernel by the name of its package; without one, the newest

Results of parts that have ended stay in `build/qdisc/lab`: a campaign that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import qdisc_smoke
import qdisc_vm
from qdisc_vm import CACHE, ROOT, Kernel, Missing

# Of virtual time, with `-icount shift=2`.
NS_PER_INSTRUCTION = 4
GUEST = ROOT / "tests" / "bpf" / "guest_cost.sh"
HOUR = 3600.0


def instructions(kernel: Kernel, files: dict[str, Path]) -> dict[str, dict[str, float]]:
    """Instructions for each packet that the generator makes, by qdisc, and the part of them that was dropped."""
    ended = qdisc_vm.boot(kernel, GUEST.read_text(), files, seconds=HOUR, counted=True)
    (CACHE / "lab" / f"cost-{kernel.version}.log").write_text("\n".join(ended.lines) + "\n")
    found = {}
    for line in ended.lines:
        if line.startswith("COST "):
            _, name, sent, dropped, microseconds = line.split()
            packets = int(sent) + int(dropped)
            each = int(microseconds) * 1000 / NS_PER_INSTRUCTION / packets
            found[name] = {"instructions": round(each, 1), "packets": packets, "dropped": int(dropped) / packets}
    if ended.status != 0 or not found:
        raise RuntimeError("\n".join(ended.lines[-20:]))
    return found


def main(packages: list[str]) -> int:
    """Prints a table; 0 also where this machine can't run a guest."""
    try:
        files = qdisc_smoke.files()
        kernel = qdisc_vm.fetch(*packages[:1])
        qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
    except Missing as reason:
        print(f"qdisc-lab: skipped: {reason}")
        return 0
    (CACHE / "lab").mkdir(parents=True, exist_ok=True)
    kept = CACHE / "lab" / f"cost-{kernel.version}.json"
    if not kept.exists():
        kept.write_text(json.dumps(instructions(kernel, files), indent=1) + "\n")
    costs = json.loads(kept.read_text())
    print(f"Linux {kernel.version}: instructions for a packet, with those of generator and device; the part dropped")
    for name, cost in costs.items():
        print(f"{name:20} {cost['instructions']:8.0f} {100 * cost['dropped']:6.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
