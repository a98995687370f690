"""The table of docs/reference/kernel-qdiscs.md from shares.csv."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import mean

from experiments import DOCS
from experiments.digests import Row, read
from experiments.kernel_loads import campaign as loads
from experiments.kernel_loads.page import rated
from experiments.kernel_shares.campaign import DIGEST, DISCIPLINES, PLACES, RATES_KBPS
from experiments.pages import Files, pages_with, table
from experiments.shares.page import interval

PAGE = DOCS / "reference" / "kernel-qdiscs.md"
HEAD = (
    "discipline", "UDP sends", "simulator", "simulator as Linux", "BPF", "Linux", "BPF beside the simulator",
    "Linux beside it as Linux",
)  # fmt: skip


def files() -> Files:
    yield from pages_with("kernel_shares", {"shares": shares(read(DIGEST), read(loads.DIGEST))}, PAGE)


def shares(rows: Sequence[Row], later: Sequence[Row]) -> str:
    """kb/s of UDP that arrive: means over runs with their intervals. What was not run is taken from `later`."""
    lines = []
    for discipline, rate in product(DISCIPLINES, RATES_KBPS):
        of = {place: _of(rows, place, discipline, rate) for place in PLACES}
        for place, name in (("bpf", f"bpf_{discipline}"), ("kernel", discipline)):
            of[place] = of[place] or rated(later, name, rate, "guest")
        if not of["bpf"] and not of["kernel"]:
            continue
        cells = [interval(of[place]) if of[place] else "" for place in PLACES]
        ratios = [_ratio(of["bpf"], of["simulator"]), _ratio(of["kernel"], of["linux"])]
        lines.append([f"`{discipline}`", f"{rate:,}", *cells, *ratios])
    return table(HEAD, lines, 1)


def _of(rows: Sequence[Row], place: str, discipline: str, rate: int) -> list[float]:
    key = (place, discipline, str(rate))
    return [float(row["udp"]) for row in rows if (row["place"], row["discipline"], row["udp_kbps"]) == key]


def _ratio(found: Sequence[float], predicted: Sequence[float]) -> str:
    return f"{mean(found) / mean(predicted):.2f}" if found and predicted and mean(predicted) > 0 else ""
