"""Figures of a model's document, as ``fairdrop model --json`` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from fairdrop.plot import colours
from fairdrop.plot.flows import LOG_FROM
from fairdrop.plot.frame import legend, note, plain_log, single
from fairdrop.plot.size import Size
from fairdrop.plot.style import SMALL, StyledFigure, styled
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import shorten

MOST_NAMED = 40
LIGHT = (colours.ORANGE, colours.SKY, colours.OLIVE, colours.GREY)  # too light for white letters
LEAST_LABELLED = 5.5  # per cent of the width that a number needs


@styled
def draw(document: Mapping[str, Any], size: Size) -> Figure:
    kind = document["kind"]
    if kind in ("front", "back"):
        return _rates(document, size)
    return _profile(document, size) if kind == "spatial" else _shares(document, size)


def _rates(document: Mapping[str, Any], size: Size) -> Figure:
    """The sent and the delivered rate of each flow, joined by a line."""
    arrives: Sequence[float] = document["rates"]
    gets: Sequence[float] | None = document["goodput"]
    what = "goodput"
    if document["kind"] == "back":
        arrives = document["arrival_rates"]
        if gets is None:
            gets, what = document["rates"], "admitted"
    places = range(len(arrives))
    figure, axes = single(2.9 if size.narrow else 3.1, size)
    for place, low, high in zip(places, gets or (), arrives, strict=True):
        axes.plot([place, place], [low, high], color=colours.GREY, linewidth=1.2, zorder=2)
    axes.plot(places, arrives, "o", color=colours.VERMILLION, markerfacecolor="white", markersize=6, zorder=3)
    axes.plot(places, list(gets or ()), "o", color=colours.BLUE, markersize=6, zorder=4)
    positive = [value for value in (*arrives, *(gets or ())) if value > 0] or [1.0]
    if max(positive) / min(positive) > LOG_FROM:
        axes.set_yscale("log")
        plain_log(axes.yaxis, max(positive) / min(positive))
    else:
        axes.set_ylim(0, 1.08 * max(positive))
    axes.set_xlim(-0.7, len(arrives) - 0.3)
    if len(arrives) <= MOST_NAMED / 2:
        axes.set_xticks(list(places))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("flow, in the order of --rates")
    axes.set_ylabel("packets/s")
    marks: list[Artist] = [
        Line2D([], [], marker="o", linestyle="none", color=colours.VERMILLION, markerfacecolor="white"),
        Line2D([], [], marker="o", linestyle="none", color=colours.BLUE),
    ]
    legend(figure, marks, ["arrives", what])
    note(figure, _rates_note(document))
    return figure


def _rates_note(document: Mapping[str, Any]) -> str:
    service = "" if document["mu"] is None else f", service rate {document['mu']:g} packets/s"
    state = {True: "; stable", False: "; overloaded", None: ""}[document["stable"]]
    if document["kind"] == "front":
        return f"Front CHOKe, Poisson arrivals{service}{state}."
    return f"Back CHOKe with a memory of {document['memory']}, Poisson arrivals{service}{state}."


def _shares(document: Mapping[str, Any], size: Size) -> Figure:
    """What arrives, who holds the queue and who gets the link: three bars of the same flows."""
    names, count = list(document["names"]), list(document["count"])
    arrives = [number * rate for number, rate in zip(count, document["x"], strict=True)]
    queued = [number * part for number, part in zip(count, document["h"], strict=True)]
    if document.get("variant", "full") != "full":
        queued[-1] = 1.0 - sum(queued[:-1])  # there no TCP packet is matched, yet TCP holds the rest
    got = [number * part for number, part in zip(count, document["mu"], strict=True)]
    rows = (
        ("arrivals", [rate / (sum(arrives) or 1.0) for rate in arrives]),
        ("queue", queued),
        ("link", got),
    )
    hue = colours.groups(names)
    figure, axes = single(2.3 if size.narrow else 2.1, size)
    for place, (_, parts) in enumerate(rows):
        _stack(axes, place, [hue[name] for name in names], [100 * part for part in parts], size)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.grid(visible=False)
    axes.set_xlabel("% of the whole")
    _name_flows(figure, document, hue, size)
    return figure


def _name_flows(figure: Figure, document: Mapping[str, Any], hue: Mapping[str, str], size: Size) -> None:
    """A legend of the flows with how many there are of each, unless they are too many to name; and the note."""
    pairs = list(zip(document["names"], document["count"], strict=True))
    if len(pairs) <= MOST_NAMED:
        labels = [f"{shorten(name, 24)} ({number:g})" for name, number in pairs]
        legend(figure, [Patch(color=hue[name]) for name, _ in pairs], labels)
    note(figure, _equilibrium_note(document))


def _stack(axes: Axes, place: int, hues: Sequence[str], parts: Sequence[float], size: Size) -> None:
    left = 0.0
    needed = LEAST_LABELLED * (2.2 if size.narrow else 1.0)
    for hue, part in zip(hues, parts, strict=True):
        axes.barh(place, part, left=left, height=0.62, color=hue, edgecolor="white", linewidth=0.6)
        if part >= needed:
            axes.text(
                left + part / 2, place, f"{part:.1f}", ha="center", va="center", fontsize=SMALL, fontweight="bold",
                color=colours.INK if hue in LIGHT else "white",
            )  # fmt: skip
        left += part


def _equilibrium_note(document: Mapping[str, Any]) -> str:
    variant = document.get("variant", "full")
    which = "" if variant == "full" else f" Approximate model {variant}."
    pinned = " pinned at max_th" if document["regime"] == "sliding" else ""
    return (
        f"Model of CHOKe: queue {digits(document['b'])} packets{pinned}, wait {digits(1e3 * document['tau'])} ms, "
        f"RED drops {digits(100 * document['r'])} % of what is not matched.{which}"
    )


def _profile(document: Mapping[str, Any], size: Size) -> Figure:
    """Whose packet is at each position, and how fast the packets there move."""
    names, count, found = list(document["names"]), list(document["count"]), document["profile"]
    rows, columns = (2, 1) if size.narrow else (1, 2)
    figure = StyledFigure(figsize=(size.width_in, 5.2 if size.narrow else 3.5))
    whose, speed = figure.subplots(rows, columns, sharex=True, squeeze=True)
    hue = colours.groups(names)
    parts = [[100 * number * value for value in rho] for number, rho in zip(count, found["rho"], strict=True)]
    whose.stackplot(found["y"], parts, colors=[hue[name] for name in names], linewidth=0.6, edgecolor="white", zorder=2)
    whose.set_ylim(0, 100)
    whose.set_ylabel("% of packets at the position")
    speed.plot(found["y"], found["v"], color=colours.INK)
    speed.set_ylim(0, 1.05 * max(found["v"]))
    speed.set_ylabel("speed towards the head, packets/s")
    for axes in (whose, speed):
        axes.set_xlim(0, found["length"])
        axes.set_xlabel("position, packets from the tail")
    if size.narrow:
        whose.set_xlabel("")
    _name_flows(figure, document, hue, size)
    return figure
