"""What advice is after: a number for each run, less is better, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fairdrop.advise.link import Load
from fairdrop.study.observed import Observed

TARGETS = ("delay", "fairness", "throughput")
#: Part of what DropTail with a full buffer sends that must be sent, where delay or fairness is wanted.
LEAST_USED = 0.95
# What a shortage of that costs: 5 % of the link doubles a wait, and counts as 0.05 of Jain's index.
_WAIT_PER_SHORTAGE = 20.0
# What a wait of one largest round trip costs where throughput is wanted: one per cent of the link.
_LINK_PER_WAIT = 0.01
# Groups whose flows are neither long nor greedy.
_SHORT, _VOICE = "short", "voice"


@dataclass(frozen=True)
class Seen:
    """What a run is judged by."""

    #: 99th percentiles of the waits of long flows, of short transfers and of voice, and the mean of these.
    long_wait_s: float
    short_wait_s: float
    voice_wait_s: float
    used: float
    #: Jain's index of throughput over the long flows and the sender that does not respond.
    jain: float
    #: Throughput of the long flows / their fair share of the link, all flows with that sender counted.
    tcp_over_fair: float
    #: Mean completion time of the short transfers; None where none was complete.
    short_s: float | None

    @property
    def wait_s(self) -> float:
        """Each kind of traffic counts alike, however many packets it has."""
        return (self.long_wait_s + self.short_wait_s + self.voice_wait_s) / 3


def seen(run: Observed) -> Seen:
    """The measures of a run."""
    groups = [group for name, group in run.groups.items() if name not in (_SHORT, _VOICE)]
    tcp = [group for group in groups if group["transport"] == "cubic"]
    flows = sum(group["flows"] for group in groups)
    fair_bps = float(run.link["link_rate_bps"]) / flows
    long_flows = sum(group["flows"] for group in tcp)
    return Seen(
        long_wait_s=fmean(_wait(group) for group in tcp),
        short_wait_s=_wait(run.groups[_SHORT]),
        voice_wait_s=_wait(run.groups[_VOICE]),
        used=float(run.link["link_utilisation"]),
        jain=jain_over([(group["flows"], float(group["throughput_bps"]), group["jain_index"]) for group in groups]),
        tcp_over_fair=sum(float(group["throughput_bps"]) for group in tcp) / (long_flows * fair_bps),
        short_s=run.groups[_SHORT]["fct_mean_s"],
    )


def _wait(group: Mapping[str, Any]) -> float:
    return float(group["sojourn_p99_s"] or 0.0)


def jain_over(groups: Sequence[tuple[int, float, float | None]]) -> float:
    """Jain's index over all flows of groups, of which each has flows, throughput and its own index.

    With index J, n flows and sum S the sum of squares is S^2 / (n J). 0 where nobody has anything.
    """
    whole = sum(total for _, total, _ in groups)
    squares = sum(total * total / (flows * index) for flows, total, index in groups if index)
    return whole * whole / (sum(flows for flows, _, _ in groups) * squares) if squares else 0.0


def score(target: str, found: Seen, load: Load, droptail_used: float) -> float:
    """``delay``: ``wait_s`` in ms; ``fairness``: 1 - Jain's index; ``throughput``: unused part.

    The first two are charged for what the link sends less than ``LEAST_USED`` of what it does under DropTail with a
    full buffer, the last for its wait.
    """
    shortage = max(LEAST_USED * droptail_used - found.used, 0.0)
    if target == "delay":
        return 1e3 * found.wait_s * (1 + _WAIT_PER_SHORTAGE * shortage)
    if target == "fairness":
        return 1 - found.jain + shortage
    return 1 - found.used + _LINK_PER_WAIT * found.wait_s / load.link.high_rtt_s
