"""Distributions: the queue's length over time, and how long packets waited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fairdrop.document import Document, disciplines, reference_queue, runs_of
from fairdrop.plot import colours
from fairdrop.plot.frame import beside, legend, level_line, note, nothing, plain_log, seeds_note, single
from fairdrop.plot.marks import mark
from fairdrop.plot.size import Size
from fairdrop.plot.strips import MOST_PANELS, draw_quantiles, value_at
from fairdrop.plot.style import styled
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import digits, waiting_unit

POINTS = 400
Curve = tuple[list[float], list[float]]


@styled
def draw_length(document: Document, size: Size) -> Figure:
    curves = _curves(document, "length_histogram")
    if not curves:
        return nothing("No run was finished, so there is no queue length to show.", size)
    if len(curves) > MOST_PANELS:
        text = seeds_note(document, "Queue length on the shared link over time", whiskers=False)
        return draw_quantiles(curves, text, size, seconds=False)
    figure, axes = single(3.0 if size.narrow else 3.3, size)
    for name, (values, parts) in curves.items():
        # The first step rises from nothing, so that an always empty queue shows as a wall at 0.
        curve = axes.plot([values[0], *values], [0.0, *parts], drawstyle="steps-post", **_line(document, name))
        mark(curve, name, _quantiles(name, values, parts, 1.0, "packets"))
    axes.set_xlim(left=-0.5)
    axes.xaxis.set_major_locator(MaxNLocator(6 if size.narrow else 10, integer=True))
    axes.set_xlabel("packets waiting, at most")
    axes.set_ylabel("% of the time")
    _finish(figure, axes, document, list(curves), "Queue length on the shared link", size)
    return figure


@styled
def draw_sojourn(document: Document, size: Size) -> Figure:
    curves = _curves(document, "sojourn_histogram")
    if not curves:
        return nothing("No packet left the link, so there is no waiting time to show.", size)
    if len(curves) > MOST_PANELS:
        text = seeds_note(document, "Packets that left through the shared link", whiskers=False)
        return draw_quantiles(curves, text, size, seconds=True)
    figure, axes = single(3.0 if size.narrow else 3.3, size)
    positive = [value for values, _ in curves.values() for value in values if value > 0] or [1e-3]
    divisor, unit = waiting_unit(max(positive))
    for name, (values, parts) in curves.items():
        # Packets that did not wait cannot stand on a logarithmic axis; they stand at its left edge.
        shown = [max(value, min(positive)) / divisor for value in values]
        curve = axes.plot([shown[0], *shown], [0.0, *parts], drawstyle="steps-post", **_line(document, name))
        mark(curve, name, _quantiles(name, values, parts, 1 / divisor, unit))
    axes.set_xscale("log")
    plain_log(axes.xaxis, max(positive) / min(positive))
    axes.set_xlabel(f"waited at most, {unit}")
    axes.set_ylabel("% of the packets")
    for level, label in ((50, "half"), (99, "99 %")):
        level_line(axes, level, colours.MUTED)
        beside(axes, label, level, colour=colours.MUTED)
    _finish(figure, axes, document, list(curves), "Packets that left through the shared link", size)
    return figure


def _finish(figure: Figure, axes: Axes, document: Document, names: list[str], what: str, size: Size) -> None:
    axes.set_ylim(0, 103)
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.grid(axis="x", visible=True)
    handles: list[Artist] = [Line2D([], [], **_line(document, name)) for name in names]
    legend(figure, handles, [discipline_name(name) for name in names])
    note(figure, seeds_note(document, what, whiskers=False))


def _quantiles(name: str, values: Sequence[float], parts: Sequence[float], scale: float, unit: str) -> str:
    """The median and the 99th percentile of a curve in words."""
    half, most = (value_at(values, parts, part) * scale for part in (50, 99))
    return f"{discipline_name(name)}: median {digits(half)} {unit}, 99th percentile {digits(most)} {unit}"


def _line(document: Document, name: str) -> dict[str, Any]:
    names = disciplines(document)
    colour, dash = colours.lines(names)[name]
    return {"color": colour, "linestyle": dash}


def _curves(document: Document, field: str) -> dict[str, Curve]:
    curves: dict[str, Curve] = {}
    for name in disciplines(document):
        weights: defaultdict[float, float] = defaultdict(float)
        for run in runs_of(document, name):
            if (queue := reference_queue(run)) is not None:
                _add(weights, getattr(queue, field))
        if weights:
            curves[name] = cumulative(weights)
    return curves


def _add(weights: defaultdict[float, float], pairs: Sequence[tuple[float, float]]) -> None:
    """Each run counts alike, however many packets it has."""
    total = sum(weight for _, weight in pairs)
    for value, weight in pairs:
        if total > 0 and weight > 0:
            weights[float(value)] += weight / total


def cumulative(weights: Mapping[float, float]) -> Curve:
    """Values and the per cent at or below each; at most ``POINTS`` of them."""
    total = sum(weights.values())
    values: list[float] = []
    parts: list[float] = []
    running = 0.0
    for value in sorted(weights):
        running += weights[value]
        values.append(value)
        parts.append(100 * running / total)
    return _thinned(values, parts)


def _thinned(values: list[float], parts: list[float]) -> Curve:
    step = -(-len(values) // POINTS)
    kept = [index for index in range(len(values)) if index % step == 0 or index == len(values) - 1]
    return [values[index] for index in kept], [parts[index] for index in kept]
