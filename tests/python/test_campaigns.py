"""Measures of the campaigns of our own, by hand; designs of points, and which parameters matter."""

from __future__ import annotations

import random

import pytest

import fairdrop
from fairdrop import reproduce
from fairdrop.models import minimum_flows_estimate
from fairdrop.reproduce.define.definition import located
from fairdrop.reproduce.definitions import parse
from fairdrop.reproduce.execute.plan import Order, cells
from fairdrop.reproduce.judge.checks import matters, minimum_flows_side, one_in, sensitivity_of
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, UNCLEAR
from fairdrop.reproduce.measure.data import Data, Row
from fairdrop.reproduce.measure.dynamics import (
    average_below,
    internal_variation,
    largest_back_off,
    loss_synchronisation,
    settling_time,
    switchings,
    window_correlation,
)
from fairdrop.reproduce.measure.errors import MeasureError
from fairdrop.reproduce.measure.operations import (
    compared_part,
    draws,
    most_draws,
    removals,
    state_bits,
    traversal,
)
from fairdrop.reproduce.measure.runs import drop_ratio, rate_exponent, timeouts_per_flow
from fairdrop.sensitivity import rank_sensitivity

# Windows and series.


def windows(*rows, start=0.0):
    names = {f"tcp[{index}]": list(row) for index, row in enumerate(rows)}
    return {"measured_from_s": start, "windows": {"t_s": list(range(len(rows[0]))), "cwnd_packets": names}}


def test_windows_that_move_together_by_hand():
    up, down = [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]
    assert window_correlation(windows(up, up), "tcp") == pytest.approx(1.0)
    assert window_correlation(windows(up, down), "tcp") == pytest.approx(-1.0)
    # Pairs: 1, -1, -1.
    assert window_correlation(windows(up, up, down), "tcp") == pytest.approx(-1 / 3)
    # Deviations (-1, 1, -1, 1) and (-1, -1, 1, 1): nothing in common.
    assert window_correlation(windows([1, 3, 1, 3], [1, 1, 3, 3]), "tcp") == pytest.approx(0.0)
    # One that never moves is left out; what is before the measuring window, too.
    assert window_correlation(windows(up, up, [5.0] * 4), "tcp") == pytest.approx(1.0)
    assert window_correlation(windows(up, [5.0] * 4), "tcp") is None
    assert window_correlation(windows([9.0, *up], [0.0, *up], start=1.0), "tcp") == pytest.approx(1.0)
    with pytest.raises(MeasureError, match="group 'udp' has no windows"):
        window_correlation(windows(up), "udp")


def test_back_offs_together_by_hand():
    """Four intervals. Together: one pair of two, of 4 intervals; expected 2 · 1/4 · 1/4 a interval, counted twice."""
    halved = [8.0, 4.0, 5.0, 6.0, 7.0]
    later = [8.0, 9.0, 10.0, 5.0, 6.0]
    assert loss_synchronisation(windows(halved, halved), "tcp") == pytest.approx((2 / 4) / (2 / 16))
    assert loss_synchronisation(windows(halved, later), "tcp") == 0.0
    # A fall by less than a quarter is none.
    assert loss_synchronisation(windows(halved, [8.0, 6.0, 7.0, 8.0, 9.0]), "tcp") is None
    assert largest_back_off(windows(halved, halved, later), "tcp", 1.0) == pytest.approx(2 / 3)


def test_independent_windows_are_not_synchronised():
    """Flows that halve at random, each by itself: both measures are at their values without synchronisation."""
    rng = random.Random(1)

    def sawtooth():
        window, row = 10.0, []
        for _ in range(4000):
            window = window / 2 if rng.random() < 0.1 else window + 1
            row.append(window)
        return row

    run = windows(*(sawtooth() for _ in range(12)))
    assert window_correlation(run, "tcp") == pytest.approx(0.0, abs=0.02)
    assert loss_synchronisation(run, "tcp") == pytest.approx(1.0, abs=0.05)


def series(values, name="p0", start=0.0):
    averages = values if name == "red_avg" else [None] * len(values)
    internals = {} if name == "red_avg" else {name: values}
    recorded = {"t_s": [float(t) for t in range(len(values))], "red_avg": averages, "internals": internals}
    queue = {"name": "q", "discipline": "choke", "series": recorded}
    return {"link": "q", "measured_from_s": start, "queues": [queue]}


def test_switches_by_hand():
    """Falls from 20 or above to below it: from 20 to 10, and from 25 to 19; over 6 s."""
    run = series([10.0, 20.0, 10.0, 30.0, 25.0, 19.0, 18.0], "red_avg")
    assert switchings(run, 20) == pytest.approx(100 * 2 / 6)
    assert average_below(run, 20) == pytest.approx(4 / 7)
    # From 3 s on there is one fall, in 3 s.
    assert switchings(series([10, 20, 10, 30, 25, 19, 18], "red_avg", start=3.0), 20) == pytest.approx(100 / 3)
    with pytest.raises(MeasureError, match="choke has no series 'red_avg'; valid: p0"):
        switchings(series([1.0, 2.0]), 20)


def test_values_that_settle_by_hand():
    run = series([0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0], start=4.0)
    # 90 % of 4 is first passed at 4 s; half of it at 2 s. The warm-up counts.
    assert settling_time(run, "p0") == 4.0
    assert settling_time(run, "p0", part=0.5) == 2.0
    assert internal_variation(run, "p0") == 0.0
    assert internal_variation(series([1.0, 3.0]), "p0") == pytest.approx(0.5)
    assert internal_variation(series([0.0, 0.0]), "p0") is None


# Operations.


def queue(discipline="choke", flows=4, longest=30, limit=100, **more):
    total = {"drawn": 90, "most_draws": 3, "compared": 60, "leaked": 20, "arrived": {"packets": 120}, **more}
    velocity = [{"leaked": 0}, {"leaked": 5}, {"leaked": 15}]
    described = {
        "name": "q", "discipline": discipline, "limit_packets": limit, "max_packets": longest, "total": total,
        "flows": [{}] * flows, "velocity": velocity,
    }  # fmt: skip
    return {"link": "q", "queues": [described]}


def test_operations_by_hand():
    run = queue()
    assert draws(run) == 90 / 120
    assert most_draws(run) == 3
    assert compared_part(run) == 60 / 120
    assert removals(run) == 20 / 120
    assert traversal(run) == (1 * 5 + 2 * 15) / 120
    del run["queues"][0]["velocity"]
    with pytest.raises(MeasureError, match="velocity is not in the run"):
        traversal(run)


def test_bits_of_state_by_hand():
    """Limit 100: pointers of 7 bits. At most 30 packets wait, of 4 flows, or of 30 of 50."""
    bits = {
        "choke": {"fixed": 80},
        "drr": {"pointers_per_packet": 2, "per_active_flow": 128, "pointers_per_active_flow": 6},
        "csfq": {"fixed": 10, "per_packet": 3, "per_flow": 5},
    }
    assert state_bits(queue(), bits) == 80
    assert state_bits(queue("drr"), bits) == 2 * 7 * 30 + (128 + 6 * 7) * 4
    assert state_bits(queue("drr", flows=50), bits) == 2 * 7 * 30 + (128 + 6 * 7) * 30
    assert state_bits(queue("csfq", flows=50), bits) == 10 + 3 * 30 + 5 * 50
    with pytest.raises(MeasureError, match="bits of 'red' are missing; valid: choke, csfq, drr"):
        state_bits(queue("red"), bits)


def test_operations_of_a_simulation(headline):
    """What a run counts: each arrival that is compared meets one packet, matches take two out of three of the drops."""
    scenario = fairdrop.load(headline, ["duration=20s", "warm_up=5s", "positions=1s"])
    run = scenario.run(1).document["runs"][0]
    total = run["queues"][0]["total"]
    assert draws(run) == compared_part(run) == total["drawn"] / total["arrived"]["packets"] > 0.5
    assert 0 < removals(run) < draws(run)
    assert removals(run) < traversal(run) < removals(run) * run["queues"][0]["max_packets"]


# Ratios, powers of a price.


def test_groups_by_hand():
    def group(name, bps, dropped, timeouts):
        return {"name": name, "flows": 2, "throughput_bps": bps, "drop_fraction": dropped, "timeouts": timeouts}

    run = {
        "measured_from_s": 10.0, "measured_to_s": 60.0,
        "groups": [group("a", 10.0, 0.1, 3), group("b", 40.0, 0.0, 0), group("c", 160.0, 0.4, 8)],
    }  # fmt: skip
    assert drop_ratio(run, "c", "a") == pytest.approx(4.0)
    assert drop_ratio(run, "a", "b") is None
    assert timeouts_per_flow(run, "a") == pytest.approx(100 * 3 / 2 / 50)
    # Four times as much for twice the price: the square.
    assert rate_exponent(run, ["a", "b", "c"], [1.0, 2.0, 4.0]) == pytest.approx(2.0)
    run["groups"][1]["throughput_bps"] = 0.0
    assert rate_exponent(run, ["a", "b", "c"], [1.0, 2.0, 4.0]) is None


# Checks.


def test_sides_of_the_fewest_flows():
    """At 1 Mb/s, 0.1 s and 20 packets the estimate is 8.08, as the paper says."""
    assert minimum_flows_estimate(125.0, 0.1, 20.0) == pytest.approx(8.08, abs=0.005)
    values = {4: 0.5, 8: 0.2, 16: 0.02, 32: 0.0}
    data = Data(
        Row("choke", {"rate": 1, "flows": flows}, "below", (value,), exact=True) for flows, value in values.items()
    )

    def asked(**bounds):
        parts, measured = minimum_flows_side(data, "below", 0.1, 20, **bounds)
        return [part.state() for part in parts], measured

    assert asked(to_factor=0.5, low=0.4) == ([HOLDS], "0.5 to 0.5 at 1 point")
    assert asked(to_factor=1.0, low=0.4)[0] == [HOLDS, FAILS]
    assert asked(from_factor=1.5, high=0.02)[0] == [HOLDS, HOLDS]
    assert asked(from_factor=1.5, high=0.01) == ([FAILS, HOLDS], "0 to 0.02 at 2 points")
    with pytest.raises(ValueError, match="no point of below has that number of flows"):
        asked(from_factor=100)


def test_one_in_so_many():
    data = Data(Row("choke", {"flows": flows}, "m", (value,), exact=True) for flows, value in ((10, 11.0), (20, 4.0)))
    assert [part.state() for part in one_in(data, "m", "choke", "flows", [10], 0.11, 100.0)[0]] == [HOLDS]
    parts, measured = one_in(data, "m", "choke", "flows", [10, 20], 0.11, 100.0)
    assert [part.state() for part in parts] == [HOLDS, FAILS] and measured == "0.8 to 1.1 times one over flows"


# Designs, and which parameters matter.

DESIGN = """
[[simulation.vary]]
name = "point"
design = { kind = "sobol", points = 8, quick = 4, seed = 3 }
set = ["dumbbell.rate={rate}mbit", "groups.udp.rate={udp}mbit", "groups.tcp.count={flows}"]

[simulation.vary.parameters]
rate = { from = 1, to = 10, log = true }
load = { from = 0.5, to = 4 }
flows = { from = 2, to = 9, whole = true }

[simulation.vary.products]
udp = ["rate", "load", "1/flows", 2]

[[measures]]"""
TEXT = reproduce.definition("choke-fig3").text.replace("[[measures]]", DESIGN, 1)


def test_points_of_a_design():
    found = parse(TEXT, "choke-fig3.toml", "choke-fig3")
    points = found.simulation.vary[0].values
    assert [point["name"] for point in points] == list(range(1, 9))
    assert found.simulation.vary[0].quick == points[:4]
    for point in points:
        assert 1 <= point["rate"] <= 10 and 0.5 <= point["load"] <= 4 and point["flows"] in range(2, 10)
        assert point["udp"] == pytest.approx(2 * point["rate"] * point["load"] / point["flows"])
    # Evenly spread: four of eight in either half of each axis.
    assert sum(point["load"] < 2.25 for point in points) == 4
    assert parse(TEXT, "choke-fig3.toml", "choke-fig3") == found
    cell = next(cells(found, Order()))
    assert cell.content["links"][0]["rate_bps"] == pytest.approx(1e6 * points[0]["rate"], rel=1e-6)
    # Rows are on the axes that were drawn.
    assert dict(located(cell.at)) == {name: points[0][name] for name in ("rate", "load", "flows")}
    assert located({"flows": 3, "mix": {"name": "equal", "a": 1}}) == (("flows", 3), ("mix", "equal"))


@pytest.mark.parametrize(
    ("change", "by", "message"),
    [
        ("points = 8", "points = 7", "design.points = 7 is not valid; valid: a power of two"),
        ("quick = 4", "quick = 16", "design.quick = 16 is not valid"),
        ('kind = "sobol"', 'kind = "dice"', "design.kind = 'dice' is not valid; valid: one of latin_hypercube, sobol"),
        ("from = 0.5", "from = 5", "parameters.load = .* is not valid; valid: from below to"),
        ('"1/flows"', '"1/flow"', "products.udp = .* is not valid; valid: a list of numbers and some of rate, load"),
        ("whole = true", "hole = true", "parameters.flows.hole is unknown"),
    ],
)
def test_mistakes_in_a_design_are_named(change, by, message):
    assert change in TEXT
    with pytest.raises(reproduce.DefinitionError, match=message):
        parse(TEXT.replace(change, by, 1), "choke-fig3.toml", "choke-fig3")


# Tests of several papers in one campaign: each has a base scenario and settings of its own.

TESTS = """
[[simulation.vary]]
name = "test"
values = [{ name = "one", n = 3 }, { name = "other", n = 4, base = "micro/cheat", set = ["groups.udp.rate=5mbit"] }]
set = ["groups.udp.count={n}"]

[[measures]]"""


def test_a_value_has_settings_of_its_own():
    text = reproduce.definition("choke-fig3").text.replace("[[measures]]", TESTS, 1)
    one, other = (cell.content["groups"] for cell in list(cells(parse(text, "x.toml", "choke-fig3"), Order()))[:2])
    assert [group["count"] for group in one] == [32, 3] and [group["count"] for group in other] == [32, 4]
    assert [groups[1]["settings"]["rate_bps"] for groups in (one, other)] == [2e6, 5e6]
    with pytest.raises(reproduce.DefinitionError, match=r"values\[1\].set = .* is not valid; valid: a list of"):
        parse(text.replace('set = ["groups.udp.rate=5mbit"]', "set = 5"), "x.toml", "choke-fig3")


def test_partial_rank_correlations_against_two_regressions():
    """What is left of the ranks of a parameter and of the outcome once the others are fitted and taken off."""
    import numpy as np
    from scipy.stats import pearsonr, rankdata

    rng = np.random.default_rng(4)
    one, two, three = rng.random((3, 60))
    outcome = np.exp(3 * one) - 2 * two + 0.3 * rng.standard_normal(60)
    found = rank_sensitivity({"one": one, "two": two, "three": three}, outcome)
    ranks = {name: rankdata(values) for name, values in {"1": one, "2": two, "3": three, "y": outcome}.items()}

    def left(name, others):
        design = np.column_stack([np.ones(60), *(ranks[other] for other in others)])
        return ranks[name] - design @ np.linalg.lstsq(design, ranks[name], rcond=None)[0]

    for name, key, others in (("one", "1", "23"), ("two", "2", "13"), ("three", "3", "12")):
        expected = pearsonr(left(key, others), left("y", others)).statistic
        assert found.correlations[name].value == pytest.approx(expected, abs=1e-7)
    assert found.explained == pytest.approx(1 - np.var(left("y", "123")) / np.var(ranks["y"]), abs=1e-7)
    assert found.correlations["one"].value > 0.8 and found.correlations["two"].value < -0.4
    assert found.correlations["three"].least == 0.0 < found.correlations["three"].most
    assert found.correlations["two"].least == pytest.approx(-found.correlations["two"].high)


def test_intervals_of_partial_rank_correlations_hold_nothing_as_often_as_they_say():
    """An outcome independent of three parameters: 95 % of the intervals hold 0, within the error of 600 trials."""
    rng = random.Random(7)
    inside = 0
    for _ in range(600):
        columns = [[rng.random() for _ in range(40)] for _ in range(4)]
        inside += rank_sensitivity(dict(zip("abc", columns, strict=False)), columns[3]).correlations["a"].least == 0.0
    assert 0.925 < inside / 600 < 0.975


def test_what_cannot_be_decided_is_refused():
    columns = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "b": [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]}
    assert rank_sensitivity(columns, [1.0, 2.0, 3.0, 4.0, 6.0, 5.0]).points == 6
    for change, message in (
        ({"outcome": [1.0, 2.0, 3.0]}, "points: 3 for 2 parameters; valid: at least 6"),
        ({"outcome": [1.0] * 6}, "the outcome never changes"),
        ({"parameters": {**columns, "b": [1.0] * 6}, "outcome": [1.0, 2, 3, 4, 5, 6]}, "b never changes"),
    ):
        with pytest.raises(ValueError, match=message):
            rank_sensitivity(**{"parameters": columns, **change})


def test_claims_about_what_matters():
    rng = random.Random(2)
    rows = []
    for _ in range(40):
        load, limit = rng.random(), rng.random()
        at = {"load": load, "limit": limit, "noise": rng.random()}
        rows.append(Row("choke", at, "share", (load - 0.2 * limit, load - 0.2 * limit + 0.01 * rng.random())))
    data = Data(rows)
    assert sensitivity_of(data, "share", "choke").correlations["load"].value > 0.9
    state, listed = matters(data, "share", "choke", ["load"], least=0.8)
    assert state == HOLDS and listed.startswith("load 0.9")
    assert matters(data, "share", "choke", ["load"], most=0.3)[0] == FAILS
    noise = sensitivity_of(data, "share", "choke").correlations["noise"]
    assert noise.least == 0.0
    assert matters(data, "share", "choke", ["load", "noise"], least=noise.most + 0.01)[0] == FAILS
    assert matters(data, "share", "choke", ["load", "noise"], least=noise.most - 0.01)[0] == UNCLEAR, "reaches across"
    assert matters(data, "share", "choke", ["noise"], most=noise.most - 0.01)[0] == UNCLEAR
    assert matters(data, "share", "choke", ["noise"], most=noise.most + 0.01)[0] == HOLDS


def test_sensitivity_of_a_sweep(headline, tmp_path):
    """UDP's share goes with its rate and not with the weight of the average."""
    axes = {
        "groups.udp.rate": {"from": "100kbit", "to": "800kbit"},
        "queue.red.w_q": {"from": 0.001, "to": 0.01},
    }
    design = {"kind": "sobol", "points": 16}
    scenario = fairdrop.load(headline, ["duration=20s", "warm_up=5s", "queue.discipline=red"])
    made = fairdrop.sweep(scenario, axes=axes, design=design, seeds=2, out=tmp_path / "sweep")
    found = made.sensitivity("share", "udp")
    assert found.points == 16
    assert found.correlations["udp_rate_bps"].least > 0.8
    assert found.correlations["w_q"].least == 0.0


def test_the_command_of_a_fifo(capsys):
    """Under DropTail the buffer is full; RED and a buffer together, or half of RED, are refused."""
    from fairdrop.cli import main

    asked = ["model", "fifo", "--capacity", "125", "--tcp-flows", "32", "--delay", "0.1", "--udp-rate", "125"]
    assert main([*asked, "--buffer", "300"]) == 0
    out = capsys.readouterr().out
    assert "queue 300.0 packets, wait 2400.0 ms, the buffer is full" in out
    assert main([*asked, "--min-th", "20", "--max-th", "520", "--max-p", "0.5"]) == 0
    assert "RED drops 23.45 %" in capsys.readouterr().out
    for wrong, message in (
        ([], "--buffer must be given for DropTail"),
        (["--min-th", "20", "--buffer", "3"], "--buffer must be given for DropTail"),
        (["--min-th", "20"], "--max-th must be given with the other two of RED"),
    ):
        assert main([*asked, *wrong]) == 2
        assert message in capsys.readouterr().err
