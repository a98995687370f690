"""CHOKe with several candidates, CHOKeW and WARD: equations, limits, and direct simulation of the rules."""

import json
import math
import os
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ward_reference import ward_by_nesting

from fairdrop.models import (
    BelowThresholdError,
    ChokeLink,
    ConstantRate,
    NoEquilibriumError,
    Red,
    Reno,
    Responsive,
    TailDropError,
    Vegas,
    chokew_equilibrium,
    solve,
    ward_equilibrium,
)
from model_cases import log_floats

LONG = os.environ.get("FAIRDROP_LONG") == "1"
EXAMPLES = 300 if LONG else 25
ARRIVALS = 3_000_000 if LONG else 150_000


class Queue:
    """Poisson flows into a FIFO with exponential service; ``admit(queue, flow)`` applies a scheme's rules."""

    def __init__(self, rates, capacity, admit, seed, arrivals=ARRIVALS):
        rng = random.Random(seed)
        offered = sum(rates)
        flows = list(range(len(rates)))
        sources = rng.choices(flows, weights=rates, k=arrivals)
        packets = []
        served = [0] * len(rates)
        held = [0] * len(rates)
        length = samples = 0
        for k, flow in enumerate(sources):
            # Services before the next arrival: geometric, as both clocks are exponential.
            while rng.random() * (offered + capacity) < capacity:
                if packets:
                    out = packets.pop(0)
                    if k > arrivals // 5:
                        served[out] += 1
            admit(packets, flow, rng)
            if k > arrivals // 5 and k % 50 == 0:
                samples += 1
                length += len(packets)
                for other in packets:
                    held[other] += 1
        self.b = length / samples
        self.h = np.array(held) / length
        self.mu = np.array(served) / sum(served)


def test_candidates_against_simulation():
    rates, c, m = [100.0, *[4.0] * 40], 80.0, 3
    red = Red(20, 420, 0.5)
    eq = solve(ChokeLink(c, red, m, "poisson"), [ConstantRate(100), ConstantRate(4, 40)])

    def admit(packets, flow, rng):
        drawn = rng.sample(range(len(packets)), min(m, len(packets))) if len(packets) >= red.min_th else []
        matched = sorted((i for i in drawn if packets[i] == flow), reverse=True)
        for i in matched:
            del packets[i]
        if not matched and rng.random() >= red.slope * (len(packets) - red.min_th):
            packets.append(flow)

    run = Queue(rates, c, admit, seed=1)
    assert run.b == pytest.approx(eq.b, rel=0.05)
    assert run.h[0] == pytest.approx(eq.h[0], rel=0.05)
    # About 800 packets of the fast flow get through: 15% is four standard deviations.
    assert run.mu[0] == pytest.approx(eq.mu[0], rel=0.15)
    assert run.mu[1:].mean() == pytest.approx(eq.mu[1], rel=0.02)


def chokew_residuals(eq, rates):
    """The four conditions, written out."""
    worst = [abs(eq.flows_count @ eq.h - 1), abs(eq.flows_count @ eq.mu - 1)]
    for k, x in enumerate(rates):
        d = eq.p0 / eq.weights[k]
        m, f = math.floor(d), d - math.floor(d)
        q = (1 - eq.h[k]) ** m * (1 - f * eq.h[k])
        worst.append(abs(eq.p[k] - 2 * (1 - q)))
        worst.append(abs(q * (1 - math.exp(-x * eq.tau / eq.b * (1 - q) / eq.h[k])) - (1 - q)))
        worst.append(abs(eq.mu[k] - x * (1 - eq.p[k]) / eq.capacity))
    return max(worst)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.tuples(log_floats(1, 300), st.integers(2, 20), log_floats(1, 4)), min_size=1, max_size=4),
    log_floats(20, 300),
)
def test_chokew_equations(classes, b):
    flows = [ConstantRate(rate, count) for rate, count, _ in classes]
    weights = [w for _, _, w in classes]
    try:
        eq = chokew_equilibrium(100.0, flows, weights, b)
    except NoEquilibriumError:
        assume(False)
    object.__setattr__(eq, "flows_count", np.array([float(count) for _, count, _ in classes]))
    assert eq.residual < 1e-9
    assert chokew_residuals(eq, [rate for rate, _, _ in classes]) < 1e-9
    other = chokew_equilibrium(100.0, flows, weights, 2 * b)
    np.testing.assert_allclose([other.p0, *other.mu], [eq.p0, *eq.mu], rtol=1e-9)


def test_chokew_weights():
    """Many flows, small shares: p w/h is the same for all, and a higher weight gets more."""
    flows = [Responsive(100, 0.006), Responsive(100, 0.006)]
    eq = chokew_equilibrium(125, flows, [1, 2], 150)
    ratio = eq.p * eq.weights / eq.h
    assert ratio[0] == pytest.approx(ratio[1], rel=0.2)
    assert eq.mu[1] > eq.mu[0]
    assert chokew_equilibrium(125, flows, [1, 1], 150).mu == pytest.approx([0.005, 0.005], rel=1e-9)
    gap = [float(np.diff(chokew_equilibrium(125, flows, [1, w], 150).mu)[0]) for w in (1.5, 2, 4)]
    assert 0 < gap[0] < gap[1] < gap[2]
    drawing = [chokew_equilibrium(125, [Responsive(n, 0.006)], [1], 150).p0 for n in (40, 80, 160)]
    assert drawing[0] < drawing[1] < drawing[2]


def test_chokew_protects_from_a_fast_flow():
    for rate in (125, 1250, 25000):
        eq = chokew_equilibrium(125, [ConstantRate(rate), Responsive(50, 0.006)], [1, 1], 150)
        assert eq.mu[0] < 0.1
        assert eq.residual < 1e-9
    json.dumps(eq.to_dict())


def test_chokew_against_simulation():
    rates, weights, c, target = [60.0] + [9.0] * 10, [1.0] + [2.0] * 10, 60.0, 200.0
    eq = chokew_equilibrium(c, [ConstantRate(60), ConstantRate(9, 10)], [1, 2], target)

    def admit(packets, flow, rng):
        # A drawing factor proportional to the queue holds it at the target, where the factor is p0.
        d = eq.p0 * len(packets) / target / weights[flow]
        draws = math.floor(d) + (rng.random() < d - math.floor(d))
        for _ in range(draws if packets else 0):
            i = rng.randrange(len(packets))
            if packets[i] == flow:
                del packets[i]
                return
        packets.append(flow)

    run = Queue(rates, c, admit, seed=2)
    assert run.b == pytest.approx(target, rel=0.05)
    assert run.h[0] == pytest.approx(eq.h[0], rel=0.05)
    assert run.mu[0] == pytest.approx(eq.mu[0], rel=0.12)
    assert run.mu[1:].mean() == pytest.approx(eq.mu[1], rel=0.05)


def test_ward_single_class_is_explicit():
    """K equal flows: each holds 1/K, and the excess over the capacity is what matching removes."""
    eq = ward_equilibrium(125, [ConstantRate(50, 4)], 200)
    np.testing.assert_allclose([eq.h[0], eq.mu[0]], 0.25, rtol=1e-10)
    # Lost per arrival: 2 h + (1 - (1-h)^2) by the flow itself, and 3 times 2 h^2 for the others' pairs.
    lost = 2 * 0.25 + (1 - 0.75**2) + 3 * 2 * 0.25**2
    assert eq.w == pytest.approx((1 - 125 / 200) / lost, rel=1e-10)
    assert eq.regime == "sliding" and eq.b == pytest.approx(60)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.tuples(log_floats(1, 30), st.integers(1, 6)), min_size=1, max_size=3),
    st.floats(1.1, 1.8),
    st.booleans(),
)
def test_ward_equations(parts, overload, lost):
    scale = 100.0 * overload / sum(rate * count for rate, count in parts)
    classes = [(rate * scale, count) for rate, count in parts]
    try:
        eq = ward_equilibrium(100.0, [ConstantRate(*c) for c in classes], 200, arrival_lost=lost)
    except TailDropError:
        assume(False)
    n = np.array([float(count) for _, count in classes])
    x, h, w, theta = eq.x, eq.h, eq.w, eq.tau / eq.b
    total, squares = n @ x, n @ h**2
    enter = 1 - w * (2 * h - h**2) - (w * (squares - h**2) if lost else 0)
    leak = np.exp(-2 * w * theta * (x + (total - x) * h))
    np.testing.assert_allclose(2 * w * h * (1 + (total / x - 1) * h), enter * (1 - leak), rtol=1e-8)
    np.testing.assert_allclose(eq.survival, enter * leak, rtol=1e-8)
    assert n @ h == pytest.approx(1, rel=1e-9) and n @ eq.mu == pytest.approx(1, rel=1e-9)
    assert 0 < w <= 0.9
    if eq.regime == "sliding":
        assert eq.b == pytest.approx(20 * math.ceil(10 * w * (1 - 1e-12)), rel=1e-12)
    else:
        assert 10 * w == pytest.approx(round(10 * w)) and 200 * w <= eq.b <= 200 * w + 20


def test_ward_against_nested_roots():
    rng = random.Random(4)
    answered = 0
    for _ in range(EXAMPLES):
        capacity, buffer, lost = 10 ** rng.uniform(1, 4), 10 ** rng.uniform(1.3, 3.5), rng.random() < 0.5
        flows = []
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.5:
                flows.append(ConstantRate(capacity * 10 ** rng.uniform(-2, 1.3), rng.randint(1, 5)))
            else:
                law = Reno() if rng.random() < 0.8 else Vegas(10 ** rng.uniform(0, 1.5))
                flows.append(Responsive(rng.randint(1, 200), 10 ** rng.uniform(-3, 0), law))
        expected = ward_by_nesting(capacity, flows, buffer, lost)
        try:
            eq = ward_equilibrium(capacity, flows, buffer, arrival_lost=lost)
        except NoEquilibriumError:
            assert expected is None
            continue
        answered += 1
        w, b, h, x = expected
        if any(isinstance(flow, Responsive) for flow in flows) or eq.regime == "sliding":
            assert (eq.w, eq.b) == pytest.approx((w, b), rel=1e-8)
        np.testing.assert_allclose(eq.h, h, rtol=1e-8)
        np.testing.assert_allclose(eq.x, x, rtol=1e-8)
    assert answered > EXAMPLES / 4


@pytest.mark.parametrize(
    ("capacity", "flows", "buffer"),
    [
        (1122.0, [Responsive(32, 0.034), ConstantRate(15305.0)], 937.0),
        (7566.8, [ConstantRate(1053.4, 5), Responsive(111, 0.1075, Vegas(1.2825))], 1793.5),
    ],
)
def test_ward_where_a_lost_arrival_makes_it_hard(capacity, flows, buffer):
    """Newton's iteration does not find these from where it starts."""
    w, b, h, x = ward_by_nesting(capacity, flows, buffer, True)
    eq = ward_equilibrium(capacity, flows, buffer, arrival_lost=True)
    assert (eq.w, eq.b) == pytest.approx((w, b), rel=1e-8)
    np.testing.assert_allclose(eq.h, h, rtol=1e-8)
    np.testing.assert_allclose(eq.x, x, rtol=1e-8)


class Counted(Reno):
    """Counts how often it is asked."""

    asked = 0

    def rate(self, loss, survival, queueing, delay):
        type(self).asked += 1
        return super().rate(loss, survival, queueing, delay)


@pytest.mark.parametrize("classes", [2, 8, 31, 64])
def test_work_of_ward_is_proportional_to_the_classes(classes):
    """A tenth of the sources greedy, the others of many rates and round trips: evaluations of each law, not time."""
    rng = random.Random(classes)
    constant = [rng.uniform(0.5, 5.0) * (30 if n % 10 == 0 else 1) for n in range(classes // 2)]
    flows = [ConstantRate(rate) for rate in constant]
    flows += [Responsive(1, rng.uniform(0.5, 5.0), Counted()) for _ in range(classes // 2)]
    Counted.asked = 0
    eq = ward_equilibrium(0.8 * sum(constant), flows, 200)
    assert eq.residual < 1e-9
    assert Counted.asked <= 200 * (classes // 2)


def test_classes_of_ward_may_be_split():
    """The 64 flows of two classes, each a class of its own."""
    kinds = ConstantRate(60.0, 4), Responsive(60, 6.0)
    whole = ward_equilibrium(125, kinds, 200)
    split = [ConstantRate(60.0)] * 4 + [Responsive(1, 6.0)] * 60
    apart = ward_equilibrium(125, split, 200)
    assert (apart.w, apart.b, apart.tau) == pytest.approx((whole.w, whole.b, whole.tau), rel=1e-9)
    for name in ("h", "x", "mu", "survival"):
        expected = np.repeat(getattr(whole, name), [4, 60])
        np.testing.assert_allclose(getattr(apart, name), expected, rtol=1e-9)


@pytest.mark.parametrize("lost", [False, True])
def test_ward_against_simulation(lost):
    rates, c, buffer = [90.0, *[6.0] * 10], 60.0, 800
    eq = ward_equilibrium(c, [ConstantRate(90), ConstantRate(6, 10)], buffer, arrival_lost=lost)
    compared = []

    def admit(packets, flow, rng):
        position = len(packets) + 1
        if rng.random() >= (10 * position // buffer) / 10:
            packets.append(flow)
            compared.append(0)
            return
        compared.append(1)
        i, j = sorted(rng.sample(range(len(packets)), 2), reverse=True)
        matched = [k for k in (i, j) if packets[k] == flow]
        if matched:
            for k in matched:
                del packets[k]
            return
        if packets[i] == packets[j]:
            del packets[i], packets[j]
            if lost:
                return
        packets.append(flow)

    run = Queue(rates, c, admit, seed=3, arrivals=max(ARRIVALS, 200_000))
    assert eq.regime == "sliding"
    assert np.mean(compared[len(compared) // 5 :]) == pytest.approx(eq.w, rel=0.04)
    assert run.b == pytest.approx(eq.b, rel=0.04)
    assert run.h[0] == pytest.approx(eq.h[0], rel=0.05)
    assert run.mu[0] == pytest.approx(eq.mu[0], rel=0.1)
    assert run.mu[1:].mean() == pytest.approx(eq.mu[1], rel=0.05)


def ward_with_overflow(rates, counts, w, overflow):
    """Share of the link of each flow, pkt per pkt sent times rate, at comparison probability w when this part of the
    arrivals that no comparison drops finds the buffer full: the equations of models/ward.py, written out and iterated.
    """
    x, n = np.array(rates), np.array(counts)
    total = float(n @ x)
    h, theta = x / total, 1.0 / total
    for _ in range(300):
        enter = (1.0 - w * (2.0 * h - h * h)) * (1.0 - overflow)
        leak = 2.0 * w * (x + (total - x) * h)
        held = x * enter * -np.expm1(-leak * theta) / leak
        # Both converge when they take small steps: theta so that all shares add up to 1.
        h += 0.2 * (held / float(n @ held) - h)
        theta *= float(n @ held) ** -0.2
    return x * enter * np.exp(-leak * theta)


@pytest.mark.parametrize(("tcp", "slow"), [(31, ()), (29, (12.5, 3.75))])
def test_table_1_of_ward_is_no_state_of_its_queue(tcp, slow):
    """31 TCP flows, or 29 and two slow ones, beside UDP at 2000 and 1000 kb/s; the table gives the latter two 65.1 and
    41.2, or 64.4 and 62.7. Whatever TCP sends, however full the buffer: where the link is full and the faster has at
    most 110 kb/s, the other has a quarter more at least."""
    counts = np.array([tcp, *[1] * (2 + len(slow))])
    ratios = []
    for w in (0.5, 0.7, 0.8, 0.9, 1.0):
        for overflow in (0.0, 0.1, 0.3):
            for load in range(40, 240, 10):
                out = ward_with_overflow([load / tcp, 250.0, 125.0, *slow], counts, w, overflow) * 8
                if 900.0 <= counts @ out <= 1010.0 and out[1] <= 150.0:
                    assert out[2] > out[1]
                    ratios += [out[2] / out[1]] if out[1] <= 110.0 else []
    assert len(ratios) > 10
    assert min(ratios) > 1.25


def test_other_rows_of_table_1_of_ward_can_be_met():
    """Compared nine times in ten, a tenth of the rest too many: the flows at 2000, 100 and 30 kb/s are near the
    table's 64.4, 57.6 and 25.5, the one at 1000 is not near 62.7."""
    out = ward_with_overflow([118 / 29, 250.0, 125.0, 12.5, 3.75], [29, 1, 1, 1, 1], 0.9, 0.1) * 8
    np.testing.assert_allclose(out[[0, 1, 3, 4]], [24.8, 64.4, 57.6, 25.5], rtol=0.15)
    assert out[2] > 90.0


def test_ward_with_overflow_is_the_model_without():
    flows = [ConstantRate(100 / 31, count=31), ConstantRate(250), ConstantRate(125)]
    eq = ward_equilibrium(125, flows, 200)
    plain = ward_with_overflow([100 / 31, 250.0, 125.0], [31, 1, 1], eq.w, 0.0)
    np.testing.assert_allclose(plain, eq.goodput, rtol=1e-6)
    # What 31 TCP flows are measured to get beside them: ward-table1.
    np.testing.assert_allclose(eq.goodput[1:] * 8, [119.8, 155.7], rtol=1e-3)


def test_ward_with_tcp():
    """The setting of WARD's figure 4: 32 TCP flows and 2 Mb/s of UDP, a buffer of 200 packets."""
    eq = ward_equilibrium(125, [ConstantRate(250), Responsive(32, 0.006)], 200)
    assert eq.residual < 1e-9
    assert 0.03 < eq.mu[0] < 0.15
    assert eq.mu[0] > eq.mu[1]
    rates = [eq.mu[0]] + [
        float(ward_equilibrium(125, [ConstantRate(x), Responsive(32, 0.006)], 200).mu[0]) for x in (500, 1250)
    ]
    assert rates[0] > rates[1] > rates[2]
    json.dumps(eq.to_dict())


def test_domain():
    with pytest.raises(TailDropError) as caught:
        ward_equilibrium(125, [ConstantRate(250), ConstantRate(5, 40)], 200)
    assert caught.value.excess > 1
    with pytest.raises(BelowThresholdError):
        ward_equilibrium(125, [ConstantRate(10, 5)], 200)
    with pytest.raises(NoEquilibriumError):
        chokew_equilibrium(125, [ConstantRate(10, 5)], [1], 150)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: chokew_equilibrium(0, [ConstantRate(1)], [1]), "capacity"),
        (lambda: chokew_equilibrium(1, [], []), "flows"),
        (lambda: chokew_equilibrium(1, [ConstantRate(1)], [1, 2]), "weights"),
        (lambda: chokew_equilibrium(1, [ConstantRate(1)], [0]), "weights"),
        (lambda: chokew_equilibrium(1, [ConstantRate(1)], [math.nan]), "weights"),
        (lambda: chokew_equilibrium(1, [ConstantRate(1)], [1], 0), "b"),
        (lambda: ward_equilibrium(-1, [ConstantRate(1)], 100), "capacity"),
        (lambda: ward_equilibrium(1, [3], 100), "flows"),
        (lambda: ward_equilibrium(1, [ConstantRate(1)], 0), "buffer"),
        (lambda: ConstantRate(-1), "rate"),
        (lambda: ConstantRate(1, 0), "count"),
        (lambda: Responsive(0, 0.1), "count"),
        (lambda: Responsive(1, -0.1), "delay"),
        (lambda: Responsive(1, 0.1, None), "law"),
    ],
)
def test_invalid(call, name):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call()
