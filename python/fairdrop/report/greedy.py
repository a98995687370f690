"""The senders that the document is about, found by transports and numbers, never by a group's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from fairdrop.document import Document, Run
from fairdrop.report.max_min import FairShares, FlowMeans, fair_shares, mean_flows
from fairdrop.wording.phrases import clean, count, joined, shorten

#: A sender that does not react is greedy when it offers this multiple of its max-min fair share.
GREEDY_OVER_FAIR = 1.2
#: A flow that reacts is looked at when it takes this multiple of its max-min fair share.
DOMINANT_OVER_FAIR = 3.0


@dataclass(frozen=True)
class Subject:
    """The flows the verdict is about."""

    flows: tuple[str, ...]
    phrase: str
    kind: str  # "greedy", "dominant" (backs off, yet takes far more than its share) or "largest" (replay)
    others: int
    fair: float  # their max-min fair share together, as a fraction of the link
    offered_bps: float
    over_fair: float  # offered (dominant: received) over fair share, per flow

    @property
    def plural(self) -> bool:
        return len(self.flows) > 1

    def share(self, run: Run) -> float:
        """Share of the link that the subject takes in one run."""
        wanted = set(self.flows)
        return sum(float(flow.share or 0) for flow in run.flows if flow.name in wanted)


def find_subject(document: Document) -> Subject | None:
    """The greedy senders; failing that, a flow far above its share; in a replay, the largest flow."""
    flows = mean_flows(document)
    return subject_of(document, flows, fair_shares(document, flows))


def subject_of(document: Document, flows: Sequence[FlowMeans], fair: FairShares) -> Subject | None:
    """As `find_subject`, of flows and shares that are known."""
    flows = [flow for flow in flows if flow.crosses]
    if not flows:
        return None
    if document.is_replay:
        return _subject(flows, fair, [max(flows, key=lambda flow: flow.offered_bps)], "largest")
    greedy = [flow for flow in flows if _is_greedy(flow, fair)]
    if greedy:
        return _subject(flows, fair, greedy, "greedy")
    top = max(flows, key=lambda flow: _over_fair(flow, fair, "dominant"))
    if _over_fair(top, fair, "dominant") >= DOMINANT_OVER_FAIR:
        return _subject(flows, fair, [top], "dominant")
    return None


def _is_greedy(flow: FlowMeans, fair: FairShares) -> bool:
    return not flow.responsive and _over_fair(flow, fair, "greedy") >= GREEDY_OVER_FAIR


def _over_fair(flow: FlowMeans, fair: FairShares, kind: str) -> float:
    share = fair.of[flow.name]
    value = max(flow.taken.values()) if kind == "dominant" else flow.offered
    return value / share if share > 0 else 0.0


def _subject(flows: Sequence[FlowMeans], fair: FairShares, chosen: list[FlowMeans], kind: str) -> Subject:
    return Subject(
        flows=tuple(flow.name for flow in chosen),
        phrase=_phrase(chosen, kind),
        kind=kind,
        others=len(flows) - len(chosen),
        fair=sum(fair.of[flow.name] for flow in chosen),
        offered_bps=sum(flow.offered_bps for flow in chosen),
        over_fair=fmean(_over_fair(flow, fair, kind) for flow in chosen),
    )


def _phrase(chosen: list[FlowMeans], kind: str) -> str:
    names = [flow.name for flow in chosen]
    if kind != "greedy":
        return f"the largest flow {shorten(names[0], 72)}"
    if len(names) == 1:
        return f"the greedy sender {shorten(names[0], 72)}"
    if len(names) <= 3:
        return f"the {len(names)} greedy senders {joined([shorten(name, 40) for name in names])}"
    groups = list(dict.fromkeys(clean(flow.group) for flow in chosen))
    where = joined(groups[:3]) if len(groups) <= 3 else count(len(groups), "group")
    return f"the {len(names)} greedy senders ({where})"
