"""Which senders the document is about, told from transports and numbers, never from a group's name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from fairdrop.document import Document, Run, crossing_throughput, is_replay, runs
from fairdrop.estimate import estimate
from fairdrop.library import catalogue
from fairdrop.wording.phrases import clean, count, joined, shorten

# What slows down when packets are dropped, beside the simulator's own transports. What is not listed is judged by what
# it offers.
RESPONSIVE_ELSEWHERE = frozenset({"tcp", "westwood", "bbr", "compound", "illinois", "hybla", "quic", "tfrc"})
GREEDY_OVER_FAIR = 1.2
DOMINANT_OVER_FAIR = 3.0


@dataclass(frozen=True)
class Subject:
    """The flows the verdict is about."""

    flows: tuple[str, ...]
    phrase: str
    kind: str  # "greedy", "dominant" (backs off, yet takes far more than its share) or "largest" (replay)
    others: int
    fair: float  # their fair share together, as a fraction of the link
    offered_bps: float
    over_fair: float  # offered (dominant: received) over fair share, per flow

    @property
    def plural(self) -> bool:
        return len(self.flows) > 1

    def share(self, run: Run) -> float:
        """Share of the link that the subject takes in one run."""
        wanted = set(self.flows)
        return sum(float(flow["share"]) for flow in run["flows"] if flow["name"] in wanted)


def backs_off(transport: object) -> bool:
    """Whether the transport slows down on drops: ``reno``, ``tcp-cubic`` and the like."""
    words = str(transport).lower().replace("_", "-").replace("/", "-").split("-")
    return not _responsive().isdisjoint(words)


@cache
def _responsive() -> frozenset[str]:
    own = {str(entry["name"]) for entry in catalogue()["transports"] if entry["backs_off"]}
    return RESPONSIVE_ELSEWHERE | own


def find_subject(document: Document) -> Subject | None:
    """The greedy senders; failing that, a flow far above its share; in a replay, the largest flow."""
    flows = _mean_flows(document)
    if not flows:
        return None
    if is_replay(document):
        name = max(flows, key=lambda flow: flows[flow]["offered_bps"])
        return _subject(document, flows, [name], "largest")
    # Transports of one's own are congestion controls.
    own = document.get("scenario", {}).get("parts", {})
    unresponsive = [
        name for name, flow in flows.items() if flow["transport"] not in own and not backs_off(flow["transport"])
    ]
    greedy = [name for name in unresponsive if flows[name]["offered_over_fair"] >= GREEDY_OVER_FAIR]
    if greedy:
        return _subject(document, flows, greedy, "greedy")
    top = max(flows, key=lambda flow: flows[flow]["best_over_fair"])
    if flows[top]["best_over_fair"] >= DOMINANT_OVER_FAIR:
        return _subject(document, flows, [top], "dominant")
    return None


def _mean_flows(document: Document) -> dict[str, dict[str, Any]]:
    """Per flow that crosses the reference link: transport and means over runs."""
    seen: dict[str, list[tuple[Run, Mapping[str, Any]]]] = defaultdict(list)
    for run in runs(document):
        crossing = crossing_throughput(run)
        for flow in run["flows"]:
            if flow["name"] in crossing:
                seen[str(flow["name"])].append((run, flow))
    return {name: _mean_flow(rows) for name, rows in seen.items()}


def _mean_flow(rows: list[tuple[Run, Mapping[str, Any]]]) -> dict[str, Any]:
    by_discipline: dict[str, list[float]] = defaultdict(list)
    for run, flow in rows:
        by_discipline[run["discipline"]].append(_over_fair(flow["throughput_bps"], run))
    return {
        "group": rows[0][1]["group"],
        "transport": rows[0][1]["transport"],
        "offered_bps": fmean(flow["offered_bps"] for _, flow in rows),
        "offered_over_fair": fmean(_over_fair(flow["offered_bps"], run) for run, flow in rows),
        "best_over_fair": max(fmean(ratios) for ratios in by_discipline.values()),
    }


def _over_fair(rate_bps: float, run: Run) -> float:
    fair = float(run["fair_share_bps"])
    return float(rate_bps) / fair if fair > 0 else 0.0


def _subject(document: Document, flows: dict[str, dict[str, Any]], names: list[str], kind: str) -> Subject:
    ratio = "best_over_fair" if kind == "dominant" else "offered_over_fair"
    fair = estimate(
        run["fair_share_bps"] / run["link_rate_bps"] for run in runs(document) if run["link_rate_bps"]
    )
    return Subject(
        flows=tuple(names),
        phrase=_phrase(flows, names, kind),
        kind=kind,
        others=len(flows) - len(names),
        fair=(fair.mean if fair else 0.0) * len(names),
        offered_bps=sum(flows[name]["offered_bps"] for name in names),
        over_fair=fmean(flows[name][ratio] for name in names),
    )


def _phrase(flows: dict[str, dict[str, Any]], names: list[str], kind: str) -> str:
    if kind != "greedy":
        return f"the largest flow {shorten(names[0], 72)}"
    if len(names) == 1:
        return f"the greedy sender {shorten(names[0], 72)}"
    if len(names) <= 3:
        return f"the {len(names)} greedy senders {joined([shorten(name, 40) for name in names])}"
    groups = list(dict.fromkeys(clean(flows[name]["group"]) for name in names))
    where = joined(groups[:3]) if len(groups) <= 3 else count(len(groups), "group")
    return f"the {len(names)} greedy senders ({where})"
