"""Tables of docs/background/collar.md from the stored runs beside this file.

Intervals hold 95 %: Student's over seeds where a load has several, and by resampling whole loads (1,000 times) where a
figure is of a distribution over loads.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from statistics import mean, median, stdev

from experiments import DOCS
from experiments.digests import Row, read
from experiments.pages import Files, pages_with, table
from experiments.shares.campaign import ABLATIONS, DIGEST, DISCIPLINES, RIVALS
from experiments.shares.loads import SETS, Load
from experiments.shares.state import stored

PAGE = DOCS / "background" / "collar.md"
# Two-sided 95 % of Student's distribution, by degrees of freedom; with more than these, that of 10 is wide enough.
_STUDENT = (0.0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
# Measurements of the prototype: load, measure, value, and whether more is better.
_GOALS = (
    ("1 Mb/s, 32 Reno, UDP at 2x", "greedy", 1.06, False),
    ("100 Mb/s, 100 CUBIC, UDP at 2x", "greedy", 1.20, False),
    ("100 Mb/s, 100 CUBIC, 5 UDP of 50 Mb/s", "greedy", 1.13, False),
    ("100 Mb/s, 100 CUBIC, 20 UDP of 50 Mb/s", "greedy", 1.12, False),
    ("10 Mb/s, 280 NewReno", "jain_tcp", 0.927, True),
    ("10 Mb/s, 4 x 10 NewReno, 6 to 150 ms", "jain_tcp", 0.971, True),
    ("10 Mb/s, 3 x 10 NewReno, 100 to 1500 B", "jain_tcp", 0.985, True),
    ("10 Mb/s, 3 x 10 NewReno, 100 to 1500 B", "tcp_worst_class", 0.83, True),
    ("10 Mb/s, 32 NewReno", "wait_p99_ms", 57.0, False),
    ("10 Mb/s, 32 NewReno, UDP on and off", "greedy", 1.3, False),
    ("10 Mb/s, 32 NewReno, UDP from 30 s on", "greedy", 1.3, False),
    ("1 Gb/s, 4 CUBIC, UDP", "greedy", 1.3, False),
    ("1 Mb/s, 100 NewReno, UDP", "greedy", 1.3, False),
    ("100 Mb/s, 20 CUBIC, UDP, mice 30%", "tcp", 0.8, True),
    ("100 Mb/s, 20 CUBIC, UDP, mice 50%", "tcp", 0.8, True),
    ("100 Mb/s, 20 CUBIC, UDP, mice 70%", "tcp", 0.8, True),
    ("100 Mb/s, 100 CUBIC, 400 UDP of 1 Mb/s", "tcp", 0.5, True),
)
_NAMES = {
    "greedy": "UDP over its share",
    "tcp": "long TCP over its share",
    "tcp_worst_class": "the packet size that has least, over its share",
    "jain_tcp": "Jain's index of TCP",
    "wait_p99_ms": "99th percentile of the wait, ms",
    "utilisation": "utilisation",
}
# Measures of the distribution over loads, and whether more is better.
_SPREAD = (("greedy", False), ("tcp", True), ("jain_tcp", True), ("wait_p99_ms", False), ("utilisation", True))


def files() -> Files:
    """The tables of the page."""
    rows = read(DIGEST)
    tables = {
        "short": short(rows),
        "goals": goals(rows),
        "fresh": fresh(rows),
        "crowds": crowds(rows),
        "validation": validation(rows),
        "worst": worst(rows),
        "rivals": beside(rows, (*DISCIPLINES, *RIVALS)),
        "ablations": beside(rows, ("collar", "csfq", "afd", *ABLATIONS)),
    }
    yield from pages_with("shares", tables, PAGE)


def goals(rows: Sequence[Row]) -> str:
    """COLLAR beside the prototype, or the goal where the prototype missed it, row by row."""
    lines = []
    for load, measure, goal, more in _GOALS:
        values = _values(rows, "fresh", load, "collar", measure)
        met = mean(values) >= goal if more else mean(values) <= goal
        sign = "≥" if more else "≤"
        verdict = "met" if met else "**missed**"
        lines.append([load, _NAMES[measure], f"{sign} {goal:g}", rounded(values), verdict])
    return table(["load", "measure", "goal", "COLLAR", ""], lines, 2)


def fresh(rows: Sequence[Row]) -> str:
    """UDP over its share, and long TCP over its, where there is UDP."""
    lines = []
    for load in dict.fromkeys(row["load"] for row in rows if row["set"] == "fresh"):
        cells = [_values(rows, "fresh", load, name, "greedy") for name in DISCIPLINES]
        if cells[0]:
            cells += [_values(rows, "fresh", load, name, "tcp") for name in ("collar", "fq_codel")]
            lines.append([load, *map(rounded, cells)])
    return table(["load", *(f"UDP: {name}" for name in DISCIPLINES), "TCP: collar", "TCP: fq_codel"], lines, 1)


def crowds(rows: Sequence[Row]) -> str:
    """Utilisation, and long TCP and UDP over their shares, where small flows hold a part of the link."""
    asked = [
        *(("utilisation", name) for name in ("collar", "dualpi2", "fq_codel")),
        *(("tcp", name) for name in ("collar", "choke", "dualpi2", "fq_codel")),
        *(("greedy", name) for name in ("collar", "fq_codel")),
    ]
    lines = []
    for load in SETS["crowds"]():
        cells = [rounded(_values(rows, "crowds", load.name, name, measure)) for measure, name in asked]
        lines.append([load.name, *cells])
    labels = {"utilisation": "busy", "tcp": "TCP", "greedy": "UDP"}
    return table(["load", *(f"{labels[measure]}: {name}" for measure, name in asked)], lines, 1)


def short(rows: Sequence[Row]) -> str:
    """What matters most of the table of validation."""
    with_udp = len(_by_load(rows, "collar", "greedy", False))
    all_loads = len(_by_load(rows, "collar", "tcp", True))
    median_of, worst_of = (of for _, of in _parts(False))
    _, least_of = (of for _, of in _parts(True))
    asked = (
        (f"UDP over its fair share: median of {with_udp} random loads", "greedy", False, median_of),
        ("the same on the worst tenth of them, at least", "greedy", False, worst_of),
        (f"long TCP over its fair share on the worst tenth of {all_loads} loads, at most", "tcp", True, least_of),
        ("99th percentile of the wait, ms: median", "wait_p99_ms", False, median_of),
    )
    lines = [
        [label, *(_shown(of(_by_load(rows, name, measure, more))) for name in DISCIPLINES)]
        for label, measure, more, of in asked
    ]
    return table(["", *DISCIPLINES], lines, 1)


def validation(rows: Sequence[Row]) -> str:
    """Distributions over the loads of the validation set, means over the seeds of each."""
    lines = []
    for measure, more in _SPREAD:
        by = [_by_load(rows, name, measure, more) for name in DISCIPLINES]
        for label, of in _parts(more):
            lines.append([f"{_NAMES[measure]}: {label}", *(_resampled(values, of) for values in by)])
    limits: tuple[tuple[str, bool, float], ...] = (("greedy", False, 1.3), ("tcp", True, 0.8))
    for measure, more, limit in limits:
        by = [_by_load(rows, name, measure, more) for name in DISCIPLINES]
        kept = [[100.0 * (value >= limit if more else value <= limit) for value in values] for values in by]
        label = f"{_NAMES[measure]}: {'at least' if more else 'at most'} {limit:g}, % of {len(by[0])} loads"
        lines.append([label, *(_resampled(values, mean) for values in kept)])
    return table(["over loads", *DISCIPLINES], lines, 1)


def worst(rows: Sequence[Row]) -> str:
    """The loads on which UDP has most under COLLAR."""
    by = {name: dict(_means(rows, name, "greedy")) for name in DISCIPLINES}
    described = {load.name: _described(load) for load in SETS["validation"]()}
    most = sorted(by["collar"], key=lambda load: -by["collar"][load])[:12]
    lines = [[described[load], *(_shown(by[name][load]) for name in DISCIPLINES)] for load in most]
    return table(["load", *DISCIPLINES], lines, 1)


def beside(rows: Sequence[Row], disciplines: Sequence[str]) -> str:
    """Distributions over the loads of the validation set, with the first seed of each, discipline by discipline."""
    first = {load.name: str(load.first_seed) for load in SETS["validation"]()}
    rows = [row for row in rows if row["set"] == "validation" and row["seed"] == first[row["load"]]]
    there = [name for name in disciplines if any(row["discipline"] == name for row in rows)]
    head = [f"{_NAMES[measure]}: {label}" for measure in ("greedy", "tcp") for label in ("median", "worst tenth, from")]
    bytes_of = stored()
    is_known = all(name in bytes_of for name in there)
    lines = []
    # From fair to unfair, whichever way.
    unfair = {name: abs(math.log(max(median(_by_load(rows, name, "greedy", False)), 1e-9))) for name in there}
    for name in sorted(there, key=lambda name: unfair[name]):
        cells = [
            _resampled(_by_load(rows, name, measure, more), of)
            for measure, more in (("greedy", False), ("tcp", True))
            for _, of in _parts(more)
        ]
        cells += [_resampled(_by_load(rows, name, measure, True), median) for measure in ("jain_tcp", "wait_p99_ms")]
        lines.append([_called(name), *cells, *([f"{bytes_of[name]:,}"] if is_known else [])])
    labels = ["discipline", *head, _NAMES["jain_tcp"], _NAMES["wait_p99_ms"], *(["state, bytes"] if is_known else [])]
    return table(labels, lines, 1)


def _called(discipline: str) -> str:
    """A discipline as the table has it, settings behind the name."""
    name, _, settings = discipline.partition(":")
    settings = settings.replace(f"{name}.", "").replace("+", ", ")
    return f"`{name}`" + (f", {settings}" if settings else "")


def _described(load: Load) -> str:
    long = [group for group in load.groups if not group.short]
    tcp = [group for group in long if group.offered_bps is None]
    udp = ", ".join(f"{group.count} UDP of {group.offered_bps / 1e6:.3g} Mb/s" for group in long if group.offered_bps)
    flows = f"{sum(group.count for group in tcp)} {tcp[0].fields['transport']}"
    web = ", web" if len(long) < len(load.groups) else ""
    return f"{load.rate_bps / 1e6:.3g} Mb/s, {1e3 * load.rtt_s:.0f} ms, {load.duration_s:.0f} s: {flows}, {udp}{web}"


def _parts(more: bool) -> tuple[tuple[str, Callable[[Sequence[float]], float]], ...]:
    """Median and worst tenth. The values come sorted, the worst last."""
    return (("median", median), ("worst tenth, from", lambda found: sorted(found, reverse=more)[len(found) * 9 // 10]))


def _values(rows: Sequence[Row], which: str, load: str, discipline: str, measure: str) -> list[float]:
    found = (row[measure] for row in rows if (row["set"], row["load"], row["discipline"]) == (which, load, discipline))
    return [float(value) for value in found if value != ""]


def _means(rows: Sequence[Row], discipline: str, measure: str) -> Iterator[tuple[str, float]]:
    """Of each load of the validation set that has the measure, the mean over seeds."""
    by: dict[str, list[float]] = {}
    for row in rows:
        if (row["set"], row["discipline"]) == ("validation", discipline) and row[measure] != "":
            by.setdefault(row["load"], []).append(float(row[measure]))
    return ((load, mean(values)) for load, values in by.items())


def _by_load(rows: Sequence[Row], discipline: str, measure: str, more: bool) -> list[float]:
    return sorted((value for _, value in _means(rows, discipline, measure)), reverse=more)


def interval(values: Sequence[float]) -> str:
    """Mean and half the width of its interval."""
    if len(values) < 2:
        return _shown(values[0]) if values else ""
    return f"{_shown(mean(values))} ± {_shown(_half(values))}"


def rounded(values: Sequence[float]) -> str:
    """The same to the digits that the interval leaves, at most the four that are stored; its half is rounded up."""
    if len(values) < 2:
        return interval(values)
    half = _half(values)
    middle = mean(values)
    stored = 3 - max(math.floor(math.log10(abs(middle))), 0) if middle else 3
    places = max(min(1 - math.floor(math.log10(half)) if half else stored, stored), 0)
    up = math.ceil(half * 10**places - 1e-9) / 10**places
    return f"{middle:.{places}f} ± {up:.{places}f}"


def _half(values: Sequence[float]) -> float:
    freedom = min(len(values), len(_STUDENT)) - 1
    return _STUDENT[freedom] * stdev(values) / math.sqrt(len(values))


def _resampled(values: Sequence[float], of: Callable[[Sequence[float]], float]) -> str:
    """What it is of the values, and between which it falls for 95 % of as many drawn from them."""
    dice = random.Random(1)
    drawn = sorted(of(dice.choices(values, k=len(values))) for _ in range(1000))
    return f"{_shown(of(values))} ({_shown(drawn[25])} to {_shown(drawn[974])})"


def _shown(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
