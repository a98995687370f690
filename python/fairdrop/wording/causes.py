"""Why packets are dropped, in a reader's words, in the order of the library."""

from __future__ import annotations

from dataclasses import dataclass

from fairdrop.wording.phrases import clean


@dataclass(frozen=True)
class Cause:
    """``label`` for legends and tables; ``meaning`` for a sentence after it."""

    label: str
    meaning: str


CAUSES = {
    "overflow": Cause("buffer full", "there was no room."),
    "red_early": Cause("RED, early", "dropped at random while the average queue was growing."),
    "red_forced": Cause("RED, forced", "the average was too high to let anything in."),
    "match_arriving": Cause("match, arriving", "a packet drawn from the queue belonged to the same flow."),
    "match_queued": Cause("match, queued", "the drawn packet itself, dropped with the one that arrived."),
    "memory": Cause("in the memory", "the flow was among those last let in, or sent."),
    "ward_pair_queued": Cause("pair, queued", "two drawn packets belonged to one flow."),
    "blue": Cause("BLUE", "dropped at random."),
    "codel": Cause("CoDel", "dropped at the head, having waited too long."),
    "pie": Cause("PIE", "dropped at random to hold the waiting time."),
    "fred_limit": Cause("FRED, refused", "the flow had its share of the queue."),
    "sred": Cause("SRED", "dropped at random, by the number of flows."),
    "csfq": Cause("CSFQ", "the flow sent above the fair rate."),
    "filter": Cause("filter", "the flow is restricted, and the packet was dropped before the queue."),
    "afd": Cause("AFD", "the flow sent more than a fair share."),
    "sfb": Cause("SFB", "dropped at random by the bins of the flow, or a bin was full."),
    "longest_queue": Cause("longest queue", "made room for a flow that had less in the buffer."),
    "dualpi2": Cause("DualPI2", "dropped at random to hold the waiting time."),
}


def cause_name(cause: str) -> str:
    """The label of a cause; of one that is not known, its name."""
    return CAUSES[cause].label if cause in CAUSES else clean(cause).replace("_", " ")


def explained(cause: str) -> str:
    """A sentence on a cause: ``“Buffer full”: there was no room.``."""
    label = CAUSES[cause].label
    return f"“{label[0].upper()}{label[1:]}”: {CAUSES[cause].meaning}"
