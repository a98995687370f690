#!/usr/bin/env python3
"""Millions of packets per second of one core, through each queue, between DPDK's null devices.

Runs of the cases take turns, so that what else the machine does falls on all of them. Time is that of the processor.
Prints tables in Markdown. `--json` keeps every run in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

FORWARD = Path(__file__).resolve().parent / "build" / "forward"
# Flow numbers cost a hash of the headers; RED and DropTail do without.
CASES = {
    "bare": ["none"],
    "rte_red": ["rte_red"],
    "droptail, no flow numbers": ["droptail", "--no-flows"],
    "red, no flow numbers": ["red", "--no-flows"],
    "droptail": ["droptail"],
    "red": ["red"],
    "choke": ["choke"],
}
# Thresholds are 100 and 200 packets of a limit of 300.
QUEUES = {"an empty queue": [], "150 packets waiting": ["--hold", "150"]}


def measured(core: int, packets: int, options: list[str]) -> tuple[float, float]:
    """Mpps, and the percentage that was dropped."""
    command = [FORWARD, "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-l", str(core)]
    command += ["--vdev=net_null0,size=64", "--", "--json", "--seed", "1", "--fill", "100"]
    command += ["--packets", str(packets), "--discipline", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found = json.loads(done.stdout)
    (path,) = found["paths"]
    dropped = sum(cause["packets"] for cause in path["dropped"].values())
    return packets / found["cpu_seconds"] / 1e6, 100 * dropped / packets


def processor() -> str:
    """Its name, as the kernel has it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown")


def main() -> None:
    """Measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="of each case (default 5)")
    parser.add_argument("--packets", type=int, default=20_000_000, help="of each run (default 20000000)")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), help="the core to run on")
    parser.add_argument("--json", type=Path, help="a file for all runs")
    chosen = parser.parse_args()
    runs: dict[str, dict[str, list[tuple[float, float]]]] = {name: {case: [] for case in CASES} for name in QUEUES}
    for _ in range(chosen.runs):
        for name, more in QUEUES.items():
            for case, options in CASES.items():
                if case != "bare" or not more:  # bare forwarding lets nothing wait
                    runs[name][case].append(measured(chosen.core, chosen.packets, [*options, *more]))
    print(f"{processor()}; medians of {chosen.runs} runs of {chosen.packets} packets\n")
    for name in QUEUES:
        rates = {case: [rate for rate, _ in found] for case, found in runs[name].items() if found}
        bare = statistics.median(rate for rate, _ in runs[next(iter(QUEUES))]["bare"])
        red = statistics.median(rates["rte_red"])
        columns = [name, "Mpps", "lowest to highest", "of bare", "of rte_red", "dropped, %"]
        print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
        for case, found in rates.items():
            middle = statistics.median(found)
            dropped = statistics.median(lost for _, lost in runs[name][case])
            spread = f"{min(found):.1f} to {max(found):.1f}"
            print(f"| {case} | {middle:.1f} | {spread} | {middle / bare:.2f} | {middle / red:.2f} | {dropped:.1f} |")
        print()
    if chosen.json:
        chosen.json.write_text(json.dumps(runs) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
