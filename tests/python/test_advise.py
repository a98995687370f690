"""Advice: one choice that nothing beside it contradicts, within its time, reproducible, with commands that tc takes."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import subprocess
import tomllib

import pytest

import fairdrop
from fairdrop.advise import advice as advice_module
from fairdrop.advise import advise, campaign, trials
from fairdrop.advise.answer import Advice
from fairdrop.advise.candidates import USUAL, Setting, in_words, rounded_up, settings_of
from fairdrop.advise.judge import MARGIN, by_discipline, chosen, goes_on, standings
from fairdrop.advise.link import Link, read_link
from fairdrop.advise.linux import burst, commands, remark
from fairdrop.advise.loads import Load, loads_of
from fairdrop.advise.plan import check, look
from fairdrop.advise.profiles import ACCESS, PROFILES, profile_of
from fairdrop.advise.score import Seen, jain_over, score, seen
from fairdrop.advise.sureness import sureness
from fairdrop.advise.trials import APART, NOMINAL
from fairdrop.estimate import TIME_RESOLUTION, estimate
from fairdrop.study.axes import StudyError
from fairdrop.study.observed import Observed
from fairdrop.wording.disciplines import discipline_name

HOME = PROFILES["home"]
LINK = Link(4_000_000, 0.01, 0.04, 6)
# On it every trial is short; frozen clocks, so that no machine is too slow for it.
SMALL = {"rate": "2mbit", "rtt": "20ms", "flows": 2, "time": "3s", "threads": 1, "clock": lambda: 0.0}


def small(tmp_path, **changes) -> Advice:
    found = advise(out=tmp_path / "o", **{**SMALL, **changes})
    assert found is not None
    return found


@pytest.fixture(scope="module", autouse=True)
def no_machine_is_too_slow():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "speed", lambda *_: 1e12)
        yield


@pytest.fixture(scope="module")
def advice(tmp_path_factory) -> Advice:
    return small(tmp_path_factory.mktemp("advice"), disciplines=["droptail", "pie", "fq_codel"])


# The answer, and what it rests on.


def test_the_choice_is_stated_with_its_confidence(advice):
    assert advice.choice.discipline == "fq_codel" and advice.choice.level
    assert advice.profile == "home" and advice.because == "from at most 50 flows and 300 Mb/s"
    assert advice.access == "unknown" and not advice.cut
    assert advice.sure.level in ("high", "moderate")
    assert any("PIE" in why and "worse than the best" in why for why in advice.sure.why)
    assert set(advice.looked) == {
        "fq_codel (defaults)", "fq_codel (for this link)", "pie (defaults)", "droptail (defaults)",
    }  # fmt: skip


def test_numbers_are_those_of_runs(advice):
    """The first check of the choice, simulated again."""
    load = loads_of(advice.link, HOME)[0]
    check_of = advice.choice.checks[0]
    (setting,) = (one for one in settings_of("fq_codel", advice.link, HOME) if one.variant == advice.choice.variant)
    assert advice.first_seed == 1 + APART and advice.seeds >= 2
    scenario = load.scenario(advice.round_trips).with_settings(f"seed={advice.first_seed}", *setting.scenario_settings)
    result = scenario.run(seeds=advice.seeds)
    assert check_of.used == estimate(result.runs.column("utilisation"))
    waits = [row["sojourn_p99_s"] for row in result.link_groups.rows() if row["group"] == "voice"]
    assert check_of.sparse_wait_ms == estimate((1e3 * wait for wait in waits), resolution=TIME_RESOLUTION)
    assert check_of.sparse_wait_ms.half >= TIME_RESOLUTION / 2 * check_of.sparse_wait_ms.mean


def test_the_same_arguments_give_the_same_advice(advice, tmp_path):
    again = small(tmp_path, disciplines=["droptail", "pie", "fq_codel"])
    assert again.to_dict() == advice.to_dict()
    assert again.computed == again.runs > 0
    stored = small(tmp_path, disciplines=["fq_codel", "droptail", "pie"], threads=2)
    assert stored.computed == 0
    assert {**stored.to_dict(), "computed": advice.computed} == advice.to_dict()
    other = small(tmp_path, disciplines=["droptail", "pie", "fq_codel"], seed=7)
    assert other.computed > 0 and other.choice.checks != advice.choice.checks


def test_the_scenario_is_that_of_the_choice(advice):
    found = advice.scenario.to_dict()
    assert found["queue"]["discipline"] == "fq_codel"
    assert found["queue"]["codel"]["target"] == advice.choice.parameters["target"]
    assert fairdrop.Scenario(advice.scenario.source).to_dict() == found


def test_own_disciplines_are_candidates(tmp_path):
    """By themselves, and where they are named; for Linux the best that it has is recommended."""

    @fairdrop.register
    class Short(fairdrop.Discipline):
        """A FIFO of one packet."""

        name = "short_fifo"

        def enqueue(self, packet):
            if self.queue:
                self.drop(packet, "overflow")
            else:
                self.queue.push(packet)

    found = small(tmp_path, disciplines=["short_fifo", "droptail"])
    assert {one.discipline for one in found.finalists} == {"short_fifo", "droptail"}
    (own,) = (one for one in found.finalists if one.discipline == "short_fifo")
    assert own.commands == [] and own.remark == "Linux has no such qdisc"
    assert advice_module._names(None, HOME)[-1] == "short_fifo"
    assert advice_module._names(["short_fifo", "cake"], HOME) == ["cake", "short_fifo"]


# The time decides how much is done, and a machine that is too slow says so.


def test_a_plan_fits_into_its_effort_and_grows_with_it():
    for link, profile in ((LINK, HOME), (Link(10**9, 0.02, 0.02, 500), PROFILES["campus"])):
        loads, before = loads_of(link, profile), 0.0
        for seconds in (1, 5, 30, 300):
            effort = seconds * NOMINAL
            first = look(loads, 12, effort)
            if first is None:
                assert before == 0
                continue
            assert first.effort <= 0.6 * effort
            second = check(loads, 5, effort - first.effort)
            assert second is None or first.effort + second.effort <= effort
            assert first.effort + (second.effort if second else 0) >= before
            before = first.effort + (second.effort if second else 0)
        assert second.seeds >= 3 and second.loads == tuple(loads)


def test_where_no_trial_fits_the_answer_is_what_is_published(tmp_path):
    found = advise("10gbit", "1s", 100, time="1s", out=tmp_path / "o", clock=lambda: 0.0, profile="campus")
    assert found.choice.discipline == "fq_codel" and found.sure.level == "none" and found.runs == 0
    # Its interval is the round trip, as the defaults are for 100 ms.
    assert found.choice.parameters == {"target": 0.05, "interval": 1.0}
    assert found.choice.commands and not found.cut
    least_s = int(re.search(r"no trial fits into a time below (\d+) s", found.sure.why[0])[1])
    assert look(loads_of(found.link, PROFILES["campus"]), 9, least_s * NOMINAL) is not None
    assert look(loads_of(found.link, PROFILES["campus"]), 9, (least_s - 1) * NOMINAL) is None
    near = advise("10gbit", "100ms", 5000, time="1s", out=tmp_path / "o", clock=lambda: 0.0)
    assert near.sure.level == "none" and near.choice.variant == USUAL
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_machine_that_is_far_too_slow_says_what_is_published(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "speed", lambda *_: 1.0)
    found = small(tmp_path, disciplines=["fq_codel", "pie"])
    assert found.cut and found.sure.level == "none" and found.choice.discipline == "fq_codel"


def test_one_variant_of_each_goes_first_where_time_is_short(tmp_path):
    """Here there is room for three of six settings on one load, then for two."""
    for time, names in (("1500ms", ["fq_codel", "cake", "codel"]), ("1s", ["fq_codel", "cake"])):
        found = advise(
            "1gbit", "20ms", 100, profile="campus", disciplines=["codel", "cake", "fq_codel"], time=time,
            out=tmp_path / "o", clock=lambda: 0.0,
        )  # fmt: skip
        assert [name.split()[0] for name in found.looked] == names and found.sure.level == "low"
        left_out = [why for why in found.sure.why if why.startswith("there was no time (--time) for ")]
        assert left_out == ([] if "codel" in names else ["there was no time (--time) for CoDel"])


@pytest.mark.parametrize(("looks", "loads", "first_seed"), [(3, 1, 1), (7, 2, 1), (13, 2, 1001)])
def test_a_slow_machine_answers_in_time_and_says_so(tmp_path, looks, loads, first_seed):
    """The clock says that the time is over in the first look at the candidates, before the check, and in it.

    What was done by then is the answer; the same command with time for all of it goes on to the whole answer.
    """
    times = iter([*[0.0] * looks, *[100.0] * 100])
    cut = small(tmp_path, disciplines=["fq_codel", "pie"], clock=lambda: next(times))
    assert cut.cut and cut.sure.level == "low" and cut.choice.discipline == "fq_codel"
    assert cut.first_seed == first_seed
    assert [one.load for one in cut.choice.checks] == [load.name for load in loads_of(cut.link, HOME)][:loads]
    whole = small(tmp_path, disciplines=["fq_codel", "pie"])
    assert not whole.cut and whole.computed == whole.runs - cut.runs > 0


def test_the_speed_of_a_machine_is_that_of_short_runs(monkeypatch):
    """Two runs take two seconds here; the load is one of few packets, which cost less than the run itself."""
    load = loads_of(LINK, HOME)[0]
    some = settings_of("fq_codel", LINK, HOME) + settings_of("pie", LINK, HOME)
    for threads, factor in ((1, 1.0), (4, 0.8 * 4)):
        times = iter([5.0, 7.0])
        monkeypatch.setattr(trials.time, "process_time", lambda times=times: next(times))
        assert trials.speed(load, some[:2], threads) == pytest.approx(factor * load.effort(20))


def test_the_time_is_stated_before_it_begins(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(campaign, "speed", lambda *_: 1e5)
    times = iter([0.0, 0.0, *[100.0] * 50])
    small(tmp_path, disciplines=["fq_codel", "pie"], clock=lambda: next(times), progress=True)
    assert "fairdrop: a first answer after about " in capsys.readouterr().err


# Which one is chosen.


def logs(**scores):
    return {Setting(name): [math.log(value) for value in values] for name, values in scores.items()}


ORDER = ["fq_codel", "cake", "fq_pie", "sfq", "pie", "choke"]


@pytest.mark.parametrize(
    ("scores", "choice"),
    [
        # Better by less than a tenth, however certainly.
        ({"sfq": [1.0, 1.0, 1.0], "fq_codel": [1.08, 1.08, 1.08]}, "fq_codel"),
        # By more, and not certainly.
        ({"choke": [1.0, 1.0, 1.0], "fq_codel": [0.8, 1.2, 2.2], "cake": [1.0, 1.0, 1.1]}, "fq_codel"),
        # By more, and certainly.
        ({"choke": [1.0, 1.1, 0.9], "fq_codel": [1.3, 1.43, 1.18], "cake": [1.35, 1.4, 1.3]}, "choke"),
        ({"choke": [1.0, 1.1, 0.9], "fq_codel": [1.3, 1.43, 1.18], "cake": [1.02, 1.11, 0.93]}, "cake"),
        # One seed, or two, separate what is half as much again.
        ({"pie": [1.0], "fq_codel": [1.4]}, "fq_codel"),
        ({"pie": [1.0], "fq_codel": [1.6]}, "pie"),
        ({"pie": [1.0, 1.0], "fq_codel": [2.0, 5.0]}, "pie"),
    ],
)
def test_a_tie_goes_to_what_is_deployed(scores, choice):
    found = standings(logs(**scores))
    assert chosen(found, ORDER).setting.discipline == choice


def test_defaults_go_before_other_parameters_that_are_as_good():
    usual, own = Setting("codel"), Setting("codel", "for this link", (("target", 0.001),))
    assert list(by_discipline({usual: [0.05, 0.05, 0.05], own: [0.0, 0.0, 0.0]})) == [usual]
    assert list(by_discipline({usual: [0.5, 0.51, 0.5], own: [0.0, 0.0, 0.0]})) == [own]
    assert list(by_discipline({own: [0.0, 0.0, 0.0]})) == [own]


def test_the_best_and_what_is_deployed_go_on():
    found = logs(pie=[1.0], choke=[2.0], sfq=[3.0], fq_pie=[4.0], cake=[5.0], fq_codel=[6.0])
    own = Setting("fq_codel", "for this link", (("target", 0.001),))
    assert [one.discipline for one in goes_on(found, ORDER)] == ["pie", "choke", "sfq", "fq_codel", "cake"]
    for factor, kept in ((1.2, 2), (1.3, 1)):
        more = {**found, own: [math.log(6.0 * factor)]}
        assert [one.discipline for one in goes_on(more, ORDER)].count("fq_codel") == kept


@pytest.mark.parametrize("seeds", [1, 2, 3, 8])
def test_words_do_not_contradict_the_choice(seeds):
    """Over many outcomes: who is called worse is not level, and nothing is called better than the choice."""
    stage = check(loads_of(LINK, HOME), 3, 1e9)
    for number in range(40):
        wave = [[math.sin(7 * number + 3 * place + seed) for seed in range(seeds)] for place in range(4)]
        found = standings({Setting(name): values for name, values in zip(ORDER, wave, strict=False)})
        choice = chosen(found, ORDER)
        name = discipline_name(choice.setting.discipline)
        sure = sureness(found, choice.setting.discipline, stage, 6)
        text = "; ".join(sure.why)
        assert choice.is_level and "better" not in text
        for clause in sure.why:
            before = clause.partition(" worse than the best, by ")
            if before[1]:
                assert seeds > 1 or "significantly" not in clause
                assert name not in before[0] and float(before[2].split()[0]) >= 100 * MARGIN
        level = [one for one in found if one.is_level and one is not choice]
        assert all(ORDER.index(one.setting.discipline) > ORDER.index(choice.setting.discipline) for one in level)
        assert sure.level != "high" or not any(one.is_open for one in found)


def test_few_loads_or_seeds_are_no_high_sureness():
    loads = loads_of(LINK, HOME)
    found = standings(logs(fq_codel=[1.0, 1.0, 1.0], pie=[3.0, 3.0, 3.0]))
    whole = check(loads, 2, 1e12)
    assert sureness(found, "fq_codel", whole, len(loads)).level == "high"
    out = sureness(found, "fq_codel", whole, len(loads), ["red", "choke"])
    assert out.level == "low" and out.why[-1] == "there was no time (--time) for RED and CHOKe"
    few = look(loads, 2, 1e12)
    assert sureness(found, "fq_codel", few, len(loads)).level == "low"


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
    load = Load("x", LINK, HOME)
    found = Seen(0.03, 0.001, 0.059, 0.006, used=0.9, jain=0.8, tcp_over_fair=1.0)
    # One lost of a thousand counts as 1 ms.
    assert found.wait_s == pytest.approx(0.032)
    # 5 % of 40 ms, and a packet of 3 ms, are there always; a shortage of 5 % is a tenth of a round trip.
    assert score("delay", found, load, 0.9) == pytest.approx(32 + 2 + 3)
    assert score("delay", found, load, 1.0) == pytest.approx(32 + 2 + 3 + 4)
    assert score("fairness", found, load, 1.0) == pytest.approx(0.2 + 0.05 + 0.1)
    assert score("throughput", found, load, 1.0) == pytest.approx(0.1 + 0.01 * 0.032 / 0.04 + 0.1)


def test_what_is_seen_of_a_run():
    def group(flows, bps, transport, wait, jain=1.0):
        return {
            "flows": flows, "throughput_bps": bps, "transport": transport, "sojourn_p99_s": wait, "jain_index": jain,
            "sojourn_mean_s": wait, "fct_mean_s": 0.5, "drop_fraction": 0.02,
        }  # fmt: skip

    run = Observed(
        1,
        {"link_rate_bps": 10e6, "link_utilisation": 0.99},
        {
            "near": group(3, 4e6, "cubic", 0.02), "far": group(1, 2e6, "cubic", 0.04), "udp": group(1, 3e6, "cbr", 1.0),
            "short": group(1, 0.5e6, "cubic", 0.01), "voice": group(1, 1e5, "cbr", None),
        },
    )  # fmt: skip
    load = Load("x", Link(10_000_000, 0.04, 0.04, 4), HOME, unresponsive=True)
    found = seen(run, load, 40)
    assert (found.long_wait_s, found.sparse_wait_s, found.sparse_lost) == (pytest.approx(0.025), 0.0, 0.02)
    # 40 packets in windows of 10, 20 and 10 after the handshake; a sixth of the link sends them in 0.288 s.
    assert load.short_trips == 4 and load.short_s == pytest.approx(0.288)
    assert found.short_extra_s == pytest.approx((0.5 - 0.288) / 4)
    # Four long flows and UDP: a fair share is 2 Mb/s, and the four have 1.5 of it on average.
    assert found.tcp_over_fair == pytest.approx(0.75)
    assert found.jain == pytest.approx(9e6**2 / (5 * (4e6**2 / 3 + 2e6**2 + 3e6**2)))


def test_transfers_that_never_end_take_the_whole_time():
    flows = {"flows": 1, "throughput_bps": 0.0, "sojourn_p99_s": None, "sojourn_mean_s": None, "jain_index": None,
             "drop_fraction": 1.0, "fct_mean_s": None}  # fmt: skip
    run = Observed(1, {"link_rate_bps": 1e6, "link_utilisation": 0.0}, dict.fromkeys(("tcp", "short", "voice"), flows))
    load = Load("x", Link(1_000_000, 0.04, 0.04, 1), HOME)
    found = seen(run, load, 40)
    assert found.short_extra_s == pytest.approx((load.measured_s(40) - load.short_s) / load.short_trips)
    assert found.sparse_lost == 1 and found.wait_s > 0.3


def test_a_shaper_at_the_links_rate_changes_nothing():
    """So the simulation, without a shaper, is that of the commands for ``tc``."""
    (setting, *_) = settings_of("cake", LINK, HOME)
    load = Load("x", LINK, HOME, unresponsive=True).scenario(20)
    plain, shaped = (
        load.with_settings(*setting.scenario_settings, *more).run() for more in ([], ["queue.cake.rate=4mbit"])
    )
    assert shaped.flows.rows() == plain.flows.rows()


# Links, loads and parameters.


@pytest.mark.parametrize(
    ("link", "name"),
    [
        (("50mbit", "20ms", 4), "home"), (("300mbit", "20ms", 50), "home"), (("50mbit", "20ms", 51), "campus"),
        (("1gbit", "10ms", 5), "campus"), (("50mbit", "400ms", 4), "satellite"),
        (("10gbit", "100us", 20), "datacentre"), (("1gbit", "2ms", 5), "datacentre"), (("100mbit", "500us", 2), "home"),
    ],
)  # fmt: skip
def test_a_profile_is_derived_from_the_link(link, name):
    found, because = profile_of(read_link(*link), None)
    assert found.name == name and because.startswith("from ")
    assert profile_of(read_link(*link), "mobile") == (PROFILES["mobile"], "as asked")


@pytest.mark.parametrize("flows", [1, 2, 3, 4, 50])
def test_a_load_has_as_many_flows_as_asked(flows):
    found = tomllib.loads(Load("x", Link(10_000_000, 0.02, 0.08, flows), HOME).scenario(20).source)
    tcp = [group for group in found["groups"] if group["name"] not in ("short", "voice")]
    assert sum(group["count"] for group in tcp) == flows
    rtts = [4 * group["access_delay"] for group in tcp]
    assert rtts[-1] == pytest.approx(0.08) and (flows == 1 or rtts[0] == pytest.approx(0.02))
    # All have begun before anything is measured.
    assert all(group["start_spread"] < found["warm_up"] for group in tcp)


def test_loads_differ_in_flows_and_round_trips():
    loads = loads_of(LINK, HOME)
    assert len({load.link for load in loads}) == 5 and [load.unresponsive for load in loads] == [False, True] + 4 * [
        False
    ]
    # Half of one flow is the same load again.
    assert len(loads_of(Link(4_000_000, 0.01, 0.04, 1), HOME)) == 5
    mixed = loads_of(Link(10**10, 1e-4, 1e-4, 9), PROFILES["datacentre"])[2]
    groups = mixed.scenario(20).to_dict()["groups"]
    assert [(one["transport"], one["count"]) for one in groups[:2]] == [("dctcp", 5), ("prague", 4)]
    # Over open connections; others begin with a handshake.
    assert mixed.short_trips == 3 and loads[0].short_trips == 4


def test_the_rate_of_a_cell_varies_about_its_mean():
    load = Load("x", Link(20_000_000, 0.05, 0.05, 4), PROFILES["mobile"])
    steps = [rate for _, rate in load.scenario(160).to_dict()["links"][0]["rate_schedule"]]
    assert set(steps) == {10_000_000, 15_000_000, 20_000_000, 25_000_000, 30_000_000}


LINKS = [LINK, Link(1_000_000, 1e-5, 1e-5, 1), Link(10_000_000_000, 2.0, 2.0, 9), Link(10_000_000_000, 1e-5, 1e-4, 9)]


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_every_candidate_is_a_valid_scenario(link):
    for profile in PROFILES.values():
        scenario = Load("x", link, profile).scenario(20)
        for name in (*profile.order, "afd"):
            for setting in settings_of(name, link, profile):
                found = scenario.with_settings(*setting.scenario_settings)
                assert found.to_dict()["queue"]["discipline"] == name


RATES = [1_000_000, 2_000_000, 3_100_000, 50_000_000, 10_000_000_000]


@pytest.mark.parametrize(("rate", "rtt"), [*itertools.product(RATES, [1e-5, 1e-3, 0.02, 0.1, 0.6, 2.0])])
def test_targets_are_never_below_a_packet(rate, rtt):
    """RFC 8290, 5.2.2: at least the time of a packet, otherwise 5 to 10 % of the interval; here at 2 Mb/s 6 ms."""
    link = Link(rate, rtt, rtt, 4)
    for name in ("codel", "fq_codel", "pie", "fq_pie", "dualpi2"):
        for setting in settings_of(name, link, HOME):
            values = dict(setting.values)
            assert values["target"] >= link.packet_s
            if "interval" in values:
                assert 0.0499 <= values["target"] / values["interval"] <= 0.1001
                assert setting.variant == USUAL or values["interval"] >= 0.999 * rtt
    for setting in settings_of("cake", link, HOME):
        # CAKE raises its target itself; the interval leaves room for that.
        assert dict(setting.values)["interval"] >= 2 * 1.5 * link.packet_s


def test_round_trips_far_from_the_defaults_have_their_own_interval():
    def intervals(rtt):
        found = settings_of("fq_codel", Link(50_000_000, rtt, rtt, 4), HOME)
        return [(one.variant, dict(one.values)["interval"]) for one in found]

    assert intervals(0.1) == [("defaults", 0.1)]
    assert intervals(0.02) == [("defaults", 0.1), ("for this link", 0.02)]
    assert intervals(0.6) == [("defaults", 0.1), ("for this link", 0.6)]
    assert [rounded_up(value) for value in (0.0123, 0.6, 1.0, 99.1)] == [0.013, 0.6, 1.0, 100]
    assert in_words({"target": 0.005, "min_th": 15.0}) == "target 5 ms, min_th 15"


def test_links_as_people_write_them():
    assert read_link("100mbit", "20ms..80ms", 50) == Link(100_000_000, 0.02, 0.08, 50)
    assert read_link("10gbit", "50us", 5).high_rtt_s == 5e-5
    assert str(read_link("100mbit", "50ms", 5)) == "100 Mb/s, round trips of 50 ms, 5 flows"


# Commands for Linux.


@pytest.mark.parametrize("packets", [2, 5, 12, 15, 100, 1000])
@pytest.mark.parametrize("wanted", [1, 9])
def test_burst_gives_red_its_weight(packets, wanted):
    """tc takes the least w_log with a <= (1 - (1 - W)^burst) / W, a = burst + 1 - min."""

    def w_log(chosen):
        for found in range(1, 32):
            weight = 2.0**-found
            if chosen + 1 - packets <= (1 - (1 - weight) ** chosen) / weight:
                return found
        return None

    assert w_log(burst(packets, wanted)) == wanted
    assert w_log(burst(packets, wanted) + 1) == wanted + 1


def lines_of(name, link=LINK, profile=HOME, access="cable"):
    return [
        line
        for setting in settings_of(name, link, profile)
        for command in commands(setting, link, profile, access)
        for line in command.lines
    ]


def test_cake_has_the_options_of_the_link():
    up, *_, down, plain = lines_of("cake", Link(50_000_000, 0.1, 0.1, 4))
    assert up == "tc qdisc replace dev DEV root cake bandwidth 47500kbit besteffort dual-srchost nat ack-filter docsis"
    assert down == (
        "tc qdisc replace dev ifb0 root cake bandwidth 45mbit besteffort dual-dsthost nat ingress wash docsis"
    )
    assert plain == "tc qdisc replace dev DEV root cake bandwidth 50mbit besteffort docsis"
    campus = lines_of("cake", Link(10**9, 0.02, 0.02, 500), PROFILES["campus"], "ethernet")
    assert campus[-1] == "tc qdisc replace dev DEV root cake bandwidth 1gbit besteffort rtt 20ms ethernet"
    mobile = lines_of("cake", Link(20_000_000, 0.1, 0.1, 4), PROFILES["mobile"], "none")
    assert [("autorate-ingress" in line) for line in mobile if " cake " in line] == [False, True, False]


def test_what_has_no_shaper_is_below_one():
    up = lines_of("fq_codel", Link(50_000_000, 0.1, 0.1, 4))[:3]
    assert up == [
        "tc qdisc replace dev DEV root handle 1: stab overhead 18 mpu 64 linklayer ethernet htb default 1",
        "tc class replace dev DEV parent 1: classid 1:1 htb rate 47500kbit",
        "tc qdisc replace dev DEV parent 1:1 fq_codel",
    ]


@pytest.mark.parametrize(
    ("name", "ecn"),
    [("fq_codel", False), ("cake", False), ("codel", True), ("pie", True), ("fq_pie", True), ("red", True),
     ("choke", True), ("sfq", False), ("droptail", False)],
)  # fmt: skip
def test_ecn_is_on_where_there_is_a_switch_that_is_off(name, ecn):
    """fq_codel and cake mark as they are (tc-fq_codel(8), tc-cake(8))."""
    last = lines_of(name)[-1].split()
    assert ("ecn" in last) == ecn and "noecn" not in last


def test_what_is_marked_is_marked_in_the_simulation():
    for name in ("fq_codel", "codel", "cake", "fq_pie", "red", "choke"):
        (setting, *_) = settings_of(name, LINK, HOME)
        queue = Load("x", LINK, HOME).scenario(20).with_settings(*setting.scenario_settings).to_dict()["queue"]
        tables = {"cake": "cobalt", "fq_codel": "codel", "choke": "red"}
        assert queue[tables.get(name, name)]["ecn"] is True, name


def test_a_target_of_a_slow_link_is_passed_to_tc():
    assert lines_of("fq_codel", Link(1_000_000, 0.05, 0.05, 2))[-1].endswith(" fq_codel target 18ms interval 180ms")


def test_who_is_not_in_linux_says_so():
    assert commands(Setting("afd"), LINK, HOME, "none") == []
    assert remark("afd") == "Linux has no AFD; switches have" and remark("fred") == "Linux has no such qdisc"


def tc_output(line):
    """Exit status of tc in a network namespace of its own: its parser refuses with 1, the kernel with 2."""
    words = line.replace("DEV", "lo").replace("ifb0", "lo").split()
    done = subprocess.run(["unshare", "-rn", *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_tc_takes_the_commands():
    """Every line of every candidate of every profile over every access; wrong words are noticed before the kernel."""
    if shutil.which("tc") is None or shutil.which("unshare") is None:
        pytest.skip("there is no tc here (Debian package iproute2)")
    if tc_output("tc qdisc replace dev DEV root pfifo limit 10")[0] != 0:
        pytest.skip("no network namespaces here (unshare --map-root-user --net)")
    links = [LINK, Link(1_000_000, 0.05, 0.05, 2), Link(10_000_000_000, 1e-4, 1e-4, 20)]
    lines = {
        line
        for profile, link, access in itertools.product(PROFILES.values(), links, ACCESS)
        for name in profile.order
        if name != "dualpi2"
        for line in lines_of(name, link, profile, access)
        if line.startswith("tc ")
    }
    # Lines that differ in numbers alone are one.
    shapes = {"".join("0" if letter.isdigit() else letter for letter in line): line for line in lines}
    assert len(shapes) > 50
    for line in shapes.values():
        status, message = tc_output(line)
        assert status in (0, 2), f"{line}: {message}"
    for name in ("fq_codel", "cake", "red", "sfq"):
        assert tc_output(f"{lines_of(name)[-1]} nonsense 3")[0] == 1


# What is refused, and the command.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": "fast"}, "rate = 'fast' is not valid; valid: a rate from 1mbit to 10gbit"),
        ({"rate": "1kbit"}, "rate = '1kbit' is not valid"),
        ({"rate": "11gbit"}, "rate = '11gbit' is not valid"),
        ({"rtt": "80ms..20ms"}, "rtt = '80ms..20ms' is not valid; valid: a time from 10us to 2s, or two"),
        ({"rtt": "20..."}, "rtt = '20...' is not valid"),
        ({"rtt": "1ms..2ms..3ms"}, "is not valid"),
        ({"rtt": "3s"}, "is not valid"),
        ({"rtt": ""}, "is not valid"),
        ({"flows": 0}, "flows = 0 is not valid; valid: a whole number from 1 to 10000"),
        ({"flows": 1.5}, "flows = 1.5 is not valid"),
        ({"target": "speed"}, "target = 'speed' is not valid; valid: delay, fairness, throughput"),
        ({"profile": "office"}, "profile = 'office' is not valid; valid: home, campus, satellite, mobile, datacentre"),
        ({"access": "wire"}, "access = 'wire' is not valid; valid: none, cable, vdsl, adsl, unknown, ethernet"),
        ({"time": "0s"}, "time = '0s' is not valid; valid: a time from 1s to 24h, such as 30s"),
        ({"time": "soon"}, "time = 'soon' is not valid"),
        ({"disciplines": ["bleu"]}, "disciplines: 'bleu' is not valid (did you mean blue?); valid: blue, "),
        ({"disciplines": []}, "disciplines: there is none"),
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


def test_the_command(fairdrop, tmp_path):
    (tmp_path / "own.py").write_text(
        "from fairdrop import Discipline\n\n\nclass Lifo(Discipline):\n    def enqueue(self, packet):\n"
        "        if len(self.queue) < 20:\n            self.queue.push(packet)\n"
        '        else:\n            self.drop(packet, "overflow")\n'
    )
    words = ["advise", "--rate", "2mbit", "--rtt", "40ms", "--flows", "2", "--disciplines", "lifo,fq_codel,red",
             "--parts", "own.py", "--time", "1min", "--access", "vdsl"]  # fmt: skip
    done = fairdrop(*words)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    first, profile, choice, sure, *_ = done.stdout.splitlines()
    assert first == "2 Mb/s, round trips of 40 ms, 2 flows"
    assert profile.startswith("profile: home, the access line of a home (from at most 50 flows") and "vdsl" in profile
    assert choice == "choice: FQ-CoDel with target 9 ms, interval 100 ms"
    assert sure.startswith("how sure: ") and "lifo" in done.stdout
    assert "  tc qdisc replace dev DEV parent 1:1 fq_codel target 9ms interval 100ms\n" in done.stdout
    found = json.loads(fairdrop(*words, "--json").stdout)
    assert found["computed"] == 0 and len(found["finalists"]) == 3 and found["choice"]["discipline"] == "fq_codel"
    assert (tmp_path / "advice" / "scenario.toml").read_text() == found["scenario"]
    for wrong in (["--flows", "x"], ["--rate", "1 furlong"], ["--rtt", "9h"], ["--target", "luck"], ["--time", "no"]):
        bad = fairdrop(*words, *wrong, "--out", "other")
        assert bad.returncode == 2 and "valid: " in bad.stderr and "Traceback" not in bad.stderr
    assert not (tmp_path / "other").exists()
