"""Words for a reader who runs networks and has not met these disciplines."""

from __future__ import annotations

from fairdrop.report.document import Document, disciplines, is_replay, reference_queue, runs
from fairdrop.report.text import clean, discipline_name

GLOSSARY = {
    "droptail": (
        "The plain queue: packets leave in the order they came, and one that finds the buffer full is "
        "dropped. Whoever sends most fills the buffer and gets most of the link."
    ),
    "red": (
        "Random Early Detection: drops arriving packets at random, more of them the longer the queue "
        "has been on average, so that TCP slows down before the buffer is full. It does not look at "
        "who sends."
    ),
    "choke": (
        "RED with one addition: each arriving packet is compared with a packet drawn at random from "
        "the queue. When both belong to the same flow, both are dropped. A flow that fills the queue "
        "is hit most often, and no state per flow is kept."
    ),
    "chokew": (
        "Compares each arriving packet with more queued packets the longer the queue has been long, and with "
        "fewer for classes of greater weight. No state per flow is kept."
    ),
    "ward": (
        "Compares an arriving packet with two queued ones, the more likely the fuller the buffer. Packets of one "
        "flow that meet are dropped. Neither an average nor state per flow is kept."
    ),
    "back-choke-memory": (
        "Remembers the flows of the last few packets let in, and drops an arriving packet of any of them."
    ),
    "blue": (
        "Drops at random; a full buffer raises the probability, an idle link lowers it. It does not look at who sends."
    ),
    "codel": "Drops by how long packets wait, not by how many there are. It does not look at who sends.",
    "fq-codel": "Sorts flows into separate queues served in turn, each kept short by CoDel.",
    "sfq": "Sorts flows into separate queues by hash and serves them in turn.",
    "fq": (
        "Gives each flow a queue of its own and sends packets in the order in which a link shared bit by bit would "
        "finish them."
    ),
    "dualpi2": (
        "Keeps senders that answer to marks at once apart from the others, and couples both so that they share alike."
    ),
    "drr": "Gives each flow a queue of its own and serves them in turn, byte for byte.",
    "pie": "Drops at random to hold the waiting time near a target. It does not look at who sends.",
    "rio": "Two REDs over one queue: packets within their profile are judged by their own number, and dropped last.",
    "sred": "Drops at random by the number of flows, told from how often an arriving packet meets its flow in a list.",
    "csfq": (
        "Drops by the rate that an edge wrote on each packet, so that no flow gets more than the fair rate. Only the "
        "edge keeps state per flow."
    ),
    "afd": (
        "Keeps a sample of who sent the recent packets, and drops what a flow sends above a fair share that the "
        "queue's length sets."
    ),
    "sfb": (
        "Sorts flows by several hash functions into bins that each raise or lower a drop probability of their own. "
        "Flows that do not slow down share a rate limit."
    ),
    "red-pd": "RED that also drops packets of the flows it drops most, before they reach the queue.",
    "penalty-box": "RED that also gives the flows with too much of its drops a small rate to share.",
    "flow-valve": "RED that also shuts out a flow that goes on sending against heavy loss, until it pauses.",
    "fred": (
        "RED that also counts the queued packets of each flow and holds every flow to about the same number."
    ),
}


def glossary(document: Document) -> list[tuple[str, str]]:
    """Name and meaning of the document's disciplines, those that are known."""
    found = [(name, name.lower().replace("_", "-")) for name in disciplines(document)]
    return [(discipline_name(name), GLOSSARY[key]) for name, key in found if key in GLOSSARY]


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
}


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
CAUSE_GLOSSARY = {
    "overflow": "“Buffer full”: there was no room.",
    "red_early": "“RED, early”: dropped at random while the average queue was growing.",
    "red_forced": "“RED, forced”: the average was too high to let anything in.",
    "match_arriving": "“Match, arriving”: a packet drawn from the queue belonged to the same flow.",
    "memory": "“In the memory”: the flow was among those last let in.",
    "ward_pair_queued": "“Pair, queued”: two drawn packets belonged to one flow.",
    "blue": "“BLUE”: dropped at random.",
    "codel": "“CoDel”: dropped at the head, having waited too long.",
    "pie": "“PIE”: dropped at random to hold the waiting time.",
    "fred_limit": "“FRED, refused”: the flow had its share of the queue.",
    "sred": "“SRED”: dropped at random, by the number of flows.",
    "csfq": "“CSFQ”: the flow sent above the fair rate.",
    "filter": "“Filter”: the flow is restricted, and the packet was dropped before the queue.",
    "afd": "“AFD”: the flow sent more than a fair share.",
    "sfb": "“SFB”: dropped at random by the bins of the flow, or a bin was full.",
    "longest_queue": "“Longest queue”: made room for a flow that had less in the buffer.",
    "dualpi2": "“DualPI2”: dropped at random to hold the waiting time.",
    "match_queued": "“Match, queued”: the drawn packet itself, dropped with the one that arrived.",
}


def queue(document: Document) -> str:
    text = (
        "The height is the number of packets waiting, the colours whose they are. In a queue served in "
        "order, whoever owns most of it gets most of the link."
    )
    averages = any(
        value is not None
        for run in runs(document)
        for value in ((reference_queue(run) or {}).get("series") or {}).get("red_avg") or []
    )
    line = (
        " The thin line is the smoothed length that RED and its kin go by: below min_th they drop "
        "nothing, above it "
    )
    return text + (f"{line}ever more." if averages else "")


def drops(document: Document) -> str:
    seen = {
        cause for run in runs(document) for row in run["groups"] for cause, n in row["drops"].items() if n
    }
    if not seen:
        return "Packets that the queues dropped, by sender and reason."
    reasons = " ".join(text for cause, text in CAUSE_GLOSSARY.items() if cause in seen)
    aim = "A discipline that protects the others drops from the greedy sender and spares the rest."
    return f"Packets that the queues dropped, by sender and reason. {reasons} {aim}"


def theory(document: Document) -> str:
    """What the model is, and what it was told that the scenario does not say."""
    notes = (document.get("model") or {}).get("notes") or []
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
    if is_replay(document):
        return "Replay of a capture: real packets, in their own timing, through each discipline."
    return "Simulation of one congested link."
