"""RFC 7928 as a campaign: known answers come out, numbers are those of runs, and nothing is done twice."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace

import numpy
import pandas
import pytest

import fairdrop
from experiments.characterization import page as made
from fairdrop import Discipline, param
from fairdrop.characterize import Row, campaign, characterize, read_scorecard
from fairdrop.characterize.harm import IDLE, STARVES
from fairdrop.characterize.layout import among_best, cell_text, scheduler_board, score_boards, trial_boards, trial_of
from fairdrop.characterize.page import render_page
from fairdrop.characterize.rows import csv_text, read_csv
from fairdrop.characterize.sensitivity import KNOBS, influences
from fairdrop.characterize.sensitivity import axes as knob_axes
from fairdrop.characterize.trials import SENSITIVITY, UNANSWERED, scenario_of, trials
from fairdrop.estimate import Estimate, estimate
from fairdrop.progress import Progress
from fairdrop.study.axes import StudyError
from fairdrop.study.observed import listed_points, observe
from fairdrop.study.store import Store
from processes import Work

FAST = ["4.4", "5.3", "6"]


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    """Three sections under two disciplines whose results are known."""
    folder = tmp_path_factory.mktemp("characterize") / "out"
    return characterize(["droptail", "fq_codel"], out=folder, sections=FAST, seeds=2)


# Answers that are known.


def test_udp_starves_tcp_under_droptail_and_not_under_fq_codel(card):
    assert card.find("5.3-unresponsive", "protection", "droptail").mean < 0.02
    assert card.find("5.3-unresponsive", "udp_share", "droptail").mean > 98
    assert card.find("5.3-unresponsive", "protection", "fq_codel").mean > 0.9


def test_fq_codel_is_fair_to_round_trips_and_packet_sizes(card):
    near = "groups.two.access_delay=5ms"
    assert 1 <= card.find("6-round-trips", "two_over_one", "fq_codel", near).mean < 1.4
    assert card.find("4.4-packet-sizes", "small_over_large", "fq_codel").mean == pytest.approx(1, abs=0.01)


def test_who_does_harm_wins_nothing(tmp_path):
    """Cebinae passes nothing in this trial, so that its queue is short and drops little; a flow valve shuts UDP out."""
    found = characterize(
        ["droptail", "fq_codel", "cebinae", "flow_valve"], out=tmp_path / "o", sections=["5.3"], seeds=2
    )
    assert found.find("5.3-unresponsive", "udp_share", "cebinae").mean == 0
    assert found.find("5.3-unresponsive", "udp_share", "flow_valve").mean == 0
    harm = {row.discipline: row.mean for row in found.rows if row.measure == "harm"}
    assert harm == {"droptail": STARVES, "flow_valve": STARVES, "cebinae": IDLE}
    (board,) = trial_boards(found.rows)
    measures = {column.measure: board.best(column) for column in board.columns}
    assert measures["udp_share"] == measures["wait_p99"] == {"fq_codel"}
    read = read_csv(found.folder / "scorecard.csv")
    assert [among.best(among.columns[0]) for among in score_boards(read)] == [{"fq_codel"}]
    assert "shuts out nobody" in render_page(found.rows, found.about)


def test_choke_compares_packets_and_so_holds_senders_of_small_ones(tmp_path):
    found = characterize(["red", "choke"], out=tmp_path / "o", sections=["4.4"], seeds=2)
    ratios = {name: found.find("4.4-packet-sizes", "small_over_large", name).mean for name in ("red", "choke")}
    assert ratios["choke"] < 0.95 < ratios["red"]


# Numbers are those of runs.


def test_a_number_is_what_its_command_gives(card, tmp_path, monkeypatch):
    row = card.find("6-round-trips", "two_over_one", "fq_codel", "groups.two.access_delay=75ms")
    monkeypatch.chdir(card.folder)
    words = shlex.split(row.command)
    assert words[:2] == ["fairdrop", "run"]
    result = fairdrop.load(words[2], [words[4], words[6]]).run(seeds=int(words[8]))
    goodput = {(one["seed"], one["group"]): one["goodput_bps"] for one in result.groups.rows()}
    ratios = [goodput[seed, "two"] / goodput[seed, "one"] for seed in (1, 2)]
    assert row.estimate == estimate(ratios)


def test_intervals_by_hand(card):
    """Of two seeds: the mean, and Student's t of one degree (12.706) times half their distance."""
    row = card.find("5.3-unresponsive", "udp_share", "fq_codel")
    scenario = scenario_of(trial_of("5.3-unresponsive"), full=False).with_settings("queue.discipline=fq_codel")
    shares = [100 * one["share"] for one in scenario.run(seeds=2).groups.rows() if one["group"] == "udp"]
    assert row.mean == pytest.approx(sum(shares) / 2)
    assert row.half == pytest.approx(12.7062 * abs(shares[0] - shares[1]) / 2, rel=1e-4)


def test_scenarios_are_those_that_run_takes(card):
    for path in sorted((card.folder / "scenarios").iterdir()):
        assert fairdrop.load(path).to_dict() == scenario_of(trial_of(path.stem), full=False).to_dict()
    assert len(list((card.folder / "scenarios").iterdir())) == 3


@pytest.mark.parametrize("name", [*trials(), SENSITIVITY.name])
def test_every_scenario_is_valid_and_its_measures_are_numbers(name, tmp_path):
    trial = trial_of(name)
    short = [] if "capacity" in name or "varying" in name else ["duration=6s", "warm_up=2s"]
    for full in (False, True):
        scenario = scenario_of(trial, full)
        for path, values in ((trial.full if full else None) or trial.quick).items():
            for value in values:
                scenario.with_settings(f"{path}={value if isinstance(value, str) else json.dumps(value)}")
    assert trial.section and trial.title
    # The buffer is one bandwidth-delay product of 100 ms for all: RFC 7928, 3.2.
    assert scenario_of(trial, False).to_dict()["queue"]["limit"] == 300 == 24_000_000 * 0.1 / 8 / 1000
    if short:
        with Store(tmp_path / "o") as store:
            base = scenario_of(trial, False).with_settings(*short)
            found = observe(listed_points("t", base, [["queue.discipline=red"]], 1), store, Progress(), 1)
        for measure in trial.measures:
            value = measure.value(found.points[0][0])
            assert value is None or math.isfinite(value), measure.name


def test_congestion_levels_are_those_of_the_rfc():
    """N = S sqrt(l_r / 0.76), S the bandwidth-delay product and the buffer in packets."""
    wanted = [round(600 * math.sqrt(loss / 0.76)) for loss in (0.001, 0.005, 0.01)]
    assert wanted == [22, 49, 69]
    # The RFC gives rounded factors: 0.036 S, 0.081 S and 0.114 S.
    rounded = [round(600 * part) for part in (0.036, 0.081, 0.114)]
    assert list(trials()["8.2-level"].quick["groups.tcp.count"]) == rounded


# Sensitivity.


def test_total_indices_of_a_function_by_hand():
    """Of y = 3 a + b with independent uniform a and b the total indices are 9/10 and 1/10; c has none."""
    from scipy.stats import qmc

    n = 512
    both = qmc.Sobol(6, seed=1).random(n)
    a, b = both[:, :3], both[:, 3:]
    rows = [a, b]
    for place in range(3):
        mixed = a.copy()
        mixed[:, place] = b[:, place]
        rows.append(mixed)
    values = [3 * row[0] + row[1] for part in rows for row in part]
    found = influences(["a", "b", "c"], n, values)
    assert [one.parameter for one in found] == ["a", "b", "c"]
    for one, total in zip(found, (0.9, 0.1, 0.0), strict=True):
        assert one.total == pytest.approx(total, abs=0.02)
        assert one.low <= one.total <= one.high
    assert found == influences(["a", "b", "c"], n, values)


def test_no_index_where_nothing_varies_or_something_is_missing():
    assert influences(["a", "b"], 2, [1.0] * 8) == []
    assert influences(["a", "b"], 2, [1.0, 2.0, None, 3.0, 4.0, 5.0, 6.0, 7.0]) == []
    (alone,) = influences(["a"], 2, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (alone.parameter, alone.total) == ("a", 1.0)


def test_every_discipline_has_parameters_that_are_its_own():
    known = {entry["name"]: entry for entry in fairdrop.catalogue()["disciplines"]}
    for name, knobs in KNOBS.items():
        tables = {knob.partition(".")[0] for knob in knobs}
        assert tables <= {name, "red", "codel", "cobalt", "collar", "pie"}, name
        assert len(set(knobs)) == len(knobs)
        assert name in known


def test_disciplines_without_knobs_have_no_number_to_set():
    for entry in fairdrop.catalogue()["disciplines"]:
        own = [one for one in entry["parameters"] if one["name"] != "limit"]
        numbers = [one["name"] for one in own if one["unit"] or isinstance(one["default"], float)]
        assert entry["name"] in KNOBS or not numbers, entry["name"]


def test_sensitivity_of_one_discipline(tmp_path):
    found = characterize(["codel"], out=tmp_path / "o", sections=["8.3"], seeds=1)
    spread = found.find("8.3-parameters", "wait_p99_spread", "codel")
    assert spread.mean > 1 and spread.half is None
    indices = [row for row in found.rows if row.measure == "wait_p99_index"]
    assert {row.at for row in indices} == {"queue.codel.target", "queue.codel.interval"}
    study = tmp_path / "o" / "studies" / "8.3-parameters-codel.toml"
    assert tomllib.loads(study.read_text())["design"] == {"kind": "saltelli", "points": 16, "seed": 1}
    assert spread.command == "fairdrop sweep studies/8.3-parameters-codel.toml"
    done = fairdrop.sweep(study, out=tmp_path / "s")
    waits = done.table.column("queue_sojourn_p99_s")
    assert max(waits) / min(waits) == pytest.approx(spread.mean, rel=1e-12)


class Gate(Discipline):
    """Drops at random above a threshold."""

    threshold = param.packets(20, 1, 1000)
    p = param.number(0.9, 0, 1)
    most = param.integer(1, 1, 1)
    gentle = param.switch(True)
    nothing = param.number(0)

    def enqueue(self, packet):
        self.drop(packet, "overflow")


def test_of_a_discipline_of_ones_own_every_number_is_varied():
    """As far as its range goes."""
    under = fairdrop.Scenario('[[groups]]\nname = "g"\ntransport = "reno"\n', parts=[Gate])
    found = knob_axes("gate", under.with_settings("queue.discipline=gate"))
    assert found == {
        "gate_threshold": {"field": "queue.gate.threshold", "from": 14, "to": 28, "log": True},
        "gate_p": {"field": "queue.gate.p", "from": 0.9 / 2**0.5, "to": 0.9, "log": True},
    }
    assert list(knob_axes("droptail", under)) == ["limit"]


# What is best.


@pytest.mark.parametrize(
    ("values", "better", "best"),
    [
        ({"a": (1, 0.1), "b": (2, 0.1)}, "less", {"a"}),
        ({"a": (1, 0.6), "b": (2, 0.6)}, "less", {"a", "b"}),
        ({"a": (1, 0.1), "b": (2, 0.1)}, "more", {"b"}),
        ({"a": (0.5, 0.01), "b": (1.9, 0.01), "c": (4, None)}, "one", {"b"}),
        ({"a": (0, 0), "b": (9, None)}, "one", {"b"}),
        ({"a": (1.2, 0.3), "b": (1.01, 0.005)}, "one", {"a", "b"}),
        ({"a": (1, 0.1), "b": (2, 0.1)}, "", set()),
        ({}, "less", set()),
    ],
)
def test_best_are_those_that_none_beats_beyond_both_intervals(values, better, best):
    assert among_best({name: Estimate(mean, half, 5) for name, (mean, half) in values.items()}, better) == best


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [(93.14, 0.42, "93.1 ±0.4"), (0.5, None, "0.5"), (0.41502, 0.00001, "0.415"), (0.0, 0.0, "0"), (2.0, 8.1, "2 ±8")],
)
def test_cells(mean, half, text):
    assert cell_text(Row("5.3", "t", "", "red", "m", "", "", True, mean, half, 5)) == text


def test_section_4_6_is_each_discipline_alone_and_under_a_scheduler(card):
    board = scheduler_board(card.rows)
    assert board is None  # FQ-CoDel without CoDel, DropTail without FQ
    some = [
        replace(row, discipline={"droptail": "codel"}.get(row.discipline, row.discipline)) for row in card.rows
    ]  # fmt: skip
    board = scheduler_board(some)
    assert list(board.disciplines) == ["codel", "fq_codel"]
    assert [(column.trial, column.measure) for column in board.columns] == [
        ("5.3-unresponsive", "protection"), ("6-round-trips", "two_over_one"),
    ]  # fmt: skip


# Files.


def test_the_page_states_the_number_of_runs(root):
    page = (root / "docs" / "how-to" / "characterize.md").read_text(encoding="utf-8")
    names = campaign._disciplines(None)
    assert f"| profile | seeds | runs of {len(names)} disciplines and forms |" in page
    for profile in campaign.PROFILES.values():
        studies = [part.study for trial in campaign._trials(None) for part in campaign._parts(trial, names, profile, 1)]
        runs = sum(len(study.points) * study.seeds for study in studies)
        assert f"| `{profile.name}` | {profile.seeds} | {runs:,}" in page


def test_files_hold_the_same_rows(card, tmp_path):
    assert read_scorecard(card.folder).rows == card.rows
    frame = pandas.read_parquet(card.folder / "scorecard.parquet")
    assert list(frame["mean"]) == [row.mean for row in card.rows]
    assert card.table.column("discipline") == [row.discipline for row in card.rows]
    read = read_csv(card.folder / "scorecard.csv")
    for one, other in zip(read, card.rows, strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-4, abs=1e-300)
        assert (one.trial, one.at, one.discipline, one.score) == (other.trial, other.at, other.discipline, other.score)
    assert csv_text(read) == (card.folder / "scorecard.csv").read_text()
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="its columns are others"):
        read_csv(tmp_path / "other.csv")


def test_a_scorecard_of_something_else_is_refused(tmp_path):
    (tmp_path / "characterization.json").write_text('{"schema": "else"}')
    with pytest.raises(ValueError, match="schema = 'else' is not valid"):
        read_scorecard(tmp_path)
    (tmp_path / "characterization.json").write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        read_scorecard(tmp_path)


def test_nothing_is_done_twice(card):
    again = characterize(["fq_codel", "droptail"], out=card.folder, sections=FAST, seeds=2)
    assert again.about["computed"] == 0
    assert sorted(again.rows, key=repr) == sorted(card.rows, key=repr)
    more = characterize(["fq_codel"], out=card.folder, sections=["5.3"], seeds=3)
    assert more.about["computed"] == 1


def test_ctrl_c_keeps_what_was_finished(tmp_path):
    command = [sys.executable, "-m", "fairdrop", "characterize", "--out", "o", "--seeds", "50", "--threads", "1"]
    work = Work(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (tmp_path / "o" / "scenarios" / "8.3-parameters.toml").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    while os.path.getsize(tmp_path / "o" / "store.sqlite-wal") < 50_000 and time.monotonic() < deadline:
        time.sleep(0.05)
    work.send_signal(signal.SIGINT)
    _, err = work.communicate(timeout=120)
    assert work.returncode == 130, err
    assert "incomplete; what was finished is kept" in err
    assert "Traceback" not in err
    found = read_scorecard(tmp_path / "o")
    assert not found.complete and found.rows
    assert found.about["computed"] > 0


def test_the_report_opens_and_shows_it_all(card, tmp_path):
    card.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "TCP beside UDP / its fair share" in page and "FQ-CoDel" in page
    for one in UNANSWERED:
        assert one.section in page
    assert 'id="s-5.3-unresponsive"' in page and "rate = " in page
    assert "http" not in page.replace("http://www.w3.org", "")


# What is refused.


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"disciplines": ["redd"]}, "disciplines: 'redd' is not valid .did you mean red.*; valid: blue, "),
        ({"disciplines": ["red", "red"]}, "'red' is there twice"),
        ({"disciplines": []}, "there is none"),
        ({"sections": ["77"]}, "sections: '77' is not valid; valid: 2.4, "),
        ({"sections": ["5.33"]}, "sections: '5.33' is not valid"),
        ({"profile": "slow"}, "profile = 'slow' is not valid; valid: quick, full"),
        ({"seeds": 0}, "seeds = 0 is not valid; valid: a whole number from 1 to 1000"),
        ({"seeds": True}, "seeds = True is not valid"),
    ],
)
def test_bad_input_is_refused_before_anything_is_made(tmp_path, fields, message):
    with pytest.raises(StudyError, match=message):
        characterize(fields.pop("disciplines", ["red"]), out=tmp_path / "o", **fields)
    assert not (tmp_path / "o").exists()


def test_one_text_for_a_list_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is one text; valid: a list"):
        characterize("red", out=tmp_path / "o")


def test_sections_are_those_below_a_number(tmp_path):
    names = {row.trial for row in characterize(["red"], out=tmp_path / "o", sections=["5.2"], seeds=1).rows}
    assert names == {"5.2-aggressive", "5.2-beside"}


def test_the_command(fairdrop, tmp_path):
    done = fairdrop("characterize", "red", "--sections", "5.4", "--seeds", "1", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    assert "LEDBAT's share beside NewReno, %" in done.stdout
    assert "1 run, 1 of them simulated now; scorecard: characterization/scorecard.csv" in done.stdout
    assert (tmp_path / "r.html").exists()
    again = fairdrop("characterize", "red", "--sections", "5.4", "--seeds", "1", "--json")
    found = json.loads(again.stdout)
    assert found["computed"] == 0 and found["rows"][0]["trial"] == "5.4-background"
    bursts = fairdrop("characterize", "droptail", "--sections", "7.2", "--seeds", "1")
    measures = [line.removeprefix("7.2").strip().split("  ")[0] for line in bursts.stdout.splitlines()[1:6]]
    assert len(set(measures)) == 5 and "dropped of bursts of 40, % (Bursts, case III: web, video and UDP)" in measures
    by_commas = fairdrop("characterize", "red,codel", "--sections", "5.4", "--seeds", "1")
    assert "2 runs, 1 of them simulated now" in by_commas.stdout
    wrong = fairdrop("characterize", "redd")
    assert wrong.returncode == 2 and "Traceback" not in wrong.stderr
    nowhere = fairdrop("characterize", "red", "--report", "none/r.html", "--out", "other")
    assert nowhere.returncode == 2 and not (tmp_path / "other").exists()


OWN = """
from fairdrop import Discipline


class Mine(Discipline):
    \"\"\"A FIFO of a tenth of the buffer.\"\"\"

    def enqueue(self, packet):
        if len(self.queue) >= self.limit // 10:
            self.drop(packet, "overflow")
        else:
            self.queue.push(packet)
"""


def test_a_discipline_of_ones_own_is_characterized(fairdrop, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    words = ("characterize", "droptail", "mine", "--parts", "mine.py", "--sections", "5.1.1", "--seeds", "1")
    done = fairdrop(*words)
    assert done.returncode == 0, done.stderr
    found = read_scorecard(tmp_path / "characterization")
    waits = {name: found.find("5.1.1-same-window", "wait_p99", name).mean for name in ("droptail", "mine")}
    # 30 packets of 1000 bytes at 24 Mb/s are 10 ms, where 300 are 100 ms.
    assert waits["mine"] == pytest.approx(10, rel=0.05) and waits["droptail"] == pytest.approx(100, rel=0.05)
    unknown = fairdrop("characterize", "mine", "--sections", "5.1.1")
    assert unknown.returncode == 2 and "disciplines: 'mine' is not valid" in unknown.stderr


def test_tables_have_every_number(card):
    shown = {row for board in trial_boards(card.rows) for row in board.cells.values()}
    assert shown == set(card.rows)
    assert {row for board in score_boards(card.rows) for row in board.cells.values()} == {
        row for row in card.rows if row.score
    }
    assert numpy.isfinite([row.mean for row in card.rows]).all()


def test_the_page_is_that_of_its_numbers():
    """docs/reference/characterization.md is made from the stored numbers."""
    assert made.PAGE.read_text("utf-8") == made.page(made.numbers()), "make characterize"
    assert made.NUMBERS.stat().st_size < 40_000


def test_the_page_has_every_discipline_and_trial(root):
    rows = made.numbers()
    pages = {path.stem.replace("-", "_") for path in (root / "docs" / "reference" / "disciplines").glob("*.md")}
    found = {row.discipline for row in rows}
    assert found <= pages and len(found) >= 26
    # What came after the stored runs is named on the page, until `make characterize` adds it.
    page = (root / "docs" / "reference" / "characterization.md").read_text(encoding="utf-8")
    missing = page.partition("Not here, as they came after these runs: ")[2].partition("\n")[0]
    assert {name.strip("`.") for name in missing.split(", ") if name} == pages - found
    assert {row.trial for row in rows} == {*trials(), SENSITIVITY.name}
