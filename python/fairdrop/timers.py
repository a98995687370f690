"""Senders whose own retransmission timers, and not the queue, keep them below their share.

A queue per flow gives each flow its share only while a packet of that flow waits. A sender with a window of two or
three packets cannot recover from a loss by duplicate ACKs (RFC 5681, 3.2): it waits for its retransmission timer with
nothing in the queue, and the scheduler gives its turns to whoever has packets. The share of a greedy sender then
measures the timers of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from fairdrop.document import Document, Run, disciplines, reference_queue, runs_of

#: Part of its fair share below which a group is looked at; multiple of its fair share above which another group gains.
BELOW, GAINS = 0.95, 1.25
#: Least rate of timeouts per flow that counts, 1/s.
OFTEN_PER_S = 0.1
#: Disciplines under which a flow with waiting packets has turns of its own, so that its share is there for the taking.
PER_FLOW = frozenset({"cake", "drr", "fq", "fq_codel", "fq_pie", "sfq"})


@dataclass(frozen=True)
class TimerLimited:
    """A group that leaves part of its fair share unused, as its flows wait for retransmission timers."""

    discipline: str
    group: str
    #: Groups with more than their fair share, which is what this one leaves.
    gainers: Sequence[str]
    #: Throughput of the group over its fair share.
    over_fair: float
    timeouts_per_flow_s: float
    fast_retransmits_per_flow_s: float

    def __str__(self) -> str:
        return (
            f"{self.discipline}: flows of {self.group} leave {1 - self.over_fair:.0%} of their fair share to "
            f"{', '.join(self.gainers)} because they wait for retransmission timers: {self.timeouts_per_flow_s:.2g} "
            f"timeouts and {self.fast_retransmits_per_flow_s:.2g} fast retransmits per flow and second; the queue "
            'would give them more (senders with era = "linux" recover without the timer)'
        )


def timer_limited(document: Document) -> list[TimerLimited]:
    """Groups limited by their timers, for each discipline with a queue per flow; means over the seeds.

    A group is listed where it has less than ``BELOW`` of its fair share, has ``OFTEN_PER_S`` timeouts per flow and
    second or more, finds more losses by timeout than by fast retransmit, and another group gains.
    """
    if document.is_replay:
        return []
    found: list[TimerLimited] = []
    for name in disciplines(document):
        runs = [run for run in runs_of(document, name) if _has_turns(run)]
        if runs:
            found += _in_runs(name, runs)
    return found


def _in_runs(discipline: str, runs: Sequence[Run]) -> list[TimerLimited]:
    over_fair: dict[str, list[float]] = {}
    timeouts: dict[str, list[float]] = {}
    fast: dict[str, list[float]] = {}
    for run in runs:
        for group in run.groups:
            name, flow_seconds = group.name, group.flows * _measured_s(run)
            if flow_seconds <= 0 or run.fair_share_bps <= 0:
                continue
            over_fair.setdefault(name, []).append(
                group.throughput_bps / (group.flows * run.fair_share_bps)
            )
            timeouts.setdefault(name, []).append((group.timeouts or 0) / flow_seconds)
            fast.setdefault(name, []).append((group.fast_retransmits or 0) / flow_seconds)
    shares = {name: fmean(values) for name, values in over_fair.items()}
    gainers = [name for name, share in shares.items() if share > GAINS]
    return [
        TimerLimited(discipline, name, gainers, share, fmean(timeouts[name]), fmean(fast[name]))
        for name, share in shares.items()
        if gainers and share < BELOW and fmean(timeouts[name]) >= max(OFTEN_PER_S, fmean(fast[name]))
    ]


def _measured_s(run: Run) -> float:
    return float(run.measured_to_s) - float(run.measured_from_s)


def _has_turns(run: Run) -> bool:
    queue = reference_queue(run)
    return queue is not None and (queue.discipline or run.discipline) in PER_FLOW
