"""Structural figures, drawn: topologies and flow charts as boxes and arrows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from fairdrop.plot.colours import BLUE, GREEN, INK, MUTED, VERMILLION
from fairdrop.plot.style import styled


@dataclass(frozen=True)
class Box:
    """Text at a place; ``colour`` marks ends (drop, keep) and kinds of hosts."""

    x: float
    y: float
    text: str
    colour: str = INK
    round: bool = False


@dataclass(frozen=True)
class Arrow:
    """From box to box by their places in the list."""

    start: int
    end: int
    text: str = ""
    two_way: bool = False
    bend: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """Boxes and arrows on a canvas."""

    width: float
    height: float
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


@styled
def draw(drawing: Drawing) -> Figure:
    figure = Figure(figsize=(drawing.width, drawing.height))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_xlim(0.0, drawing.width)
    axes.set_ylim(0.0, drawing.height)
    placed = [_box(axes, box) for box in drawing.boxes]
    for arrow in drawing.arrows:
        _arrow(axes, drawing, placed, arrow)
    return figure


def _box(axes: Axes, box: Box) -> object:
    shape = "round,pad=0.45,rounding_size=0.9" if box.round else "round,pad=0.45,rounding_size=0.15"
    style = {"boxstyle": shape, "facecolor": "white", "edgecolor": box.colour, "linewidth": 1.2}
    text = axes.text(
        box.x, box.y, box.text, ha="center", va="center", fontsize=8.5, color=INK, bbox=style, linespacing=1.35,
        zorder=3,
    )  # fmt: skip
    return text.get_bbox_patch()


def _arrow(axes: Axes, drawing: Drawing, placed: Sequence[object], arrow: Arrow) -> None:
    start, end = drawing.boxes[arrow.start], drawing.boxes[arrow.end]
    patch = FancyArrowPatch(
        (start.x, start.y), (end.x, end.y), patchA=placed[arrow.start], patchB=placed[arrow.end],  # type: ignore[arg-type]
        arrowstyle="<|-|>" if arrow.two_way else "-|>", mutation_scale=10, linewidth=1.1, color=MUTED,
        connectionstyle=f"arc3,rad={arrow.bend}", shrinkA=0, shrinkB=0, zorder=2,
    )  # fmt: skip
    axes.add_patch(patch)
    if arrow.text:
        # The middle of an arc lies off the straight line by half its bend.
        middle = (start.x + end.x) / 2, (start.y + end.y) / 2
        off = arrow.bend / 2 * (end.y - start.y), -arrow.bend / 2 * (end.x - start.x)
        axes.text(
            middle[0] + off[0], middle[1] + off[1], arrow.text, ha="center", va="center", fontsize=8.0,
            color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5}, zorder=4,
        )  # fmt: skip


def _dumbbell(left: Sequence[str], right: str, middle: str, access: str) -> Drawing:
    boxes = [Box(4.0, 1.6, "R1"), Box(6.4, 1.6, "R2")]
    arrows = [Arrow(0, 1, middle)]
    for index, name in enumerate(left):
        y = 2.6 - 2.0 * index / max(1, len(left) - 1)
        colour = VERMILLION if "UDP" in name else BLUE
        boxes += [Box(1.2, y, name, colour), Box(9.0, y, f"{right} {index + 1}" if len(left) > 2 else right, colour)]
        arrows += [Arrow(len(boxes) - 2, 0, access if index == 0 else ""), Arrow(1, len(boxes) - 1)]
    return Drawing(10.2, 3.2, boxes, arrows)


def dumbbell() -> Drawing:
    return _dumbbell(["m TCP sources", "n UDP sources"], "sinks", "1 Mb/s, 1 ms", "10 Mb/s, 1 ms")


def dumbbell_delay() -> Drawing:
    return _dumbbell(["N TCP sources", "1 UDP source"], "sinks", "c = 1 Mb/s, 1 ms", "100 Mb/s,\nd = 100 ms both ways")


def dumbbell_classes() -> Drawing:
    return _dumbbell(
        ["TCP sources,\nM priorities", "UDP sources"], "sinks", "B0 = 1 Mb/s, τ0 = 1 ms", "Bi = 10 Mb/s, τi"
    )


def chain() -> Drawing:
    names = ("R1", "R2", "R3", "R4", "R5")
    boxes = [Box(2.6 + 2.0 * index, 1.5, name) for index, name in enumerate(names)]
    rates = ("10 Mb/s", "2 Mb/s", "1 Mb/s", "10 Mb/s")
    arrows = [Arrow(index, index + 1, rate) for index, rate in enumerate(rates)]
    boxes += [
        Box(0.9, 2.3, "25 TCP\nsources", BLUE), Box(0.9, 0.7, "1 UDP\nsource", VERMILLION),
        Box(6.6, 0.45, "sinks of\nTCP 0–4", BLUE), Box(8.6, 0.45, "sinks of\nTCP 5–14", BLUE),
        Box(10.6, 0.45, "sinks of\nTCP 15–24", BLUE), Box(10.6, 2.6, "sink of\nUDP 25", VERMILLION),
    ]  # fmt: skip
    arrows += [Arrow(5, 0), Arrow(6, 0), Arrow(2, 7), Arrow(3, 8), Arrow(4, 9), Arrow(4, 10)]
    return Drawing(11.7, 3.1, boxes, arrows)


def choke_flow() -> Drawing:
    boxes = [
        Box(4.5, 6.1, "packet arrives: update the average", INK), Box(4.5, 5.1, "average ≥ min_th?", MUTED, True),
        Box(1.5, 5.1, "admit"), Box(4.5, 4.1, "draw a packet at random\nfrom the queue"),
        Box(4.5, 3.0, "same flow?", MUTED, True), Box(7.8, 3.0, "drop both", VERMILLION),
        Box(4.5, 2.0, "average < max_th?", MUTED, True), Box(7.8, 2.0, "drop the arrival", VERMILLION),
        Box(4.5, 0.8, "admit with probability 1 – p\n(p as in RED)", GREEN),
    ]  # fmt: skip
    arrows = [
        Arrow(0, 1), Arrow(1, 2, "no"), Arrow(1, 3, "yes"), Arrow(3, 4), Arrow(4, 5, "yes"), Arrow(4, 6, "no"),
        Arrow(6, 7, "no"), Arrow(6, 8, "yes"),
    ]  # fmt: skip
    return Drawing(9.4, 6.6, boxes, arrows)


def chokew_update() -> Drawing:
    boxes = [
        Box(4.7, 4.6, "packet arrives, L packets wait"), Box(4.7, 3.6, "L < L–?", MUTED, True),
        Box(8.8, 3.6, "p0 = max(p0 – p–, 0)"), Box(4.7, 2.6, "L > L+?", MUTED, True), Box(7.3, 2.6, "p0 = p0 + p+"),
        Box(4.7, 1.6, "L > Lth?", MUTED, True), Box(1.6, 1.6, "enqueue", GREEN),
        Box(4.7, 0.6, "draw up to p0 / w packets"),
    ]  # fmt: skip
    arrows = [
        Arrow(0, 1), Arrow(1, 2, "yes"), Arrow(1, 3, "no"), Arrow(3, 4, "yes"), Arrow(3, 5, "no"),
        Arrow(2, 5, bend=-0.6), Arrow(4, 5), Arrow(5, 6, "no"), Arrow(5, 7, "yes"),
    ]  # fmt: skip
    return Drawing(10.2, 5.1, boxes, arrows)


def chokew_draw() -> Drawing:
    boxes = [
        Box(4.5, 5.0, "m = ⌊p⌋, f = p – m,  p = p0 / w"), Box(4.5, 4.0, "with probability f: m = m + 1"),
        Box(4.5, 3.0, "m > 0?", MUTED, True), Box(1.4, 3.0, "enqueue", GREEN),
        Box(4.5, 2.0, "draw a packet, m = m – 1"), Box(4.5, 0.9, "same flow?", MUTED, True),
        Box(7.8, 0.9, "drop both", VERMILLION),
    ]  # fmt: skip
    arrows = [
        Arrow(0, 1), Arrow(1, 2), Arrow(2, 3, "no"), Arrow(2, 4, "yes"), Arrow(4, 5), Arrow(5, 6, "yes"),
        Arrow(5, 2, "no", bend=-1.35),
    ]  # fmt: skip
    return Drawing(9.2, 5.5, boxes, arrows)


def ward_flow() -> Drawing:
    boxes = [
        Box(4.7, 5.0, "packet k arrives; its place weighs W"), Box(4.7, 4.0, "U(0,1) < W?", MUTED, True),
        Box(1.4, 4.0, "queue k", GREEN), Box(4.7, 3.0, "draw two packets i and j"),
        Box(1.5, 1.4, "i and j of k's flow:\ndrop i, j and k", VERMILLION),
        Box(4.2, 0.6, "one of k's flow:\ndrop it and k", VERMILLION),
        Box(7.0, 0.6, "i and j of one other flow:\ndrop i and j, queue k", VERMILLION),
        Box(9.0, 1.9, "none: queue k\n(or drop it, buffer full)", GREEN),
    ]  # fmt: skip
    arrows = [
        Arrow(0, 1), Arrow(1, 2, "no"), Arrow(1, 3, "yes"), Arrow(3, 4), Arrow(3, 5), Arrow(3, 6), Arrow(3, 7),
    ]  # fmt: skip
    return Drawing(10.4, 5.5, boxes, arrows)


def front_model() -> Drawing:
    boxes = [
        Box(1.2, 1.7, "arrivals\nλ1, λ2, ...", BLUE), Box(3.9, 1.7, "same as\nthe head?", MUTED, True),
        Box(6.5, 1.7, "queue"), Box(8.9, 1.7, "head: type i with\nprobability p_i"),
        Box(3.9, 0.45, "drop both", VERMILLION), Box(11.2, 1.7, "served, μ", GREEN),
    ]  # fmt: skip
    arrows = [Arrow(0, 1), Arrow(1, 2, "no"), Arrow(2, 3), Arrow(3, 5), Arrow(1, 4, "yes")]
    return Drawing(12.2, 2.5, boxes, arrows)


def sampling_hardware() -> Drawing:
    boxes = [
        Box(1.4, 3.2, "arriving packet", BLUE), Box(4.2, 3.2, "random address"),
        Box(7.0, 4.0, "SRAM bank 1:\nflow id, mark bit, next"), Box(7.0, 2.9, "SRAM bank 2"),
        Box(7.0, 2.1, "SRAM bank k"),
        Box(10.0, 3.2, "compare ids,\nset mark bits"),
        Box(7.0, 0.8, "head of the list: a marked\nentry is discarded", VERMILLION),
        Box(10.4, 0.8, "link", GREEN),
    ]  # fmt: skip
    arrows = [
        Arrow(0, 1), Arrow(1, 2), Arrow(1, 3), Arrow(1, 4), Arrow(2, 5), Arrow(3, 5), Arrow(4, 5),
        Arrow(4, 6), Arrow(6, 7),
    ]  # fmt: skip
    return Drawing(11.4, 4.6, boxes, arrows)


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    function.__name__: function
    for function in (
        dumbbell, dumbbell_delay, dumbbell_classes, chain, choke_flow, chokew_update, chokew_draw, ward_flow,
        front_model, sampling_hardware,
    )
}  # fmt: skip
