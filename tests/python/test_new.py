"""``fairdrop new scenario`` and ``new paper``: what they write runs as it is, and nothing is overwritten."""

from __future__ import annotations

import json
import tomllib

import pytest


@pytest.mark.parametrize("words", [[], ["office"], ["office.toml"]])
def test_a_new_scenario_runs_as_it_is(invoke, tmp_path, words):
    status, out, err = invoke("new", "scenario", *words)
    name = words[0].removesuffix(".toml") if words else "scenario"
    assert (status, out, err) == (0, f"{name}.toml\n", "")
    short = ("--set", "duration=5s", "--set", "warm_up=1s")
    status, out, err = invoke("run", f"{name}.toml", "--json", "--quiet", *short)
    assert status == 0, err
    document = json.loads(out)
    assert document["name"] == name
    assert document["warnings"] == []


def test_values_in_comments_of_a_new_scenario_are_valid(invoke, tmp_path):
    """What is commented out can be put in."""
    invoke("new", "scenario")
    path = tmp_path / "scenario.toml"
    lines = path.read_text().splitlines()
    fields = [line[2:] if line.startswith("# ") and _is_toml(line[2:]) else line for line in lines]
    assert fields != lines
    path.write_text("\n".join(fields))
    status, _, err = invoke("run", "scenario.toml", "--quiet", "--set", "duration=2s", "--set", "warm_up=1s")
    assert status == 0, err


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


@pytest.mark.parametrize("words", [[], ["mine"]])
def test_a_new_paper_is_reproduced_as_it_is(invoke, tmp_path, words):
    name = words[0] if words else "paper"
    status, out, _ = invoke("new", "paper", *words)
    assert status == 0
    assert set(out.split()) == {f"{name}/{file}.toml" for file in ("base", "paper", f"{name}-fig1")}
    status, out, err = invoke("reproduce", "--papers", name, "--out", "r", "--json", "--quiet")
    assert status == 0, err
    (found,) = json.loads(out)
    assert found["id"] == f"{name}-fig1"
    assert [claim["verdict"] for claim in found["claims"]] == ["holds", "holds"], found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["scenario", "taken"], "taken.toml: is there already; valid: a name that is not taken"),
        (["scenario", "new", "--out", "taken.toml"], "taken.toml: is there already"),
        (["scenario", "new", "--out", "no/such.toml"], "no/such.toml: is in no folder that exists"),
        (["scenario", "a/b"], "'a/b' is not valid as the name of a scenario"),
        (["scenario", ""], "'' is not valid"),
        (["scenario", "x", "--language", "c"], "--language c is given with scenario"),
        (["paper", "taken"], "taken: is there already"), (["paper", "My-Paper"], "small letters and digits"),
        (["paper", "x", "--out", "y"], "--out y: the folder of a paper has its name; valid: a folder called x"),
        (["paper", "x", "--library", "."], "--library . is given with paper"),
        (["discipline"], "NAME is missing; valid: fairdrop new discipline NAME"),
        (["scenari"], "(did you mean scenario?)"),
    ],
)  # fmt: skip
def test_nothing_is_overwritten_and_wrong_words_are_reported(invoke, tmp_path, words, expected):
    (tmp_path / "taken.toml").write_text("mine")
    (tmp_path / "taken").mkdir()
    status, out, err = invoke("new", *words)
    assert (status, out) == (2, "")
    assert expected in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken", "taken.toml"]
    assert (tmp_path / "taken.toml").read_text() == "mine"
