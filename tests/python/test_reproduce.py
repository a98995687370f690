"""Definitions of the papers' figures, predicates on claims, the store, and one reproduction from end to end."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest

import fairdrop
from fairdrop import reproduce
from fairdrop.cli import main
from fairdrop.engine import key_of
from fairdrop.measures import jain_index
from fairdrop.reproduce.define.definition import Claim, Published, Reading, axis_name
from fairdrop.reproduce.define.papers import is_id, scenario_text
from fairdrop.reproduce.definitions import parse
from fairdrop.reproduce.execute import plan
from fairdrop.reproduce.execute.plan import Order, Part, cells, check_readings
from fairdrop.reproduce.execute.store import Store
from fairdrop.reproduce.judge.checks import grid_distances
from fairdrop.reproduce.judge.claims import FAILS, HOLDS, UNCLEAR, ClaimError, evaluate
from fairdrop.reproduce.judge.verdict import (
    CONTRADICTED,
    HELD,
    INCONCLUSIVE,
    OFF,
    OTHERWISE,
    PENDING,
    REFUTED,
    UNDECIDED,
    judge,
    overall,
    tally,
)
from fairdrop.reproduce.measure.data import Data, Row
from fairdrop.reproduce.measure.runs import fairness_of_groups, jain
from fairdrop.reproduce.outcome import Reproduction
from fairdrop.reproduce.outcome import reproduce as reproduce_one
from fairdrop.reproduce.workspace import Workspace
from patience import PATIENCE, wait_for
from processes import Work

PAPER_IDS = {
    "choke": "fig1 fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig11 table1 table2 table3 eq1 eq4 eq5 c1 c2 c3 c4",
    "micro": "fig1 fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig11 c1 c2 c3 c4",
    "chokew": "fig1 fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig11 table1 c1 c2 c3 c4 c5",
    "under": "fig1 fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 thm1 thm2 thm3 thm4 thm5 thm6 thm8 thm9 lem7 asym "
    "c1 c2 c3 c4 c5 c6 c7 c8",
    "ward": "fig1 fig2 fig3 fig4 fig5 fig6 table1 table2 table3 c1 c2 c3 c4",
}


def test_every_id_of_the_papers_has_a_definition_and_no_other_is_there():
    wanted = {f"{paper}-{part}" for paper, parts in PAPER_IDS.items() for part in parts.split()}
    assert len(wanted) == 93
    ours = set(reproduce.names()) - wanted
    assert ours == {f"X{number}" for number in range(1, len(ours) + 1)}, "campaigns of our own are X1, X2, ..."
    assert wanted < set(reproduce.names())


@pytest.mark.parametrize("name", reproduce.names())
def test_definitions_parse_and_claim_something(name):
    found = reproduce.definition(name)
    assert found.claims and found.title and found.about
    assert reproduce.paper(found.paper).title


def test_jains_index_has_one_meaning_in_every_measure():
    """There is none for groups that have nothing; a definition may say what that counts as."""
    rates = {"a": (4.0, 4.0), "b": (0.0, 0.0), "c": (8.0,)}
    run = {"flows": [{"group": name, "goodput_bps": rate} for name, some in rates.items() for rate in some]}
    assert jain(run, "a", "goodput_bps") == 1.0
    assert jain(run, ["a", "c"], "goodput_bps") == jain_index([4.0, 4.0, 8.0])
    assert jain(run, None, "goodput_bps") == jain_index([4.0, 4.0, 0.0, 0.0, 8.0])
    assert jain(run, "b", "goodput_bps") is None
    assert jain(run, "b", "goodput_bps", nothing=0.0) == 0.0
    assert fairness_of_groups(run, ["a", "b"]) == 1.0
    assert fairness_of_groups(run, ["b"]) is None


def test_no_definition_is_overlooked(root):
    """A file that says it is an id is one, also the tenth campaign."""
    files = (root / "python" / "fairdrop" / "papers").rglob("*.toml")
    ids = {path.stem for path in files if path.read_text(encoding="utf-8").startswith("id = ")}
    assert ids == set(reproduce.names())
    assert is_id("X10") and is_id("choke-fig5") and not is_id("five-udp") and not is_id("paper")


def test_decisions_that_definitions_rest_on_are_listed(root):
    text = (root / "docs" / "decisions" / "readings.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (A-\d+) \|", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    named = {item for name in reproduce.names() for item in reproduce.definition(name).decisions}
    assert named <= set(listed), sorted(named - set(listed))


BASE = reproduce.definition("choke-fig3").text


@pytest.mark.parametrize(
    ("change", "by", "message"),
    [
        ('kind = "simulation"', 'kind = "film"', r"kind = 'film' is not valid; valid: one of simulation"),
        ('section = "III.A', 'sektion = "III.A', r"sektion is unknown"),
        ('of = "throughput"', 'of = "thruput"', r"measures\[0\]\.of = 'thruput' is not valid"),
        ('scheme = "choke"\nlow', 'scheme = "chok"\nlow', r"claims \(held\)\.scheme = 'chok' is not valid"),
        (
            'kind = "between"',
            'kind = "amid"',
            r"claims\[0\]\.kind = 'amid' is not valid; valid: one of all_flows_within",
        ),
        ("low = 0.99", "lowest = 0.99", r"lowest is unknown"),
        ("low = 0.99", 'low = "much"', r"low = 'much' is not valid; valid: a number"),
        ('decisions = ["A-5"', 'decisions = ["B-5"', r"decisions = 'B-5' is not valid"),
        ('id = "choke-fig3"', 'id = "choke-fig4"', r"id = 'choke-fig4' is not valid"),
    ],
)
def test_mistakes_name_file_and_field(change, by, message):
    assert change in BASE
    with pytest.raises(reproduce.DefinitionError, match=message) as caught:
        parse(BASE.replace(change, by, 1), "choke-fig3.toml", "choke-fig3")
    assert str(caught.value).startswith("choke-fig3.toml: ")


def rows(**series):
    """Rows of schemes over x; a value is a list of seeds, and one alone that of a model."""
    return Data(
        Row(scheme, {"x": x}, "m", tuple(values), exact=len(values) == 1)
        for scheme, points in series.items()
        for x, values in enumerate(points, start=1)
    )


NOISY = [8.0, 12.0, 10.0]  # 10 ± 5


@pytest.mark.parametrize(
    ("kind", "arguments", "data", "state"),
    [
        ("between", {"low": 9, "high": 11}, rows(a=[[10.0, 10.1, 10.2]]), HOLDS),
        ("between", {"low": 9, "high": 11}, rows(a=[[10.0, 10.1]]), UNCLEAR),
        ("between", {"low": 11}, rows(a=[[10.0, 10.01, 10.0]]), FAILS),
        ("between", {"low": 9, "high": 11}, rows(a=[NOISY]), UNCLEAR),
        ("between", {"low": 9}, rows(a=[[10.0], [8.0]]), FAILS),
        ("less", {"scheme": "a", "than": {"scheme": "b"}}, rows(a=[[1, 5, 9]], b=[[2, 6, 10.1]]), HOLDS),
        ("less", {"scheme": "b", "than": {"scheme": "a"}}, rows(a=[[1, 5, 9]], b=[[2, 6, 10.1]]), FAILS),
        ("less", {"scheme": "a", "than": {"scheme": "b"}}, rows(a=[[1, 5, 9]], b=[[2, 4, 10]]), UNCLEAR),
        ("less", {"scheme": "a", "than": {"scheme": "b"}, "factor": 0.5}, rows(a=[[4.0]], b=[[7.0]]), FAILS),
        ("ratio", {"scheme": "a", "to": {"scheme": "b"}, "low": 2}, rows(a=[[4, 8.1, 6]], b=[[2, 4, 3]]), UNCLEAR),
        ("ratio", {"scheme": "a", "to": {"scheme": "b"}, "low": 1.9}, rows(a=[[4, 8, 6]], b=[[2, 4, 3]]), HOLDS),
        ("ratio", {"scheme": "a", "to": {"scheme": "b"}, "high": 1.9}, rows(a=[[4, 8, 6]], b=[[2, 4, 3]]), FAILS),
        ("equal_within", {"scheme": "a", "to": {"scheme": "b"}, "relative": 0.1}, rows(a=[[10.0]], b=[[10.5]]), HOLDS),
        ("equal_within", {"scheme": "a", "to": {"scheme": "b"}, "absolute": 0.1}, rows(a=[[10.0]], b=[[10.5]]), FAILS),
        ("monotone", {"along": "x", "direction": "up"}, rows(a=[[1.0], [2.0], [3.0]]), HOLDS),
        ("monotone", {"along": "x", "direction": "down"}, rows(a=[[1.0], [2.0], [3.0]]), FAILS),
        ("monotone", {"along": "x", "direction": "up"}, rows(a=[[1.0], [3.0], [2.0]]), FAILS),
        ("monotone", {"along": "x", "direction": "up"}, rows(a=[[1, 2, 3], [1, 2.1, 3]]), UNCLEAR),
        # Noise is no order: the ends differ, but nobody knows about the step between them.
        ("monotone", {"along": "x", "direction": "up"}, rows(a=[[1, 1, 1], [0, 5, 10], [9, 9, 9]]), UNCLEAR),
        # Level to a twentieth of the whole rise.
        ("monotone", {"along": "x", "direction": "up"}, rows(a=[[1.0], [10.3], [10.0]]), HOLDS),
        ("monotone", {"along": "x", "direction": "up"}, rows(a=[[1.0], [10.5], [10.0]]), FAILS),
        ("peaks_then_falls", {"along": "x"}, rows(a=[[1.0], [3.0], [2.0]]), HOLDS),
        ("peaks_then_falls", {"along": "x"}, rows(a=[[1.0], [2.0], [3.0]]), FAILS),
        ("peaks_then_falls", {"along": "x", "peak_from": 3}, rows(a=[[1.0], [3.0], [2.0]]), FAILS),
        ("order", {"schemes": ["a", "b"]}, rows(a=[[1.0]], b=[[2.0]]), HOLDS),
        ("order", {"schemes": ["b", "a"]}, rows(a=[[1.0]], b=[[2.0]]), FAILS),
        ("order", {"schemes": ["a", "b"]}, rows(a=[[1.0, 3.0, 2.5]], b=[[2.0, 2.0, 2.0]]), UNCLEAR),
        ("all_flows_within", {"factor": 2}, rows(a=[[1.0], [1.5]]), HOLDS),
        ("all_flows_within", {"factor": 1.1}, rows(a=[[1.0], [1.5]]), FAILS),
        ("check", {"check": "largest_is", "measure": "m", "value": 2.0, "absolute": 0.1}, rows(a=[[2.0]]), HOLDS),
        ("check", {"check": "largest_is", "measure": "m", "value": 3.0, "absolute": 0.1}, rows(a=[[2.0]]), FAILS),
    ],
)
def test_predicates(kind, arguments, data, state):
    assert evaluate(kind, {"measure": "m", **arguments} if kind != "check" else arguments, data).state == state


def test_a_claim_about_nothing_is_an_error():
    with pytest.raises(ClaimError, match="nothing was measured"):
        evaluate("between", {"measure": "other", "low": 0}, rows(a=[[1.0]]))


READINGS = (Reading("base", "as decided", ()), Reading("other", "the other way", ()))


def claim(**changes):
    fields = {
        "name": "c", "text": "t", "kind": "between", "arguments": {"measure": "m", "low": 5}, "tolerance": "none",
        "reason": "", "undecidable": None,
    }  # fmt: skip
    return Claim(**{**fields, **changes})


DEFINITION = reproduce.definition("choke-fig3")


def judged(data, *claims, own=False):
    """Claims judged under the two readings above."""
    one = replace(DEFINITION, claims=claims, kind="campaign" if own else DEFINITION.kind)
    return judge(one, data, READINGS)


@pytest.mark.parametrize(
    ("base", "other", "verdict"),
    [
        ([6.0], [1.0], HELD), ([1.0], [6.0], OTHERWISE), ([1.0], [2.0], CONTRADICTED),
        ([4.0, 6.1, 5.2], [1.0], INCONCLUSIVE),
        ([6.0, 6.1], [1.0], INCONCLUSIVE),
    ],
)  # fmt: skip
def test_verdicts_take_readings_and_intervals_into_account(base, other, verdict):
    (found,), bearing = judged({"base": rows(a=[base]), "other": rows(a=[other])}, claim())
    assert found.verdict == verdict
    assert bearing == ("other" if verdict == OTHERWISE else None)
    assert ("interval" in found.why) == (verdict == INCONCLUSIVE)


def test_a_printed_number_that_is_missed_is_off_with_its_distance():
    ranged = claim(arguments={"measure": "m", "low": 80, "high": 90})
    claims = (claim(kind="printed", arguments={"measure": "m"}), ranged)
    point = Published("m", None, {}, 85.0, "paper", within=5.0)
    data = {"base": Data(rows(a=[[95.0, 96.0, 97.0]]).rows, [point])}
    (found, without), _ = judged(data, *claims)
    assert found.verdict == OFF and "+11" in found.why and found.measured.endswith("for 85")
    assert without.verdict == CONTRADICTED
    # A bound is no number, and what another id judges is none of this one.
    for other in (replace(point, relation="<="), replace(point, judged=False)):
        assert not other.is_about({"measure": "m"})


def test_a_hypothesis_of_our_own_that_fails_contradicts_no_paper():
    (found,), _ = judged({"base": rows(a=[[1.0]])}, claim(), own=True)
    assert found.verdict == REFUTED


def test_a_reading_must_bear_all_claims_out_together():
    """One reading mends the first claim and breaks the second: that is no reading of the text."""
    first, second = claim(name="a"), claim(name="b", arguments={"measure": "m", "high": 5.5})
    found, bearing = judged({"base": rows(a=[[1.0]]), "other": rows(a=[[6.0]])}, first, second)
    assert bearing is None and [one.verdict for one in found] == [CONTRADICTED, HELD]
    found, bearing = judged({"base": rows(a=[[1.0]]), "other": rows(a=[[5.2]])}, first, second)
    assert bearing == "other" and [one.verdict for one in found] == [OTHERWISE, HELD]


def test_what_the_text_does_not_admit_bears_nothing_out():
    readings = (READINGS[0], replace(READINGS[1], admitted=False))
    one = replace(DEFINITION, claims=(claim(),))
    (found,), bearing = judge(one, {"base": rows(a=[[1.0]]), "other": rows(a=[[6.0]])}, readings)
    assert found.verdict == CONTRADICTED and bearing is None and found.tried["other"].state == HOLDS


def test_the_worst_claim_decides():
    data = {"base": rows(a=[[6.0]]), "other": rows(a=[[6.0]])}
    one = lambda **changes: judged(data, claim(**changes))[0][0]  # noqa: E731
    good, open_ = one(), one(undecidable="no number")
    bad, lost = one(arguments={"measure": "m", "low": 9}), one(arguments={"measure": "n", "low": 9})
    assert [overall([good, open_]), overall([good, bad]), overall([open_]), overall([bad, lost])] == [
        HELD, CONTRADICTED, UNDECIDED, PENDING,
    ]  # fmt: skip


def test_the_store_gives_back_what_it_got_and_survives_damage(tmp_path):
    store = Store(tmp_path)
    key = key_of({"scenario": {"a": 1}, "seed": 1})
    assert key != key_of({"scenario": {"a": 1}, "seed": 2})
    assert store.get(key) is None
    store.put(key, {"x": 1.5})
    assert store.get(key) == {"x": 1.5}
    next(tmp_path.rglob("*.json.gz")).write_bytes(b"half a fi")
    assert store.get(key) is None
    assert (store.hits, store.misses) == (1, 2)


SHORT = ["duration=12s", "warm_up=2s"]


def test_nothing_is_computed_twice(tmp_path):
    first = reproduce.run("choke-c1", seeds=2, settings=SHORT, directory=tmp_path)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.gz")}
    again = reproduce.run("choke-c1", seeds=2, settings=SHORT, directory=tmp_path)
    assert again.document == first.document
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.gz")} == files
    reproduce.run("choke-c1", seeds=3, settings=SHORT, directory=tmp_path)
    added = len(list((tmp_path / "store").rglob("*.gz"))) - len(files)
    assert added * 2 == len(files)


def test_threads_do_not_change_results(tmp_path):
    documents = [
        reproduce.run("choke-fig8", seeds=1, settings=SHORT, directory=tmp_path / str(n), threads=n).document
        for n in (1, 3)
    ]
    assert documents[0] == documents[1]


def test_a_setting_changes_the_figure(tmp_path):
    slow = reproduce.run("choke-c1", seeds=1, settings=SHORT, directory=tmp_path)
    fast = reproduce.run("choke-c1", seeds=1, settings=[*SHORT, "groups.udp.rate=9mbit"], directory=tmp_path)
    assert slow.rows != fast.rows
    assert fast.document["settings"] == [*SHORT, "groups.udp.rate=9mbit"]


def test_one_reproduction_from_end_to_end(tmp_path, capsys):
    out = tmp_path / "r"
    words = ["reproduce", "choke-fig3", "choke-fig2", "--seeds", "2", "--out", str(out), "--quiet"]
    changes = [word for text in SHORT for word in ("--set", text)]
    assert main([*words, *changes]) == 0
    page = (out / "index.html").read_text(encoding="utf-8")
    assert 'id="choke-fig3"' in page and page.count("<svg") == 2
    assert not re.search(r"(?:src|href)=\"https?:", page)
    assert (out / "figures" / "choke-fig3.pdf").read_bytes().startswith(b"%PDF")
    assert (out / "figures" / "choke-fig3.svg").exists()
    assert (out / "data" / "choke-fig3.csv").read_text(encoding="utf-8").startswith("id,reading,scheme,measure")
    summary = (out / "summary.csv").read_text(encoding="utf-8").splitlines()
    assert summary[0] == "id,claim,text,published,measured,verdict,reason"
    capsys.readouterr()
    assert main(["reproduce", "--list", "--json", "--out", str(out)]) == 0
    states = {row["id"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert set(states) == set(reproduce.names())
    assert states["choke-fig2"] == "holds" and states["choke-fig5"] == "not run"


def test_resume_goes_on_with_what_is_missing(tmp_path, capsys):
    out = tmp_path / "r"
    words = ["reproduce", "choke-fig2", "choke-c1", "--seeds", "1", "--out", str(out), "--set", SHORT[0]]
    assert main([*words, "--set", SHORT[1]]) == 0
    kept = (out / "results" / "choke-fig2.json").stat().st_mtime_ns
    (out / "results" / "choke-c1.json").unlink()
    capsys.readouterr()
    assert main(["reproduce", "--resume", "--out", str(out)]) == 0
    assert "choke-c1" in capsys.readouterr().err
    assert (out / "results" / "choke-c1.json").exists()
    assert (out / "results" / "choke-fig2.json").stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["choke-fig99"], "'choke-fig99' is no paper and no id"),
        (["--resume"], "nothing to resume"),
        (["choke-fig2", "--resume"], "--resume goes on with what was asked before"),
    ],
)
def test_bad_input_of_the_command(words, message, tmp_path, capsys):
    assert main(["reproduce", *words, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ids", "setting", "messages"),
    [
        (["choke-fig2", "choke-c1"], "groups.tcp.hat=1", ["choke-c1: --set groups.tcp.hat=1: ", "; valid: the fields"]),
        (["choke-c1"], "queue.red.max_p=2", ["choke-c1: --set queue.red.max_p=2: ", "; valid: "]),
        (["choke-c1"], "nonsense", ["choke-c1: --set nonsense: ", "valid: "]),
        (["choke-eq4"], "queue.choke.hat=1", ["choke-eq4: --set queue.choke.hat=1: ", "; valid: "]),
        (["choke-c1"], "duration=9s", ["choke-c1: --set duration=9s: warm_up = 60 s", "; valid: "]),
        (["under-thm1"], "duration=1s", ["--set duration=1s: no id that was asked for is simulated; valid: "]),
    ],
)  # fmt: skip
def test_a_setting_that_does_not_fit_is_an_error(ids, setting, messages, tmp_path, capsys):
    """It names flag, value and what is valid, before anything is done."""
    assert main(["reproduce", *ids, "--out", str(tmp_path / "r"), "--set", setting]) == 2
    err = capsys.readouterr().err
    assert all(message in err for message in messages), err
    assert not (tmp_path / "r").exists()
    with pytest.raises(ValueError, match=re.escape(messages[0])):
        reproduce.run(ids[-1], settings=[setting], directory=tmp_path / "r")


def test_every_id_that_a_setting_does_not_fit_is_named(tmp_path, capsys):
    ids = ["choke-c1", "choke-fig11", "choke-eq4"]
    assert main(["reproduce", *ids, "--out", str(tmp_path), "--set", "duration=90s"]) == 2
    named = re.findall(r"error: (\S+): --set duration=90s: .*; valid: ", capsys.readouterr().err)
    assert named == ["choke-fig11", "choke-eq4"]


def test_a_setting_that_only_a_run_refuses_is_an_error(tmp_path, capsys, monkeypatch):
    def refused(*_, **__):
        raise fairdrop.ScenarioError("sample = 1 ms needs more memory than there is; valid: a longer interval")

    monkeypatch.setattr(fairdrop.Scenario, "run", refused)
    words = ["reproduce", "choke-c1", "--seeds", "1", "--out", str(tmp_path), "--set", "sample=1ms"]
    assert main(words) == 2
    assert "error: --set sample=1ms: choke-c1: sample = 1 ms needs more memory" in capsys.readouterr().err


def test_a_missing_feature_leaves_that_id_pending(tmp_path, capsys, monkeypatch):
    def without(paper, base):
        return scenario_text(paper, base).replace("[[groups]]", "[[groups]]\nhat = 'red'", 1)

    monkeypatch.setattr(plan, "scenario_text", without)
    words = ["reproduce", "choke-c1", "choke-fig2", "--out", str(tmp_path), "--quiet", "--set", "duration=9s"]
    assert main(words) == 3
    capsys.readouterr()
    found = json.loads((tmp_path / "results" / "choke-c1.json").read_text(encoding="utf-8"))
    assert found["verdict"] == PENDING and "hat" in found["reason"]
    other = json.loads((tmp_path / "results" / "choke-fig2.json").read_text(encoding="utf-8"))
    assert other["verdict"] == HELD


def test_verdicts_are_counted_in_words():
    assert tally([HELD, CONTRADICTED, HELD]) == "2 hold, 1 contradicted"
    assert tally([OTHERWISE, OFF, OFF, HELD]) == "1 holds, 1 holds with another reading, 2 numbers off"
    assert tally([]) == ""


def test_order_is_checked():
    with pytest.raises(ValueError, match="profile = 'slow' is not valid; valid: quick, full"):
        Order("slow")
    with pytest.raises(ValueError, match="seeds = 0 is not valid"):
        Order(seeds=0)


def test_control_c_keeps_what_is_done_and_resume_ends_with_the_same(tmp_path):
    """Interrupted while it computes, the command says how to go on; resumed, it ends where an undisturbed run ends."""
    short = ["--set", "duration=20s", "--set", "warm_up=5s"]
    words = ["choke-fig2", "choke-fig9", "--seeds", "2", "--threads", "1", *short]
    command = [sys.executable, "-m", "fairdrop", "reproduce"]
    first = Work([*command, *words, "--out", str(tmp_path / "a")], stderr=subprocess.PIPE, text=True)
    store = tmp_path / "a" / "store"
    wait_for(lambda: len(list(store.rglob("*.gz"))) >= 3, "three runs")
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=PATIENCE)
    assert first.returncode == 130 and "fairdrop reproduce --resume" in err
    assert (tmp_path / "a" / "results" / "choke-fig2.json").exists()
    assert not (tmp_path / "a" / "results" / "choke-fig9.json").exists()
    kept = {path: path.stat().st_mtime_ns for path in store.rglob("*.gz")}
    assert kept
    assert main(["reproduce", "--resume", "--quiet", "--out", str(tmp_path / "a")]) == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert main(["reproduce", *words, "--quiet", "--out", str(tmp_path / "b")]) == 0
    documents = [(tmp_path / name / "results" / "choke-fig9.json").read_text("utf-8") for name in "ab"]
    assert documents[0] == documents[1]


def test_a_figure_from_python_and_its_data_in_a_notebook(tmp_path):
    found = reproduce.run("choke-fig3", seeds=2, settings=SHORT, directory=tmp_path)
    assert found.plot().get_axes()
    frame = found.to_pandas()
    assert set(frame["scheme"]) == {"droptail", "red", "choke"}
    shown = found._repr_html_()
    assert "<svg" in shown and "choke-fig3" in shown and found.verdict in shown
    without = reproduce.run("choke-c4", seeds=1, settings=[], directory=tmp_path)
    assert "<svg" not in without._repr_html_()


def test_a_reading_may_change_one_scheme():
    other = 'name = "other"\ntext = "t"\nsettings = ["queue.discipline=ward"]\nschemes = ["red"]\n'
    text = f"{BASE}\n[[readings]]\n{other}"
    changed = parse(text, "papers/choke/choke-fig3.toml", "choke-fig3")
    found = {(c.reading, c.scheme): _discipline(c.content) for c in cells(changed, Order(seeds=1))}
    assert found["other", "red"] == "ward" and found["other", "choke"] == "choke" and found["base", "red"] == "red"
    with pytest.raises(reproduce.DefinitionError, match=r"readings\[3\]\.schemes = \['rad'\] is not valid"):
        parse(text.replace('schemes = ["red"]', 'schemes = ["rad"]'), "f", "choke-fig3")


@pytest.mark.parametrize(
    ("setting", "schemes", "message"),
    [
        # The scheme sets its discipline itself, and what is left is not read.
        ("queue.discipline=ward", "", "choke-fig3: reading 'other' changes no run: .* the schemes set them themselves"),
        ("queue.ward.full_case3=drop", "", "choke-fig3: reading 'other' changes no run"),
        ("queue.choke.candidates=3", '"choke", "red"', "choke-fig3: reading 'other' changes no run of red"),
        ("queue.red.max_p=0.020", "", "choke-fig3: reading 'other' has the runs of reading 'max_p 0.02'"),
    ],
)
def test_a_reading_without_runs_of_its_own_is_refused(setting, schemes, message, tmp_path):
    other = f'name = "other"\ntext = "t"\nsettings = ["{setting}"]\nschemes = [{schemes}]\n'
    changed = parse(f"{BASE}\n[[readings]]\n{other}", "papers/choke/choke-fig3.toml", "choke-fig3")
    with pytest.raises(reproduce.DefinitionError, match=message):
        check_readings(changed, Order(seeds=1))
    with pytest.raises(reproduce.DefinitionError, match=message):
        reproduce_one(changed, Order(seeds=1, settings=tuple(SHORT)), Store(tmp_path))
    assert not list(tmp_path.rglob("*.gz")), "before any run"


def test_every_reading_has_runs_of_its_own():
    for name in reproduce.names():
        check_readings(reproduce.definition(name), Order())


def test_what_no_discipline_of_a_run_reads_is_no_other_run():
    one, order = reproduce.definition("choke-fig3"), Order(seeds=1)
    keys = {
        setting: {cell.scheme: cell.key(1) for cell in cells(one, replace(order, settings=(setting,)), Part(1))}
        for setting in ("queue.choke.candidates=1", "queue.choke.candidates=2")
    }
    one_candidate, two = keys.values()
    same = {scheme for scheme, key in one_candidate.items() if key == two[scheme]}
    assert same == {"droptail", "red"}


def _discipline(content):
    return content["queue"]["discipline"]


def test_cases_may_have_scenarios_of_their_own_and_measures_only_some_cases(tmp_path):
    found = reproduce.run("ward-table1", seeds=1, settings=SHORT, directory=tmp_path)
    data = found.data["base"]
    assert data.axis("case") == ["2 UDP", "4 UDP"]
    assert [row.at["case"] for row in data.select("udp30")] == ["4 UDP"]
    assert len(data.select("udp2000")) == 2
    assert len(reproduce.definition("ward-table1").simulation.bases) == 2


def test_a_changed_definition_leaves_its_old_result_out(tmp_path):
    space = Workspace(tmp_path)
    space.save(reproduce.run("choke-fig2", directory=tmp_path))
    assert [one.definition.name for one in space.all()] == ["choke-fig2"]
    path = space.path("choke-fig2")
    old = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**old, "definition": "another"}), encoding="utf-8")
    assert not space.all()


def test_distances_of_a_grid():
    rows = [Row("choke", {"a": a, "x": x}, "m", (float(a * x),) * 3) for a in (1, 2) for x in (1, 3)]
    found = grid_distances(Data(rows), "m", "x", [(1, 1.0), (3, 3.0)])
    assert found[(("a", 1),)] == 0.0
    assert found[(("a", 2),)] == pytest.approx((0.5 * (1 + 9)) ** 0.5)
    grid = {"measure": "m", "axis": "x", "published": [[1, 1.0], [3, 3.0]], "absolute": 0.1}
    assert evaluate("check", {"check": "calibration", "frozen": {"a": 1}, **grid}, Data(rows)).state == HOLDS
    assert evaluate("check", {"check": "calibration", "frozen": {"a": 2}, **grid}, Data(rows)).state == FAILS


@pytest.mark.parametrize("name", ["X1", "X7"])
def test_grids_and_scheme_charts_are_drawn(name, tmp_path):
    found = reproduce.definition(name)
    axes = found.simulation.vary
    points = product(*([axis_name(value) for value in axis.quick] for axis in axes))
    places = [dict(zip((axis.name for axis in axes), point, strict=True)) for point in points]
    rows = [
        {"scheme": scheme.name, "at": at, "measure": measure.name, "values": [0.5, 0.6]}
        for scheme in found.schemes
        for at in places
        for measure in found.measures
        if measure.taken(at)
    ]
    document = {"data": {"base": {"error": 0.05, "rows": rows}}, "seeds": 2, "settings": [], "verdict": HELD}
    figure = Reproduction(found, document).plot()
    assert len(figure.get_axes()) == (2 if name == "X1" else 4)
