"""The reference agrees with the program, and everything that the documentation names exists."""

from __future__ import annotations

import re

import pytest

import fairdrop
from experiments.pages import names_in
from experiments.reference import page as maker
from fairdrop import CongestionControl, Discipline
from fairdrop.extension.congestion import HOOKS as OF_CONTROLS
from fairdrop.extension.discipline import HOOKS as OF_DISCIPLINES

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
# A path of a source file in code type, and what follows it up to the next one or the end of the paragraph.
TESTS_OF = re.compile(r"`((?:crates|tests)/[\w/.-]+\.(?:rs|py))`[^:`]*:?((?:(?!`(?:crates|tests)/)[^\n]|\n(?!\n))*)")


@pytest.fixture(scope="module")
def pages(root):
    """Text of every page by path."""
    apart = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "conformance/README.md")]
    return {path: path.read_text(encoding="utf-8") for path in [*apart, *sorted((root / "docs").rglob("*.md"))]}


def test_generated_sections_are_those_of_the_program(root):
    for page, text in maker.files():
        assert page.read_text(encoding="utf-8") == text, f"{page.relative_to(root)} is out of date: make generate"


@pytest.mark.parametrize("class_", [fairdrop.Discipline, fairdrop.CongestionControl])
def test_every_member_of_a_part_is_in_the_reference(class_):
    """Also what the compiled class below it has, and the methods that a class may have beside."""
    entry = maker.built()["python"].split(f"### `fairdrop.{class_.__name__}`\n")[1].split("\n### ")[0]
    shown = dict(re.findall(r"^\| `(\w+)[^`]*` \| (.*) \|$", entry, re.MULTILINE))
    members = {name for name in dir(class_) if not name.startswith("_")}
    hooks = {Discipline: OF_DISCIPLINES, CongestionControl: OF_CONTROLS}[class_]
    assert (members | set(hooks)) - set(shown) == set()
    assert all(shown[name] for name in members), "each is explained"


def test_everything_of_the_program_has_its_place():
    shown = [name for page in maker.pages() for name in names_in(page.read_text("utf-8"), "generated")]
    assert len(shown) == len(set(shown))
    assert set(maker.sections()) - set(shown) == set(maker.WITHOUT)


def test_every_page_is_on_the_map(root, pages):
    """From docs/README.md links lead to every page."""
    seen, next_ones = set(), [root / "docs" / "README.md"]
    while next_ones:
        path = next_ones.pop()
        if path in seen or path not in pages:
            continue
        seen.add(path)
        next_ones += [(path.parent / target.partition("#")[0]).resolve() for target in LINK.findall(pages[path])]
    of_docs = {path for path in pages if path.is_relative_to(root / "docs")}
    assert of_docs <= seen, sorted(path.name for path in of_docs - seen)


@pytest.fixture(scope="module")
def short_runs(headline):
    """A short run of every discipline."""
    scenario = fairdrop.load(headline, ["duration=4s", "warm_up=1s", "queue.red.min_th=5p", "queue.red.max_th=20p"])
    return scenario.compare(seeds=1).document["runs"]


def test_every_value_that_a_discipline_decides_by_is_documented(root, short_runs):
    text = (root / "docs" / "reference" / "result.md").read_text(encoding="utf-8")
    section = text.split("## `queues[].internals`")[1].split("\n## ")[0]
    documented = {}
    for disciplines, names in re.findall(r"^\| (`.*?) \| (.*) \|$", section, re.MULTILINE):
        for discipline in re.findall(r"`(\w+)`", disciplines):
            documented[discipline] = set(re.findall(r"`(\w+)`(?=[:;]| with| of|$)", names))
    found = {
        run["discipline"]: {value["name"] for value in queue["internals"]}
        for run in short_runs
        for queue in run["queues"]
    }
    for discipline, names in found.items():
        assert names <= documented.get(discipline, set()), discipline


def test_every_field_of_a_result_is_documented(root, short_runs):
    text = (root / "docs" / "reference" / "result.md").read_text(encoding="utf-8")
    run = short_runs[0]
    queue = run["queues"][0]
    for rows in ([run], run["groups"], run["flows"], [queue], queue["groups"], queue["flows"], [queue["drops"]]):
        for name in rows[0]:
            assert f"`{name}" in text, name


def test_tests_that_the_reference_names_exist(root, pages):
    """In a paragraph, names in code type after a source file are functions of it, or pages and parameters."""
    checked = 0
    for path, text in pages.items():
        if path.parent.name != "disciplines" and path.name != "transports.md":
            continue
        for section in re.findall(r"^##+ Validation\n(.*?)(?=^##? |\Z)", text, re.MULTILINE | re.DOTALL):
            for file, rest in TESTS_OF.findall(section):
                source = (root / file).read_text(encoding="utf-8")
                names = re.findall(r"`(\w+)`", rest)
                assert names, f"{path.name}: {file} without a test"
                for name in names:
                    assert re.search(rf"(?:fn|def) {name}\(", source), f"{path.name}: {name} is not in {file}"
                    checked += 1
    assert checked > 80
