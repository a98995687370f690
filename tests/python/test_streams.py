"""Standard streams that are closed, full or broken: the work is done, and the exit status reports lost output."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")
CLOSED = [closed for count in range(4) for closed in itertools.combinations((0, 1, 2), count)]


def shell(words: Sequence[str | Path], redirect: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command with redirections as a shell writes them."""
    script = f'exec "$@" {redirect}'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "fairdrop", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def closing(descriptors: Sequence[int]) -> str:
    return " ".join(f"{descriptor}{'<' if descriptor == 0 else '>'}&-" for descriptor in descriptors)


@pytest.mark.parametrize("closed", CLOSED, ids=lambda closed: "-".join(map(str, closed)) or "none")
def test_work_is_done_whichever_streams_are_closed(headline, tmp_path, closed):
    done = shell(["run", headline, "--out", "o", *SHORT], closing(closed), tmp_path)
    assert done.returncode == (1 if 1 in closed else 0), done.stderr
    assert "Traceback" not in done.stderr
    assert ("standard output: it is closed" in done.stderr) == (1 in closed and 2 not in closed)
    assert json.loads((tmp_path / "o" / "result.json").read_text())["complete"]
    assert len(list((tmp_path / "o").iterdir())) == 20


@pytest.mark.parametrize("closed", CLOSED, ids=lambda closed: "-".join(map(str, closed)) or "none")
def test_nothing_is_lost_where_nothing_is_printed(headline, tmp_path, closed):
    done = shell(["run", headline, "--quiet", "--report", "r.html", *SHORT], closing(closed), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "r.html").read_text().startswith("<!")


@pytest.mark.parametrize("errors", ["", "2>/dev/full", "2>&-"])
def test_a_full_stdout_stops_no_work(headline, tmp_path, errors):
    words = ["run", headline, "--json", "--out", "o", "--report", "r.html", "--timing", "t.json", *SHORT]
    done = shell(words, f">/dev/full {errors}", tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert ("standard output: No space left on device" in done.stderr) == (not errors)
    assert {path.name for path in tmp_path.iterdir()} == {"o", "r.html", "t.json"}


def test_a_full_stderr_loses_no_output(headline, tmp_path):
    done = shell(["run", headline, "--json", "--report", "r.html", *SHORT], "2>/dev/full", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["complete"]
    assert (tmp_path / "r.html").exists()


def test_a_reader_that_goes_away_stops_no_work(headline, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "fairdrop", "run", str(headline), "--json", "--report", "r.html", *SHORT]
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 1
    assert "error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "r.html").exists()


EVERY = [
    ["--help"],
    ["--version"],
    ["list"],
    ["list", "--json"],
    ["schema"],
    ["model", "front", "--mu", "1", "--rates", "0.5,1"],
    ["model", "HEADLINE"],
    ["show", "RESULT"],
    ["report", "RESULT", "--out", "again.html"],
    ["compare", "HEADLINE", "--disciplines", "red,choke", *SHORT],
    ["conformance", "list", "--discipline", "droptail"],
    ["conformance", "run", "--discipline", "droptail"],
    ["reproduce", "--list"],
]


@pytest.fixture(scope="module")
def result(headline, tmp_path_factory):
    folder = tmp_path_factory.mktemp("result")
    shell(["run", headline, "--out", "o", "--quiet", *SHORT], "", folder)
    return folder / "o"


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_says_that_its_output_is_lost(headline, root, tmp_path, result, words):
    places = {"HEADLINE": headline, "RESULT": result}
    words = [places.get(word, word) for word in words]
    if words[0] == "conformance":
        words += ["--vectors", root / "conformance" / "vectors"]
    assert shell(words, "2>&-", tmp_path).returncode == 0
    for redirect in (">&-", ">/dev/full", "<&- >&- 2>&-"):
        done = shell(words, redirect, tmp_path)
        assert done.returncode == 1, redirect
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


def test_an_error_is_an_error_without_streams(tmp_path):
    assert shell(["run", "missing.toml"], "<&- >&- 2>&-", tmp_path).returncode == 2
    assert shell(["nonsense"], "<&- >&- 2>&-", tmp_path).returncode == 2


def test_letters_that_the_terminal_lacks_stop_nothing(tmp_path):
    (tmp_path / "s.toml").write_text('[[groups]]\nname = "é→"\ntransport = "cbr"\nrate = "1mbit"\n', encoding="utf-8")
    command = [sys.executable, "-m", "fairdrop", "run", "s.toml", *SHORT]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "\\xe9\\u2192" in done.stdout
