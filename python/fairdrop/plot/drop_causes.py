"""Packets dropped, by cause, group and discipline."""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fairdrop.document import (
    Document,
    disciplines,
    drop_count,
    group_estimate,
    group_names,
    group_of,
    over_seeds,
    runs_of,
)
from fairdrop.estimate import Estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import legend, note, nothing, seeds_note
from fairdrop.plot.marks import mark
from fairdrop.plot.rows import Blocks, block_axes
from fairdrop.plot.size import Size
from fairdrop.plot.strips import MOST_PANELS, draw_drops
from fairdrop.plot.style import SMALL, styled
from fairdrop.wording.causes import CAUSES, cause_name
from fairdrop.wording.numbers import percent


@styled
def draw(document: Document, size: Size) -> Figure:
    names = disciplines(document)
    if not names:
        return nothing("No run was finished, so there are no drops to show.", size)
    if all(drop_count(run) == 0 for run in document.runs):
        return nothing("No packet was dropped in any run: the link is not congested.", size)
    if len(names) > MOST_PANELS:
        return draw_drops(document, size)
    groups = group_names(document.runs)
    causes = seen_causes(document)
    figure, axes, layout = block_axes(names, groups, size)
    most = _bars(axes, document, layout, causes)
    axes.set_xlim(0, most * (1.42 if size.narrow else 1.2))
    axes.xaxis.set_major_locator(MaxNLocator(4 if size.narrow else 6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", "\u202f")))
    axes.set_xlabel("packets dropped per run")
    hue = colours.causes(causes)
    handles: list[Artist] = [Patch(color=hue[cause]) for cause in causes]
    legend(figure, handles, [cause_name(cause) for cause in causes])
    text = seeds_note(document, "Packets dropped", whiskers=False)
    note(figure, f"{text} Beside each bar: part of the group's packets that was dropped.")
    return figure


def seen_causes(document: Document) -> list[str]:
    """Causes that dropped a packet, in the order of the reference."""
    found = {cause for run in document.runs for group in run.groups for cause, n in group.drops.items() if n}
    return [cause for cause in CAUSES if cause in found] + sorted(found - set(CAUSES))


def mean_drops(document: Document, discipline: str, group: str, cause: str) -> float:
    def value(run: object) -> float | None:
        row = group_of(run, group)  # type: ignore[arg-type]
        return None if row is None else float(row.drops.get(cause, 0))

    found = over_seeds(runs_of(document, discipline), value)
    return found.mean if found else 0.0


def _bars(axes: Axes, document: Document, layout: Blocks, causes: list[str]) -> float:
    hue = colours.causes(causes)
    most = 1.0
    for (discipline, group), place in layout.places.items():
        left = 0.0
        for cause in causes:
            width = mean_drops(document, discipline, group, cause)
            if width > 0:
                bar = axes.barh(place, width, left=left, height=0.72, color=hue[cause], linewidth=0)
                mark(bar.patches, discipline, f"{group}, {cause_name(cause)}: {width:,.0f} packets per run")
            left += width
        fraction = group_estimate(runs_of(document, discipline), group, "drop_fraction")
        beside = axes.annotate(
            _beside(left, fraction),
            (left, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
        mark(beside, discipline)
        most = max(most, left)
    return most


def _beside(packets: float, fraction: Estimate | None) -> str:
    if packets == 0:
        return "none"
    return "" if fraction is None else percent(fraction, interval=False)
