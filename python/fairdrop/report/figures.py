"""The page's figures, each in a wide and a narrow version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.document import Document, disciplines
from fairdrop.plot.flows import layout
from fairdrop.plot.inline import inline
from fairdrop.plot.size import Width
from fairdrop.plot.strips import MOST_PANELS
from fairdrop.report import explain
from fairdrop.report.ranking import is_long, trade_off
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import count, joined

SHOWN: tuple[Width, Width] = ("screen", "phone")


@dataclass(frozen=True)
class Drawn:
    key: str
    title: str
    text: str
    wide: Markup
    narrow: Markup


def figures(document: Document, greedy: bool) -> list[Drawn]:
    """All figures in reading order; ``greedy`` says whether a sender is greedy."""
    long = is_long(document)
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
            explain.SHARES_IN_ROWS if long else explain.SHARES,
            lambda width: plot.shares(document, width=width),
        ),
        (
            "queue",
            "Who fills the queue",
            explain.QUEUE_IN_ROWS if long else explain.queue(document),
            lambda width: plot.queue_over_time(document, width=width),
        ),
        (
            "drops",
            "Whose packets are dropped" if long else "Whose packets are dropped, and why",
            explain.DROPS_IN_ROWS if long else explain.drops(document, greedy),
            lambda width: plot.drops(document, width=width),
        ),
        (
            "sojourn",
            "How long packets wait",
            explain.QUANTILES if long else explain.SOJOURN,
            lambda width: plot.sojourn(document, width=width),
        ),
        (
            "length",
            "How long the queue is",
            explain.QUANTILES if long else explain.LENGTH,
            lambda width: plot.queue_length(document, width=width),
        ),
    ]
    return [_drawn(document, *each) for each in draw]


def lead(document: Document) -> Drawn:
    """Delay against fairness, which stands beside the table of many disciplines."""
    return _drawn(document, "trade-off", "Delay against fairness", explain.TRADE_OFF, partial(trade_off, document))


def _drawn(document: Document, key: str, title: str, text: str, make: Callable[[Width], Figure]) -> Drawn:
    names = [discipline_name(name) for name in disciplines(document)] or ["no discipline"]
    under = joined(names) if len(names) <= MOST_PANELS else count(len(names), "discipline")
    label = f"{title}, under {under}. The tables above hold the numbers."
    # Delay against fairness marks its points with names as shown.
    order = names if key == "trade-off" else disciplines(document)
    wide, narrow = (inline(make(width), f"{key}-{width[0]}", label, order) for width in SHOWN)
    return Drawn(key, title, text, wide, narrow)
