"""Front CHOKe against table II and a direct simulation."""

import json
import math
import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairdrop.models import front_choke

EXAMPLES = 2000 if os.environ.get("FAIRDROP_LONG") == "1" else 60

# "CHOKe" (INFOCOM 2000), table II: rates, then the columns P0, T1, T2, (T3) of "Theory".
TABLE_II = [
    ((0.5, 1), (0.417, 0.250, 0.333)),
    ((1, 2), (0.267, 0.333, 0.400)),
    ((2, 3), (0.171, 0.400, 0.429)),
    ((3, 4), (0.127, 0.429, 0.444)),
    ((3, 5), (0.117, 0.429, 0.455)),
    ((3, 6), (0.110, 0.429, 0.462)),
    ((0.3, 0.6, 0.9), (0.218, 0.188, 0.273, 0.321)),
    ((0.5, 1, 1.5), (0.042, 0.250, 0.333, 0.375)),
]

rates = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30)


def printed(value):
    """Rounded half up to three digits, as printed: 0.1875 appears as 0.188."""
    return math.floor(value * 1000 + 0.5 + 1e-9) / 1000


@pytest.mark.parametrize(("lam", "theory"), TABLE_II)
def test_table_ii(lam, theory):
    result = front_choke(1.0, lam)
    assert [printed(v) for v in (result.idle, *result.goodput)] == list(theory)
    assert result.stable


def test_drops_of_section_iv_c():
    for rate, drop in ((1000, 2 / 3), (500, 0.5), (3000, 6 / 7)):
        assert front_choke(1000, [rate]).drop_fraction[0] == pytest.approx(drop, rel=1e-14)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.floats(1e-3, 1e3), rates)
def test_conservation_and_bounds(mu, lam):
    lam = np.array(lam)
    result = front_choke(mu, lam)
    p = lam / (mu + 2 * lam)
    if len(lam) <= 2:
        assert result.stable
    if result.stable:
        np.testing.assert_allclose(result.p, p, rtol=1e-13)
        # What is admitted leaves by service or from the head.
        np.testing.assert_allclose(lam * (1 - result.p), (mu + lam) * result.p, rtol=1e-9, atol=1e-12 * mu)
        assert float(result.idle) == pytest.approx(max(1 - p.sum(), 0), abs=1e-12)
    else:
        assert p.sum() >= 1 - 1e-12
        assert result.p.sum() == pytest.approx(1, rel=1e-12)
        assert result.idle == 0
        assert np.all(result.p <= p * (1 + 1e-12))
        balance = lam * (1 - result.p) - (mu + lam) * result.p
        np.testing.assert_allclose(result.growth, balance, rtol=1e-9, atol=1e-9 * (mu + lam.max()))
    assert np.all(result.goodput < mu / 2 * (1 + 1e-12))


def test_vectorised_over_leading_axes():
    grid = np.array([[[0.5, 1, 1.5], [5, 5, 5]], [[0.3, 0.6, 0.9], [0, 9, 9]]])
    result = front_choke(2.0, grid)
    for index in np.ndindex(2, 2):
        row = front_choke(2.0, grid[index])
        np.testing.assert_array_equal(result.goodput[index], row.goodput)
        assert result.stable[index] == row.stable
    json.dumps(result.to_dict())


def test_extreme_rates():
    result = front_choke(1.0, [0.0, 1e-300, 1e300])
    assert result.p.tolist() == [0.0, 1e-300, 0.5]


def test_overload_against_simulation():
    mu, lam = 1.0, (2.0, 4.0, 6.0)
    expected = front_choke(mu, lam)
    assert not expected.stable
    rng = random.Random(5)
    total = mu + sum(lam)
    queue, head, served, n = [], 0, [0, 0, 0], 400_000
    for _ in range(n):
        u = rng.random() * total
        if u < mu:
            if head < len(queue):
                served[queue[head]] += 1
                head += 1
            continue
        u -= mu
        flow = 0 if u < 2 else 1 if u < 6 else 2
        if head < len(queue) and queue[head] == flow:
            head += 1
        else:
            queue.append(flow)
    measured = np.array(served) / (n / total)
    # About 31,000 services, cut by the growth of the queue: 0.02 is more than four standard deviations.
    np.testing.assert_allclose(measured, expected.goodput, atol=0.02)
    assert len(queue) - head == pytest.approx(expected.growth.sum() * n / total, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0, [1]), "mu"), ((-1.0, [1]), "mu"), ((math.nan, [1]), "mu"), ((math.inf, [1]), "mu"),
        (("x", [1]), "mu"),
        ((1.0, [-1]), "rates"), ((1.0, [math.nan]), "rates"), ((1.0, []), "rates"), ((1.0, 3.0), "rates"),
    ],
)  # fmt: skip
def test_invalid(arguments, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        front_choke(*arguments)
