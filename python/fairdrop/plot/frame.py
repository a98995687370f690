"""What figures share: panels, legends, notes and axes with units."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor
from textwrap import fill

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fairdrop.document import Document, disciplines, runs_of, seeds
from fairdrop.plot.colours import INK, MUTED
from fairdrop.plot.size import Size
from fairdrop.plot.style import SMALL, StyledFigure
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import shorten

PER_INCH = 14.0  # letters of legend or note text that fit into an inch


def panels(count: int, columns: int, height_in: float, size: Size, extra_in: float = 0.9) -> tuple[Figure, list[Axes]]:
    """``count`` axes on common scales in a grid; ``extra_in`` is room for legend and note."""
    columns = max(1, min(columns, count))
    rows = ceil(count / columns)
    figure = StyledFigure(figsize=(size.width_in, rows * height_in + extra_in))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    flat = list(grid.flat)
    for index, axes in enumerate(flat[:count]):
        axes.tick_params(labelbottom=index + columns >= count, labelleft=index % columns == 0)
    for axes in flat[count:]:
        axes.remove()
    return figure, flat[:count]


def single(height_in: float, size: Size) -> tuple[Figure, Axes]:
    figure = StyledFigure(figsize=(size.width_in, height_in))
    return figure, figure.subplots()


def nothing(message: str, size: Size) -> Figure:
    """A figure that says why there is nothing to draw."""
    figure, axes = single(1.2, size)
    axes.set_axis_off()
    axes.text(
        0.0,
        0.5,
        fill(message, floor(12 * size.width_in)),
        ha="left",
        va="center",
        color=MUTED,
        transform=axes.transAxes,
    )
    return figure


def legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """A legend above the panels, in as many columns as its longest label allows."""
    if not handles:
        return
    # Matplotlib leaves out labels with a leading underscore; names are the reader's, so none may go.
    shown = [shorten(label, min(60, floor(12 * figure.get_figwidth()))) for label in labels]
    shown = [f"\u200b{label}" if label.startswith("_") else label for label in shown]
    longest = max(len(label) for label in shown) + 5
    columns = max(1, min(len(shown), floor(figure.get_figwidth() * PER_INCH / longest)))
    figure.legend(list(handles), shown, loc="outside upper left", ncols=columns)


def note(figure: Figure, text: str) -> None:
    """Small print under the axes."""
    letters = floor(figure.get_figwidth() * (PER_INCH + 1.2))
    figure.supxlabel(fill(text, letters), x=0.01, ha="left", fontsize=SMALL, color=MUTED)


def seeds_note(document: Document, what: str, whiskers: bool = True) -> str:
    """What the marks mean, such as ``Mean of 10 seeds; whiskers: 95 % interval``."""
    sizes = {len(runs_of(document, name)) for name in disciplines(document)}
    incomplete = "" if document.complete else " Incomplete: the work was interrupted."
    if sizes == {1}:
        seed = seeds(document)
        which = f"seed {seed[0]}" if len(seed) == 1 else "1 seed"
        return f"{what}: {which}, so no interval.{incomplete}"
    number = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else str(max(sizes))
    interval = "; whiskers: 95 % interval of the mean (Student's t)" if whiskers else ""
    return f"{what}: mean of {number} seeds{interval}.{incomplete}"


def plain_log(axis: Axis, ratio: float) -> None:
    """Plain numbers, as exponents would need mathematical type; finer than decades on a short axis."""
    subs = (1.0,) if ratio > 2000 else (1.0, 3.0) if ratio > 100 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: digits(value)))
    axis.set_minor_formatter(NullFormatter())


def beside(axes: Axes, text: str, place: float, gap: float = 4, colour: str = INK) -> Artist:
    """Text outside the right edge of the axes at the height ``place``, ``gap`` points away."""
    return axes.annotate(
        text,
        (1, place),
        xycoords=("axes fraction", "data"),
        xytext=(gap, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        color=colour,
    )


def level_line(axes: Axes, level: float, colour: str) -> None:
    """A thin dashed line across the axes."""
    axes.axhline(level, color=colour, linewidth=0.8, linestyle=(0, (2, 2)))


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Positions moved up just enough that neighbours are ``gap`` apart."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    moved = list(positions)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + gap)
    return moved
