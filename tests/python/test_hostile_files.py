"""Files that somebody else may have written: every command that reads one refuses by name what it cannot take."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import sqlite3
import tomllib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fairdrop
from fairdrop import _core
from fairdrop.cli import main
from fairdrop.files import json_of, read_json, read_toml
from fairdrop.reproduce.define.fields import DefinitionError
from fairdrop.reproduce.extensions import papers_of
from fairdrop.scenario import toml_text
from fairdrop.study.definition import read_study
from fairdrop.study.store import FILE, Store

LONG = "7" * 5000
DEEP = 500
SCENARIO = """duration = "1s"
warm_up = "200ms"
[dumbbell]
rate = "1mbit"
[[groups]]
name = "tcp"
transport = "reno"
[[groups]]
name = "udp"
transport = "cbr"
rate = "500kbit"
"""
STUDY = 'base = "s.toml"\nseeds = 1\n[axes]\ndiscipline = ["choke", "red"]\n'
PAPER = 'title = "A paper"\nauthors = "A. Author"\nvenue = "nowhere"\nyear = 2020\nclaimed = "nothing"\n'
EXPERIMENT = """id = "mine-a"
paper = "mine"
kind = "simulation"
section = "1"
title = "CHOKe beside RED"
about = "Who gets what."
[simulation]
base = "base"
schemes = [{ name = "choke", label = "CHOKe", settings = "queue.discipline=choke" }]
[[measures]]
name = "share"
of = "share"
group = "udp"
[[claims]]
id = "small"
text = "The sender is held."
kind = "between"
measure = "share"
low = 0.0
high = 1.0
tolerance = "none"
"""

TOML: dict[str, bytes] = {
    "nothing": b"",
    "no text": b"x = '\xff\xfe\x00'\n",
    "zeros": bytes(4096),
    "half": b'[groups\nname = "',
    "twice": b"seed = 1\nseed = 2\n",
    "lists": b"x = " + b"[" * DEEP + b"]" * DEEP,
    "tables": b"x = " + b"{a=" * DEEP + b"1" + b"}" * DEEP,
    "open lists": b"x = " + b"[" * 100_000,
    "a path": b"[" + b".".join([b"a"] * 100_000) + b"]\n",
    "a dotted key": b".".join([b"a"] * 100_000) + b" = 1\n",
    "a number": f"seed = {LONG}\n".encode(),
    "a fraction": f"seed = 0.{LONG}\n".encode(),
    "numbers": b"groups = 3\naxes = 3\nsimulation = 3\nbase = 3\n",
    "dates": b"name = 2020-01-01\nbase = 2020-01-01\ntitle = 2020-01-01\n",
    "controls": b'name = "\\u001b[2J"\nbase = "\\u001b[2J"\nid = "\\u001b[2J"\n',
}
JSON: dict[str, bytes] = {
    "nothing": b"",
    "no text": b'{"schema": "\xff"}',
    "half": b'{"schema": "fairdrop/result/1", "runs": [',
    "lists": b'{"runs": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "open lists": b"[" * 100_000,
    "tables": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a number": f'{{"schema": "fairdrop/result/1", "runs": [{{"seed": {LONG}}}]}}'.encode(),
    "not a number": b'{"schema": "fairdrop/result/1", "runs": [NaN]}',
    "a list": b"[1, 2]",
    "a text": b'"result"',
    "another schema": b'{"schema": "fairdrop/result/99"}',
    "no runs": b'{"schema": "fairdrop/result/1"}',
    "runs that are none": b'{"schema": "fairdrop/result/1", "runs": 7}',
    "runs of numbers": b'{"schema": "fairdrop/result/1", "runs": [1, 2]}',
    "an empty run": b'{"schema": "fairdrop/result/1", "runs": [{}]}',
    "no finished run": b'{"schema": "fairdrop/result/1", "runs": []}',
}


@pytest.fixture
def fail(tmp_path, monkeypatch, capfd) -> Callable[..., str]:
    """Runs a command on wrong input and returns its errors: a traceback would come out of ``main``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)

    def run(*words: str) -> str:
        capfd.readouterr()
        status = main(list(words))
        out, err = capfd.readouterr()
        assert status == 2 and out == "", (words, status, out, err)
        assert err and all(line.startswith("fairdrop: error: ") for line in err.splitlines()), (words, err)
        assert all(line.isprintable() and len(line) < 3000 for line in err.splitlines()), (words, err)
        return err

    return run


SCENARIO_READERS = [
    ["run", "FILE"],
    ["compare", "FILE", "--disciplines", "red"],
    ["model", "FILE"],
    ["live", "FILE"],
    ["replay", "c.pcap", "--scenario", "FILE"],
    ["sweep", "study.toml"],
]


@pytest.mark.parametrize("name", TOML)
def test_scenarios(fail, tmp_path, name):
    (tmp_path / "wrong.toml").write_bytes(TOML[name])
    (tmp_path / "study.toml").write_text(STUDY.replace("s.toml", "wrong.toml"))
    for words in SCENARIO_READERS:
        if words[0] == "replay" and name in ("nothing", "numbers", "dates", "controls"):
            continue
        err = fail(*(word.replace("FILE", "wrong.toml") for word in words))
        assert "wrong.toml" in err, (words, err)


@pytest.mark.parametrize("name", TOML)
def test_studies(fail, tmp_path, name):
    (tmp_path / "wrong.toml").write_bytes(TOML[name])
    assert "wrong.toml" in fail("sweep", "wrong.toml", "--out", "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("file", ["paper.toml", "mine-a.toml"])
def test_papers(fail, tmp_path, file, name):
    paper(tmp_path)
    (tmp_path / "mine" / file).write_bytes(TOML[name])
    err = fail("reproduce", "--papers", "mine", "--out", "out")
    assert f"mine/{file}" in err, err
    assert not (tmp_path / "out").exists()


def paper(folder: Path) -> None:
    (folder / "mine").mkdir()
    for name, text in (("paper", PAPER), ("base", SCENARIO), ("mine-a", EXPERIMENT)):
        (folder / "mine" / f"{name}.toml").write_text(text)


def test_the_paper_that_is_made_wrong_is_right(tmp_path):
    paper(tmp_path)
    with papers_of([tmp_path / "mine"]) as added:
        assert added == ["mine"]


@pytest.mark.parametrize(
    "what", ["no folder", "no paper", "a FIFO", "no base", "a text", "no dictionary", "unreadable"]
)
def test_a_paper_that_is_named_but_damaged(fail, tmp_path, what):
    paper(tmp_path)
    mine = tmp_path / "mine"
    named = "mine"
    match what:
        case "no folder":
            shutil.rmtree(mine)
        case "no paper":
            (mine / "paper.toml").unlink()
        case "a FIFO":
            named = "mine-a.toml: is a FIFO"
            (mine / "mine-a.toml").unlink()
            os.mkfifo(mine / "mine-a.toml")
        case "no base":
            named = "base.toml"
            (mine / "base.toml").unlink()
        case "a text":
            named = "mine/extension.py: NameError"
            (mine / "extension.py").write_text("this")
        case "no dictionary":
            named = "mine/extension.py: MEASURES is no dictionary"
            (mine / "extension.py").write_text("MEASURES = 3")
        case "unreadable":
            named = "mine: no paper"
            (mine / "paper.toml").unlink()
            (mine / "paper.toml").mkdir()
    assert named in fail("reproduce", "--papers", "mine", "--out", "out")


@pytest.mark.parametrize("name", JSON)
def test_results(fail, tmp_path, name):
    (tmp_path / "wrong.json").write_bytes(JSON[name])
    (tmp_path / "right.json").write_text(result().to_json())
    for words in (
        ["show", "wrong.json"],
        ["show", "wrong.json", "--export", "flent", "--out", "out"],
        ["report", "wrong.json", "--out", "r.html"],
        ["diff", "wrong.json", "right.json"],
        ["diff", "right.json", "wrong.json", "--exact"],
    ):
        err = fail(*words)
        assert "wrong.json" in err, (words, err)
    assert not (tmp_path / "r.html").exists() and not (tmp_path / "out").exists()
    if name != "no finished run":
        with pytest.raises(ValueError, match=r"wrong\.json"):
            fairdrop.read_result(tmp_path / "wrong.json")


def result(cache: list[fairdrop.Result] = []) -> fairdrop.Result:  # noqa: B006
    if not cache:
        cache.append(fairdrop.Scenario(SCENARIO).compare(["red", "choke"]))
    return cache[0]


@pytest.mark.parametrize("name", JSON)
def test_kept_runs(fail, tmp_path, name):
    for place in ("result.json", "runs/work.json", "runs/choke-1.json"):
        folder = tmp_path / place.replace("/", "-")
        (folder / place).parent.mkdir(parents=True)
        if place.startswith("runs/choke"):
            assert main(["run", "s.toml", "--out", str(folder), "--quiet"]) == 0
            work = {field: result().document[field] for field in ("schema", "version", "kind")}
            scenario = fairdrop.load("s.toml").to_dict()
            work |= {"scenario": scenario, "congestion": None}
            shutil.rmtree(folder)
            (folder / "runs").mkdir(parents=True)
            (folder / "runs" / "work.json").write_text(json.dumps(work))
        (folder / place).write_bytes(JSON[name])
        assert f"{folder}/{place}: " in fail("run", "s.toml", "--out", str(folder), "--resume")


@pytest.fixture
def swept(tmp_path) -> Path:
    (tmp_path / "s.toml").write_text(SCENARIO)
    (tmp_path / "study.toml").write_text(STUDY)
    for shard in ("1/2", "2/2"):
        fairdrop.sweep(tmp_path / "study.toml", out=tmp_path / "swept", shard=shard)
    return tmp_path / "swept"


def test_parts_of_a_sweep(fail, swept):
    about = swept / "shard-1-of-2" / "study.json"
    right = about.read_bytes()
    wrong = {name: content.replace(b"fairdrop/result/1", b"fairdrop/study/1") for name, content in JSON.items()}
    for name in ("kept", "digest", "engine", "complete", "command", "axes"):
        document = json.loads(right)
        wrong[f"no {name}"] = json.dumps({**document, name: 7}).encode()
    for name in ("texts", "study", "settings", "folder", "name"):
        document = json.loads(right)
        document["kept"][name] = 7
        wrong[f"kept {name}"] = json.dumps(document).encode()
    for name, content in wrong.items():
        about.write_bytes(content)
        if name in ("no digest", "no engine"):
            assert "shard-1-of-2" in fail("merge", "swept")
        else:
            assert str(about.relative_to(swept.parent)) in fail("merge", "swept"), name
    about.unlink()
    os.mkfifo(about)
    assert "study.json: is a FIFO" in fail("merge", "swept")


DAMAGES: dict[str, Callable[[bytes], Any]] = {
    "cut": lambda packed: packed[:-9],
    "changed": lambda packed: packed[:20] + bytes([packed[20] ^ 1]) + packed[21:],
    "nothing": lambda packed: b"",
    "a text": lambda packed: "text",
    "other JSON": lambda packed: zlib.compress(b"[1, [2]]"),
    "a text of JSON": lambda packed: zlib.compress(b'"text"'),
    "lists": lambda packed: zlib.compress(b"[" * DEEP + b"]" * DEEP),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_in_a_store(fail, swept, damage):
    for command, folder in ((["merge", "swept"], "swept"), (["sweep", "study.toml", "--out", "again"], "again")):
        if folder == "again":
            fairdrop.sweep("study.toml", out="again")
        store = Path(folder) / ("shard-1-of-2" if folder == "swept" else "") / FILE
        with sqlite3.connect(store) as base:
            (key, packed) = base.execute("SELECT key, rows FROM runs").fetchone()
            base.execute("UPDATE runs SET rows = ? WHERE key = ?", (DAMAGES[damage](packed), key))
        base.close()
        err = fail(*command)
        assert f"{folder}/{FILE}: its run {key} is damaged: not the rows of a run (" in err, err
        assert "; valid: " in err


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00" + bytes(500), b"no base at all" * 100, bytes(8192)])
def test_a_store_that_is_none(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    if not content:
        with Store(tmp_path) as store:
            assert len(store) == 0
        return
    with pytest.raises(OSError, match=r"store\.sqlite"), Store(tmp_path) as store:
        len(store)


@pytest.mark.parametrize(
    "content", [b"", b"\xd4\xc3\xb2\xa1", b"\n\r\r\n" + bytes(20), bytes(100), b"GET / HTTP/1.1\r\n"]
)
def test_captures(fail, tmp_path, content):
    (tmp_path / "wrong.pcap").write_bytes(content)
    assert "wrong.pcap" in fail("replay", "wrong.pcap")


@pytest.mark.parametrize("content", [b"", b"\xff", b"1,2\n", b"time_s,bytes\nx,1\n", f"{LONG}\n".encode(), b"[" * 5000])
def test_files_beside_a_scenario(fail, tmp_path, content):
    (tmp_path / "beside").write_bytes(content)
    group = '[[groups]]\nname = "g"\ntransport = "trace"\nfile = "beside"\n'
    (tmp_path / "played.toml").write_text(group)
    (tmp_path / "chances.toml").write_text(
        '[dumbbell]\ntrace = "beside"\n' + group.replace("trace", "reno").rsplit("file")[0]
    )
    for file in ("played.toml", "chances.toml"):
        err = fail("run", file)
        assert "beside" in err and "; valid: " in err, err


@pytest.mark.parametrize("name", ["part.py", "part.so"])
@pytest.mark.parametrize("kind", ["a FIFO", "a directory", "larger than"])
def test_parts(fail, tmp_path, name, kind):
    match kind:
        case "a FIFO":
            os.mkfifo(tmp_path / name)
        case "a directory":
            (tmp_path / name).mkdir()
        case _:
            with (tmp_path / name).open("wb") as huge:
                huge.truncate(1 << 40)
    for words in (["--parts", name], ["--set", f"queue.discipline=./{name}"], ["--set", f'parts=["{name}"]']):
        err = fail("run", "s.toml", *words)
        assert name in err and f"is {kind}" in err, err


def test_a_damaged_pickle_is_no_result():
    make, (packed,) = result().__reduce__()
    assert make(packed).document == result().document
    for wrong in (b"", packed[:-9], zlib.compress(b"[" * DEEP), zlib.compress(b'{"runs": 3}')):
        with pytest.raises(ValueError, match="a pickled result is damaged"):
            make(wrong)


def test_files_in_the_folders_of_commands_that_read_none(fail, tmp_path):
    """``characterize`` and ``advise`` find their runs of before in a folder."""
    for folder in ("characterization", "advice"):
        (tmp_path / folder).mkdir()
        for name in ("store.sqlite", "runs.sqlite"):
            (tmp_path / folder / name).write_bytes(b"no base at all" * 100)
        (tmp_path / folder / "runs").mkdir()
        (tmp_path / folder / "runs" / FILE).write_bytes(b"no base at all" * 100)
    assert "store.sqlite" in fail("characterize", "red", "--sections", "5.3")
    assert "store.sqlite" in fail("advise", "--rate", "10mbit", "--rtt", "50ms", "--flows", "5", "--disciplines", "red")


@pytest.mark.parametrize(
    "content", ["", "[" * DEEP, "{}", '{"profile": 1}', '{"profile": "quick", "seeds": [], "ids": 3}']
)
def test_a_reproduction_to_go_on_with(fail, tmp_path, content):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text(content)
    assert "out/run.json" in fail("reproduce", "--resume", "--out", "out")


def test_limits_are_reported_with_depth_and_field(tmp_path):
    assert _core.MAX_DEPTH == 64
    path = tmp_path / "f"
    path.write_text(f"[q]\nx = {'[' * DEEP}{']' * DEEP}")
    with pytest.raises(ValueError, match=r"f:2: q\.x is nested 501 deep; valid: at most 64 tables and lists"):
        read_toml(path)
    path.write_text(f"[q]\nx.y = {LONG}")
    with pytest.raises(ValueError, match=r"f:2: q\.x\.y is a number of 5000 characters; valid: at most 400 characters"):
        read_toml(path)
    path.write_text(f'{{"q": {"[" * DEEP}{"]" * DEEP}}}')
    with pytest.raises(
        ValueError, match=r"f: not JSON \(q\.0\.0\.0\.0\.0\.0\.0 is nested 501 deep, above 64\); valid: X"
    ):
        read_json(path, 1 << 20, "X")
    path.write_text(f'{{"q": [1, {LONG}]}}')
    with pytest.raises(ValueError, match=r"f: not JSON \(q\.1: number out of range at line 1"):
        read_json(path, 1 << 20, "X")


def test_toml_is_read_as_python_reads_it(root):
    """Definitions, scenarios and studies are the same dictionaries, in the same order."""
    texts = [path.read_text() for path in sorted(root.rglob("*.toml")) if "target" not in path.parts]
    texts += [
        SCENARIO,
        STUDY,
        PAPER,
        EXPERIMENT,
        "a.b = 1\n[x]\n[x.y]\nz = inf\n[[l]]\n[[l.m]]\nn = -0.0\nw = '''\na\n'''\n",
    ]
    assert len(texts) > 100
    for text in texts:
        assert json.dumps(_core.parse_toml(text, "f")) == json.dumps(tomllib.loads(text))


ODD = [None, True, -1, 0, 1e308, 2**63 - 1, "", "x", "1mbit", "\x1b[2J", [], [[]], [1, "x"], {}, {"a": {"b": []}}]


def changed(tree: Any, choice: random.Random) -> Any:
    """A copy with one of its values, somewhere, exchanged, taken out, or repeated."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    inside, key = choice.choice(places)
    match choice.randrange(3):
        case 0:
            del inside[key]
        case 1 if isinstance(inside, list):
            inside.append(inside[key])
        case _:
            inside[key] = choice.choice(ODD)
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)


def _without_none(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_none(value) for key, value in tree.items() if value is not None}
    return [_without_none(value) for value in tree if value is not None] if isinstance(tree, list) else tree


@pytest.mark.parametrize("seed", range(2))
def test_changed_studies(tmp_path, seed):
    (tmp_path / "s.toml").write_text(SCENARIO)
    rules = '[stop]\nmeasure = "share"\ngroup = "udp"\nrelative = 0.1\n'
    more = (
        '"queue.red.max_p" = { from = 0.02, to = 0.2, points = 3, log = true }\ngroups.udp.rate = ["1mbit", "2mbit"]\n'
    )
    whole = tomllib.loads(f'settings = ["seed=3"]\n{STUDY}{more}{rules}[design]\nkind = "product"\n')
    choice = random.Random(seed)
    for _ in range(50):
        tree = changed(whole, choice)
        (tmp_path / "study.toml").write_text(toml_text(_without_none(tree)))
        try:
            study = read_study(tmp_path / "study.toml")
            (opened,) = study.open(study.points[:1])
            if isinstance(opened, Exception):
                raise opened
            study.check(opened)
        except (ValueError, OSError) as error:
            seen = str(error).splitlines()
            assert all("study.toml" in line or "s.toml" in line or str(tmp_path) in line for line in seen), (tree, seen)


@pytest.mark.parametrize("seed", range(3))
def test_changed_papers(tmp_path, root, seed):
    choice = random.Random(seed)
    names = sorted(path.stem for path in (root / "python/fairdrop/papers/choke").glob("choke-*.toml"))
    for number in range(60):
        name = choice.choice(names)
        whole = tomllib.loads((root / f"python/fairdrop/papers/choke/{name}.toml").read_text())
        about = tomllib.loads((root / "python/fairdrop/papers/choke/paper.toml").read_text())
        whole |= {"id": "mine-a", "paper": "mine"}
        if number % 4 == 0:
            about = changed(about, choice)
        else:
            whole = changed(whole, choice)
        folder = tmp_path / f"{number}" / "mine"
        folder.mkdir(parents=True)
        for file, tree in (("mine-a", whole), ("paper", about)):
            (folder / f"{file}.toml").write_text(toml_text(_without_none(tree)))
        for base in ("base", "chain"):
            shutil.copy(root / f"python/fairdrop/papers/choke/{base}.toml", folder)
        try:
            with papers_of([folder]):
                pass
        except (DefinitionError, OSError) as error:
            assert all(str(folder) in line for line in str(error).splitlines()), (whole, about, str(error))


@pytest.mark.parametrize("seed", range(2))
def test_changed_results(tmp_path, capfd, seed):
    choice = random.Random(seed)
    whole = json.loads(result().to_json())
    path = tmp_path / "changed.json"
    (tmp_path / "right.json").write_text(result().to_json())
    for number in range(20):
        path.write_text(json.dumps(changed(whole, choice)))
        right = str(tmp_path / "right.json")
        commands = [["show", str(path)], ["diff", str(path), right, "--quiet"]]
        if number % 10 == 0:
            commands.append(["report", str(path)])
        for words in commands:
            status = main(words)
            err = capfd.readouterr().err
            assert status in (0, 1, 3) or (status == 2 and "changed.json" in err), (words, status, err)


@pytest.mark.parametrize(
    "text", ["1" * 400, "[" * 64 + "]" * 64, "-1.5e-300", '"\\ud83d\\ude00"', "18446744073709551616"]
)
def test_what_is_within_the_limits_is_read(text):
    value = text if text != "1" * 400 else "1" * 300
    assert json_of(value) == json.loads(value)
