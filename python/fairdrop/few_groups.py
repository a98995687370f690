"""Documents of very many groups: the largest by name, the others as one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairdrop.document import Document, Group, Queue, Run, group_names
from fairdrop.measures import jain_index
from fairdrop.wording.phrases import count

#: Groups that are shown by name.
MOST_GROUPS = 8
_SUMS = (
    "flows", "offered_bps", "throughput_bps", "share", "retransmissions", "timeouts", "fast_retransmits", "goodput_bps",
)  # fmt: skip


def few_groups(document: Document) -> Document:
    """The document; of more than ``MOST_GROUPS`` groups those that offer most keep their names."""
    names = group_names(document.runs)
    if len(names) <= MOST_GROUPS + 1:
        return document
    offered: defaultdict[str, float] = defaultdict(float)
    for run in document.runs:
        for row in run.groups:
            offered[row.name] = max(offered[row.name], float(row.offered_bps or 0))
    largest = set(sorted(names, key=lambda name: -offered[name])[:MOST_GROUPS])
    others = f"others ({count(len(names) - MOST_GROUPS, 'group')})"
    while others in largest:
        others += "\u200b"
    new = {name: name if name in largest else others for name in names}
    return replace(document, runs=tuple(_run(run, new, others) for run in document.runs))


def _run(run: Run, new: Mapping[str, str], others: str) -> Run:
    flows = tuple(replace(row, group=new[row.group]) for row in run.flows)
    rates = [float(row.throughput_bps) for row in flows if row.group == others]
    kept = [row for row in run.groups if new[row.name] != others]
    rest = [row for row in run.groups if new[row.name] == others]
    groups = (*kept, _sum(rest, others, rates)) if rest else tuple(kept)
    return replace(run, flows=flows, groups=groups, queues=tuple(_queue(queue, new) for queue in run.queues))


def _sum(rows: Sequence[Group], name: str, rates: Sequence[float]) -> Group:
    """The row of several groups together, as if they had been one."""
    drops: Counter[str] = Counter()
    for row in rows:
        drops.update(row.drops)
    transports = {row.transport for row in rows}
    sums: dict[str, Any] = {field: _total(getattr(row, field) for row in rows) for field in _SUMS}
    return Group(
        name=name,
        transport=transports.pop() if len(transports) == 1 else "",
        drops=dict(drops),
        drop_fraction=_dropped(rows),
        jain_index=jain_index(rates) if len(rates) > 1 else None,
        **sums,
    )


def _total(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _dropped(rows: Sequence[Group]) -> float:
    """Part of the packets that was dropped; weighted by the offered load where arrivals are unknown."""
    weights = [float(row.offered_bps or 0) for row in rows]
    if all(row.arrivals is not None for row in rows):
        weights = [float(row.arrivals or 0) for row in rows]
    whole = sum(weights)
    parts = (w * float(row.drop_fraction or 0) for w, row in zip(weights, rows, strict=True))
    return sum(parts) / whole if whole else 0.0


def _queue(queue: Queue, new: Mapping[str, str]) -> Queue:
    sums: dict[str, list[float]] = {}
    for name, values in queue.series.packets_by_group.items():
        group = new.get(name, name)
        before = sums.get(group)
        sums[group] = list(values) if before is None else [a + b for a, b in zip(before, values, strict=True)]
    return replace(queue, series=replace(queue.series, packets_by_group=sums))
