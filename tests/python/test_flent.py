"""``fairdrop show --export flent``: files that Flent opens. Without Flent, what needs it is skipped."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import fairdrop
from fairdrop.result import read_result

SCENARIO = """\
name = "two groups"
duration = "6s"
warm_up = "2s"
sample = "{sample}"
windows = ["tcp"]
[queue]
discipline = "choke"
[[groups]]
name = "tcp"
transport = "reno"
count = 3
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
"""
needs_flent = pytest.mark.skipif(find_spec("flent") is None, reason="flent is not installed (pip install flent)")


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], tuple[fairdrop.Result, list[Path]]]:
    def make(sample: str) -> tuple[fairdrop.Result, list[Path]]:
        text = SCENARIO.format(sample=sample)
        result = fairdrop.Scenario(text).compare(["choke", "fq_codel"], seeds=2)
        return result, result.flent(tmp_path / "exported")

    return make


def content(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def test_a_file_for_each_run(made: Any) -> None:
    result, paths = made("500ms")
    assert [path.name for path in paths] == [
        f"two_groups-{discipline}-simulation-{seed}.flent.gz" for discipline in ("choke", "fq_codel") for seed in (1, 2)
    ]
    for path, run in zip(paths, result.document["runs"], strict=True):
        file, queue = content(path), run["queues"][0]
        times, found = file["x_values"], file["results"]
        assert times == sorted(set(times)) and all(len(values) == len(times) for values in found.values())
        # Series on the grid are there, value by value; values of the window stand at its end.
        at = dict(zip(times, found["qdisc-stats::backlog_pkts"], strict=True))
        assert [at[time] for time in queue["series"]["t_s"]] == queue["series"]["packets"]
        cwnd = run["windows"]["cwnd_packets"]["tcp[1]"]
        assert len(cwnd) > 10 and [value for value in found["cwnd tcp[1]"] if value is not None] == cwnd
        assert times[-1] == run["measured_to_s"] == 6.0
        udp = next(group for group in run["groups"] if group["name"] == "udp")
        assert found["goodput udp"] == [None] * (len(times) - 1) + [udp["goodput_bps"] / 1e6]
        assert found["wait p50"][-1] == queue["sojourn_s"]["p50"] * 1e3
        assert file["metadata"]["SERIES_META"]["wait p50"] == {"UNITS": "ms"}
        assert file["metadata"]["FAIRDROP"]["seed"] == run["seed"] and file["metadata"]["DATA_FILENAME"] == path.name


def test_without_samples_there_is_one_point(made: Any) -> None:
    result, paths = made("0s")
    file = content(paths[0])
    assert file["x_values"] == [6.0] and "qdisc-stats::backlog_pkts" not in file["results"]
    assert file["results"]["throughput udp"] == [result.document["runs"][0]["groups"][1]["throughput_bps"] / 1e6]


def test_the_same_run_makes_the_same_file(made: Any) -> None:
    first = [path.read_bytes() for path in made("500ms")[1]]
    assert [path.read_bytes() for path in made("500ms")[1]] == first


def test_the_command(fairdrop: Any, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO.format(sample="1s"))
    assert fairdrop("run", "s.toml", "--out", "o").returncode == 0
    # As compare --live leaves it: the live result in a folder of its own.
    document = read_result(tmp_path / "o").document
    (tmp_path / "o" / "live").mkdir()
    live = document | {"kind": "live"}
    live["runs"] = [run | {"valid": False, "problems": ["late"], "live": {"kernel": "0.1"}} for run in document["runs"]]
    (tmp_path / "o" / "live" / "result.json").write_text(json.dumps(live))
    done = fairdrop("show", "o", "--export", "flent", "--out", "f")
    names = [f"two_groups-choke-{kind}-1.flent.gz" for kind in ("simulation", "live")]
    assert (done.returncode, done.stdout.split()) == (0, [str(Path("f") / name) for name in names])
    metadata = content(tmp_path / "f" / names[1])["metadata"]
    assert metadata["FAIRDROP"]["live"] == {"kernel": "0.1"} and metadata["NOTE"] == "late"
    wrong = fairdrop("show", "o", "--out", "f")
    assert wrong.returncode == 2 and "--out f without --export; valid: --export flent" in wrong.stderr
    wrong = fairdrop("show", "o", "--export", "csv")
    assert wrong.returncode == 2 and "flent" in wrong.stderr


@needs_flent
def test_flent_reads_what_it_would_write(made: Any) -> None:
    """Read and written again by Flent a file says the same."""
    from flent import resultset

    for sample in ("500ms", "0s"):
        for path in made(sample)[1]:
            read = resultset.load(str(path))
            assert json.loads(read.dumps()) == content(path)


@needs_flent
def test_flent_shows_it(made: Any, tmp_path: Path) -> None:
    path = made("500ms")[1][0]

    def flent(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "flent", "-i", str(path), *words], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    summary = flent("-f", "summary")
    assert "qdisc-stats::backlog_pkts :" in summary and "goodput udp" in summary and "Mbits/s" in summary
    assert "wait p50:\n  Data points: 1" in flent("-f", "stats")
    flent("-f", "csv", "-o", "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + len(content(path)["x_values"])
    flent("-f", "plot", "-p", "backlog", "-o", "backlog.png")
    assert (tmp_path / "backlog.png").read_bytes().startswith(b"\x89PNG")
