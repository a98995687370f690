"""What is measured in one run: functions of a run of the result document, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, log
from statistics import linear_regression
from typing import Any

from fairdrop.measures import jain_index
from fairdrop.reproduce.measure import dynamics, operations
from fairdrop.reproduce.measure.errors import MeasureError as MeasureError

Run = Mapping[str, Any]
Curve = list[tuple[float, float]]
MATCHES = ("match_arriving", "match_queued")
RED = ("red_early", "red_forced")


def _named(rows: list[Mapping[str, Any]], name: str, what: str) -> Mapping[str, Any]:
    for row in rows:
        if row["name"] == name:
            return row
    raise MeasureError(f"{what} {name!r} is not in the run; valid: {', '.join(row['name'] for row in rows)}")


def group(run: Run, name: str) -> Mapping[str, Any]:
    return _named(run["groups"], name, "group")


def queue(run: Run, link: str | None = None) -> Mapping[str, Any]:
    return _named(run["queues"], link or run["link"], "queue")


def _groups(run: Run, name: str | list[str]) -> list[Mapping[str, Any]]:
    names = [name] if isinstance(name, str) else name
    return [group(run, one) for one in names]


def _total(run: Run, groups: str | list[str], field: str) -> float:
    return sum(float(one[field]) for one in _groups(run, groups))


def of_data(run: Run, headers: Mapping[str, float]) -> Run:
    """The run with throughputs of data; ``headers`` has the part of each group's bytes that is headers.

    The papers count data: ns-2's packets of 1000 bytes take 1040 on the wire once its agents have headers, and carry
    1000. Shares of the link are of what is on the wire.
    """
    if not any(headers.values()):
        return run
    parts = {one["name"]: 1.0 - headers.get(one["name"], 0.0) for one in run["groups"]}
    groups = [
        {**one, "wire_bps": one["throughput_bps"], "throughput_bps": one["throughput_bps"] * part, "data_part": part}
        for one in run["groups"]
        for part in (parts[one["name"]],)
    ]
    flows = [{**one, "throughput_bps": one["throughput_bps"] * parts[one["group"]]} for one in run["flows"]]
    return {**run, "groups": groups, "flows": flows}


def _data_part(run: Run, name: str) -> float:
    """The part of a group's bytes that is data."""
    return float(group(run, name).get("data_part", 1.0))


def throughput(run: Run, group: str | list[str]) -> float:
    """Bits of data per second that finished crossing the bottleneck."""
    return _total(run, group, "throughput_bps")


def throughput_per_flow(run: Run, group: str | list[str]) -> float:
    return throughput(run, group) / _total(run, group, "flows")


def goodput(run: Run, group: str | list[str]) -> float:
    return _total(run, group, "goodput_bps")


def share(run: Run, group: str | list[str]) -> float:
    """Part of the link, headers included."""
    return sum(float(one.get("wire_bps", one["throughput_bps"])) for one in _groups(run, group)) / float(
        run["link_rate_bps"]
    )


def drop_fraction(run: Run, group: str) -> float:
    return float(_named(run["groups"], group, "group")["drop_fraction"])


def cause_share(run: Run, group: str, causes: list[str]) -> float:
    """Part of a group's dropped packets that these causes dropped."""
    drops = _named(run["groups"], group, "group")["drops"]
    total = sum(drops.values())
    return sum(drops[cause] for cause in causes) / total if total else 0.0


def cause_fraction(run: Run, group: str, causes: list[str]) -> float:
    """Packets that these causes dropped, of those that arrived."""
    found = _named(run["groups"], group, "group")
    return float(sum(found["drops"][cause] for cause in causes) / found["arrivals"]) if found["arrivals"] else 0.0


def jain(
    run: Run, group: str | list[str] | None = None, field: str = "throughput_bps", nothing: float | None = None
) -> float | None:
    """Jain's index over the flows of groups together, by default of all.

    Where none of them has anything there is no index: the measure is then ``nothing``, by default none.
    """
    wanted = [group] if isinstance(group, str) else group
    found = jain_index([float(flow[field]) for flow in run["flows"] if wanted is None or flow["group"] in wanted])
    return nothing if found is None else found


def fair_part(run: Run, groups: list[str]) -> float:
    """What groups of greedy flows get of their max-min fair share; all groups without an end of transfers are."""
    greedy = [one for one in run["groups"] if one.get("transfers") is None]
    rest = sum(float(one["throughput_bps"]) for one in run["groups"] if one.get("transfers") is not None)
    flows = sum(float(one["flows"]) for one in greedy)
    fair = (float(run["link_rate_bps"]) - rest) * sum(float(one["flows"]) for one in _groups(run, groups)) / flows
    return _total(run, groups, "throughput_bps") / fair if fair > 0 else 0.0


def wait_quantile(run: Run, part: str, link: str | None = None) -> float:
    """A quantile of the time that packets wait."""
    return float(queue(run, link)["sojourn_s"][part])


def transfer_time(run: Run, group: str, up_to_bytes: int) -> float | None:
    """Mean completion time of the transfers of one class of size; None when none was completed."""
    for row in _named(run["groups"], group, "group")["transfers"]["sizes"]:
        if row["up_to_bytes"] == up_to_bytes and row["completed"]:
            return float(row["fct_s"]["mean"])
    return None


def largest_over_fair(run: Run) -> float:
    return float(run["largest_over_fair_share"])


def utilisation(run: Run, link: str | None = None) -> float:
    return float(queue(run, link)["utilisation"])


def mean_queue(run: Run, link: str | None = None) -> float:
    return float(queue(run, link)["mean_packets"])


def queue_of(run: Run, group: str, link: str | None = None) -> float:
    """Mean number of packets of a group in the queue."""
    return float(queue(run, link)["mean_packets_by_group"][group])


def queue_share(run: Run, group: str, link: str | None = None) -> float:
    found = queue(run, link)
    return float(found["mean_packets_by_group"][group] / found["mean_packets"]) if found["mean_packets"] else 0.0


def mean_wait(run: Run, link: str | None = None) -> float:
    return float(queue(run, link)["sojourn_s"]["mean"])


def match_probability(run: Run, group: str) -> float:
    """Arrivals of a group that were matched, of those that arrived."""
    return cause_fraction(run, group, ["match_arriving"])


def starved(run: Run, group: str) -> float:
    """Flows of a group with no goodput at all."""
    return float(sum(flow["goodput_bps"] == 0 for flow in run["flows"] if flow["group"] == group))


def smallest_flow(run: Run, group: str, field: str = "throughput_bps") -> float:
    return min(float(flow[field]) for flow in run["flows"] if flow["group"] == group)


def largest_flow(run: Run, group: str | None = None, field: str = "throughput_bps") -> float:
    return max(float(flow[field]) for flow in run["flows"] if group is None or flow["group"] == group)


def largest_tcp_drop(run: Run) -> float:
    """Largest fraction dropped of any flow that reacts."""
    return max(float(flow["drop_fraction"]) for flow in run["flows"] if flow["transport"] != "cbr")


def link_throughput(run: Run, link: str, group: str) -> float:
    """Rate at which a whole group crosses a link."""
    pairs = queue(run, link)["throughput_bps_by_flow"]
    return float(sum(rate for name, rate in pairs if str(name).partition("[")[0] == group)) * _data_part(run, group)


def link_loss(run: Run, before: str, after: str, group: str) -> float:
    """Part of what a group brings over one link that the next does not carry."""
    brought = link_throughput(run, before, group)
    return 1.0 - link_throughput(run, after, group) / brought if brought else 0.0


def source_loss(run: Run, link: str, group: str) -> float:
    """Part of what a group offers that a link does not carry."""
    offered = float(_named(run["groups"], group, "group")["offered_bps"]) * _data_part(run, group)
    return 1.0 - link_throughput(run, link, group) / offered if offered else 0.0


def flows(run: Run, group: str | None = None, field: str = "throughput_bps") -> Curve:
    """Each flow, numbered from 1 in the order of the scenario."""
    numbered = enumerate(run["flows"], start=1)
    return [(float(n), float(flow[field])) for n, flow in numbered if group is None or flow["group"] == group]


def ranked_goodput(run: Run, group: str) -> Curve:
    """Relative cumulative frequency: part of the flows (0 to 1), by rank, against goodput."""
    rates = sorted(float(flow["goodput_bps"]) for flow in run["flows"] if flow["group"] == group)
    return [((index + 1) / len(rates), rate) for index, rate in enumerate(rates)]


def link_flows(run: Run, link: str) -> Curve:
    """Rate of each flow on a link, numbered from 0 as the flows of the scenario are."""
    rates = {str(name): float(rate) for name, rate in queue(run, link)["throughput_bps_by_flow"]}
    return [
        (float(index), rates[flow["name"]] * _data_part(run, flow["group"]))
        for index, flow in enumerate(run["flows"])
        if flow["name"] in rates
    ]


def positions(run: Run, group: str, link: str | None = None) -> Curve:
    """Part of the snapshots that have a position in which a group is there; up to the mean length of the queue."""
    found = queue(run, link)
    occupied, there = found["positions"]["occupied"], found["positions"]["by_group"][group]
    limit = int(found["mean_packets"])
    return [(float(y), there[y] / occupied[y]) for y in range(min(limit, len(occupied))) if occupied[y]]


def head_share(run: Run, group: str, link: str | None = None, width: int = 5) -> float:
    """The same at the mean length of the queue, which is where the paper reads what is at the head.

    ``width`` places around it are taken together. Where positions are counted from the head it is the first.
    """
    found = queue(run, link)
    occupied, there = found["positions"]["occupied"], found["positions"]["by_group"][group]
    if _from_head(found):
        return float(there[0] / occupied[0])
    middle = int(found["mean_packets"])
    low, high = max(0, middle - width // 2), middle + width // 2 + 1
    return float(sum(there[low:high]) / sum(occupied[low:high]))


def relative_profile(run: Run, group: str, link: str | None = None, knots: int = 11) -> list[float]:
    """Part of the packets that are a group's over the relative position, 0 (tail) to 1 (head), at evenly spaced knots.

    Snapshots count positions from the tail, of queues of many lengths. ``occupied[y]`` is the number of them that were
    longer than y, which gives the number with each length L. With a profile g of the relative position, position y of L
    packets is at (y + 1/2)/L, and the packets of the group at y are the sum of g there over the lengths. Straight lines
    between the knots are fitted to that by least squares with 0 <= g <= 1.
    """
    from numpy import arange, asarray, clip, sqrt, zeros
    from scipy.optimize import lsq_linear

    found = queue(run, link)["positions"]
    longer, there = asarray(found["occupied"], float), asarray(found["by_group"][group], float)
    lengths = longer - [*longer[1:], 0.0]  # snapshots of length y + 1
    matrix = zeros((len(longer), knots))
    for length in range(1, len(longer) + 1):
        if lengths[length - 1] <= 0:
            continue
        place = clip((arange(length) + 0.5) / length * (knots - 1), 0, knots - 1 - 1e-9)
        left = place.astype(int)
        for offset, part in ((0, 1 - (place - left)), (1, place - left)):
            matrix[arange(length), left + offset] += lengths[length - 1] * part
    weight = 1 / sqrt(longer.clip(min=1.0))
    fit = lsq_linear(matrix * weight[:, None], there * weight, bounds=(0.0, 1.0))
    return [float(value) for value in fit.x]


def relative_head(run: Run, group: str, link: str | None = None) -> float:
    """Part of the packets at the head of the queue that are a group's, whatever the length of the queue.

    Where positions are counted from the head this is what is at the first of them.
    """
    if _from_head(queue(run, link)):
        return head_share(run, group, link)
    return relative_profile(run, group, link)[-1]


def internal(run: Run, value: str, link: str | None = None) -> float:
    """Mean over time of a value that the discipline decides by, such as ``avg`` or ``p0``."""
    return float(_named(queue(run, link)["internals"], value, "value")["mean"])


def tail_share(run: Run, group: str, link: str | None = None) -> float:
    """The same near the tail: mean over the tenth of the positions that is nearest to it."""
    curve = positions(run, group, link)
    if _from_head(queue(run, link)):
        curve.reverse()
    first = curve[: max(1, len(curve) // 10)]
    return sum(value for _, value in first) / len(first)


def _from_head(found: Mapping[str, Any]) -> bool:
    """Whether a queue's positions are counted from its head."""
    return bool(found["positions"].get("from", "tail") == "head")


def queue_trace(run: Run, link: str | None = None) -> Curve:
    """Queue length over time."""
    series = queue(run, link)["series"]
    return [(float(t), float(packets)) for t, packets in zip(series["t_s"], series["packets"], strict=True)]


def time_below(run: Run, packets: float, link: str | None = None) -> float:
    """Part of the time with fewer packets in the queue."""
    return float(sum(part for length, part in queue(run, link)["length_histogram"] if length < packets))


def queue_quantile(run: Run, part: float, link: str | None = None) -> float:
    """Length that the queue stays at or below for this part of the time."""
    total = 0.0
    for length, fraction in queue(run, link)["length_histogram"]:
        total += fraction
        if total >= part:
            return float(length)
    return float(queue(run, link)["max_packets"])


def queue_drops(run: Run, causes: list[str], link: str | None = None) -> float:
    """Packets that these causes dropped at a queue."""
    drops = queue(run, link)["drops"]
    return float(sum(drops[cause] for cause in causes))


def candidates_per_arrival(run: Run, link: str | None = None) -> float:
    found = queue(run, link)
    return float(found["candidates_drawn"] / found["arrivals"])


def ward_expected_draws(run: Run, buffer: int, link: str | None = None) -> float:
    """Candidates per arrival that WARD's weights ask for, given how long the queue is how often."""
    expected = 0.0
    for length, part in queue(run, link)["length_histogram"]:
        place = min(length + 1, buffer)
        expected += part * floor(10 * place / buffer) / 10 * min(2, length)
    return expected


def starved_flows(run: Run) -> float:
    """Flows of all groups with no goodput at all."""
    return float(sum(flow["goodput_bps"] == 0 for flow in run["flows"]))


def fairness_of_groups(run: Run, groups: list[str]) -> float | None:
    """Smallest of the groups' own Jain indices, of those that have one."""
    return min((found for one in groups if (found := jain(run, one, "goodput_bps")) is not None), default=None)


def drop_ratio(run: Run, group: str, to: str) -> float | None:
    """Part dropped of a group over that of another; None when nothing is dropped of the other."""
    other = drop_fraction(run, to)
    return drop_fraction(run, group) / other if other else None


def timeouts_per_flow(run: Run, group: str) -> float:
    """Timeouts of a flow in 100 s."""
    seconds = float(run["measured_to_s"]) - float(run["measured_from_s"])
    return 100.0 * _total(run, group, "timeouts") / _total(run, group, "flows") / seconds


def rate_exponent(run: Run, groups: list[str], paid: list[float]) -> float | None:
    """The power of what groups pay that throughput per flow goes with: slope of the logarithms, least squares.

    None when a group has no throughput.
    """
    rates = [throughput_per_flow(run, one) for one in groups]
    return linear_regression([log(one) for one in paid], [log(rate) for rate in rates]).slope if all(rates) else None


MEASURES: dict[str, Callable[..., float | Curve | None]] = {
    function.__name__: function
    for function in (
        throughput, throughput_per_flow, goodput, share, drop_fraction, cause_share, cause_fraction, jain,
        largest_over_fair, utilisation, mean_queue, queue_of, queue_share, mean_wait, match_probability, starved,
        smallest_flow, largest_flow, largest_tcp_drop, link_throughput, link_loss, source_loss, flows,
        ranked_goodput, link_flows, positions, head_share, tail_share, queue_trace, time_below, queue_quantile,
        fair_part, wait_quantile, transfer_time,
        queue_drops, candidates_per_arrival, ward_expected_draws, starved_flows, fairness_of_groups,
        relative_head, internal,
        dynamics.window_correlation, dynamics.loss_synchronisation, dynamics.largest_back_off, dynamics.switchings,
        dynamics.average_below, dynamics.internal_variation, dynamics.settling_time,
        operations.draws, operations.most_draws, operations.compared_part, operations.removals, operations.traversal,
        operations.state_bits, drop_ratio, timeouts_per_flow, rate_exponent,
    )
}  # fmt: skip
# Curves, and the name of what they run over.
CURVES = {
    "flows": "flow",
    "ranked_goodput": "part",
    "link_flows": "flow",
    "positions": "position",
    "queue_trace": "time",
}


def served(found: Run, flow: int) -> float:
    """Served per second (of the queue host), flows counted from 1."""
    return float(found["served"][flow - 1] / found["duration_s"])


def served_share(found: Run, flow: int) -> float:
    return float(found["served"][flow - 1] / sum(found["served"]))


def admitted_share(found: Run, flow: int) -> float:
    """Share of the arrivals that were not dropped."""
    kept = [a - d for a, d in zip(found["arrived"], found["dropped"], strict=True)]
    return float(kept[flow - 1] / sum(kept))


def admitted_rate(found: Run) -> float:
    kept = sum(found["arrived"]) - sum(found["dropped"])
    return float(kept / found["duration_s"])


def empty(found: Run) -> float:
    return float(found["empty_fraction"])


def dropped(found: Run, flow: int) -> float:
    return float(found["dropped"][flow - 1] / found["arrived"][flow - 1])


def growth(found: Run) -> float:
    """Packets that are left in the queue, per second: 0 in the long run where the queue is stable."""
    return float(sum(found["left"]) / found["duration_s"])


HOST_MEASURES: dict[str, Callable[..., float]] = {
    function.__name__: function
    for function in (served, served_share, admitted_share, admitted_rate, empty, dropped, growth)
}
