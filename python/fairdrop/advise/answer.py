"""An answer of advice: the choice, its rivals, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairdrop.advise.link import Link
from fairdrop.advise.linux import Command
from fairdrop.advise.sureness import Sureness
from fairdrop.estimate import Estimate
from fairdrop.scenario import Scenario


@dataclass(frozen=True)
class Check:
    """Result of a finalist on a load, over seeds."""

    load: str
    score: Estimate
    #: 99th percentile of the waits of those that send little, and the part of their packets that is lost.
    sparse_wait_ms: Estimate
    sparse_lost: Estimate
    #: What a short transfer takes longer than if it waited for nobody, for each of its round trips.
    short_extra_ms: Estimate
    #: Mean wait of the long flows.
    long_wait_ms: Estimate
    used: Estimate
    jain: Estimate
    tcp_over_fair: Estimate


@dataclass(frozen=True)
class Finalist:
    """A discipline in the check, and its result on each load."""

    discipline: str
    #: ``defaults``, or ``for this link``.
    variant: str
    parameters: Mapping[str, float]
    told: str
    checks: Sequence[Check]
    #: Geometric mean of its scores over the loads; less is better. None without any trial.
    score: Estimate | None
    #: By which part its score is above the least one, with its interval in parts; None for the least.
    worse: Estimate | None
    #: Whether it counts as being as good as the best.
    level: bool
    #: Commands for Linux, for each place where the queue may be; empty where it has no such qdisc.
    commands: Sequence[Command]
    remark: str


@dataclass(frozen=True)
class Advice:
    """The choice, the disciplines that it was checked against, and the confidence in it."""

    link: Link
    profile: str
    #: Why it is that profile.
    because: str
    access: str
    target: str
    choice: Finalist
    #: With the choice, the best first.
    finalists: Sequence[Finalist]
    #: Score of every candidate in the first look.
    looked: Mapping[str, float]
    sure: Sureness
    #: Of the trials that it rests on; 0 without any.
    seeds: int
    round_trips: int
    first_seed: int
    #: Whether trials were left out that the time was meant for, since this machine was too slow for them.
    cut: bool
    scenario: Scenario
    #: Runs that the advice rests on, and how many of them were simulated now.
    runs: int
    computed: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""

        def plain(value: Any) -> Any:
            if isinstance(value, Estimate):
                return {"mean": value.mean, "half": value.half, "n": value.n}
            if isinstance(value, Finalist | Check | Command | Sureness):
                return {name: plain(one) for name, one in value.__dict__.items()}
            if isinstance(value, Mapping):
                return dict(value)
            return [plain(one) for one in value] if isinstance(value, list | tuple) else value

        fields = {name: plain(value) for name, value in self.__dict__.items() if name not in ("link", "scenario")}
        link = {
            "rate_bps": self.link.rate_bps, "rtt_s": [self.link.low_rtt_s, self.link.high_rtt_s],
            "flows": self.link.flows,
        }  # fmt: skip
        return {**link, **fields, "scenario": self.scenario.source}
