"""The page's figures, each in a wide and a narrow version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.document import Document, disciplines
from fairdrop.plot.flows import layout
from fairdrop.plot.inline import inline
from fairdrop.report import explain
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import joined


@dataclass(frozen=True)
class Drawn:
    key: str
    title: str
    text: str
    wide: Markup
    narrow: Markup


def figures(document: Document) -> list[Drawn]:
    """All figures in reading order."""
    draw: list[tuple[str, str, str, Callable[[bool], Figure]]] = [
        (
            "flows",
            "What each flow gets",
            explain.FLOWS[layout(document)],
            lambda narrow: plot.throughput_per_flow(document, narrow=narrow),
        ),
        (
            "shares",
            "What each group gets",
            explain.SHARES,
            lambda narrow: plot.shares(document, narrow=narrow),
        ),
        (
            "queue",
            "Who fills the queue",
            explain.queue(document),
            lambda narrow: plot.queue_over_time(document, narrow=narrow),
        ),
        (
            "drops",
            "Whose packets are dropped, and why",
            explain.drops(document),
            lambda narrow: plot.drops(document, narrow=narrow),
        ),
        (
            "sojourn",
            "How long packets wait",
            explain.SOJOURN,
            lambda narrow: plot.sojourn(document, narrow=narrow),
        ),
        (
            "length",
            "How long the queue is",
            explain.LENGTH,
            lambda narrow: plot.queue_length(document, narrow=narrow),
        ),
    ]
    under = joined([discipline_name(name) for name in disciplines(document)] or ["no discipline"])
    return [
        Drawn(
            key,
            title,
            text,
            inline(make(False), f"{key}-w", f"{title}, under {under}. The tables above hold the numbers."),
            inline(make(True), f"{key}-n", f"{title}, under {under}. The tables above hold the numbers."),
        )
        for key, title, text, make in draw
    ]
