#!/usr/bin/env python3
"""Cost of every discipline per packet: nanoseconds, instructions and last-level misses, beside DPDK's RED and PIE.

Builds the Rust program beside this file, and `rte.c` where pkg-config finds libdpdk; runs every case for queues of
300, 4,096 and 1,000,000 packets and for 33 and 100,000 flows. Times are those of the fastest of many short
rounds, in turns over the cases; instructions and misses from callgrind inside the measured loop alone, with a simulated
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
# A million mbufs are more than 64 MB.
MBUF = "mbuf_"
EXTRA = (
    *("any:choke", "bursts:choke", "decide:choke", "decide_rarely:choke", "decide:red"),
    *("modes:choke", "modes_rarely:choke", "once:choke", "once_rarely:choke", "modes:red"),
)
# With as few flows half of the arrivals match.
HALF_MATCH = 4
# What decides, its case, and flows, for the table of decisions beside `rte_red`.
DECISIONS = (
    ("`rte_red`", "rte_red", 100_000),
    ("RED in bursts", "decide:red", 100_000),
    ("RED in bursts, average once and count-down", "modes:red", 100_000),
    ("RED with its queue, one by one", "red", 100_000),
    *(
        ("CHOKe in bursts", case, flows)
        for case, flows in zip(
            ("decide_rarely:choke", *["decide:choke"] * 3), (100_000, 100_000, 33, HALF_MATCH), strict=True
        )
    ),
    *(
        (f"CHOKe in bursts, {label}", f"{case}{rarely}:choke", flows)
        for label, case in (("all three modes", "modes"), ("average once and count-down", "once"))
        for rarely, flows in (("_rarely", 100_000), ("", 100_000), ("", 33))
    ),
    *(("CHOKe with its queue, one by one", "choke", flows) for flows in (100_000, 33, HALF_MATCH)),
)
MBUFS = (
    ("the ring by itself", "mbuf_ring", 100_000),
    ("`rte_red`", "mbuf_red", 100_000),
    ("CHOKe in bursts", "mbuf_choke", 100_000),
    ("CHOKe in bursts", "mbuf_choke", 33),
    ("`rte_red`, empties, below `min_th`", "mbuf_red_empties", 100_000),
    ("CHOKe in bursts, empties, below `min_th`", "mbuf_choke_empties", 100_000),
)
# Case, length of the queue, flows.
Run = tuple[str, int, int]


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


def build_mbufs(directory: Path) -> Path | None:
    """The C program with real mbufs over the library for C, as `make ffi` leaves it; None without that or DPDK."""
    archive = ROOT / "target" / "c" / "libfairdrop_ffi.a"
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=False)
    if flags.returncode != 0 or not archive.exists():
        return None
    program = directory / "mbufs"
    header = ROOT / "crates" / "fairdrop-ffi" / "include"
    command = ["cc", "-O3", "-DALLOW_EXPERIMENTAL_API", *flags.stdout.split(), f"-I{header}", str(HERE / "mbufs.c")]
    libraries = ["-lrte_sched", "-lrte_mbuf", "-lrte_mempool", "-lrte_eal", "-lm"]
    subprocess.run([*command, "-o", str(program), str(archive), *libraries], check=True)
    return program


def run(command: list[str], timeout_s: float) -> list[float] | None:
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None
    return [float(line) for line in done.stdout.split()]


def count(program: Path, run_of: Run, timeout_s: float) -> dict[str, float] | None:
    case, limit, flows = run_of
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
    """One row for each case."""
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


def beside_rte_red(results: list[dict], rows: tuple, limits: tuple[int, ...]) -> str:
    """Instructions and time of each row, and their ratios to those of `rte_red` at the same length."""
    by = {(r["case"], r["limit"], r["flows"]): r for r in results}
    head = ["dropped", *(f"{what}, {limit:,} packets" for what in ("instructions", "time") for limit in limits)]
    lines = ["| | " + " | ".join(head) + " |", "|---|" + "---:|" * len(head)]
    for label, case, flows in rows:
        found = [by.get((case, limit, flows), {}) for limit in limits]
        dropped = next((f"{r['dropped_percent']:.1f} %" for r in found if "dropped_percent" in r), "–")
        cells = [label, dropped]
        for what, unit, digits in (("instructions", "", 0), ("ns", " ns", 1)):
            for limit, result in zip(limits, found, strict=True):
                rival = by.get((rows[0][1] if rows is DECISIONS else "mbuf_red", limit, 100_000), {})
                ratio = f" ({result[what] / rival[what]:.2f})" if what in result and what in rival else ""
                cells.append(f"{result[what]:.{digits}f}{unit}{ratio}" if what in result else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "bench.json", help="where to write the figures")
    parser.add_argument("--cases", help="only these, with commas between them")
    parser.add_argument("--turns", type=int, default=3, help="times that every case is timed")
    parser.add_argument("--no-count", action="store_true", help="no valgrind: times only")
    parser.add_argument(
        "--no-time", action="store_true", help="times are those of the file: instructions only, on a busy machine"
    )
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one case; slower ones are left out")
    parser.add_argument("--limits", help="queues of these lengths, with commas between them")
    options = parser.parse_args()
    limits = tuple(map(int, options.limits.split(","))) if options.limits else LIMITS
    # Huge pages where the allocator can ask for them: misses are then of the cache, not of the page table.
    os.environ["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    options.json.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        cases = find_cases(Path(directory), options.cases)
        runs = [
            (case, limit, flows)
            for limit in limits
            for flows in FLOWS
            for case in cases
            if not (case in SLOW and limit > LIMITS[0])
            and not ((case in SHORT or case.startswith(MBUF)) and limit > LIMITS[1])
        ]
        few = [case for _, case, flows in DECISIONS if flows == HALF_MATCH and case in cases]
        runs += [(case, limit, HALF_MATCH) for case in few for limit in limits if limit <= LIMITS[1]]
        results: dict[Run, dict] = {}
        if options.no_time:
            results = {(r["case"], r["limit"], r["flows"]): r for r in json.loads(options.json.read_text())}
            for run_of in runs:
                results.setdefault(run_of, dict(zip(("case", "limit", "flows"), run_of, strict=True)))
        for _ in range(0 if options.no_time else options.turns):
            time_all(runs, cases, results, options.timeout)
            save(results, options.json)
        for run_of in filter(results.__contains__, runs):
            case, limit, flows = run_of
            result = results[run_of]
            if not options.no_count and case not in SLOW and shutil.which("valgrind"):
                result |= count(cases[case], run_of, options.timeout) or {}
                save(results, options.json)
            print(f"{case:>20} {limit:>9,} {flows:>8,}   {cell(result)}", flush=True)


def find_cases(directory: Path, wanted: str | None) -> dict[str, Path]:
    """Every case with the program that has it."""
    rust, rte = build(), build_rte(directory)
    if rte is None:
        print("rte_red, rte_pie: DPDK is not installed", file=sys.stderr)
    cases = {}
    for program in filter(None, (rust, rte, rte and build_mbufs(directory))):
        names = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.split()
        cases |= dict.fromkeys(names, program)
    cases |= dict.fromkeys(EXTRA, rust)
    return {case: cases[case] for case in wanted.split(",") if case in cases} if wanted else cases


def time_all(runs: list[Run], cases: dict[str, Path], results: dict[Run, dict], timeout_s: float) -> None:
    """One turn; the fastest round of all turns counts."""
    for case, limit, flows in runs:
        arrivals, rounds = (2_000, 3) if case in SLOW else (100_000, 25)
        command = [str(cases[case]), "time", case, *map(str, (limit, flows, arrivals, rounds))]
        times = run(command, timeout_s)
        if times is not None:
            result = results.setdefault((case, limit, flows), {"case": case, "limit": limit, "flows": flows})
            result["ns"] = min([*times, result.get("ns", float("inf"))])


def save(results: dict[Run, dict], path: Path) -> None:
    rows = list(results.values())
    path.write_text(json.dumps(rows, indent=1) + "\n")
    short = LIMITS[:2]
    tables = (table(rows), beside_rte_red(rows, DECISIONS, short), beside_rte_red(rows, MBUFS, short[1:]))
    path.with_suffix(".md").write_text("\n\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
