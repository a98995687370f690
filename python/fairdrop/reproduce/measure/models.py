"""Rows that models give, by name: functions of the definition and of the arguments it writes beside the name.

Values are in the units of the definition's measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fairdrop import models
from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.measure.data import Row

Rows = Iterator[Row]
# Understanding CHOKe: 1 Mb/s of 1000 B packets, and the reconstruction of A-66.
LINK: dict[str, float] = {"capacity": 125.0, "delay": 0.1, "min_th": 20.0, "max_th": 520.0, "max_p": 0.5}


def _row(scheme: str, measure: str, value: float, **at: Any) -> Row:
    return Row(scheme, at, measure, (float(value),), exact=True)


def front_table(definition: Definition) -> Rows:
    """Equation (1) for every case of the queue host."""
    for case in definition.queue_host.cases if definition.queue_host else ():
        found = models.front_choke(float(case.get("service_rate", 1.0)), case["poisson"])
        yield _row("theory", "idle", float(found.idle), case=case["name"])
        for index, value in enumerate(found.goodput, start=1):
            yield _row("theory", f"t{index}", value, case=case["name"])


def front_curve(definition: Definition, rates: Sequence[float], others: Sequence[float] = ()) -> Rows:
    """p_i, T_i and goodput per arrival of one flow over its rate, mu = 1."""
    del definition
    for rate in rates:
        found = models.front_choke(1.0, [rate, *others])
        yield _row("theory", "p", found.p[0], rate=rate)
        yield _row("theory", "goodput", found.goodput[0], rate=rate)
        yield _row("theory", "goodput_per_arrival", found.goodput[0] / rate, rate=rate)
        yield _row("theory", "idle_with_two", float(models.front_choke(1.0, [rate, 2.0 * rate]).idle), rate=rate)


def front_drop(definition: Definition, rates: Sequence[float], capacity: float = 1000.0) -> Rows:
    """Drop of a flow by equation (1) in per cent, rates in kb/s: 2 p."""
    del definition
    for rate in rates:
        p = float(models.front_choke(capacity, [rate]).p[0])
        yield _row("front model", "udp_drop", 200.0 * p, rate=rate)


def back_table(definition: Definition) -> Rows:
    """Equations (4) and (5), and beyond, for every case of the queue host; the memory stands in its settings."""
    for case in definition.queue_host.cases if definition.queue_host else ():
        memory = next(int(text.rpartition("=")[2]) for text in case["settings"] if ".memory=" in text)
        found = models.back_choke(case["poisson"], memory)
        yield _row("theory", "admitted", found.load, case=case["name"])
        rates = np.asarray(case["poisson"], dtype=float)
        printed = float(np.sum(rates * found.shares))
        yield _row("as printed", "admitted", printed, case=case["name"])
        for index, value in enumerate(found.shares, start=1):
            yield _row("theory", f"t{index}", value, case=case["name"])


def back_states(definition: Definition, rates: Sequence[float], memories: Sequence[int]) -> Rows:
    """The ordered chain: balance, dynamic reversibility, number of states."""
    del definition
    for memory in memories:
        chain = models.back_chain(rates, memory)
        yield _row("chain", "states", len(chain.states), memory=memory)
        yield _row("formula", "states", math.perm(len(rates), memory), memory=memory)
        yield _row("chain", "imbalance", chain.stationarity_error(), memory=memory)
        yield _row("chain", "irreversibility", chain.dynamic_reversibility_error(), memory=memory)


def share_curve(definition: Definition, points: int = 121) -> Rows:
    """Equations (18) to (21): the share over the load, from small to large."""
    del definition
    peak = 1.193  # (2e - 1)/(e + 1), as it is printed
    loads = np.sort(np.append(np.geomspace(0.05, 20.0, points), peak))
    curve = models.approximate_share(loads)
    for load, share, part in zip(loads, curve.mu, curve.h, strict=True):
        yield _row("approximate model", "share", share, load=round(float(load), 6))
        yield _row("approximate model", "queue_part", part, load=round(float(load), 6))


def maximum(definition: Definition) -> Rows:
    """Theorem 1 by its formula, and by maximising the curve numerically."""
    del definition
    exact = models.maximum_share()
    grid = np.linspace(0.5, 3.0, 200_001)
    curve = models.share_curve(grid)
    best = int(np.argmax(curve.mu))
    for scheme, share, load, part in (
        ("formula", 1 / (math.e + 1), (2 * math.e - 1) / (math.e + 1), (math.e - 1) / (2 * math.e - 1)),
        ("numerical", float(curve.mu[best]), float(curve.load[best]), float(curve.h[best])),
        ("library", exact.mu, exact.load, exact.h),
    ):
        yield _row(scheme, "share", share)
        yield _row(scheme, "load", load)
        yield _row(scheme, "queue_part", part)


def _full(ratio: float, flows: int, **changes: Any) -> Any:
    link = {**LINK, **changes}
    return models.tcp_equilibrium(**link, tcp_flows=flows, udp_rate=ratio * link["capacity"])


def equilibrium_over_rate(
    definition: Definition, ratios: Sequence[float], flows: int = 32, approximate: bool = True
) -> Rows:
    """Full and approximate model of Understanding CHOKe over x_0/c."""
    del definition
    for ratio in ratios:
        yield from _state("full model", _full(ratio, flows), flows, ratio=ratio)
        if approximate:
            link = dict(LINK)
            rough = models.tcp_approximate(**link, tcp_flows=flows, udp_rate=ratio * LINK["capacity"])  # type: ignore[arg-type]
            yield _row("approximate model", "share", float(rough.mu[0]), ratio=ratio)
            yield _row("approximate model", "queue", rough.b, ratio=ratio)
            three = models.tcp_approximate(
                **link, tcp_flows=flows, udp_rate=ratio * LINK["capacity"], variant="three"  # type: ignore[arg-type]
            )
            yield _row("three approximations", "share", float(three.mu[0]), ratio=ratio)


def vegas_over_rate(definition: Definition, ratios: Sequence[float], flows: int, alpha: float, **link: float) -> Rows:
    """Full and approximate model with Vegas, whose flows keep ``alpha`` packets in the queue, over x_0/c."""
    del definition
    changed = {**LINK, **link}
    law = models.Vegas(alpha)
    for ratio in ratios:
        yield from _state("full model", _full(ratio, flows, law=law, **link), flows, ratio=ratio)
        rate = ratio * changed["capacity"]
        rough = models.tcp_approximate(**changed, tcp_flows=flows, udp_rate=rate, law=law)  # type: ignore[arg-type]
        yield _row("approximate model", "share", float(rough.mu[0]), ratio=ratio)
        yield _row("approximate model", "queue", rough.b, ratio=ratio)


def _state(scheme: str, found: Any, count: int, **at: Any) -> Rows:
    yield _row(scheme, "share", found.mu[0], **at)
    yield _row(scheme, "queue", found.b, **at)
    yield _row(scheme, "queue_part", found.h[0], **at)
    yield _row(scheme, "tcp_share", count * found.mu[1], **at)
    yield _row(scheme, "tcp_rate", found.goodput[1], **at)
    yield _row(scheme, "udp_loss", found.p[0], **at)
    yield _row(scheme, "tcp_loss", found.p[1], **at)
    yield _row(scheme, "delay", found.tau, **at)
    yield _row(scheme, "red", found.r, **at)
    yield _row(scheme, "bound", (1 - found.r) / (2 - found.r), **at)
    yield _row(scheme, "linear_delay", found.b / ((2 - found.r) * found.link.capacity), **at)
    yield _row(scheme, "residual", found.residual, **at)


def equilibrium_over_flows(definition: Definition, flows: Sequence[int], ratio: float = 10.0) -> Rows:
    """The full model over the number of TCP flows."""
    del definition
    for count in flows:
        yield from _state("full model", _full(ratio, count), count, flows=count)


def limit(definition: Definition, ratios: Sequence[float], flows: int = 32) -> Rows:
    """The full model at growing rates beside the regime of an infinite one."""
    del definition
    end = models.asymptote(**LINK, tcp_flows=flows)  # type: ignore[arg-type]
    for ratio in ratios:
        yield from _state("full model", _full(ratio, flows), flows, ratio=ratio)
        yield _row("limit", "queue", end.b, ratio=ratio)
        yield _row("limit", "queue_part", end.h[0], ratio=ratio)
        yield _row("limit", "tcp_loss", end.p, ratio=ratio)
        yield _row("limit", "delay", end.tau, ratio=ratio)
        yield _row("limit", "red", end.r, ratio=ratio)
        yield _row("limit", "share", 0.0, ratio=ratio)
        yield _row("limit", "udp_loss", 1.0, ratio=ratio)


def profiles(definition: Definition, ratios: Sequence[float], flows: int = 32, points: int = 101) -> Rows:
    """rho_0(y) and v(y)/c of the full model from (35), (36), and boundary values, over position / length."""
    del definition
    for ratio in ratios:
        found = _full(ratio, flows)
        shape = models.profile_ode(found, points=points)
        tail = float(found.x[0] * (1 - found.r) * (1 - found.h[0]) / (shape.rho[0][0] * shape.v[0]))
        yield _row("full model", "tail_balance", tail, ratio=ratio)
        yield _row("full model", "head_velocity", shape.v[-1] / LINK["capacity"], ratio=ratio)
        yield _row("full model", "head_share_over_mu", shape.rho[0][-1] / found.mu[0], ratio=ratio)
        yield _row("full model", "udp_packets", np.trapezoid(shape.rho[0], shape.y) / found.backlog[0], ratio=ratio)
        beyond = shape.y >= found.backlog[0]
        total = np.trapezoid(shape.rho[0], shape.y)
        part = np.trapezoid(shape.rho[0][beyond], shape.y[beyond]) / total if beyond.sum() > 1 else 0.0
        yield _row("full model", "beyond_step", part, ratio=ratio)
        curvature = np.diff(shape.v, 2)
        yield _row("full model", "least_curvature", curvature.min() / abs(curvature).max(), ratio=ratio)
        for place, rho, v in zip(shape.y, shape.rho[0], shape.v, strict=True):
            where = round(float(place / shape.length), 6)
            yield _row("full model", "rho", rho, ratio=ratio, part=where)
            yield _row("full model", "velocity", v / LINK["capacity"], ratio=ratio, part=where)


def positions(definition: Definition, ratios: Sequence[float], flows: int = 32) -> Rows:
    """rho_0 over the position in packets."""
    del definition
    for ratio in ratios:
        shape = models.profile(_full(ratio, flows), points=121)
        for place, rho in zip(shape.y, shape.rho[0], strict=True):
            yield _row("full model", "rho", rho, ratio=ratio, position=float(place))


def curvature_cases(definition: Definition, cases: Sequence[Sequence[float]]) -> Rows:
    """Theorem 4: the shape that rho* predicts against second differences of the integrated profile."""
    del definition
    for fast, slow, count in cases:
        link = models.ChokeLink(125.0, models.Red(20.0, 520.0, 0.5))
        classes = [models.ConstantRate(fast), models.ConstantRate(slow, count)]
        found = models.solve(link, classes)
        predicted = models.inflexion(found)
        shape = models.profile_ode(found, points=401)
        bends = np.diff(shape.rho[0], 2)
        noise = 1e-7 * np.abs(bends).max()
        signs = np.sign(bends[np.abs(bends) > noise])
        runs = [signs[0], *(after for before, after in pairwise(signs) if before != after)]
        seen = "-".join("convex" if sign > 0 else "concave" for sign in runs)
        name = f"{fast:g} against {count:g} × {slow:g}"
        yield _row("theorem 4", "agrees", float(seen == predicted.shape), case=f"{name}: {predicted.shape}")


def minimum(definition: Definition) -> Rows:
    """Section VI: the fewest flows by the printed estimate and by the full model."""
    del definition
    estimate = models.minimum_flows_estimate(LINK["capacity"], LINK["delay"], LINK["min_th"])
    yield _row("estimate", "flows", estimate)
    exact = models.minimum_flows(
        capacity=LINK["capacity"], delay=LINK["delay"], min_th=LINK["min_th"], udp_rate=10 * LINK["capacity"]
    )
    yield _row("full model", "flows", exact)


def several_udp(definition: Definition, flows: Sequence[int], ratio: float = 10.0) -> Rows:
    """Share of K equal UDP flows of a total rate ratio x c against 32 TCP flows, beyond the paper."""
    del definition
    for count in flows:
        link = models.ChokeLink(LINK["capacity"], models.Red(LINK["min_th"], LINK["max_th"], LINK["max_p"]))
        udp = models.ConstantRate(ratio * LINK["capacity"], count)
        found = models.solve(link, [udp, models.Responsive(32, LINK["delay"])])
        yield _row("full model", "udp_share", count * found.mu[0], udp_flows=count)


def tail_pair(definition: Definition, ratios: Sequence[float], flows: int = 32) -> Rows:
    """Share of a flow of rate ratio x the others when pairs at the tail are dropped, and with a memory of one."""
    del definition
    for ratio in ratios:
        rates = [1.0] * flows + [flows * ratio]
        yield _row("tail pair", "udp_share", float(models.tail_pair_shares(rates)[-1]), ratio=ratio)
        yield _row("memory 1", "udp_share", float(models.back_choke(rates, 1).shares[-1]), ratio=ratio)


def ward_peak(definition: Definition, comparisons: Sequence[float], loads: Sequence[float]) -> Rows:
    """Share of a UDP flow under WARD among endlessly many TCP flows, over its rate by what TCP sends.

    ``by hand``: every packet enters a queue that moves with the link and does not leak but for UDP itself. Each arrival
    of UDP draws two of b packets, so one that waits for b/c survives with exp(-2 x/c), and the share of the link is
    (x/c) exp(-2 x/c), 1/(2e) at x = c/2. ``fluid``: with admissions, the leak, and pairs that TCP's arrivals drop, when
    arrivals are compared with probability w; the notation is that of `models.ward`.
    """
    del definition
    for load in loads:
        yield _row("by hand", "share", load * math.exp(-2 * load), load=load)
        for w in comparisons:
            yield _row(f"fluid, w {w:g}", "share", _ward_limit(load, w), load=load)


def _ward_limit(ratio: float, w: float) -> float:
    """UDP's share for x_0 = ratio x what TCP gets; TCP loses nothing in the limit, so that tau = b (1 - h)/x_TCP."""
    from scipy.optimize import brentq

    def parts(h: float) -> tuple[float, float]:
        admitted = 1 - w * (2 * h - h * h)
        kept = math.exp(-2 * w * (ratio + h) * (1 - h))
        return ratio * admitted * kept, 2 * w * h * (ratio + h) - ratio * admitted * (1 - kept)

    h = brentq(lambda value: parts(value)[1], 1e-12, 1 - 1e-9)
    passed = parts(h)[0]
    return passed / (1 + passed)


def fifo_over_rate(definition: Definition, ratios: Sequence[float], flows: int = 32, buffer: float = 1000.0) -> Rows:
    """CHOKe beside FIFOs without leaks over x_0/c: RED with the ramp of A-66, which ends at max_th, and DropTail."""
    del definition
    red = models.Red(LINK["min_th"], LINK["max_th"], LINK["max_p"], jump=True)
    for ratio in ratios:
        udp, tcp = models.ConstantRate(ratio * LINK["capacity"]), models.Responsive(flows, LINK["delay"])
        classes: list[models.FlowClass] = [udp, tcp]
        choke = models.solve(models.ChokeLink(LINK["capacity"], red), classes)
        for scheme, found in (
            ("CHOKe, model", choke),
            ("RED, model", models.leaky_buffer(LINK["capacity"], classes, leak="none", red=red)),
            ("DropTail, model", models.leaky_buffer(LINK["capacity"], classes, leak="none", buffer=buffer)),
        ):
            yield _row(scheme, "share", found.mu[0], ratio=ratio)
            yield _row(scheme, "queue_part", found.h[0], ratio=ratio)
            yield _row(scheme, "queue", found.b, ratio=ratio)


MODELS: dict[str, Callable[..., Rows]] = {
    function.__name__: function
    for function in (
        front_table, front_curve, front_drop, back_table, back_states, share_curve, maximum, equilibrium_over_rate,
        vegas_over_rate, equilibrium_over_flows, limit, profiles, positions, curvature_cases, minimum, several_udp,
        tail_pair, ward_peak,
        fifo_over_rate,
    )
}  # fmt: skip
