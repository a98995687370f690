"""What a verdict says of each discipline: its bounds exactly, its order, and statements that must never be made."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from matplotlib.text import Text

import fairdrop
import sample_document as sample
from fairdrop import report
from fairdrop.cli import main
from fairdrop.cli.meters import meters_text
from fairdrop.cli.show import result_text
from fairdrop.document import document_of
from fairdrop.estimate import Estimate
from fairdrop.report import explain
from fairdrop.report.effects import (
    ABOVE,
    BELOW,
    FAIR,
    HALF_USED,
    MANY,
    NEAR,
    SHUT_OUT,
    STARVED,
    THEIRS,
    UNDECIDED,
    USED,
    effects,
    link_place,
    place,
)
from fairdrop.report.judge import judge, order_note
from fairdrop.report.max_min import fair_shares, max_min, mean_flows
from fairdrop.report.page import _support
from fairdrop.report.ranking import trade_off

HEADLINE = Path(__file__).resolve().parents[2] / "scenarios" / "headline.toml"
SHORT = ["duration=30s", "warm_up=20s"]


def document(cases, seeds=1, delays=None, transport="reno"):
    """One UDP sender and three TCP flows on 1 Mb/s; a case is the share of each of the four, for each seed the same.

    Shares that are lists have a value for each seed.
    """
    runs = []
    for name, shares in cases.items():
        for seed in range(seeds):
            taken = [share[seed] if isinstance(share, list) else share for share in shares]
            flows = [sample.flow_row("udp[0]", "udp", "cbr", 2e6, taken[0] * sample.LINK_BPS, name, True)]
            for number, share in enumerate(taken[1:]):
                rate = share * sample.LINK_BPS
                flows.append(sample.flow_row(f"tcp[{number}]", "tcp", transport, 1.05 * rate, rate, name, True))
            run = sample.run_row(random.Random(0), name, seed + 1, flows, 20.0, 10)
            run["utilisation"] = sum(taken)
            if delays:
                run["queues"][0]["sojourn_s"]["p99"] = delays[name]
            runs.append(run)
    return sample.shell("simulation", "four", "Four flows", runs)


def even(udp, used=1.0):
    """The share of each of the four flows where TCP has what UDP leaves."""
    return [udp, *[(used - udp) / 3] * 3]


def of(cases, **more):
    return effects(document_of(document(cases, **more)))


@pytest.mark.parametrize(
    ("demands", "shares"),
    [
        ([2.0, inf, inf, inf], [0.25] * 4),
        ([0.1, inf, inf], [0.1, 0.45, 0.45]),
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]),
        ([0.2, 0.6, 0.8], [0.2, 0.4, 0.4]),
        ([0.5, 0.5], [0.5, 0.5]),
        ([], []),
    ],
)
def test_max_min_of_one_link_by_hand(demands, shares):
    assert max_min(demands, [["link"]] * len(demands), {"link": 1.0}) == pytest.approx(shares)


def test_max_min_of_several_links_by_hand():
    """The flow over both links has what the narrower one gives it, and the other of the first link has the rest."""
    paths = [["a", "b"], ["a"], ["b"], ["b"]]
    assert max_min([inf] * 4, paths, {"a": 1.0, "b": 0.6}) == pytest.approx([0.2, 0.8, 0.2, 0.2])
    assert max_min([inf, 0.3, inf, 0.1], paths, {"a": 1.0, "b": 0.6}) == pytest.approx([0.25, 0.3, 0.25, 0.1])


@pytest.mark.parametrize(
    ("ratio", "where"),
    [
        (0.0, SHUT_OUT), (STARVED * (1 - 1e-9), SHUT_OUT), (STARVED, BELOW), (1 / NEAR * (1 - 1e-9), BELOW),
        (1 / NEAR, FAIR), (1.0, FAIR), (NEAR, FAIR), (NEAR * (1 + 1e-9), ABOVE), (33.0, ABOVE),
    ],
)  # fmt: skip
def test_a_share_is_where_the_bounds_say(ratio, where):
    assert place(Estimate(ratio, None, 1)) == where


@pytest.mark.parametrize(
    ("ratio", "where"), [(THEIRS, FAIR), (THEIRS * (1 - 1e-9), BELOW), (33.0, FAIR), (STARVED / 2, SHUT_OUT)]
)
def test_the_others_have_theirs_from_their_bound_on(ratio, where):
    assert place(Estimate(ratio, None, 1), THEIRS, inf) == where


@pytest.mark.parametrize(
    ("low", "high", "where"),
    [
        (0.67, 1.49, FAIR), (0.66, 1.0, UNDECIDED), (1.0, 1.51, UNDECIDED), (1.51, 40.0, ABOVE), (0.5, 2.0, UNDECIDED),
        (0.0, 0.09, SHUT_OUT), (0.05, 0.5, BELOW), (0.2, 0.6, BELOW), (-0.1, 1.1, UNDECIDED),
    ],
)  # fmt: skip
def test_an_interval_across_a_bound_decides_nothing(low, high, where):
    assert place(Estimate((low + high) / 2, (high - low) / 2, 3)) == where


@pytest.mark.parametrize(
    ("used", "half", "where"),
    [
        (USED, None, FAIR), (USED - 1e-9, None, BELOW), (HALF_USED, None, BELOW), (HALF_USED - 1e-9, None, SHUT_OUT),
        (0.0, None, SHUT_OUT), (0.95, 0.1, UNDECIDED), (0.85, 0.1, UNDECIDED), (0.85, 0.01, BELOW), (0.45, 0.1, BELOW),
    ],
)  # fmt: skip
def test_a_link_is_used_where_the_bounds_say(used, half, where):
    assert link_place(Estimate(used, half, 3)) == where


def test_bounds_are_those_of_shares_over_fair_ones():
    """With four flows the fair share is exactly a quarter: 0.375 is 1.5 times as much."""
    at, above = of({"sfq": even(0.375), "red": even(0.3751)}).found
    assert (at.discipline, at.sender, at.holds) == ("sfq", FAIR, True)
    assert (above.sender, above.holds, above.fails, above.harms) == (ABOVE, False, True, False)


def test_a_sender_is_held_only_with_its_share_the_others_and_the_link():
    cases = {
        "sfq": even(0.26),
        "choke": even(0.6),
        "flow_valve": even(0.0),
        "droptail": even(1.0),
        "cebinae": [0.0] * 4,
        "red_pd": even(0.15),
        "codel": [0.25, 0.1, 0.1, 0.1],
    }
    found = of(cases)
    assert [effect.discipline for effect in found.found if effect.holds] == ["sfq"]
    assert {effect.discipline for effect in found.found if effect.harms} == {"flow_valve", "droptail", "cebinae"}
    assert {effect.discipline for effect in found.found if effect.fails} == set(cases) - {"sfq"}
    assert (found.of("codel").sender, found.of("codel").link) == (FAIR, BELOW)


FAIR_SHARE = "; its fair share is 25.0 % of the link."
SENTENCES = {
    "held": (
        {"sfq": even(0.26)},
        "SFQ holds the greedy sender udp[0] to 26.0 % of the link, near its fair share (25.0 %), and the other 3 flows "
        "have theirs.",
    ),
    "idle": (
        {"cebinae": [0.0] * 4},
        "Cebinae leaves the link idle (0.0 % used); the fair share of the greedy sender udp[0] is 25.0 % of the link.",
    ),
    "shut out": ({"flow_valve": even(0.0)}, f"flow valve shuts out the greedy sender udp[0]{FAIR_SHARE}"),
    "starved": (
        {"droptail": even(1.0)},
        f"DropTail lets the greedy sender udp[0] take 100.0 % and starves TCP{FAIR_SHARE}",
    ),
    "more": ({"choke": even(0.6)}, f"CHOKe lets the greedy sender udp[0] take 60.0 %{FAIR_SHARE}"),
    "less": (
        {"red_pd": even(0.1)},
        f"RED-PD keeps the greedy sender udp[0] at 10.0 %, below its fair share{FAIR_SHARE}",
    ),
    "half idle": (
        {"codel": even(0.25, 0.4)},
        f"CoDel leaves 60.0 % of the link idle and gives the greedy sender udp[0] 25.0 %{FAIR_SHARE}",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_statement_about_one_discipline(name):
    cases, sentence = SENTENCES[name]
    assert report.verdict(document(cases)) == sentence


def test_the_issues_example():
    """Cebinae passes nothing in this scenario: it may not lead, and holds nobody."""
    result = fairdrop.load(str(HEADLINE), SHORT).compare(["cebinae", "fq_codel", "choke"], 3)
    assert all(row["utilisation"] == 0 for row in result.runs.rows() if row["discipline"] == "cebinae")
    assert result.verdict.startswith("FQ-CoDel holds the greedy sender udp[0] to 3.")
    assert result.verdict.endswith("; Cebinae leaves the link idle (0.0 % used).")
    assert "; CHOKe lets it take 2" in result.verdict


def test_all_disciplines_are_asked_for_by_that_word(capsys):
    """The verdict is the last line, after the tables and one line for what still moved, and names three at most."""
    settings = [part for setting in ("duration=4s", "warm_up=1s") for part in ("--set", setting)]
    assert main(["compare", str(HEADLINE), "--disciplines", "all", *settings]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [entry["name"] for entry in fairdrop.catalogue()["disciplines"]]
    assert [line.split(":")[0] for line in lines if ": link " in line] == names
    assert lines[-1].startswith("verdict: ")
    assert len(lines[-1]) < 400
    assert f"Of the other {len(names) - 3} disciplines " in lines[-1]
    assert sum("still moved" in line for line in lines) <= 1


def test_terminal_report_and_python_say_the_same(tmp_path):
    result = fairdrop.load(str(HEADLINE), SHORT).compare(["cebinae", "choke"], 2)
    assert result_text(result).splitlines()[-1] == f"verdict: {result.verdict}"
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f'<p class="verdict">{result.verdict}</p>' in page
    assert report.verdict(result.document) == result.verdict
    assert result.verdict in result._repr_html_()


def test_of_all_disciplines_three_are_named():
    """Shares of every kind: one holds, the others take more and more, and the last pass nothing."""
    names = [str(entry["name"]) for entry in fairdrop.catalogue()["disciplines"]]
    cases = {name: even(0.25 + 0.7 * number / len(names)) for number, name in enumerate(names)}
    cases |= {"cebinae": [0.0] * 4, "flow_valve": even(0.0)}
    found = judge(document_of(document(cases)))
    labels = [str(entry["label"]) for entry in fairdrop.catalogue()["disciplines"]]
    assert len(names) >= 41
    assert len(found.sentence) < 400
    best = [effect.discipline for effect in found.effects.found[:3]]
    assert all(effect.holds for effect in found.effects.found[:3]), best
    assert f"Of the other {len(names) - 3} disciplines " in found.sentence
    assert found.sentence.endswith(" 1 shuts it out and 1 leaves the link idle.")
    assert not {"Cebinae", "flow valve"} & {label for label in labels if label in found.sentence}
    assert order_note(found.effects).startswith("In order: those that hold the greedy sender, by use of the link")


def test_the_order_is_fair_shares_then_use_then_wait():
    delays = {"sfq": 0.2, "drr": 0.1, "fq": 0.3, "choke": 0.01, "red": 0.02, "codel": 0.001, "cebinae": 0.0}
    cases = {
        "sfq": even(0.26), "drr": even(0.30), "fq": even(0.25, 0.95), "choke": even(0.5), "red": even(0.7),
        "codel": even(1.0), "cebinae": [0.0] * 4,
    }  # fmt: skip
    found = of(cases, delays=delays)
    assert [effect.discipline for effect in found.found] == ["drr", "sfq", "fq", "choke", "red", "codel", "cebinae"]


def test_an_interval_across_a_bound_is_reported():
    """Shares of 0.32 to 0.40 with a fair share of 0.25: not held, and not reported to take more."""
    sentence = report.verdict(document({"drr": even(0.3)}, seeds=3))
    assert "holds" in sentence
    uneven = document({"drr": [[0.32, 0.36, 0.40], 0.21, 0.21, 0.21], "droptail": even(1.0)}, seeds=3)
    assert judge(document_of(uneven)).outcome == "undecided"
    assert report.verdict(uneven).startswith("These seeds do not show whether a discipline here holds ")
    assert (
        "DRR gives it 36.0 % (±9.9), not distinguishable from its fair share with these seeds; DropTail"
        in report.verdict(uneven)
    )


def test_a_link_that_is_perhaps_used_is_no_holding():
    uneven = document({"drr": [0.25, [0.19, 0.23, 0.25], [0.19, 0.23, 0.25], [0.19, 0.23, 0.25]]}, seeds=3)
    assert "while these seeds do not show whether the others have theirs and the link is used" in report.verdict(uneven)


def test_starved_flows_count_where_their_group_has_its_share():
    found = judge(document_of(document({"drr": [0.25, 0.74, 0.005, 0.005]})))
    assert found.outcome == "not held"
    assert "DRR gives the greedy sender udp[0] 25.0 % and starves 2 of the other 3 flows" in found.sentence


@pytest.mark.parametrize(("starved", "holding"), [(1, 0), (2, 2)])
def test_one_unlucky_flow_in_twenty_is_no_verdict(starved, holding):
    """A flow in twenty is just not more than ``MANY``."""
    fair = 1 / 21
    rest = (20 * fair - starved * 0.001) / (20 - starved)
    (effect,) = of({"drr": [fair, *[0.001] * starved, *[rest] * (20 - starved)]}).found
    assert (effect.starved_flows, effect.holds) == (holding, not holding)


def test_several_senders_are_looked_at_one_by_one():
    """Together they have their fair share; one has it all."""
    one = document({"drr": [0.5, 0.0, 0.25, 0.25]})
    for run in one["runs"]:
        run["flows"][1].update(transport="cbr", offered_bps=2e6)
    found = judge(document_of(one))
    assert found.effects.found[0].sender == FAIR
    assert not found.effects.found[0].holds
    assert "shuts out tcp[0] and lets udp[0] take more" in found.sentence


def test_a_sender_that_asks_for_little_leaves_the_rest_to_others():
    """0.1 of the link at a constant rate is less than a fair share: nobody is greedy, and three TCP flows share 0.9."""
    modest = document({"drr": [0.1, 0.3, 0.3, 0.3]})
    for run in modest["runs"]:
        run["flows"][0]["offered_bps"] = 1e5
    assert judge(document_of(modest)).outcome == "no greedy"
    fair = fair_shares(document_of(modest), mean_flows(document_of(modest)))
    assert fair.of == pytest.approx({"udp[0]": 0.1, "tcp[0]": 0.3, "tcp[1]": 0.3, "tcp[2]": 0.3})
    assert fair.possible == 1


def test_transfers_that_end_are_not_called_starved_and_leave_no_link_idle():
    """Short transfers fill 0.3 of the link under the one, and 0.05 under the other, which drops all but a few."""
    finite = document({"drr": [0.0, 0.1, 0.1, 0.1], "red": [0.0, 0.02, 0.02, 0.01]})
    finite["scenario"]["groups"] = [{"name": "tcp", "settings": {"transfer_bytes": 1000}}]
    for run in finite["runs"]:
        run["flows"][0]["offered_bps"] = 0.0
    fair, worse = effects(document_of(finite)).found
    assert (fair.discipline, fair.link, fair.others) == ("drr", FAIR, FAIR)
    assert (worse.link, worse.others, worse.harms) == (SHUT_OUT, BELOW, True)


def test_ledbat_yields_and_is_not_starved():
    yielding = document({"droptail": [0.25, 0.01, 0.37, 0.37]})
    for run in yielding["runs"]:
        run["flows"][1].update(transport="ledbat", group="scavenger")
    assert "starves" not in report.verdict(yielding)


@pytest.mark.parametrize("shares", [[0.0] * 4, [0.3, 0.3, 0.3, 0.1]])
def test_without_a_greedy_sender(shares):
    """TCP alone: an idle link is called that, and no ratio is given of nothing."""
    tcp = document({"cebinae": shares})
    for run in tcp["runs"]:
        run["flows"][0].update(transport="reno", group="tcp", offered_bps=1.05e6 * shares[0])
    found = judge(document_of(tcp))
    assert found.outcome == "no greedy"
    if sum(shares):
        assert found.sentence == "No sender is greedy: the largest flow gets 1.20 times its fair share under Cebinae."
    else:
        assert found.sentence == "No sender is greedy; Cebinae leaves the link idle (0.0 % used)."


def test_one_group_alone():
    """A greedy sender that has the link to itself is near its share, which is all of it."""
    alone = document({"droptail": [1.0, 0.0, 0.0, 0.0]})
    for run in alone["runs"]:
        run["flows"] = run["flows"][:1]
        run["groups"] = [row for row in run["groups"] if row["name"] == "udp"]
        run["queues"][0]["throughput_bps_by_flow"] = [["udp[0]", 1e6]]
        run["fair_share_bps"] = 1e6
    assert judge(document_of(alone)).sentence == (
        "DropTail holds the greedy sender udp[0] to 100.0 % of the link, near its fair share (100.0 %)."
    )


def test_a_link_that_is_idle_without_a_drop_is_not_called_uncongested():
    """A discipline that lets everything in and nothing out."""
    stuck = document({"mine": [0.0] * 4})
    for run in stuck["runs"]:
        for row in (*run["flows"], *run["groups"]):
            row["drops"] = dict.fromkeys(row["drops"], 0)
    assert report.verdict(stuck).startswith("mine leaves the link idle (0.0 % used)")


def test_marks_alone_decide_too():
    """Packets were marked and none was dropped, on a link that is full."""
    marked = document({"codel": even(0.6)})
    for run in marked["runs"]:
        for row in (*run["flows"], *run["groups"]):
            row["drops"] = dict.fromkeys(row["drops"], 0)
        run["queues"][0]["marks"] = {"codel": 100}
    assert judge(document_of(marked)).outcome == "not held"


def test_missing_values_are_no_numbers():
    """A run in which nothing was sent has no wait, no Jain index and no ratio."""
    void = document({"cebinae": [0.0] * 4})
    for run in void["runs"]:
        run.update(jain_index=None, largest_over_fair_share=None)
        run["queues"][0]["sojourn_s"] = None
        for flow in run["flows"]:
            flow["share"] = None
    found = judge(document_of(void))
    assert found.effects.found[0].delay_s == inf
    assert "nan" not in found.sentence.lower() and "None" not in found.sentence


def test_ranks_of_the_report_are_those_of_the_verdict():
    cases = {name: even(0.25 + 0.13 * n) for n, name in enumerate(("sfq", "choke", "red", "codel", "pie", "droptail"))}
    cases |= {"cebinae": [0.0] * 4, "flow_valve": even(0.0)}
    long = document(cases)
    page = report.render(long).split('class="ranked"')[1].split("</table>")[0]
    places = [page.index(f">{fairdrop_name(effect.discipline)} <small>") for effect in effects(document_of(long)).found]
    assert places == sorted(places)
    assert effects(document_of(long)).found[-1].discipline == "cebinae"
    holding = re.findall(r"<small>([^<]+)</small></th>", page)
    assert holding == ["holds it", *["lets it take more"] * 5, "shuts it out", "leaves the link idle"]
    assert page.count('data-label="99th-percentile delay') == 8
    assert '<span class="number">–</span>' in page.split(">Cebinae <")[1], "a wait of no packet is no number"


def fairdrop_name(name):
    return next(str(entry["label"]) for entry in fairdrop.catalogue()["disciplines"] if entry["name"] == name)


def test_harm_is_never_first_however_near_the_share_is():
    effect = effects(document_of(document({"sfq": even(0.25)}))).found[0]
    harmful = replace(effect, starved=["tcp"], distance=0.0)
    assert replace(effect, discipline="zzz", sender=ABOVE, distance=9.0).order < harmful.order


def test_the_page_states_the_bounds():
    page = (HEADLINE.parents[1] / "docs" / "reference" / "verdict.md").read_text(encoding="utf-8")
    for name, value in {
        "NEAR": NEAR,
        "THEIRS": THEIRS,
        "STARVED": STARVED,
        "MANY": MANY,
        "USED": USED,
        "HALF_USED": HALF_USED,
    }.items():
        assert f"| `{name}` | {value:g} |" in page


def test_a_queue_that_sent_nothing_has_no_wait():
    result = fairdrop.load(str(HEADLINE), SHORT).compare(["cebinae"], 1)
    assert "cebinae: link 0.00 % busy, queue 0.0 packets, no packet sent" in result_text(result)
    rows = [line.split() for line in meters_text(result.document).splitlines() if line.startswith("cebinae")]
    assert [row[-2:] for row in rows if row[1] == "bottleneck"] == [["-", "-"]] * 2


def test_live_runs_have_a_verdict_of_their_own(tmp_path):
    scenario = fairdrop.load(str(HEADLINE), SHORT)
    both = scenario.compare(["cebinae"], 1).beside(scenario.compare(["fq_codel"], 1))
    simulated, live = result_text(both).splitlines()[-2:]
    assert simulated.startswith("verdict, simulated: Cebinae leaves the link idle")
    assert live.startswith("verdict, live: FQ-CoDel holds the greedy sender udp[0]")
    assert f"Live: {both.live.verdict}" in supported(both.document)


def supported(shown):
    """The lines under the verdict of a report."""
    return _support(document_of(shown), judge(document_of(shown)), long=False)


def test_no_share_is_given_of_losses_among_no_packets():
    lossy = fairdrop.load(str(HEADLINE), [*SHORT, "dumbbell.loss=0.01"]).compare(["cebinae"], 1)
    assert "bottleneck: no packet came to be lost at random" in result_text(lossy).splitlines()


def test_a_page_speaks_of_a_greedy_sender_only_where_there_is_one():
    aim = "drops from the greedy sender"
    assert aim in explain.drops(document_of(sample.simulation(seeds=1, samples=20)), greedy=True)
    assert aim not in explain.drops(document_of(sample.tcp_only()), greedy=False)
    assert explain.drops(document_of(sample.no_drops()), greedy=False) == "No packet was dropped."
    assert explain.setting(document_of(sample.no_drops())) == "Simulation of one link."


def test_what_is_not_drawn_is_named():
    """A discipline that sent nothing has no delay to be drawn at."""
    figure = trade_off(document_of(document({"sfq": even(0.25), "cebinae": [0.0] * 4})), "screen")
    (note,) = [text.get_text() for text in figure.findobj(Text) if "no packet was sent" in text.get_text()]
    assert note.replace("\n", " ").endswith("Not drawn, as no packet was sent: Cebinae.")


def test_a_link_before_a_narrower_one_need_not_be_full():
    """TCP crosses a second link of 0.3 Mb/s and can take no more there: the first is not left idle by its queue."""
    narrow = document({"drr": [0.25, 0.1, 0.1, 0.1]})
    narrow["scenario"]["links"] = [{"name": "bottleneck", "rate_bps": 1e6}, {"name": "second", "rate_bps": 3e5}]
    path = {"udp": ["bottleneck"], "tcp": ["bottleneck", "second"]}
    narrow["scenario"]["groups"] = [{"name": name, "forward": links} for name, links in path.items()]
    for run in narrow["runs"]:
        run["flows"][0]["offered_bps"] = 2.5e5
    (found,) = effects(document_of(narrow)).found
    assert (found.link, found.others) == (FAIR, FAIR)
    assert fair_shares(document_of(narrow), mean_flows(document_of(narrow))).possible == pytest.approx(0.55)


def test_a_narrow_access_link_and_a_small_window_bound_what_is_fair():
    bounded = document({"drr": [0.1, 0.3, 0.3, 0.3]})
    tcp = {"name": "tcp", "settings": {"max_window": 10}, "packet_size_bytes": 1000}
    bounded["scenario"]["groups"] = [{"name": "udp", "access_rate_bps": 1e5}, tcp]
    for run in bounded["runs"]:
        for flow in run["flows"]:
            flow["base_rtt_s"] = 0.8
    fair = fair_shares(document_of(bounded), mean_flows(document_of(bounded)))
    assert fair.of == pytest.approx({"udp[0]": 0.1, "tcp[0]": 0.1, "tcp[1]": 0.1, "tcp[2]": 0.1})
    assert fair.possible == pytest.approx(0.4)


def test_a_sender_that_stops_has_its_share_of_the_time_in_which_it_is_there():
    """UDP sends in the first half of the window: an eighth of the link is a quarter of that half."""
    brief = document({"drr": [0.125, *[0.875 / 3] * 3]})
    first, last = brief["runs"][0]["measured_from_s"], brief["runs"][0]["measured_to_s"]
    brief["scenario"]["groups"] = [{"name": "udp", "stop_s": (first + last) / 2}, {"name": "tcp"}]
    fair = fair_shares(document_of(brief), mean_flows(document_of(brief)))
    assert fair.of["udp[0]"] == pytest.approx(0.125)
    assert fair.of["tcp[0]"] == pytest.approx(0.125 + 0.5 / 3)
    assert fair.possible == pytest.approx(1)
    late = document({"drr": [0.125, *[0.875 / 3] * 3]})
    late["scenario"]["groups"] = [{"name": "udp", "start_s": (first + last) / 2}, {"name": "tcp"}]
    assert fair_shares(document_of(late), mean_flows(document_of(late))).of == pytest.approx(fair.of)
    assert judge(document_of(brief)).sentence.startswith("DRR holds the greedy sender udp[0] to 12.5 %")
