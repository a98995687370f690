"""Tables of docs/background/collar.md, collar-theory.md and the page of DualPI2 from links.csv.xz."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import mean

from experiments import DOCS
from experiments.digests import Row, read
from experiments.links.campaign import (
    DIGEST,
    TABLES,
    WINDOW_S,
    WINDOWS,
    builders,
    fast,
    l4s,
    trips,
    window_name,
)
from experiments.pages import Files, pages_with, table
from experiments.shares.page import PAGE, rounded

DUALPI2 = DOCS / "reference" / "disciplines" / "dualpi2.md"
#: Windows of the mean that decides when a link has settled, and the most that it may be.
MEAN_OF, SETTLED = 4, 1.3


def files() -> Files:
    rows = read(DIGEST)
    tables = {name: written([row for row in rows if row["table"] == name]) for name, written in WRITTEN.items()}
    yield from pages_with("links", tables, PAGE, PAGE.with_name("collar-theory.md"), DUALPI2)


def of_fast(rows: Sequence[Row]) -> str:
    """UDP and TCP over their shares."""
    lines = []
    asked = [(name, one) for name in ("greedy", "tcp") for one in ("collar", "fq_codel")]
    for load in fast():
        cells = [rounded(values(rows, load.name, one, name)) for name, one in asked]
        lines.append([load.name, f"{load.warm_up_s:g}, {load.duration_s:g}", *cells])
    head = ["load", "from, to, s", "UDP: COLLAR", "UDP: FQ-CoDel", "TCP: COLLAR", "TCP: FQ-CoDel"]
    return table(head, lines, 2)


def of_settling(rows: Sequence[Row]) -> str:
    """The first windows, and from when on UDP has at most 1.3 shares."""
    shown = (0, 1, 2, 4, 6, 8)
    head = [f"{WINDOW_S * at:g} to {WINDOW_S * (at + 1):g} s" for at in shown]
    lines = []
    for start, label in ((0.0, "with TCP"), (60.0, "a minute later")):
        for discipline in TABLES["settling"].disciplines:
            by = [values(rows, window_name(start, at), discipline, "greedy") for at in range(WINDOWS)]
            lines.append([label, f"`{discipline}`", *(rounded(by[at]) for at in shown), settled(by)])
    return table(["UDP", "discipline", *head, "settled after, s"], lines, 2)


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
    names = {"collar": "COLLAR", "dualpi2": "DualPI2"}
    lines = []
    for load in l4s():
        for discipline, label in names.items():
            cells = []
            for name, unit in (("bps", 1e6), ("wait_ms", 1.0)):
                for place in ("first", "second"):
                    found = values(rows, load.name, discipline, f"{place}_{name}")
                    cells.append(rounded([value / unit for value in found]))
            lines.append([load.name, label, *cells])
    head = ["flows", "over", "Prague, Mb/s each", "others, Mb/s each", "Prague waits, ms", "others wait, ms"]
    return table(head, lines, 2)


def of_builders(rows: Sequence[Row]) -> str:
    """Percentiles of voice's wait, and UDP's rate, without and with protection."""
    asked = (("first_p99_ms", 1.0), ("first_p999_ms", 1.0), ("second_bps", 1e6))
    labels = ("99 %, ms", "99.9 %, ms", "UDP has, Mb/s")
    lines = []
    for load in builders():
        cells = []
        for name, unit in asked:
            for discipline in TABLES["builders"].disciplines:
                cells.append(rounded([value / unit for value in values(rows, load.name, discipline, name)]))
        lines.append([load.name, *cells])
    head = [name for label in labels for name in (label, "with")]
    return table(["L4S UDP sends", *head], lines, 1)


def of_trips(rows: Sequence[Row]) -> str:
    """Utilisation and mean wait."""
    names = {"collar": "COLLAR", "dualpi2": "PI2", "fq_codel": "FQ-CoDel"}
    label = [f"{what}: {name}" for what in ("utilisation, %", "wait, ms") for name in names.values()]
    lines = []
    for load in trips():
        cells = []
        for measure_name, times in (("utilisation", 100.0), ("wait_mean_ms", 1.0)):
            for name in names:
                cells.append(rounded([times * value for value in values(rows, load.name, name, measure_name)]))
        lines.append([load.name, *cells])
    return table(["link", *label], lines, 1)


def values(rows: Sequence[Row], load: str, discipline: str, name: str) -> list[float]:
    """Of each seed, in their order."""
    found = [row for row in rows if (row["load"], row["discipline"]) == (load, discipline) and row[name] != ""]
    return [float(row[name]) for row in sorted(found, key=lambda row: int(row["seed"]))]


WRITTEN: dict[str, Callable[[Sequence[Row]], str]] = {
    "l4s": of_l4s,
    "builders": of_builders,
    "trips": of_trips,
    "settling": of_settling,
    "fast": of_fast,
}
