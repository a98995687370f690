"""Reproductions ask whether their runs had settled, and judge again after a longer warm-up."""

from __future__ import annotations

import pytest

from fairdrop import reproduce
from fairdrop.reproduce.define.papers import names
from fairdrop.reproduce.definitions import parse
from fairdrop.reproduce.execute.plan import Order, Part, cells
from fairdrop.reproduce.execute.store import Store
from fairdrop.reproduce.judge.settled import lengthen
from fairdrop.reproduce.measure.data import Data, Row
from fairdrop.reproduce.outcome import reproduce as run
from fairdrop.reproduce.show.page import after_longer, unsettled

# CHOKeW with steps of a tenth: its drawing factor needs a minute and more.
SLOW = """
id = "chokew-fig10"
paper = "chokew"
kind = "simulation"
section = "none"
title = "A drawing factor that climbs"
about = "Measured too early."

[simulation]
base = "two-udp"
settings = ["duration=60s", "warm_up=2s", "queue.chokew.p_plus=0.0002", "queue.chokew.p_minus=0.0001"]
schemes = [{ name = "chokew", discipline = "chokew" }, { name = "droptail", discipline = "droptail" }]

[[measures]]
name = "share"
of = "share"
group = "udp"
label = "UDP's share"

[[claims]]
id = "early"
text = "UDP has more than a fiftieth of the link"
kind = "between"
measure = "share"
scheme = "chokew"
low = 0.02
tolerance = "none"
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    return run(parse(SLOW, "f", "chokew-fig10"), Order(seeds=5), Store(tmp_path_factory.mktemp("store")), 2)


def test_what_had_not_settled_is_reported_and_run_again(slow):
    settled = slow.document["warm_up"]
    assert settled["asked"] == 2
    moved = [one for one in settled["unsettled"] if one["series"] == "p0"]
    assert [one["scheme"] for one in moved] == ["chokew"] and moved[0]["warm_up_s"] == 2.0
    assert moved[0]["first"] < 0.5 * moved[0]["last"] and moved[0]["runs"] == 5
    longer = settled["longer"]
    assert longer["reading"] == "base" and longer["set_ups"] == len({one["scheme"] for one in settled["unsettled"]})
    (row,) = [row for row in unsettled(slow) if row["where"] == "chokew"]
    assert row["by"] > 0.5


def test_a_verdict_that_the_warm_up_made_is_reported(slow):
    """UDP is shut out once the factor has grown: from 2 s on it has a twentieth of the link, from 60 s on nothing."""
    (claim,) = slow.document["claims"]
    (changed,) = slow.document["warm_up"]["longer"]["claims"]
    assert (claim["verdict"], changed["before"]) == ("holds", "holds")
    assert changed["after"] == "contradicted"
    assert after_longer(slow) == "UDP has more than a fiftieth of the link: holds, then contradicted"


def test_only_what_had_not_settled_runs_longer():
    one = parse(SLOW, "f", "chokew-fig10")
    part = Part(2, longer=frozenset([("chokew", ())]))
    (cell,) = cells(one, Order(), part)
    assert (cell.scheme, cell.content["warm_up_s"], cell.content["duration_s"]) == ("chokew", 60.0, 118.0)


def test_rows_of_a_longer_run_take_the_place_of_their_own():
    def row(scheme, value, **at):
        return Row(scheme, at, "share", (value,) * 3)

    model = Row("model", {"rate": 1}, "share", (9.0,), exact=True)
    data = Data([row("a", 1.0, rate=1), row("a", 2.0, rate=2, flow=1), row("a", 3.0, rate=2, flow=2), model])
    longer = Data([row("a", 5.0, rate=2, flow=1), row("a", 6.0, rate=2, flow=3), model])
    found = lengthen(data, longer, frozenset([("a", (("rate", 2),))]))
    assert [(dict(one.at), one.values[0]) for one in found.rows] == [
        ({"rate": 1}, 1.0), ({"rate": 2, "flow": 1}, 5.0), ({"rate": 1}, 9.0), ({"rate": 2, "flow": 3}, 6.0),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["choke-fig3", "choke-table1", "chokew-fig9", "ward-table3", "under-fig6", "micro-c3"])
def test_to_ask_changes_no_result(name):
    """A run with the grid of the check is the run without, but for the series and the number of events."""

    def stripped(document):
        (found,) = document["runs"]
        queues = [{key: value for key, value in queue.items() if key != "series"} for queue in found["queues"]]
        return {**found, "queues": queues, "events": 0}

    for cell in list(cells(reproduce.definition(name), Order(), Part(1)))[::7]:
        short = cell.scenario.with_settings("seed=1", f"duration={cell.content['warm_up_s'] + 5}s")
        assert cell.is_to_settle and not cell.content["sample_s"]
        asked = short.with_settings("sample=12347us").run(1, threads=1).document
        assert stripped(asked) == stripped(short.run(1, threads=1).document)
        assert len(asked["runs"][0]["queues"][0]["series"]["t_s"]) > 400


def test_every_set_up_that_has_a_warm_up_is_asked():
    """All but those that are measured from their start, and those in which sources come and go."""
    for name in names():
        for cell in cells(reproduce.definition(name), Order(), Part(1)):
            groups = cell.content["groups"]
            comes = any(one["stop_s"] is not None or one["start_s"] > cell.content["warm_up_s"] for one in groups)
            assert cell.is_to_settle or not cell.content["warm_up_s"] or comes, name
            assert cell.content["warm_up_s"] > 0 or not cell.is_to_settle
