"""Two tables of docs/reference/kernel-qdiscs.md from shares.csv."""

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


#: What stands beside what: a place in the kernel, its name on the page, and its counterpart in the simulator.
BESIDE = (("bpf", "BPF", "simulator"), ("kernel", "Linux", "linux"))


def files() -> Files:
    rows, later = read(DIGEST), read(loads.DIGEST)
    yield from pages_with("kernel_shares", {"shares": shares(rows, later), "losses": losses(rows, later)}, PAGE)


def shares(rows: Sequence[Row], later: Sequence[Row]) -> str:
    """kb/s of UDP that arrive: means over runs with their intervals. What was not run is taken from `later`."""
    lines = []
    for discipline, rate in product(DISCIPLINES, RATES_KBPS):
        of = {place: _of(rows, later, place, discipline, rate) for place in PLACES}
        if not of["bpf"] and not of["kernel"]:
            continue
        cells = [interval(of[place]) if of[place] else "" for place in PLACES]
        ratios = [_ratio(of["bpf"], of["simulator"]), _ratio(of["kernel"], of["linux"])]
        lines.append([f"`{discipline}`", f"{rate:,}", *cells, *ratios])
    return table(HEAD, lines, 1)


def losses(rows: Sequence[Row], later: Sequence[Row]) -> str:
    """Percentage of UDP's packets that are lost, in the kernel and in the simulator: means of the same runs."""
    lines = []
    for (place, name, counterpart), discipline in product(BESIDE, DISCIPLINES):
        cells = []
        for rate in RATES_KBPS:
            found = [_of(rows, later, one, discipline, rate, "udp_lost") for one in (place, counterpart)]
            cells.append(" : ".join(f"{100 * mean(values):.3g}" for values in found) if all(found) else "")
        if any(cells):
            lines.append([f"`{discipline}` ({name})", *cells])
    return table(("discipline", *(f"{rate:,}" for rate in RATES_KBPS)), lines, 1)


def _of(
    rows: Sequence[Row], later: Sequence[Row], place: str, discipline: str, rate: int, measure: str = "udp"
) -> list[float]:
    """Values of all runs; where there is none in a guest, those of `later`."""
    key = (place, discipline, str(rate))
    found = [float(row[measure]) for row in rows if (row["place"], row["discipline"], row["udp_kbps"]) == key]
    guest = {"bpf": f"bpf_{discipline}", "kernel": discipline}
    return found or (rated(later, guest[place], rate, "guest", measure) if place in guest else [])


def _ratio(found: Sequence[float], predicted: Sequence[float]) -> str:
    return f"{mean(found) / mean(predicted):.2f}" if found and predicted and mean(predicted) > 0 else ""
