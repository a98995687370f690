"""Many disciplines in order: the one that comes nearest to fair shares first."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log
from typing import Any

from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.document import Document, disciplines, over_seeds, reference_queue, runs, runs_of
from fairdrop.estimate import Estimate
from fairdrop.plot.size import Width
from fairdrop.plot.strips import MOST_PANELS
from fairdrop.report.judge import Verdict
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import waiting_unit

#: A discipline comes after all that use the link where it keeps it less busy than this part of the busiest one's use.
USED = 0.9


def is_long(document: Document) -> bool:
    """Whether there are so many disciplines that the page leads with a table of them."""
    return len(disciplines(document)) > MOST_PANELS


def ranked(document: Document, verdict: Verdict) -> dict[str, Any]:
    """The document with its runs in order.

    First those that use the link; of these the one under which the sender that the verdict is about is nearest to its
    fair share, as a ratio either way. Without such a sender, the one whose largest flow is nearest to the fair share.
    """
    names = disciplines(document)
    used = {name: _mean(document, name, "utilisation") for name in names}
    busiest = max(used.values(), default=0.0)
    keys = {name: (used[name] < USED * busiest, _distance(document, name, verdict), name) for name in names}
    place = {name: number for number, name in enumerate(sorted(names, key=lambda name: keys[name]))}
    return {**document, "runs": sorted(runs(document), key=lambda run: place[str(run["discipline"])])}


def _mean(document: Document, name: str, field: str) -> float:
    found = over_seeds(runs_of(document, name), lambda run: run[field])
    return found.mean if found else 0.0


def _distance(document: Document, name: str, verdict: Verdict) -> float:
    times = _mean(document, name, "largest_over_fair_share")
    if verdict.subject is not None and verdict.subject.fair > 0:
        share = over_seeds(runs_of(document, name), verdict.subject.share)
        times = (share.mean if share else 0.0) / verdict.subject.fair
    return abs(log(times)) if times > 0 else inf


def trade_off(document: Document, width: Width) -> Figure:
    """Delay against fairness, a mark for each discipline."""
    points: list[tuple[str, Estimate, Estimate]] = []
    for name in disciplines(document):
        delay = over_seeds(runs_of(document, name), _p99)
        fairness = over_seeds(runs_of(document, name), lambda run: run["jain_index"])
        if delay is not None and fairness is not None:
            points.append((discipline_name(name), delay, fairness))
    divisor, unit = waiting_unit(max((delay.mean for _, delay, _ in points), default=1e-3))
    points = [(name, _scaled(delay, 1 / divisor), fairness) for name, delay, fairness in points]
    note = "Means over seeds with their 95 % intervals. The line joins disciplines that no other beats in both."
    labels = f"99th percentile of the wait, {unit} (less is better)", "Jain's index of all flows (more is better)"
    return plot.trade_off(points, *labels, note, width=width, most=1.0)


def _p99(run: Mapping[str, Any]) -> float | None:
    return ((reference_queue(run) or {}).get("sojourn_s") or {}).get("p99")


def _scaled(value: Estimate, factor: float) -> Estimate:
    return Estimate(value.mean * factor, None if value.half is None else value.half * factor, value.n)
