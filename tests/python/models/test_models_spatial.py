"""Theorems 3, 4, 7, 8 and 9, the boundary conditions, and the closed form against the ODE."""

import json
import math
import os

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairdrop.models import (
    BelowThresholdError,
    ChokeLink,
    ConstantRate,
    Pftk,
    Red,
    Reno,
    Responsive,
    Vegas,
    asymptote,
    inflexion,
    limit_profile,
    position,
    profile,
    profile_length,
    profile_ode,
    solve,
    tcp_equilibrium,
)
from model_cases import BASE, log_floats

EXAMPLES = 500 if os.environ.get("FAIRDROP_LONG") == "1" else 50


@st.composite
def equilibria(draw, slowest=0.05, fastest=50.0):
    c = draw(log_floats(20, 2e4))
    min_th = draw(log_floats(10, 300))
    arguments = {
        "capacity": c, "tcp_flows": draw(log_floats(10, 500)), "delay": draw(log_floats(1e-3, 0.5)),
        "min_th": min_th, "max_th": min_th * draw(log_floats(2, 30)), "max_p": draw(log_floats(0.02, 1.0)),
        "candidates": draw(st.integers(1, 3)), "survival": draw(st.sampled_from(["cbr", "poisson"])),
        "law": draw(st.sampled_from([Reno(), Pftk(), Vegas(2.0)])),
        "udp_rate": c * draw(log_floats(slowest, fastest)),
    }  # fmt: skip
    try:
        return tcp_equilibrium(**arguments)
    except BelowThresholdError:
        assume(False)


@settings(max_examples=EXAMPLES, deadline=None)
@given(equilibria())
def test_theorem_3(eq):
    """v strictly decreasing and convex between the boundary values (30) and (31)."""
    result = profile(eq, points=101)
    m = eq.link.candidates
    entered = eq.count * eq.x * (1 - eq.r) * (1 - eq.h) ** m
    assert result.v[0] == pytest.approx(entered.sum(), rel=1e-12)
    assert result.v[-1] == pytest.approx(eq.link.capacity, rel=1e-9)
    assert np.all(np.diff(result.v) < 0)
    slope = np.diff(result.v)
    assert np.all(np.diff(slope) > -1e-11 * result.v[0])


def test_theorem_3_linear_iff_equal_rates():
    link = ChokeLink(125, Red(20, 520, 0.5))
    x1 = solve(link, [ConstantRate(4.0), Responsive(32, 0.1)]).x[1]
    for _ in range(60):
        eq = solve(link, [ConstantRate(float(x1)), Responsive(32, 0.1)])
        x1 = eq.x[1]
    v = profile(eq, points=101).v
    np.testing.assert_allclose(np.diff(v, 2), 0, atol=1e-9)
    assert inflexion(eq).shape in {"constant", "convex", "concave"}
    bent = profile(solve(link, [ConstantRate(20.0), Responsive(32, 0.1)]), points=101).v
    assert np.diff(bent, 2).min() > 1e-6


@settings(max_examples=EXAMPLES, deadline=None)
@given(equilibria())
def test_theorem_4(eq):
    """rho_0 falls from the tail to mu_0 at the head, concave above rho_star and convex below."""
    result = profile(eq, points=401)
    rho = result.rho[0]
    entry = eq.count * eq.x * (1 - eq.h) ** eq.link.candidates
    assert rho[0] == pytest.approx(entry[0] / entry.sum(), rel=1e-11)
    assert rho[-1] == pytest.approx(eq.mu[0], rel=1e-7)
    np.testing.assert_allclose(eq.count @ result.rho, 1, rtol=1e-12)
    assume(abs(eq.x[0] / eq.x[1] - 1) > 0.01)
    bend = inflexion(eq)
    if eq.x[0] < eq.x[1]:
        assert np.all(np.diff(rho) > 0)
        return
    assert np.all(np.diff(rho)[rho[1:] > 1e-12] < 0)
    assert bend.rho_star == pytest.approx((eq.x[0] - 2 * eq.x[1]) / (3 * (eq.x[0] - eq.x[1])), rel=1e-13)
    second = np.diff(rho, 2)
    noise = 1e-12
    inner = result.y[1:-1]
    if bend.shape == "convex":
        assert rho[0] <= bend.rho_star and np.all(second > -noise)
    elif bend.shape == "concave":
        assert rho[-1] >= bend.rho_star and np.all(second < noise)
    else:
        assert bend.shape == "concave-convex"
        step = result.y[1]
        assert np.all(second[inner < bend.y - step] < noise)
        assert np.all(second[inner > bend.y + step] > -noise)
        at = profile(eq, [bend.y])
        assert at.rho[0, 0] == pytest.approx(bend.rho_star, rel=1e-9)


def test_all_shapes_occur():
    shapes = {
        inflexion(tcp_equilibrium(**{**BASE, "tcp_flows": n}, udp_rate=125 * ratio)).shape
        for n in (12, 32)
        for ratio in (0.01, 0.1, 0.3, 0.5, 1, 10)
    }
    assert shapes == {"convex", "concave", "concave-convex"}


@settings(max_examples=EXAMPLES, deadline=None)
@given(equilibria())
def test_remaining_conditions(eq):
    """(25) to (29) against numerical quadrature; the profile is m/beta long."""
    result = profile(eq, position(eq, np.linspace(0, eq.tau, 20001)))
    y = result.y
    assert y[-1] == pytest.approx(profile_length(eq), rel=1e-9)
    assert result.t[-1] == pytest.approx(eq.tau, rel=1e-9)
    trapezoid = np.diff(y) * (1 / result.v[1:] + 1 / result.v[:-1]) / 2
    assert trapezoid.sum() == pytest.approx(eq.tau, rel=1e-3)
    held = (np.diff(y) * (result.rho[:, 1:] + result.rho[:, :-1]) / 2).sum(axis=1)
    np.testing.assert_allclose(held, eq.h * profile_length(eq), rtol=1e-3)
    np.testing.assert_allclose(result.rho[:, -1], eq.mu, rtol=1e-7, atol=1e-300)
    if eq.link.survival == "poisson":
        assert profile_length(eq) == pytest.approx(eq.b, rel=1e-14)
    else:
        assert eq.b - profile_length(eq) == pytest.approx(eq.link.candidates / 2, rel=0.2)


@pytest.mark.parametrize("survival", ["cbr", "poisson"])
@pytest.mark.parametrize("ratio", [0.1, 1, 5, 10, 30])
def test_closed_form_against_ode(ratio, survival):
    eq = tcp_equilibrium(**BASE, udp_rate=125 * ratio, survival=survival)
    closed, ode = profile(eq), profile_ode(eq)
    np.testing.assert_allclose(closed.rho[0], ode.rho[0], rtol=0, atol=5e-11)
    np.testing.assert_allclose(closed.v, ode.v, rtol=1e-10)
    np.testing.assert_allclose(closed.t, ode.t, rtol=0, atol=1e-10)


def test_closed_form_against_ode_with_classes():
    link = ChokeLink(125, Red(20, 520, 0.5), candidates=2)
    eq = solve(link, [ConstantRate(300), ConstantRate(60, 2), Responsive(20, 0.05), Responsive(10, 0.3)])
    grid = np.linspace(0, profile_length(eq), 57)[::-1]
    closed, ode = profile(eq, grid), profile_ode(eq, grid)
    np.testing.assert_allclose(closed.rho, ode.rho, rtol=0, atol=1e-10)
    np.testing.assert_allclose(closed.rho[:, 0], eq.mu, rtol=1e-9)


def test_length_of_the_profile():
    eq = tcp_equilibrium(**BASE, udp_rate=125)
    assert eq.b - profile_length(eq) == pytest.approx(0.5 + 1 / (12 * eq.b), abs=1e-4)


def test_figure_6():
    """Nearly uniform at a tenth of the capacity; concentrated at the tail at ten times it."""
    low = profile(tcp_equilibrium(**BASE, udp_rate=12.5)).rho[0]
    assert (round(low[0], 4), round(low[-1], 4)) == (0.0817, 0.0769)
    high = profile(tcp_equilibrium(**BASE, udp_rate=1250)).rho[0]
    assert high[0] > 0.8 and high[-1] < 0.022
    fast = tcp_equilibrium(**BASE, udp_rate=12500)
    assert profile(fast, [profile_length(fast) / 2]).rho[0, 0] == pytest.approx(0.44, abs=0.005)


@settings(max_examples=max(10, EXAMPLES // 5), deadline=None)
@given(equilibria(slowest=1.0, fastest=1.0))
def test_lemma_7_theorems_8_and_9(eq):
    """Towards infinite rate rho_0 and v tend to their limits on either side of y_star."""
    tcp = eq.flows[1]
    red = eq.link.red
    arguments = {
        "capacity": eq.link.capacity, "tcp_flows": tcp.count, "delay": tcp.delay, "min_th": red.min_th,
        "max_th": red.max_th, "max_p": red.max_p, "candidates": eq.link.candidates, "survival": "poisson",
        "law": tcp.law,
    }  # fmt: skip
    try:
        limit = asymptote(**arguments)
        profiles = []
        for exponent in (300, 3000):
            fast = tcp_equilibrium(**arguments, udp_rate=exponent / limit.theta)
            profiles.append((fast, profile(fast, np.array([0.3, 0.9, 1.1, 1.5]) * limit.y_star)))
    except BelowThresholdError:
        assume(False)
    assume(1.5 * limit.y_star < limit.b and limit.b > 1.05 * red.min_th)
    expected = limit_profile(limit, profiles[1][1].y)
    assert expected.rho[0].tolist() == [1, 1, 0, 0]
    (_, near), (fast, far) = profiles
    error = [np.abs(p.rho[0] - expected.rho[0]) for p in (near, far)]
    assert np.all(error[1] <= error[0] + 1e-12)
    front = math.log(fast.x[0] / (tcp.count * fast.x[1])) * fast.link.capacity / (fast.beta * fast.x[0])
    assume(front < 0.02 * limit.y_star)
    assert np.all(error[1] < 0.1)
    assert np.all(far.v[:2] > 2 * near.v[:2])
    np.testing.assert_allclose(far.v[2:], expected.v[2:], rtol=0.05)
    # Lemma 7: before the front a packet has spent next to no time in the queue.
    assert np.all(far.t[:2] < 0.02 * fast.tau) and np.all(expected.t[:2] == 0)
    np.testing.assert_allclose(far.t[2:], expected.t[2:], rtol=0.05, atol=0.02 * fast.tau)


def test_limit_profile():
    limit = asymptote(**BASE, survival="poisson")
    y = np.linspace(0, limit.b, 9)
    result = limit_profile(limit, y)
    assert limit.y_star == pytest.approx(limit.b * (1 - limit.r) / (2 - limit.r), rel=1e-12)
    assert np.all(np.isinf(result.v[y < limit.y_star]))
    after = y >= limit.y_star
    np.testing.assert_allclose(result.v[after], 125 + limit.x / limit.b * (limit.b - y[after]), rtol=1e-12)
    np.testing.assert_allclose(result.counts @ result.rho, 1)
    # Equation (41): the time to cross the queue is the time spent beyond y_star.
    assert result.t[-1] == pytest.approx(limit.tau, rel=1e-10)


def test_json():
    eq = tcp_equilibrium(**BASE, udp_rate=125)
    json.dumps(profile(eq, points=5).to_dict())
    json.dumps(inflexion(eq).to_dict())


def test_invalid():
    eq = tcp_equilibrium(**BASE, udp_rate=125)
    for y in ([-1.0], [math.nan], [eq.b + 1], [[1.0]]):
        with pytest.raises(ValueError, match=r"^y\b"):
            profile(eq, y)
    with pytest.raises(ValueError, match=r"^points\b"):
        profile(eq, points=1)
    with pytest.raises(ValueError, match=r"^t\b"):
        position(eq, -1)
    with pytest.raises(ValueError, match=r"^y\b"):
        limit_profile(asymptote(**BASE), [1e4])
    three = solve(ChokeLink(125, Red(20, 520, 0.5)), [ConstantRate(9), ConstantRate(8), Responsive(32, 0.1)])
    with pytest.raises(ValueError, match=r"^eq\b"):
        inflexion(three)
