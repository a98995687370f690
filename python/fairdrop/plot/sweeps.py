"""Figures of a sweep: lines over an axis, small multiples, a map over two axes, delay against fairness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis as Ticks
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairdrop.estimate import Estimate
from fairdrop.plot import colours
from fairdrop.plot.cells import Cells, Shown
from fairdrop.plot.frame import legend, note, nothing, panels, plain_log, single
from fairdrop.plot.size import Size
from fairdrop.plot.style import SMALL, styled
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import digits

_NOTHING = "There is no run to show."
_MARKERS = "osD^vPX*"
# From paper to ink through one hue, so that more is darker on print, too.
_MAP = LinearSegmentedColormap.from_list("fairdrop", ["#eef5fa", "#7fb5d8", colours.BLUE, "#0b2f4a"])
# Cells of a map that hold their number.
_MOST_NUMBERS = 150


@styled
def draw_lines(cells: Cells, over: str, by: str | None, across: str | None, size: Size) -> Figure:
    if not cells.points:
        return nothing(_NOTHING, size)
    wanted = [None] if across is None else list(cells.axes[across].values)
    figure, flat = panels(len(wanted), 2 if size.narrow else 3, 2.3 if across else 3.2, size, extra_in=1.0)
    keys = [None] if by is None else list(cells.axes[by].values)
    for axes, panel in zip(flat, wanted, strict=True):
        some = [point for point in cells.points if panel is None or point[0][str(across)] == panel]
        for number, key in enumerate(keys):
            line = [(at[over], found) for at, found in some if key is None or at[str(by)] == key]
            _line(axes, cells, over, line, _look(by, key, keys, number))
        if across is not None:
            axes.set_title(named(across, panel, cells.axes[across]))
        _scale(axes.xaxis, axes, cells.axes[over])
    for axes in flat:
        axes.set_xlabel(cells.axes[over].label if axes.xaxis.get_tick_params()["labelbottom"] else "")
        axes.set_ylabel(cells.measure.label if axes is flat[0] else "")
    _legend(figure, cells, by, keys, size)
    note(figure, f"{cells.note}{cells.intervals}.")
    return figure


def _line(axes: Axes, cells: Cells, over: str, line: Sequence[tuple[Any, Estimate]], look: Mapping[str, Any]) -> None:
    shown, scale = cells.axes[over], cells.measure.divisor
    places = {value: value / shown.divisor if shown.is_number else n for n, value in enumerate(shown.values)}
    line = sorted(line, key=lambda pair: places[pair[0]])
    x = [places[value] for value, _ in line]
    half = [(found.half or 0.0) / scale for _, found in line]
    style = {**look, "linestyle": "none"} if shown.drawn else look
    axes.errorbar(x, [found.mean / scale for _, found in line], yerr=half, capsize=2.5, elinewidth=1.1, **style)


def _look(by: str | None, key: Any, keys: Sequence[Any], number: int) -> dict[str, Any]:
    names = [str(one) for one in keys]
    turns = (colours.BLUE, *(hue for hue in colours.DISCIPLINE_FALLBACK if hue != colours.BLUE)) * len(names)
    hues = colours.disciplines(names) if by == "discipline" else dict(zip(names, turns, strict=False))
    return {
        "color": hues[str(key)] if key is not None else colours.BLUE,
        "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5,
        "linestyle": colours.DASHES[number // len(_MARKERS) % len(colours.DASHES)],
    }  # fmt: skip


def _legend(figure: Figure, cells: Cells, by: str | None, keys: Sequence[Any], size: Size) -> None:
    if by is not None:
        marks = [Line2D([], [], **_look(by, key, keys, number)) for number, key in enumerate(keys)]
        legend(figure, marks, [named(by, key, cells.axes[by]) for key in keys])


def named(axis: str, value: Any, shown: Shown) -> str:
    """A value in words: a discipline by its name, a number with the name and unit of its axis."""
    if axis == "discipline":
        return discipline_name(str(value))
    if not shown.is_number:
        return str(value) if isinstance(value, str) else f"{shown.label}: {'yes' if value else 'no'}"
    name, _, unit = shown.label.partition(", ")
    return f"{name} {digits(value / shown.divisor)}{f' {unit}' if unit else ''}"


def _scale(ticks: Ticks, axes: Axes, shown: Shown) -> None:
    """Numbers stand where they are, on a scale of ratios where they are spaced so; names one after the other."""
    horizontal = ticks is axes.xaxis
    if shown.is_log:
        (axes.set_xscale if horizontal else axes.set_yscale)("log")
        plain_log(ticks, max(shown.values) / min(shown.values))
    elif not shown.is_number:
        ticks.set_ticks(range(len(shown.values)), [_short(value) for value in shown.values])


def _short(value: Any) -> str:
    return "yes" if value is True else "no" if value is False else discipline_name(str(value))


@styled
def draw_heat_map(cells: Cells, over: str, against: str, size: Size) -> Figure:
    if not cells.points:
        return nothing(_NOTHING, size)
    columns, rows = cells.axes[over], cells.axes[against]
    x, y = (_ordered(shown) for shown in (columns, rows))
    means = [[float("nan")] * len(x) for _ in y]
    for at, found in cells.points:
        means[y.index(at[against])][x.index(at[over])] = found.mean / cells.measure.divisor
    figure, axes = single(max(2.4, 0.42 * len(y) + 1.5), size)
    mesh = axes.pcolormesh(range(len(x) + 1), range(len(y) + 1), means, cmap=_MAP, edgecolor=colours.PAPER, linewidth=1)
    axes.set_xticks([n + 0.5 for n in range(len(x))], [_tick(value, columns) for value in x])
    axes.set_yticks([n + 0.5 for n in range(len(y))], [_tick(value, rows) for value in y])
    axes.set_xlabel(columns.label)
    axes.set_ylabel(rows.label)
    axes.grid(visible=False)
    if len(x) * len(y) <= _MOST_NUMBERS and len(x) <= (8 if size.narrow else 16):
        _numbers(axes, means)
    bar = figure.colorbar(mesh, ax=axes, pad=0.015, fraction=0.05)
    bar.set_label(cells.measure.label)
    bar.outline.set_visible(False)
    note(figure, f"{cells.note}.")
    return figure


def _numbers(axes: Axes, means: Sequence[Sequence[float]]) -> None:
    known = [value for row in means for value in row if value == value]
    middle = (min(known) + max(known)) / 2 if known else 0.0
    for row, values in enumerate(means):
        for column, value in enumerate(values):
            if value == value:
                axes.text(column + 0.5, row + 0.5, digits(value), ha="center", va="center", fontsize=SMALL,
                          color="#ffffff" if value > middle else "#1b1f25")  # fmt: skip


def _ordered(shown: Shown) -> list[Any]:
    return sorted(shown.values) if shown.is_number else list(shown.values)


def _tick(value: Any, shown: Shown) -> str:
    return digits(value / shown.divisor) if shown.is_number else _short(value)


@styled
def draw_pareto(delay: Cells, fairness: Cells, by: str | None, size: Size) -> Figure:
    there = {_place(at): found for at, found in fairness.points}
    points = [(at, found, there[_place(at)]) for at, found in delay.points if _place(at) in there]
    if not points:
        return nothing(_NOTHING, size)
    figure, axes = single(4.0, size)
    keys = [None] if by is None else list(delay.axes[by].values)
    for number, key in enumerate(keys):
        some = [(one, other) for at, one, other in points if key is None or at[str(by)] == key]
        look = {**_look(by, key, keys, number), "linestyle": "none"}
        axes.errorbar(
            [one.mean / delay.measure.divisor for one, _ in some],
            [other.mean / fairness.measure.divisor for _, other in some],
            xerr=[(one.half or 0.0) / delay.measure.divisor for one, _ in some],
            yerr=[(other.half or 0.0) / fairness.measure.divisor for _, other in some],
            elinewidth=0.8, **look,
        )  # fmt: skip
    best = front((one.mean / delay.measure.divisor, other.mean / fairness.measure.divisor) for _, one, other in points)
    axes.step([x for x, _ in best], [y for _, y in best], where="post", color=colours.INK, linewidth=1.0, zorder=1)
    axes.grid(axis="x", visible=True)
    axes.set_xlabel(f"{delay.measure.label} (less is better)")
    axes.set_ylabel(f"{fairness.measure.label} (more is better)")
    _legend(figure, delay, by, keys, size)
    note(figure, f"{delay.note}{delay.intervals}. The line joins points that no other beats in both.")
    return figure


def front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats: less of the first and as much of the second, or as little and more."""
    best: list[tuple[float, float]] = []
    for x, some in groupby(sorted(points), key=lambda point: point[0]):
        y = max(point[1] for point in some)
        if not best or y > best[-1][1]:
            best.append((x, y))
    return best


def _place(at: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(at.items(), key=lambda pair: pair[0]))
