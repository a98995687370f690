"""Figures of a sweep: lines over an axis, small multiples, a map over two axes, delay against fairness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Any, TypeAlias

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
from fairdrop.wording.phrases import shorten

_NOTHING = "There is no run to show."
#: Lines that can be distinguished in one panel.
MOST_LINES = 6
_MOST_PANELS = 9
# Room above the largest value that there can be, as a multiple of it.
_ABOVE = 1.03

# Place of set-ups on an axis that their discipline does not read.
_UNREAD = object()

#: A set-up, its delay and its fairness.
Both: TypeAlias = tuple[Mapping[str, Any], Estimate, Estimate]
_MARKERS = "osD^vPX*"
# From paper to ink through one hue, so that more is darker on print, too.
_MAP = LinearSegmentedColormap.from_list("fairdrop", ["#eef5fa", "#7fb5d8", colours.BLUE, "#0b2f4a"])
# Cells of a map that hold their number.
_MOST_NUMBERS = 150


@styled
def draw_lines(cells: Cells, over: str, by: str | None, across: str | None, size: Size) -> Figure:
    if not cells.points:
        return nothing(_NOTHING, size)
    keys = [None] if by is None else list(cells.axes[by].values)
    if across is None and len(keys) > MOST_LINES:
        return _draw_apart(cells, over, str(by), keys, size)
    wanted = [None] if across is None else list(cells.axes[across].values)
    figure, flat = panels(len(wanted), 2 if size.narrow else 3, 2.3 if across else 3.2, size, extra_in=1.0)
    for axes, panel in zip(flat, wanted, strict=True):
        some = [point for point in cells.points if panel is None or point[0][str(across)] == panel]
        for number, key in enumerate(keys):
            line = [(at[over], found) for at, found in some if key is None or at[str(by)] == key]
            _line(axes, cells, over, line, _look(by, key, keys, number))
        if across is not None:
            axes.set_title(named(across, panel, cells.axes[across]))
        _scale(axes.xaxis, axes, cells.axes[over])
    _label(flat, cells, over)
    _legend(figure, cells, by, keys)
    note(figure, f"{cells.note}{cells.intervals}.")
    return figure


def _draw_apart(cells: Cells, over: str, by: str, keys: Sequence[Any], size: Size) -> Figure:
    """A panel for each line, with the others in grey: more lines than these cannot be distinguished in one."""
    figure, flat = panels(len(keys), 2 if size.narrow else 4, 1.7, size, extra_in=0.8)
    lines = [[(at[over], found) for at, found in cells.points if at[by] == key] for key in keys]
    for axes, key, line in zip(flat, keys, lines, strict=True):
        for other in lines:
            if other is not line:
                _line(axes, cells, over, other, {"color": colours.GRID, "linewidth": 0.8, "zorder": 1}, whiskers=False)
        _line(axes, cells, over, line, {"color": colours.BLUE, "marker": "o", "markersize": 3.5})
        axes.set_title(shorten(named(by, key, cells.axes[by]), 22))
        _scale(axes.xaxis, axes, cells.axes[over])
    _label(flat, cells, over)
    note(figure, f"{cells.note}{cells.intervals}. Each panel has one in blue, and the others in grey.")
    return figure


def _label(flat: Sequence[Axes], cells: Cells, over: str) -> None:
    if isfinite(cells.most):
        # They share one scale.
        flat[0].set_ylim(top=min(flat[0].get_ylim()[1], _ABOVE * cells.most / cells.measure.divisor))
    for axes in flat:
        axes.set_xlabel(cells.axes[over].label if axes.xaxis.get_tick_params()["labelbottom"] else "")
        axes.set_ylabel(cells.measure.label if axes is flat[0] else "")


def _line(
    axes: Axes,
    cells: Cells,
    over: str,
    line: Sequence[tuple[Any, Estimate]],
    look: Mapping[str, Any],
    whiskers: bool = True,
) -> None:
    shown = cells.axes[over]
    places = {value: value / shown.divisor if shown.is_number else n for n, value in enumerate(shown.values)}
    line = sorted(line, key=lambda pair: places[pair[0]])
    x = [places[value] for value, _ in line]
    half = _whiskers(cells, [found for _, found in line]) if whiskers else None
    style = {**look, "linestyle": "none"} if shown.drawn else look
    axes.errorbar(x, [cells.mean(found) for _, found in line], yerr=half, capsize=2.5, elinewidth=1.1, **style)


def _whiskers(cells: Cells, some: Sequence[Estimate]) -> tuple[list[float], list[float]]:
    ends = [cells.whisker(found) for found in some]
    return [down for down, _ in ends], [up for _, up in ends]


def _look(by: str | None, key: Any, keys: Sequence[Any], number: int) -> dict[str, Any]:
    if key is _UNREAD:
        return {"color": colours.GREY, "marker": "o", "markersize": 4.5, "linestyle": "none"}
    names = [str(one) for one in keys]
    turns = (colours.BLUE, *(hue for hue in colours.DISCIPLINE_FALLBACK if hue != colours.BLUE)) * len(names)
    hues = colours.disciplines(names) if by == "discipline" else dict(zip(names, turns, strict=False))
    return {
        "color": hues[str(key)] if key is not None else colours.BLUE,
        "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5,
        "linestyle": colours.DASHES[number // len(_MARKERS) % len(colours.DASHES)],
    }  # fmt: skip


def _legend(figure: Figure, cells: Cells, by: str | None, keys: Sequence[Any]) -> None:
    if by is not None:
        marks = [Line2D([], [], **_look(by, key, keys, number)) for number, key in enumerate(keys)]
        legend(figure, marks, [named(by, key, cells.axes[by]) for key in keys])


def named(axis: str, value: Any, shown: Shown) -> str:
    """A value in words: a discipline by its name, a number with the name and unit of its axis."""
    if value is _UNREAD:
        return f"{shown.label.partition(', ')[0]} not read"
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
def draw_pareto(delay: Cells, fairness: Cells, by: str | None, across: Sequence[str], size: Size) -> Figure:
    places = by_environment(delay, fairness, across)
    if not places:
        return nothing(_NOTHING, size)
    drawn = any(delay.axes[name].drawn for name in across)
    shown = [({}, [one for _, some in places for one in some])] if drawn else _spaced(places, _MOST_PANELS)
    if len(shown) == 1:
        figure, axes = single(4.0, size)
        flat = [axes]
    else:
        figure, flat = panels(len(shown), 2 if size.narrow else 3, 2.6, size, extra_in=1.0)
    keys = [None] if by is None else list(delay.axes[by].values)
    unread = by is not None and any(at[by] is None for at, _ in delay.points)
    for axes, (environment, points) in zip(flat, shown, strict=True):
        _marks(axes, (delay, fairness), points, by, keys)
        axes.set_title("\n".join(shorten(named(name, at, delay.axes[name]), 28) for name, at in environment.items()))
        if not drawn:
            best = front((delay.mean(one), fairness.mean(other)) for _, one, other in points)
            axes.step(
                [x for x, _ in best], [y for _, y in best], where="post", color=colours.INK, linewidth=1.0, zorder=1
            )
        axes.grid(axis="x", visible=True)
        bottom = axes.xaxis.get_tick_params()["labelbottom"]
        axes.set_xlabel(f"{delay.measure.label} (less is better)" if bottom else "")
        axes.set_ylabel(f"{fairness.measure.label} (more is better)" if axes is flat[0] else "")
    _legend(figure, delay, by, [*keys, _UNREAD] if unread else keys)
    note(figure, f"{delay.note}{delay.intervals}. {_compared(across, drawn, len(shown), len(places))}")
    return figure


def _compared(across: Sequence[str], drawn: bool, shown: int, places: int) -> str:
    if drawn:
        return f"No line: each mark has an environment of its own ({', '.join(across)})."
    line = "The line joins set-ups that no other beats in both"
    if shown < places:
        return f"{line} in the same environment; {shown} of {places} environments are shown."
    return f"{line} in the same environment." if across else f"{line}."


def _spaced(some: Sequence[Any], most: int) -> Sequence[Any]:
    """At most ``most``, evenly spaced from the first to the last."""
    if len(some) <= most:
        return some
    return [some[round(number * (len(some) - 1) / (most - 1))] for number in range(most)]


def _marks(axes: Axes, both: tuple[Cells, Cells], points: Sequence[Both], by: str | None, keys: Sequence[Any]) -> None:
    delay, fairness = both
    unread = [_UNREAD] if by is not None and any(at[by] is None for at, _, _ in points) else []
    for number, key in enumerate([*keys, *unread]):
        place = None if key is _UNREAD else key
        some = [(one, other) for at, one, other in points if by is None or at[by] == place]
        axes.errorbar(
            [delay.mean(one) for one, _ in some],
            [fairness.mean(other) for _, other in some],
            xerr=_whiskers(delay, [one for one, _ in some]),
            yerr=_whiskers(fairness, [other for _, other in some]),
            elinewidth=0.8, **{**_look(by, key, keys, number), "linestyle": "none"},
        )  # fmt: skip


def by_environment(delay: Cells, fairness: Cells, across: Sequence[str]) -> list[tuple[dict[str, Any], list[Both]]]:
    """The set-ups that have both measures, by their place on the axes ``across``, in the order of the points."""
    there = {_place(at): found for at, found in fairness.points}
    found: dict[tuple[Any, ...], list[Both]] = {}
    for at, one in delay.points:
        other = there.get(_place(at))
        if other is not None:
            found.setdefault(tuple(at[name] for name in across), []).append((at, one, other))
    return [(dict(zip(across, place, strict=True)), some) for place, some in found.items()]


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
