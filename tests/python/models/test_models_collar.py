"""The models of COLLAR: against themselves, against draws, and against the simulator within stated tolerances."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from experiments.collar_theory import page as made
from fairdrop.models import (
    ConstantRate,
    NoEquilibriumError,
    Responsive,
    collar,
    collar_equilibrium,
    collar_loop,
    collar_margin,
    collar_noise,
    collar_shares,
)
from fairdrop.models.collar import LOOSEST, SLACK
from fairdrop.models.collar_loop import ALPHA, BETA, T_UPDATE

#: 10 Mb/s in packets of 1000 bytes.
C = made.C
# Constants of the discipline whose names have a unit that those of the models leave to their comments.
NAMED = {
    "ALPHA": "ALPHA_PER_S",
    "AVERAGED": "AVERAGED_MATCHES",
    "AVERAGED_SLOWLY": "AVERAGED_SLOWLY_MATCHES",
    "BETA": "BETA_PER_S",
    "LEAST": "LEAST_S",
    "RTT_MAX": "RTT_S",
}
LOOP = ("ALPHA", "BETA", "AVERAGED", "AVERAGED_SLOWLY", "RTT_MAX", "MOST_ROOT")


def test_constants_are_those_of_the_discipline(root: Path) -> None:
    folder = root / "crates" / "fairdrop" / "src" / "disciplines"
    sources = [folder / "collar.rs", *sorted((folder / "collar").glob("*.rs"))]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    written = dict(re.findall(r"const (\w+): \w+ = ([^;]+);", text))
    times = {"T_UPDATE": "Time::from_ms(16)"}
    assert {name: written[name] for name in times} == times and collar_loop.T_UPDATE == 0.016
    shares = ("SLACK", "LOOSEST", "KNEE", "MOST_ROOT", "MOST_DRAWS", "LEAST")
    for module, names in ((collar, shares), (collar_loop, LOOP)):
        for name in names:
            one, _, other = written[NAMED.get(name, name)].replace("_", "").partition("/")
            assert getattr(module, name) == float(one) / float(other or 1), name


@pytest.mark.parametrize(("senders", "flows"), [(1, 32), (5, 100), (20, 100), (1, 1)])
def test_two_classes_have_a_fair_and_a_starved_point(senders: float, flows: float) -> None:
    found = collar_shares(senders, flows, limit=1.0)
    assert found.q == pytest.approx([1 / (senders + flows), 1 / senders])
    assert found.slope == pytest.approx([0.0, 2.0], abs=1e-9)
    assert found.greed[0] == pytest.approx(1.0)
    # Below 1 the starved point is gone: TCP would have less than nothing there.
    assert collar_shares(senders, flows, limit=0.9).q.size == 1


@pytest.mark.parametrize("limit", [0.9, 1.0, 1.5])
@pytest.mark.parametrize("variation", [0.0, 0.2, 1.0])
def test_slopes_are_derivatives(limit: float, variation: float) -> None:
    k, n = 3.0, 40.0
    found = collar_shares(k, n, limit, variation)

    def squares(s: float) -> float:
        return k * (limit * s) ** 2 + (1 + variation) * (1 - k * limit * s) ** 2 / n

    for s, slope in zip(found.s, found.slope, strict=True):
        assert squares(s) == pytest.approx(s)
        assert (squares(s + 1e-6) - squares(s - 1e-6)) / 2e-6 == pytest.approx(slope, abs=1e-4)


def test_a_limit_of_twice_the_share_holds_nobody() -> None:
    """What few flows meet while the base probability is nearly 0."""
    assert collar_shares(1, 32, limit=2.0).greed[0] > 1.0
    with pytest.raises(NoEquilibriumError, match="too loose"):
        collar_shares(1, 4, limit=2.0)


@pytest.mark.parametrize("times", [0.5, 1.0, 4.0])
def test_any_mix_of_rates_is_shared_as_simulated(times: float) -> None:
    """Six Poisson senders from a fiftieth of the link on.

    Shares within 0.02 of the link, s within 4 %: it is the lesser of two.
    """
    rates = [times * rate for rate in (50, 100, 200, 400, 800, 1600)]
    model = collar_equilibrium(C, [ConstantRate(rate) for rate in rates])
    sent = [{"name": f"u{k}", "transport": "poisson", "rate": 8e3 * rate} for k, rate in enumerate(rates)]
    runs = made.simulated(sent, seeds=2)
    assert [np.mean(made.shares(runs, k)) for k in range(len(rates))] == pytest.approx(model.mu, abs=0.02)
    assert np.mean(made.internals(runs, "s")) == pytest.approx(model.s, rel=0.04)


@pytest.mark.parametrize(
    ("flows", "senders", "rate", "rtt_s"), [(32, 1, 2500, 0.042), (32, 5, 500, 0.042), (20, 1, 1250, 0.1)]
)
def test_greedy_senders_beside_tcp_get_what_the_model_says(flows: int, senders: int, rate: float, rtt_s: float) -> None:
    """With the simulated s and root the limit is what a greedy sender gets, within 20 %.

    Given only the variance of TCP's shares, chosen to give that s, the model is within 30 %: its TCP knows no timeouts,
    so its root is larger.
    """
    runs = made.greedy(flows, senders, rate, rtt_s, seeds=4)
    udp, tcp = (float(np.mean(made.shares(runs, group))) for group in (0, 1))
    s, root = (float(np.mean(made.internals(runs, name))) for name in ("s", "root"))
    loosened = min(1.0 + SLACK / root, LOOSEST)
    assert udp / senders == pytest.approx(0.9 * loosened * s * (1.0 - (root * loosened) ** 2), rel=0.2)
    variation = (s - udp**2 / senders) * flows / tcp**2 - 1.0
    assert 0.0 < variation < 1.0
    # 0.8 ms of transmission at the bottleneck.
    model = collar_equilibrium(C, [ConstantRate(rate, senders), Responsive(flows, rtt_s + 0.0008)], variation=variation)
    assert udp / senders == pytest.approx(model.mu[0], rel=0.3)
    assert model.root > root
    # One fixed point, and it holds.
    assert model.fixed_points.size == 1 and model.slopes[0] < 1.0


def test_few_flows_on_a_fast_link_need_not_starve(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 TCP flows and UDP at the rate of a link of 1 Gb/s: a second would hold with a knee that s does not move."""
    load = (125_000.0, [ConstantRate(125_000.0), Responsive(4, 0.042)])
    model = collar_equilibrium(*load)
    assert (model.slopes < 1.0).tolist() == [True]
    # What loosens the limit where little is lost is not for who sends several times as much.
    assert 0.8 < 5 * model.mu[0] < 1.0
    excess = collar._excess
    monkeypatch.setattr(collar, "_excess", lambda u, _, slack: excess(u, collar.KNEE, slack))
    model = collar_equilibrium(*load)
    assert (model.slopes < 1.0).tolist() == [True, False, True]
    assert model.fixed_points[-1] > 0.75


def test_round_trips_count_by_their_root() -> None:
    """Below the limit the loss is as the square of the rate: rates are as the root of round trips, not as these."""
    flows = [Responsive(20, delay) for delay in (0.05, 0.1, 0.2)]
    model = collar_equilibrium(10 * C, flows, variation=3.0)
    assert np.all(model.over < 1.0)
    rtt = np.array([0.05, 0.1, 0.2]) + model.tau
    # The law has a factor 1 - loss besides.
    assert model.x * np.sqrt(rtt) / np.sqrt(np.sqrt(model.survival)) == pytest.approx(
        np.full(3, model.x[0] * math.sqrt(rtt[0]) / model.survival[0] ** 0.25), rel=1e-6
    )


@pytest.mark.parametrize("senders", [0, 1])
def test_classes_of_round_trips_share_more_evenly_than_the_model_has_it(senders: int) -> None:
    """Within 0.35 of a fair share, the order of the classes apart; the limit evens out what the law leaves uneven."""
    runs, model = made.several_round_trips(1, 8, senders, seeds=3)
    number = 8 * len(made.TRIPS) + senders
    found = np.array([np.mean(made.shares(runs, k)) for k in range(len(made.TRIPS))]) * number / 8
    predicted = number * model.mu[: len(made.TRIPS)]
    assert found == pytest.approx(predicted, abs=0.35)
    assert found.max() - found.min() < 0.5 * (predicted.max() - predicted.min())


def test_what_cannot_be() -> None:
    with pytest.raises(NoEquilibriumError, match="below the capacity"):
        collar_equilibrium(C, [ConstantRate(C)])
    with pytest.raises(ValueError, match=r"^share must be positive"):
        collar_equilibrium(C, [ConstantRate(2 * C)], share=0.0)
    with pytest.raises(NoEquilibriumError, match="windows would be"):
        collar_margin(C, 2000, 0.01)
    with pytest.raises(ValueError, match=r"^compared must be at most ids"):
        collar_noise([1.0], compared=300)


@pytest.mark.parametrize(
    ("output", "tolerance"), [([1.0] * 10, 0.05), ([1.0] * 100, 0.05), ([9.0] + [0.91] * 100, 0.05)]
)
def test_noise_is_that_of_draws(output: list[float], tolerance: float) -> None:
    """The estimator, as the discipline has it, on independent draws: 200 of them at once."""
    rng = np.random.default_rng(1)
    q = np.array(output) / sum(output)
    model = collar_noise(output)
    rounds = 256 + round(24 * model.samples)
    kinds = rng.choice(q.size, size=(200, rounds), p=q)
    averages, found = np.full((2, 200), model.s), []
    matches = np.array([[512.0], [2048.0]])
    for n in range(256, rounds):
        # Half of the memory: every second remembered sample, or the others.
        half = kinds[:, n - 256 + int(rng.integers(2)) : n : 2]
        hits = (half == kinds[:, n : n + 1]).sum(axis=1)
        averages += averages * (hits - half.shape[1] * averages) / matches
        if n > 256 + 12 * model.samples:
            found.append(averages.min(axis=0))
    every = np.array(found)
    assert every.std() / model.s == pytest.approx(model.deviation, rel=2.5 * tolerance)
    assert every.mean() == pytest.approx(model.s, rel=tolerance)
    assert every.mean() / model.s - 1.0 == pytest.approx(model.bias, abs=0.005)


@pytest.mark.parametrize("flows", [5, 30])
def test_noise_is_that_of_the_simulator(flows: int) -> None:
    """Equal Poisson flows: the deviation of s within 15 %. It is the same for any number of them."""
    group = {"name": "u", "transport": "poisson", "count": flows, "rate": 1.2e7 / flows}
    runs = made.simulated([group], seeds=2, duration=320.0, warm_up=80.0, sample=0.5)
    assert np.mean(made.internals(runs, "s")) * flows == pytest.approx(1.0, abs=0.02)
    assert np.mean(made.deviations(runs, 480)) == pytest.approx(collar_noise([1.0], [flows]).deviation, rel=0.15)


@pytest.mark.parametrize(("flows", "delay"), [(20, 0.05), (20, 0.1), (20, 0.2), (10, 0.2), (60, 0.2)])
def test_the_margin_shows_whether_small_deviations_grow(flows: int, delay: float) -> None:
    """The linear loop in steps of a millisecond, with a controller that acts every 16 ms."""
    c = 2500.0
    loop = collar_margin(c, flows, delay)
    step, r = 1e-3, loop.root
    lag, every = round(loop.rtt / step), round(T_UPDATE / step)
    gain = collar_loop.gain_of(0.015, loop.wait)
    w, wait, root = [0.0] * (lag + 1), 0.0, [0.0] * (lag + 1)
    old, now, peaks, peak = 0.0, 1e-6, [], 0.0
    w[-1] = 1e-3
    for n in range(60_000):
        back = (w[-1] + w[-1 - lag]) * r / (math.sqrt(2.0) * loop.rtt)
        w.append(w[-1] + step * (-back - 2.0 / (r * loop.rtt) * root[-1 - lag]))
        wait += step * (flows / (loop.rtt * c) * w[-1] - wait / loop.rtt)
        if n % every == 0:
            now += ALPHA * gain**2 * wait + BETA * gain * (wait - old)
            old = wait
        root.append(now)
        peak = max(peak, abs(wait))
        if n % 10_000 == 9_999:
            peaks.append(peak)
            peak = 0.0
    assert (peaks[-1] < peaks[1]) == loop.stable
    assert loop.stable == (loop.phase_margin > 0.0)


@pytest.mark.parametrize(("packets", "flows", "rtt_s"), [(2500, 20, 0.05), (2500, 60, 0.1), (2500, 20, 0.1)])
def test_the_wait_swings_as_fast_as_the_loop_would(packets: float, flows: int, rtt_s: float) -> None:
    """Margins of 0 to 70 degrees, where a loop rings: the strongest frequency is within 40 % of that at half a turn."""
    loop = collar_margin(packets, flows, rtt_s)
    assert 0.0 < loop.phase_margin < 70.0
    assert made.strongest(made.tcp_alone(packets, flows, rtt_s)) == pytest.approx(loop.swing, rel=0.4)


@pytest.mark.parametrize(
    ("aim_s", "scaled", "modulus"), [(0.015, True, 0.965), (0.0025, False, 1.009), (0.0025, True, 0.994)]
)
def test_poles_of_the_widening_limit(aim_s: float, scaled: bool, modulus: float) -> None:
    """docs/background/collar.md: around the max-min share, with the wait over the aim and the logarithm of the limit as
    state. Constants of crates/fairdrop/src/disciplines/collar/."""
    period_s, target_s, widen, narrow, below = 0.016, 0.015, 0.03, 0.1, 0.8
    part = min(aim_s / target_s, 1.0) if scaled else 1.0
    grown = period_s / aim_s  # of the wait, where the whole output is at a limit that is too wide by the factor e
    loop = [
        [1.0, grown, 0.0],
        [-(part**2) * widen / below, 1.0, -(part**2) * narrow * grown],
        [0.0, 1.0, 0.0],
    ]
    assert max(abs(np.linalg.eigvals(np.array(loop)))) == pytest.approx(modulus, abs=5e-4)
