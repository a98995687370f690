"""Measures over flows: relative cumulative frequency, starved flows, and means by class.

Each takes rows of a flows table (``result.flows.rows()``), of one or many runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fairdrop.estimate import mean_of_known

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FlowClass", "Frequency", "back_offs", "classes", "frequencies", "jain_index", "loss_synchronisation"]

#: A window that falls below this part of what it was has met a loss (Reno halves it).
BACKED_OFF = 0.75

By = Literal["group", "transport", "base_rtt_s", "class"]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Frequency:
    """Relative cumulative frequency of a value over flows (Wen, Fang, Sun 2005, III.A and figure 4)."""

    discipline: str
    #: Group, transport, round-trip time in s, or priority class: what the flows have in common.
    name: str | float | None
    #: Of every flow of every run, ascending.
    values: tuple[float, ...]

    def at(self, value: float) -> float:
        """RCF(value): the fraction of flows that have this value or less. RCF(0) are those that are starved."""
        return bisect_right(self.values, value) / len(self.values)

    def points(self) -> list[tuple[float, float]]:
        """Each value that occurs, with its relative cumulative frequency."""
        return [(value, self.at(value)) for value in dict.fromkeys(self.values)]


@dataclass(frozen=True)
class FlowClass:
    """Flows of one discipline in one class: means over flows and runs, unless stated otherwise."""

    discipline: str
    #: Group, transport, round-trip time in s, or priority class: what the flows have in common.
    name: str | float | None
    #: Flows of one run (mean).
    flows: float
    #: Flows of one run without a delivered packet (mean).
    starved_flows: float
    throughput_bps: float
    #: None in a replay.
    goodput_bps: float | None
    #: Part of the link that all of them together take.
    share: float
    #: Packets dropped / packets that arrived at the first queue, all together.
    drop_fraction: float
    #: Jain's index of throughput over the flows of one run; None when nothing crossed in any.
    jain_index: float | None
    #: The minmax measure: throughput of the largest flow of one run / mean throughput of a flow of it.
    largest_over_mean: float | None
    timeouts: float
    fast_retransmits: float
    retransmissions: float
    #: None where no flow is TCP.
    mean_cwnd_packets: float | None
    #: None where no flow is TCP.
    srtt_s: float | None

    @property
    def aggregate_goodput_bps(self) -> float | None:
        """Goodput of all of them together; None in a replay."""
        return None if self.goodput_bps is None else self.goodput_bps * self.flows


def frequencies(rows: Iterable[Row], value: str = "goodput_bps", by: By = "group") -> list[Frequency]:
    """The relative cumulative frequency of a column, by discipline and class. Rows without a value are left out."""
    gathered: dict[tuple[str, Any], list[float]] = {}
    for row in rows:
        if row[value] is not None:
            gathered.setdefault((row["discipline"], row[by]), []).append(row[value])
    return [Frequency(discipline, name, tuple(sorted(values))) for (discipline, name), values in gathered.items()]


def classes(rows: Iterable[Row], by: By = "group") -> list[FlowClass]:
    """Means by discipline and class: by group, by transport (the TCP version), round-trip time or priority."""
    gathered: dict[tuple[str, Any], dict[int, list[Row]]] = {}
    for row in rows:
        gathered.setdefault((row["discipline"], row[by]), {}).setdefault(row["seed"], []).append(row)
    return [_flow_class(discipline, name, list(runs.values())) for (discipline, name), runs in gathered.items()]


def _flow_class(discipline: str, name: Any, runs: Sequence[Sequence[Row]]) -> FlowClass:
    flows = [row for run in runs for row in run]
    arrivals = sum(row["arrivals"] for row in flows)
    throughputs = [[float(row["throughput_bps"]) for row in run] for run in runs]

    def mean(column: str) -> float | None:
        return mean_of_known([row[column] for row in flows])

    return FlowClass(
        discipline=discipline,
        name=name,
        flows=len(flows) / len(runs),
        starved_flows=sum(map(_is_starved, flows)) / len(runs),
        throughput_bps=mean("throughput_bps") or 0.0,
        goodput_bps=mean("goodput_bps"),
        share=sum(row["share"] for row in flows) / len(runs),
        drop_fraction=sum(row["dropped"] for row in flows) / arrivals if arrivals else 0.0,
        jain_index=mean_of_known([jain_index(run) for run in throughputs]),
        largest_over_mean=mean_of_known([max(run) * len(run) / sum(run) if sum(run) else None for run in throughputs]),
        timeouts=mean("timeouts") or 0.0,
        fast_retransmits=mean("fast_retransmits") or 0.0,
        retransmissions=mean("retransmissions") or 0.0,
        mean_cwnd_packets=mean("mean_cwnd_packets"),
        srtt_s=mean("srtt_s"),
    )


def jain_index(values: Sequence[float]) -> float | None:
    """Jain's index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything.

    None when all are 0, where it is 0/0; the simulator's ``jain_index`` is null there, too.
    Source: R. Jain, D. Chiu, W. Hawe, DEC Research Report TR-301, 1984.
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else None


def _is_starved(row: Row) -> bool:
    delivered = row["throughput_bps"] if row["goodput_bps"] is None else row["goodput_bps"]
    return bool(delivered <= 0)


def back_offs(windows: NDArray[Any]) -> NDArray[Any]:
    """Whether each flow (rows) backs off in each interval of the grid on which its window is recorded (columns)."""
    found: NDArray[Any] = windows[:, 1:] < BACKED_OFF * windows[:, :-1]
    return found


def loss_synchronisation(windows: NDArray[Any]) -> float | None:
    """How much likelier a flow backs off in an interval of the grid when another one does.

    Pairs of flows that back off in the same interval, over those that there would be if all did so independently, each
    at its own mean rate: 1 without synchronisation. None when no two flows ever back off.
    """
    events = back_offs(windows)
    intervals, at_once, each = events.shape[1], events.sum(axis=0), events.sum(axis=1)
    # In whole numbers, so that the order of the flows does not matter.
    pairs, expected = int((at_once * (at_once - 1)).sum()), int(each.sum()) ** 2 - int((each**2).sum())
    return intervals * pairs / expected if expected else None
