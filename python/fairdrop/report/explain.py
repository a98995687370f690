"""Words for a reader who runs networks and has not met these disciplines."""

from __future__ import annotations

from fairdrop.document import Document, disciplines, reference_queue
from fairdrop.wording.causes import CAUSES, explained
from fairdrop.wording.disciplines import known
from fairdrop.wording.phrases import clean


def glossary(document: Document) -> list[tuple[str, str, str]]:
    """Discipline, name and meaning of the document's disciplines, those that are known."""
    facts = [(name, known().get(name)) for name in disciplines(document)]
    return [(name, found.name, found.paragraph) for name, found in facts if found]


FLOWS = {
    "bars": (
        "Each bar is one flow; the dashed line is what an equal split of the link would give it. A "
        "discipline that is fair keeps all bars near the line."
    ),
    "log bars": (
        "Each bar is one flow. The dashed line is what an equal split of the link would give it, and "
        "bars grow from that line: upwards for a flow that gets more than its share, downwards for one "
        "that gets less. Each step of the scale is a factor, not a sum. A discipline that is fair "
        "keeps all bars short."
    ),
    "points": (
        "Each point is one flow, the largest at the left; the dashed line is what an equal split of "
        "the link would give it. Both scales go in factors, not sums. A discipline that is fair keeps "
        "the points near the line."
    ),
    "rows": (
        "A row for each discipline: its flows by the multiple of the fair share that they get. The scale goes in "
        "factors; a discipline that is fair keeps them near the dashed line."
    ),
}
TRADE_OFF = "Each mark is a discipline. Up and to the left is better: even shares, and short waits."
SHARES_IN_ROWS = "A bar for each discipline; where groups have their fair shares, colours meet at the dashed lines."
DROPS_IN_ROWS = "A row for each discipline: the part of each group's packets that its queue dropped."
QUANTILES = "A row for each discipline; further left is shorter. Packets that were dropped are not counted."
QUEUE_IN_ROWS = "A row for each discipline: its height is the number of packets waiting, the colours whose they are."


SHARES = (
    "Each bar is the part of the link that a group of senders takes; the upright mark is what the "
    "group would get if every flow got the same. A bar far beyond its mark takes from the others."
)
LENGTH = (
    "Pick a number of packets on the horizontal axis: the curve says for what part of the time no "
    "more than that were waiting. A curve further left means a shorter queue; an upright wall at "
    "the right means a buffer that is full."
)
SOJOURN = (
    "Pick a waiting time on the horizontal axis: the curve says what part of the packets waited no "
    "longer. Where it crosses the lower dotted line half the packets have left, at the upper one "
    "99 %. Further left is better. Packets that were dropped are not counted."
)


def queue(document: Document) -> str:
    text = (
        "The height is the number of packets waiting, the colours whose they are. In a queue served in "
        "order, whoever owns most of it gets most of the link."
    )
    averages = any(
        value is not None
        for run in document.runs
        if (queue := reference_queue(run)) is not None
        for value in queue.series.red_avg
    )
    line = " The thin line is the smoothed length that RED and its kin go by: below min_th they drop nothing, above it "
    return text + (f"{line}ever more." if averages else "")


def drops(document: Document, greedy: bool) -> str:
    """What the figure of drops shows; ``greedy`` says whether there is a greedy sender to drop from."""
    reasons = causes(document)
    if not reasons:
        return "No packet was dropped."
    aim = " A discipline that protects the others drops from the greedy sender and spares the rest." if greedy else ""
    return f"Packets that the queues dropped, by sender and reason. {reasons}{aim}"


def causes(document: Document) -> str:
    """The reasons for which packets were dropped; nothing where none was."""
    seen = {cause for run in document.runs for row in run.groups for cause, n in row.drops.items() if n}
    return " ".join(explained(cause) for cause in CAUSES if cause in seen)


def theory(document: Document) -> str:
    """The model, and its assumptions that the scenario does not state."""
    notes = (document.model or {}).get("notes") or []
    return " ".join(
        [
            "CHOKe as measured, beside the fluid model of Tang, Wang and Low (2004), solved for the same scenario "
            "without fitting. The model knows no timeouts and no bursts; its TCP keeps more packets queued than a "
            "real one when losses are frequent.",
            *(f"{clean(note)}." for note in notes),
        ]
    )


def setting(document: Document) -> str:
    """What kind of evidence this is."""
    if document.is_replay:
        return "Replay of a capture: real packets, in their own timing, through each discipline."
    if document.kind == "live":
        return "Live: kernel TCP and real datagrams through links that are emulated packet by packet."
    links = max((len(run.queues) for run in document.runs), default=1)
    return "Simulation of one link." if links <= 1 else f"Simulation of a network with {links} queues."
