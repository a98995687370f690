"""One number has one verdict, and a reading explains something only where it breaks nothing else of its paper."""

from __future__ import annotations

import re

import pytest

from experiments.readings.campaign import effects
from experiments.reproduction import results
from fairdrop import reproduce
from fairdrop.reproduce.judge import whole
from fairdrop.reproduce.judge.verdict import BREAKING, CONTRADICTED, HELD, INCONCLUSIVE, OFF, OTHERWISE, VERDICTS
from fairdrop.reproduce.judge.whole import Effects, key_of_point, number_at, settle

DEFINITIONS = [reproduce.definition(name) for name in reproduce.names()]


@pytest.fixture(scope="module")
def stored():
    return results.stored()


def test_no_printed_number_has_two_verdicts(stored):
    """The same number beside the same runs, in whatever id it stands; and claims about numbers are these numbers."""
    verdicts: dict[tuple, dict[str, list[str]]] = {}
    for one in stored:
        judged = {key_of_point(point): point for point in one.definition.published}
        points = {key_of_point(point): point for point in one.document["published"]}
        for point in points.values():
            if point["measured"]:
                fact = (point["published"], point["relation"], point["unit"], round(point["measured"]["mean"], 6))
                verdicts.setdefault(fact, {}).setdefault(point["verdict"], []).append(one.definition.name)
        found = {claim["id"]: claim["verdict"] for claim in one.document["claims"]}
        for claim in one.definition.claims:
            about = [points[key] for key in points if judged[key].is_about(claim.arguments)]
            if claim.kind == "printed":
                # Of several each may hold with a reading of its own, which bears the claim out for none.
                several = len(about) > 1
                decided = [point.get("as_decided" if several else "verdict", point["verdict"]) for point in about]
                wanted = {max(decided, key=VERDICTS.index)}
                if several and {point["verdict"] for point in about} <= {HELD, OTHERWISE}:
                    wanted.add(OTHERWISE)
                assert found[claim.name] in wanted, f"{one.definition.name}/{claim.name}"
    assert len(verdicts) > 150
    assert not {fact: some for fact, some in verdicts.items() if len(some) > 1}


def test_a_claim_that_states_a_printed_number_is_that_number():
    """A range around a printed number, of a tolerance of its own, would be a second verdict on it."""
    for one in DEFINITIONS:
        printed = {f"{point.value:g}" for point in one.published if point.judged and point.relation == "="}
        for claim in one.claims:
            if claim.kind == "between":
                stated = set(re.findall(r"\d+(?:\.\d+)?", claim.text)) & printed
                assert not stated, f"{one.name}/{claim.name}: {', '.join(stated)}: kind = \"printed\""


def test_a_number_that_stands_in_several_ids_is_judged_by_one():
    cited = [(one, point) for one in DEFINITIONS for point in one.published if point.cites]
    assert len(cited) > 15
    for one, point in cited:
        name, _, claim = point.cites.partition("/")
        by = reproduce.definition(name)
        assert not point.judged and (by is not one or claim or name == one.name)
        assert any(other.judged for other in by.published) or claim, f"{one.name}: {point.cites} judges nothing"
        assert not claim or claim in {found.name for found in by.claims}, f"{one.name}: {point.cites}"
    # The drops of figure 5 stand in four ids.
    assert {one.name for one, point in cited if point.cites.startswith("choke-fig5")} == {
        "choke-fig5", "choke-c3", "X1", "X2",
    }  # fmt: skip


def point(verdict, mean, *, low=None, high=None, readings=()):
    measured = {"mean": mean, "low": mean - 1 if low is None else low, "high": mean + 1 if high is None else high}
    return {
        "measure": "udp", "label": "UDP", "unit": "kb/s", "scheme": "choke", "at": {}, "published": 250.0,
        "relation": "=", "tolerance": 12.5, "verdict": verdict, "why": "so", "measured": measured,
        "readings": {"base": measured, **dict(readings)},
    }  # fmt: skip


def document(verdict, number, bearing=None):
    claim = {"id": "held", "verdict": verdict, "why": "because"}
    return {"claims": [claim], "published": [number], "bearing": bearing, "verdict": verdict}


CHOKE = reproduce.definition("choke-fig3")
PLACE = ("choke-fig3", "held")


@pytest.mark.parametrize(
    ("decided", "known", "verdict"),
    [
        (CONTRADICTED, {}, CONTRADICTED),
        (CONTRADICTED, {"a": Effects({PLACE})}, OTHERWISE),
        (CONTRADICTED, {"a": Effects({PLACE}, [("choke-fig9", "x")])}, BREAKING),
        (CONTRADICTED, {"a": Effects({PLACE}, [("choke-fig9", "x")]), "b": Effects({PLACE})}, OTHERWISE),
        (INCONCLUSIVE, {"a": Effects({PLACE}, [("choke-fig9", "x")])}, INCONCLUSIVE),
        (INCONCLUSIVE, {"a": Effects({PLACE})}, OTHERWISE),
        (HELD, {"a": Effects(set(), [PLACE])}, HELD),
    ],
)
def test_the_whole_paper_decides_what_a_reading_explains(decided, known, verdict):
    before = document(decided, point(HELD, 250.0))
    after = settle(CHOKE, before, {"choke": known})
    assert after["claims"][0]["verdict"] == after["verdict"] == verdict
    assert settle(CHOKE, after, {"choke": known}) == after, "settled again"
    assert settle(CHOKE, after, {})["claims"][0]["verdict"] == decided, "without the readings"


@pytest.mark.parametrize(
    ("known", "other", "verdict"),
    [
        ({}, 250.0, OTHERWISE),
        ({"mark bit": Effects()}, 250.0, OTHERWISE),
        ({"mark bit": Effects(set(), [("choke-fig6", "controlled")])}, 250.0, BREAKING),
        # A number of the id that the reading breaks.
        ({}, 300.0, BREAKING),
    ],
)
def test_a_reading_of_an_id_is_that_of_the_paper_with_its_name(known, other, verdict):
    measured = {"mean": other, "low": other - 1, "high": other + 1}
    before = document(OTHERWISE, point(HELD, 250.0, readings={"mark bit, wait": measured}.items()), "mark bit, wait")
    (claim,) = settle(CHOKE, before, {"choke": known})["claims"]
    assert claim["verdict"] == verdict and ("breaks" in claim["why"]) == (verdict == BREAKING)


def test_a_claim_that_holds_under_a_reading_of_that_name_is_borne_out():
    """A claim that is newer than the readings of the whole paper: its id has run the reading itself."""
    fig7 = reproduce.definition("under-fig7")
    claim = {"id": "model", "verdict": INCONCLUSIVE, "why": "", "tried": {"Vegas repaired": {"state": "holds"}}}
    before = {"claims": [claim], "published": [], "bearing": None, "verdict": INCONCLUSIVE}
    verdicts = [
        settle(fig7, before, {"under": known})["claims"][0]["verdict"]
        for known in ({}, {"Vegas repaired": Effects()}, {"Vegas repaired": Effects(set(), [("under-fig8", "low")])})
    ]
    assert verdicts == [INCONCLUSIVE, OTHERWISE, INCONCLUSIVE]


def test_numbers_are_settled_and_claims_about_them_follow():
    number = point(OFF, 300.0)
    before = document(OFF, number)
    before["claims"][0]["id"] = "number"
    after = settle(CHOKE, before, {"choke": {"a": Effects({("choke-fig3", number_at(number))})}})
    assert [after["published"][0]["verdict"], after["claims"][0]["verdict"]] == [OTHERWISE, OTHERWISE]
    assert after["published"][0]["why"] == "reading: a" and after["claims"][0]["as_decided"] == OFF


@pytest.mark.parametrize(
    ("borne", "verdict"),
    [([{20.0, 40.0}], OTHERWISE), ([{20.0}, {40.0}], OFF), ([{20.0, 40.0}, {20.0}], OTHERWISE), ([], OFF)],
)
def test_several_numbers_need_one_reading_for_all(borne, verdict):
    """choke-fig5/drops is about five numbers; two are off, and each set-up bears out some of them."""
    one = reproduce.definition("choke-fig5")
    printed = [p for p in one.published if p.is_about({"measure": "drop"})]
    numbers = [
        {**point(OFF if off else HELD, 0.0), "measure": "drop", "label": "d", "at": p.at, "published": p.value}
        for p, off in zip(printed, (True, True, False, False, False), strict=True)
    ]
    places = [("choke-fig5", number_at(number)) for number in numbers[:2]]
    known = {str(n): Effects({places[0] if x == 20.0 else places[1] for x in some}) for n, some in enumerate(borne)}
    before = {**document(OFF, numbers[0]), "published": numbers}
    before["claims"][0]["id"] = "drops"
    assert settle(one, before, {"choke": known})["claims"][0]["verdict"] == verdict


def test_what_the_package_settles_by_is_what_is_stored():
    known = effects()
    assert whole.write(known) == whole.write(whole.stored()), "python -m experiments.pages readings"
    assert {name: dict(some) for name, some in whole.parse(whole.write(known)).items()} == {
        name: {key: Effects(found.borne, found.broken) for key, found in some.items()} for name, some in known.items()
    }
