"""The objective of advice: a score for each run, less is better, and its description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairdrop.advise.loads import SHORT, UDP, Load
from fairdrop.study.observed import Observed

TARGETS = ("delay", "fairness", "throughput")
#: Part of what DropTail with a full buffer sends that must be sent, where delay or fairness is wanted.
LEAST_USED = 0.95
# What a shortage of that costs: 5 % of the link as much as a wait of a tenth of the largest round trip, and 0.05 of
# Jain's index.
_TRIPS_PER_SHORTAGE = 2.0
# What a wait of one largest round trip costs where throughput is wanted: one per cent of the link.
_LINK_PER_WAIT = 0.01
# What the loss of all packets of the flows that send little counts as, in seconds: 10 ms for one per cent.
_LOST_S = 1.0
# What is little: of a wait, as a part of the largest round trip; of Jain's index and of the link, a tenth of it.
_LITTLE_TRIP, _LITTLE = 0.05, 0.1


@dataclass(frozen=True)
class Seen:
    """The measures that a run is judged by."""

    #: 99th percentile of the waits of those that send little, and the part of their packets that is lost.
    sparse_wait_s: float
    sparse_lost: float
    #: What a short transfer takes longer than alone on the link, for each of its round trips.
    short_extra_s: float
    #: Mean wait of the long flows.
    long_wait_s: float
    used: float
    #: Jain's index of throughput over the long flows and the sender that does not respond.
    jain: float
    #: Throughput of the long flows / their fair share of the link, all flows with that sender counted.
    tcp_over_fair: float

    @property
    def wait_s(self) -> float:
        """Each kind of traffic counts alike, however many packets it has."""
        return (self.sparse_wait_s + _LOST_S * self.sparse_lost + self.short_extra_s + self.long_wait_s) / 3


def seen(run: Observed, load: Load, trips: int) -> Seen:
    """The measures of a run."""
    sparse, short = run.groups[load.profile.sparse], run.groups[SHORT]
    groups = [group for name, group in run.groups.items() if name not in (SHORT, load.profile.sparse)]
    tcp = [group for name, group in run.groups.items() if name not in (SHORT, load.profile.sparse, UDP)]
    flows, long_flows = (sum(group["flows"] for group in some) for some in (groups, tcp))
    fair_bps = float(run.link["link_rate_bps"]) / flows
    # No transfer was complete: none took less than the whole time.
    taken = load.measured_s(trips) if short["fct_mean_s"] is None else float(short["fct_mean_s"])
    return Seen(
        sparse_wait_s=float(sparse["sojourn_p99_s"] or 0.0),
        sparse_lost=float(sparse["drop_fraction"] or 0.0),
        short_extra_s=max(taken - load.short_s, 0.0) / load.short_trips,
        long_wait_s=sum(group["flows"] * float(group["sojourn_mean_s"] or 0.0) for group in tcp) / long_flows,
        used=float(run.link["link_utilisation"]),
        jain=jain_over([(group["flows"], float(group["throughput_bps"]), group["jain_index"]) for group in groups]),
        tcp_over_fair=sum(float(group["throughput_bps"]) for group in tcp) / (long_flows * fair_bps),
    )


def jain_over(groups: Sequence[tuple[int, float, float | None]]) -> float:
    """Jain's index over all flows of groups, of which each has flows, throughput and its own index.

    With index J, n flows and sum S the sum of squares is S^2 / (n J). 0 where nobody has anything.
    """
    whole = sum(total for _, total, _ in groups)
    squares = sum(total * total / (flows * index) for flows, total, index in groups if index)
    return whole * whole / (sum(flows for flows, _, _ in groups) * squares) if squares else 0.0


def score(target: str, found: Seen, load: Load, droptail_used: float) -> float:
    """``delay``: ``wait_s`` in ms; ``fairness``: 1 - Jain's index; ``throughput``: unused part. Above 0.

    The first two are charged for what the link sends less than ``LEAST_USED`` of what it does under DropTail with a
    full buffer, the last for its wait. Each has what is too little to matter added to it, so that ratios of such
    scores are near 1.
    """
    shortage = max(LEAST_USED * droptail_used - found.used, 0.0)
    if target == "delay":
        trips = _TRIPS_PER_SHORTAGE * shortage + _LITTLE_TRIP
        return 1e3 * (found.wait_s + trips * load.link.high_rtt_s + load.link.packet_s)
    if target == "fairness":
        return 1 - found.jain + shortage + _LITTLE
    return max(1 - found.used, 0.0) + _LINK_PER_WAIT * found.wait_s / load.link.high_rtt_s + _LITTLE
