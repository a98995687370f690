#!/usr/bin/env python3
"""Cost of every discipline per packet: nanoseconds, instructions and last-level misses, beside DPDK's RED and PIE.

Builds the Rust program beside this file, and `rte.c` where pkg-config finds libdpdk; runs every case for queues of
300, 4,096 and 1,000,000 packets and for 33 and 100,000 flows. Times come from many short rounds, of which the fastest
counts, in turns over the cases; instructions and misses from callgrind inside the measured loop alone, with a simulated
last-level cache of fixed size. See docs/reference/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
LIMITS = (300, 4096, 1_000_000)
FLOWS = (33, 100_000)
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
COUNTED = 100_000
# One packet takes microseconds: the model of the hardware walks its list.
SLOW = ("choke_hardware",)
# The length that its tail drop compares has 16 bits.
SHORT = ("rte_pie",)
EXTRA = ("any:choke", "bursts:choke")


def build() -> Path:
    command = ["cargo", "bench", "-p", "fairdrop", "--bench", "disciplines", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout.splitlines()
    return Path(next(m["executable"] for m in reversed([json.loads(x) for x in lines]) if m.get("executable")))


def build_rte(directory: Path) -> Path | None:
    """The C program; None where DPDK or a compiler is not installed."""
    compiler = shutil.which("cc")
    if not compiler or not shutil.which("pkg-config"):
        return None
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=False)
    if flags.returncode != 0:
        return None
    program = directory / "rte"
    command = [compiler, "-O3", "-DALLOW_EXPERIMENTAL_API", *flags.stdout.split(), str(HERE / "rte.c")]
    subprocess.run([*command, "-o", str(program), "-lrte_sched", "-lrte_eal", "-lm"], check=True)
    return program


def run(command: list[str], timeout_s: float) -> list[float] | None:
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None
    return [float(line) for line in done.stdout.split()]


def count(program: Path, case: str, limit: int, flows: int, timeout_s: float) -> dict[str, float] | None:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        valgrind = ["valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES, f"--callgrind-out-file={out}"]
        valgrind += ["--toggle-collect=*measured_loop*"]
        dropped = run([*valgrind, str(program), "count", case, str(limit), str(flows), str(COUNTED)], timeout_s)
        if dropped is None:
            return None
        text = out.read_text()
    names = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
    totals = re.search(r"^(?:totals|summary): (.*)$", text, re.MULTILINE)[1].split()
    events = dict(zip(names, map(int, totals), strict=False))
    misses = (events.get("DLmr", 0) + events.get("DLmw", 0)) / COUNTED
    return {"instructions": events["Ir"] / COUNTED, "ll_misses": misses, "dropped_percent": dropped[0]}


def table(results: list[dict]) -> str:
    """One row for each case; times also as ratios to rte_red at the same length."""
    by = {(r["case"], r["limit"], r["flows"]): r for r in results}
    head = "| | " + " | ".join(f"{limit:,} packets, {flows:,} flows" for limit in LIMITS for flows in FLOWS) + " |"
    lines = [head, "|---|" + "---:|" * (len(LIMITS) * len(FLOWS))]
    for case in dict.fromkeys(r["case"] for r in results):
        cells = [by.get((case, limit, flows)) for limit in LIMITS for flows in FLOWS]
        lines.append(f"| {case} | " + " | ".join(map(cell, cells)) + " |")
    return "\n".join(lines)


def cell(result: dict | None) -> str:
    if result is None:
        return "–"
    parts = [f"{result['ns']:.1f} ns" if result.get("ns") else ""]
    if result.get("instructions"):
        parts += [f"{result['instructions']:.0f}", f"{result['ll_misses']:.2f}", f"{result['dropped_percent']:.0f} %"]
    return " / ".join(part for part in parts if part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "bench.json", help="where to write the figures")
    parser.add_argument("--cases", help="only these, with commas between them")
    parser.add_argument("--turns", type=int, default=3, help="times that every case is timed")
    parser.add_argument("--no-count", action="store_true", help="no valgrind: times only")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one case; slower ones are left out")
    options = parser.parse_args()
    # Huge pages where the allocator can ask for them: misses are then of the cache, not of the page table.
    os.environ["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    counts = not options.no_count and shutil.which("valgrind") is not None
    with tempfile.TemporaryDirectory() as directory:
        programs = [build(), build_rte(Path(directory))]
        if programs[1] is None:
            print("rte_red, rte_pie: DPDK is not installed", file=sys.stderr)
        cases: dict[str, Path] = {}
        for program in filter(None, programs):
            for case in subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.split():
                cases[case] = program
        cases |= dict.fromkeys(EXTRA, programs[0])
        if options.cases:
            cases = {case: cases[case] for case in options.cases.split(",") if case in cases}
        results: dict[tuple[str, int, int], dict] = {}
        for turn in range(options.turns):
            for limit in LIMITS:
                for flows in FLOWS:
                    for case, program in cases.items():
                        if (case in SLOW and limit > LIMITS[0]) or (case in SHORT and limit > LIMITS[1]):
                            continue
                        rounds = (2_000, 3) if case in SLOW else (100_000, 25)
                        command = [str(program), "time", case, str(limit), str(flows), *map(str, rounds)]
                        key = (case, limit, flows)
                        if turn > 0 and key not in results:
                            continue
                        times = run(command, options.timeout)
                        if times is None:
                            continue
                        result = results.setdefault(key, {"case": case, "limit": limit, "flows": flows})
                        result["ns"] = min([*times, result.get("ns", float("inf"))])
        for (case, limit, flows), result in results.items():
            if counts and case not in SLOW:
                result |= count(cases[case], case, limit, flows, options.timeout) or {}
            print(f"{case:>20} {limit:>9,} {flows:>8,}   {cell(result)}", flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(list(results.values()), indent=1) + "\n")
    options.json.with_suffix(".md").write_text(table(list(results.values())) + "\n")


if __name__ == "__main__":
    main()
