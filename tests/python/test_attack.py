"""The campaign of attacks: what senders do, how they are judged, and that searches go on where they stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairdrop
from experiments.attack import campaign as attack
from experiments.attack import page, senders

ROAD = senders.small(senders.ROADS[0])


@pytest.mark.parametrize("road", senders.ROADS, ids=lambda road: road.name)
@pytest.mark.parametrize("goal", senders.GOALS.values(), ids=lambda goal: goal.name)
def test_attacks_are_valid_scenarios(road: object, goal: object) -> None:
    """Known attacks, and the corners of a search's parameters."""
    knobs = goal.knobs(road)
    corners = [goal.attack(knobs, tuple([part] * len(knobs))) for part in (0.0, 0.5, 1.0)] if knobs else []
    for one in [*goal.known(road).values(), *corners]:
        load = road.load(one, goal.forged)
        groups = fairdrop.Scenario(load.toml(), load.name).to_dict()["groups"]
        own = [group for group in groups if "seen_as" not in group or goal.forged]
        names = {group["name"].partition(".")[0] for group in own if group["name"].startswith("attack")}
        tcp = [group for group in groups if not group["name"].startswith(("attack", "crowd"))]
        assert len(names) == one["ids"] or own[-1]["count"] == one["ids"]
        assert sum(group["count"] for group in tcp) == road.flows
        assert senders.text(senders.read(senders.text(one))) == senders.text(one)


@pytest.mark.parametrize(
    ("name", "value"),
    [("load", 3.21), ("period", 0.0432), ("on", 0.05), ("size", 333.0), ("ids", 7.0), ("spread", 0.25)],
)
def test_knobs_go_there_and_back(name: str, value: float) -> None:
    knob = next(knob for knob in senders.GOALS["ids"].knobs(ROAD) if knob.name == name)
    assert knob.at(knob.part(value)) == value
    assert knob.part(knob.low) == 0.0 and knob.part(knob.high) == 1.0 and knob.part(2 * knob.high) == 1.0


@pytest.mark.parametrize(
    "words",
    [
        "load=0.7 ids=1 period=0.01 on=1 spread=0 size=1000",
        "load=0.9 ids=4 period=0.5 on=0.1 spread=1 size=200",
        "load=0.8 ids=3 period=3 on=0.02 spread=0 size=1500",
        "load=0.9 ids=2 period=3 on=0.1 spread=1 size=100",
    ],
)
def test_attackers_send_what_they_say(words: str) -> None:
    """Below the link's rate, beside nobody: within a period of 30 s."""
    one = senders.read(words)
    quiet = senders.replace(ROAD, flows=1, duration_s=40.0, warm_up_s=10.0)
    load = quiet.load(one, False)
    alone = senders.replace(load, groups=load.groups[1:], limit=5000)
    run = fairdrop.Scenario(alone.toml(), "alone", ["queue.discipline=droptail"]).run(1).document["runs"][0]
    assert run["valid"]
    offered = sum(group["offered_bps"] for group in run["groups"])
    assert offered == pytest.approx(one["load"] * quiet.fair(1), rel=0.11)


def _rates(name: str, goal: str, words: str) -> float:
    about = attack.Task(ROAD, senders.GOALS[goal], name, words, 1)
    return senders.score(about.goal, ROAD, senders.read(words), attack.measure(about))


def test_scores() -> None:
    """DropTail gives a flood of twice the link nearly all of it; fair queueing halves what a forged id leaves."""
    flood = senders.text(senders.GOALS["gain"].known(ROAD)["flood at twice the link"])
    assert _rates("droptail", "gain", flood) == pytest.approx(ROAD.flows + 1, rel=0.1)
    assert _rates("droptail", "split", flood) > 0.9
    assert _rates("fq", "gain", flood) == pytest.approx(1.0, rel=0.3)
    even = senders.text(senders.GOALS["harm"].known(ROAD)["its fair share, evenly"])
    assert _rates("fq", "harm", even) == pytest.approx(0.0, abs=0.1)
    assert _rates("fq", "forged", even) > 0.35
    assert _rates("fq", "gain", even) == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    ("ids", "part", "mbps"),
    [(100, 0.2, 8.0), (300, 0.4, 6.0), (10, 0.4, 20 / 3), (300, 0.95, 0.625)],
)
def test_tcp_has_its_max_min_share_beside_a_crowd(ids: int, part: float, mbps: float) -> None:
    """What small ids leave, or as much as each of them where they send more than that."""
    one = senders.GOALS["crowd"].known(ROAD)["300 ids, 40 %"] | {"ids": ids, "load": part * (ROAD.flows + 1)}
    assert senders.score(senders.GOALS["crowd"], ROAD, one, {"tcp_bps": mbps * 1e6}) == pytest.approx(0.0, abs=1e-9)


def test_a_crowd_takes_nothing_under_fair_queueing() -> None:
    crowd = senders.GOALS["crowd"].known(ROAD)["100 ids, 20 % of the link"]
    assert abs(_rates("fq", "crowd", senders.text(crowd))) < 0.1
    assert _rates("droptail", "crowd", senders.text(crowd | {"load": 2.0 * (ROAD.flows + 1)})) > 0.5


def test_stored_rows_are_replaced_one_search_at_a_time() -> None:
    old = [dict.fromkeys(attack.SUMMARY, "1") | {"road": r.name, "goal": "gain", "discipline": d} for r in senders.ROADS
           for d in ("collar", "choke")]  # fmt: skip
    new = [old[0] | {"score": "2"}, old[2] | {"goal": "crowd"}]
    merged = attack.merged(old, new)
    assert len(merged) == len(old) + 1 and merged[0] == new[0] and new[1] in merged and old[0] not in merged


def test_searches_are_resumed(tmp_path: Path) -> None:
    """A store that was cut off gives the same result; the worst found is no less than what is known."""
    path, goal = tmp_path / "store.csv", senders.GOALS["gain"]
    first = attack.Store(path, 1)
    rows = attack.campaign(first, [ROAD], [goal], ["droptail"], generations=2)
    assert first.made == len(path.read_text().splitlines()) - 1 > 0
    worst = next(row for row in rows if row["kind"] == "worst")
    assert float(worst["searched"]) >= 0.9 * max(float(row["score"]) for row in rows)
    whole = path.read_text()
    again = attack.Store(path, 1)
    assert attack.campaign(again, [ROAD], [goal], ["droptail"], generations=2) == rows and again.made == 0
    path.write_text(whole[:-9])
    cut = attack.Store(path, 1)
    assert attack.campaign(cut, [ROAD], [goal], ["droptail"], generations=2) == rows and cut.made == 1
    assert path.read_text() == whole


def test_the_page_is_that_of_the_results() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert dict(page.files()) == {page.PAGE: text}
    searched = [goal for goal in senders.GOALS.values() if goal.knobs(ROAD)]
    assert text.count("worst found**") == sum(len(goal.roads(senders.ROADS)) for goal in searched)
