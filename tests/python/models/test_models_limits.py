"""Peaks, the asymptotic regime (theorems 5 and 6) and the fewest flows."""

import json
import math
import os

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairdrop.models import (
    BelowThresholdError,
    Pftk,
    Reno,
    Vegas,
    asymptote,
    minimum_flows,
    minimum_flows_estimate,
    occupancy_bound,
    peak,
    peak_share,
    tcp_equilibrium,
)
from model_cases import BASE, log_floats

EXAMPLES = 500 if os.environ.get("FAIRDROP_LONG") == "1" else 40


@st.composite
def parameters(draw):
    c = draw(log_floats(20, 2e4))
    min_th = draw(log_floats(10, 300))
    return {
        "capacity": c, "tcp_flows": draw(log_floats(10, 1000)), "delay": draw(log_floats(1e-3, 0.5)),
        "min_th": min_th, "max_th": min_th * draw(log_floats(2, 30)), "max_p": draw(log_floats(0.02, 1.0)),
        "candidates": draw(st.integers(1, 4)), "survival": draw(st.sampled_from(["cbr", "poisson"])),
        "law": draw(st.sampled_from([Reno(), Pftk(), Vegas(2.0)])), "jump": draw(st.booleans()),
    }  # fmt: skip


# Peaks of the full model at one RED slope, to five digits: N, mu, r, mu by the formula.
@pytest.mark.parametrize(
    ("n", "mu", "r", "formula"),
    [
        (12, 0.26904, None, None), (32, 0.24869, 0.1104, 0.24656), (100, 0.21970, 0.2377, 0.21901),
        (1000, 0.13248, 0.5849, 0.13249),
    ],
)  # fmt: skip
def test_peaks(n, mu, r, formula):
    top = peak(**{**BASE, "tcp_flows": n}, survival="poisson")
    assert float(top.mu[0]) == pytest.approx(mu, abs=6e-6)
    if r is not None:
        assert top.r == pytest.approx(r, abs=6e-5)
        assert float(peak_share(top.r)[0]) == pytest.approx(formula, abs=6e-6)
    for factor in (0.98, 1.02):
        other = tcp_equilibrium(
            **{**BASE, "tcp_flows": n}, survival="poisson", udp_rate=float(top.x[0]) * factor
        )
        assert other.mu[0] < top.mu[0]


def test_peak_of_theorem_1_is_no_upper_bound():
    top = peak(**{**BASE, "max_p": 0.5e-3})
    assert float(top.mu[0]) == pytest.approx(0.27082, abs=6e-6)
    assert top.mu[0] > peak_share(0.0)[0]


def test_peak_share_is_the_maximum_for_small_tcp_matches():
    assert float(peak_share(0.0)[0]) == pytest.approx(1 / (math.e + 1), rel=1e-15)
    r = np.linspace(0, 0.9, 10)
    mu, ratio = peak_share(r)
    for k, drop in enumerate(r):
        u = np.linspace(0.5, 1.5, 2001)
        odds = (1 - drop) * u * np.exp(-u)
        share = odds / (1 + odds)
        assert share.max() == pytest.approx(mu[k], rel=1e-12)
        # u = x_0 tau/b with mu = (x_0/c)(1-r) e^{-u}/(2-r-(1-r) e^{-u}), at the peak u = 1.
        assert ratio[k] == pytest.approx(
            mu[k] * (1 + (1 - drop) * (1 - 1 / math.e)) * math.e / (1 - drop), rel=1e-12
        )


@pytest.mark.parametrize(
    ("form", "survival", "row"),
    [
        ("log", "cbr", (144.6576, 0.124658, 0.155908, 4.627752, 0.611060, 67.5210)),
        ("linear", "cbr", (143.9172, 0.123917, 0.155167, 4.623696, 0.613692, 67.2057)),
        ("exact", "cbr", (144.9167, 0.124917, 0.156167, 4.629173, 0.610143, 67.6312)),
        ("exact", "poisson", (144.6550, 0.124655, 0.155905, 4.627738, 0.611069, 67.5199)),
    ],
)
def test_asymptotic_regime(form, survival, row):
    limit = asymptote(**BASE, form=form, survival=survival)
    values = (limit.b, limit.r, limit.p, limit.x, limit.tau, limit.y_star)
    for value, printed, digits in zip(values, row, (4, 6, 6, 6, 6, 4), strict=True):
        assert round(value, digits) == printed
    # Equations (39), (40), (43).
    assert limit.x * (1 - limit.p) == pytest.approx(125 / 32, rel=1e-12)
    assert limit.p == pytest.approx(limit.r + 1 / 32, rel=1e-12)
    assert limit.x == pytest.approx(math.sqrt(2 * (1 - limit.p) / limit.p) / (0.1 + limit.tau), rel=1e-12)
    json.dumps(limit.to_dict())


def test_other_asymptotes():
    assert asymptote(**BASE, form="log", law=Reno(small_loss=True)).b == pytest.approx(152.68, abs=5e-3)
    assert asymptote(**BASE, form="linear", law=Reno(small_loss=True)).b == pytest.approx(151.85, abs=5e-3)
    log, exact = (asymptote(**BASE, form=form, survival="poisson") for form in ("log", "exact"))
    assert log.tau == pytest.approx(exact.tau, rel=1e-12)


def test_share_of_a_very_fast_flow():
    limit = asymptote(**BASE)
    assert float(limit.udp_share(3750)) == pytest.approx(1.8428e-6, rel=3e-5)
    assert float(tcp_equilibrium(**BASE, udp_rate=3750).mu[0]) == pytest.approx(1.8427e-6, rel=3e-5)


@settings(max_examples=EXAMPLES, deadline=None)
@given(parameters())
def test_theorems_5_and_6(arguments):
    """Full model at a very high rate against its limit: h_0, r, b, tau, x_1 converge, p_0 -> 1, mu_0 -> 0."""
    try:
        limit = asymptote(**arguments)
        # Far beyond the front: the survival of UDP is e^{-60} or less.
        fast = tcp_equilibrium(**arguments, udp_rate=60 / limit.theta)
    except BelowThresholdError:
        assume(False)
    assume(limit.b > 1.05 * arguments["min_th"])
    m = arguments["candidates"]
    assert fast.regime == limit.regime
    np.testing.assert_allclose(
        [fast.b, fast.r, fast.tau, *fast.h, fast.x[1], fast.p[1]],
        [limit.b, limit.r, limit.tau, *limit.h, limit.x, limit.p],
        rtol=1e-8,
    )
    assert limit.r < 1 and limit.tau > 0 and math.isfinite(limit.x)
    assert limit.h[0] == pytest.approx(float(occupancy_bound(limit.r, m)), rel=1e-12)
    if m == 1:
        assert limit.h[0] == pytest.approx((1 - limit.r) / (2 - limit.r), rel=1e-12)
    assert fast.p[0] > 1 - 1e-12
    assert fast.mu[0] < 1e-12
    assert float(limit.udp_share(60 / limit.theta)) == pytest.approx(float(fast.mu[0]), rel=1e-5)
    # The share falls all the way from its peak.
    slower = tcp_equilibrium(**arguments, udp_rate=30 / limit.theta)
    assert fast.mu[0] < slower.mu[0] < 1e-5


def test_minimum_flows():
    assert minimum_flows_estimate(125, 0.1, 20) == pytest.approx(8.0831, abs=5e-5)
    assert round(minimum_flows_estimate(125, 0.1, 20), 2) == 8.08
    common = {"capacity": 125, "delay": 0.1, "min_th": 20}
    exact = [minimum_flows(**common, udp_rate=125 * s) for s in (1, 10, 100)]
    np.testing.assert_allclose(exact, [7.81, 7.14, 7.21], atol=5e-3)
    small = [minimum_flows(**common, udp_rate=125 * s, law=Reno(small_loss=True)) for s in (1, 10, 100)]
    np.testing.assert_allclose(small, [7.41, 6.82, 6.89], atol=6e-3)


@pytest.mark.parametrize("ratio", [0.1, 1, 10])
@pytest.mark.parametrize("candidates", [1, 2])
def test_minimum_flows_is_the_edge_of_the_domain(ratio, candidates):
    n = minimum_flows(capacity=125, delay=0.1, min_th=20, udp_rate=125 * ratio, candidates=candidates)
    just = tcp_equilibrium(**{**BASE, "tcp_flows": n * 1.0001}, udp_rate=125 * ratio, candidates=candidates)
    assert 20 < just.b < 20.1
    with pytest.raises(BelowThresholdError):
        tcp_equilibrium(**{**BASE, "tcp_flows": n * 0.9999}, udp_rate=125 * ratio, candidates=candidates)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: asymptote(**BASE, form="other"), "form"),
        (lambda: asymptote(**BASE, form="log", candidates=2), "candidates"),
        (lambda: asymptote(**{**BASE, "tcp_flows": 0}), "tcp_flows"),
        (lambda: peak(**{**BASE, "capacity": 0}), "capacity"),
        (lambda: peak_share(1.0), "r"),
        (lambda: peak_share(-0.1), "r"),
        (lambda: minimum_flows(capacity=125, delay=0.1, min_th=0, udp_rate=1), "min_th"),
        (lambda: minimum_flows(capacity=125, delay=0.1, min_th=2, udp_rate=1, candidates=3), "min_th"),
        (lambda: minimum_flows_estimate(0, 0.1, 20), "capacity"),
    ],
)
def test_invalid(call, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()


def test_asymptote_below_threshold():
    with pytest.raises(BelowThresholdError):
        asymptote(**{**BASE, "tcp_flows": 6})
