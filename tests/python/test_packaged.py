"""Scenarios that come with the package: run by name from anywhere, one copy of each."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

import fairdrop as library
from fairdrop.packaged import scenarios, titles

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")


def test_scenarios_run_by_name_from_anywhere(invoke, tmp_path):
    status, out, err = invoke("run", "headline", "--json", "--quiet", *SHORT)
    assert status == 0, err
    assert json.loads(out)["name"] == "headline"
    assert library.load("headline").to_dict()["name"] == "headline"
    (tmp_path / "s.toml").write_text('base = "headline"\nsettings = ["duration=2s", "warm_up=1s"]\nseeds = 1\n'
                                     '[axes]\n"queue.limit" = ["400p"]\n')  # fmt: skip
    assert invoke("sweep", "s.toml", "--out", "o", "--quiet")[0] == 0
    assert invoke("model", "understanding-choke", "--json")[0] == 0


def test_every_one_is_called_as_its_file_and_says_what_it_shows():
    assert {library.load(name).to_dict()["name"] for name in scenarios()} == set(scenarios())
    assert all(titles().values())


def test_a_file_goes_before_a_name_and_a_folder_does_not(invoke, tmp_path):
    (tmp_path / "web").mkdir()
    assert library.load("web").file == str(scenarios()["web"])
    (tmp_path / "headline").write_text('name = "mine"\n[[groups]]\nname = "g"\ntransport = "reno"\n')
    assert json.loads(invoke("run", "headline", "--json", "--quiet", *SHORT)[1])["name"] == "mine"


@pytest.mark.parametrize(
    ("word", "meant"), [("headlin", "headline"), ("scenarios/headline.toml", "headline"), ("tea.toml", None)]
)
def test_a_missing_scenario_is_reported_with_what_was_meant(invoke, word, meant):
    status, _, err = invoke("run", word)
    assert status == 2
    assert err.startswith(f"fairdrop: error: {word}: No such file or directory")
    assert (f"(did you mean {meant}?)" in err) == (meant is not None)
    assert "valid: a TOML file, or one of choke-chain, " in err


def test_there_is_one_copy_of_each_and_the_wheel_takes_it(root):
    """maturin takes into the wheel what git has below the package."""
    links = sorted((root / "scenarios").iterdir())
    assert [link.name for link in links] == [path.name for path in scenarios().values()]
    assert all(os.path.samefile(link, scenarios()[link.stem]) for link in links)
    command = ["git", "ls-files", "-s", "scenarios"]
    listed = subprocess.run(command, cwd=root, text=True, capture_output=True, check=False)
    if not listed.stdout:
        pytest.skip("not in a checkout")
    assert all(line.startswith("120000 ") for line in listed.stdout.splitlines()), "links, no copies"
