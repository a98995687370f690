"""A result document as typed values: its runs, their groups, flows and queues. JSON is read here, and nowhere above.

The JSON text of a result has more than is listed here (``docs/reference/result.md``); :attr:`Document.source` is all of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from fairdrop.estimate import Estimate, estimate

#: The same as JSON has it.
Json: TypeAlias = Mapping[str, Any]
_Made = TypeVar("_Made")
_NOTHING: Json = {}


def _each(kind: type[_Made]) -> Callable[[Iterable[Json]], tuple[_Made, ...]]:
    return lambda found: tuple(_made(kind, one) for one in found)


def _one(kind: type[_Made]) -> Callable[[Json], _Made]:
    return lambda found: _made(kind, found)


@cache
def _plan(kind: Any) -> list[tuple[str, str, Callable[[Any], Any] | None, bool]]:
    """Of each field its name, its name in JSON, how it is read, and whether it must be there."""
    return [
        (one.name, one.metadata.get("key", one.name), one.metadata.get("read"),
         one.default is MISSING and one.default_factory is MISSING)
        for one in fields(kind)
    ]  # fmt: skip


def _made(kind: type[_Made], found: Json) -> _Made:
    """Raises KeyError for a field that is missing."""
    values = {}
    for name, key, read, required in _plan(cast(Any, kind)):
        value = found[key] if required else found.get(key)
        if value is not None or required:
            values[name] = value if read is None or value is None else read(value)
    return kind(**values)


@dataclass(frozen=True)
class Sojourn:
    """A distribution of times, s; None where a value is unknown."""

    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Amount:
    """Packets."""

    packets: int


@dataclass(frozen=True)
class Group:
    """A group of flows in a run."""

    name: str
    offered_bps: float | None
    throughput_bps: float
    drops: Mapping[str, int]
    flows: int = 0
    transport: str = ""
    share: float | None = None
    goodput_bps: float | None = None
    drop_fraction: float | None = None
    jain_index: float | None = None
    arrivals: int | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    fast_retransmits: int | None = None
    starved_flows: int | None = None
    mean_cwnd_packets: float | None = None
    srtt_s: float | None = None


@dataclass(frozen=True)
class Flow:
    """A flow in a run."""

    name: str
    group: str
    throughput_bps: float
    offered_bps: float | None = None
    share: float | None = None
    transport: str = ""
    drop_fraction: float | None = None
    base_rtt_s: float | None = None


@dataclass(frozen=True)
class Series:
    """A queue on the sampling grid."""

    t_s: Sequence[float] = ()
    packets: Sequence[float] = ()
    packets_by_group: Mapping[str, Sequence[float]] = field(default_factory=dict)
    red_avg: Sequence[float | None] = ()
    internals: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkGroup:
    """Packets of a group at one queue."""

    name: str
    flows: int
    departed: Amount = field(metadata={"read": _one(Amount)})
    throughput_bps: float
    drop_fraction: float
    leak_fraction: float
    match_fraction: float
    mean_draws: float
    most_draws: int
    match_probability: float | None = None
    sojourn_s: Sojourn = field(default=Sojourn(), metadata={"read": _one(Sojourn)})

    @property
    def departures(self) -> int:
        """Packets that were sent."""
        return self.departed.packets


@dataclass(frozen=True)
class Internal:
    """A value that a discipline decides by."""

    name: str
    mean: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Queue:
    """A queue in a run."""

    name: str
    discipline: str | None = None
    departures: int | None = None
    limit_packets: int | None = None
    marks: Mapping[str, int] = field(default_factory=dict)
    drop_fraction: float | None = None
    utilisation: float | None = None
    mean_packets: float | None = None
    max_packets: int | None = None
    throughput_bps_by_flow: Sequence[tuple[str, float]] = ()
    sojourn_s: Sojourn = field(default=Sojourn(), metadata={"read": _one(Sojourn)})
    length_histogram: Sequence[tuple[float, float]] = ()
    sojourn_histogram: Sequence[tuple[float, float]] = ()
    series: Series = field(default=Series(), metadata={"read": _one(Series)})
    groups: tuple[LinkGroup, ...] = field(default=(), metadata={"read": _each(LinkGroup)})
    internals: tuple[Internal, ...] = field(default=(), metadata={"read": _each(Internal)})


@dataclass(frozen=True)
class Windows:
    """Congestion windows on the sampling grid, by flow."""

    t_s: Sequence[float] = ()
    cwnd_packets: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkLoss:
    """A link that loses packets at random."""

    name: str
    offered: Amount = field(metadata={"read": _one(Amount)})
    lost: Amount = field(metadata={"read": _one(Amount)})


@dataclass(frozen=True)
class Run:
    """One discipline under one seed."""

    discipline: str
    seed: int
    groups: tuple[Group, ...] = field(metadata={"read": _each(Group)})
    flows: tuple[Flow, ...] = field(metadata={"read": _each(Flow)})
    measured_from_s: float = 0.0
    measured_to_s: float = 0.0
    link: str = ""
    link_rate_bps: float = 0.0
    fair_share_bps: float = 0.0
    jain_index: float | None = None
    largest_over_fair_share: float | None = None
    utilisation: float | None = None
    events: int = 0
    valid: bool = True
    problems: Sequence[str] = ()
    queues: tuple[Queue, ...] = field(default=(), metadata={"read": _each(Queue)})
    windows: Windows = field(default=Windows(), metadata={"read": _one(Windows)})
    link_losses: tuple[LinkLoss, ...] = field(default=(), metadata={"read": _each(LinkLoss)})
    #: Of a live run: the machine, and how exact it was.
    live: Json | None = None


@dataclass(frozen=True)
class Document:
    """Runs, and their scenario."""

    runs: tuple[Run, ...] = field(default=(), metadata={"read": _each(Run)})
    schema: str = "?"
    version: str = "?"
    #: ``simulation``, ``replay`` or ``live``.
    kind: str = ""
    name: str = ""
    title: str = ""
    complete: bool = True
    command: Any = None
    #: The scenario after defaults, in SI units (``docs/reference/scenario.md``).
    scenario: Json = field(default_factory=dict)
    scenario_source: str = ""
    warnings: Sequence[str] = ()
    #: What the model says, as ``fairdrop model --json`` prints it.
    model: Json | None = None
    #: The same scenario with real hosts.
    live: Document | None = field(default=None, metadata={"read": lambda found: document_of(found)})
    #: All that the JSON text has.
    source: Json = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_replay(self) -> bool:
        """Whether the packets are those of a capture."""
        return self.kind == "replay"


def document_of(found: Json | Document) -> Document:
    """The document that is in a JSON object. Raises KeyError, TypeError, ValueError where it is something else."""
    if isinstance(found, Document):
        return found
    return _made(Document, {**found, "source": found})


def disciplines(document: Document) -> list[str]:
    """Names in the order the runs have them."""
    return list(dict.fromkeys(run.discipline for run in document.runs))


def runs_of(document: Document, discipline: str) -> list[Run]:
    """The runs under one discipline."""
    return [run for run in document.runs if run.discipline == discipline]


def seeds(document: Document) -> list[int]:
    """The seeds of all runs, ascending."""
    return sorted({run.seed for run in document.runs})


def group_names(runs: Iterable[Run]) -> list[str]:
    """Names in the order the runs have them."""
    return list(dict.fromkeys(group.name for run in runs for group in run.groups))


def group_of(run: Run, name: str) -> Group | None:
    """A group of a run; None when the run has none of that name."""
    return next((group for group in run.groups if group.name == name), None)


def reference_queue(run: Run) -> Queue | None:
    """The queue that shares and fair share refer to."""
    queues = run.queues
    return next((queue for queue in queues if queue.name == run.link), queues[0] if queues else None)


def queue_wait(queue: Queue | LinkGroup | None, quantile: str) -> float | None:
    """A quantile of the waits at a queue, or of a group there, or their mean; None where no packet was sent."""
    if queue is None or queue.departures == 0:
        return None
    return cast("float | None", getattr(queue.sojourn_s, quantile))


def reference_wait(quantile: str) -> Callable[[Run], float | None]:
    """As `queue_wait`, of the queue that shares and fair share refer to."""
    return lambda run: queue_wait(reference_queue(run), quantile)


def mean_queue(run: Run) -> float | None:
    """Mean over time of the packets that waited at that queue."""
    queue = reference_queue(run)
    return None if queue is None else queue.mean_packets


def over_seeds(chosen: Iterable[Run], value: Callable[[Run], float | None], resolution: float = 0.0) -> Estimate | None:
    """Mean over runs of a number that each has, perhaps read from bins (``resolution``); None when none has it."""
    return estimate((value(run) for run in chosen), resolution=resolution)


def group_estimate(chosen: Iterable[Run], name: str, field: str) -> Estimate | None:
    """Mean over seeds of a number that a group has."""
    return over_seeds(chosen, of_group(name, field))


def of_group(name: str, field: str) -> Callable[[Run], float | None]:
    """A number of a group, under the name of its field; None in a run that has no such group."""

    def value(run: Run) -> float | None:
        group = group_of(run, name)
        return None if group is None else getattr(group, field)

    return value


def crossing_throughput(run: Run) -> dict[str, float]:
    """Throughput on the reference link of each flow that crosses it."""
    queue = reference_queue(run)
    if queue is not None and queue.throughput_bps_by_flow:
        return {str(name): float(rate) for name, rate in queue.throughput_bps_by_flow}
    return {flow.name: float(flow.throughput_bps) for flow in run.flows}


def flow_groups(document: Document) -> dict[str, str]:
    """Group of each flow, by flow name."""
    return {flow.name: flow.group for run in document.runs for flow in run.flows}


def drop_count(run: Run) -> int:
    """Packets dropped at the queues during the measuring window."""
    return sum(sum(group.drops.values()) for group in run.groups)
