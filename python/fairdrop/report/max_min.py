"""Max-min fair shares of flows on the reference link: what each would have if none took from another.

A flow that asks for less than an equal part of each link on its path has what it asks for, and the others split the
rest in the same way. Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf
from statistics import fmean
from typing import Any

from fairdrop.document import Document, Flow, Run, crossing_throughput
from fairdrop.library import catalogue

# What slows down when packets are dropped, beside the simulator's own transports. What is not listed is judged by what
# it offers.
RESPONSIVE_ELSEWHERE = frozenset({"tcp", "westwood", "bbr", "compound", "illinois", "hybla", "quic", "tfrc"})
#: They leave the link to others on purpose.
YIELDING = frozenset({"ledbat"})
#: Parts of the measuring window, in which a flow is there or not.
PARTS = 60
_ALWAYS = range(PARTS)


@dataclass(frozen=True)
class FlowMeans:
    """A flow: means over its runs, in fractions of the reference link."""

    name: str
    group: str
    transport: str
    responsive: bool
    #: Whether it crosses the reference link.
    crosses: bool
    offered: float
    #: Share under each discipline.
    taken: Mapping[str, float]
    offered_bps: float


@dataclass(frozen=True)
class FairShares:
    """``of`` has the max-min share of each flow that crosses the link, as a fraction of its rate.

    ``possible`` is the part of the time that flows with these shares keep it busy.
    """

    of: Mapping[str, float]
    possible: float


def max_min(demands: Sequence[float], paths: Sequence[Sequence[str]], capacities: Mapping[str, float]) -> list[float]:
    """The max-min share of each demand; ``paths`` are the links that each crosses.

    All shares grow together. A flow stops when it has what it asks for, or when a link on its path is full.
    """
    shares = [0.0] * len(demands)
    left = dict(capacities)
    growing = Counter(link for path in paths for link in path)
    waiting = list(range(len(demands)))
    while waiting:
        # The level that the fullest link allows; it only rises where flows stop below it.
        level = min((left[link] / number for link, number in growing.items() if number), default=inf)
        stopping = [index for index in waiting if demands[index] <= level]
        if not stopping:
            full = {link for link, number in growing.items() if number and left[link] / number <= level}
            stopping = [index for index in waiting if not full.isdisjoint(paths[index])]
        for index in stopping:
            shares[index] = min(level, demands[index])
            for link in paths[index]:
                left[link] -= shares[index]
                growing[link] -= 1
        stopped = set(stopping)
        waiting = [index for index in waiting if index not in stopped]
    return shares


def fair_shares(document: Document, flows: Iterable[FlowMeans]) -> FairShares:
    """The max-min shares of flows: means over the measuring window, in which some may begin or stop.

    Senders that do not react ask for what they offer, as do those of a capture; bulk transfers for all that their
    window and their access link allow.
    """
    known = list(flows)
    groups = {str(group["name"]): group for group in document.scenario.get("groups", ())}
    reference, capacities = _capacities(document)
    paths = [_path(flow, groups.get(flow.group, {}), reference, capacities) for flow in known]
    there = _presence(document, groups)
    limits, unlimited = _limits(document, groups), (inf, None if document.is_replay else inf)
    demands = [
        _demand(flow, *limits.get(flow.group, unlimited), len(there.get(flow.group, _ALWAYS)) / PARTS) for flow in known
    ]
    shares = [0.0] * len(known)
    for parts, active in _segments([there.get(flow.group, _ALWAYS) for flow in known]):
        found = max_min([demands[index] for index in active], [paths[index] for index in active], capacities)
        for index, share in zip(active, found, strict=True):
            shares[index] += share * parts / PARTS
    of = {flow.name: share for flow, share in zip(known, shares, strict=True) if flow.crosses}
    return FairShares(of, min(sum(of.values()) / capacities[reference], 1.0))


def _segments(there: Sequence[range]) -> Iterator[tuple[int, list[int]]]:
    """Stretches of the window in which the same flows are there: how many parts of it, and which flows."""
    ends = sorted({end for span in there for end in (span.start, span.stop)})
    for first, last in pairwise(ends):
        yield last - first, [index for index, span in enumerate(there) if span.start <= first and last <= span.stop]


def _presence(document: Document, groups: Mapping[str, Mapping[str, Any]]) -> dict[str, range]:
    """The parts of the measuring window in which the flows of each group are there, in the middle of their spread."""
    if not (found := document.runs):
        return {}
    first, last = float(found[0].measured_from_s), float(found[0].measured_to_s)
    width = (last - first) / PARTS

    def part(time_s: float) -> int:
        return min(max(round((time_s - first) / width), 0), PARTS) if width > 0 else 0

    spans = {}
    for name, group in groups.items():
        begins = part(float(group.get("start_s") or 0) + float(group.get("start_spread_s") or 0) / 2)
        ends = PARTS if group.get("stop_s") is None else part(float(group["stop_s"]))
        spans[name] = range(begins, max(begins, ends))
    return spans


def _path(flow: FlowMeans, group: Mapping[str, Any], reference: str, capacities: Mapping[str, float]) -> list[str]:
    """The links with a known capacity that a flow crosses."""
    found = dict.fromkeys(str(link) for link in group.get("forward", ()) if link in capacities)
    if flow.crosses:
        found[reference] = None
    elif reference in found:
        del found[reference]
    return list(found)


def mean_flows(document: Document) -> list[FlowMeans]:
    """The flows, in the order of the runs."""
    seen: dict[str, list[tuple[Run, Flow]]] = defaultdict(list)
    crossing: set[str] = set()
    for run in document.runs:
        crossing.update(crossing_throughput(run))
        for flow in run.flows:
            seen[str(flow.name)].append((run, flow))
    # User-defined transports are congestion controls.
    own = document.scenario.get("parts", {})
    return [_mean_flow(name, rows, own, name in crossing) for name, rows in seen.items()]


def backs_off(transport: object) -> bool:
    """Whether the transport slows down on drops: ``reno``, ``tcp-cubic`` and the like."""
    words = str(transport).lower().replace("_", "-").replace("/", "-").split("-")
    return not _responsive().isdisjoint(words)


@cache
def _responsive() -> frozenset[str]:
    own = {str(entry["name"]) for entry in catalogue()["transports"] if entry["backs_off"]}
    return RESPONSIVE_ELSEWHERE | own


def link_fraction(bps: float | None, run: Run) -> float:
    """A rate as a fraction of the reference link; 0 of nothing."""
    link = float(run.link_rate_bps or 0)
    return float(bps or 0) / link if link > 0 else 0.0


def _mean_flow(
    name: str, rows: Sequence[tuple[Run, Flow]], own: Mapping[str, Any], crosses: bool
) -> FlowMeans:
    taken: dict[str, list[float]] = defaultdict(list)
    offered: dict[str, list[float]] = defaultdict(list)
    for run, flow in rows:
        taken[run.discipline].append(float(flow.share or 0))
        offered[run.discipline].append(link_fraction(flow.offered_bps, run))
    transport = rows[0][1].transport
    return FlowMeans(
        name=name,
        group=rows[0][1].group,
        transport=transport,
        responsive=transport in own or backs_off(transport),
        crosses=crosses,
        # One that reacts offers most where it is hindered least.
        offered=max(map(fmean, offered.values())),
        taken={discipline: fmean(values) for discipline, values in taken.items()},
        offered_bps=fmean(float(flow.offered_bps or 0) for _, flow in rows),
    )


def _capacities(document: Document) -> tuple[str, dict[str, float]]:
    """The name of the reference link, and what each link could carry on average over the rate that it is called by."""
    found = document.runs
    links = list(document.scenario.get("links", ()))
    reference = str(found[0].link) if found else ""
    capacities = {str(link["name"]): link_fraction(link.get("rate_bps"), found[0]) for link in links if found}
    capacities = {name: capacity for name, capacity in capacities.items() if capacity > 0}
    changes = any(link.get("rate_schedule") or link.get("trace") for link in links)
    return reference, {**capacities, reference: _carried(found) if changes else 1.0}


def _carried(found: Sequence[Run]) -> float:
    """The capacity of a link whose rate changes: its throughput in its busiest run, over its utilisation there."""
    busiest = max(found, key=lambda run: float(run.utilisation or 0))
    carried = sum(link_fraction(bps, busiest) for bps in crossing_throughput(busiest).values())
    return carried / busiest.utilisation if carried > 0 and busiest.utilisation else 1.0


def _demand(flow: FlowMeans, access: float, limit: float | None, presence: float) -> float:
    """What a flow asks for while it is there."""
    if flow.responsive and flow.transport not in YIELDING and limit is not None:
        return min(limit, access)
    return min(flow.offered / presence, access) if presence > 0 else 0.0


def _limits(document: Document, groups: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[float, float | None]]:
    """Rate of a flow's access link, and the most that it asks for, both as fractions of the link.

    The latter is None where only its runs show it.
    """
    if not (found := document.runs):
        return {}
    times = {str(row.group): float(row.base_rtt_s or 0) for row in found[0].flows}
    return {
        name: (
            link_fraction(group.get("access_rate_bps"), found[0]) or inf,
            _limit(group, found[0], times.get(name, 0.0)),
        )
        for name, group in groups.items()
    }


def _limit(group: Mapping[str, Any], run: Run, base_rtt_s: float) -> float | None:
    settings = group.get("settings") or {}
    if settings.get("transfer_bytes") or settings.get("connections"):
        return None
    rate, window = settings.get("app_rate_bps"), settings.get("max_window")
    limit = link_fraction(rate, run) if rate else inf
    if window and base_rtt_s > 0:
        limit = min(limit, link_fraction(8 * window * float(group["packet_size_bytes"]) / base_rtt_s, run))
    return limit
