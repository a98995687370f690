"""Max-min fair shares of the flows on the reference link: what each would have if none took from another.

A flow that asks for less than an equal part has what it asks for, and the others split the rest in the same way.
Source: D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from statistics import fmean
from typing import Any

from fairdrop.document import Document, Run, crossing_throughput, is_replay, runs
from fairdrop.library import catalogue

# What slows down when packets are dropped, beside the simulator's own transports. What is not listed is judged by what
# it offers.
RESPONSIVE_ELSEWHERE = frozenset({"tcp", "westwood", "bbr", "compound", "illinois", "hybla", "quic", "tfrc"})
#: They leave the link to others on purpose.
YIELDING = frozenset({"ledbat"})


@dataclass(frozen=True)
class FlowMeans:
    """A flow that crosses the reference link: means over its runs, in fractions of the link."""

    name: str
    group: str
    transport: str
    responsive: bool
    offered: float
    #: Share under each discipline.
    taken: Mapping[str, float]
    offered_bps: float


@dataclass(frozen=True)
class FairShares:
    """``of`` has the max-min share of each flow, ``level`` that of a flow that asks for more than it gets.

    Both are fractions of the link's rate. ``possible`` is the most that the flows can keep the link busy together.
    """

    of: Mapping[str, float]
    level: float
    possible: float


def max_min(demands: Sequence[float], capacity: float) -> tuple[list[float], float]:
    """The max-min share of each demand, and the share of those that are not satisfied (inf where all are)."""
    left, among = capacity, len(demands)
    for demand in sorted(demands):
        if demand * among > left:
            level = left / among
            return [min(demand, level) for demand in demands], level
        left, among = left - demand, among - 1
    return list(demands), inf


def fair_shares(document: Document, flows: Iterable[FlowMeans]) -> FairShares:
    """The max-min shares of flows.

    Senders that do not react ask for what they offer, as do those of a capture; bulk transfers for all that their
    window allows.
    """
    known = list(flows)
    limits = _limits(document)
    capacity = _capacity(document)
    demands = [flow.offered if is_replay(document) else _demand(flow, limits) for flow in known]
    shares, level = max_min(demands, capacity)
    return FairShares(
        {flow.name: share for flow, share in zip(known, shares, strict=True)},
        min(level, capacity),
        min(sum(demands) / capacity, 1.0),
    )


def mean_flows(document: Document) -> list[FlowMeans]:
    """The flows that cross the reference link, in the order of the runs."""
    seen: dict[str, list[tuple[Run, Mapping[str, Any]]]] = defaultdict(list)
    for run in runs(document):
        crossing = crossing_throughput(run)
        for flow in run["flows"]:
            if flow["name"] in crossing:
                seen[str(flow["name"])].append((run, flow))
    # Transports of one's own are congestion controls.
    own = document.get("scenario", {}).get("parts", {})
    return [_mean_flow(name, rows, own) for name, rows in seen.items()]


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
    link = float(run["link_rate_bps"] or 0)
    return float(bps or 0) / link if link > 0 else 0.0


def _mean_flow(name: str, rows: Sequence[tuple[Run, Mapping[str, Any]]], own: Mapping[str, Any]) -> FlowMeans:
    taken: dict[str, list[float]] = defaultdict(list)
    offered: dict[str, list[float]] = defaultdict(list)
    for run, flow in rows:
        taken[run["discipline"]].append(float(flow["share"] or 0))
        offered[run["discipline"]].append(link_fraction(flow["offered_bps"], run))
    transport = str(rows[0][1]["transport"])
    return FlowMeans(
        name=name,
        group=str(rows[0][1]["group"]),
        transport=transport,
        responsive=transport in own or backs_off(transport),
        # One that reacts offers most where it is hindered least.
        offered=max(map(fmean, offered.values())),
        taken={discipline: fmean(values) for discipline, values in taken.items()},
        offered_bps=fmean(float(flow["offered_bps"] or 0) for _, flow in rows),
    )


def _capacity(document: Document) -> float:
    """What the link could carry on average, over the rate that it is called by: 1 unless its rate changes."""
    links = (document.get("scenario") or {}).get("links", ())
    if not any(link.get("rate_schedule") or link.get("trace") for link in links):
        return 1.0
    busiest = max(runs(document), key=lambda run: float(run["utilisation"] or 0))
    carried = sum(link_fraction(bps, busiest) for bps in crossing_throughput(busiest).values())
    return carried / busiest["utilisation"] if carried > 0 and busiest["utilisation"] else 1.0


def _demand(flow: FlowMeans, limits: Mapping[str, float | None]) -> float:
    if not flow.responsive or flow.transport in YIELDING:
        return flow.offered
    limit = limits.get(flow.group, inf)
    return flow.offered if limit is None else limit


def _limits(document: Document) -> dict[str, float | None]:
    """The most that a flow of a group asks for as a fraction of the link; None where only its runs tell."""
    if not (found := runs(document)):
        return {}
    scenario = document.get("scenario") or {}
    times = {str(row["group"]): float(row.get("base_rtt_s") or 0) for row in found[0]["flows"]}
    return {
        str(group["name"]): _limit(group, found[0], times.get(str(group["name"]), 0.0))
        for group in scenario.get("groups", ())
    }


def _limit(group: Mapping[str, Any], run: Run, base_rtt_s: float) -> float | None:
    settings = group.get("settings") or {}
    if settings.get("transfer_bytes") or settings.get("connections") or not _is_always_there(group, run):
        return None
    rate, window = settings.get("app_rate_bps"), settings.get("max_window")
    limit = link_fraction(rate, run) if rate else inf
    if window and base_rtt_s > 0:
        limit = min(limit, link_fraction(8 * window * float(group["packet_size_bytes"]) / base_rtt_s, run))
    return limit


def _is_always_there(group: Mapping[str, Any], run: Run) -> bool:
    """Whether the flows of a group send from the first tenth of the measuring window to its last tenth."""
    first, last = float(run["measured_from_s"]), float(run["measured_to_s"])
    begins = float(group.get("start_s") or 0) + float(group.get("start_spread_s") or 0)
    stops = group.get("stop_s")
    margin = 0.1 * (last - first)
    return begins <= first + margin and (stops is None or float(stops) >= last - margin)
