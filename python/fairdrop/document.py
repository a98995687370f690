"""Reading a result document: its disciplines, groups, flows and reference link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fairdrop.estimate import Estimate, estimate

Document = Mapping[str, Any]
Run = Mapping[str, Any]


def runs(document: Document) -> Sequence[Run]:
    """Every finished run."""
    return list(document.get("runs") or [])


def disciplines(document: Document) -> list[str]:
    """Names in the order the runs have them."""
    return list(dict.fromkeys(str(run["discipline"]) for run in runs(document)))


def runs_of(document: Document, discipline: str) -> list[Run]:
    """The runs under one discipline."""
    return [run for run in runs(document) if run["discipline"] == discipline]


def seeds(document: Document) -> list[int]:
    """The seeds of all runs, ascending."""
    return sorted({int(run["seed"]) for run in runs(document)})


def group_names(document: Document) -> list[str]:
    """Names in the order the runs have them."""
    return list(dict.fromkeys(str(group["name"]) for run in runs(document) for group in run["groups"]))


def group_of(run: Run, name: str) -> Mapping[str, Any] | None:
    """A group of a run; None when the run has none of that name."""
    return next((group for group in run["groups"] if group["name"] == name), None)


def reference_queue(run: Run) -> Mapping[str, Any] | None:
    """The queue that shares and fair share refer to."""
    queues = run.get("queues") or []
    return next(
        (queue for queue in queues if queue["name"] == run.get("link")), queues[0] if queues else None
    )


def queue_wait(queue: Mapping[str, Any] | None, quantile: str) -> float | None:
    """A quantile of the waits at a queue, or of a group there, or their mean; None where no packet was sent."""
    if queue is None or queue.get("departures", (queue.get("departed") or {}).get("packets")) == 0:
        return None
    found = (queue.get("sojourn_s") or {}).get(quantile)
    return None if found is None else float(found)


def reference_wait(quantile: str) -> Callable[[Run], float | None]:
    """As `queue_wait`, of the queue that shares and fair share refer to."""
    return lambda run: queue_wait(reference_queue(run), quantile)


def is_replay(document: Document) -> bool:
    """Whether the packets came out of a capture."""
    return document.get("kind") == "replay"


def over_seeds(
    chosen: Iterable[Run], value: Callable[[Run], float | None], resolution: float = 0.0
) -> Estimate | None:
    """Mean over runs of a number that each has, perhaps read from bins (``resolution``); None when none has it."""
    return estimate((value(run) for run in chosen), resolution=resolution)


def group_estimate(chosen: Iterable[Run], name: str, field: str) -> Estimate | None:
    """Mean over seeds of a number that a group has."""

    def value(run: Run) -> float | None:
        group = group_of(run, name)
        return None if group is None else group.get(field)

    return over_seeds(chosen, value)


def crossing_throughput(run: Run) -> dict[str, float]:
    """Throughput on the reference link of each flow that crosses it."""
    queue = reference_queue(run)
    pairs = (queue or {}).get("throughput_bps_by_flow") or []
    if pairs:
        return {str(name): float(rate) for name, rate in pairs}
    return {str(flow["name"]): float(flow["throughput_bps"]) for flow in run["flows"]}


def flow_groups(document: Document) -> dict[str, str]:
    """Group of each flow, by flow name."""
    return {str(flow["name"]): str(flow["group"]) for run in runs(document) for flow in run["flows"]}


def drop_count(run: Run) -> int:
    """Packets dropped at the queues during the measuring window."""
    return sum(sum(group["drops"].values()) for group in run["groups"])
