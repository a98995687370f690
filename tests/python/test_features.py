"""The table of features says only what is so: rows, states, counts, and that what it names exists."""

from __future__ import annotations

import re
import shlex
from collections import Counter

import pytest

import fairdrop

STATES = ("done", "partly", "planned")
# What names something of the checkout, where it begins.
FOLDERS = ("crates/", "docs/", "python/", "scenarios/", "scripts/", "tests/")


@pytest.fixture(scope="module")
def text(root):
    return (root / "docs" / "features.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(text):
    """Id, kind, feature, source, state, and what shows it, of every row."""
    lines = [line for line in text.splitlines() if line.startswith("| F")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def named(cell):
    """What a cell names in code type."""
    return re.findall(r"`([^`]+)`", cell)


def test_rows_and_states(rows):
    assert [row[0] for row in rows] == [f"F{number:03}" for number in range(1, 170)]
    assert {len(row) for row in rows} == {6}
    for number, kind, feature, source, state, _ in rows:
        assert kind and feature and source, number
        assert state in STATES, number


def test_counts_at_the_top(text, rows):
    counted = Counter(row[4] for row in rows)
    told = {state: int(count) for state, count in re.findall(r"^\| (\w+) \| (\d+) \|", text, re.MULTILINE)}
    assert told == {state: counted[state] for state in STATES}


def test_what_is_there_is_shown_and_what_is_missing_is_said(rows):
    for number, *_, state, shown in rows:
        if state in ("done", "partly"):
            evidence = [name for name in named(shown) if name.startswith((*FOLDERS, "fairdrop ", "make "))]
            assert evidence, f"{number} is {state} and names nothing that shows it"
        assert ("; missing: " in shown) == (state == "partly"), number


def test_what_is_named_exists(root, rows):
    checked = 0
    for number, *_, shown in rows:
        for name in named(shown):
            if not name.startswith(FOLDERS):
                assert "::" not in name, f"{number}: {name} is in no folder of the checkout"
                continue
            path, _, function = name.partition("::")
            assert (root / path).is_file(), f"{number}: there is no {path}"
            if function:
                defined = rf"^\s*(?:pub )?(?:fn|def) {re.escape(function)}\("
                assert re.search(defined, (root / path).read_text(encoding="utf-8"), re.MULTILINE), f"{number}: {name}"
                checked += 1
    assert checked > 100


def test_commands_are_valid(root, rows):
    commands = [shlex.split(name) for row in rows for name in named(row[5]) if name.startswith("fairdrop run ")]
    assert commands
    for _, _, scenario, *words in commands:
        assert words[::2] == ["--set"] * (len(words) // 2)
        fairdrop.load(root / scenario, words[1::2])


def test_make_targets_exist(root, rows):
    targets = {name.split()[1] for row in rows for name in named(row[5]) if name.startswith("make ")}
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    assert targets
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target
