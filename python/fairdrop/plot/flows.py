"""Throughput of each flow against the fair share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fairdrop.document import (
    Document,
    crossing_throughput,
    disciplines,
    flow_groups,
    group_names,
    runs_of,
)
from fairdrop.estimate import Estimate, estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import legend, note, nothing, panels, plain_log, seeds_note
from fairdrop.plot.marks import mark
from fairdrop.plot.size import Size
from fairdrop.plot.strips import MOST_PANELS, draw_flows
from fairdrop.plot.style import SMALL, styled
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import rate, rate_unit, with_half
from fairdrop.wording.phrases import clean, count, shorten

MOST_BARS = 60
_SPOTS = 50  # marks by a decade of rank or rate that can be distinguished
LOG_FROM = 30.0  # ratio of largest to smallest flow from which a linear axis hides the small ones


@dataclass(frozen=True)
class Scale:
    divisor: float
    unit: str
    fair: float
    log: bool
    bottom: float
    top: float


def layout(document: Document) -> Literal["bars", "log bars", "points", "rows"]:
    """How ``draw`` shows the flows of a document that has runs."""
    if len(disciplines(document)) > MOST_PANELS:
        return "rows"
    flows = {name: mean_flows(document, name) for name in disciplines(document)}
    if max(len(rows) for rows in flows.values()) > MOST_BARS:
        return "points"
    return "log bars" if _scale(document, flows).log else "bars"


@styled
def draw(document: Document, size: Size) -> Figure:
    names = disciplines(document)
    if not names:
        return nothing("No run was finished, so there is no throughput to show.", size)
    flows = {name: mean_flows(document, name) for name in names}
    if len(names) > MOST_PANELS:
        return draw_flows(
            document, {name: {flow: value.mean for flow, value in rows.items()} for name, rows in flows.items()}, size
        )
    scale = _scale(document, flows)
    groups = flow_groups(document)
    ranked = layout(document) == "points"
    columns = 1 if size.narrow else 3 if len(names) != 4 else 2
    figure, grid = panels(len(names), columns, 2.0 if size.narrow else 2.5, size, 1.3)
    for axes, name in zip(grid, names, strict=True):
        title = axes.set_title(discipline_name(name))
        hue = colours.groups(group_names(document.runs))
        if ranked:
            _ranks(axes, flows[name], groups, scale, hue, floor(12 * size.width_in / columns) - 6)
        else:
            _bars(axes, flows[name], groups, scale, hue)
        mark([title, *axes.lines, *axes.collections, *axes.texts], name)
        for bar, (flow, value) in zip(axes.patches, flows[name].items(), strict=False):
            mark(bar, name, f"{flow}: {with_half(value, 1 / scale.divisor, scale.unit)}")
        axes.axhline(scale.fair, color=colours.INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=3)
    _label(figure, grid, document, scale, ranked, columns)
    legend(figure, *_legend(document, scale, ranked))
    axis = " Bars start at the fair share; the scale is logarithmic." if scale.log and not ranked else ""
    note(figure, seeds_note(document, "Throughput on the shared link") + axis)
    return figure


def mean_flows(document: Document, discipline: str) -> dict[str, Estimate]:
    """Throughput of each flow that crosses the reference link, over seeds."""
    rates: dict[str, list[float]] = {}
    for run in runs_of(document, discipline):
        for flow, bps in crossing_throughput(run).items():
            rates.setdefault(flow, []).append(bps)
    return {flow: value for flow, found in rates.items() if (value := estimate(found)) is not None}


def _scale(document: Document, flows: dict[str, dict[str, Estimate]]) -> Scale:
    means = [value.mean for rows in flows.values() for value in rows.values()]
    fair = float(document.runs[0].fair_share_bps)
    divisor, unit = rate_unit(fair)
    some = [mean for mean in means if mean > 0] or [fair]
    log = max(*some, fair) / min(*some, fair) > LOG_FROM
    bottom = max(min(*some, fair) * 0.6, max(some) * 1e-6) / divisor if log else 0.0
    highs = [value.high for rows in flows.values() for value in rows.values()]
    return Scale(divisor, unit, fair / divisor, log, bottom, max(*highs, fair) * (1.5 if log else 1.08) / divisor)


def _limits(axes: Axes, scale: Scale) -> None:
    if scale.log:
        axes.set_yscale("log")
        plain_log(axes.yaxis, scale.top / scale.bottom)
    axes.set_ylim(scale.bottom, scale.top)


def _bars(axes: Axes, flows: dict[str, Estimate], groups: dict[str, str], scale: Scale, hue: dict[str, str]) -> None:
    places = range(len(flows))
    tops = [max(value.mean / scale.divisor, scale.bottom) for value in flows.values()]
    base = scale.fair if scale.log else 0.0
    tints = [hue[groups[flow]] for flow in flows]
    _limits(axes, scale)
    axes.bar(places, [top - base for top in tops], bottom=base, width=0.78, color=tints, linewidth=0)
    _whiskers(axes, list(flows.values()), scale)
    axes.set_xticks([])
    axes.set_xlim(-0.9, len(flows) - 0.1)


def _whiskers(axes: Axes, values: Sequence[Estimate], scale: Scale) -> None:
    for place, value in enumerate(values):
        if value.half is not None and value.high / scale.divisor > scale.bottom:
            low = max(value.low / scale.divisor, scale.bottom)
            axes.plot(
                [place, place],
                [low, value.high / scale.divisor],
                color=colours.INK,
                linewidth=0.9,
                solid_capstyle="butt",
            )


def _ranks(
    axes: Axes,
    flows: dict[str, Estimate],
    groups: dict[str, str],
    scale: Scale,
    hue: dict[str, str],
    letters: int,
) -> None:
    order = sorted(flows, key=lambda flow: (-flows[flow].mean, flow))
    seen = [flow for flow in order if flows[flow].mean > 0]
    axes.set_xscale("log")
    plain_log(axes.xaxis, len(order))
    _limits(axes, scale)
    spots: dict[tuple[int, int, str], tuple[int, float, str]] = {}
    for rank, flow in enumerate(seen, 1):
        height, tint = flows[flow].mean / scale.divisor, hue[groups[flow]]
        # One of the marks that would lie on each other.
        spot = (round(_SPOTS * log10(rank)), round(_SPOTS * log10(max(height, scale.bottom or 1e-9))), tint)
        spots.setdefault(spot, (rank, height, tint))
    ranks, heights, tints = zip(*spots.values(), strict=True) if spots else ((), (), ())
    axes.scatter(ranks, heights, s=13, color=list(tints), linewidths=0, zorder=4)
    axes.set_xlim(0.8, len(order) * 1.3)
    axes.text(
        0.98,
        0.93,
        f"largest: {shorten(order[0], letters)}",
        transform=axes.transAxes,
        fontsize=SMALL,
        ha="right",
        color=colours.MUTED,
    )
    if len(seen) < len(order):
        silent = count(len(order) - len(seen), "flow")
        axes.text(
            0.03,
            0.05,
            f"{silent} got nothing through",
            transform=axes.transAxes,
            fontsize=SMALL,
            color=colours.MUTED,
        )


def _label(figure: Figure, grid: list[Axes], document: Document, scale: Scale, ranked: bool, columns: int) -> None:
    longest = max(len(crossing_throughput(run)) for run in document.runs)
    for index, axes in enumerate(grid):
        if index % columns == 0:
            axes.set_ylabel(f"throughput, {scale.unit}")
        if index + columns >= len(grid):
            axes.set_xlabel("rank of the flow, largest first" if ranked else f"{count(longest, 'flow')}, one bar each")


def _legend(document: Document, scale: Scale, ranked: bool) -> tuple[list[Artist], list[str]]:
    groups = flow_groups(document)
    hue = colours.groups(group_names(document.runs))
    first = document.runs[0]
    crossing = crossing_throughput(first)
    handles: list[Artist] = []
    labels: list[str] = []
    for name in group_names(document.runs):
        members = [flow for flow in crossing if groups[flow] == name]
        if members:
            kinds = sorted({clean(flow.transport) for flow in first.flows if flow.name in set(members)})
            kind = f", {', '.join(kinds)}" if kinds != [clean(name)] else ""
            handles.append(
                Line2D([], [], marker="o", linestyle="none", color=hue[name], markersize=5)
                if ranked
                else Patch(color=hue[name])
            )
            labels.append(f"{shorten(name, 24)} ({count(len(members), 'flow')}{kind})")
    handles.append(Line2D([], [], color=colours.INK, linewidth=1.1, linestyle=(0, (4, 2))))
    return handles, [*labels, f"fair share, {rate(scale.fair * scale.divisor)}"]
