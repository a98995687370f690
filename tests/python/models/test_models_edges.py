"""Edges of the models: no invalid answer is returned, and invalid input is refused in a sentence."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from fairdrop.models import (
    BelowThresholdError,
    ChokeLink,
    ConstantRate,
    ConvergenceError,
    ModelError,
    NoEquilibriumError,
    Pftk,
    Red,
    Reno,
    Responsive,
    TailDropError,
    Vegas,
    approximate_share,
    asymptote,
    back_choke,
    chokew_equilibrium,
    front_choke,
    limit_profile,
    minimum_flows,
    peak,
    profile,
    share_curve,
    solve,
    tcp_approximate,
    tcp_equilibrium,
    tcp_grid,
    tcp_sweep,
    ward_equilibrium,
)
from model_cases import BASE

LINK = ChokeLink(125.0, Red(20, 520, 0.5))


class Falling:
    """A law that is no law: the rate jumps, so that equation (8) has no solution."""

    def rate(self, loss, survival, queueing, delay):
        return 3.0 if loss > 0.2 else 300.0


class Zero:
    """A law that sends nothing."""

    def rate(self, loss, survival, queueing, delay):
        return 0.0


def strict(document):
    """The document as JSON without NaN and infinity."""
    return json.loads(json.dumps(document, allow_nan=False))


def test_chokew_does_not_return_shares_that_do_not_fill_the_link():
    """The queue of these Vegas flows has no delay at which 125 packets/s get through; it gave a sum of 0.002."""
    with pytest.raises(NoEquilibriumError):
        chokew_equilibrium(125.0, [Responsive(100, 0.1, Vegas(50))], [1], b=50.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda law: solve(LINK, [Responsive(30, 0.1, law)]),
        lambda law: chokew_equilibrium(125.0, [Responsive(30, 0.1, law)], [1]),
        lambda law: ward_equilibrium(125.0, [Responsive(30, 0.1, law)], 200),
        lambda law: asymptote(**BASE, law=law),
        lambda law: tcp_approximate(**BASE, udp_rate=50, law=law),
    ],
)
@pytest.mark.parametrize("law", [Falling(), Zero()])
def test_a_law_that_has_no_solution_gives_no_result(call, law):
    with pytest.raises(ModelError):
        call(law)


@pytest.mark.parametrize("candidates", [1, 2, 10, 40])
def test_peak_is_one(candidates):
    """The share is lower on both sides; with many candidates the peak is below 0.05 c, where the search ended."""
    many = {**BASE, "tcp_flows": 32 * candidates, "min_th": 60, "max_th": 560, "candidates": candidates}
    found = peak(**many)
    rate, share = float(found.x[0]), float(found.mu[0])
    for factor in (0.8, 0.97, 1.03, 1.25):
        assert float(tcp_equilibrium(**many, udp_rate=factor * rate).mu[0]) < share
    assert (rate < 0.05 * 125) == (candidates == 40)


def test_peak_without_one_says_so():
    """Three flows hold no queue: the share exists only for the fastest UDP, and falls from there."""
    with pytest.raises(NoEquilibriumError):
        peak(**{**BASE, "tcp_flows": 2})


def test_a_sweep_goes_on_after_a_point_without_a_solution():
    found = tcp_sweep(**{**BASE, "tcp_flows": 32}, udp_rate=[10.0, 50.0], law=Falling())
    assert set(found.regime) <= {"no_equilibrium", "not_converged"}
    assert np.isnan(found.b).all()
    assert all(found.error)
    mixed = tcp_sweep(**{**BASE, "tcp_flows": [32.0, 1e-3, 1e300]}, udp_rate=50.0)
    assert mixed.regime[0] == "active"
    assert "below_threshold" in mixed.regime
    assert mixed.error[0] == ""
    strict(mixed.to_dict())


NUMBERS = {
    "capacity": lambda value: tcp_equilibrium(**{**BASE, "capacity": value}, udp_rate=10),
    "delay": lambda value: tcp_equilibrium(**{**BASE, "delay": value}, udp_rate=10),
    "min_th": lambda value: tcp_equilibrium(**{**BASE, "min_th": value}, udp_rate=10),
    "max_p": lambda value: tcp_equilibrium(**{**BASE, "max_p": value}, udp_rate=10),
    "tcp_flows": lambda value: tcp_equilibrium(**{**BASE, "tcp_flows": value}, udp_rate=10),
    "udp_rate": lambda value: tcp_equilibrium(**BASE, udp_rate=value),
    "candidates": lambda value: tcp_equilibrium(**BASE, udp_rate=10, candidates=value),
    "mu": lambda value: front_choke(value, [1.0, 2.0]),
    "rates": lambda value: front_choke(1.0, [value, 2.0]),
    "memory": lambda value: back_choke([1.0, 2.0], value),
    "buffer": lambda value: ward_equilibrium(125.0, [ConstantRate(250)], value),
    "weights": lambda value: chokew_equilibrium(125.0, [ConstantRate(250)], [value]),
    "b": lambda value: chokew_equilibrium(125.0, [ConstantRate(250)], [1], value),
    "alpha": Vegas,
    "min_rto": Pftk,
    "packets_per_ack": lambda value: Pftk(packets_per_ack=value),
    "constant": lambda value: Reno(constant=value),
    "rate": ConstantRate,
    "count": lambda value: ConstantRate(1.0, value),
    "load": lambda value: approximate_share([value]),
    "u": lambda value: share_curve(value),
}


NOT_NUMBERS = {
    "text": "10", "bytes": b"10", "bool": True, "None": None, "complex": 1j, "list": [[1, 2], 3], "dict": {},
    "long": 10**400, "longer": 10**5000, "nan": math.nan,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NUMBERS))
@pytest.mark.parametrize("kind", ["text", "bytes", "bool", "None", "complex", "list", "dict", "long", "longer", "nan"])
def test_what_is_no_number_is_refused_by_name(name, kind):
    with pytest.raises(ValueError, match=rf"^{name}\b") as caught:
        NUMBERS[name](NOT_NUMBERS[kind])
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("jump", lambda value: tcp_equilibrium(**BASE, udp_rate=10, jump=value)),
        ("arrival_lost", lambda value: ward_equilibrium(125.0, [ConstantRate(250)], 200, arrival_lost=value)),
        ("small_loss", lambda value: Reno(small_loss=value)),
    ],
)
@pytest.mark.parametrize("value", ["no", "false", 0, 1.0, None])
def test_only_true_and_false_are_switches(name, call, value):
    with pytest.raises(ValueError, match=rf"^{name} must be true or false"):
        call(value)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("flows", lambda: solve(LINK, 3)),
        ("flows", lambda: solve(LINK, [Responsive])),
        ("link", lambda: solve(None, [ConstantRate(250)])),
        ("law", lambda: Responsive(3, 0.1, Reno)),
        ("law", lambda: tcp_equilibrium(**BASE, udp_rate=10, law="reno")),
        ("name", lambda: ConstantRate(1.0, name=3)),
        ("survival", lambda: tcp_equilibrium(**BASE, udp_rate=10, survival=["cbr"])),
    ],
)
def test_what_is_no_flow_link_or_law_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()


def test_numbers_of_any_kind_are_kept_as_floats():
    flow = Responsive(Fraction(64, 2), np.float32(0.5))
    assert type(flow.count) is float and type(flow.delay) is float
    assert type(Red(np.int64(20), 520, Fraction(1, 2)).max_p) is float
    link = ChokeLink(np.float64(125), Red(20, 520, 0.5), np.int64(1))
    assert type(link.candidates) is int
    strict(solve(link, [flow, ConstantRate(np.int32(125))]).to_dict())


def test_documents_hold_neither_nan_nor_infinity():
    assert strict(approximate_share([0.5, 3.0], udp_flows=3).to_dict())["u"][1] is None
    limit = asymptote(**BASE)
    assert strict(limit_profile(limit, [0.0, limit.b]).to_dict())["v"][0] is None
    strict(tcp_sweep(**{**BASE, "tcp_flows": [1, 32]}, udp_rate=50.0).to_dict())


@pytest.mark.parametrize(
    "call",
    [
        lambda: tcp_approximate(**{**BASE, "max_p": 1.0, "max_th": 20.5}, udp_rate=10, candidates=60),
        lambda: tcp_equilibrium(**{**BASE, "max_p": 1.0, "max_th": 20.5}, udp_rate=10, candidates=60),
        lambda: tcp_equilibrium(**{**BASE, "tcp_flows": 1e-9}, udp_rate=0),
        lambda: minimum_flows(capacity=125, delay=0.1, min_th=20, udp_rate=0, law=Zero()),
        lambda: ward_equilibrium(125, [ConstantRate(10, 5)], 200),
    ],
)
def test_messages_have_no_nan(call):
    with pytest.raises(NoEquilibriumError) as caught:
        call()
    assert "nan" not in str(caught.value)
    assert "inf " not in str(caught.value)


def test_errors_without_a_ratio_have_a_sentence():
    assert "nan" not in str(BelowThresholdError(20.0, None))
    assert "inf" not in str(TailDropError(math.inf))
    assert issubclass(ConvergenceError, ModelError)


@pytest.mark.parametrize("kind", [NoEquilibriumError, BelowThresholdError, TailDropError])
def test_values_without_an_equilibrium_are_value_errors(kind):
    """`except ValueError` around a model catches them; a solver that fails is no matter of values."""
    assert issubclass(kind, ModelError) and issubclass(kind, ValueError)
    assert not issubclass(ConvergenceError, ValueError)
    with pytest.raises(ValueError, match="cannot keep the link full"):
        tcp_equilibrium(**{**BASE, "tcp_flows": 1e-9}, udp_rate=0)


def test_sweep_over_any_parameters_together():
    found = tcp_sweep(**{**BASE, "delay": [0.05, 0.1, 0.2], "candidates": [1, 2, 1]}, udp_rate=125.0)
    assert found.regime == ("active",) * 3
    for k, (delay, candidates) in enumerate(zip([0.05, 0.1, 0.2], [1, 2, 1], strict=True)):
        one = tcp_equilibrium(**{**BASE, "delay": delay, "candidates": candidates}, udp_rate=125.0)
        np.testing.assert_allclose(found.mu[k], one.mu, rtol=1e-9)
    with pytest.raises(ValueError, match=r"^delay and max_p do not fit"):
        tcp_sweep(**{**BASE, "delay": [0.05, 0.1], "max_p": [0.1, 0.2, 0.3]}, udp_rate=125.0)


def test_grid_over_several_parameters():
    seen = []
    fixed = {name: value for name, value in BASE.items() if name != "max_th"}
    over = {"max_th": [10.0, 520.0], "udp_rate": [50.0, 125.0, 500.0], "jump": [False, True], "law": [None, Vegas(3)]}
    found = tcp_grid(over, progress=lambda done, of: seen.append((done, of)), **fixed)
    assert seen[-1] == (24, 24)
    # A max_th below min_th is invalid, and stops nothing.
    assert found.regime[:12] == ("invalid",) * 12 and all("max_th" in error for error in found.error[:12])
    assert set(found.regime[12:]) <= {"active", "sliding", "below_threshold"}
    one = tcp_equilibrium(**BASE, udp_rate=125.0)
    pytest.importorskip("xarray")
    data = found.to_xarray()
    assert dict(data.sizes) == {"max_th": 2, "udp_rate": 3, "jump": 2, "law": 2, "flow": 2}
    assert data.mu.sel(max_th=520, udp_rate=125, jump=False, flow="udp")[0].item() == pytest.approx(one.mu[0], rel=1e-9)
    frame = found.to_pandas()
    row = frame[(frame.max_th == 520) & (frame.udp_rate == 125) & ~frame.jump & (frame.flow == "tcp")].iloc[0]
    assert row.mu == pytest.approx(one.mu[1], rel=1e-9)
    assert len(frame) == 48
    strict(found.to_dict())


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("over", lambda: tcp_grid({})),
        ("over", lambda: tcp_grid({"speed": [1]})),
        ("udp_rate", lambda: tcp_grid({"tcp_flows": [1]}, **{k: v for k, v in BASE.items() if k != "tcp_flows"})),
        ("delay", lambda: tcp_grid({"delay": [0.1]}, **BASE, udp_rate=1)),
        ("udp_rate", lambda: tcp_grid({"udp_rate": []}, **BASE)),
        ("udp_rate", lambda: tcp_grid({"udp_rate": [1, -1]}, **BASE)),
    ],
)
def test_grids_that_are_none(name, call):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()


def test_results_are_tables_and_labelled_arrays():
    pytest.importorskip("xarray")
    eq = tcp_equilibrium(**BASE, udp_rate=125.0)
    results = {
        "eq": eq,
        "chokew": chokew_equilibrium(125.0, [ConstantRate(250), Responsive(20, 0.1)], [1, 2]),
        "ward": ward_equilibrium(125.0, [ConstantRate(250), Responsive(32, 0.006)], 200),
        "front": front_choke(1.0, [[0.5, 1.0], [2.0, 3.0]]),
        "back": back_choke([1.0, 2.0, 3.0], 1),
        "curve": share_curve([0.5, 1.0]),
        "approximate": tcp_approximate(**BASE, udp_rate=125.0),
        "profile": profile(eq, points=5),
        "sweep": tcp_sweep(**BASE, udp_rate=[50, 125]),
    }
    rows = {"front": 4, "back": 3, "curve": 2, "profile": 10, "sweep": 4}
    for name, result in results.items():
        frame, data = result.to_pandas(), result.to_xarray()
        assert len(frame) == rows.get(name, 2), name
        assert not frame.isna().to_numpy().any(), name
        assert set(data.data_vars) <= set(frame.columns), name
    frame = results["profile"].to_pandas()
    place = frame[(frame.flow == 1) & (frame.position == 3)].iloc[0]
    assert (place.rho, place.v) == (results["profile"].rho[1, 3], results["profile"].v[3])
    assert list(results["ward"].to_xarray().flow.values) == ["udp", "tcp"]
    assert results["ward"].to_xarray().mu.sel(flow="tcp").item() == results["ward"].mu[1]
