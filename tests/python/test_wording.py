"""Names and words of reports: every discipline and cause of the library has them, and nothing else does."""

from __future__ import annotations

import pytest

import fairdrop
from fairdrop import report
from fairdrop.plot import colours
from fairdrop.wording import disciplines
from fairdrop.wording.causes import CAUSES, cause_name, explained

NAMES = [entry["name"] for entry in fairdrop.catalogue()["disciplines"]]


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


def test_a_report_names_and_explains_every_discipline(document):
    page = report.render(document)
    for facts in disciplines.known().values():
        assert f"<dt>{facts.name}</dt>" in page
