"""Back CHOKe against table III, brute force over memory contents, and the ordered chain."""

import itertools
import json
import math
import os
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairdrop.models import (
    back_chain,
    back_choke,
    marching_soldiers,
    tail_pair_share,
    tail_pair_shares,
)

EXAMPLES = 1000 if os.environ.get("FAIRDROP_LONG") == "1" else 60

# "CHOKe" (INFOCOM 2000), table III: memory, rates, results.
TABLE_III = [
    (0, (1, 1, 1, 7), (0.1, 0.1, 0.1, 0.7)),
    (1, (1, 1, 1, 7), (0.1875, 0.1875, 0.1875, 0.4375)),
    (2, (1, 1, 1, 7), (0.2273, 0.2273, 0.2273, 0.3182)),
    (3, (1, 1, 1, 7), (0.25, 0.25, 0.25, 0.25)),
    (1, (1, 2, 3, 4), (0.1286, 0.2286, 0.3000, 0.3429)),
    (2, (1, 2, 3, 4), (0.1733, 0.2533, 0.2800, 0.2933)),
    (3, (1, 2, 3, 4, 5), (0.1405, 0.1953, 0.2135, 0.2226, 0.2281)),
    (3, (1, 3, 5, 7, 9), (0.1101, 0.2034, 0.2220, 0.2300, 0.2345)),
]


@st.composite
def cases(draw, most=8):
    lam = draw(st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=most))
    return np.array(lam), draw(st.integers(0, len(lam) - 1))


def symmetric(lam, k):
    return math.fsum(math.prod(part) for part in itertools.combinations(lam, k))


@pytest.mark.parametrize(("memory", "lam", "shares"), TABLE_III)
def test_table_iii(memory, lam, shares):
    assert back_choke(lam, memory).shares.round(4).tolist() == list(shares)


def test_gain_of_memory():
    largest = [back_choke([1, 1, 1, 7], m).shares.max() for m in range(4)]
    np.testing.assert_allclose(-np.diff(largest), [0.2625, 0.1193, 0.0682], atol=5e-5)


@settings(max_examples=EXAMPLES, deadline=None)
@given(cases())
def test_against_all_subsets(case):
    lam, m = case
    result = back_choke(lam, m)
    others = np.array([symmetric(np.delete(lam, i), m) for i in range(lam.size)])
    np.testing.assert_allclose(result.rates, lam * others / symmetric(lam, m), rtol=1e-11)
    np.testing.assert_allclose(result.shares, lam * others / ((m + 1) * symmetric(lam, m + 1)), rtol=1e-11)
    assert result.load == pytest.approx((m + 1) * symmetric(lam, m + 1) / symmetric(lam, m), rel=1e-11)
    assert np.all(result.shares <= (1 + 1e-12) / (m + 1))
    assert np.all(result.rates <= lam * (1 + 1e-12))


@settings(max_examples=max(20, EXAMPLES // 4), deadline=None)
@given(cases(most=5))
def test_ordered_chain(case):
    lam, m = case
    chain = back_chain(lam, m)
    assert chain.states.shape == (math.perm(lam.size, m), m)
    np.testing.assert_allclose(chain.shares, back_choke(lam, m).shares, rtol=1e-11)
    np.testing.assert_allclose(chain.transition.sum(axis=1), 1, rtol=1e-12)
    assert chain.stationarity_error() < 1e-12
    assert chain.dynamic_reversibility_error() < 1e-12


def test_reversibility_check_can_fail():
    chain = back_chain([1, 2, 3, 4], 2)
    object.__setattr__(chain, "pi", np.full(chain.pi.size, 1 / chain.pi.size))
    assert chain.dynamic_reversibility_error() > 0.1
    assert chain.stationarity_error() > 0.1


def test_chain_law_is_the_only_one():
    chain = back_chain([1, 2, 3, 4], 2)
    values, vectors = np.linalg.eig(chain.transition.toarray().T)
    ones = np.flatnonzero(np.abs(values - 1) < 1e-9)
    assert ones.size == 1
    law = vectors[:, ones[0]].real
    np.testing.assert_allclose(law / law.sum(), chain.pi, rtol=1e-10)


def test_formulas_of_the_paper():
    lam = np.array([1.0, 2, 5, 9])
    weight = lam * (lam.sum() - lam)
    np.testing.assert_allclose(back_choke(lam, 1).shares, weight / weight.sum(), rtol=1e-14)
    np.testing.assert_allclose(marching_soldiers(lam), lam * (1 - lam / lam.sum()), rtol=1e-14)
    np.testing.assert_allclose(back_choke(lam, 0).shares, lam / lam.sum(), rtol=1e-14)
    np.testing.assert_allclose(back_choke(lam, 3).shares, 0.25, rtol=1e-14)


def test_stability_is_about_the_admitted_rate():
    lam = [1, 1, 1, 7]
    assert back_choke(lam, 1).load == pytest.approx(4.8, rel=1e-14)
    # The printed condition, sum lambda pi, would be 3.625 and call a service rate of 4 enough.
    overloaded = back_choke(lam, 1, mu=4.0)
    assert overloaded.stable is False
    np.testing.assert_allclose(overloaded.goodput, 4.0 * overloaded.shares)
    stable = back_choke(lam, 1, mu=5.0)
    assert stable.stable is True
    np.testing.assert_allclose(stable.goodput, stable.rates)
    assert back_choke(lam, 0).load == pytest.approx(10, rel=1e-14)


def admissions(lam, weights):
    """Flow i was admitted last with this weight; then arrivals of all others are admitted."""
    return float(np.dot(weights, lam.sum() - lam))


@pytest.mark.parametrize(("lam", "printed", "by_shares", "rate"), [
    ((1, 1, 1, 7), 3.625, 6.375, 4.8), ((1, 2, 3, 4), 20 / 7, 50 / 7, 7.0),
])  # fmt: skip
def test_admissions_are_weighted_by_time(lam, printed, by_shares, rate):
    """IV.B, after equation (5): the paper's pi are the shares of admissions, the law of the chain at its jumps.

    Weighted by these, what the states admit does not add up to the rate of admissions. Weighted by time it does: the
    chain leaves state i at rate S - lambda_i, so its part of the time is lambda_i / S.
    """
    lam = np.array(lam, dtype=float)
    generator = np.tile(lam, (lam.size, 1))
    np.fill_diagonal(generator, 0.0)
    jumps = generator / generator.sum(axis=1, keepdims=True)
    np.fill_diagonal(generator, -generator.sum(axis=1))

    def law(matrix):
        """The probabilities that ``matrix``, of columns that sum to nothing, leaves as they are."""
        full = np.vstack([matrix.T, np.ones(lam.size)])
        return np.linalg.lstsq(full, np.append(np.zeros(lam.size), 1.0), rcond=None)[0]

    pi, psi = law(jumps - np.eye(lam.size)), law(generator)
    np.testing.assert_allclose(pi, back_choke(lam, 1).shares, rtol=1e-12)
    np.testing.assert_allclose(psi, lam / lam.sum(), rtol=1e-12)
    assert float(np.dot(pi, lam)) == pytest.approx(printed, rel=1e-12)
    assert admissions(lam, pi) == pytest.approx(by_shares, rel=1e-12)
    assert admissions(lam, psi) == pytest.approx(rate, rel=1e-12) == lam.sum() - np.dot(lam, lam) / lam.sum()
    assert back_choke(lam, 1).load == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize(("lam", "memory"), [((1.0, 1.0, 1.0, 7.0), 1), ((1.0, 2.0, 3.0, 4.0), 2)])
def test_soldiers_march_at_the_rates_of_admissions(lam, memory):
    """F113, section IV.B: soldiers step by their clocks, none while it is one of the last ``memory`` that did."""
    rng = random.Random(113)
    steps, last, now = [0] * len(lam), [], 0.0
    for _ in range(400_000):
        now += rng.expovariate(sum(lam))
        (soldier,) = rng.choices(range(len(lam)), weights=lam)
        if soldier in last:
            continue
        steps[soldier] += 1
        last = [*last, soldier][-memory:]
    found = np.array(steps) / now
    np.testing.assert_allclose(found, marching_soldiers(lam, memory), rtol=0.02)
    assert abs(found / np.array(lam) - 1).max() > 0.15, "clocks alone would be another law"


def test_many_flows_fast_and_without_overflow():
    lam = np.random.default_rng(1).lognormal(0, 3, 10_000)
    start = time.perf_counter()
    result = back_choke(lam, 100)
    assert time.perf_counter() - start < 1.0
    assert result.shares.sum() == pytest.approx(1, abs=1e-12)
    order = np.argsort(lam)
    assert np.all(np.diff(result.shares[order]) >= 0)
    assert result.shares.max() < 1 / 101


def test_many_equal_flows():
    for m in (0, 1, 500, 1998, 1999):
        np.testing.assert_allclose(back_choke(np.full(2000, 3.0), m).rates, 3.0 * (1 - m / 2000), rtol=1e-11)


def test_extreme_ratios():
    np.testing.assert_allclose(back_choke([1e-200, 1, 1e200], 2).shares, 1 / 3, rtol=1e-13)
    np.testing.assert_allclose(back_choke([1, 1, 1e300], 1).shares, [0.25, 0.25, 0.5], rtol=1e-13)
    result = back_choke([0, 1, 2, 0, 3], 1)
    np.testing.assert_allclose(result.shares[[1, 2, 4]], back_choke([1, 2, 3], 1).shares)
    assert result.shares[0] == result.rates[3] == 0.0


def test_tail_pair_limit_and_finite():
    assert float(tail_pair_share(1.0)) == pytest.approx(1 / 3, rel=1e-15)
    lam = np.append(np.full(20_000, 1.0), 20_000.0 * 9)
    assert tail_pair_shares(lam)[-1] == pytest.approx(float(tail_pair_share(0.9)), rel=1e-3)
    assert tail_pair_shares([1] * 32 + [320])[-1] == pytest.approx(0.32637, abs=1e-5)
    np.testing.assert_allclose(tail_pair_shares([2, 2, 2, 0]), [1 / 3, 1 / 3, 1 / 3, 0], rtol=1e-12)


def test_tail_pair_against_simulation():
    lam = (1.0, 2.0, 3.0, 14.0)
    rng = random.Random(3)
    word = []
    for flow in rng.choices(range(4), weights=lam, k=300_000):
        if word and word[-1] == flow:
            word.pop()
        else:
            word.append(flow)
    measured = np.bincount(word, minlength=4) / len(word)
    assert len(word) > 10_000
    np.testing.assert_allclose(measured, tail_pair_shares(lam), atol=0.015)


def test_json():
    json.dumps(back_choke([1, 2, 3], 1, mu=3).to_dict())
    assert set(back_choke([1, 2, 3], 1).to_dict()) >= {"shares", "rates", "load", "memory"}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: back_choke([1, 2], 2), "memory"),
        (lambda: back_choke([1, 0], 1), "memory"),
        (lambda: back_choke([1, 2], -1), "memory"),
        (lambda: back_choke([1, 2], 0.5), "memory"),
        (lambda: back_choke([1, -2], 1), "rates"),
        (lambda: back_choke([0, 0], 0), "rates"),
        (lambda: back_choke([1, math.nan], 1), "rates"),
        (lambda: back_choke([[1, 2]], 1), "rates"),
        (lambda: back_choke([1, 2], 1, mu=0), "mu"),
        (lambda: back_chain([1] * 20, 6), "memory"),
        (lambda: back_chain([1, 0, 2], 1), "rates"),
        (lambda: tail_pair_shares([1, 2]), "rates"),
        (lambda: tail_pair_share(1.5), "probability"),
    ],
)
def test_invalid(call, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()
