#!/usr/bin/env python3
"""Measure what the sets of loads.py do not ask, and write it into the pages of COLLAR.

Rules that were tried in the place of one of COLLAR's; links of 10 Gb/s; how long a slow link takes to settle; TCP
Prague over one queue; the controller's gains where round trips are long. Each finished run is a line of trials.csv
beside this file; a run that is in it is not made again. All of them go through the program of the ablations.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from experiments.shares.campaign import Row, Task, judge, make_runs, program, read
from experiments.shares.loads import Load, development, tcp, udp
from experiments.shares.page import PAGE, interval, with_tables

HERE = Path(__file__).resolve().parent
THEORY = PAGE.with_name("collar-theory.md")
STORE = HERE / "trials.csv"
KEYS = ("table", "load", "discipline", "seed")
MEASURES = (
    "greedy", "tcp", "jain_tcp", "wait_mean_ms", "utilisation", "first_bps", "second_bps", "first_wait_ms",
    "second_wait_ms",
)  # fmt: skip
#: COLLAR by its reference, and with a rule that was tried.
WHOLE = "collar_whole"
TRIED = ("second_match", "others", "young", "slow_gains")
#: Seconds of a window of settling, windows, and those of a mean. A fair share of 101 flows is 1.2 packets/s at 1 Mb/s.
WINDOW_S, WINDOWS, MEAN_OF = 2.5, 16, 4
SETTLED = 1.3


@dataclass(frozen=True)
class Table:
    """What is run: loads, disciplines, seeds; and what is written of it."""

    loads: Callable[[], Iterator[Load]]
    disciplines: tuple[str, ...]
    seeds: int
    written: Callable[[Sequence[Row]], str]


def rules() -> Iterator[Load]:
    """The loads of the development set that tell rules apart."""
    asked = (
        "1 Mb/s, 32", "100 CUBIC, UDP", "5 UDP of 50", "280", "on and off", "mice", "1 Gb/s", "100 NewReno",
        "4 NewReno", "from 30 s",
    )  # fmt: skip
    return (load for load in development() if any(part in load.name for part in asked))


def fast() -> Iterator[Load]:
    """1 Gb/s once it has settled; 10 Gb/s with few flows, near and far, and with many. A buffer of one product."""
    for rate, count, rtt_s, size, duration_s, warm_up_s in (
        (1e9, 4, 0.04, 1000, 60.0, 30.0),
        (1e10, 4, 0.005, 1500, 20.0, 10.0),
        (1e10, 4, 0.04, 9000, 60.0, 30.0),
        (1e10, 100, 0.02, 9000, 20.0, 10.0),
    ):
        groups = (tcp(count, "cubic", max_window=100_000), udp(1, rate))
        name = f"{rate / 1e9:g} Gb/s, {count} CUBIC, UDP, {1e3 * rtt_s:g} ms, {size} B"
        yield Load(name, rate, rtt_s, int(rate * rtt_s / (8 * size)), groups, size, duration_s, warm_up_s)


def settling() -> Iterator[Load]:
    """1 Mb/s with 100 NewReno flows and UDP, window by window: from the beginning, and with UDP a minute later."""
    for start in (0.0, 60.0):
        groups = (tcp(100), udp(1, 1e6, start=start) if start else udp(1, 1e6))
        for window in range(WINDOWS):
            begin = start + WINDOW_S * window
            times = {"duration_s": begin + WINDOW_S, "warm_up_s": begin}
            yield Load(_window(start, window), 1e6, 0.042, 300, groups, **times)


def _window(start: float, window: int) -> str:
    return f"UDP from {start:.0f} s on, window {window}"


def l4s() -> Iterator[Load]:
    """TCP Prague beside others on 20 Mb/s, about 11 ms without queues: the path of transports.md."""
    linux = {"era": "linux", "max_window": 10_000}
    one, four = tcp(1, "prague", "l4s", max_window=10_000), tcp(4, "prague", "l4s", max_window=10_000)
    for name, groups in (
        ("Prague", (one,)),
        ("Prague, CUBIC", (one, tcp(1, "cubic", "other", **linux))),
        ("Prague, CUBIC with ECN", (one, tcp(1, "cubic", "other", ecn=True, **linux))),
        ("4 Prague, 4 CUBIC", (four, tcp(4, "cubic", "other", **linux))),
        ("Prague, 9 CUBIC", (one, tcp(9, "cubic", "other", **linux))),
        ("Prague, DCTCP", (one, tcp(1, "dctcp", "other", max_window=10_000))),
    ):
        yield Load(name, 2e7, 0.011, 1000, groups, 1500, 40.0, 15.0)


def trips() -> Iterator[Load]:
    """TCP with SACK alone, the loops of the table of phase margins."""
    for rate, flows, rtt_ms in (
        (2e7, 20, 50), (2e7, 60, 100), (2e7, 20, 100), (1e8, 20, 50), (1e8, 20, 100), (2e7, 60, 200), (2e7, 10, 200),
        (2e7, 5, 200),
    ):  # fmt: skip
        name = f"{rate / 1e6:g} Mb/s, {flows} flows, {rtt_ms} ms"
        yield Load(name, rate, rtt_ms / 1e3, 2000, (tcp(flows, "sack"),), duration_s=120.0, warm_up_s=20.0)


def measure(task: Task) -> Row:
    """One run."""
    table, load, discipline, seed = task
    run = program(load, discipline, seed)
    queue = run["queues"][0]
    judged = judge(load, run["flows"], queue["sojourn_s"]["p99"], run["utilisation"])
    row: Row = {"table": table, "load": load.name, "discipline": discipline, "seed": seed}
    row |= {name: judged[name] for name in ("greedy", "tcp", "jain_tcp", "utilisation")}
    row["wait_mean_ms"] = 1e3 * queue["sojourn_s"]["mean"]
    for place, group, waits in zip(("first", "second"), run["groups"], queue["groups"], strict=False):
        row |= {f"{place}_bps": group["throughput_bps"] / group["flows"]}
        row |= {f"{place}_wait_ms": 1e3 * waits["sojourn_s"]["mean"]}
    return row


def of_rules(rows: Sequence[Row]) -> str:
    """UDP over its share, and Jain's index where TCP is alone."""
    lines = ["| load | measure | COLLAR | " + " | ".join(name.replace("_", " ") for name in TRIED) + " |"]
    lines.append("| --- | --- |" + " ---: |" * (1 + len(TRIED)))
    for load in rules():
        has_udp = any(group.offered_bps for group in load.groups)
        asked = [("greedy", "UDP over its share")] if has_udp else []
        if not has_udp or "100 CUBIC" in load.name:
            asked.append(("jain_tcp", "Jain's index of TCP"))
        for name, told in asked:
            cells = [interval(values(rows, load.name, one, name)) for one in (WHOLE, *_tried())]
            lines.append(f"| {load.name} | {told} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _tried() -> tuple[str, ...]:
    return tuple(f"collar_with_{name}" for name in TRIED)


def of_fast(rows: Sequence[Row]) -> str:
    """UDP and TCP over their shares."""
    lines = ["| load | from, to, s | UDP: COLLAR | UDP: FQ-CoDel | TCP: COLLAR | TCP: FQ-CoDel |"]
    lines.append("| --- | --- |" + " ---: |" * 4)
    asked = [(name, one) for name in ("greedy", "tcp") for one in ("collar", "fq_codel")]
    for load in fast():
        cells = [interval(values(rows, load.name, one, name)) for name, one in asked]
        lines.append(f"| {load.name} | {load.warm_up_s:g}, {load.duration_s:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_settling(rows: Sequence[Row]) -> str:
    """The first windows, and from when on UDP has at most 1.3 shares."""
    shown = (0, 1, 2, 4, 6, 8)
    head = " | ".join(f"{WINDOW_S * at:g} to {WINDOW_S * (at + 1):g} s" for at in shown)
    lines = [f"| UDP | discipline | {head} | settled after, s |", "| --- | --- |" + " ---: |" * (len(shown) + 1)]
    for start, told in ((0.0, "with TCP"), (60.0, "a minute later")):
        for discipline in TABLES["settling"].disciplines:
            by = [values(rows, _window(start, at), discipline, "greedy") for at in range(WINDOWS)]
            cells = [interval(by[at]) for at in shown]
            lines.append(f"| {told} | `{discipline}` | " + " | ".join(cells) + f" | {settled(by)} |")
    return "\n".join(lines)


def settled(by: Sequence[Sequence[float]]) -> str:
    """From when on the mean over seeds of ten seconds stays at most 1.3, and where that is for 95 % of seeds drawn."""

    def since(seeds: Sequence[int]) -> float:
        means = [mean(by[at][seed] for seed in seeds) for at in range(WINDOWS)]
        of_ten = [mean(means[at : at + MEAN_OF]) for at in range(WINDOWS - MEAN_OF + 1)]
        over = [at for at, value in enumerate(of_ten) if value > SETTLED]
        return WINDOW_S * (over[-1] + 1) if over else 0.0

    dice, seeds = random.Random(1), range(len(by[0]))
    drawn = sorted(since(dice.choices(seeds, k=len(seeds))) for _ in range(1000))
    return f"{since(seeds):g} ({drawn[25]:g} to {drawn[974]:g})"


def of_l4s(rows: Sequence[Row]) -> str:
    """Mb/s of a flow, and mean waits."""
    names = {"collar": "COLLAR", "collar_with_square_marks": "with marks alike", "dualpi2": "DualPI2"}
    lines = ["| flows | over | Prague, Mb/s each | others, Mb/s each | Prague waits, ms | others wait, ms |"]
    lines.append("| --- | --- |" + " ---: |" * 4)
    for load in l4s():
        for discipline, told in names.items():
            cells = []
            for name, unit in (("bps", 1e6), ("wait_ms", 1.0)):
                for place in ("first", "second"):
                    found = values(rows, load.name, discipline, f"{place}_{name}")
                    cells.append(interval([value / unit for value in found]))
            lines.append(f"| {load.name} | {told} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_trips(rows: Sequence[Row]) -> str:
    """Utilisation and mean wait."""
    names = {"collar": "COLLAR", "collar_with_slow_gains": "slow gains", "dualpi2": "PI2", "fq_codel": "FQ-CoDel"}
    told = [f"{what}: {name}" for what in ("utilisation, %", "wait, ms") for name in names.values()]
    lines = ["| link | " + " | ".join(told) + " |", "| --- |" + " ---: |" * len(told)]
    for load in trips():
        cells = []
        for measure_name, times in (("utilisation", 100.0), ("wait_mean_ms", 1.0)):
            for name in names:
                cells.append(interval([times * value for value in values(rows, load.name, name, measure_name)]))
        lines.append(f"| {load.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def values(rows: Sequence[Row], load: str, discipline: str, name: str) -> list[float]:
    """Of each seed, in their order."""
    found = [row for row in rows if (row["load"], row["discipline"]) == (load, discipline) and row[name] != ""]
    return [float(row[name]) for row in sorted(found, key=lambda row: int(row["seed"]))]


TABLES = {
    "l4s": Table(l4s, ("collar", "collar_with_square_marks", "dualpi2"), 5, of_l4s),
    "trips": Table(trips, ("collar", "collar_with_slow_gains", "dualpi2", "fq_codel"), 5, of_trips),
    "settling": Table(settling, ("collar", "collar_with_young", "fq_codel"), 20, of_settling),
    "rules": Table(rules, (WHOLE, *_tried()), 5, of_rules),
    "fast": Table(fast, ("collar", "fq_codel"), 5, of_fast),
}


def campaign(processes: int, only: str) -> list[Row]:
    """Makes the runs that the store lacks; returns all."""
    tasks = [
        (name, load, discipline, seed)
        for name, table in TABLES.items()
        for seed in range(1, table.seeds + 1)
        for load in table.loads()
        for discipline in table.disciplines
        if only in name
    ]
    make_runs(tasks, measure, STORE, (*KEYS, *MEASURES), processes)
    return read(STORE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="tables whose names hold this")
    args = parser.parse_args()
    rows = campaign(args.processes, args.only)
    by: dict[str, Any] = {name: [row for row in rows if row["table"] == name] for name in TABLES}
    made = {name: TABLES[name].written(of) for name, of in by.items() if of}
    for page in (PAGE, THEORY):
        new = page.with_suffix(".new")
        new.write_text(with_tables(page.read_text(), "trials", made))
        new.replace(page)


if __name__ == "__main__":
    main()
