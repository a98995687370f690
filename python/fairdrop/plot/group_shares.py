"""Share of the link by group under each discipline."""

from __future__ import annotations

from math import ceil
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairdrop.document import (
    Document,
    crossing_throughput,
    disciplines,
    flow_groups,
    group_estimate,
    group_names,
    runs_of,
)
from fairdrop.estimate import Estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import beside, legend, note, nothing, seeds_note
from fairdrop.plot.marks import mark
from fairdrop.plot.rows import Blocks, block_axes
from fairdrop.plot.size import Size
from fairdrop.plot.strips import MOST_PANELS, draw_shares
from fairdrop.plot.style import styled
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import percent

# A hollow diamond: seen on a bar of any colour, and beside one.
_MODEL_MARK: dict[str, Any] = {
    "marker": "D",
    "markersize": 6.5,
    "markerfacecolor": colours.PAPER,
    "markeredgecolor": colours.INK,
    "markeredgewidth": 1.4,
    "linestyle": "none",
}


@styled
def draw(document: Document, size: Size) -> Figure:
    names = disciplines(document)
    groups = group_names(document.runs)
    if not names:
        return nothing("No run was finished, so there are no shares to show.", size)
    if len(names) > MOST_PANELS:
        return draw_shares(document, size)
    figure, axes, layout = block_axes(names, groups, size)
    most = max(_bars(axes, document, layout), _fair_marks(axes, document, layout))
    step = 25 if most > 40 else 10 if most > 15 else 5
    most = max(most, 100.0) if most > 60 else most
    # The last tick is at the end of the axis or beyond every bar.
    last = step * ceil(most / step - 1e-9)
    axes.set_xlim(0, max(last, most) * 1.005)
    axes.set_xticks(range(0, last + 1, step))
    axes.set_xlabel("share of the link, %")
    handles: list[Artist] = [
        Line2D([], [], color=colours.INK, marker="|", markersize=9, markeredgewidth=1.8, linestyle="none")
    ]
    labels = ["the group's fair share"]
    if _model_marks(axes, document, layout):
        handles.append(Line2D([], [], **_MODEL_MARK))
        labels.append("model of CHOKe")
    legend(figure, handles, labels)
    note(figure, seeds_note(document, "Share of the link"))
    return figure


def _bars(axes: Axes, document: Document, layout: Blocks) -> float:
    """Draw the bars; the largest value reached, in per cent."""
    hue = colours.groups(group_names(document.runs))
    most = 1.0
    for (discipline, group), place in layout.places.items():
        value = group_estimate(runs_of(document, discipline), group, "share")
        if value is None:
            continue
        scaled = Estimate(value.mean * 100, None if value.half is None else value.half * 100, value.n)
        bar = axes.barh(place, scaled.mean, height=0.72, color=hue[group], linewidth=0)
        mark(bar.patches, discipline, f"{group} under {discipline_name(discipline)}: {percent(value)} of the link")
        if scaled.half is not None:
            whisker = axes.plot(
                [max(scaled.low, 0.0), min(scaled.high, 100.0)],
                [place, place],
                color=colours.INK,
                linewidth=1.4,
                solid_capstyle="butt",
            )
            mark(whisker, discipline)
        mark(beside(axes, percent(value), place, gap=6), discipline)
        most = max(most, min(scaled.high, 100.0))
    return most


def _model_marks(axes: Axes, document: Document, layout: Blocks) -> bool:
    """Mark the share that theory gives each group under CHOKe; whether the document has a model."""
    model = document.model
    shares = {group["name"]: 100 * group["share"] for group in model["groups"]} if model else {}
    for (discipline, group), place in layout.places.items():
        if discipline == "choke" and group in shares:
            point = axes.plot(shares[group], place, zorder=5, **_MODEL_MARK)
            mark(point, discipline, f"{group}, model of CHOKe: {shares[group]:.1f} %")
    return bool(shares)


def _fair_marks(axes: Axes, document: Document, layout: Blocks) -> float:
    """Mark what an equal split between flows would give each group; the largest mark, in per cent."""
    groups = flow_groups(document)
    crossing = [groups[flow] for flow in crossing_throughput(document.runs[0])]
    marks: list[float] = []
    for (discipline, group), place in layout.places.items():
        fair = 100 * crossing.count(group) / max(1, len(crossing))
        line = axes.plot(
            [fair, fair],
            [place - 0.46, place + 0.46],
            color=colours.INK,
            linewidth=1.8,
            solid_capstyle="butt",
            zorder=4,
        )
        mark(line, discipline, f"{group}: fair share {fair:.1f} %")
        marks.append(fair)
    return max(marks)
