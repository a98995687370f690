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
from fairdrop.plot.size import Width
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
    draw: list[tuple[str, str, str, Callable[[Width], Figure]]] = [
        (
            "flows",
            "What each flow gets",
            explain.FLOWS[layout(document)],
            lambda width: plot.throughput_per_flow(document, width=width),
        ),
        (
            "shares",
            "What each group gets",
            explain.SHARES,
            lambda width: plot.shares(document, width=width),
        ),
        (
            "queue",
            "Who fills the queue",
            explain.queue(document),
            lambda width: plot.queue_over_time(document, width=width),
        ),
        (
            "drops",
            "Whose packets are dropped, and why",
            explain.drops(document),
            lambda width: plot.drops(document, width=width),
        ),
        (
            "sojourn",
            "How long packets wait",
            explain.SOJOURN,
            lambda width: plot.sojourn(document, width=width),
        ),
        (
            "length",
            "How long the queue is",
            explain.LENGTH,
            lambda width: plot.queue_length(document, width=width),
        ),
    ]
    under = joined([discipline_name(name) for name in disciplines(document)] or ["no discipline"])
    return [
        Drawn(
            key,
            title,
            text,
            inline(make("screen"), f"{key}-w", f"{title}, under {under}. The tables above hold the numbers."),
            inline(make("phone"), f"{key}-n", f"{title}, under {under}. The tables above hold the numbers."),
        )
        for key, title, text, make in draw
    ]
