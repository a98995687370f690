"""The tables of docs/reference/kernel-qdiscs.md and one of docs/background/collar.md from loads.csv.xz."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from experiments import DOCS
from experiments.digests import Row, read
from experiments.kernel_loads.campaign import (
    DIGEST,
    FRAME,
    KERNEL,
    LOADS,
    MEASURED_S,
    PACKET,
    PROGRAMS,
    RATES,
    WARM_UP_S,
    Load,
)
from experiments.pages import Files, pages_with, table
from experiments.shares.page import rounded

PAGE = DOCS / "reference" / "kernel-qdiscs.md"
COLLAR = DOCS / "background" / "collar.md"
#: What the means may differ by.
TOLERANCE = 0.1
#: A difference of losses, as a part of what UDP sends, and a rate of UDP, below which 10 % of a mean say little.
SMALL, SLOW_KBPS = 0.02, 300
SUMMARY = (
    "discipline",
    "loads",
    "instances",
    "UDP within 10 %",
    "UDP's loss within 10 %",
    "ranges overlap",
    "furthest",
)


def files() -> Files:
    """The page."""
    rows = read(DIGEST)
    sections = {
        "summary": summary(rows),
        "totals": totals(rows),
        "linux": beside(rows, tuple(KERNEL)),
        "bpf": beside(rows, tuple(PROGRAMS)),
        "live": live(rows),
    }
    yield from pages_with("kernel_loads", sections, PAGE, COLLAR)


def udp(rows: Sequence[Row], place: str, discipline: str, load: Load, measure: str = "udp") -> list[float]:
    """Values of all instances."""
    key = (place, discipline, f"{load}:{WARM_UP_S}+{MEASURED_S}")
    return [float(row[measure]) for row in rows if (row["place"], row["discipline"], row["load"]) == key]


def measured(rows: Sequence[Row], discipline: str) -> list[Load]:
    """Loads that a discipline was measured on in both places."""
    return [load for row in LOADS for load in row if udp(rows, "guest", discipline, load)]


def ratio(rows: Sequence[Row], discipline: str, load: Load, measure: str = "udp") -> float:
    """The mean in the guest beside that of the simulator."""
    guest, simulator = (mean(udp(rows, place, discipline, load, measure)) for place in ("guest", "simulator"))
    return guest / simulator if simulator else float("inf") if guest else 1.0


def overlap(rows: Sequence[Row], discipline: str, load: Load) -> bool:
    """Whether the ranges of instances and of seeds have a value in common."""
    guest, simulator = (udp(rows, place, discipline, load) for place in ("guest", "simulator"))
    return min(guest) <= max(simulator) and min(simulator) <= max(guest)


def summary(rows: Sequence[Row]) -> str:
    """A row for each discipline."""
    lines = []
    for discipline in (*KERNEL, *PROGRAMS):
        loads = measured(rows, discipline)
        if not loads:
            continue
        near = [abs(ratio(rows, discipline, load) - 1) <= TOLERANCE for load in loads]
        lost = [abs(ratio(rows, discipline, load, "udp_lost") - 1) <= TOLERANCE for load in loads]
        # A ratio to nothing says nothing.
        there = [load for load in loads if min(udp(rows, "simulator", discipline, load)) > 0]
        furthest = max(there, key=lambda load, name=discipline: abs(ratio(rows, name, load) - 1))  # type: ignore[misc]
        lines.append(
            (
                named(discipline),
                str(len(loads)),
                str(sum(len(udp(rows, "guest", discipline, load)) for load in loads)),
                str(sum(near)),
                str(sum(lost)),
                str(sum(overlap(rows, discipline, load) for load in loads)),
                f"{ratio(rows, discipline, furthest):.2f} ({worded(furthest)})",
            )
        )
    return table(SUMMARY, lines, 1)


def totals(rows: Sequence[Row]) -> str:
    """How many means of the kernel's are near, and what the others are."""
    cells = [(discipline, load) for discipline in KERNEL for load in measured(rows, discipline)]
    near = sum(abs(ratio(rows, *cell) - 1) <= TOLERANCE for cell in cells)
    others = [cell for cell in cells if abs(ratio(rows, *cell, "udp_lost") - 1) > TOLERANCE]
    by_points = [cell for cell in others if points(rows, *cell) >= SMALL]
    slow = sum(load.udp_kbps < SLOW_KBPS for _, load in by_points)
    few = len(others) - len(by_points)
    return (
        f"Of the kernel's {len(cells)} means of UDP's throughput {near} are within 10 %. "
        f"Of UDP's loss {len(cells) - len(others)} are. Of the other {len(others)}, {few} differ by less than "
        f"{100 * SMALL:.0f} points, and {slow} of the remaining {len(by_points)} are of UDP below {SLOW_KBPS} kb/s, "
        "where the start decides."
    )


def points(rows: Sequence[Row], discipline: str, load: Load) -> float:
    """Difference of the mean losses."""
    guest, simulator = (mean(udp(rows, place, discipline, load, "udp_lost")) for place in ("guest", "simulator"))
    return abs(guest - simulator)


def beside(rows: Sequence[Row], disciplines: Sequence[str]) -> str:
    """kb/s of UDP, kernel : simulator, a row for each load."""
    found = [name for name in disciplines if measured(rows, name)]
    lines = []
    for load in (load for row in LOADS for load in row):
        cells = [cell(rows, name, load) for name in found]
        if any(cells):
            lines.append([worded(load), *cells])
    return table(("load", *map(named, found)), lines, 1)


def live(rows: Sequence[Row]) -> str:
    """COLLAR's program and the kernel's FQ-CoDel beside the simulator: UDP, TCP and the time of UDP's packets."""
    lines = []
    for load in LOADS[0]:
        # Of packets: on the link each has the header of its frame as well.
        link = load.link_kbps * PACKET / FRAME
        for discipline in ("bpf_collar", "fq_codel"):
            cells = []
            for measure, unit in (("udp", link / (load.flows + 1)), ("tcp", link), ("delay_ms", 1.0)):
                for place in ("guest", "simulator"):
                    cells.append(rounded([value / unit for value in udp(rows, place, discipline, load, measure)]))
            lines.append([f"{load.udp_kbps / 1000:g}", named(discipline), *cells])
    places = ("kernel", "simulator")
    labels = ("UDP over its share", "TCP, of the link", "UDP's packets take, ms")
    head = [f"{label}: {place}" for label in labels for place in places]
    return table(["UDP sends, Mb/s", "discipline", *head], lines, 2)


def cell(rows: Sequence[Row], discipline: str, load: Load) -> str:
    """Means; empty where the discipline was not measured."""
    guest, simulator = (udp(rows, place, discipline, load) for place in ("guest", "simulator"))
    return f"{mean(guest):.3g} : {mean(simulator):.3g}" if guest and simulator else ""


def named(discipline: str) -> str:
    """The discipline, with its kind."""
    name = discipline.removeprefix("bpf_")
    return f"`{name}` (BPF)" if name != discipline else f"`{name}`"


def worded(load: Load) -> str:
    """Link, flows, round trip, rate of UDP."""
    return f"{load.link_kbps / 1000:g} Mb/s, {load.flows} TCP, {load.rtt_ms} ms, UDP {load.udp_kbps / 1000:g} Mb/s"


def rated(rows: Sequence[Row], discipline: str, rate_kbps: int, place: str, measure: str = "udp") -> list[float]:
    """Values of the longer runs, of one of the five rates of `RATES`."""
    [load] = [load for load in RATES if load.udp_kbps == rate_kbps]
    key = (place, discipline, f"{load}:40+100")
    return [float(row[measure]) for row in rows if (row["place"], row["discipline"], row["load"]) == key]
