"""Simulation meets theory: the network-free queue host against the analytic models, within their stated limits."""

from __future__ import annotations

import numpy as np
import pytest

import fairdrop
from fairdrop.models import ChokeLink, ConstantRate, Red, back_choke, front_choke, solve, tail_pair_shares

# No thresholds, no early drops, a buffer that never fills: the models of Pan, Prabhakar, Psounis 2000, IV.
MODEL = ("queue.limit=65536", "queue.red.min_th=0", "queue.red.max_th=inf", "queue.red.max_p=0")


def served_rates(found: dict) -> np.ndarray:
    return np.array(found["served"]) / found["duration_s"]


@pytest.mark.parametrize("rates", [(0.5, 1.0), (0.2, 0.4, 0.7), (0.1, 0.1, 5.0)])
def test_front_choke(rates):
    found = fairdrop.queue_host(rates, arrivals=4_000_000, settings=[*MODEL, "queue.choke.draw=head"])
    model = front_choke(1.0, rates)
    assert served_rates(found) == pytest.approx(model.goodput, abs=2e-3)
    assert np.array(found["dropped"]) / found["arrived"] == pytest.approx(model.drop_fraction, abs=4e-3)


def test_front_choke_overloaded():
    """sum p_i > 1: the queue grows without bound, and the head belongs to flow i with probability q_i."""
    rates = (2.0, 3.0, 4.0)
    model = front_choke(1.0, rates)
    assert not model.stable
    settings = ["queue.limit=8000000", *MODEL[1:], "queue.choke.draw=head"]
    found = fairdrop.queue_host(rates, arrivals=3_000_000, settings=settings)
    assert found["mean_packets"] > 10_000
    assert served_rates(found) == pytest.approx(model.goodput, abs=4e-3)


@pytest.mark.parametrize(
    ("rates", "memory"),
    [((1, 1, 1, 7), 0), ((1, 1, 1, 7), 1), ((1, 1, 1, 7), 2), ((1, 2, 3, 4), 1), ((1, 3, 5, 7, 9), 3), ((1, 2, 3), 2)],
)
def test_back_choke_with_memory(rates, memory):
    """Absolute rates of admission, and so the corrected stability condition: (1,1,1,7) with M = 1 admits 4.8."""
    settings = ["queue.discipline=back_choke_memory", f"queue.back_choke_memory.memory={memory}", *MODEL]
    found = fairdrop.queue_host(rates, service_rate=20.0, arrivals=2_000_000, settings=settings)
    model = back_choke(rates, memory)
    admitted = (np.array(found["arrived"]) - np.array(found["dropped"])) / found["duration_s"]
    assert admitted == pytest.approx(model.rates, rel=6e-3)
    assert admitted / admitted.sum() == pytest.approx(model.shares, abs=2e-3)


def test_back_choke_as_a_pair():
    """A fast flow against many: what stays is near a third (Tang, Wang, Low 2004, VI)."""
    rates = [1.0] * 32 + [320.0]
    settings = ["queue.limit=1000000", *MODEL[1:], "queue.choke.draw=tail"]
    found = fairdrop.queue_host(rates, service_rate=1e-3, arrivals=1_000_000, settings=settings)
    left = np.array(found["left"]) / sum(found["left"])
    assert left[-1] == pytest.approx(tail_pair_shares(rates)[-1], abs=4e-3)
    assert left[-1] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("law", "fast", "share_tolerance", "queue_tolerance"),
    [("poisson", 1.0, 0.01, 0.03), ("poisson", 3.0, 0.02, 0.03), ("cbr", 1.0, 0.02, 0.10)],
)
def test_equilibrium_with_constant_rates(law, fast, share_tolerance, queue_tolerance):
    """CHOKe with a RED ramp and independent draws: shares and queue of the full model (models of Tang et al.).

    Evenly spaced flows see their own backlog half a packet low, so the queue is only good to ten per cent there.
    """
    capacity, others = 125.0, 32
    slow = 1.6 * capacity / others
    rates = [slow] * others + [fast * capacity]
    settings = (
        "queue.limit=5000", "queue.red.min_th=20", "queue.red.max_th=520", "queue.red.max_p=0.5",
        "queue.red.w_q=0.002", "queue.red.independent=true",
    )  # fmt: skip
    poisson, constant = (rates, []) if law == "poisson" else ([], rates)
    found = fairdrop.queue_host(poisson, constant, service_rate=capacity, arrivals=6_000_000, settings=settings)
    link = ChokeLink(capacity, Red(20.0, 520.0, 0.5), survival=law)
    model = solve(link, [ConstantRate(fast * capacity, 1, "fast"), ConstantRate(slow, others, "slow")])
    served = np.array(found["served"])
    share = served[-1] / served.sum()
    assert share == pytest.approx(float(model.mu[0]), rel=share_tolerance)
    assert found["mean_packets"] == pytest.approx(float(model.b), rel=queue_tolerance)


def test_bad_input_names_itself():
    for arguments, name in (
        ({"poisson": [-1.0]}, "poisson"),
        ({"constant": [float("nan")]}, "constant"),
        ({"poisson": [1.0], "service_rate": 0.0}, "service_rate"),
        ({}, "no flows"),
        ({"poisson": [1.0], "settings": ["queue.red.max_p=2"]}, "max_p"),
    ):
        with pytest.raises(fairdrop.ScenarioError, match=name):
            fairdrop.queue_host(**arguments)
