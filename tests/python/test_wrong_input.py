"""Twenty wrong inputs for each command: reported with the valid values, without a traceback or anything written."""

# ruff: noqa: E501 (tables of words)

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

import fairdrop as library
from test_replay import packet, pcap

SHORT = ["--set", "duration=2s", "--set", "warm_up=1s"]
# Places of positional arguments that are files; none is a file of the kind that is read.
NO_FILES = {
    "none.toml": "No such file", "": "", ".": "is a directory", "garbage": "garbage", "binary": "binary", "empty": "",
}  # fmt: skip
COUNTS = ["0", "-1", "1.5", "x", "", "1e3", "9999999999", "٣"]
SEEDS = ["-1", "1.5", "x", "", "99999999999999999999"]
SETTINGS = ["nonsense", "=1", "queue.red.max_p=2", "queue.redd.max_p=0.1", "duration=-1s", "groups.udq.rate=1mbit"]
REPORTS = ["no/such/r.html", ".", "garbage", ""]
OUTS = ["garbage", "garbage/below"]
PARTS = ["none.py", "garbage", "broken.py", "."]
DISCIPLINES = ["tea", ",", "", "red,,tea", "fq_codell"]


def run_like(*head: str) -> list[list[str]]:
    """Wrong values of what commands share that simulate a scenario."""
    return [
        *([*head, "--seeds", one] for one in COUNTS), *([*head, "--seed", one] for one in SEEDS),
        *([*head, "--set", one] for one in SETTINGS), *([*head, "--report", one] for one in REPORTS),
        *([*head, "--out", one] for one in OUTS), *([*head, "--parts", one] for one in PARTS),
        [*head, "--seed", "1", "--set", "seed=2"], [*head, "--resume"], [*head, "--frob"], [*head, "too", "many"],
        [*head, "--timing", "no/such.json"], [*head, "--quiet=yes"], [*head, "--json=1"], [*head, "-x"],
    ]  # fmt: skip


def campaign_like(*head: str) -> list[list[str]]:
    """Of those that keep runs in a store."""
    return [
        *([*head, "--seeds", one] for one in COUNTS[:6]), *([*head, "--seed", one] for one in SEEDS),
        *([*head, "--out", one] for one in OUTS), *([*head, "--threads", one] for one in ("0", "x", "-2")),
        [*head, "--frob"],
    ]  # fmt: skip


def files_like(*head: str) -> list[list[str]]:
    return [[*head, one] for one in NO_FILES]


WRONG = {
    "run": [["run"], *files_like("run"), *run_like("run", "HEADLINE"), *(["run", "HEADLINE", "--threads", one] for one in ("0", "x")),
            ["run", "HEADLINE", "--trace", "garbage"], ["run", "headlin"], ["run", "HEADLINE", "--trace", ""]],
    "compare": [["compare"], *files_like("compare"), *run_like("compare", "HEADLINE"),
                *(["compare", "HEADLINE", "--disciplines", one] for one in DISCIPLINES),
                ["compare", "HEADLINE", "--congestion", "tcp=bbr"], ["compare", "HEADLINE", "--disciplines", "red", "--with-model"],
                ["compare", "HEADLINE", "--live", "--with-model"], ["compare", "HEADLINE", "--live", "--trace", "t"]],
    "live": [["live"], *files_like("live"), *run_like("live", "HEADLINE"),
             *(["live", "HEADLINE", "--congestion", one] for one in ("", "tcp", "tpc=bbr", "udp=bbr", "tcp=")),
             *(["live", "HEADLINE", "--disciplines", one] for one in DISCIPLINES), ["live", "HEADLINE", "--threads", "2"]],
    "replay": [["replay"], *files_like("replay"), *(["replay", "c.pcap", "--seeds", one] for one in COUNTS),
               *(["replay", "c.pcap", "--seed", one] for one in SEEDS),
               *(["replay", "c.pcap", "--rate", one] for one in ("fast", "0", "-1mbit", "2mbps", "", "1e30")),
               *(["replay", "c.pcap", "--speed", one] for one in ("0", "-1", "nan", "inf", "x", "")),
               *(["replay", "c.pcap", "--max-gap", one] for one in ("0s", "-1s", "soon", "")),
               *(["replay", "c.pcap", "--key", one] for one in ("tuple", "", "SRC")),
               *(["replay", "c.pcap", "--disciplines", one] for one in DISCIPLINES),
               *(["replay", "c.pcap", "--set", one] for one in ("duration=1s", "queue.limit=-1p", "queue.limitt=1p", "x")),
               *(["replay", "c.pcap", "--scenario", one] for one in ("none.toml", "garbage", ".", "headlin")),
               *(["replay", "c.pcap", "--report", one] for one in REPORTS), *(["replay", "c.pcap", "--out", one] for one in OUTS)],
    "sweep": [["sweep"], *files_like("sweep"), *campaign_like("sweep", "s.toml"),
              *(["sweep", "s.toml", "--shard", one] for one in ("0/2", "3/2", "x", "1", "", "1/0", "1/2/3")),
              *(["sweep", "s.toml", "--report", one] for one in REPORTS), ["sweep", "s.toml", "--resume"],
              ["sweep", "s.toml", "--dask", "nowhere", "--threads", "2"], ["sweep", "none", "--frob"]],
    "merge": [["merge"], ["merge", "."], ["merge", ""], ["merge", "garbage"], ["merge", "nowhere"], ["merge", "folder"],
              ["merge", "m", "nowhere"], ["merge", "m", "garbage"], ["merge", "m", "folder"], ["merge", "m", "RESULT"],
              ["merge", "m", ""], ["merge", "m", "folder", "folder"], ["merge", "folder", "--frob"], ["merge", "--report"],
              *(["merge", "folder", "--report", one] for one in REPORTS), *(["merge", "folder", "--parts", one] for one in PARTS)],
    "diff": [["diff"], ["diff", "RESULT"], *(["diff", "RESULT", one] for one in NO_FILES), *(["diff", one, "RESULT"] for one in NO_FILES),
             ["diff", "RESULT", "RESULT", "RESULT"], ["diff", "RESULT", "RESULT", "--exact=1"], ["diff", "-a"],
             ["diff", "RESULT", "folder"], ["diff", "RESULT", "object.json"], ["diff", "RESULT", "list.json"], ["diff", "RESULT", "half.json"],
             ["diff", "--frob", "RESULT", "RESULT"]],
    "characterize": [*(["characterize", one] for one in DISCIPLINES), ["characterize", "red", "red,red,tea"],
                     *campaign_like("characterize", "red", "--sections", "5.3"),
                     *(["characterize", "red", "--profile", one] for one in ("slow", "", "QUICKK")),
                     *(["characterize", "red", "--sections", one] for one in ("77", "", "5.33", ",")),
                     *(["characterize", "red", "--report", one] for one in REPORTS), *(["characterize", "red", "--parts", one] for one in PARTS)],
    "advise": [["advise"], ["advise", "--rate", "1mbit"], *(["advise", "--rate", one, "--rtt", "20ms", "--flows", "2"] for one in
               ("fast", "0", "-1mbit", "2mbps", "", "1e30", "1bit")),
               *(["advise", "--rate", "10mbit", "--rtt", one, "--flows", "2"] for one in ("soon", "0", "", "-1ms", "100h", "80ms..20ms", "1ms..2ms..3ms")),
               *(["advise", "--rate", "10mbit", "--rtt", "20ms", "--flows", one] for one in ("0", "x", "", "1000000", "1.5")),
               *(["advise", "--rate", "10mbit", "--rtt", "20ms", "--flows", "2", "--target", one] for one in ("speed", "", "dealy")),
               *(["advise", "--rate", "10mbit", "--rtt", "20ms", "--flows", "2", "--disciplines", one] for one in DISCIPLINES),
               *(["advise", "--rate", "10mbit", "--rtt", "20ms", "--flows", "2", "--seed", one] for one in SEEDS)],
    "model": [*files_like("model"), ["model", "fornt"], ["model", "front"], ["model", "front", "--mu", "x", "--rates", "1"],
              ["model", "front", "--mu", "0", "--rates", "1"], ["model", "front", "--mu", "1", "--rates", ""], ["model", "front", "--mu", "1", "--rates", "1,x"],
              ["model", "front", "--mu", "nan", "--rates", "1"], ["model", "front", "--mu", "1", "--rates", "-1"],
              ["model", "back", "--rates", "1,1", "--memory", "2"], ["model", "back", "--rates", "1,1", "--memory", "x"],
              ["model", "equilibrium"], ["model", "equilibrium", "--capacity", "1"], ["model", "HEADLINE", "--set", "x"],
              ["model", "HEADLINE", "--set", "queue.discipline=red"], ["model", "HEADLINE", "--survival", "tea"],
              ["model", "HEADLINE", "--plot", "no/such.svg"], ["model", "HEADLINE", "--plot", "x.doc"], ["model", "sweep", "--over", "x"],
              ["model", "sweep", "--over", "tcp_flows=1:2:1"], ["model", "HEADLINE", "--frob"]],
    "reproduce": [["reproduce", "tea"], ["reproduce", ""], ["reproduce", "choke-fig99"], ["reproduce", "choke-fig2", "--profile", "slow"],
                  *campaign_like("reproduce", "choke-fig2"), *(["reproduce", "choke-fig2", "--set", one] for one in ("nonsense", "queue.redd.x=1")),
                  *(["reproduce", "--papers", one] for one in ("nowhere", "garbage", "folder", "")), ["reproduce", "--resume"],
                  ["reproduce", "--resume", "choke-fig2"], ["reproduce", "--resume", "--seed", "2"]],
    "report": [["report"], *files_like("report"), *(["report", "RESULT", "--out", one] for one in REPORTS), ["report", "RESULT", "RESULT"],
               ["report", "folder"], ["report", "object.json"], ["report", "list.json"], ["report", "half.json"], ["report", "number.json"],
               ["report", "schema.json"], ["report", "RESULT", "--frob"], ["report", "RESULT", "--out"], ["report", "HEADLINE"],
               ["report", "RESULT/nothing"]],
    "show": [["show"], *files_like("show"), ["show", "folder"], ["show", "object.json"], ["show", "list.json"], ["show", "half.json"],
             ["show", "number.json"], ["show", "schema.json"], ["show", "RESULT", "--out", "x"], ["show", "RESULT", "--export", "csv"],
             ["show", "RESULT", "--export", ""], ["show", "RESULT", "--export", "flent", "--out", "garbage"], ["show", "RESULT", "RESULT"],
             ["show", "RESULT", "--frob"], ["show", "HEADLINE"], ["show", "RESULT", "--export", "flent", "--out", "garbage/below"]],
    "list": [["list", "tea"], ["list", ""], ["list", "chok"], ["list", "red", "choke"], ["list", "newrno"], ["list", "--frob"], ["list", "--jso"],
             ["list", "-j"], ["list", "red,choke"], ["list", "headlin"], ["list", "x" * 5000], ["list", "\x1b[31m"], ["list", "../red"],
             ["list", "red", "--json=1"], ["list", "*"], ["list", "--parts"], *(["list", "--parts", one] for one in PARTS)],
    "schema": [["schema", "red"], ["schema", "--json"], ["schema", "--out", "x"], ["schema", "-x"], ["schema", "--", "x"], ["schema", ""], ["schema", "."],
               ["schema", "--help=1"], ["schema", "garbage"], ["schema", "--seed", "1"], ["schema", "a", "b"], ["schema", "--quiet"], ["schema", "--set", "x=1"],
               ["schema", "HEADLINE"], ["schema", "--version"], ["schema", "-"], ["schema", "--schema"], ["schema", "run"], ["schema", "0"], ["schemas"]],
    "new": [["new"], ["new", ""], ["new", "tea"], ["new", "scenari"], ["new", "discipline"], ["new", "congestion-control"], ["new", "discipline", ""],
            ["new", "discipline", "Mine"], ["new", "discipline", "red"], ["new", "discipline", "a/b"], ["new", "discipline", "x", "--language", "java"],
            ["new", "congestion-control", "x", "--language", "c"], ["new", "discipline", "folder"], ["new", "discipline", "x", "--out", "folder"],
            ["new", "discipline", "x", "--language", "rust", "--library", "nowhere"], ["new", "scenario", "../x"], ["new", "scenario", "x", "--out", "garbage"],
            ["new", "scenario", "x", "--out", "no/such/x.toml"], ["new", "paper", "My Paper"], ["new", "paper", "folder"], ["new", "paper", "x", "y"],
            ["new", "scenario", "x", "--library", "."], ["new", "discipline", "class"], ["new", "discipline", "9x"]],
    "conformance": [["conformance", "tea"], ["conformance", "chek"], ["conformance", "check"], ["conformance", "run", "--discipline", "tea"],
                    ["conformance", "run", "--discipline", ""], ["conformance", "run", "--case", "tea"], ["conformance", "run", "--vectors", "nowhere"],
                    ["conformance", "run", "--vectors", "garbage"], ["conformance", "run", "--vectors", "folder"], ["conformance", "list", "--discipline", "chok"],
                    ["conformance", "list", "x"], ["conformance", "list", "--frob"], ["conformance", "check", "--format", "xml", "--", "true"],
                    *(["conformance", "check", "--tolerance", one, "--", "true"] for one in ("-1", "x", "nan")),
                    *(["conformance", "check", "--timeout", one, "--", "true"] for one in ("0", "-1", "x")),
                    ["conformance", "check", "--discipline", "red", "--case", "idle", "--", "no-such-program"],
                    ["conformance", "check"], ["conformance", "check", "--discipline", "tea", "--", "false"],
                    ["conformance", "check", "--discipline", "red", "--case", "tea", "--", "true"]],
    "completions": [["completions"], ["completions", ""], ["completions", "bsh"], ["completions", "csh"], ["completions", "BASH"], ["completions", "bash", "zsh"],
                    ["completions", "--frob"], ["completions", "bash", "--out", "x"], ["completions", "-s"], ["completions", "/bin/bash"], ["completions", "."],
                    ["completions", "bash "], ["completions", "0"], ["completions", "powershell"], ["completions", "*"], ["completions", "fsh"], ["completions", "--bash"],
                    ["completions", "tcsh"], ["completions", "bash,zsh"], ["completions", "x" * 5000]],
    "check": [["check"], *files_like("check"), ["check", "none.py"], ["check", "broken.py"], ["check", "folder"], ["check", "none.so"],
              ["check", "s.toml"], ["check", "c.pcap"], ["check", "RESULT"], ["check", "HEADLINE"], ["check", "broken.py", "broken.py"],
              ["check", "broken.py", "--frob"], ["check", "broken.py", "--seed=x"], ["check", "-x"], ["check", "red"], ["check", "*"],
              ["check", "object.json"]],
    "": [["--frob"], ["rum"], [""], ["--versio"], ["-v"], ["rum", "--"], ["RUN"], ["run "], ["headline"], ["help me"], ["./run"], ["0"], ["--run"],
         ["replays"], ["x" * 5000], ["compare,run"], ["sweeep"], ["\x1b[31m"], ["*"], ["-"]],
}  # fmt: skip
CASES = [(command, words) for command, some in WRONG.items() for words in some]


@pytest.fixture(scope="module")
def places(tmp_path_factory, root) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("results")
    headline = root / "scenarios" / "headline.toml"
    library.load(headline, ["duration=2s", "warm_up=1s"]).run().write(folder / "one")
    return {"HEADLINE": headline, "RESULT": folder / "one"}


@pytest.fixture
def folder(tmp_path, places):
    text = (places["RESULT"] / "result.json").read_text()
    files = {
        "garbage": "garbage = = [", "empty": "", "broken.py": "def (", "object.json": "{}", "list.json": "[1]", "number.json": "1",
        "half.json": text[: len(text) // 2], "schema.json": json.dumps({"schema": "fairdrop/result/1", "runs": []}),
        "s.toml": f'base = "{places["HEADLINE"]}"\nsettings = ["duration=2s", "warm_up=1s"]\nseeds = 1\n[axes]\n"queue.limit" = ["400p"]\n',
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "c.pcap").write_bytes(pcap([packet(number * 1_000_000, 500, 1) for number in range(20)]))
    (tmp_path / "folder").mkdir()
    return tmp_path


def test_there_are_twenty_of_each():
    assert all(len(some) >= 20 for some in WRONG.values()), {name: len(some) for name, some in WRONG.items()}


@pytest.mark.parametrize(("command", "words"), CASES, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else value)
def test_wrong_input_is_reported_and_leaves_nothing(invoke, folder, places, command, words):
    if command == "live" and not shutil.which(os.environ.get("FAIRDROPD", "fairdropd")):
        pytest.skip("fairdropd, which knows what is valid, is not built")
    before = snapshot(folder)
    given = [str(places.get(word, word)) for word in words]
    status, out, err = invoke(*given)
    assert status not in (0, 130), f"{out}{err}"
    # What `check` finds wrong is its answer.
    assert out == "" or command == "check"
    err += out
    assert "Traceback" not in err
    assert "fairdrop" in err or command == "check"
    assert err.rstrip().splitlines()[-1].isprintable()
    assert re.search("valid|usage: |No such file|expected|must |starts with|describe", err), err
    parts = {part for word in given[bool(command) :] for part in (word, *re.split("[=,]", word.strip("-"))) if part}
    shown = {part for part in parts if len(part) < 50 and part.isprintable()}
    # A missing word is named, and so is an empty one.
    assert not shown or "required: " in err or "''" in err or any(part in err for part in shown), err
    assert snapshot(folder) == before


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): b"" if path.is_dir() else path.read_bytes() for path in folder.rglob("*")}
