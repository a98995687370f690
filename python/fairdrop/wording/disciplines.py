"""What a reader is told of the disciplines: what the library's catalogue says, and more where that is too short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from fairdrop.library import catalogue
from fairdrop.wording.phrases import clean


@dataclass(frozen=True)
class Facts:
    """``name`` as beside an axis or inside a sentence; ``paragraph`` for a newcomer."""

    name: str
    paragraph: str


@cache
def known() -> Mapping[str, Facts]:
    """Facts about every discipline of the catalogue, in its order."""
    return {
        entry["name"]: Facts(
            name=_IN_TEXT.get(entry["name"], entry["title"]),
            paragraph=_PARAGRAPHS.get(entry["name"], entry["doc"]),
        )
        for entry in catalogue()["disciplines"]
    }


def discipline_name(name: str) -> str:
    """As a reader knows it; what is not in the catalogue keeps its name."""
    found = known().get(name.lower())
    return found.name if found else clean(name)


# Where the title is too long for an axis, or capitalised for a heading.
_IN_TEXT = {"back_choke_memory": "Back CHOKe", "penalty_box": "penalty box", "flow_valve": "flow valve"}
# For a reader who runs networks and has not met these disciplines.
_PARAGRAPHS = {
    "droptail": (
        "The plain queue: packets leave in the order they came, and one that finds the buffer full is "
        "dropped. Whoever sends most fills the buffer and gets most of the link."
    ),
    "red": (
        "Random Early Detection: drops arriving packets at random, more of them the longer the queue has been "
        "on average, so that TCP slows down before the buffer is full. It does not look at who sends."
    ),
    "choke": (
        "RED with one addition: each arriving packet is compared with a packet drawn at random from the "
        "queue. When both belong to the same flow, both are dropped. A flow that fills the queue is hit most "
        "often, and no state per flow is kept."
    ),
    "back_choke_memory": (
        "Remembers the flows of the last few packets let in, and drops an arriving packet of any of them."
    ),
    "choke_hardware": (
        "CHOKe as a switch would build it: the packet to compare with is found by a random address in its "
        "memory, and a matched one is marked and discarded when it comes to the head."
    ),
    "chokew": (
        "Compares each arriving packet with more queued packets the longer the queue has been long, and with "
        "fewer for classes of greater weight. No state per flow is kept."
    ),
    "ward": (
        "Compares an arriving packet with two queued ones, the more likely the fuller the buffer. Packets of "
        "one flow that meet are dropped. Neither an average nor state per flow is kept."
    ),
    "fred": "RED that also counts the queued packets of each flow and holds every flow to about the same number.",
    "rio": (
        "Two REDs over one queue: packets within their profile are judged by their own number, and dropped "
        "last."
    ),
    "sred": (
        "Drops at random by the number of flows, told from how often an arriving packet meets its flow in a "
        "list."
    ),
    "blue": (
        "Drops at random; a full buffer raises the probability, an idle link lowers it. It does not look at "
        "who sends."
    ),
    "sfb": (
        "Sorts flows by several hash functions into bins that each raise or lower a drop probability of their "
        "own. Flows that do not slow down share a rate limit."
    ),
    "red_pd": "RED that also drops packets of the flows it drops most, before they reach the queue.",
    "penalty_box": "RED that also gives the flows with too much of its drops a small rate to share.",
    "flow_valve": "RED that also shuts out a flow that goes on sending against heavy loss, until it pauses.",
    "csfq": (
        "Drops by the rate that an edge wrote on each packet, so that no flow gets more than the fair rate. "
        "Only the edge keeps state per flow."
    ),
    "afd": (
        "Keeps a sample of who sent the recent packets, and drops what a flow sends above a fair share that "
        "the queue's length sets."
    ),
    "codel": "Drops by how long packets wait, not by how many there are. It does not look at who sends.",
    "pie": "Drops at random to hold the waiting time near a target. It does not look at who sends.",
    "sfq": "Sorts flows into separate queues by hash and serves them in turn.",
    "drr": "Gives each flow a queue of its own and serves them in turn, byte for byte.",
    "fq": (
        "Gives each flow a queue of its own and sends packets in the order in which a link shared bit by bit "
        "would finish them."
    ),
    "fq_codel": "Sorts flows into separate queues served in turn, each kept short by CoDel.",
    "dualpi2": (
        "Keeps senders that answer to marks at once apart from the others, and couples both so that they "
        "share alike."
    ),
}
