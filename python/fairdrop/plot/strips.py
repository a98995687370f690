"""Figures of many disciplines: a row for each of them, in which its groups or its distribution stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import ceil

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fairdrop.document import (
    Document,
    Queue,
    Run,
    crossing_throughput,
    disciplines,
    flow_groups,
    group_estimate,
    group_names,
    runs_of,
)
from fairdrop.estimate import estimate
from fairdrop.plot import colours
from fairdrop.plot.frame import legend, note, nothing, plain_log, seeds_note, single
from fairdrop.plot.marks import mark
from fairdrop.plot.size import Size
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import digits, percent, waiting_unit
from fairdrop.wording.phrases import shorten

#: Disciplines that have panels, blocks or curves of their own; more of them have a row each.
MOST_PANELS = 6
ROW_IN = 0.2
# Flows of a group that are dots; more of them are a line from the smallest to the largest.
_MOST_DOTS = 12
# Points of an outline in a row.
_POINTS = 60
Levels = Sequence[float]


def _rows(names: Sequence[str], size: Size) -> tuple[Figure, Axes]:
    """Axes with a row for each discipline, the first at the top."""
    figure, axes = single(ROW_IN * len(names) + 1.5, size)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [shorten(discipline_name(name), 18 if size.narrow else 24) for name in names])
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        mark(label, name)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)
    axes.spines["left"].set_visible(False)
    return figure, axes


def _group_legend(figure: Figure, document: Document, more: Sequence[tuple[Artist, str]] = ()) -> None:
    hue = colours.groups(group_names(document.runs))
    handles: list[Artist] = [Patch(color=hue[name]) for name in hue]
    labels = [shorten(name, 24) for name in hue]
    legend(figure, handles + [artist for artist, _ in more], labels + [label for _, label in more])


def _log_scale(axes: Axes, low: float, high: float) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low * 0.85, high * 1.18)
    plain_log(axes.xaxis, high / low)


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value of an ordered, non-empty sequence that ``part`` of them do not exceed."""
    return ordered[max(0, ceil(part * len(ordered)) - 1)]


def draw_flows(document: Document, means: Mapping[str, Mapping[str, float]], size: Size) -> Figure:
    """Throughput of flows as multiples of the fair share; ``means`` has bits per second by discipline and flow."""
    names = list(means)
    groups, order = flow_groups(document), group_names(document.runs)
    fair = estimate(run.fair_share_bps for run in document.runs)
    unit = fair.mean if fair and fair.mean else 1.0
    positive = [rate / unit for rates in means.values() for rate in rates.values() if rate > 0] or [1.0]
    low, high = max(min(*positive, 0.5), max(positive) * 1e-5, 1e-4), max(*positive, 2.0)
    figure, axes = _rows(names, size)
    hue = colours.groups(order)
    gap = 0.7 / max(1, len(order))
    for index, group in enumerate(order):
        for place, name in enumerate(names):
            found = sorted(max(rate / unit, low) for flow, rate in means[name].items() if groups[flow] == group)
            at = place + (index - (len(order) - 1) / 2) * gap
            if len(found) > _MOST_DOTS:
                levels = [found[0], *(quantile(found, part) for part in (0.25, 0.5, 0.75)), found[-1]]
                text = f"{group} under {discipline_name(name)}: {_of_levels(levels, 'times the fair share')}"
                mark(_range(axes, at, levels, hue[group]), name, text)
            else:
                dots = axes.plot(found, [at] * len(found), "o", color=hue[group], markersize=3.2, markeredgewidth=0)
                listed = ", ".join(digits(value) for value in found)
                mark(dots, name, f"{group} under {discipline_name(name)}: {listed} times the fair share")
    axes.axvline(1.0, color=colours.INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=3)
    _log_scale(axes, low, high)
    axes.set_xlabel("throughput / fair share")
    line = Line2D([], [], color=colours.INK, linewidth=1.1, linestyle=(0, (4, 2)))
    _group_legend(figure, document, [(line, "fair share")])
    edge = " Flows at the left edge got that or less." if low > min(positive) or _silent(means) else ""
    text = seeds_note(document, "Throughput on the shared link", whiskers=False)
    note(figure, f"{text} Of more than {_MOST_DOTS} flows of a group: smallest to largest, quartiles, median.{edge}")
    return figure


def _silent(means: Mapping[str, Mapping[str, float]]) -> bool:
    return any(rate <= 0 for rates in means.values() for rate in rates.values())


def _range(axes: Axes, place: float, levels: Levels, colour: str) -> list[Artist]:
    """A thin line from the first level to the last, a thick one between the inner ones, a dot in the middle."""
    thin = axes.plot([levels[0], levels[-1]], [place, place], color=colour, linewidth=0.9)
    thick = axes.plot([levels[1], levels[-2]], [place, place], color=colour, linewidth=2.6)
    dot = axes.plot([levels[len(levels) // 2]], [place], "o", color=colour, markersize=3.6,
                    markeredgecolor=colours.PAPER, markeredgewidth=0.5)  # fmt: skip
    return [*thin, *thick, *dot]


def _of_levels(levels: Levels, unit: str) -> str:
    return f"median {digits(levels[len(levels) // 2])}, from {digits(levels[0])} to {digits(levels[-1])} {unit}"


def draw_shares(document: Document, size: Size) -> Figure:
    """Shares of the groups, one after the other in a bar."""
    names, order = disciplines(document), group_names(document.runs)
    figure, axes = _rows(names, size)
    hue = colours.groups(order)
    left = [0.0] * len(names)
    for group in order:
        found = [group_estimate(runs_of(document, name), group, "share") for name in names]
        widths = [100 * value.mean if value else 0.0 for value in found]
        bars = axes.barh(range(len(names)), widths, left=left, height=0.72, color=hue[group], linewidth=0)
        for bar, name, value in zip(bars, names, found, strict=True):
            mark(bar, name, f"{group} under {discipline_name(name)}: {percent(value)} of the link" if value else "")
        left = [a + b for a, b in zip(left, widths, strict=True)]
    groups = flow_groups(document)
    crossing = [groups[flow] for flow in crossing_throughput(document.runs[0])]
    ends = list(accumulate(100 * crossing.count(group) / max(1, len(crossing)) for group in order))
    for end in ends[:-1]:
        axes.axvline(end, color=colours.INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=3)
    axes.set_xlim(0, 100.5)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("share of the link, %")
    line = Line2D([], [], color=colours.INK, linewidth=1.1, linestyle=(0, (4, 2)))
    _group_legend(figure, document, [(line, "ends of fair shares")] if len(order) > 1 else [])
    note(figure, seeds_note(document, "Share of the link", whiskers=False))
    return figure


def draw_drops(document: Document, size: Size) -> Figure:
    """Part of each group's packets that was dropped."""
    names, order = disciplines(document), group_names(document.runs)
    figure, axes = _rows(names, size)
    hue = colours.groups(order)
    for group in order:
        found = [group_estimate(runs_of(document, name), group, "drop_fraction") for name in names]
        for place, (name, value) in enumerate(zip(names, found, strict=True)):
            if value:
                dot = axes.plot([100 * value.mean], [place], "o", color=hue[group], markersize=5, markeredgewidth=0)
                mark(dot, name, f"{group} under {discipline_name(name)}: {percent(value)} dropped")
    axes.set_xlim(-1.5, 101.5)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("packets dropped, % of the group's")
    _group_legend(figure, document)
    note(figure, seeds_note(document, "Packets dropped", whiskers=False))
    return figure


def draw_quantiles(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], what: str, size: Size, seconds: bool
) -> Figure:
    """Quantiles of curves that have values and the per cent at or below each: 5 to 99, the quartiles, the median."""
    names = list(curves)
    parts = (5, 25, 50, 75, 99)
    levels = {name: [value_at(*curves[name], part) for part in parts] for name in names}
    figure, axes = _rows(names, size)
    divisor, label, unit = 1.0, "packets waiting", "packets"
    if seconds:
        divisor, unit = waiting_unit(max(found[-1] for found in levels.values()))
        positive = [value / divisor for found in levels.values() for value in found if value > 0] or [1e-3]
        levels = {name: [max(value, min(positive) * divisor) for value in found] for name, found in levels.items()}
        label = f"waited at most, {unit}"
    for place, name in enumerate(names):
        shown = [value / divisor for value in levels[name]]
        text = f"{discipline_name(name)}: {_of_levels(shown, unit)} (5th to 99th percentile)"
        mark(_range(axes, place, shown, colours.BLUE), name, text)
    if seconds:
        _log_scale(axes, min(positive), max(positive))
    else:
        axes.set_xlim(left=-0.5)
    axes.set_xlabel(label)
    note(figure, f"{what} Thin: 5th to 99th percentile; thick: quartiles; dot: median.")
    return figure


def value_at(values: Sequence[float], parts: Sequence[float], part: float) -> float:
    """The first of the values that ``part`` per cent are at or below."""
    return next((value for value, reached in zip(values, parts, strict=True) if reached >= part - 1e-9), values[-1])


def draw_queues(
    document: Document,
    queues: Mapping[str, tuple[Run, Queue]],
    thin: Callable[[Sequence[float | None], int], list[float]],
    size: Size,
) -> Figure:
    """The queue over time in a row for each discipline, all to one scale."""
    if not queues:
        return nothing("No run with a series of samples was finished.", size)
    names = list(queues)
    figure, axes = _rows(names, size)
    hue = colours.groups(group_names(document.runs))
    top = max(max(queue.series.packets, default=0) for _, queue in queues.values()) or 1
    outlines: dict[str, list[list[tuple[float, float]]]] = {}
    end = 0.0
    for place, (_, queue) in enumerate(queues.values()):
        series = queue.series
        step = ceil(len(series.t_s) / (_POINTS if not size.narrow else _POINTS // 2))
        times = thin(series.t_s, step)
        end = max(end, times[-1])
        below = [0.0] * len(times)
        for group, values in series.packets_by_group.items():
            above = [a + b for a, b in zip(below, thin(values, step), strict=True)]
            if max(above) > 0:
                edge = [*zip(times, above, strict=True), *zip(reversed(times), reversed(below), strict=True)]
                outlines.setdefault(group, []).append([(t, place + 0.45 - 0.9 * n / top) for t, n in edge])
            below = above
    for group, shapes in outlines.items():
        axes.add_collection(PolyCollection(shapes, facecolors=hue.get(group, colours.GREY), linewidths=0))
    run = next(iter(queues.values()))[0]
    axes.set_xlim(0, max(end, float(run.measured_to_s)))
    axes.set_xlabel("time, s")
    _group_legend(figure, document)
    start = float(run.measured_from_s)
    if 0 < start < end:
        axes.axvline(start, color=colours.INK, linewidth=0.8, linestyle=(0, (2, 2)))
    before = f" Before {start:g} s: warm-up, not counted." if 0 < start < end else ""
    note(figure, f"Waiting packets in the run with seed {run.seed}; a row is {top:g} packets high.{before}")
    return figure
