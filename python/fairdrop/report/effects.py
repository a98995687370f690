"""What each discipline does: to the greedy senders, to the others, and with the link; and which comes first.

Every bound is stated here. A value is on one side of a bound only where its whole 95 % interval is: otherwise it is
undecided. The rules in words are in ``docs/reference/verdict.md``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log

from fairdrop.document import Document, Run, disciplines, over_seeds, reference_wait, runs_of
from fairdrop.estimate import Estimate, estimate
from fairdrop.report.greedy import Subject, subject_of
from fairdrop.report.max_min import YIELDING, FairShares, FlowMeans, fair_shares, mean_flows

#: The share of a greedy sender is near the fair one up to this ratio either way. Fair queueing and its approximations
#: leave it 1.06 to 1.39 times its share beside TCP, whose turns are empty while it waits for timers (`headline.toml`,
#: FQ-PIE to AFQ); the next discipline leaves it 1.57 times.
NEAR = 1.5
#: The other flows have their shares where they have this part of them together: where a few flows share the link, a
#: sender that is near its share may still take much from the others.
THEIRS = 0.8
#: A sender with less than this part of its fair share is shut out, a group or flow starved: TCP then waits for timers,
#: and what arrives of a stream at a constant rate is of no use.
STARVED = 0.1
#: Part of the other flows that must be starved, one by one, before a discipline is reported to starve flows.
MANY = 0.05
#: The link is used where it carries this part of what it could. In `headline.toml` every discipline that passes packets
#: at all keeps it 94 % busy or more.
USED = 0.9
#: Below this part the link is left idle, whatever the shares of the rest are.
HALF_USED = 0.5

SHUT_OUT, BELOW, FAIR, ABOVE, UNDECIDED = "shut out", "below", "fair", "above", "undecided"


@dataclass(frozen=True)
class Effect:
    """What a discipline does.

    ``sender`` and ``others`` say where shares are, over fair ones: "shut out", "below", "fair" (of others also more),
    "above" or "undecided"; None where there are no such flows. ``link`` is "fair" where it is used, "below", "shut out"
    where less than half of it is, or "undecided".
    """

    discipline: str
    #: Share of the link that the greedy senders take together; None where there are none.
    taken: Estimate | None
    sender: str | None
    others: str | None
    link: str
    #: Part of the time in which the link was busy.
    used: Estimate
    #: Greedy senders that are shut out, or take too much, by themselves.
    shut_out: Sequence[str] = ()
    over: Sequence[str] = ()
    #: Groups of the others that are starved; flows that are, where no group is.
    starved: Sequence[str] = ()
    starved_flows: int = 0
    #: The largest ratio, either way, of a share to the fair one: its logarithm.
    distance: float = inf
    #: 99th percentile of the wait.
    delay_s: float = inf

    @property
    def holds(self) -> bool:
        """Whether senders are near their fair share, the others have theirs, and the link is used."""
        return not self.fails and UNDECIDED not in (self.sender, self.others, self.link)

    @property
    def fails(self) -> bool:
        """Whether one of the three is known not to hold."""
        wrong = any(one not in (None, FAIR, UNDECIDED) for one in (self.sender, self.others, self.link))
        return wrong or bool(self.shut_out or self.over or self.starves)

    @property
    def harms(self) -> bool:
        """Whether a sender is shut out, a group starved, or the link left idle: never the best, whatever else is."""
        return bool(self.shut_out or self.starves) or SHUT_OUT in (self.sender, self.others, self.link)

    @property
    def starves(self) -> bool:
        """Whether groups of the others are starved, or many of their flows."""
        return bool(self.starved or self.starved_flows)

    @property
    def order(self) -> tuple[int, float, int, float, str]:
        """First those that hold, then those that do no harm, those that do, and those that leave the link idle.

        Within these the nearest to fair shares, then the fuller link, then the shorter delay. Shares of a greedy sender
        that is held are equally fair, so that use and delay decide.
        """
        grade = 0 if self.holds else 3 if self.link == SHUT_OUT else 2 if self.harms else 1
        distance = 0.0 if self.holds and self.taken else round(self.distance, 2)
        return grade, distance, -round(100 * self.used.mean), self.delay_s, self.discipline


@dataclass(frozen=True)
class Effects:
    """Of a document: the senders it is about, the fair shares, and the effects of each discipline, the best first."""

    subject: Subject | None
    fair: FairShares
    flows: Sequence[FlowMeans]
    found: Sequence[Effect]

    def of(self, discipline: str) -> Effect:
        """The effect of a discipline."""
        return next(effect for effect in self.found if effect.discipline == discipline)


def effects(document: Document) -> Effects:
    """What each discipline of the document does, the best first."""
    every = mean_flows(document)
    fair = fair_shares(document, every)
    flows = [flow for flow in every if flow.crosses]
    subject = subject_of(document, flows, fair)
    parties = _Parties(flows, fair, subject)
    used = {name: _used(runs_of(document, name)) for name in disciplines(document)}
    # The load that finite transfers could offer is not known; the busiest link bounds it.
    known = fair.possible >= 1.0 or not any(flow.responsive for flow in flows)
    possible = fair.possible if known else min(fair.possible, max((one.mean for one in used.values()), default=0.0))
    found = [_effect(document, name, parties, one, possible) for name, one in used.items()]
    return Effects(subject, fair, flows, sorted(found, key=lambda effect: effect.order))


def place(value: Estimate | None, low: float = 1 / NEAR, high: float = NEAR) -> str:
    """Where a ratio is: below ``STARVED``, below ``low``, up to ``high``, or above it; with its whole interval."""
    if value is None:
        return UNDECIDED
    one, other = _band(value.low, low, high), _band(value.high, low, high)
    if one == other:
        return one
    return BELOW if {one, other} == {SHUT_OUT, BELOW} else UNDECIDED


def _band(ratio: float, low: float, high: float) -> str:
    if ratio < STARVED:
        return SHUT_OUT
    return BELOW if ratio < low else FAIR if ratio <= high else ABOVE


def link_place(used: Estimate, possible: float = 1.0) -> str:
    """Whether the link carries what is possible ("fair"), not quite ("below"), less than half ("shut out")."""
    if used.low >= USED * possible:
        return FAIR
    return UNDECIDED if used.high >= USED * possible else SHUT_OUT if used.high < HALF_USED * possible else BELOW


class _Parties:
    """Who shares the link, with fair shares: greedy senders, the other flows, and groups of those that do not yield."""

    def __init__(self, flows: Sequence[FlowMeans], fair: FairShares, subject: Subject | None) -> None:
        self.senders = {name: fair.of[name] for name in (subject.flows if subject else ())}
        self.others = {flow.name: fair.of[flow.name] for flow in flows if flow.name not in self.senders}
        self.groups: dict[str, dict[str, float]] = defaultdict(dict)
        for flow in flows:
            if flow.name not in self.senders and flow.transport not in YIELDING:
                self.groups[flow.group][flow.name] = fair.of[flow.name]


def _effect(document: Document, discipline: str, parties: _Parties, used: Estimate, possible: float) -> Effect:
    chosen = runs_of(document, discipline)
    taken = [{str(flow.name): float(flow.share or 0) for flow in run.flows} for run in chosen]
    sender, others = _ratio(taken, parties.senders), _ratio(taken, parties.others)
    alone = _places(taken, parties.senders) if len(parties.senders) > 1 else {}
    starved = [name for name, group in parties.groups.items() if _is_starved(_ratio(taken, group))]
    return Effect(
        discipline,
        estimate(sum(run.get(name, 0.0) for name in parties.senders) for run in taken) if parties.senders else None,
        place(sender) if sender else None,
        place(others, THEIRS, inf) if others else None,
        link_place(used, possible),
        used,
        shut_out=[name for name, where in alone.items() if where == SHUT_OUT],
        over=[name for name, where in alone.items() if where == ABOVE],
        starved=starved,
        starved_flows=0 if starved else _starved_flows(taken, parties),
        distance=_distance(sender, others, None if parties.senders else _largest(taken, parties.others)),
        delay_s=_delay(chosen),
    )


def _ratio(taken: Sequence[Mapping[str, float]], fair: Mapping[str, float]) -> Estimate | None:
    """Throughput of flows together over their fair share; None where that is 0."""
    whole = sum(fair.values())
    if whole <= 0:
        return None
    return estimate(sum(run.get(name, 0.0) for name in fair) / whole for run in taken)


def _places(taken: Sequence[Mapping[str, float]], fair: Mapping[str, float]) -> dict[str, str]:
    found = {name: _ratio(taken, {name: share}) for name, share in fair.items()}
    return {name: place(value) for name, value in found.items() if value}


def _is_starved(ratio: Estimate | None) -> bool:
    return ratio is not None and place(ratio) == SHUT_OUT


def _starved_flows(taken: Sequence[Mapping[str, float]], parties: _Parties) -> int:
    """Flows of the others that are starved by themselves; 0 where these are few."""
    flows = {name: share for group in parties.groups.values() for name, share in group.items()}
    number = sum(where == SHUT_OUT for where in _places(taken, flows).values())
    return number if number > MANY * len(flows) else 0


def _largest(taken: Sequence[Mapping[str, float]], fair: Mapping[str, float]) -> Estimate | None:
    """The largest share of a flow over its fair one."""
    known = {name: share for name, share in fair.items() if share > 0}
    if not known:
        return None
    return estimate(max(run.get(name, 0.0) / share for name, share in known.items()) for run in taken)


def _distance(*ratios: Estimate | None) -> float:
    """The largest ratio either way, as a logarithm; inf where one has nothing."""
    means = [value.mean for value in ratios if value is not None]
    return max((abs(log(mean)) if mean > 0 else inf for mean in means), default=inf)


def _used(chosen: Sequence[Run]) -> Estimate:
    return over_seeds(chosen, lambda run: run.utilisation) or Estimate(0.0, None, 0)


def _delay(chosen: Sequence[Run]) -> float:
    """The 99th percentile of the wait, as a mean over seeds; inf where nothing was sent."""
    waits = over_seeds(chosen, reference_wait("p99"))
    return waits.mean if waits else inf
