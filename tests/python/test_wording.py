"""Names and words of reports: every discipline and cause of the library has them, and nothing else does."""

from __future__ import annotations

import re

import pytest

import fairdrop
from fairdrop import report
from fairdrop.cli import main
from fairdrop.plot import colours
from fairdrop.terminal import printable
from fairdrop.wording import disciplines
from fairdrop.wording.causes import CAUSES, cause_name, explained
from fairdrop.wording.phrases import clean, count

NAMES = [entry["name"] for entry in fairdrop.catalogue()["disciplines"]]

ONE_FLOW = """
name = "one"
duration = "1s"
[queue]
discipline = "droptail"
[[links]]
name = "access"
from = "a"
to = "b"
rate = "1mbit"
queue = true
[[groups]]
name = "udp"
from = "a"
to = "b"
transport = "cbr"
rate = "2mbit"
"""


@pytest.fixture(scope="module")
def document(headline):
    scenario = fairdrop.load(headline, ["duration=4s", "warm_up=1s", "sample=1s"])
    return scenario.compare(NAMES, seeds=1).document


@pytest.mark.parametrize("name", NAMES)
def test_a_discipline_of_the_catalogue_has_what_reports_need(name):
    facts = disciplines.known()[name]
    assert facts.name, f"{name}: give it a label in the library"
    assert facts.paragraph.endswith("."), f"{name}: give it a paragraph (report) in the library"
    assert disciplines.discipline_name(name) == facts.name


def test_disciplines_look_different_to_a_reader():
    assert len({facts.name for facts in disciplines.known().values()}) == len(NAMES)
    assert len({facts.paragraph for facts in disciplines.known().values()}) == len(NAMES)


def test_no_words_are_kept_for_what_the_library_does_not_have():
    assert set(colours.KNOWN_DISCIPLINES) <= set(NAMES)
    assert set(colours.CAUSES) <= set(CAUSES)


def test_what_is_not_in_the_catalogue_keeps_its_name():
    assert disciplines.discipline_name("mine\x1b") == "mine\ufffd"
    assert disciplines.discipline_name("wfq") == "wfq"
    assert cause_name("not_known") == "not known"


def test_causes_are_those_of_the_library_in_its_order(document):
    for group in document["runs"][0]["groups"]:
        assert list(group["drops"]) == list(CAUSES), "fairdrop.wording.causes names each, in the order of the library"
    for cause in CAUSES:
        assert explained(cause).lower().startswith(f"“{cause_name(cause).lower()}”: ")


def test_reports_and_terminals_refuse_the_same_characters():
    """Tabs and line feeds stay in reports; what cannot be encoded is the reports' concern alone."""
    for letter in map(chr, range(0xD800)):
        assert (clean(letter) != letter) == (printable(letter) != letter and letter not in "\t\n"), hex(ord(letter))


def test_one_is_singular():
    assert [count(number, "flow") for number in (0, 1, 2, 2000)] == ["0 flows", "1 flow", "2 flows", "2,000 flows"]
    assert [count(number, "reply", "replies") for number in (1, 2)] == ["1 reply", "2 replies"]


# A number in braces before a noun in the plural, which may be 1.
_UNCOUNTED = re.compile(
    r"\{(?:len\([^{}]*\)|runs|flows|events|packets|document\[[^]]*\])(?::,)?\} [a-z-]*?"
    r"(?:vectors|ids|seeds|runs|packets|flows|events|values|rows|cells|bytes|connections|claims|figures)\b"
)


def test_numbers_and_their_nouns_agree_everywhere(root):
    """In messages of the command, `count` puts them together."""
    for path in (root / "python" / "fairdrop").rglob("*.py"):
        found = _UNCOUNTED.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(root)}: {found[0]}: use fairdrop.wording.phrases.count"


def test_the_command_counts_one(tmp_path, capsys):
    """One of everything that it counts."""
    words = ["reproduce", "under-thm1", "--out", str(tmp_path / "r")]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Claims of the papers: 1 holds; ") and re.match(r"under-thm1 .*\n1 id in ", shown.err)
    assert main(["conformance", "run", "--discipline", "droptail", "--case", "basic"]) == 0
    assert capsys.readouterr().err == "1 vector: 1 passed\n"
    scenario = tmp_path / "one.toml"
    scenario.write_text(ONE_FLOW, encoding="utf-8")
    result = fairdrop.load(scenario).run()
    assert repr(result) == "Result of 'one': 1 run" and repr(result.groups).startswith("Table of 1 row: ")
    (warning,) = fairdrop.load(scenario, ["queue.discipline=red", "queue.limit=1p"]).run().document["warnings"]
    assert "because the limit is 1 packet: " in warning


def test_a_report_names_and_explains_every_discipline(document):
    page = report.render(document)
    for facts in disciplines.known().values():
        assert f">{facts.name}</dt>" in page
