"""Random input over ranges that a person could type: a model answers so that its identities hold, or refuses.

10,000 inputs with FAIRDROP_LONG=1. The identities are written out here, from the values of the results alone.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from fairdrop.models import (
    ChokeLink,
    ConstantRate,
    ConvergenceError,
    NoEquilibriumError,
    Pftk,
    Red,
    Reno,
    Responsive,
    Routed,
    Timed,
    Vegas,
    approximate_share,
    asymptote,
    back_choke,
    chokew_equilibrium,
    fifo_profile,
    front_choke,
    integrate,
    leaky_buffer,
    minimum_flows,
    network_equilibrium,
    peak,
    profile,
    sized_equilibrium,
    solve,
    tail_pair_shares,
    tcp_approximate,
    ward_equilibrium,
)

INPUTS = 10_000 if os.environ.get("FAIRDROP_LONG") == "1" else 400
SEED = 20260
CLOSE = 1e-6


def log(rng, low, high):
    return 10.0 ** rng.uniform(math.log10(low), math.log10(high))


def odd(rng, value):
    """Now and then an odd value, as a curious user types it."""
    return rng.choice([0.0, 1e-12, 1.0, 1e6, 1e12]) if rng.random() < 0.02 else value


def law(rng):
    kind = rng.random()
    if kind < 0.5:
        return Reno()
    if kind < 0.62:
        return Pftk(odd(rng, log(rng, 0.01, 10)))
    return Reno(small_loss=True) if kind < 0.75 else Vegas(odd(rng, log(rng, 0.5, 50)))


def flow(rng, capacity):
    if rng.random() < 0.5:
        return ConstantRate(odd(rng, capacity * log(rng, 1e-3, 30)), rng.choice([1, 1, 2, 5, 40]))
    return Responsive(odd(rng, rng.choice([1, 5, 32, 100, 1000])), odd(rng, log(rng, 1e-3, 1)), law(rng))


def flows(rng, capacity):
    return [flow(rng, capacity) for _ in range(rng.randint(1, 4))]


def link(rng):
    min_th = odd(rng, log(rng, 1, 1000))
    return {
        "capacity": odd(rng, log(rng, 1, 1e6)), "min_th": min_th, "max_th": min_th * (1 + log(rng, 0.05, 30)),
        "max_p": rng.choice([0.02, 0.1, 0.5, 1.0]), "jump": rng.random() < 0.5,
    }  # fmt: skip


def tcp_case(rng):
    return {
        **link(rng), "tcp_flows": odd(rng, log(rng, 1, 2000)), "delay": odd(rng, log(rng, 1e-3, 1)),
        "candidates": rng.choice([1, 1, 1, 2, 3, 5, 15]), "survival": rng.choice(["cbr", "poisson"]), "law": law(rng),
    }  # fmt: skip


def close(values, expected, rounding=1e-290):
    np.testing.assert_allclose(values, expected, rtol=CLOSE, atol=rounding)


def filled(count, h, goodput, capacity):
    close(count @ h, 1.0)
    close(count @ goodput, capacity)


def rates(found, given):
    """Equation (8), and a constant rate that is the one asked for."""
    for k, one in enumerate(given):
        if isinstance(one, ConstantRate):
            assert found.x[k] == one.rate
        else:
            allowed = one.law.rate(float(found.p[k]), float(found.survival[k]), found.tau, one.delay)
            close(found.x[k], allowed)


def an_equilibrium(rng):
    given = link(rng)
    red = Red(given["min_th"], given["max_th"], given["max_p"], given["jump"])
    m, survival = rng.choice([1, 1, 1, 2, 4]), rng.choice(["cbr", "poisson"])
    some = flows(rng, given["capacity"])
    eq = solve(ChokeLink(given["capacity"], red, m, survival), some)
    filled(eq.count, eq.h, eq.goodput, given["capacity"])
    rates(eq, some)
    beta = -math.log1p(-m / eq.b) if survival == "cbr" else m / eq.b
    none = (1 - eq.h) ** m
    close(eq.p, m * eq.h + 1 - (1 - eq.r) * none)
    close(eq.survival, (1 - eq.r) * none * np.exp(-beta * eq.x * eq.tau))
    ramp = min(1.0, red.slope * (eq.b - red.min_th))
    if eq.regime == "active":
        assert eq.r == pytest.approx(ramp, rel=CLOSE, abs=1e-12)
    else:
        assert eq.b == red.max_th and red.max_p <= eq.r <= 1
    shape = profile(eq, points=7)
    close(eq.count @ shape.rho, np.ones(7))
    close(shape.v[-1], given["capacity"])
    return eq


def a_chokew(rng):
    capacity, b = odd(rng, log(rng, 1, 1e5)), odd(rng, log(rng, 5, 2000))
    some = flows(rng, capacity)
    weights = [rng.choice([1, 1, 2, 3.5, 10]) for _ in some]
    eq = chokew_equilibrium(capacity, some, weights, b)
    filled(np.array([one.count for one in some]), eq.h, eq.goodput, capacity)
    rates(eq, some)
    for k, weight in enumerate(weights):
        d = eq.p0 / weight
        q = (1 - eq.h[k]) ** math.floor(d) * (1 - (d - math.floor(d)) * eq.h[k])
        assert eq.p[k] == pytest.approx(2 * (1 - q), rel=CLOSE, abs=1e-9)
        if eq.x[k] > 0:
            close(eq.survival[k], q * math.exp(-eq.x[k] * eq.tau / b * eq.match[k] / eq.h[k]))
    return eq


def a_ward(rng):
    capacity, buffer, lost = odd(rng, log(rng, 1, 1e5)), odd(rng, log(rng, 10, 5000)), rng.random() < 0.5
    some = flows(rng, capacity)
    eq = ward_equilibrium(capacity, some, buffer, arrival_lost=lost)
    count = np.array([one.count for one in some])
    filled(count, eq.h, eq.goodput, capacity)
    rates(eq, some)
    total, squares, w, h = count @ eq.x, count @ eq.h**2, eq.w, eq.h
    enter = 1 - w * (2 * h - h**2) - (w * np.maximum(squares - h**2, 0) if lost else 0)
    leak = -2 * w * eq.tau / eq.b * (eq.x + (total - eq.x) * h)
    # What enters is the difference of two numbers near 1 where almost everything is lost on arrival.
    close(eq.survival, np.where(eq.x > 0, enter * np.exp(leak), 1.0), 1e-14)
    close(2 * w * h * (eq.x + (total - eq.x) * h) / total, eq.x / total * enter * -np.expm1(leak), 1e-14)
    assert 0 < w <= 0.9 * (1 + 1e-9)
    tenths = 10 * eq.b / buffer
    assert math.floor(tenths * (1 - 1e-9)) - 1e-6 <= 10 * w <= math.floor(tenths * (1 + 1e-9)) + 1e-6
    return eq


def a_fifo(rng):
    given, droptail = link(rng), rng.random() < 0.5
    capacity, some = given["capacity"], flows(rng, given["capacity"])
    red = Red(given["min_th"], given["max_th"], given["max_p"], given["jump"])
    limits = {"buffer": odd(rng, log(rng, 5, 5000))} if droptail else {"red": red}
    eq = leaky_buffer(capacity, some, leak="none", **limits)
    count = np.array([one.count for one in some])
    filled(count, eq.h, eq.goodput, capacity)
    close(eq.h, eq.mu)
    close(eq.tau, eq.b / capacity)
    # One loss for all.
    close(eq.survival, np.full(len(some), capacity / (count @ eq.x)))
    if droptail:
        assert eq.b == limits["buffer"]
    else:
        close(1 - eq.r, eq.survival[0])
    for k, one in enumerate(some):
        if isinstance(one, ConstantRate):
            assert eq.x[k] == one.rate
        else:
            close(eq.x[k], one.law.rate(float(eq.p[k]), float(eq.survival[k]), float(eq.tau[k]), one.delay))
    close(fifo_profile(eq, 3).v, np.full(3, capacity))
    return eq


def an_approximation(rng):
    case = tcp_case(rng)
    eq = tcp_approximate(**case, udp_rate=odd(rng, case["capacity"] * log(rng, 1e-3, 30)),
                         variant=rng.choice(["III-C", "order", "three"]))  # fmt: skip
    close(eq.goodput[0] + case["tcp_flows"] * eq.goodput[1], case["capacity"])
    close((case["capacity"] - eq.goodput[0]) * eq.tau, eq.b * (1 - eq.h[0]))
    close(eq.p[1], eq.r)
    return eq


def an_asymptote(rng):
    case = tcp_case(rng)
    eq = asymptote(**case)
    close(eq.h[0] + case["tcp_flows"] * eq.h[1], 1.0)
    close(case["tcp_flows"] * eq.x * (1 - eq.p), case["capacity"])
    close(eq.x, case["law"].rate(eq.p, 1 - eq.p, eq.tau, case["delay"]))
    m, h = case["candidates"], eq.h[0]
    close(m * h, (1 - eq.r) * (1 - h) ** m)
    return eq


def a_peak(rng):
    case = tcp_case(rng)
    eq = peak(**case)
    filled(eq.count, eq.h, eq.goodput, case["capacity"])
    for factor in (0.5, 2.0):
        given = [ConstantRate(factor * eq.x[0]), eq.flows[1]]
        assert solve(eq.link, given).mu[0] <= eq.mu[0] * (1 + CLOSE)
    return eq


def a_minimum(rng):
    case = tcp_case(rng)
    rate = case["capacity"] * log(rng, 0.1, 30)
    same = {name: case[name] for name in ("capacity", "delay", "min_th", "candidates", "survival", "law")}
    found = minimum_flows(**same, udp_rate=rate)
    # A Vegas flow that wants more than min_th queued has a second equilibrium, with a longer queue.
    if found > 0 and isinstance(case["law"], Reno):
        red = Red(case["min_th"], 1000 * case["min_th"] + 1, 1e-6)
        for factor in (0.99, 1.01):
            some = [ConstantRate(rate), Responsive(factor * found, case["delay"], case["law"])]
            try:
                solve(ChokeLink(case["capacity"], red, case["candidates"], case["survival"]), some)
            except NoEquilibriumError:
                assert factor < 1
            else:
                assert factor > 1
    return None


def a_front(rng):
    mu = odd(rng, log(rng, 1e-2, 1e5)) or 1.0
    lam = np.array([odd(rng, log(rng, 1e-2, 1e6)) for _ in range(rng.randint(1, 9))])
    eq = front_choke(mu, lam)
    close(eq.p.sum() + eq.idle, 1.0)
    if eq.stable:
        close(lam * (1 - eq.p), (mu + lam) * eq.p)
    else:
        close(lam * (1 - eq.p), (mu + lam) * eq.p + eq.growth)
        close(eq.goodput.sum(), mu)
    return eq


def a_back(rng):
    lam = [odd(rng, log(rng, 1e-2, 1e6)) for _ in range(rng.randint(1, 30))]
    active = sum(1 for one in lam if one > 0)
    eq = back_choke(lam, rng.randint(0, max(active - 1, 0)), log(rng, 1, 1e4))
    close(eq.shares.sum(), 1.0)
    close(eq.rates, eq.shares * eq.load)
    assert np.all(eq.rates <= np.array(lam) * (1 + CLOSE)) and np.all(eq.shares <= (1 + CLOSE) / (eq.memory + 1))
    if active >= 3:
        close(tail_pair_shares(lam).sum(), 1.0)
    return eq


def a_curve(rng):
    m, k, load = rng.randint(1, 6), rng.choice([1, 1, 2, 3, 7]), [odd(rng, log(rng, 1e-3, 100)) for _ in range(3)]
    eq = approximate_share(load, m, k)
    inside = np.isfinite(eq.u)
    u, h, mu, s = eq.u[inside], eq.h[inside], eq.mu[inside], eq.load[inside]
    close(m * h, (1 - h) ** m * -np.expm1(-u))
    close(mu, s * np.exp(-u) * (1 - h) ** m)
    close(eq.mu[~inside], 1 / k)
    assert np.all(k * mu <= 1 + CLOSE)
    return eq


def a_chopped(rng):
    """Packets of several sizes, drawn whole or in cells."""
    given, some = link(rng), flows(rng, 1000.0)
    red = Red(given["min_th"], given["max_th"], given["max_p"], given["jump"])
    sizes = np.array([rng.choice([40, 400, 800, 1500]) for _ in some], float)
    cell = rng.choice([None, 40.0, 400.0])
    eq = sized_equilibrium(odd(rng, log(rng, 1e3, 1e8)), red, some, sizes, cell=cell)
    count = np.array([one.count for one in some])
    close(count @ eq.h, 1.0)
    close(count @ eq.mu, 1.0)
    close(eq.goodput, eq.x * eq.survival * sizes)
    rates(replaced(eq, tau=float(eq.tau)), some)
    weight = np.ones(len(some)) if cell is None else sizes / cell
    none = 1.0 - eq.h
    close(eq.p, eq.h + 1 - (1 - eq.r) * none)
    close(eq.survival, (1 - eq.r) * none * np.exp(np.log1p(-weight / eq.b) * eq.x * eq.tau))
    return eq


def replaced(eq, **values):
    """Values of a result under the names that ``rates`` reads."""
    return SimpleNamespace(**{name: values.get(name, getattr(eq, name)) for name in ("x", "p", "survival", "tau")})


def another_leak(rng):
    """CHOKe served at random, and Random Drop."""
    given, kind = link(rng), rng.choice(["own", "any"])
    capacity, some = given["capacity"], flows(rng, given["capacity"])
    red = Red(given["min_th"], given["max_th"], given["max_p"], given["jump"])
    limits = {"red": red} if kind == "own" else {"buffer": odd(rng, log(rng, 5, 5000))}
    eq = leaky_buffer(capacity, some, leak=kind, **limits)
    filled(np.array([one.count for one in some]), eq.h, eq.goodput, capacity)
    for k, one in enumerate(some):
        if isinstance(one, ConstantRate):
            assert eq.x[k] == one.rate
        else:
            close(eq.x[k], one.law.rate(float(eq.p[k]), float(eq.survival[k]), float(eq.tau[k]), one.delay))
    if kind == "any":
        close(eq.survival, np.full(len(some), eq.survival[0]))
    else:
        close(eq.h, eq.x * (1 - eq.r) / (capacity + eq.x * (2 - eq.r)))
        close(eq.mu, eq.h)
    return eq


def a_network(rng):
    """Up to three links in a row, each flow over some of them."""
    names = ["a", "b", "c"][: rng.randint(2, 3)]
    links = {}
    for name in names:
        given = link(rng)
        red = Red(given["min_th"], given["max_th"], given["max_p"], given["jump"])
        links[name] = ChokeLink(log(rng, 10, 1e4), red, rng.choice([1, 1, 2]))
    routed = []
    for one in flows(rng, 1000.0):
        first = rng.randrange(len(names))
        routed.append(Routed(one, tuple(names[first : rng.randint(first + 1, len(names))])))
    eq = network_equilibrium(links, routed)
    close(eq.goodput, eq.x * eq.survival)
    for name, found in eq.links.items():
        crossing = [k for k, one in enumerate(routed) if name in one.route]
        if found is None:
            continue
        filled(found.count, found.h, found.goodput, links[name].capacity)
        for place, k in enumerate(crossing):
            before = routed[k].route[: routed[k].route.index(name)]
            thinned = [survival_on(eq, routed, k, other) for other in before]
            close(found.x[place], eq.x[k] * math.prod(thinned))
    for k, one in enumerate(routed):
        close(eq.survival[k], math.prod(survival_on(eq, routed, k, name) for name in one.route))
        held = [eq.links[name].tau for name in one.route if eq.links[name] is not None]
        close(eq.tau[k], math.fsum(held))
        if isinstance(one.flow, ConstantRate):
            assert eq.x[k] == one.flow.rate
        else:
            close(eq.x[k], one.flow.law.rate(float(eq.p[k]), float(eq.survival[k]), float(eq.tau[k]), one.flow.delay))
    return eq


def survival_on(eq, routed, k, name):
    if eq.links[name] is None:
        return 1.0
    crossing = [other for other, one in enumerate(routed) if name in one.route]
    return float(eq.links[name].survival[crossing.index(k)])


def a_transient(rng):
    """A short start from an empty queue: packets that entered wait or have left, and the link sends all it can."""
    given, capacity = link(rng), log(rng, 10, 1e4)
    red = Red(given["min_th"], given["max_th"], given["max_p"], given["jump"])
    some = []
    for _ in range(rng.randint(1, 3)):
        one = flow(rng, capacity)
        if isinstance(one, Responsive):
            one = Responsive(one.count, log(rng, 1e-2, 1), Reno())
        start = rng.choice([0.0, 0.0, 0.05])
        some.append(Timed(one, start, rng.choice([math.inf, start + 0.1])))
    step, candidates = 1.0 / capacity, rng.choice([1, 2])
    found = integrate(ChokeLink(capacity, red, candidates), some, rng.randint(50, 150) * step, step=step)
    close(found.backlog.sum(axis=0), found.b)
    count = np.array([one.flow.count for one in some])
    assert np.all(found.p >= -1e-12) and np.all(found.p <= 1.0 + candidates + 1e-9) and np.all(found.b >= 0)
    sent = found.throughput.sum(axis=0)
    assert np.all(sent <= capacity * (1 + CLOSE))
    # A queue that does not empty keeps the link busy.
    busy = found.b[1:] > 0
    close(sent[:-1][busy], np.full(int(busy.sum()), capacity))
    for k, one in enumerate(some):
        on = (found.t >= one.start) & (found.t < one.stop)
        assert not found.x[k][~on].any()
        if isinstance(one.flow, ConstantRate):
            assert np.all(found.x[k][on] == one.flow.rate)
    # What was not compared and not dropped early is in the queue, or has left.
    first = np.flatnonzero(found.average >= red.min_th)
    end = first[0] if len(first) else len(found.t)
    came = np.cumsum(count @ found.x * step)[:end]
    queued = np.concatenate([[0.0], came[:-1] - np.cumsum(sent)[: end - 1] * step])[:end]
    close(found.b[:end], np.maximum(queued, 0.0), 1e-9)
    return found


MODELS = {
    an_equilibrium: 25, a_chokew: 20, a_ward: 20, a_fifo: 8, an_approximation: 10, an_asymptote: 8, a_peak: 1,
    a_minimum: 4, a_front: 4, a_back: 4, a_curve: 4, a_chopped: 8, another_leak: 8, a_network: 8, a_transient: 4,
}  # fmt: skip


@pytest.mark.parametrize("part", range(20))
def test_no_result_whose_identities_do_not_hold(part):
    rng = random.Random(SEED + part)
    seen = Counter()
    for _ in range(INPUTS // 20):
        model = rng.choices(list(MODELS), weights=list(MODELS.values()))[0]
        state = rng.getstate()[1][:2]
        try:
            found = model(rng)
        except NoEquilibriumError as error:
            assert "nan" not in str(error)
            seen["none"] += 1
        except ConvergenceError as error:
            # A defect, but a reported one; nothing was returned.
            seen[f"{model.__name__}: {error}"] += 1
        except ValueError as error:
            assert str(error)[0].islower(), error
            seen["refused"] += 1
        except AssertionError as error:
            raise AssertionError(f"{model.__name__}, part {part}, {dict(seen)}, {state}") from error
        else:
            seen["answered"] += 1
            if found is not None:
                json.dumps(found.to_dict(), allow_nan=False)
    assert seen["answered"] > 0.3 * (INPUTS // 20)
    failed = sum(seen.values()) - seen["answered"] - seen["none"] - seen["refused"]
    assert failed <= max(2, 0.02 * INPUTS / 20), seen
