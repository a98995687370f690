"""The full TCP/CHOKe model: residuals, an independent solver, theorem 5, domain and speed."""

import json
import math
import os
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from fairdrop.models import (
    BelowThresholdError,
    ChokeLink,
    ConstantRate,
    NoEquilibriumError,
    Pftk,
    Red,
    Reno,
    Responsive,
    Vegas,
    drop_needed,
    occupancy_bound,
    solve,
    tcp_equilibrium,
    tcp_sweep,
)
from model_cases import BASE, log_floats

LONG = os.environ.get("FAIRDROP_LONG") == "1"
EXAMPLES = 1000 if LONG else 60



@st.composite
def parameters(draw):
    c = draw(log_floats(10, 1e5))
    min_th = draw(log_floats(2, 500))
    return {
        "capacity": c,
        "tcp_flows": draw(log_floats(10, 1000)),
        "delay": draw(log_floats(1e-3, 1.0)),
        "min_th": min_th,
        "max_th": min_th * draw(log_floats(1.2, 30)),
        "max_p": draw(log_floats(0.01, 1.0)),
        "udp_rate": c * draw(log_floats(0.05, 200)),
        "survival": draw(st.sampled_from(["cbr", "poisson"])),
        "law": draw(st.sampled_from([Reno(), Reno(small_loss=True), Pftk(), Vegas(2.0)])),
        "jump": draw(st.booleans()),
    }


def solved(arguments):
    try:
        return tcp_equilibrium(**arguments)
    except BelowThresholdError:
        assume(False)


def ten_residuals(eq, c, law, delay):
    """Equations (3) to (9), written out for one candidate; shares no code with the solver."""
    n = eq.flows[1].count
    h, p, q, x, b, r, tau = eq.h, eq.p, eq.survival, eq.x, eq.b, eq.r, eq.tau
    base = 1 - 1 / b if eq.link.survival == "cbr" else math.exp(-1 / b)
    red = eq.link.red
    if eq.regime == "sliding":
        assert b == red.max_th and red.max_p <= r <= 1
        g = r
    else:
        g = red.max_p * (b - red.min_th) / (red.max_th - red.min_th)
    residuals = [
        (p[i] - (2 * h[i] + r - r * h[i])) / p[i] for i in (0, 1)
    ] + [
        (1 - (1 - h[i]) * (1 - r) * base ** (x[i] * tau) / q[i]) if q[i] > 1e-290 else 0.0 for i in (0, 1)
    ] + [
        eq.backlog[i] / (h[i] * b) - 1 for i in (0, 1)
    ] + [
        (eq.backlog[0] + n * eq.backlog[1]) / b - 1,
        (x[0] * q[0] + n * x[1] * q[1]) / c - 1,
        law.rate(p[1], q[1], tau, delay) / x[1] - 1,
        g / r - 1,
    ]  # fmt: skip
    assert len(residuals) == 10
    return np.abs(residuals).max()


@settings(max_examples=EXAMPLES, deadline=None)
@given(parameters())
def test_ten_equations_on_random_parameters(arguments):
    eq = solved(arguments)
    assert eq.residual < 1e-10
    # base ** (x tau) loses digits in proportion to the exponent, up to about 1e3.
    assert ten_residuals(eq, arguments["capacity"], arguments["law"], arguments["delay"]) < 1e-10
    assert np.all(np.abs(eq.p - (1 - eq.survival)) < 1e-12)
    assert 0 <= eq.r < 1 and eq.b >= arguments["min_th"] and eq.tau > 0
    # Theorem 5 (1), and the lower bound on the loss of TCP that sharpens (45).
    assert np.all(eq.h <= (1 - eq.r) / (2 - eq.r) * (1 + 1e-12))
    assert eq.p[1] >= (eq.r + 1 / arguments["tcp_flows"]) * (1 - 1e-12)


def test_ten_equations_on_a_thousand_random_sets():
    rng = np.random.default_rng(7)

    def between(low, high):
        return float(np.exp(rng.uniform(math.log(low), math.log(high))))

    kinds = {"active": 0, "sliding": 0, "below": 0}
    while kinds["active"] + kinds["sliding"] < 1000:
        c, min_th = between(10, 1e5), between(2, 500)
        arguments = {
            "capacity": c, "tcp_flows": between(10, 1000), "delay": between(1e-3, 1), "min_th": min_th,
            "max_th": min_th * between(1.2, 30), "max_p": between(0.01, 1),
            "udp_rate": c * between(0.05, 200), "candidates": int(rng.integers(1, 5)),
            "jump": bool(rng.integers(2)),
        }  # fmt: skip
        if arguments["candidates"] >= min_th:
            continue
        try:
            eq = tcp_equilibrium(**arguments)
        except BelowThresholdError:
            kinds["below"] += 1
            continue
        kinds[eq.regime] += 1
        assert eq.residual < 1e-10, arguments
        assert np.all(eq.h <= occupancy_bound(eq.r, arguments["candidates"]) * (1 + 1e-12))
    assert min(kinds.values()) > 100


def least_squares_solution(c, n, delay, red, x0, law_rate, seed):
    """All ten equations at once from a random start, minimising scaled squares as in section II.C."""
    rng = np.random.default_rng(seed)

    def residuals(u):
        b0, b1, h0, h1, p0, p1, b, r, x1, tau = u
        return np.array([
            p0 - (2 * h0 + r - r * h0),
            p1 - (2 * h1 + r - r * h1),
            math.log(max(1 - p0, 1e-300)) - math.log((1 - h0) * (1 - r)) - x0 * tau * math.log1p(-1 / b),
            math.log(max(1 - p1, 1e-300)) - math.log((1 - h1) * (1 - r)) - x1 * tau * math.log1p(-1 / b),
            h0 - b0 / b,
            h1 - b1 / b,
            1 - (b0 + n * b1) / b,
            (x0 * (1 - p0) + n * x1 * (1 - p1)) / c - 1,
            1 - law_rate(p1, tau) / x1,
            r - red.slope * (b - red.min_th),
        ])  # fmt: skip

    for _ in range(20):
        h0 = rng.uniform(0.02, 0.48)
        h1 = (1 - h0) / n
        b = math.exp(rng.uniform(math.log(red.min_th + 1), math.log(400)))
        r = red.slope * (b - red.min_th)
        p = [min(2 * h + r - r * h, 0.98) for h in (h0, h1)]
        start = [h0 * b, h1 * b, h0, h1, *p, b, r, c / n / (1 - p[1]), rng.uniform(0.4, 1) * b / c]
        scale = np.abs(start)
        low = [1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1.001, 1e-12, 1e-9, 1e-9]
        high = [1e4, 1e4, 0.5, 0.5, 1 - 1e-14, 1 - 1e-14, 1e4, 1 - 1e-9, 1e6, 1e3]
        found = least_squares(
            residuals,
            start,
            bounds=(low, high),
            x_scale=scale,
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=2000,
        )
        if np.abs(found.fun).max() < 1e-11:
            return found.x
    raise AssertionError("least squares did not converge from 20 starts")


@pytest.mark.parametrize("n", [12, 32, 100])
@pytest.mark.parametrize("ratio", [0.1, 0.9, 1.2, 3.0, 10.0])
def test_against_least_squares(n, ratio):
    eq = tcp_equilibrium(**{**BASE, "tcp_flows": n}, udp_rate=125 * ratio)
    found = least_squares_solution(
        125.0,
        n,
        0.1,
        eq.link.red,
        125 * ratio,
        lambda p, tau: math.sqrt(2 * (1 - p) / p) / (0.1 + tau),
        seed=n,
    )
    ours = [*eq.backlog, *eq.h, *eq.p, eq.b, eq.r, eq.x[1], eq.tau]
    np.testing.assert_allclose(ours, found, rtol=1e-8)


@pytest.mark.parametrize("survival", ["cbr", "poisson"])
@pytest.mark.parametrize("n", [12, 32, 100, 1000])
def test_paper_range_of_rates(n, survival):
    sweep = tcp_sweep(
        **{**BASE, "tcp_flows": n}, udp_rate=125 * np.geomspace(0.05, 200, 60), survival=survival
    )
    assert set(sweep.regime) == {"active"}
    assert sweep.residual.max() < 1e-10


def test_backlog_against_number_of_flows():
    """Backlogs at ten times the capacity, known beforehand to the packet from a separate solution."""
    sweep = tcp_sweep(**{**BASE, "tcp_flows": [12, 16, 24, 32, 48, 64]}, udp_rate=1250)
    np.testing.assert_allclose(sweep.b, [57, 81, 117, 145, 188, 221], atol=0.5)
    assert np.all(np.diff(sweep.mu[:, 1]) < 0)


def test_points_of_the_paper_setting():
    low = tcp_equilibrium(**BASE, udp_rate=12.5)
    assert (round(float(low.h[0]), 3), round(float(low.mu[0]), 3), round(low.b)) == (0.079, 0.077, 98)
    one = tcp_equilibrium(**BASE, udp_rate=125)
    assert (round(float(one.mu[0]), 3), round(one.b)) == (0.247, 128)
    assert float(tcp_equilibrium(**BASE, udp_rate=250).mu[0]) == pytest.approx(0.229, abs=5e-4)
    assert float(tcp_equilibrium(**BASE, udp_rate=625).mu[0]) == pytest.approx(0.114, abs=5e-4)
    ten = tcp_equilibrium(**BASE, udp_rate=1250)
    assert (round(float(ten.mu[0]), 3), round(float(ten.h[0]), 3)) == (0.021, 0.466)
    # The backlog is not monotone in the UDP rate: a maximum near ten times the capacity.
    assert round(ten.b, 2) == 144.99
    assert round(tcp_equilibrium(**BASE, udp_rate=12500).b, 3) == 144.917


@pytest.mark.parametrize("law", [Reno(), Pftk(0.1), Vegas(3.0)])
@pytest.mark.parametrize("candidates", [1, 3])
def test_throughput_crosses_the_capacity_once(law, candidates):
    """Uniqueness (A1), probed: over a range of backlogs, each with the delay that fills the queue."""
    for ratio in (0.2, 1.0, 10.0):
        eq = tcp_equilibrium(**BASE, udp_rate=125 * ratio, law=law, candidates=candidates)
        signs = []
        grid = np.linspace(21, 500, 60)
        for b in grid:
            r = float(eq.link.red.drop_probability(b))
            occupancy = occupancy_of(eq, b, r, candidates)
            low, high = 1e-6, 1e4
            if occupancy(low) > 1:
                signs.append(1)
            elif occupancy(high) < 1:
                signs.append(-1)
            else:
                for _ in range(25):
                    tau = math.sqrt(low * high)
                    low, high = (tau, high) if occupancy(tau) < 1 else (low, tau)
                signs.append(1 if throughput(eq, b, r, tau, candidates) > 125 else -1)
        change = np.flatnonzero(np.diff(signs))
        assert change.size == 1
        assert grid[change[0]] <= eq.b <= grid[change[0] + 1]


def flow_state(eq, b, r, tau, m, x):
    """h and 1-p by plain bisection."""
    spent = (1 - r) * -math.expm1(x * tau * math.log1p(-m / b))
    low, high = 0.0, 1.0
    for _ in range(60):
        h = (low + high) / 2
        low, high = (h, high) if m * h < spent * (1 - h) ** m else (low, h)
    return h, (1 - r) * (1 - h) ** m * (1 - m / b) ** (x * tau)


def tcp_rate(eq, b, r, tau, m):
    flow = eq.flows[1]
    low, high = 1e-6, 1e7
    for _ in range(70):
        x = math.sqrt(low * high)
        q = flow_state(eq, b, r, tau, m, x)[1]
        low, high = (x, high) if x < flow.law.rate(1 - q, q, tau, flow.delay) else (low, x)
    return x


def throughput(eq, b, r, tau, m):
    x1 = tcp_rate(eq, b, r, tau, m)
    x0 = eq.x[0]
    return x0 * flow_state(eq, b, r, tau, m, x0)[1] + 32 * x1 * flow_state(eq, b, r, tau, m, x1)[1]


def occupancy_of(eq, b, r, m):
    def occupancy(tau):
        x1 = tcp_rate(eq, b, r, tau, m)
        return flow_state(eq, b, r, tau, m, eq.x[0])[0] + 32 * flow_state(eq, b, r, tau, m, x1)[0]

    return occupancy


def test_speed_of_a_sweep():
    start = time.perf_counter()
    sweep = tcp_sweep(**BASE, udp_rate=125 * np.geomspace(0.05, 200, 1000))
    assert time.perf_counter() - start < 10.0
    assert sweep.residual.max() < 1e-10


def test_sweep_equals_single_solutions_in_any_order():
    rates = 125 * np.array([10, 0.1, 50, 1.0, 0.3])
    sweep = tcp_sweep(**BASE, udp_rate=rates, candidates=2)
    for i, rate in enumerate(rates):
        eq = tcp_equilibrium(**BASE, udp_rate=rate, candidates=2)
        np.testing.assert_allclose(
            [sweep.b[i], sweep.tau[i], *sweep.mu[i]], [eq.b, eq.tau, *eq.mu], rtol=1e-12
        )


def test_too_few_flows():
    with pytest.raises(BelowThresholdError) as caught:
        tcp_equilibrium(**{**BASE, "tcp_flows": 6}, udp_rate=1250)
    assert caught.value.threshold == 20
    assert caught.value.ratio < 1
    assert isinstance(caught.value, NoEquilibriumError)
    sweep = tcp_sweep(**{**BASE, "tcp_flows": [6, 8]}, udp_rate=1250)
    assert sweep.regime == ("below_threshold", "active")
    assert np.isnan(sweep.b[0]) and sweep.b[1] > 20
    assert json.loads(json.dumps(sweep.to_dict()))["b"][0] is None


def test_too_little_load():
    link = ChokeLink(125, Red(20, 520, 0.5))
    with pytest.raises(BelowThresholdError):
        solve(link, [ConstantRate(20, 5)])
    # One or two flows that matching alone can hold never fill the queue, however fast.
    for count in (1, 2):
        with pytest.raises(BelowThresholdError):
            solve(link, [ConstantRate(1e4, count)])


def test_sliding_mode():
    arguments = {**BASE, "max_th": 60, "max_p": 0.05}
    eq = tcp_equilibrium(**arguments, udp_rate=1250, jump=True)
    assert eq.regime == "sliding" and eq.b == 60 and 0.05 < eq.r < 1
    assert eq.residual < 1e-10
    ramp = tcp_equilibrium(**arguments, udp_rate=1250)
    assert ramp.regime == "active" and ramp.b > 60
    # Below max_th the two forms of RED are the same.
    for ratio in (0.1, 1, 100):
        jump = tcp_equilibrium(**BASE, udp_rate=125 * ratio, jump=True)
        assert jump.regime == "active"
        assert jump.b == pytest.approx(tcp_equilibrium(**BASE, udp_rate=125 * ratio).b, rel=1e-13)


def test_splitting_a_class_changes_nothing():
    link = ChokeLink(125, Red(20, 520, 0.5), candidates=2)
    whole = solve(link, [ConstantRate(300), ConstantRate(50, 4), Responsive(30, 0.1)])
    parts = solve(
        link,
        [ConstantRate(50), Responsive(10, 0.1), ConstantRate(300), ConstantRate(50, 3), Responsive(20, 0.1)],
    )
    np.testing.assert_allclose(parts.mu[[2, 0, 3, 1, 4]], whole.mu[[0, 1, 1, 2, 2]], rtol=1e-11)
    assert parts.b == pytest.approx(whole.b, rel=1e-12)


def test_several_constant_rates():
    """Matching cannot hold three fast flows; RED then has to reach (K-2)/(K-1)."""
    link = ChokeLink(125, Red(20, 520, 1.0))
    eq = solve(link, [ConstantRate(1e5, 3), Responsive(5, 0.1)])
    assert eq.r >= 0.5 and eq.residual < 1e-10
    for k in (3, 5):
        fast = solve(link, [ConstantRate(1e6, k)])
        assert fast.r == pytest.approx(drop_needed(k), abs=2e-4)
        np.testing.assert_allclose(fast.mu, 1 / k, rtol=1e-9)
    # With max_p below that and a jump at max_th, the queue is pinned there.
    pinned = solve(ChokeLink(125, Red(20, 520, 0.1, jump=True)), [ConstantRate(1e5, 5), Responsive(32, 0.1)])
    assert pinned.regime == "sliding" and pinned.b == 520
    # Faster constant-rate flows hold more of the queue and lose more; they may yet get less through.
    mixed = solve(link, [ConstantRate(60), ConstantRate(120), ConstantRate(1000), Responsive(32, 0.1)])
    assert np.all(np.diff(mixed.h[:3]) > 0) and np.all(np.diff(mixed.p[:3]) > 0)
    assert mixed.mu[2] < mixed.mu[1]


def test_round_trip_classes():
    link = ChokeLink(125, Red(20, 520, 0.5))
    delays = [0.02, 0.1, 0.4]
    eq = solve(link, [ConstantRate(125), *(Responsive(12, d) for d in delays)])
    assert eq.residual < 1e-10
    x = eq.x[1:]
    inverse = 1 / (np.array(delays) + eq.tau)
    assert x[0] > x[1] > x[2]
    # A faster flow is matched more, so the rates differ less than 1/(d + tau).
    assert x[0] / x[2] < inverse[0] / inverse[2]


def test_vegas_gets_nearer_to_the_limit():
    """Section V.C: Vegas on the larger link peaks closer to 1/(e+1). Its d, alpha, RED are assumed."""
    vegas = {"capacity": 1875.0, "tcp_flows": 100, "delay": 0.1, "min_th": 20, "max_th": 1020, "max_p": 0.1}
    rates = np.geomspace(0.1, 10, 41)
    share = tcp_sweep(**vegas, udp_rate=1875 * rates, law=Vegas(2.0)).mu[:, 0]
    reno = tcp_sweep(**BASE, udp_rate=125 * rates).mu[:, 0]
    limit = 1 / (math.e + 1)
    assert abs(share.max() - limit) < abs(reno.max() - limit)
    assert 10 < share.argmax() < 35 and share[-1] < 0.05
    fast = tcp_equilibrium(**vegas, udp_rate=200 * 1875.0, law=Vegas(2.0))
    assert fast.residual < 1e-10


def test_more_candidates_help_less_and_less():
    share = [float(tcp_equilibrium(**BASE, udp_rate=250, candidates=m).mu[0]) for m in (1, 2, 3)]
    assert share[0] > share[1] > share[2]
    assert share[0] - share[1] > share[1] - share[2]


def test_custom_rate_law():
    class Cubic:
        def rate(self, loss, survival, queueing, delay):
            return 1.2 * (1 / loss) ** 0.75 / (delay + queueing) ** 0.25

    assert tcp_equilibrium(**BASE, udp_rate=125, law=Cubic()).residual < 1e-10


def test_no_udp():
    eq = tcp_equilibrium(**BASE, udp_rate=0)
    assert eq.h[0] == eq.mu[0] == 0
    assert eq.mu[1] == pytest.approx(1 / 32, rel=1e-12)
    np.testing.assert_allclose(eq.p[0], eq.r)


def test_json_keys():
    result = json.loads(json.dumps(tcp_equilibrium(**BASE, udp_rate=125).to_dict()))
    assert {"b", "r", "tau", "h", "p", "mu", "x", "goodput", "residual", "regime"} <= set(result)
    assert result["names"] == ["udp", "tcp"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, bad) for name in ("capacity", "tcp_flows", "max_p") for bad in (0, -1, math.nan, math.inf)],
        *[(name, bad) for name in ("delay", "min_th", "udp_rate") for bad in (-1, math.nan, "x")],
        ("max_th", 20), ("max_p", 1.5), ("candidates", 0), ("candidates", 1.5), ("survival", "other"),
        ("law", 3), ("capacity", True), ("max_th", math.nan),
    ],
)  # fmt: skip
def test_invalid(name, value):
    arguments = {**BASE, "udp_rate": 125, name: value}
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        tcp_equilibrium(**arguments)
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        tcp_sweep(**arguments)


def test_invalid_shapes():
    with pytest.raises(ValueError, match=r"^tcp_flows and udp_rate"):
        tcp_sweep(**{**BASE, "tcp_flows": [10, 20]}, udp_rate=[1, 2, 3])
    with pytest.raises(ValueError, match=r"^flows"):
        solve(ChokeLink(125, Red(20, 520, 0.5)), [])
    with pytest.raises(ValueError, match=r"^candidates"):
        ChokeLink(125, Red(1, 4, 0.5, jump=True), candidates=4)
