"""Statistics of verdicts: error rates of the looks, two states, printed numbers, mutants, relative positions."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairdrop import reproduce
from fairdrop.cli import main
from fairdrop.estimate import estimate, t_quantile
from fairdrop.reproduce.define.definition import Claim, Published
from fairdrop.reproduce.define.papers import names, papers
from fairdrop.reproduce.definitions import parse
from fairdrop.reproduce.execute.plan import Order, cells, looks
from fairdrop.reproduce.execute.plan import Part as Runs
from fairdrop.reproduce.execute.work import simulated
from fairdrop.reproduce.extensions import papers_of
from fairdrop.reproduce.judge.claims import evaluate
from fairdrop.reproduce.judge.mutants import BROKEN, HELD, judge_mutant, mutate
from fairdrop.reproduce.judge.numbers import CONTRADICTED, INCONCLUSIVE, OFF, compare
from fairdrop.reproduce.judge.numbers import HELD as SAME
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, UNCLEAR, Part, together
from fairdrop.reproduce.judge.printed import one_run
from fairdrop.reproduce.judge.states import critical_ratio, split_ratio, two_states
from fairdrop.reproduce.judge.verdict import OTHERWISE
from fairdrop.reproduce.measure.data import Data, Row, Sample
from fairdrop.reproduce.measure.looks import ERROR, Look, seeds_of_looks
from fairdrop.reproduce.measure.runs import head_share, relative_head, relative_profile, tail_share

SHORT = ["duration=12s", "warm_up=2s"]


def test_seeds_double_up_to_a_limit():
    assert seeds_of_looks(5) == (5, 10, 20)
    assert seeds_of_looks(3, 6) == (3, 6)
    assert seeds_of_looks(4, 2) == (4,)
    assert Look(2, 3).error == pytest.approx(ERROR / 3) and Look(3, 3).is_last


def test_a_person_who_asks_for_seeds_gets_one_look():
    one = reproduce.definition("choke-c1")
    assert looks(one, Order(seeds=7)) == (7,)
    assert looks(one, Order()) == (5, 10, 20)
    assert looks(reproduce.definition("under-thm1"), Order()) == (0,)


def test_an_interval_by_hand():
    """1, 2, 3: mean 2, s = 1, t(2, 97.5 %) = 4.3027, so 2 ± 4.3027 / sqrt(3)."""
    found = Sample((1.0, 2.0, 3.0)).interval()
    assert (found.mean, found.half) == (2.0, pytest.approx(4.302653 / 3**0.5, rel=1e-6))
    wider = Sample((1.0, 2.0, 3.0), error=0.05 / 3).interval()
    assert wider.half == pytest.approx(t_quantile(2, 1 - 0.05 / 3) / 3**0.5)
    assert Sample((1.0, 2.0, 3.0)).interval(parts=3).half == pytest.approx(wider.half)
    assert estimate([1.0, 2.0, 3.0]).half == pytest.approx(found.half)


def sequential(values, first, low):
    """The verdict of a claim "mean above low" with looks, as the campaign gives it."""
    numbers = seeds_of_looks(first)
    for number, seeds in enumerate(numbers, start=1):
        look = Look(number, len(numbers))
        state = Part(Sample(tuple(values[:seeds]), look.error), low=low).state()
        if state != UNCLEAR:
            return state
    return UNCLEAR


@pytest.mark.parametrize("first", [3, 5, 10])
def test_looks_hold_the_error_rate(first):
    """Means that are known: at the bound itself any verdict is an error, and 5 % of the samples at most get one."""
    rng = np.random.default_rng(first)
    trials = 4000
    samples = rng.standard_normal((trials, first * 4))
    wrong = sum(sequential(map_, first, 0.0) != UNCLEAR for map_ in samples.tolist())
    # 5 % and four standard errors of the count.
    assert wrong <= trials * ERROR + 4 * (trials * ERROR * (1 - ERROR)) ** 0.5
    # Looking three times at intervals for one look would not hold it: the test can fail.
    numbers = seeds_of_looks(first)
    careless = sum(any(abs(np.mean(v[:n])) > estimate(v[:n]).half for n in numbers) for v in samples.tolist())
    assert careless > trials * ERROR * 1.6


def test_looks_find_what_is_there():
    rng = np.random.default_rng(1)
    found = [sequential(row, 5, 0.0) for row in (1.5 + rng.standard_normal((400, 20))).tolist()]
    assert found.count(HOLDS) > 0.95 * len(found) and FAILS not in found


def test_many_points_do_not_contradict_a_true_claim():
    """Twenty points at a margin of one standard error each: the claim is true, and contradicted in 5 % at most."""
    rng = np.random.default_rng(2)
    trials, wrong, careless = 600, 0, 0
    for _ in range(trials):
        parts = [Part(Sample(tuple(row)), low=0.0) for row in rng.standard_normal((20, 5))]
        wrong += together(parts)[0] == FAILS
        careless += any(part.sample.interval().high < 0 for part in parts)
    assert wrong <= trials * ERROR
    assert careless > trials * 0.2


def test_fewer_than_three_seeds_decide_nothing():
    assert Part(Sample((1.0, 1.0)), low=0.0).state() == UNCLEAR
    assert Part(Sample((1.0, 1.0, 1.0)), low=0.0).state() == HOLDS
    assert Part(Sample((1.0,), exact=True), low=0.0).state() == HOLDS
    text = reproduce.definition("chokew-fig8").text
    with pytest.raises(reproduce.DefinitionError, match=r"simulation\.quick_seeds = 2 is not valid; valid: 3 or more"):
        parse(text.replace("quick_seeds = 3", "quick_seeds = 2"), "chokew-fig8.toml", "chokew-fig8")


def test_typed_results_are_not_read():
    text = reproduce.definition("choke-fig3").text + '\n[[tried]]\nwhat = "a"\nfound = "b"\n'
    with pytest.raises(reproduce.DefinitionError, match="tried is unknown"):
        parse(text, "choke-fig3.toml", "choke-fig3")


@pytest.mark.parametrize(
    ("value", "relation", "verdict"),
    [(102.0, "=", SAME), (120.0, "=", OFF), (106.0, "=", INCONCLUSIVE), (99.0, ">=", SAME), (101.0, ">=", CONTRADICTED),
     (101.0, "<=", SAME)],
)  # fmt: skip
def test_printed_numbers(value, relation, verdict):
    """Ten runs at 100 ± 0.03: 102 is within 5 %, 120 is off, bounds are bounds; 106 needs runs that scatter more."""
    row = Row("a", {}, "m", tuple(100 + 0.05 * (n - 4.5) / 3 for n in range(10)))
    if verdict == INCONCLUSIVE:
        row = Row("a", {}, "m", tuple(100 + 3.0 * (n - 4.5) / 3 for n in range(20)[:10]), error=0.05)
        assert one_run(row) > 6
    assert compare(Published("m", "a", {}, value, "paper", relation, 0.05 * value), row).verdict == verdict


def test_one_run_by_hand():
    """1, 2, 3: t s sqrt(1 + 1/3)."""
    assert one_run(Row("a", {}, "m", (1.0, 2.0, 3.0))) == pytest.approx(4.302653 * (4 / 3) ** 0.5, rel=1e-6)


def test_ratio_of_a_split_by_hand():
    """0, 1 | 10, 11: between 4 x 5^2 = 100, within 2 x 0.5 = 1."""
    assert split_ratio([10.0, 0.0, 11.0, 1.0]) == (pytest.approx(100.0), 2)


def test_two_states_are_reported_and_one_state_is_not():
    found = two_states(Row("a", {}, "m", (20.0, 266.0, 270.0, 20.0, 265.0, 269.0, 20.0)))
    assert found is not None and found.locked and (len(found.low), len(found.high)) == (3, 4)
    assert two_states(Row("a", {}, "m", (266.0, 270.0, 265.0, 269.0, 268.0, 264.0))) is None
    assert two_states(Row("a", {}, "m", (5.0,), exact=True)) is None


def test_the_rule_of_two_states_holds_its_level():
    rng = np.random.default_rng(3)
    found = [split_ratio(row)[0] > critical_ratio(8) for row in rng.standard_normal((4000, 8))]
    assert sum(found) <= 4000 * 0.001 + 4 * (4000 * 0.001) ** 0.5


def claim(**arguments):
    kind = arguments.pop("kind", "less")
    return Claim("c", "t", kind, arguments, "none", "", None)


def test_a_claim_that_holds_for_the_yardstick_says_nothing():
    values = {"choke": (1.0, 1.1, 1.2), "red": (5.0, 5.1, 5.2)}
    data = Data([Row(name, {}, "udp", some) for name, some in values.items()])
    replaced = [Row("choke", {}, "udp", values["red"])]
    mutant = mutate(data, replaced)
    less = claim(measure="udp", scheme="choke", than={"scheme": "red"})
    low = claim(kind="between", measure="udp", scheme="choke", high=9)
    about_red = claim(kind="between", measure="udp", scheme="red", low=4)
    assert evaluate(less.kind, less.arguments, data).state == HOLDS
    assert [judge_mutant(one, mutant, {"choke"}) for one in (less, low, about_red)] == [BROKEN, HELD, None]


def test_a_mutated_scheme_is_run_in_the_place_of_the_papers(tmp_path):
    one = reproduce.definition("choke-fig3")
    mutants = {cell.scheme: cell.content["queue"]["discipline"] for cell in cells(one, Order(), Runs(3, mutant="red"))}
    assert mutants == {"choke": "red"}, "yardsticks stay what they are"
    found = reproduce.run("choke-fig3", seeds=3, settings=["duration=60s", "warm_up=10s"], directory=tmp_path)
    mutants_of = {item["id"]: item["mutants"] for item in found.document["claims"]}
    assert mutants_of["held"] == {"red": BROKEN, "droptail": BROKEN}, "without CHOKe UDP is not held to a quarter"
    assert mutants_of["full"] == {"red": HELD, "droptail": HELD}, "a full link says nothing about CHOKe"
    assert mutants_of["starved"] == {}, "a claim about RED and DropTail"


def test_a_mutated_scheme_changes_the_verdict(tmp_path):
    """With RED in CHOKe's place the claim about CHOKe is contradicted: the campaign would notice."""
    one = reproduce.definition("choke-fig3")
    text = one.text.replace('discipline = "choke" }', 'discipline = "red", label = "CHOKe" }')
    from fairdrop.reproduce.execute.store import Store
    from fairdrop.reproduce.outcome import reproduce as run

    order = Order(seeds=3, settings=("duration=60s", "warm_up=10s"))
    found = [run(parse(some, "f", "choke-fig3"), order, Store(tmp_path)).document for some in (one.text, text)]
    verdicts = [{item["id"]: item["verdict"] for item in document["claims"]} for document in found]
    assert (verdicts[0]["held"], verdicts[1]["held"]) == ("holds", "contradicted")


def snapshots(profile, lengths):
    """Positions as a run has them: of queues of these lengths, with the group at y of L by its profile at (y + ½)/L."""
    longest = max(lengths)
    occupied = [sum(length > y for length in lengths) for y in range(longest)]
    there = [sum(profile((y + 0.5) / length) for length in lengths if length > y) for y in range(longest)]
    positions = {"occupied": occupied, "by_group": {"udp": there}}
    return {"link": "L", "queues": [{"name": "L", "positions": positions}]}


def test_the_head_is_found_whatever_the_length_was():
    """A profile that falls from 0.9 to 0.1, over queues of 40 to 160 packets; at the mean length it would be higher."""
    lengths = np.random.default_rng(4).integers(40, 160, 500).tolist()
    run = snapshots(lambda part: 0.9 - 0.8 * part, lengths)
    assert relative_head(run, "udp") == pytest.approx(0.1, abs=1e-3)
    assert relative_profile(run, "udp", knots=3) == pytest.approx([0.9, 0.5, 0.1], abs=1e-3)
    positions, middle = run["queues"][0]["positions"], int(np.mean(lengths))
    assert positions["by_group"]["udp"][middle] / positions["occupied"][middle] > 0.25


def test_counted_from_the_head_the_head_is_the_first_position():
    """The same queues seen from either end: the head is exact from the head, the tail from the tail."""
    lengths = np.random.default_rng(4).integers(40, 160, 500).tolist()
    tail = snapshots(lambda part: 0.9 - 0.8 * part, lengths)
    head = snapshots(lambda part: 0.1 + 0.8 * part, lengths)
    for run, end in ((tail, "tail"), (head, "head")):
        run["queues"][0]["positions"]["from"] = end
        run["queues"][0]["mean_packets"] = float(np.mean(lengths))
    assert relative_head(head, "udp") == head_share(head, "udp") == pytest.approx(0.1, abs=0.01)
    assert relative_head(tail, "udp") == pytest.approx(relative_head(head, "udp"), abs=0.01)
    assert tail_share(tail, "udp") > 0.8 and tail_share(head, "udp") < tail_share(tail, "udp")


EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "papers"
WHOLE = (EXAMPLES / "rfc2416" / "paper.toml").read_text(encoding="utf-8")


def test_a_sixth_paper_runs_from_a_folder_outside_the_package(tmp_path, capsys):
    """RFC 2416: all printed times but one are those of packets of 1000 bytes, to the last digit."""
    out = tmp_path / "out"
    assert main(["reproduce", "--papers", str(EXAMPLES), "--quiet", "--out", str(out)]) == 0
    found = {
        name: json.loads((out / "results" / f"rfc2416-{name}.json").read_text(encoding="utf-8"))
        for name in ("c1", "c2", "c3", "c4")
    }
    verdicts = {name: one["verdict"] for name, one in found.items()}
    assert verdicts == {"c1": OTHERWISE, "c2": OTHERWISE, "c3": OTHERWISE, "c4": CONTRADICTED}
    numbers = [point for name in ("c1", "c2") for point in found[name]["published"]]
    off = [point for point in numbers if point["verdict"] == OFF]
    assert len(numbers) == 9 * 4 + 2 + 6 * 4 + 2
    assert [(point["at"], point["published"]) for point in off] == [({"ack": 7}, 6.111)] * 2, "a misprint"
    meant = [point["readings"]["1000 bytes"]["mean"] for point in off]
    assert meant == pytest.approx([6.611, 6.611], abs=0.001), "simulated, and by hand"
    dally = [claim["tried"]["1000 bytes, dally timer"]["state"] for claim in found["c1"]["claims"]]
    assert dally == [FAILS, HOLDS, FAILS]
    by_hand = {point["measure"]: point for point in found["c3"]["published"]}
    assert by_hand["three"]["apart"] == pytest.approx(-0.1) and by_hand["lead"]["apart"] == pytest.approx(0.1)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "four packets into only three buffers" in page and "at 6.611 s, not at 6.111" in page
    assert "rfc2416" not in papers() and not any(name.startswith("rfc") for name in names()), "it is gone afterwards"
    capsys.readouterr()
    assert main(["reproduce", "--resume", "--quiet", "--out", str(out)]) == 0
    assert main(["reproduce", "rfc2416-c1", "--out", str(out)]) == 2
    assert "is no paper and no id" in capsys.readouterr().err


NS2 = shutil.which("ns2") or shutil.which("ns")


@pytest.mark.skipif(NS2 is None, reason="ns-2 is not installed")
@pytest.mark.parametrize("name", ["rfc2416-c1", "rfc2416-c2"])
def test_ns2_has_the_times_of_the_sixth_paper(name, tmp_path):
    """With packets of 1024 bytes and of 1000, and never the printed 6.111 s."""
    from fairdrop.reproduce.measure.runs import MEASURES

    trace = tmp_path / "trace"
    with papers_of([EXAMPLES]):
        for cell in cells(reproduce.definition(name), Order()):
            (group,) = cell.content["groups"]
            if group["settings"]["delayed_ack"]:
                continue
            packet, window = group["packet_size_bytes"], int(group["settings"]["initial_window"])
            script = str(EXAMPLES / "rfc2416" / "ns2.tcl")
            subprocess.run([NS2, script, str(packet), str(window), str(trace)], check=True, timeout=120, cwd=tmp_path)
            lines = [line.split() for line in trace.read_text(encoding="utf-8").splitlines()]
            theirs = [(float(line[1]), int(line[10]) + 1) for line in lines if line[0] == "r"]
            run = simulated(cell, 1)
            times, covers = MEASURES["ack_times"](run, len(theirs)), MEASURES["ack_covers"](run, len(theirs))
            assert len(theirs) > 5
            assert [time for _, time in times] == pytest.approx([time for time, _ in theirs], abs=1e-5)
            assert [packet for _, packet in covers] == [packet for _, packet in theirs]


def test_traced_runs_have_every_event():
    """A trace agrees with the run's counts of a queue, and other runs have none."""
    with papers_of([EXAMPLES]):
        traced = next(cells(reproduce.definition("rfc2416-c1"), Order()))
        run = simulated(traced, 1)
        modem = run["trace"]["modem"]
        queue = next(one for one in run["queues"] if one["name"] == "modem")
        assert modem["event"].count("arrive") == queue["arrivals"] > 10
        assert modem["event"].count("drop") == sum(queue["drops"].values()) > 0
        assert modem["time_ns"] == sorted(modem["time_ns"])
        plain = replace(traced, is_traced=False)
        assert "trace" not in simulated(plain, 1) and plain.key(1) != traced.key(1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no paper; valid: a folder with a paper.toml"),
        ({"choke/paper.toml": ""}, "there is a paper 'choke' already"),
        ({"New One/paper.toml": ""}, "'New One' is no name of a paper"),
        ({"mine/paper.toml": "", "mine/extension.py": "1 / 0"}, "extension.py: ZeroDivisionError"),
        ({"mine/paper.toml": "", "mine/extension.py": "MEASURES = {'share': len}"}, "MEASURES has share, "),
        ({"mine/paper.toml": WHOLE, "mine/mine-fig1.toml": "id = 'mine-fig1'"}, "mine-fig1.toml: kind is missing"),
        ({"mine/paper.toml": "title = 'Mine'"}, "paper.toml: claimed is missing"),
    ],
)
def test_what_is_wrong_with_a_folder_is_reported(files, message, tmp_path, capsys):
    folder = tmp_path / "papers"
    folder.mkdir()
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert main(["reproduce", "--papers", str(folder), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_measures_of_a_folder_go_with_it():
    from fairdrop.reproduce.measure.runs import MEASURES

    with papers_of([EXAMPLES]) as added:
        assert added == ["rfc2416"] and "ack_times" in MEASURES
    assert "ack_times" not in MEASURES


def test_an_undecided_claim_gets_more_seeds(tmp_path):
    """A bound at the mean itself is never decided; one far away is at the first look."""
    text = reproduce.definition("choke-c1").text
    text = text[: text.index("[[claims]]")] + (
        '[[claims]]\nid = "c"\ntext = "t"\nkind = "between"\nmeasure = "tcp_red"\nhigh = BOUND\ntolerance = "none"\n'
    )
    from fairdrop.reproduce.execute.store import Store
    from fairdrop.reproduce.outcome import reproduce as run

    order, store = Order(settings=tuple(SHORT)), Store(tmp_path)
    far = run(parse(text.replace("BOUND", "150"), "f", "choke-c1"), order, store).document
    assert (far["seeds"], far["look"]["number"], far["verdict"]) == (5, 1, "holds")
    values = next(row["values"] for row in far["data"]["base"]["rows"] if row["measure"] == "tcp_red")
    near = run(parse(text.replace("BOUND", str(sum(values) / 5)), "f", "choke-c1"), order, store).document
    assert near["seeds"] > 5 and near["look"]["number"] > 1
    shown = next(row for row in near["published"] if row["measure"] == "tcp_red")["measured"]
    values = next(row["values"] for row in near["data"]["base"]["rows"] if row["measure"] == "tcp_red")
    assert shown["high"] - shown["mean"] == pytest.approx(estimate(values, 1 - ERROR / 3).half)
    assert replace(Look(1, 3), number=3).is_last
