"""Places of results: looked at before the work, held by one writer, who is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fairdrop as library
from fairdrop.lock import FILE, held
from processes import Work
from test_replay import packet, pcap

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")
# Ends when its standard input does.
HOLDER = """
import sys
from fairdrop.lock import held
with held(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds a folder."""
    started = []

    def hold(folder: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, str(folder)]
        process = Work(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def study(tmp_path, headline):
    fields = f'base = "{headline}"\nsettings = ["duration=2s", "warm_up=1s"]\nseeds = 2\n'
    (tmp_path / "s.toml").write_text(f'{fields}[axes]\n"queue.limit" = ["400p"]\n')
    return "s.toml"


@pytest.fixture
def capture(tmp_path):
    (tmp_path / "c.pcap").write_bytes(pcap([packet(number * 1_000_000, 500, 1) for number in range(50)]))
    return "c.pcap"


def commands(headline, study, capture):
    """Every command with --out, as short as it gets."""
    return {
        "run": ["run", headline, *SHORT],
        "compare": ["compare", headline, "--disciplines", "red", *SHORT],
        "live": ["live", headline, *SHORT],
        "replay": ["replay", capture],
        "sweep": ["sweep", study],
        "characterize": ["characterize", "red", "--sections", "5.3", "--seeds", "1"],
        "advise": ["advise", "--rate", "10mbit", "--rtt", "20ms", "--flows", "2"],
        "reproduce": ["reproduce", "choke-fig2"],
    }


COMMANDS = ["run", "compare", "live", "replay", "sweep", "characterize", "advise", "reproduce"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_in_use_is_refused_at_once_and_its_holder_named(
    invoke, holder, tmp_path, headline, study, capture, name
):
    process = holder(tmp_path / "o")
    words = commands(headline, study, capture)[name]
    status, out, err = invoke(*words, "--out", "o")
    assert (status, out) == (2, "")
    assert f"o: is in use by process {process.pid} (" in err
    assert " since 20" in err
    assert "valid: another folder" in err
    assert os.listdir(tmp_path / "o") == [FILE], "nothing was written"


def test_an_event_trace_holds_its_folder_too(invoke, holder, tmp_path, headline):
    holder(tmp_path / "t")
    assert invoke("run", headline, "--trace", "t", *SHORT)[0] == 2


def test_the_command_of_the_holder_is_shown(invoke, tmp_path, study):
    script = f"import sys; sys.argv = ['fairdrop', 'sweep', 'a b.toml']\n{HOLDER.replace('sys.argv[1]', repr('o'))}"
    with Work(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        err = invoke("sweep", study, "--out", "o")[2]
        process.communicate()
    assert f"process {process.pid} (fairdrop sweep 'a b.toml') since" in err


def test_a_killed_holder_holds_nobody_up(invoke, holder, tmp_path, headline):
    process = holder(tmp_path / "o")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / "o" / FILE).exists()
    status, _, err = invoke("run", headline, "--out", "o", "--quiet", *SHORT)
    assert status == 0, err
    assert not (tmp_path / "o" / FILE).exists()


def test_a_lock_without_a_name_is_no_failure(invoke, holder, tmp_path, headline):
    """Its holder has not signed yet, or its disk is full."""
    holder(tmp_path / "o")
    for text in ("", "no JSON", "[]", json.dumps({"pid": 1})):
        (tmp_path / "o" / FILE).write_text(text)
        assert "o: is in use by another process; valid" in invoke("run", headline, "--out", "o", *SHORT)[2]


@pytest.mark.parametrize("made", ["pipe", "link", "folder"])
def test_a_lock_that_is_no_file_is_refused(invoke, tmp_path, headline, made):
    (tmp_path / "o").mkdir()
    lock = tmp_path / "o" / FILE
    {"pipe": lambda: os.mkfifo(lock), "link": lambda: lock.symlink_to("/etc/passwd"), "folder": lock.mkdir}[made]()
    status, _, err = invoke("run", headline, "--out", "o", *SHORT)
    assert status == 2
    assert FILE in err


def test_a_holder_may_call_others_who_need_the_folder_but_no_other_thread(tmp_path):
    refused = []

    def other() -> None:
        try:
            with held(tmp_path / "o"):
                pass
        except BlockingIOError as error:
            refused.append(str(error))

    with held(tmp_path / "o"):
        with held(tmp_path / "o"):
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert str(os.getpid()) in refused[0]
    other()
    assert len(refused) == 1


def test_a_folder_that_stays_empty_goes_again(tmp_path):
    with held(tmp_path / "a" / "b"):
        assert os.listdir(tmp_path / "a" / "b") == [FILE]
    assert not (tmp_path / "a").exists()
    (tmp_path / "mine").mkdir()
    with held(tmp_path / "mine"):
        pass
    assert os.listdir(tmp_path / "mine") == []


def test_the_library_takes_the_lock_too(tmp_path, headline, holder):
    scenario = library.load(headline, ["duration=2s", "warm_up=1s"])
    result = scenario.run()
    process = holder(tmp_path / "o")
    for work in (
        lambda: result.write(tmp_path / "o"),
        lambda: scenario.run(resume=tmp_path / "o"),
        lambda: library.sweep(scenario, axes={"queue.limit": ["400p"]}, seeds=1, out=tmp_path / "o"),
        lambda: library.reproduce.run("choke-fig2", directory=tmp_path / "o"),
    ):
        with pytest.raises(BlockingIOError, match=f"process {process.pid} "):
            work()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    invoke, monkeypatch, tmp_path, headline, study, capture, name
):
    (tmp_path / "file").write_text("in the way")
    words = commands(headline, study, capture)[name]
    for work in ("run", "compare", "live"):
        monkeypatch.setattr(f"fairdrop.scenario.Scenario.{work}", None)
    for place in ("file", "file/below"):
        status, out, err = invoke(*words, "--out", place)
        assert (status, out) == (2, "")
        assert place in err
    assert (tmp_path / "file").read_text() == "in the way"


REPORTING = ["run", "compare", "live", "replay", "sweep", "characterize"]


@pytest.mark.parametrize("name", REPORTING)
@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("no/such/r.html", "no/such/r.html: is in no folder that exists"),
        ("folder", "folder: is a directory; valid: a regular file"),
        ("notes.txt", "notes.txt: would be replaced, and is no report; valid: a report, or a name that is not taken"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    invoke, tmp_path, headline, study, capture, name, place, expected
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("my notes")
    before = sorted(os.listdir(tmp_path))
    status, out, err = invoke(*commands(headline, study, capture)[name], "--out", "o", "--report", place)
    assert (status, out) == (2, "")
    assert expected in err
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def test_a_report_may_lie_in_the_folder_that_is_made_with_it(invoke, tmp_path, headline, study):
    for words in (["run", headline, *SHORT], ["sweep", study]):
        place = f"of-{words[0]}"
        status, _, err = invoke(*words, "--out", place, "--report", f"{place}/report.html", "--quiet")
        assert status == 0, err
        assert (tmp_path / place / "report.html").read_text().startswith("<!")


@pytest.mark.parametrize(
    ("files", "words", "expected"),
    [
        ({"o/result.json": "{}"}, ["run", "HEADLINE", "--out", "o"], "o/result.json: would be replaced"),
        ({"scenario.toml": "mine"}, ["advise", "--rate", "1mbit", "--rtt", "9ms", "--flows", "1", "--out", "."],
         "scenario.toml: would be replaced, and there is no advice beside it"),
        ({"o/study.json": "mine"}, ["sweep", "s.toml", "--out", "o"], "o/study.json: would be replaced"),
        ({"o/scorecard.csv": "mine"}, ["characterize", "red", "--out", "o"], "o/scorecard.csv: would be replaced"),
        ({"o/index.html": "mine"}, ["reproduce", "choke-fig2", "--out", "o"], "o/index.html: would be replaced"),
        ({"t.json": "mine"}, ["run", "HEADLINE", "--timing", "t.json"], "t.json: would be replaced"),
        ({}, ["run", "HEADLINE", "--timing", "x", "--report", "./x"], "is named by --report and by --timing"),
        ({}, ["run", "HEADLINE", "--out", "o", "--timing", "o/result.json"], "is a name of --out o"),
        ({"c.pcap": "a capture"}, ["replay", "c.pcap", "--report", "c.pcap"], "c.pcap: would be replaced"),
    ],
)  # fmt: skip
def test_what_somebody_else_wrote_is_not_replaced(invoke, tmp_path, headline, study, files, words, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    status, out, err = invoke(*(headline if word == "HEADLINE" else word for word in words))
    assert (status, out) == (2, "")
    assert expected in err
    assert {name: (tmp_path / name).read_text() for name in files} == files


def test_results_are_written_over_results(invoke, tmp_path, headline, study):
    for words in (["run", headline, "--report", "r.html", "--timing", "t.json", *SHORT], ["sweep", study]):
        for _ in range(2):
            status, _, err = invoke(*words, "--out", f"of-{words[0]}", "--quiet")
            assert status == 0, err
