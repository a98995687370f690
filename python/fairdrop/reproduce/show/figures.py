"""Figures of the papers from measured data, with the published points on them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from fairdrop.plot import colours
from fairdrop.plot.frame import legend, note, plain_log
from fairdrop.plot.size import SIZES
from fairdrop.plot.style import styled
from fairdrop.reproduce.define.definition import BASE_READING, Definition, FigureSpec, Measure, Panel
from fairdrop.reproduce.judge.checks import grid_distances, sensitivity_of
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.measure.data import Data, Row
from fairdrop.reproduce.show import drawings
from fairdrop.wording.phrases import count

PUBLISHED = "published"
_MODELS = {
    "full model": colours.INK,
    "approximate model": colours.MUTED,
    "three approximations": colours.MUTED,
    "front model": colours.INK,
    "theory": colours.INK,
    "limit": colours.MUTED,
    "tail pair": colours.INK,
    "memory 1": colours.MUTED,
    "formula": colours.INK,
    "CHOKe, model": colours.INK,
    "RED, model": colours.MUTED,
    "DropTail, model": colours.GREY,
}
_MARKERS = ("o", "s", "^", "v", "D", "P", "X", "<", ">")
_FURTHER = (
    colours.SKY, colours.BLUE, colours.PURPLE, colours.VERMILLION, colours.OLIVE, colours.GREEN, colours.ORANGE,
)  # fmt: skip
_LOADS = (colours.VERMILLION, colours.PURPLE, colours.SLATE, colours.SKY, colours.GREEN)
WIDE_IN = SIZES["screen"].width_in
PANEL_IN = 3.5


def draw(found: Findings) -> Figure:
    """The figure of an id. Raises ValueError when there is none, or nothing was measured."""
    spec = found.definition.figure
    if spec is None:
        raise ValueError(f"{found.definition.name} has no figure: its numbers are in a table")
    if spec.kind == "diagram" and spec.drawing:
        return drawings.draw(drawings.DRAWINGS[spec.drawing]())
    data = found.data.get(BASE_READING)
    if data is None or not len(data):
        raise ValueError(f"{found.definition.name} has no data: {found.document.get('reason') or 'not run'}")
    plot = _Plot(found, spec, data)
    if spec.kind == "grid":
        return plot.draw_grid()
    if spec.kind == "sensitivity":
        return plot.draw_sensitivity()
    return plot.draw_schemes() if spec.kind == "schemes" else plot.draw()


class _Plot:
    def __init__(self, found: Findings, spec: FigureSpec, data: Data) -> None:
        self.found, self.spec, self.data = found, spec, data
        self.definition: Definition = found.definition
        self.measures: dict[str, Measure] = {one.name: one for one in self.definition.measures}
        self.labels = {scheme.name: scheme.label for scheme in self.definition.schemes}
        self.hues = _scheme_colours(self.definition, data)
        wanted_hues = {scheme.name: scheme.colour for scheme in self.definition.schemes}
        named = colours.disciplines(wanted_hues.values())
        # Bars with a name under each need no distinct colours.
        self.own_hues = {name: named[colour] for name, colour in wanted_hues.items()}
        shown = [y for panel in spec.panels for y in panel.y]
        wanted = {y: self.measures[y].colour for y in dict.fromkeys(shown)}
        hues = colours.groups(wanted.values())
        self.measure_hues = {y: hues[colour] for y, colour in wanted.items()}
        self.handles: dict[str, Any] = {}

    @styled
    def draw(self) -> Figure:
        panels = self.spec.panels
        columns = 3 if len(panels) == 3 else min(2, len(panels))
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(WIDE_IN, rows * PANEL_IN + 0.7))
        grid = figure.subplots(rows, columns, squeeze=False)
        flat = list(grid.flat)
        for axes in flat[len(panels) :]:
            axes.remove()
        drawer = {"lines": self._lines, "bars": self._bars, "stacked": self._stacked, "flows": self._flow_bars}
        for axes, panel in zip(flat, panels, strict=False):
            drawer[self.spec.kind](axes, panel)
            self._finish(axes, panel)
        self._legend(figure)
        note(figure, self._note())
        return figure

    @styled
    def draw_grid(self) -> Figure:
        """Every cell of a grid over the axis of the figure, and how far the cells of each choice are from the paper."""
        panel = self.spec.panels[0]
        figure = Figure(figsize=(WIDE_IN, 4.6))
        cells, distances = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
        self._cells(cells, panel)
        self._finish(cells, panel)
        self._choices(distances, panel)
        self._legend(figure)
        note(figure, self._note())
        return figure

    def _points(self) -> list[tuple[float, float]]:
        """Published points of the highlighted cell, in the order of the axis."""
        return sorted((float(point.at[self.spec.x]), point.value) for point in self.definition.published)

    def _cells(self, axes: Axes, panel: Panel) -> None:
        (measure,) = panel.y
        cells: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.data.select(measure):
            cells.setdefault(tuple((k, v) for k, v in row.at.items() if k != self.spec.x), []).append(row)
        chosen = tuple(self.spec.highlight.items())
        for cell, rows in cells.items():
            x = [float(row.at[self.spec.x]) for row in rows]
            y = [row.estimate.mean for row in rows]
            if cell == chosen:
                (line,) = axes.plot(x, y, color=colours.KNOWN_DISCIPLINES["choke"], linewidth=2.2, marker="o", zorder=5)
                self.handles["frozen set-up"] = line
            else:
                (line,) = axes.plot(x, y, color=colours.GREY, linewidth=0.6, alpha=0.45, zorder=2)
                self.handles.setdefault(f"the other {count(len(cells) - 1, 'cell')}", line)
        points = self._points()
        self._mark(axes, [x for x, _ in points], [y for _, y in points], colours.INK)

    def _choices(self, axes: Axes, panel: Panel) -> None:
        (measure,) = panel.y
        distances = grid_distances(self.data, measure, self.spec.x, self._points())
        rows: list[tuple[str, list[float], bool]] = []
        for axis, chosen in self.spec.highlight.items():
            for value in self.data.axis(axis):
                found = [far for cell, far in distances.items() if dict(cell)[axis] == value]
                rows.append((f"{axis.replace('_', ' ')}: {value}", found, value == chosen))
        for place, (_, found, chosen) in enumerate(reversed(rows)):
            colour = colours.KNOWN_DISCIPLINES["choke"] if chosen else colours.SLATE
            mean = sum(found) / len(found)
            axes.plot([min(found), max(found)], [place, place], color=colour, linewidth=1.2, zorder=2)
            axes.plot([mean], [place], color=colour, marker="o", markersize=6, linestyle="none", zorder=3)
        axes.axvline(distances[tuple(self.spec.highlight.items())], color=colours.MUTED, linestyle=(0, (4, 3)))
        axes.yaxis.set_major_locator(FixedLocator(range(len(rows))))
        axes.yaxis.set_major_formatter(FixedFormatter([name for name, *_ in reversed(rows)]))
        axes.set_xlim(left=0.0)
        axes.set_xlabel("distance from the printed drops (percentage points)")
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", visible=True)

    @styled
    def draw_schemes(self) -> Figure:
        """A row for each scheme, a column for each panel, a mark for each value of the axis of the figure."""
        schemes = self.data.schemes()
        figure = Figure(figsize=(WIDE_IN, 1.3 + 0.25 * len(schemes)))
        columns = figure.subplots(1, len(self.spec.panels), sharey=True, squeeze=False)[0]
        places = {name: len(schemes) - 1 - index for index, name in enumerate(schemes)}
        values = self.data.axis(self.spec.x)
        for axes, panel in zip(columns, self.spec.panels, strict=True):
            for row in self.data.select(list(panel.y)):
                self._place(axes, row, places[row.scheme], values)
            if panel.log:
                axes.set_xscale("log")
                low, high = axes.get_xlim()
                # Beside others a panel has room for fewer numbers.
                plain_log(axes.xaxis, (high / low) ** (len(columns) / 2))
            else:
                # Below 0 the definition says where: what cannot be negative may have an interval that is.
                below = panel.bottom is not None and panel.bottom < 0.0
                left = panel.bottom if below else min(panel.bottom or 0.0, axes.get_xlim()[0])
                axes.set_xlim(left=left, right=panel.top)
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlabel(panel.label)
            axes.set_ylim(-0.7, len(schemes) - 0.3)
            axes.grid(axis="x", visible=True)
        columns[0].yaxis.set_major_locator(FixedLocator(list(places.values())))
        columns[0].yaxis.set_major_formatter(FixedFormatter([self.labels[name] for name in places]))
        ordered = {str(value): self.handles[str(value)] for value in values if str(value) in self.handles}
        legend(figure, list(ordered.values()), list(ordered))
        note(figure, self._note())
        return figure

    @styled
    def draw_sensitivity(self) -> Figure:
        """A row for each parameter of a design, a column for each panel, a mark for each scheme."""
        panels = self.spec.panels
        schemes = self.data.schemes()
        found = {
            (panel.y[0], scheme): sensitivity_of(self.data, panel.y[0], scheme)
            for panel in panels
            for scheme in schemes
        }
        names = list(next(iter(found.values())).correlations)
        figure = Figure(figsize=(WIDE_IN, 1.5 + 0.34 * len(names)))
        columns = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(columns, panels, strict=True):
            for number, scheme in enumerate(schemes):
                correlations = found[panel.y[0], scheme].correlations
                values = [correlations[name] for name in names]
                y = [len(names) - 1 - place + 0.18 * (len(schemes) - 1 - 2 * number) for place in range(len(names))]
                drawn = axes.errorbar(
                    [one.value for one in values], y,
                    xerr=[[one.value - one.low for one in values], [one.high - one.value for one in values]],
                    color=self.hues[scheme], marker=_MARKERS[number % len(_MARKERS)], markersize=5.0,
                    linestyle="none", elinewidth=1.2, capsize=2.0,
                )  # fmt: skip
                self.handles.setdefault(self.labels[scheme], drawn)
            axes.axvline(0.0, color=colours.MUTED, linewidth=1.0)
            axes.set_xlim(-1.05, 1.05)
            axes.set_xlabel(panel.label)
            axes.set_ylim(-0.7, len(names) - 0.3)
            axes.grid(axis="x", visible=True)
            axes.grid(axis="y", visible=False)
        columns[0].yaxis.set_major_locator(FixedLocator(range(len(names))))
        columns[0].yaxis.set_major_formatter(FixedFormatter([name.replace("_", " ") for name in reversed(names)]))
        self._legend(figure)
        note(figure, self._note())
        return figure

    def _place(self, axes: Axes, row: Row, place: int, values: Sequence[Any]) -> None:
        value, index = row.estimate, values.index(row.at[self.spec.x])
        y = place + 0.28 - 0.56 * index / max(1, len(values) - 1)
        drawn = axes.errorbar(
            value.mean, y, xerr=value.half or None, color=_LOADS[index % len(_LOADS)],
            marker=_MARKERS[index % len(_MARKERS)], markersize=4.2, linestyle="none", elinewidth=0.9,
        )  # fmt: skip
        self.handles.setdefault(str(row.at[self.spec.x]), drawn)

    def _legend(self, figure: Figure) -> None:
        """Published points last."""
        ordered = sorted(self.handles, key=lambda label: label == PUBLISHED)
        legend(figure, [self.handles[label] for label in ordered], ordered)

    def _chosen(self, panel: Panel) -> list[str]:
        shown = [name for name in self.data.schemes() if not panel.schemes or name in panel.schemes]
        return [name for name in shown if any(self.data.select(y, name) for y in panel.y)]

    def _label(self, scheme: str, measure: str, panel: Panel, several: bool) -> str:
        name = self.labels.get(scheme, scheme)
        if scheme == "all":
            return self.measures[measure].label
        if len(panel.y) == 1:
            return name
        return f"{name}: {self.measures[measure].label}" if several else self.measures[measure].label

    def _series(self, panel: Panel) -> list[tuple[str, str, str, list[Row]]]:
        """Series of a panel: scheme, measure, further axes in words, rows over x."""
        found = []
        for scheme in self._chosen(panel):
            for measure in panel.y:
                rest: dict[str, list[Row]] = {}
                for row in self.data.select(measure, scheme):
                    if self.spec.x in row.at:
                        others = [f"{axis} {value}" for axis, value in row.at.items() if axis != self.spec.x]
                        rest.setdefault(", ".join(others), []).append(row)
                found += [(scheme, measure, words, rows) for words, rows in rest.items()]
        return found

    def _lines(self, axes: Axes, panel: Panel) -> None:
        series = self._series(panel)
        several = len({scheme for scheme, *_ in series}) > 1
        further = list(dict.fromkeys(words for *_, words, _ in series))
        hues = dict(zip(further, cycle(_FURTHER), strict=False))
        schemes = list(dict.fromkeys(scheme for scheme, *_ in series))
        for index, (scheme, measure, words, rows) in enumerate(series):
            rows = sorted(rows, key=lambda row: float(row.at[self.spec.x]))
            model = scheme in _MODELS
            colour = hues[words] if len(further) > 1 else self._colour(scheme, measure, several, panel)
            label = self._label(scheme, measure, panel, several)
            label = f"{label}, {words}" if words else label
            x = [float(row.at[self.spec.x]) for row in rows]
            # A mean over traces would hide how each of them moves.
            y = [row.values[0] if self.spec.x == "time" else row.estimate.mean for row in rows]
            half = [row.estimate.half or 0.0 for row in rows]
            dash = colours.DASHES[panel.y.index(measure) % len(colours.DASHES)]
            if model and len(panel.y) == 1:
                dash = colours.DASHES[1 if len(further) > 1 else list(_MODELS).index(scheme) % 2]
            elif several and len(further) > 1:
                dash = colours.DASHES[schemes.index(scheme) % len(colours.DASHES)]
            marker = "" if model or len(rows) > 40 else _MARKERS[index % len(_MARKERS)]
            drawn = axes.errorbar(
                x, y, yerr=half if any(half) and len(rows) <= 40 else None, color=colour, linestyle=dash, marker=marker,
                markersize=4.0, capsize=2.0, elinewidth=1.0, linewidth=1.2 if len(rows) > 200 else 1.8,
            )  # fmt: skip
            self.handles.setdefault(label, drawn)
            self._published_points(axes, measure, scheme, colour)

    def _colour(self, scheme: str, measure: str, several: bool, panel: Panel) -> str:
        """That of the scheme where the legend names schemes, otherwise that of the measure."""
        if scheme in _MODELS:
            return _MODELS[scheme] if several or len(panel.y) == 1 else self.measure_hues[measure]
        if several or (len(panel.y) == 1 and scheme != "all"):
            return self.hues[scheme]
        wanted = self.measures[measure].colour
        known = colours.KNOWN_DISCIPLINES.get(wanted)
        return known or self.measure_hues[measure]

    def _published_points(self, axes: Axes, measure: str, scheme: str, colour: str) -> None:
        points = [
            (float(point.at[self.spec.x]), point.value)
            for point in self.definition.published
            if point.measure == measure and self.spec.x in point.at and self._belongs(point.scheme, scheme)
        ]
        if points:
            self._mark(axes, [x for x, _ in points], [y for _, y in points], colour)

    def _belongs(self, published: str | None, scheme: str) -> bool:
        return published == scheme or (published is None and scheme == self.data.schemes()[0])

    def _mark(self, axes: Axes, x: Sequence[float], y: Sequence[float], colour: str) -> None:
        drawn = axes.plot(
            x, y, linestyle="none", marker="D", markersize=7.5 if len(x) < 12 else 4.5,
            markerfacecolor="white", markeredgecolor=colour,
            markeredgewidth=1.8 if len(x) < 12 else 1.1, zorder=6,
        )  # fmt: skip
        self.handles.setdefault(PUBLISHED, drawn[0])

    def _bars(self, axes: Axes, panel: Panel) -> None:
        """A bar per category; several measures or schemes stand side by side in it."""
        by_scheme = not self.spec.x
        schemes = self._chosen(panel)
        categories = schemes if by_scheme else self.data.axis(self.spec.x)
        series = [("", measure) for measure in panel.y] if by_scheme else [(s, m) for s in schemes for m in panel.y]
        width = 0.8 / len(series)
        several = len(schemes) > 1
        for number, (scheme, measure) in enumerate(series):
            for place, category in enumerate(categories):
                at = {} if by_scheme else {self.spec.x: category}
                rows = self.data.select(measure, category if by_scheme else scheme, at)
                x = place - 0.4 + (number + 0.5) * width
                if rows:
                    self._bar(axes, panel, rows[0], x, width, by_scheme, several)
                for point in self.definition.published:
                    there = point.scheme == category if by_scheme else point.at.get(self.spec.x) == category
                    if point.measure == measure and there and (by_scheme or point.scheme in (None, scheme)):
                        self._mark(axes, [x], [point.value], colours.INK)
        names = [self.labels.get(str(name), str(name)) for name in categories]
        axes.xaxis.set_major_locator(FixedLocator(range(len(names))))
        crowded = max((len(name) for name in names), default=0) * len(names) * len(self.spec.panels) > 120
        axes.xaxis.set_major_formatter(FixedFormatter([name if crowded else _wrapped(name) for name in names]))
        if crowded:
            axes.tick_params(axis="x", rotation=30)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")

    def _bar(self, axes: Axes, panel: Panel, row: Row, x: float, width: float, by_scheme: bool, several: bool) -> None:
        value = row.estimate
        one_measure = len(panel.y) == 1
        colour = (
            self.own_hues[row.scheme]
            if one_measure and by_scheme and row.scheme in self.own_hues
            else self.hues[row.scheme]
            if one_measure and (by_scheme or several)
            else self._colour(row.scheme, row.measure, several and not by_scheme, panel)
        )
        bar = axes.bar(x, value.mean, width * 0.92, color=colour, zorder=2)
        if value.half:
            axes.errorbar(x, value.mean, yerr=value.half, color=colours.INK, capsize=2.5, elinewidth=1.0, zorder=5)
        if not (by_scheme and one_measure):
            self.handles.setdefault(self._label(row.scheme, row.measure, panel, several and not by_scheme), bar)

    def _stacked(self, axes: Axes, panel: Panel) -> None:
        """Means of the measures on top of one another over x."""
        rows = {y: {row.at[self.spec.x]: row.estimate.mean for row in self.data.select(y)} for y in panel.y}
        x = sorted(set.intersection(*(set(values) for values in rows.values())))
        layers = [[values[at] for at in x] for values in rows.values()]
        hues = [self._colour("all", y, False, panel) for y in panel.y]
        drawn = axes.stackplot(x, layers, colors=hues, alpha=0.85, zorder=2)
        for y, one in zip(panel.y, drawn, strict=True):
            self.handles.setdefault(self.measures[y].label, one)

    def _flow_bars(self, axes: Axes, panel: Panel) -> None:
        """A bar per flow, in the colour of its group."""
        for scheme in self._chosen(panel):
            for y in panel.y:
                rows = self.data.select(y, scheme)
                x = [float(row.at["flow"]) for row in rows]
                heights = [row.estimate.mean for row in rows]
                bars = axes.bar(x, heights, 0.8, color=self._colour("all", y, False, panel), zorder=2)
                half = [row.estimate.half or 0.0 for row in rows]
                if any(half):
                    axes.errorbar(x, heights, yerr=half, fmt="none", ecolor=colours.INK, elinewidth=0.8, zorder=4)
                self.handles.setdefault(self.measures[y].label, bars)
                points = [p for p in self.definition.published if p.measure == y and "flow" in p.at]
                if points:
                    self._mark(axes, [p.at["flow"] for p in points], [p.value for p in points], colours.INK)

    def _finish(self, axes: Axes, panel: Panel) -> None:
        axes.set_ylabel(panel.label)
        if self.spec.x_label:
            axes.set_xlabel(self.spec.x_label)
        if self.spec.log_x:
            axes.set_xscale("log")
            low, high = axes.get_xlim()
            plain_log(axes.xaxis, high / low)
        if panel.log:
            axes.set_yscale("log")
            low, high = axes.get_ylim()
            plain_log(axes.yaxis, high / low)
        elif panel.bottom is not None:
            axes.set_ylim(bottom=panel.bottom)
        if panel.top is not None:
            axes.set_ylim(top=panel.top)
        if panel.reference is not None:
            line = axes.axhline(panel.reference, color=colours.MUTED, linestyle=(0, (4, 3)), linewidth=1.1, zorder=3)
            self.handles.setdefault(panel.reference_label or "reference", line)
        axes.xaxis.set_minor_locator(NullLocator())

    def _note(self) -> str:
        document = self.found.document
        parts = [self.spec.note] if self.spec.note else []
        seeds = count(document["seeds"], "seed")
        if self.spec.x == "time":
            pass
        elif document["seeds"] > 1 and self.spec.kind in ("stacked", "grid"):
            parts.append(f"Mean of {seeds}.")
        elif self.spec.kind == "sensitivity":
            parts.append(f"Means of {seeds} at each point; whiskers: 95 % interval of the correlation.")
        elif document["seeds"] > 1:
            parts.append(f"Mean of {seeds}; whiskers: 95 % interval of the mean.")
        elif document["seeds"] == 1:
            parts.append("One seed, so no interval.")
        if document["settings"]:
            parts.append(f"Changed: {', '.join(document['settings'])}.")
        return " ".join(parts)


def _scheme_colours(definition: Definition, data: Data) -> dict[str, str]:
    """A scheme has the colour of its discipline; variants of one discipline take colours of their own."""
    wanted = {scheme.name: scheme.colour for scheme in definition.schemes}
    names = [name for name in data.schemes() if name not in _MODELS]
    keys = [wanted.get(name, name) for name in names]
    unique = [key if keys.index(key) == index else names[index] for index, key in enumerate(keys)]
    hues = colours.disciplines(unique)
    return {**dict(zip(names, (hues[key] for key in unique), strict=True)), **_MODELS}


def _wrapped(name: str) -> str:
    mark = ": " if ": " in name else ", "
    return name.replace(mark, f"{mark.strip()}\n") if len(name) > 14 else name
