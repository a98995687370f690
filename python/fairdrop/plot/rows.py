"""Horizontal bars in blocks: a heading for each discipline, a row for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairdrop.plot.frame import single
from fairdrop.plot.marks import mark
from fairdrop.plot.size import Size
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import shorten

ROW_IN = 0.27
HEADING = 1.0


@dataclass(frozen=True)
class Blocks:
    """Where each (discipline, group) row lies, counting downwards."""

    places: dict[tuple[str, str], float]
    headings: dict[str, float]
    bottom: float


def blocks(disciplines: Sequence[str], groups: Sequence[str]) -> Blocks:
    places: dict[tuple[str, str], float] = {}
    headings: dict[str, float] = {}
    at = 0.0
    for discipline in disciplines:
        headings[discipline] = at
        for group in groups:
            at += 1.0
            places[discipline, group] = at
        at += HEADING + 0.35
    return Blocks(places, headings, at - 0.65)


def block_axes(disciplines: Sequence[str], groups: Sequence[str], size: Size) -> tuple[Figure, Axes, Blocks]:
    """Axes with a labelled row for each group under each discipline."""
    layout = blocks(disciplines, groups)
    figure, axes = single(layout.bottom * ROW_IN + 1.6, size)
    axes.set_ylim(layout.bottom, -0.6)
    labels = [shorten(group, 14 if size.narrow else 24) for _, group in layout.places]
    axes.set_yticks(list(layout.places.values()), labels)
    for label, (discipline, _) in zip(axes.get_yticklabels(), layout.places, strict=True):
        mark(label, discipline)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)
    axes.spines["left"].set_visible(False)
    for discipline, place in layout.headings.items():
        heading = axes.annotate(
            discipline_name(discipline),
            (0, place),
            xycoords=("axes fraction", "data"),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold",
        )
        mark(heading, discipline)
    return figure, axes, layout
