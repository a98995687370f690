"""Live runs: ``fairdrop live`` and ``fairdrop compare --live``.

Most tests put a program in the place of ``fairdropd`` that simulates: what is shown around it does not need namespaces.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.stats import ttest_ind

from fairdrop.estimate import difference
from fairdrop.live import find_program
from fairdrop.result import read_document
from patience import wait_for
from processes import Work

ROOT = Path(__file__).resolve().parents[2]
Runner = Callable[..., "subprocess.CompletedProcess[str]"]
STAND_IN = """\
#!{python}
import json, os, sys, time
from pathlib import Path
import fairdrop
words = sys.argv[1:]
assert words[:3] == ["lab", "-", "--file"] and words[4] == "--set", words
text = sys.stdin.read()
calls = Path({calls!r})
with calls.open("a") as log:
    log.write(" ".join(words[6:]) + "\\n")
words.remove("--end-with-parent")
if "--congestion" in words:
    del words[6:8]
if os.environ.get("REFUSE"):
    print("error: groups.tcp.transport = \\"x\\" cannot be carried out live; valid: reno", file=sys.stderr)
    sys.exit(2)
if words[6] == "--check":
    sys.exit(0)
seed = words[7]
if os.environ.get("FAIL") == seed:
    print("error: the run failed: no reason", file=sys.stderr)
    sys.exit(1)
if os.environ.get("HANG") == seed:
    calls.with_name("pid").write_text(str(os.getpid()))
    time.sleep(3600)
run = fairdrop.Scenario(text, words[3], [words[5], "seed=" + seed]).run().document["runs"][0]
json.dump({{**run, "live": {{"kernel": "0.1", "lateness": {{"p99_s": 0.0002}}}}}}, sys.stdout)
"""
SHORT = ["--set", "duration=3s", "--set", "warm_up=1s"]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """How the stand-in was called, a line each."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    program, log = folder / "fairdropd", folder / "calls"
    program.write_text(STAND_IN.format(python=sys.executable, calls=str(log)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("FAIRDROPD", str(program))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    return log


@pytest.mark.usefixtures("calls")
def test_a_live_result_is_a_result(fairdrop: Runner, headline: Path, tmp_path: Path) -> None:
    done = fairdrop("live", headline, *SHORT, "--seeds", "2", "--out", "o", "--report", "r.html")
    assert (done.returncode, done.stderr) == (0, "report: r.html\n")
    document = read_document(tmp_path / "o")
    assert (document["kind"], [run["seed"] for run in document["runs"]]) == ("live", [1, 2])
    assert document["runs"][0]["live"]["kernel"] == "0.1"
    page = (tmp_path / "r.html").read_text().replace("\u00a0", " ")
    assert "Live: kernel TCP" in page and "Linux 0.1, unknown processor" in page and "at most 200 µs" in page
    shown = fairdrop("show", "o")
    assert shown.returncode == 0 and "bottleneck" in shown.stdout
    assert "choke       udp" in done.stdout


@pytest.mark.usefixtures("calls")
def test_side_by_side(fairdrop: Runner, headline: Path, tmp_path: Path) -> None:
    """The stand-in simulates, so that nothing differs."""
    words = ["compare", headline, *SHORT, "--live", "--disciplines", "red,choke", "--seeds", "2", "--out", "o"]
    done = fairdrop(*words)
    assert done.returncode == 0, done.stderr
    rows = [line.split("  ") for line in done.stdout.splitlines() if "share, %" in line or "median wait, ms" in line]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert [row[:2] for row in cells] == [
        [name, of] for name in ("red", "choke") for of in ("tcp", "udp", "bottleneck")
    ]
    assert all(row[3] == row[4] and row[6] == "+0.0 %" for row in cells), cells
    document = read_document(tmp_path / "o")
    assert (document["kind"], document["live"]["kind"]) == ("simulation", "live")
    assert fairdrop("report", "o").returncode == 0
    page = (tmp_path / "o" / "report.html").read_text()
    assert page.count("Simulated and live") == 1 and "udp: share, %" in page
    assert fairdrop("show", "o/live").returncode == 0
    printed = json.loads(fairdrop(*words[:-2], "--json", "--quiet").stdout)
    assert [run["discipline"] for run in printed["live"]["runs"]] == ["red", "red", "choke", "choke"]


def test_a_refusal_comes_before_any_run(
    fairdrop: Runner, headline: Path, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSE", "yes")
    for words in (["live"], ["compare", "--live"]):
        done = fairdrop(*words, headline, "--out", "o")
        message = 'fairdrop: error: groups.tcp.transport = "x" cannot be carried out live; valid: reno\n'
        assert (done.returncode, done.stderr, done.stdout) == (2, message, "")
        assert not (tmp_path / "o" / "result.json").exists()
    assert calls.read_text().splitlines() == ["--end-with-parent --check"] * 2


def test_finished_runs_are_not_run_again(
    fairdrop: Runner, headline: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["live", headline, *SHORT, "--seeds", "3", "--out", "o", "--resume"]
    monkeypatch.setenv("FAIL", "2")
    failed = fairdrop(*words)
    assert (failed.returncode, failed.stderr) == (2, "fairdrop: error: the run failed: no reason\n")
    monkeypatch.delenv("FAIL")
    calls.unlink()
    assert fairdrop(*words).returncode == 0
    again = calls.read_text().splitlines()
    assert [call.split()[-2:] for call in again] == [["--end-with-parent", "--check"], ["--seed", "2"]]
    other = fairdrop(*words, "--congestion", "tcp=bbr")
    assert other.returncode == 2 and "congestion is null there" in other.stderr, other.stderr
    simulated = fairdrop("run", headline, *SHORT, "--out", "o", "--resume")
    assert simulated.returncode == 2 and 'kind is "live" there and "simulation" here' in simulated.stderr


def test_an_interrupt_ends_the_live_run(
    headline: Path, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANG", "2")
    command = [sys.executable, "-m", "fairdrop", "live", str(headline), *SHORT, "--seeds", "3", "--out", "o"]
    work = Work(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = calls.with_name("pid")
    wait_for(lambda: pid.exists() and bool(pid.read_text()), "the second run")
    work.send_signal(signal.SIGINT)
    _, errors = work.communicate(timeout=300)
    assert work.returncode == 130, errors
    assert "interrupted; what was finished is kept" in errors
    wait_for(lambda: not Path("/proc", pid.read_text()).exists(), "the end of the live run")
    document = read_document(tmp_path / "o")
    assert [run["seed"] for run in document["runs"]] == [1] and not document["complete"]


def test_without_the_program(fairdrop: Runner, headline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRDROPD", "no-such-program")
    done = fairdrop("live", headline)
    assert done.returncode == 2
    assert done.stderr.startswith("fairdrop: error: live runs: FAIRDROPD='no-such-program': not a program; valid: ")


@pytest.mark.usefixtures("calls")
def test_what_does_not_go_together(fairdrop: Runner, headline: Path) -> None:
    for option in (["--with-model"], ["--trace", "t"]):
        done = fairdrop("compare", headline, "--live", *option)
        assert done.returncode == 2 and f"{option[0]} is given together with --live" in done.stderr


def test_the_interval_of_a_difference_is_that_of_welch() -> None:
    before, after = [1.0, 2.0, 4.0, 5.5], [3.0, 3.5, 7.0]
    found = difference(before, after)
    interval = ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    assert found is not None and found.half is not None
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert difference([1.0], [3.0]) == difference([1.0, 1.0], [3.0]) and difference([], [1.0]) is None


def test_kernel_tcp(fairdrop: Runner, headline: Path) -> None:
    """Real hosts, where ``fairdropd`` was built and the machine allows namespaces."""
    try:
        find_program()
    except ValueError as missing:
        pytest.skip(str(missing))
    done = fairdrop("compare", headline, "--live", *SHORT, "--json")
    if done.returncode == 2 and any(what in done.stderr for what in ("namespace:", "/dev/net/tun:", "ip -batch")):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["live"]["runs"]
    groups = {group["name"]: group for group in run["groups"]}
    assert groups["udp"]["arrivals"] > 100 and groups["tcp"]["goodput_bps"] > 0
    assert run["live"]["congestion_control"] == {"tcp": "reno"}
