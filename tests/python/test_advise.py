"""Advice: reproducible, checked on other loads, with commands that tc takes, and honest about FQ-CoDel."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib

import pytest

import fairdrop
from fairdrop.advise import advise
from fairdrop.advise.advice import BESIDE, Advice, Check, Finalist, _finalists, _remarks
from fairdrop.advise.candidates import CANDIDATES, Knob, burst, told
from fairdrop.advise.link import Link, Load, checking_loads, read_link, tuning_loads
from fairdrop.advise.score import Seen, jain_over, score, seen
from fairdrop.advise.search import CHECK_SEEDS, SEARCH_SEEDS
from fairdrop.estimate import Estimate, estimate
from fairdrop.study.axes import StudyError
from fairdrop.study.observed import Observed

LINK = Link(4_000_000, 0.01, 0.04, 6)
SMALL = {"disciplines": ["droptail", "fq_codel"], "budget": 80, "threads": 1}
NO_CAKE = "CAKE was not tried, which Linux has for this."
NEITHER = "FQ-CoDel and CAKE were not tried, which Linux has for this."


@pytest.fixture(scope="module")
def advice(tmp_path_factory) -> Advice:
    return advise("4mbit", "10ms..40ms", 6, target="fairness", out=tmp_path_factory.mktemp("advice") / "o", **{
        **SMALL, "budget": 160,
    })  # fmt: skip


# The answer, and what it rests on.


def test_fq_codel_is_the_fair_one_and_it_is_said(advice):
    assert advice.choice.discipline == "fq_codel"
    assert advice.choice.behind is None
    assert advice.remarks == ["FQ-CoDel is the best of those that were tried.", NO_CAKE]
    (other,) = advice.finalists[1:]
    assert other.discipline == "droptail" and other.behind.low > 0
    beside_udp = {one.discipline: one.checks[-1].tcp_over_fair.mean for one in advice.finalists}
    assert beside_udp["fq_codel"] > 0.7 > 0.2 > beside_udp["droptail"]


def test_checks_are_on_loads_that_were_not_tuned_on(advice):
    tuned = tuning_loads(advice.link, fairness=True)
    checked = checking_loads(advice.link)
    assert [check.load for check in advice.choice.checks] == [load.name for load in checked]
    links = {load.link for load in checked}
    assert len(links) == 5 and all(load.link == advice.link for load in tuned)
    assert {load.unresponsive for load in checked} == {True, False}
    # Seeds of the check are others than those of the search: 1000 further on.
    assert SEARCH_SEEDS < 1000 and advice.choice.score.n == CHECK_SEEDS


def test_numbers_are_those_of_runs(advice):
    """The first check of the choice, simulated again."""
    load = checking_loads(advice.link)[0]
    choice = advice.choice
    settings = CANDIDATES[choice.discipline].scenario_settings(advice.link, choice.parameters)
    scenario = load.scenario.with_settings("seed=1001", *settings)
    result = scenario.run(seeds=CHECK_SEEDS)
    assert choice.checks[0].used == estimate(result.runs.column("utilisation"))
    waits = [row["sojourn_p99_s"] for row in result.link_groups.rows() if row["group"] == "voice"]
    assert choice.checks[0].voice_wait_ms == estimate(1e3 * wait for wait in waits)


def test_the_same_arguments_give_the_same_advice(advice, tmp_path):
    again = advise("4mbit", "10ms..40ms", 6, target="fairness", out=tmp_path / "o", **{**SMALL, "budget": 160})
    assert again.to_dict() == advice.to_dict()
    from_store = advise("4mbit", "10ms..40ms", 6, target="fairness", out=tmp_path / "o", **{**SMALL, "budget": 160})
    assert from_store.computed == 0
    assert {**from_store.to_dict(), "computed": advice.computed} == advice.to_dict()
    other = advise("4mbit", "10ms..40ms", 6, target="fairness", out=tmp_path / "o", seed=7, **{**SMALL, "budget": 160})
    assert other.computed > 0 and other.finalists != advice.finalists


def test_the_scenario_is_that_of_the_choice(advice):
    found = advice.scenario.to_dict()
    assert found["queue"]["discipline"] == "fq_codel"
    assert found["queue"]["codel"]["target"] == advice.choice.parameters["target"]
    assert fairdrop.Scenario(advice.scenario.source).to_dict() == found


def test_parameters_that_were_found_are_no_worse_than_the_usual_ones(tmp_path):
    """On the load that they were tuned on; the usual ones are among those that are tried."""
    found = advise("4mbit", "10ms..40ms", 6, out=tmp_path / "o", disciplines=["red"], budget=60)
    (red,) = found.finalists
    usual = CANDIDATES["red"].usual(found.link)
    assert found.screened["red"] > 0
    assert set(red.parameters) == set(usual)
    assert found.remarks == [NEITHER]


# FQ-CoDel and CAKE are beside every choice, and told where they are better.


def test_the_best_three_and_what_linux_has_are_searched():
    screened = {name: float(place) for place, name in enumerate(CANDIDATES)}
    assert set(_finalists(screened)) == {*list(CANDIDATES)[:3], *BESIDE}
    assert _finalists({name: 1.0 - score for name, score in screened.items()})[:3] == list(CANDIDATES)[:-4:-1]
    assert len(_finalists({"fq_codel": 1.0, "cake": 2.0, "red": 3.0})) == 3
    # Where neither was asked for the fourth is searched.
    assert _finalists({"red": 4.0, "choke": 3.0, "pie": 2.0, "codel": 1.0}) == ["codel", "pie", "choke", "red"]


def finalist(name, behind, protection):
    one = Estimate(1.0, 0.1, 5)
    checks = [
        Check(load.name, one, one, one, one, one, one, Estimate(protection, 0.01, 5), one)
        for load in checking_loads(LINK)
    ]
    candidate = CANDIDATES[name]
    tc = candidate.tc and candidate.tc(LINK, candidate.usual(LINK))
    return Finalist(name, candidate.usual(LINK), checks, one, behind, tc, candidate.remark)


@pytest.mark.parametrize(("name", "shown", "missing"), [
    ("fq_codel", "FQ-CoDel", NO_CAKE), ("cake", "CAKE", "FQ-CoDel was not tried, which Linux has for this."),
])  # fmt: skip
@pytest.mark.parametrize(
    ("behind", "protections", "parts"),
    [
        (Estimate(0.5, 1.0, 5), (0.9, 0.9), ["is the better answer: the difference from CHOKe is within"]),
        (Estimate(5.0, 1.0, 5), (0.3, 0.9), ["is the better answer where a sender may not respond: TCP then "
                                             "has 0.90 of its fair share, under CHOKe 0.30."]),
        (Estimate(5.0, 1.0, 5), (0.8, 0.9), []),
    ],
)  # fmt: skip
def test_where_fq_codel_or_cake_is_better(name, shown, missing, behind, protections, parts):
    choice, other = finalist("choke", None, protections[0]), finalist(name, behind, protections[1])
    found = _remarks([choice, other], checking_loads(LINK))
    assert found[-1] == missing and len(found) == len(parts) + 1
    for remark, part in zip(found, parts, strict=False):
        assert remark.startswith(f"{shown} {part}")


@pytest.mark.parametrize(("behind", "as_good"), [(Estimate(0.5, 1.0, 5), True), (Estimate(5.0, 1.0, 5), False)])
def test_the_two_beside_each_other(behind, as_good):
    found = _remarks([finalist("cake", None, 0.9), finalist("fq_codel", behind, 0.3)], checking_loads(LINK))
    assert found[0] == "CAKE is the best of those that were tried."
    told = "FQ-CoDel is as good: the difference from CAKE is within its 95 % interval."
    assert found[1:] == ([told] if as_good else [])


def test_who_is_as_good_as_the_choice_is_told():
    """Not as the better answer: for Linux it is no better than the choice."""
    codel = finalist("codel", Estimate(0.5, 1.0, 5), 0.9)
    remarks = _remarks([finalist("pie", None, 0.9), codel], checking_loads(LINK))
    assert remarks == ["CoDel is as good: the difference from PIE is within its 95 % interval.", NEITHER]


def test_what_linux_has_is_told_where_the_choice_is_not_in_it():
    remarks = _remarks([finalist("afd", None, 0.9), finalist("codel", Estimate(2, 1, 5), 0.1)], checking_loads(LINK))
    assert remarks == ["For Linux, CoDel with target 5ms, interval 100ms comes next.", NEITHER]


def test_cake_is_as_tc_would_have_it():
    """With the link's rate where the queue is at it, and with less in front of a slower link."""
    cake = CANDIDATES["cake"]
    values = {"interval": 0.05}
    queue = Load("x", LINK).scenario.with_settings(*cake.scenario_settings(LINK, values)).to_dict()["queue"]
    assert queue["cobalt"]["interval"] == 0.05 and queue["cobalt"]["target"] == 0.0025
    assert cake.tc(LINK, values) == "cake bandwidth 4000000bit besteffort triple-isolate rtt 50000us memlimit 115200"
    in_front = "cake bandwidth 3800000bit besteffort triple-isolate rtt 50000us memlimit 115200"
    assert cake.tc_in_front(LINK, values) == in_front


def test_a_shaper_at_the_links_rate_changes_nothing():
    """So what is simulated, without a shaper, is what ``tc`` is told."""
    cake = CANDIDATES["cake"]
    settings = [*cake.scenario_settings(LINK, {"interval": 0.1}), "queue.limit=50p"]
    load = Load("x", LINK, unresponsive=True).scenario
    plain, shaped = (load.with_settings(*settings, *more).run() for more in ([], ["queue.cake.rate=4mbit"]))
    assert shaped.flows.rows() == plain.flows.rows()


# Scores by hand.


def test_jain_over_groups_is_jain_over_flows():
    flows = [[1.0, 2.0, 3.0], [4.0], [0.0, 0.0]]
    groups = [
        (len(some), sum(some), sum(some) ** 2 / (len(some) * sum(x * x for x in some)) if sum(some) else None)
        for some in flows
    ]
    every = [x for some in flows for x in some]
    assert jain_over(groups) == pytest.approx(sum(every) ** 2 / (len(every) * sum(x * x for x in every)))
    assert jain_over([(3, 0.0, None)]) == 0


def test_scores_by_hand():
    load = Load("x", LINK)
    found = Seen(0.03, 0.06, 0.003, used=0.9, jain=0.8, tcp_over_fair=1.0, short_s=None)
    assert found.wait_s == pytest.approx(0.031)
    # DropTail uses all: 0.95 of that less 0.9 is a shortage of 0.05, which doubles the wait.
    assert score("delay", found, load, 1.0) == pytest.approx(31 * 2)
    assert score("delay", found, load, 0.9) == pytest.approx(31)
    assert score("fairness", found, load, 1.0) == pytest.approx(0.2 + 0.05)
    assert score("throughput", found, load, 1.0) == pytest.approx(0.1 + 0.01 * 0.031 / 0.04)


def test_what_is_seen_of_a_run():
    def group(flows, bps, transport, wait, jain=1.0):
        return {
            "flows": flows, "throughput_bps": bps, "transport": transport, "sojourn_p99_s": wait, "jain_index": jain,
            "fct_mean_s": 0.5,
        }  # fmt: skip

    run = Observed(
        1,
        {"link_rate_bps": 10e6, "link_utilisation": 0.99},
        {
            "near": group(2, 4e6, "cubic", 0.02), "far": group(2, 2e6, "cubic", 0.04), "udp": group(1, 3e6, "cbr", 1.0),
            "short": group(1, 0.5e6, "cubic", 0.01), "voice": group(1, 1e5, "cbr", None),
        },
    )  # fmt: skip
    found = seen(run)
    assert (found.long_wait_s, found.short_wait_s, found.voice_wait_s) == (0.03, 0.01, 0.0)
    # Four long flows and UDP: a fair share is 2 Mb/s, of which the four have 1.5 on average.
    assert found.tcp_over_fair == pytest.approx(0.75)
    assert found.jain == pytest.approx(9e6**2 / (5 * (2 * 2e6**2 + 2 * 1e6**2 + 3e6**2)))


# Loads and parameters.


@pytest.mark.parametrize("flows", [1, 2, 3, 4, 50])
def test_a_load_has_as_many_flows_as_asked(flows):
    found = tomllib.loads(Load("x", Link(10_000_000, 0.02, 0.08, flows)).scenario.source)
    tcp = [group for group in found["groups"] if group["name"] not in ("short", "voice")]
    assert sum(group["count"] for group in tcp) == flows
    rtts = [4 * group["access_delay"] for group in tcp]
    assert rtts[-1] == pytest.approx(0.08) and (flows == 1 or rtts[0] == pytest.approx(0.02))


def test_the_buffer_is_a_bandwidth_delay_product():
    assert Link(100_000_000, 0.02, 0.08, 1).buffer_packets == 667
    assert Link(1_000_000, 0.02, 0.02, 1).buffer_packets == 50


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("link", [LINK, Link(1_000_000, 0.001, 0.001, 1), Link(10_000_000_000, 1.0, 1.0, 9)], ids=str)
def test_every_end_of_every_parameter_is_a_valid_scenario(name, link):
    candidate = CANDIDATES[name]
    knobs = candidate.knobs(link)
    for part in (0.0, 0.5, 1.0):
        values = {knob.name: knob.at(part) for knob in knobs}
        found = Load("x", link).scenario.with_settings(*candidate.scenario_settings(link, values))
        assert found.to_dict()["queue"]["discipline"] == name
    for knob in knobs:
        assert knob.low < knob.high and knob.at(0) >= 1e-4
        assert knob.at(min(max(knob.part(knob.usual), 0.0), 1.0)) == pytest.approx(
            min(max(knob.usual, knob.low), knob.high), rel=0.01, abs=1
        )


def test_parameters_are_drawn_by_ratios():
    assert [Knob("x", 1, 100, 10).at(part) for part in (0, 0.5, 1, 2)] == [1, 10, 100, 100]
    assert Knob("x", 1, 100, 10, whole=True).at(0.33) == 5
    assert told({"target": 0.005, "min_th": 15.0}) == "target 5ms, min_th 15"


@pytest.mark.parametrize("packets", [2, 5, 15, 100, 1000])
def test_burst_gives_red_its_weight(packets):
    """tc takes the least w_log with a <= (1 - (1 - W)^burst) / W, a = burst + 1 - min: it is to be 9."""

    def w_log(chosen):
        for found in range(1, 32):
            weight = 2.0**-found
            if chosen + 1 - packets <= (1 - (1 - weight) ** chosen) / weight:
                return found
        return None

    assert w_log(burst(packets)) == 9
    assert w_log(burst(packets) + 1) == 10


def tc_takes(command):
    """What tc says of a command in a network namespace of its own."""
    words = ["unshare", "-rn", "tc", "qdisc", "replace", "dev", "lo", "root", *command.split()]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", [name for name, one in CANDIDATES.items() if one.tc and name != "dualpi2"])
def test_tc_takes_the_command(name):
    """Its words at least; and the qdisc, where the kernel has it."""
    if shutil.which("tc") is None or shutil.which("unshare") is None:
        pytest.skip("there is no tc here (Debian package iproute2)")
    if tc_takes("pfifo limit 10").returncode != 0:
        pytest.skip("no namespaces here")
    candidate = CANDIDATES[name]
    for command in filter(None, (candidate.tc, candidate.tc_in_front)):
        words = command(LINK, candidate.usual(LINK))
        done = tc_takes(words)
        assert done.returncode == 0 or "qdisc kind is unknown" in done.stderr, done.stderr
        # What is wrong is noticed before the kernel is asked.
        wrong = tc_takes(f"{words} nonsense 3")
        assert wrong.returncode != 0 and "qdisc kind is unknown" not in wrong.stderr


# What is refused.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": "fast"}, "rate = 'fast' is not valid; valid: a rate from 1mbit to 10gbit"),
        ({"rate": "1kbit"}, "rate = '1kbit' is not valid"),
        ({"rate": "11gbit"}, "rate = '11gbit' is not valid"),
        ({"rtt": "80ms..20ms"}, "rtt = '80ms..20ms' is not valid; valid: a time from 1ms to 1s, or two"),
        ({"rtt": "20..."}, "rtt = '20...' is not valid"),
        ({"rtt": "1ms..2ms..3ms"}, "is not valid"),
        ({"rtt": "2s"}, "is not valid"),
        ({"rtt": ""}, "is not valid"),
        ({"flows": 0}, "flows = 0 is not valid; valid: a whole number from 1 to 10000"),
        ({"flows": 1.5}, "flows = 1.5 is not valid"),
        ({"target": "speed"}, "target = 'speed' is not valid; valid: delay, fairness, throughput"),
        ({"disciplines": ["blue"]}, "disciplines: 'blue' is not valid; valid: droptail, red, "),
        ({"disciplines": []}, "disciplines: there is none"),
        ({"budget": 10}, "budget = 10 is not valid; valid: a whole number from 184 to 1000000"),
        ({"seed": -1}, "seed = -1 is not valid; valid: a whole number from 0 to 2147483648"),
    ],
)
def test_bad_input_is_refused(tmp_path, change, message):
    fields = {"rate": "10mbit", "rtt": "20ms", "flows": 5, **change}
    positional = [fields.pop(name) for name in ("rate", "rtt", "flows")]
    with pytest.raises(StudyError) as error:
        advise(*positional, out=tmp_path / "o", **fields)
    assert message in str(error.value)
    assert not (tmp_path / "o").exists()


def test_links_as_people_write_them():
    assert read_link("100mbit", "20ms..80ms", 50) == Link(100_000_000, 0.02, 0.08, 50)
    assert str(read_link("100mbit", "50ms", 5)) == "100 Mb/s, round trips of 50 ms, 5 flows"


def test_the_command(fairdrop, tmp_path):
    words = ["advise", "--rate", "2mbit", "--rtt", "40ms", "--flows", "2", "--disciplines", "red,fq_codel,cake",
             "--budget", "120"]  # fmt: skip
    done = fairdrop(*words)
    assert done.returncode == 0, done.stderr
    assert "2 Mb/s, round trips of 40 ms, 2 flows; target: delay" in done.stdout
    assert "fq_codel: tc qdisc replace dev DEV root fq_codel limit 50 target " in done.stdout
    assert "cake: tc qdisc replace dev DEV root cake bandwidth 2000000bit " in done.stdout
    assert "cake, in front of a slower link: tc qdisc replace dev DEV root cake bandwidth 1900000bit " in done.stdout
    assert "tried" not in done.stdout or "best of those that were tried" in done.stdout
    found = json.loads(fairdrop(*words, "--json").stdout)
    assert found["computed"] == 0 and len(found["finalists"]) == 3
    assert (tmp_path / "advice" / "scenario.toml").read_text() == found["scenario"]
    for wrong in (["--flows", "x"], ["--rate", "1 furlong"], ["--rtt", "9h"], ["--target", "luck"]):
        bad = fairdrop(*words, *wrong, "--out", "other")
        assert bad.returncode == 2 and "valid: " in bad.stderr and "Traceback" not in bad.stderr
    assert not (tmp_path / "other").exists()
