"""The pages in docs/reproduction are those of the definitions, of the stored results and of this engine."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from experiments.comparison import page as comparison
from experiments.pages import filled
from experiments.readings import campaign
from experiments.reproduction import page as maker
from experiments.reproduction import results
from fairdrop import reproduce
from fairdrop.progress import Progress
from fairdrop.reproduce import across
from fairdrop.reproduce.define.papers import PAPERS
from fairdrop.reproduce.define.reading import headlines
from fairdrop.reproduce.execute.plan import Order, Part
from fairdrop.reproduce.execute.store import Store
from fairdrop.reproduce.execute.work import measure
from fairdrop.reproduce.judge.headlines import proven_findings

PROBED = ("choke-c1", "micro-c2", "chokew-fig1", "chokew-table1", "under-fig8", "ward-c1", "X2")


@pytest.fixture(scope="module")
def stored():
    return {one.definition.name: one for one in results.stored()}


def test_pages_are_what_the_stored_results_give(root):
    """Nobody edits a page by hand, and a change of the judge's words is seen."""
    for path, text in maker.files():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is another page: make pages"


def test_the_comparison_is_what_the_stored_results_give(root, stored):
    page = (root / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert comparison.page(stored["X7"]) == page, "make pages"
    collar = (root / "docs" / "background" / "collar.md").read_text(encoding="utf-8")
    tests = {"papers": comparison.papers(stored["X21"])}
    assert filled(collar, "comparison", tests) == collar, "make pages"
    # A number that was changed by hand is seen.
    assert filled(collar.replace("| CHOKe fig. 3", "| Choke fig. 3"), "comparison", tests) == collar


def test_every_result_is_of_the_present_definition(stored):
    """Every id of the five papers is there and as it was run; campaigns of our own may be newer than the pages."""
    old = [name for name, one in stored.items() if not one.follows_definition and not one.definition.is_own]
    again = "fairdrop reproduce; python -m experiments.reproduction.results reproduction"
    assert not old, f"{', '.join(old)}: changed since the pages were made: {again}"
    missing = [name for name in reproduce.names() if name not in stored and not reproduce.definition(name).is_own]
    assert not missing, f"{', '.join(missing)} not on the pages: {again}"


@pytest.mark.parametrize("name", PROBED)
def test_results_are_of_this_engine(name, stored, tmp_path):
    """Seed 1 is run again: the same value, digit by digit, or the pages are of another engine."""
    document = stored[name].document
    assert document["probe"]
    one, order = reproduce.definition(name), Order(document["profile"], settings=tuple(document["settings"]))
    data = measure(one, order, Store(tmp_path), 1, Progress(), Part(1)).data["base"]
    for row in document["probe"]:
        (found,) = data.select(row["measure"], row["scheme"], row["at"])
        assert found.values == tuple(row["values"]), f"{name}: {row['measure']} of seed 1 was {row['values']}"


@pytest.mark.parametrize("scheme", ["choke", "collar", "fq_codel"])
def test_the_comparison_is_of_this_engine(scheme, stored, tmp_path):
    """Seed 1 of three disciplines, run again: as it is stored, in its seven digits."""
    one = reproduce.definition("X7")
    chosen = tuple(found for found in one.schemes if found.name == scheme)
    alone = replace(one, simulation=replace(one.simulation, schemes=chosen))
    data = measure(alone, Order(), Store(tmp_path), 1, Progress(), Part(1)).data["base"]
    rows = [row for row in stored["X7"].data["base"].rows if row.scheme == scheme]
    assert len(rows) == len(data.rows) > 20
    for row in rows:
        (found,) = data.select(row.measure, scheme, row.at)
        assert found.values[0] == pytest.approx(row.values[0], rel=1e-6), f"{row.measure} at {row.at}"


def test_findings_name_claims_that_are_there():
    assert len(headlines()) == 15
    for finding in headlines():
        assert finding.paper in PAPERS and finding.figure in reproduce.names() and finding.claim and finding.section
        assert finding.author.partition(":")[0] in ("nothing", "footnote", "erratum"), finding.author
        shown = (maker.FIGURES / f"{finding.figure}.svg").exists()
        assert shown, f"{finding.figure}: fairdrop reproduce; python -m experiments.reproduction.results reproduction"
        for proof in finding.proof:
            name, _, claim = proof.partition("/")
            assert claim in {one.name for one in reproduce.definition(name).claims}, proof


def test_the_page_leads_with_findings_and_errata(root):
    text = (root / "docs" / "reproduction" / "README.md").read_text(encoding="utf-8")
    heads = ("## Findings", "## Left unexplained", "## Errata", "## Pages", "## Claims that say nothing")
    places = [text.index(head) for head in heads]
    assert places == sorted(places) and "\n### 15. " in text
    assert text.count("- Found: ") == text.count("- An author should add: ") == 15
    assert not re.search(r"\{[\w-]+/", text), "a claim in a sentence was not measured"


def test_a_sentence_has_the_values_of_its_claims(stored):
    found = proven_findings(list(stored.values()))
    assert len(found) == 15
    protects = next(one for one in stored["X22"].document["claims"] if one["id"] == "protects")
    value = protects["measured"].partition(" (")[0]
    assert re.fullmatch(r"\d+ \[\d+, \d+\]", value) and f"leaves TCP {value} at least" in found[1]["text"]


@pytest.mark.parametrize("name", ["choke", "micro", "chokew", "under", "ward"])
def test_a_page_has_the_set_up_that_explains_most(root, name):
    """What the text leaves open, question by question, from the stored readings of the whole paper."""
    text = (root / "docs" / "reproduction" / f"{name}.md").read_text(encoding="utf-8")
    assert "## Reconstruction" in text
    matrices = {matrix.name: matrix for matrix, _ in campaign.results()}
    if name not in matrices:
        assert "No readings of the whole paper are stored yet." in text
        return
    for question, answers in across.questions(name).items():
        assert f"\n| {question} | " in text
        for answer in answers:
            gained, lost = matrices[name].bears_out(answer.name) if answer.name in matrices[name].digests else ([], [])
            shown = f"{answer.name}: +{len(gained)} -{len(lost)}"
            assert (shown if answer.name in matrices[name].digests else f"{answer.name}: not run") in text


def test_errata_are_proven_by_ids_that_exist():
    for name in ("choke", "micro", "chokew", "under", "ward"):
        assert all(item.proof in reproduce.names() for item in reproduce.paper(name).errata)
