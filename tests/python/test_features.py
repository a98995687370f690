"""The table of features is true: rows, states, counts, and the existence of all it names."""

from __future__ import annotations

import re
import shlex
from collections import Counter

import pytest

import fairdrop
from fairdrop.cli.parser import build_parser

STATES = ("done", "partly", "planned")
# How ids of experiments begin, by the number of the paper.
PAPERS = {"000": "choke", "001": "micro", "002": "chokew", "003": "under", "004": "ward"}
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


@pytest.fixture(scope="module")
def experiments(root):
    """Ids of what `fairdrop reproduce` runs."""
    papers = root / "python" / "fairdrop" / "papers"
    texts = (path.read_text(encoding="utf-8") for path in papers.rglob("*.toml"))
    return {found[1] for text in texts if (found := re.match(r'id = "([^"]+)"', text))}


def named(cell):
    """What a cell names in code type."""
    return re.findall(r"`([^`]+)`", cell)


def test_rows_and_states(rows):
    ids = [row[0] for row in rows]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"F\d{3}", name) for name in ids)
    assert {len(row) for row in rows} == {6}
    for number, kind, feature, source, state, _ in rows:
        assert kind and feature and source, number
        assert state in STATES, number


def test_counts_at_the_top(text, rows):
    counted = Counter(row[4] for row in rows)
    stated = {state: int(count) for state, count in re.findall(r"^\| (\w+) \| (\d+) \|", text, re.MULTILINE)}
    assert stated == {state: counted[state] for state in STATES}


def test_present_features_are_shown_and_missing_ones_stated(rows):
    for number, *_, state, shown in rows:
        if state in ("done", "partly"):
            evidence = [name for name in named(shown) if name.startswith((*FOLDERS, "fairdrop ", "make "))]
            assert evidence, f"{number} is {state} and names nothing that shows it"
        assert ("missing: " in shown) == (state != "done"), number


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


def test_experiments_exist(experiments, rows):
    named_ids = {
        word
        for row in rows
        for name in named(row[5])
        if name.startswith("fairdrop reproduce ")
        for word in name.split()[2:]
        if not word.startswith("-")
    }
    assert len(named_ids) > 30
    assert named_ids <= experiments


def behind(feature, kind, source, known, experiments):
    """What of the program a row that says "planned" does not know of."""
    found = [f"experiment {name}" for name in published(source) if name in experiments]
    if kind in ("algorithm", "comparator", "traffic", "system"):
        plain = feature.lower().replace("-", " ").replace("_", " ")
        found += [name for name in known if re.search(rf"\b{re.escape(name)}\b", plain)]
    return found


def published(source):
    """Ids of the figures and tables of a source: 000 f3; 001 figs. 4, 5."""
    for paper, rest in re.findall(r"(00\d)([^;]*)", source):
        for kind, first, last in re.findall(r"\b([ft])(\d+)(?:-[ft](\d+))?", rest):
            for number in range(int(first), int(last or first) + 1):
                yield f"{PAPERS[paper]}-{'fig' if kind == 'f' else 'table'}{number}"


def test_no_row_is_behind_the_program(rows, experiments):
    catalogue = fairdrop.catalogue()
    entries = [*catalogue["disciplines"], *catalogue["transports"]]
    known = {
        text.lower().replace("-", " ").replace("_", " ")
        for entry in entries
        for text in (entry["name"], entry["title"])
    }
    actions = build_parser()._subparsers._group_actions
    known |= {f"fairdrop {name}" for action in actions for name in action.choices}
    for number, kind, feature, source, state, _ in rows:
        if state == "planned":
            assert not behind(feature, kind, source, known, experiments), number
    assert behind("SFQ with 1000-2000 queues", "comparator", "000 I; 001 box", known, experiments) == ["sfq"]
    assert behind("RED-PD", "comparator", "000 I", {"red pd"}, experiments) == ["red pd"]
    assert behind("RCF curves", "plot/table", "002 f4", known, experiments) == ["experiment chokew-fig4"]
    assert behind("Aggregate goodput", "plot/table", "002 f5-f6", known, experiments) == [
        "experiment chokew-fig5",
        "experiment chokew-fig6",
    ]


def test_make_targets_exist(root, rows):
    targets = {name.split()[1] for row in rows for name in named(row[5]) if name.startswith("make ")}
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    assert targets
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target
