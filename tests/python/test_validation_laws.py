"""The laws that the validation compares with, against values worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.validation import throughput as laws


def test_square_root_law():
    # 10 round trips per second of sqrt(1.5) / 0.1 packets, or of sqrt(0.75) / 0.1.
    assert laws.square_root(0.01, 0.1, 1) == pytest.approx(122.4745, rel=1e-6)
    assert laws.square_root(0.01, 0.1, 2) == pytest.approx(86.6025, rel=1e-6)


def test_constants_for_independent_losses():
    # An ideal sender: the window grows by 1 / (b w) per packet, and halves after a geometric number of packets.
    for per_ack, constant in laws.RANDOM_CONSTANT.items():
        p, window, packets, rounds = 1e-4, 100.0, 0, 0.0
        for count in np.random.default_rng(1).geometric(p, 20_000):
            grown = math.sqrt(window**2 + 2 * count / per_ack)
            packets, rounds, window = packets + count, rounds + per_ack * (grown - window), grown / 2
        assert packets / rounds * math.sqrt(p) == pytest.approx(constant, rel=0.01)


def test_full_model_by_hand():
    # E[W] = 2/3 + sqrt(132 + 4/9) = 12.17512; Q = 0.279921; f = 1.010204.
    # (99 + 12.17512 + 0.282749) / (0.1 x 13.17512 + 0.285635) = 111.45787 / 1.603147.
    assert laws.pftk(0.01, 0.1, 1.0, 2, math.inf) == pytest.approx(69.5244, rel=1e-5)


def test_full_model_with_a_window_limit():
    # W = 8: rounds 1 + 99 / 8 + 2; Q = 0.029701 (1 + 0.970299 x (1 - 0.99^5)) / (1 - 0.99^8) = 0.402735.
    # (99 + 8 + 0.406803) / (0.1 x 15.375 + 0.402735 x 1.010204 / 0.99) = 107.406803 / 1.948454.
    assert laws.pftk(0.01, 0.1, 1.0, 1, 8) == pytest.approx(55.1241, rel=1e-5)


def test_limits_of_the_full_model():
    # Few losses: the square-root law; none: a window per round trip.
    for per_ack in (1, 2):
        ratio = laws.pftk(1e-7, 0.1, 0.0, per_ack, math.inf) / laws.square_root(1e-7, 0.1, per_ack)
        assert ratio == pytest.approx(1.0, abs=1e-3)
    assert laws.pftk(1e-9, 0.1, 1.0, 1, 20) == pytest.approx(200.0, rel=1e-5)
    # A window of three or less always waits for the timer.
    assert laws.timeout_probability(0.1, 3.0) == 1.0


def test_checks_can_fail():
    # A sender that acknowledged every second packet would not pass for one that acknowledges all, nor one without
    # timeouts for Reno.
    for p in laws.SQUARE_ROOT_LOSS:
        every = laws.square_root(p, laws.RTT_S, 1)
        second = laws.Interval(laws.square_root(p, laws.RTT_S, 2), 0.01 * every)
        assert not second.near(every, laws.SQUARE_ROOT_TOLERANCE)
        assert laws.Interval(every, 0.0).near(every, laws.SQUARE_ROOT_TOLERANCE)
    patient = laws.Interval(laws.square_root(0.03, laws.RTT_S, 1), 1.0)
    law = laws.pftk(0.03, laws.RTT_S, laws.TIMEOUT_S, 1, math.inf)
    assert not patient.near(law, laws.PFTK_TOLERANCE)
