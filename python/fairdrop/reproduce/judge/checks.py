"""Checks that no declarative predicate expresses: functions of the data, with what was found in words.

Those that look at nothing random answer yes or no; the others give the comparisons that they consist of
(`judge.parts`), or what these come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import floor, inf
from typing import Any

import numpy as np

from fairdrop import models
from fairdrop.host import queue_host
from fairdrop.reproduce.define.papers import scenario_text
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, UNCLEAR, Part, worst_of
from fairdrop.reproduce.measure.data import Data, Row, Sample, paired
from fairdrop.scenario import Scenario
from fairdrop.sensitivity import Correlation, Sensitivity, rank_sensitivity
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import count

Check = Callable[..., tuple[bool | str | list[Part], str]]


def dumbbell(
    data: Data, base: str, rate_bps: int, access_bps: int, delay_s: float, round_trip_s: float, groups: dict[str, int]
) -> tuple[bool, str]:
    """The scenario is the dumbbell of the paper: rates, delays, round trip, and who is there."""
    del data
    found = _resolved(base)
    link = found["links"][0]
    trips = {round(2 * (link["delay_s"] + 2 * group["access_delay_s"]), 9) for group in found["groups"]}
    there = {group["name"]: group["count"] for group in found["groups"]}
    accesses = {group["access_rate_bps"] for group in found["groups"]}
    right = (
        link["rate_bps"] == rate_bps
        and link["delay_s"] == delay_s
        and accesses == {access_bps}
        and trips == {round_trip_s}
        and there == groups
        and sum(one["queue"] == "study" for one in found["links"]) == 1
    )
    listed = ", ".join(f"{count} {name}" for name, count in there.items())
    trip = ", ".join(f"{1000 * value:g} ms" for value in sorted(trips))
    return right, f"{link['rate_bps'] / 1e6:g} Mb/s, round trip {trip}, {listed}"


def chain(data: Data, base: str, rates_bps: Sequence[int], studied: int, routes: dict[str, str]) -> tuple[bool, str]:
    """The scenario is a chain of routers with these rates; each group leaves where the table says."""
    del data
    found = _resolved(base)
    forward = [link for link in found["links"] if link["from"] < link["to"] and link["from"].startswith("R")]
    got = [link["rate_bps"] for link in forward]
    ends = {group["name"]: group["forward"][-1] for group in found["groups"]}
    right = got == list(rates_bps) and ends == routes and sum(link["queue"] != "plain" for link in forward) == studied
    last = ", ".join(f"{group} {link}" for group, link in ends.items())
    return right, f"{', '.join(f'{rate / 1e6:g}' for rate in got)} Mb/s; last links: {last}"


def _resolved(base: str) -> dict[str, Any]:
    home, _, file = base.rpartition("/")
    return Scenario(scenario_text(home, file), f"{base}.toml").to_dict()


def ward_weights(data: Data) -> tuple[bool, str]:
    """The example of the paper (B = 100) by its rule floor(10 P / B) / 10, position by position."""
    del data
    printed = {**{p: (p // 10) / 10 for p in range(1, 100)}, 100: 1.0}
    computed = {p: floor(10 * p / 100) / 10 for p in range(1, 101)}
    return printed == computed, f"{sum(printed[p] == computed[p] for p in printed)} of 100 positions"


def calibration(
    data: Data,
    measure: str,
    axis: str,
    published: Sequence[Sequence[float]],
    frozen: Mapping[str, Any],
    absolute: float,
) -> tuple[list[Part], str]:
    """The frozen cell of a grid is as near to published points (root mean square) as every other, to a tolerance.

    The distance is one of means, so its error is that of the jackknife (R. G. Miller, "The jackknife: a review",
    Biometrika 61(1), 1974).
    """
    distances = grid_distances(data, measure, axis, published)
    ranked = sorted(distances, key=lambda cell: distances[cell])
    chosen = tuple(frozen.items())
    pseudo = _pseudo_distances(data, measure, axis, published)
    others = [one for cell, one in pseudo.items() if cell != chosen]
    parts = [Part(_difference(pseudo[chosen], one), high=absolute) for one in others]
    listed = (
        f"nearest of {len(ranked)}: {', '.join(str(value) for _, value in ranked[0])} at "
        f"{digits(distances[ranked[0]])}; frozen: {digits(distances[chosen])}, place {ranked.index(chosen) + 1}; "
        f"farthest: {digits(distances[ranked[-1]])}"
    )
    return parts, listed


def _difference(one: Sample, other: Sample) -> Sample:
    return Sample(tuple(a - b for a, b in zip(one.values, other.values, strict=True)), one.error, one.exact)


def _pseudo_distances(
    data: Data, measure: str, axis: str, published: Iterable[Sequence[float]]
) -> dict[tuple[tuple[str, Any], ...], Sample]:
    """Jackknife pseudo-values of `grid_distances`, one per seed."""
    wanted = {float(x): float(y) for x, y in published}
    cells: dict[tuple[tuple[str, Any], ...], list[tuple[Row, float]]] = {}
    for row in data.select(measure):
        if row.at[axis] in wanted:
            cell = tuple((name, value) for name, value in row.at.items() if name != axis)
            cells.setdefault(cell, []).append((row, wanted[row.at[axis]]))
    found = {}
    for cell, pairs in cells.items():
        values = np.array([row.values for row, _ in pairs])
        aims, n = np.array([aim for _, aim in pairs]), values.shape[1]
        whole = float(np.sqrt(np.mean((values.mean(axis=1) - aims) ** 2)))
        if n == 1:
            found[cell] = Sample((whole,), pairs[0][0].error)
            continue
        without = (values.sum(axis=1, keepdims=True) - values) / (n - 1)
        parts = np.sqrt(np.mean((without - aims[:, None]) ** 2, axis=0))
        found[cell] = Sample(tuple(map(float, n * whole - (n - 1) * parts)), pairs[0][0].error)
    return found


def grid_distances(
    data: Data, measure: str, axis: str, published: Iterable[Sequence[float]]
) -> dict[tuple[tuple[str, Any], ...], float]:
    """Root mean square distance from published points along an axis, for every combination of the other axes."""
    wanted = {float(x): float(y) for x, y in published}
    squares: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for row in data.select(measure):
        cell = tuple((name, value) for name, value in row.at.items() if name != axis)
        if row.at[axis] in wanted:
            squares.setdefault(cell, []).append((row.estimate.mean - wanted[row.at[axis]]) ** 2)
    return {cell: (sum(found) / len(found)) ** 0.5 for cell, found in squares.items()}


def grid_spread(data: Data, measure: str, absolute: float, axis: str) -> tuple[list[Part], str]:
    """At every value of an axis the cells of a grid lie within a range."""
    found, parts = {}, []
    for value in data.axis(axis):
        rows = data.select(measure, None, {axis: value})
        means = [row.estimate.mean for row in rows]
        found[value], middle = max(means) - min(means), (max(means) + min(means)) / 2
        parts += [Part(row.sample, middle - absolute / 2, middle + absolute / 2) for row in rows]
    where = max(found, key=lambda value: found[value])
    return parts, f"widest {digits(found[where])} at {axis} {where}"


def spans(data: Data, measure: str, schemes: Sequence[str], values: Sequence[float]) -> tuple[list[Part], str]:
    """The means of two schemes are below and above all of some values."""
    below, above = (data.select(measure, scheme)[0] for scheme in schemes)
    parts = [Part(below.sample, high=min(values)), Part(above.sample, low=max(values))]
    return parts, f"{digits(below.estimate.mean)} to {digits(above.estimate.mean)}"


def grid_spread_at_least(
    data: Data, measure: str, absolute: float, scheme: Sequence[str] | None = None
) -> tuple[list[Part], str]:
    """Two cells of a grid differ by a range at least; which two is read from the data, so all pairs share the error."""
    rows = sorted(data.select(measure, scheme), key=lambda row: row.estimate.mean)
    gap = paired(rows[-1], rows[0], lambda a, b: a - b)
    shared = replace(gap, error=gap.error / max(1, len(rows) * (len(rows) - 1) // 2))
    return [Part(shared, low=absolute)], f"{digits(rows[0].estimate.mean)} to {digits(rows[-1].estimate.mean)}"


def queue_is_half_but_head_is_not(data: Data, rate: float, share: float, head: float) -> tuple[list[Part], str]:
    """Footnote 10: UDP holds about half of the queue, its part of what leaves is much less."""
    held, leaves = (data.select(name, None, {"rate": rate})[0] for name in ("udp_queue_share", "udp_share"))
    parts = [Part(held.sample, low=share), Part(leaves.sample, high=head)]
    return parts, f"{digits(held.estimate.mean)} of the queue, {digits(leaves.estimate.mean)} of the departures"


def diminishing(data: Data, measure: str, along: str) -> tuple[list[Part], str]:
    """Every step along an axis changes the measure by less than the one before."""
    rows = sorted(data.select(measure), key=lambda row: float(row.at[along]))
    pairs = [(b, a) if a.estimate.mean >= b.estimate.mean else (a, b) for b, a in pairwise(rows)]
    steps = [paired(larger, smaller, lambda a, b: a - b) for smaller, larger in pairs]
    parts = [Part(_difference(one, other), 0.0, strict=True) for one, other in pairwise(steps)]
    return parts, f"steps {', '.join(digits(step.interval().mean) for step in steps)}"


def falls_by(
    data: Data, measure: str, scheme: str, axis: str, values: Sequence[Any], steps: Sequence[float], absolute: float
) -> tuple[list[Part], str]:
    """From each value of the axis to the next the measure falls by what was published."""
    rows = [data.select(measure, scheme, {axis: value})[0] for value in values]
    falls = [paired(before, after, lambda a, b: a - b) for before, after in pairwise(rows)]
    parts = [Part(fall, step - absolute, step + absolute) for fall, step in zip(falls, steps, strict=True)]
    return parts, ", ".join(f"{fall.interval().mean:.4f}" for fall in falls)


def symmetric_variants(data: Data) -> tuple[bool, str]:
    """Queues that draw and serve at the same place: p_i = lambda_i / (mu + 2 lambda_i), whatever the place."""
    del data
    rates, worst = (0.6, 1.8), 0.0
    for place in ("uniform", "tail"):
        places = (f"queue.choke_service.draw={place}", f"queue.choke_service.serve={place}")
        found = queue_host(rates, settings=[*_SYMMETRIC, *places])
        goodputs = (count / found["duration_s"] for count in found["served"])
        worst = max(worst, *(abs(got - rate / (1 + 2 * rate)) for got, rate in zip(goodputs, rates, strict=True)))
    return worst < 0.004, f"largest difference from lambda / (mu + 2 lambda) {worst:.4f}"


# The model form: an endless queue, and nothing but matches.
_SYMMETRIC = (
    "queue.discipline=choke_service",
    "queue.limit=65536",
    "queue.red.min_th=0",
    "queue.red.max_th=inf",
    "queue.red.max_p=0",
)


def tends_to(
    data: Data, measure: str, along: str, limit: float, absolute: float, scheme: str | None = None
) -> tuple[bool, str]:
    """The last point along an axis is near a limit, and the last third of the way gets nearer to it at every step."""
    rows = sorted(data.select(measure, scheme), key=lambda row: float(row.at[along]))
    apart = [abs(row.estimate.mean - limit) for row in rows]
    last = apart[-max(2, len(apart) // 3) :]
    nearer = all(after <= before for before, after in pairwise(last))
    return nearer and apart[-1] <= absolute, f"{digits(rows[-1].estimate.mean)} at {rows[-1].at[along]:g}"


def largest_is(
    data: Data, measure: str, value: float, absolute: float, scheme: str | None = None
) -> tuple[list[Part], str]:
    """The largest value of a measure, over all points of a scheme."""
    rows = data.select(measure, scheme)
    top = max(rows, key=lambda row: row.estimate.mean)
    parts = [Part(top.sample, value - absolute, value + absolute)]
    if not top.exact:
        parts += [Part(row.sample, high=value + absolute, point=row.point) for row in rows if row is not top]
    where = f" ({top.point})" if top.point else ""
    return parts, f"{top.estimate.mean:.5f}{where}"


def at_least_inverse(data: Data, measure: str, axis: str, slack: float) -> tuple[list[Part], str]:
    """A measure is at least one over the value of an axis, up to a relative slack."""
    rows = data.select(measure)
    least = min(rows, key=lambda row: row.estimate.mean * float(row.at[axis]))
    parts = [Part(row.sample, low=(1 - slack) / float(row.at[axis]), point=row.point) for row in rows]
    return parts, f"{digits(least.estimate.mean * float(least.at[axis]))} / N at N = {least.at[axis]}"


def velocity_linear_when_equal(data: Data) -> tuple[bool, str]:
    """v(y) is linear for flows of one rate, and only for those."""
    del data
    bends = {}
    for name, fast in (("equal", 8.0), ("unequal", 80.0)):
        link = models.ChokeLink(125.0, models.Red(20.0, 520.0, 0.5))
        found = models.solve(link, [models.ConstantRate(fast), models.ConstantRate(8.0, 32)])
        v = models.profile_ode(found, points=101).v
        bends[name] = float(abs(np.diff(v, 2)).max() / (v[0] - v[-1]))
    listed = ", ".join(f"{name} rates {bend:.1e}" for name, bend in bends.items())
    return bends["equal"] < 1e-6 < bends["unequal"], f"bend {listed}"


def spread_over(data: Data, measure: str, scheme: str | Sequence[str], factor: float) -> tuple[list[Part], str]:
    """Under each scheme the largest value of a measure is more than a factor above the smallest."""
    parts, found = [], {}
    for name in [scheme] if isinstance(scheme, str) else scheme:
        rows = sorted(data.select(measure, name), key=lambda row: row.estimate.mean)
        pairs = max(1, len(rows) * (len(rows) - 1) // 2)
        gap = paired(rows[-1], rows[0], lambda a, b: a - factor * b)
        parts.append(Part(replace(gap, error=gap.error / pairs), 0.0, strict=True, point=name))
        low = rows[0].estimate.mean
        found[name] = rows[-1].estimate.mean / low if low else float("inf")
    return parts, ", ".join(f"{name} {digits(value)}" for name, value in found.items())


def minimum_flows_side(
    data: Data,
    measure: str,
    delay: float,
    min_th: float,
    from_factor: float = 0.0,
    to_factor: float = inf,
    low: float = -inf,
    high: float = inf,
) -> tuple[list[Part], str]:
    """A measure is in a range wherever the flows are within two multiples of the estimate of section VI (003).

    Points have the axes ``rate`` (Mb/s of 1000-byte packets) and ``flows``. ``from_factor`` and ``to_factor`` bound the
    flows in units of the estimate, both included.
    """

    def asked(row: Row) -> bool:
        needed = models.minimum_flows_estimate(125.0 * row.at["rate"], delay, min_th)
        return bool(from_factor * needed <= row.at["flows"] <= to_factor * needed)

    rows = [row for row in data.select(measure) if asked(row)]
    if not rows:
        raise ValueError(f"no point of {measure} has that number of flows")
    means = [row.estimate.mean for row in rows]
    parts = [Part(row.sample, low, high, point=row.point) for row in rows]
    return parts, f"{digits(min(means))} to {digits(max(means))} at {count(len(rows), 'point')}"


def one_in(
    data: Data, measure: str, scheme: str, axis: str, values: Sequence[float], relative: float, scale: float = 1.0
) -> tuple[list[Part], str]:
    """A measure is ``scale`` over the value of an axis, wherever that is one of ``values``."""
    rows = data.select(measure, scheme, {axis: list(values)})
    ratios = [row.estimate.mean * row.at[axis] / scale for row in rows]
    low, high = scale * (1.0 - relative), scale * (1.0 + relative)
    parts = [Part(row.sample, low / row.at[axis], high / row.at[axis], point=row.point) for row in rows]
    return parts, f"{digits(min(ratios))} to {digits(max(ratios))} times one over {axis}"


def matters(
    data: Data,
    measure: str,
    scheme: str,
    parameters: Sequence[str],
    least: float = 0.0,
    most: float = 1.0,
) -> tuple[str, str]:
    """Over the points of a design, partial rank correlations are as strong as ``least``, or no stronger than ``most``.

    With ``least`` the whole 95 % interval must be beyond it, on one side of 0; with ``most`` the whole interval within.
    An interval that reaches across decides nothing.
    """
    found = sensitivity_of(data, measure, scheme)
    chosen = {name: found.correlations[name] for name in parameters}
    states = [_as_strong(one, least, most) for one in chosen.values()]
    listed = ", ".join(
        f"{name} {digits(one.value)} [{digits(one.low)}, {digits(one.high)}]" for name, one in chosen.items()
    )
    return worst_of(states), f"{listed}; {100 * found.explained:.0f} % of the variance of ranks explained"


def _as_strong(one: Correlation, least: float, most: float) -> str:
    if least <= one.least and one.most <= most:
        return HOLDS
    return FAILS if one.most < least or one.least > most else UNCLEAR


def sensitivity_of(data: Data, measure: str, scheme: str | None = None) -> Sensitivity:
    """Which parameters of a design a measure goes with, means over seeds."""
    rows = data.select(measure, scheme)
    names = list(rows[0].at) if rows else []
    parameters = {name: [float(row.at[name]) for row in rows] for name in names}
    return rank_sensitivity(parameters, [row.estimate.mean for row in rows])


#: Checks of how something is set up or computed: no scheme that is simulated decides them.
STRUCTURAL = ("dumbbell", "chain", "ward_weights", "symmetric_variants", "velocity_linear_when_equal")
#: Checks that compare numbers with printed ones: what fails there is a number that is off.
NUMERIC = ("falls_by", "largest_is")


CHECKS: dict[str, Check] = {
    function.__name__: function
    for function in (
        dumbbell,
        chain,
        ward_weights,
        calibration,
        queue_is_half_but_head_is_not,
        diminishing,
        falls_by,
        symmetric_variants,
        tends_to,
        largest_is,
        at_least_inverse,
        velocity_linear_when_equal,
        spread_over,
        grid_spread,
        grid_spread_at_least,
        spans,
        minimum_flows_side,
        one_in,
        matters,
    )
}
