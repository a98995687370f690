"""Tables and figures of docs/background/fidelity.md, linux.md and bbr.md from the stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import DOCS
from experiments.digests import read
from experiments.fidelity import ack_by_ack
from experiments.fidelity.cells import (
    AS_LINUX,
    CONTROLS,
    LIVE,
    RATES_KBPS,
    SCHEMES,
    SIMULATED,
    SUMMARY,
    WITH_WHEEL,
    Cell,
    cells,
    explained,
)
from experiments.pages import Files, pages_with, table
from fairdrop.estimate import Estimate, difference, estimate
from fairdrop.plot.colours import BLUE, VERMILLION
from fairdrop.plot.style import styled
from fairdrop.wording.numbers import digits, places_for

PAGE = DOCS / "background" / "fidelity.md"
NAMES = {
    "droptail": "DropTail",
    "red": "RED",
    "choke-1": "CHOKe, 1",
    "choke-2": "CHOKe, 2",
    "choke-3": "CHOKe, 3",
    "chokew": "CHOKeW",
    "ward": "WARD",
    "fq_codel": "FQ-CoDel",
}
# Column, heading, and the distance that counts as near: a part of the simulated value, or an amount in its unit.
MEASURES = (
    ("tcp_goodput", "TCP, kb/s", 0.03, 0.0),
    ("udp_goodput", "UDP, kb/s", 0.03, 0.0),
    ("tcp_share", "TCP's share, %", 0.03, 0.0),
    ("median_wait", "median wait, ms", 0.10, 1.0),
    ("tcp_dropped", "TCP dropped, %", 0.10, 0.0),
    ("udp_dropped", "UDP dropped, %", 0.10, 0.0),
)
FAR = 0.10
Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Found:
    """A number of a cell on both sides, over the replications."""

    simulated: Estimate
    live: Estimate
    difference: Estimate

    def is_within(self, part: float, least: float) -> bool:
        return abs(self.difference.mean) <= max(part * abs(self.simulated.mean), least)


class Summary:
    """The lines of summary.csv.xz by cell and side."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, str, int, str], Rows] = {}
        for row in read(SUMMARY):
            key = (row["figure"], row["scheme"], row["control"], int(row["rate"]), row["side"])
            self._rows.setdefault(key, []).append(row)

    def rows(self, cell: Cell, side: str) -> Rows:
        return self._rows.get((cell.figure, cell.scheme, cell.control, cell.rate_kbps, side), [])

    def values(self, cell: Cell, side: str, measure: str) -> list[float]:
        return [float(row[measure]) for row in self.rows(cell, side) if row[measure]]

    def estimate(self, cell: Cell, side: str, measure: str) -> Estimate | None:
        return estimate(self.values(cell, side, measure))

    def found(self, cell: Cell, side: str, measure: str) -> Found | None:
        pair = self.values(cell, side, measure), self.values(cell, "live", measure)
        simulated, live, between = estimate(pair[0]), estimate(pair[1]), difference(*pair)
        if simulated is None or live is None or between is None:
            return None
        return Found(simulated, live, between)

    def all(self, side: str) -> Iterable[dict[str, str]]:
        return [row for key, rows in self._rows.items() if key[-1] == side for row in rows]


def _shown(found: Found | None) -> str:
    """Simulated, live, and the difference with its interval; in bold where they are far apart."""
    if found is None:
        return "-"
    places = places_for(found.difference)
    half = "" if found.difference.half is None else f" ± {found.difference.half:.{places}f}"
    mark = "" if found.is_within(FAR, 1.0) else "**"
    means = f"{digits(found.simulated.mean)}, {digits(found.live.mean)}"
    return f"{means} {mark}({found.difference.mean:+.{places}f}{half}){mark}"


def _cells(summary: Summary, control: str, side: str) -> str:
    chosen = [cell for cell in cells() if cell.control == control]
    lines = []
    for cell in chosen:
        name = NAMES[cell.scheme] + ("" if cell.figure == "fig5" else ", figure 3")
        shown = (_shown(summary.found(cell, side, measure)) for measure, *_ in MEASURES)
        lines.append([name, str(cell.rate_kbps), *shown])
    return table(["discipline", "UDP sends, kb/s", *(heading for _, heading, *_ in MEASURES)], lines)


def counts(summary: Summary) -> str:
    """How many cells are near, and how many far apart, by measure."""
    lines = []
    for control, side in (
        ("reno", "simulated"),
        ("reno", "simulated with SACK"),
        ("reno", AS_LINUX),
        ("reno", WITH_WHEEL),
        ("cubic", "simulated"),
        ("cubic", AS_LINUX),
        ("cubic", WITH_WHEEL),
    ):
        chosen = [cell for cell in cells() if cell.control == control]
        line = [f"{control}, {side}"]
        for measure, _, part, least in MEASURES:
            pairs = [found for cell in chosen if (found := summary.found(cell, side, measure))]
            near = sum(found.is_within(part, least) for found in pairs)
            far = sum(not found.is_within(FAR, 1.0) for found in pairs)
            line.append(f"{near} of {len(pairs)}; {far}")
        lines.append(line)
    return table(["", *(heading.rpartition(",")[0] for _, heading, *_ in MEASURES)], lines)


def _causes(summary: Summary, measure: str) -> str:
    chosen = explained()
    lines = []
    for side in (*SIMULATED, *LIVE):
        estimates = [summary.estimate(cell, side, measure) for cell in chosen]
        if any(estimates):
            lines.append([side, *("-" if found is None else _mean(found) for found in estimates)])
    return table(["", *(f"{NAMES[cell.scheme]}, {cell.rate_kbps}" for cell in chosen)], lines)


def _mean(found: Estimate) -> str:
    places = places_for(found)
    return f"{found.mean:.{places}f}" + (f" ± {found.half:.{places}f}" if found.half else "")


def _lateness(summary: Summary) -> str:
    rows = list(summary.all("live"))

    def of(name: str) -> list[float]:
        return sorted(float(row[name]) for row in rows)

    middle, worst = (lambda values: values[len(values) // 2]), (lambda values: values[-1])
    return (
        table(
            ["lateness of packets, ms", "middle run", "worst run"],
            [
                [what, f"{middle(of(name)):.3f}", f"{worst(of(name)):.3f}"]
                for what, name in (("median", "late_p50"), ("99th percentile", "late_p99"), ("latest", "late_max"))
            ],
        )
        + f"\n\n{len(rows)} live runs."
    )


def sections(summary: Summary) -> dict[str, str]:
    """Everything that is generated, by name."""
    return {
        "counts": counts(summary),
        "reno": _cells(summary, "reno", "simulated"),
        "reno-sack": _cells(summary, "reno", "simulated with SACK"),
        "reno-linux": _cells(summary, "reno", AS_LINUX),
        "cubic": _cells(summary, "cubic", "simulated"),
        "cubic-linux": _cells(summary, "cubic", AS_LINUX),
        "causes-tcp": _causes(summary, "tcp_goodput"),
        "causes-dropped": _causes(summary, "tcp_dropped"),
        "causes-wait": _causes(summary, "median_wait"),
        "causes-timeouts": _causes(summary, "timeouts"),
        "lateness": _lateness(summary),
    }


@styled
def figure(summary: Summary, measure: str, label: str, *, one_scale: bool) -> Figure:
    """A panel for each discipline: simulated as lines, live as points with intervals."""
    drawn = Figure(figsize=(9.0, 4.6), layout="constrained")
    axes = drawn.subplots(2, 4, sharex=True, sharey=one_scale)
    for axis, scheme in zip(axes.flat, SCHEMES, strict=True):
        axis.set(title=NAMES[scheme], xscale="log", xticks=RATES_KBPS)
        axis.set_xticks(RATES_KBPS, ["0.1", "0.5", "1", "3", "10"])
        axis.minorticks_off()
        for control, colour in zip(CONTROLS, (BLUE, VERMILLION), strict=True):
            _draw(axis, _points(summary, scheme, control, measure), AS_LINUX, control, colour)
    for axis in axes[1]:
        axis.set_xlabel("UDP sends, Mb/s")
    for axis in axes[:, 0]:
        axis.set(ylabel=label)
    for axis in axes.flat:
        axis.set_ylim(bottom=0)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=4)
    return drawn


def _points(summary: Summary, scheme: str, control: str, measure: str) -> Callable[[str], list[Estimate]]:
    chosen = [cell for cell in cells() if (cell.figure, cell.scheme, cell.control) == ("fig5", scheme, control)]
    return lambda side: [found for cell in chosen if (found := summary.estimate(cell, side, measure)) is not None]


def _draw(axis: Axes, of: Callable[[str], list[Estimate]], side: str, control: str, colour: str) -> None:
    shift = 0.96 if control == "reno" else 1.04
    simulated, live = of(side), of("live")
    axis.plot(RATES_KBPS, [found.mean for found in simulated], color=colour, label=f"{control}, simulated")
    axis.errorbar(
        [rate * shift for rate in RATES_KBPS],
        [found.mean for found in live],
        yerr=[found.half or 0.0 for found in live],
        fmt="o",
        markersize=3.5,
        color=colour,
        label=f"{control}, live",
    )


FIGURES = (("udp", "udp_goodput", "UDP's goodput, kb/s", True), ("wait", "median_wait", "median wait, ms", False))


def files() -> Files:
    summary = Summary()
    yield from pages_with("fidelity", sections(summary), PAGE)
    yield from ack_by_ack.files(counts(summary))
    for name, measure, label, one_scale in FIGURES:
        yield PAGE.with_name(f"fidelity-{name}.svg"), figure(summary, measure, label, one_scale=one_scale)
