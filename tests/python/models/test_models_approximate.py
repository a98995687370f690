"""The approximate models: theorem 1 to the last digit, theorem 2, the variants, extensions."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairdrop.models import (
    BelowThresholdError,
    approximate_share,
    drop_needed,
    flows_held,
    maximum_share,
    occupancy_bound,
    share_curve,
    tcp_approximate,
    tcp_equilibrium,
)
from model_cases import BASE

E = math.e


def test_theorem_1():
    peak = maximum_share()
    assert peak.a == pytest.approx(E, rel=1e-12)
    assert peak.mu == pytest.approx(1 / (E + 1), rel=1e-12)
    assert peak.h == pytest.approx((E - 1) / (2 * E - 1), rel=1e-12)
    assert peak.load == pytest.approx((2 * E - 1) / (E + 1), rel=1e-12)
    assert [round(v, 3) for v in (peak.mu, peak.load, peak.h)] == [0.269, 1.193, 0.387]
    np.testing.assert_allclose(approximate_share(peak.load).mu, peak.mu, rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 300))
def test_equations_18_to_21(u):
    point = share_curve(u)
    a, mu, s, h = math.exp(u), float(point.mu), float(point.load), float(point.h)
    assert mu / (1 - mu) == pytest.approx(u / a, rel=1e-12)
    assert s == pytest.approx((2 * a - 1) * u / (a + u), rel=1e-12)
    assert s == pytest.approx(mu * (2 * a - 1), rel=1e-12)
    assert h == pytest.approx((a - 1) / (2 * a - 1), rel=1e-12)
    assert mu <= maximum_share().mu * (1 + 1e-15)
    np.testing.assert_allclose(approximate_share(s).mu, mu, rtol=1e-10)


def test_theorem_2_and_the_tail():
    loads = np.array([10, 20, 40, 200.0])
    curve = approximate_share(loads)
    np.testing.assert_allclose(
        (curve.mu / (loads / 2 * np.exp(-loads / 2)))[:3], [0.85, 0.995, 1.0], atol=3e-3
    )
    assert curve.mu[-1] < 1e-40
    assert curve.h[-1] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_candidates(m):
    peak = maximum_share(m)
    published = {1: 0.26894, 2: 0.12863, 3: 0.08452, 4: 0.06294, 5: 0.05014}
    assert round(peak.mu, 5) == published[m]
    if m == 2:
        assert round(peak.load, 3) == 0.486
    u = np.geomspace(1e-4, 50, 4000)
    curve = share_curve(u, m)
    assert curve.mu.max() <= peak.mu * (1 + 1e-12)
    assert curve.mu.max() == pytest.approx(peak.mu, rel=1e-4)
    assert np.all(np.diff(curve.load) > 0)
    # The defining relations, with a = e^u: m h = (1-h)^m (1 - 1/a) and mu/(1-mu) = ln(a)(1-h)^(m-1)/(m a).
    np.testing.assert_allclose(m * curve.h, (1 - curve.h) ** m * -np.expm1(-u), rtol=1e-12)
    np.testing.assert_allclose(
        curve.mu / (1 - curve.mu), u * np.exp(-u) * (1 - curve.h) ** (m - 1) / m, rtol=1e-10
    )
    assert curve.h.max() <= occupancy_bound(0, m) * (1 + 1e-14)


def test_several_fast_flows():
    u = np.geomspace(1e-3, 0.6, 50)
    for k in (1, 2, 3):
        a = np.exp(u)
        curve = share_curve(u, udp_flows=k)
        total = k * u / ((2 - k) * a + k - 1 + k * u)
        np.testing.assert_allclose(k * curve.mu, total, rtol=1e-12)
        np.testing.assert_allclose(curve.load, total / k * (2 * a - 1), rtol=1e-12)
    two = approximate_share([1, 10, 1e3, 1e6], udp_flows=2)
    assert np.all(np.diff(two.mu) > 0) and 0.4 < two.mu[-1] < 0.5
    for k in (3, 4, 5):
        edge = 1 / (k - 2)
        below, above = approximate_share([edge * (1 - 1e-9), edge * 1.01], udp_flows=k).mu
        assert below == pytest.approx(1 / k, rel=1e-6)
        assert above == 1 / k
        assert float(approximate_share(edge * (1 - 1e-9), udp_flows=k).u) == pytest.approx(
            math.log((k - 1) / (k - 2)), rel=1e-6
        )
    assert approximate_share(5.0, candidates=4, udp_flows=5).mu < 0.2


def test_flows_that_matching_holds():
    assert [flows_held(m) for m in range(1, 6)] == [1, 3, 5, 7, 9]
    bounds = [float(occupancy_bound(0, m)) for m in range(1, 6)]
    np.testing.assert_allclose(bounds, [0.5, 2 - math.sqrt(3), 0.18227, 0.13802, 0.11103], atol=5e-6)
    assert [drop_needed(k) for k in (1, 2, 3, 5)] == pytest.approx([0, 0, 0.5, 0.75])
    for m in (1, 2, 4):
        for k in (9, 12, 20):
            r = drop_needed(k, m)
            assert r == 0 or k * float(occupancy_bound(r, m)) == pytest.approx(1, rel=1e-12)
    # The recommendation of five drops against five UDP flows in "CHOKe" is four candidates.
    assert flows_held(4) >= 5 > flows_held(2)


@pytest.mark.parametrize("variant", ["III-C", "order", "three"])
@pytest.mark.parametrize("ratio", [0.1, 1.0, 1.2, 10.0, 100.0])
def test_variants_solve_their_equations(variant, ratio):
    x0 = 125 * ratio
    result = tcp_approximate(**BASE, udp_rate=x0, variant=variant)
    b, r, tau, h, q = result.b, result.r, result.tau, result.h[0], result.survival[0]
    survive = math.exp(-1 / b) if variant == "three" else 1 - 1 / b
    if variant == "III-C":
        assert q == pytest.approx((1 - r) * (1 - h) * survive ** (x0 * tau), rel=1e-10)
        assert result.p[0] == pytest.approx(2 * h + r - r * h, rel=1e-12)
    else:
        assert (1 - 2 * h) / (1 - h) == pytest.approx(survive ** (x0 * (1 - r) * tau), rel=1e-9, abs=1e-15)
        assert result.p[0] == pytest.approx(r + 2 * (1 - r) * h, rel=1e-12)
    assert b * (1 - h) == pytest.approx((125 - x0 * q) * tau, rel=1e-12)
    assert x0 * q + 32 * result.x[1] * (1 - r) == pytest.approx(125, rel=1e-12)
    assert result.x[1] == pytest.approx(math.sqrt(2 * (1 - r) / r) / (0.1 + tau), rel=1e-12)
    assert r == pytest.approx(1e-3 * (b - 20), rel=1e-12)
    assert result.residual < 1e-12
    json.dumps(result.to_dict())


def test_third_approximation_is_the_closed_form():
    for ratio in (0.3, 1.0, 1.2, 8.0):
        result = tcp_approximate(**BASE, udp_rate=125 * ratio, variant="three")
        exact = approximate_share(ratio * (1 - result.r))
        assert result.mu[0] == pytest.approx(float(exact.mu), rel=1e-9)
        assert result.h[0] == pytest.approx(float(exact.h), rel=1e-9)


def test_candidates_with_the_third_approximation():
    result = tcp_approximate(**BASE, udp_rate=200, variant="three", candidates=3)
    exact = approximate_share(200 / 125 * (1 - result.r), candidates=3)
    assert result.mu[0] == pytest.approx(float(exact.mu), rel=1e-9)


def test_full_model_is_below_the_approximate_peak():
    """Section V.A: simulation and full model both show less than theorem 1."""
    full = max(tcp_equilibrium(**BASE, udp_rate=125 * s).mu[0] for s in np.linspace(0.9, 1.5, 13))
    order = max(
        tcp_approximate(**BASE, udp_rate=125 * s, variant="order").mu[0] for s in np.linspace(0.9, 1.8, 19)
    )
    assert full < order < maximum_share().mu + 1e-3


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: maximum_share(0), "candidates"),
        (lambda: share_curve(-1), "u"),
        (lambda: share_curve(math.nan), "u"),
        (lambda: share_curve(5, udp_flows=3), "u"),
        (lambda: approximate_share(-1), "load"),
        (lambda: approximate_share(1, udp_flows=0), "udp_flows"),
        (lambda: approximate_share(1, candidates=1.5), "candidates"),
        (lambda: tcp_approximate(**BASE, udp_rate=1, variant="four"), "variant"),
        (lambda: tcp_approximate(**BASE, udp_rate=-1), "udp_rate"),
        (lambda: occupancy_bound(1.5), "r"),
        (lambda: flows_held(1, 1.0), "r"),
        (lambda: drop_needed(0), "udp_flows"),
    ],
)
def test_invalid(call, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()


def test_vegas_below_threshold():
    from fairdrop.models import Vegas

    with pytest.raises(BelowThresholdError):
        tcp_approximate(**{**BASE, "tcp_flows": 2}, udp_rate=125, law=Vegas(1.0))
