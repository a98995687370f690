"""Documents of very many groups: the largest by name, the others as one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairdrop.document import Document, Run, group_names, runs
from fairdrop.measures import jain_index
from fairdrop.wording.phrases import count

#: Groups that are shown by name.
MOST_GROUPS = 8
_SUMS = ("flows", "offered_bps", "throughput_bps", "share", "retransmissions", "timeouts", "fast_retransmits")


def few_groups(document: Document) -> Document:
    """The document; of more than ``MOST_GROUPS`` groups those that offer most keep their names."""
    names = group_names(document)
    if len(names) <= MOST_GROUPS + 1:
        return document
    offered: defaultdict[str, float] = defaultdict(float)
    for run in runs(document):
        for row in run["groups"]:
            offered[row["name"]] = max(offered[row["name"]], float(row["offered_bps"]))
    largest = set(sorted(names, key=lambda name: -offered[name])[:MOST_GROUPS])
    others = f"others ({count(len(names) - MOST_GROUPS, 'group')})"
    while others in largest:
        others += "\u200b"
    new = {name: name if name in largest else others for name in names}
    return {**document, "runs": [_run(run, new, others) for run in runs(document)]}


def _run(run: Run, new: Mapping[str, str], others: str) -> Run:
    flows = [{**row, "group": new[row["group"]]} for row in run["flows"]]
    rates = [float(row["throughput_bps"]) for row in flows if row["group"] == others]
    kept = [row for row in run["groups"] if new[row["name"]] != others]
    rest = [row for row in run["groups"] if new[row["name"]] == others]
    groups = [*kept, _sum(rest, others, rates)] if rest else kept
    queues = [_queue(queue, new) for queue in run.get("queues") or []]
    return {**run, "flows": flows, "groups": groups, "queues": queues}


def _sum(rows: Sequence[Mapping[str, Any]], name: str, rates: Sequence[float]) -> dict[str, Any]:
    """The row of several groups together, as if they had been one."""
    drops: Counter[str] = Counter()
    for row in rows:
        drops.update(row["drops"])
    transports = {row.get("transport") for row in rows}
    arrivals = [row.get("arrivals") for row in rows]
    return {
        "name": name,
        "transport": transports.pop() if len(transports) == 1 else "",
        **{field: _total(row.get(field) for row in rows) for field in (*_SUMS, "goodput_bps")},
        "drops": dict(drops),
        "drop_fraction": _dropped(rows, arrivals),
        "jain_index": jain_index(rates) if len(rates) > 1 else None,
    }


def _total(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _dropped(rows: Sequence[Mapping[str, Any]], arrivals: Sequence[float | None]) -> float:
    """Part of the packets that was dropped; weighted by what was offered where arrivals are not told."""
    weights = [float(row["offered_bps"]) for row in rows]
    if None not in arrivals:
        weights = [float(number or 0) for number in arrivals]
    whole = sum(weights)
    return sum(w * float(row["drop_fraction"]) for w, row in zip(weights, rows, strict=True)) / whole if whole else 0.0


def _queue(queue: Mapping[str, Any], new: Mapping[str, str]) -> Mapping[str, Any]:
    series = queue.get("series") or {}
    parts = series.get("packets_by_group")
    if not parts:
        return queue
    sums: dict[str, list[float]] = {}
    for name, values in parts.items():
        group = new.get(name, name)
        before = sums.get(group)
        sums[group] = list(values) if before is None else [a + b for a, b in zip(before, values, strict=True)]
    return {**queue, "series": {**series, "packets_by_group": sums}}
