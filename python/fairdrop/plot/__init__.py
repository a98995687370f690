"""Figures of a result document. Each function takes the document and returns a Matplotlib ``Figure``.

:func:`model` takes the document of a model instead, as ``fairdrop model --json`` prints it. Those that begin with
``sweep_`` take cells of a sweep: ``sweep.plot`` makes them.

``width`` is a preset: ``"screen"`` (9 in), ``"phone"`` (3.7 in), or, in print, ``"column"`` (3.5 in) and ``"page"``
(7.16 in), one column and both of IEEE's format. Text is 8 to 10 points at each of them. Above six disciplines each has
a row instead of a panel; above nine groups the eight that offer most are named, and the rest are one group.

Importing this package costs nothing: Matplotlib loads when a function is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairdrop.document import Document, Json, document_of
from fairdrop.few_groups import few_groups
from fairdrop.plot.size import Width, size_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairdrop.estimate import Estimate
    from fairdrop.plot.cells import Cells

__all__ = [
    "drops",
    "model",
    "queue_length",
    "queue_over_time",
    "save",
    "shares",
    "sojourn",
    "sweep_heat_map",
    "sweep_lines",
    "sweep_pareto",
    "throughput_per_flow",
    "trade_off",
]


def throughput_per_flow(document: Json | Document, *, width: Width = "screen") -> Figure:
    """Throughput of each flow against the fair share, a panel per discipline."""
    from fairdrop.plot.flows import draw

    return draw(few_groups(document_of(document)), size_of(width))


def shares(document: Json | Document, *, width: Width = "screen") -> Figure:
    """Share of the link that each group takes under each discipline."""
    from fairdrop.plot.group_shares import draw

    return draw(few_groups(document_of(document)), size_of(width))


def queue_over_time(document: Json | Document, seed: int | None = None, *, width: Width = "screen") -> Figure:
    """The queue's packets by group over time, for one seed: the first when none is given."""
    from fairdrop.plot.queue_time import draw

    return draw(few_groups(document_of(document)), seed, size_of(width))


def queue_length(document: Json | Document, *, width: Width = "screen") -> Figure:
    """Distribution of the queue's length over time."""
    from fairdrop.plot.distributions import draw_length

    return draw_length(document_of(document), size_of(width))


def drops(document: Json | Document, *, width: Width = "screen") -> Figure:
    """Packets dropped, by cause, group and discipline; above six disciplines, part of each group's packets."""
    from fairdrop.plot.drop_causes import draw

    return draw(few_groups(document_of(document)), size_of(width))


def sojourn(document: Json | Document, *, width: Width = "screen") -> Figure:
    """Distribution of the time that packets waited."""
    from fairdrop.plot.distributions import draw_sojourn

    return draw_sojourn(document_of(document), size_of(width))


def model(document: Mapping[str, Any], *, width: Width = "screen") -> Figure:
    """Results of a model: rates of flows, shares of arrivals, queue and link, or positions in the queue."""
    from fairdrop.plot.models import draw

    return draw(document, size_of(width))


def sweep_lines(
    cells: Cells, over: str, *, by: str | None = None, panels: str | None = None, width: Width = "screen"
) -> Figure:
    """A measure over one axis, a line for each value of another, a panel for each value of a third."""
    from fairdrop.plot.sweeps import draw_lines

    return draw_lines(cells, over, by, panels, size_of(width))


def sweep_heat_map(cells: Cells, over: str, against: str, *, width: Width = "screen") -> Figure:
    """Means of a measure over two axes."""
    from fairdrop.plot.sweeps import draw_heat_map

    return draw_heat_map(cells, over, against, size_of(width))


def sweep_pareto(
    delay: Cells, fairness: Cells, *, by: str | None = None, across: Sequence[str] = (), width: Width = "screen"
) -> Figure:
    """Delay against fairness, with the points that no other beats in both; a panel for each place on ``across``."""
    from fairdrop.plot.sweeps import draw_pareto

    return draw_pareto(delay, fairness, by, across, size_of(width))


def trade_off(
    points: Sequence[tuple[str, Estimate, Estimate]],
    x_label: str,
    y_label: str,
    note: str,
    *,
    width: Width = "screen",
    most: float = 100.0,
) -> Figure:
    """Names at two measures with their intervals; a line joins those that no other beats in both.

    No interval is drawn beyond ``most`` of the second measure.
    """
    from fairdrop.plot.named_marks import draw

    return draw(points, x_label, y_label, note, size_of(width), most)


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure; the same document gives the same bytes."""
    from fairdrop.plot.style import save_figure

    save_figure(figure, path)
