"""Readings of a whole paper, on a paper of two short figures."""

from __future__ import annotations

import json

import pytest

from experiments.readings.page import page
from fairdrop import reproduce
from fairdrop.reproduce import across
from fairdrop.reproduce.across import Campaign, Matrix, of_key
from fairdrop.reproduce.define import reading
from fairdrop.reproduce.define.papers import add_folder, remove_folders
from fairdrop.reproduce.definitions import definition
from fairdrop.reproduce.execute.plan import Order, Part, cells
from fairdrop.reproduce.measure import runs

SCENARIO = """
name = "tiny"
duration = "12s"
warm_up = "2s"
sample = "0s"
[dumbbell]
rate = "1mbit"
[queue]
discipline = "choke"
limit = "60p"
[queue.red]
min_th = "5p"
max_th = "20p"
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
[[groups]]
name = "tcp"
transport = "newreno"
count = 4
"""
PAPER = """
title = "Tiny"
claimed = "Much."
[[readings]]
name = "slow"
question = "rate"
text = "UDP sends at half of the link's rate"
settings = ["groups.{group}.rate=500kbit"]
transports = ["cbr"]
[[readings]]
name = "fast"
question = "rate"
text = "UDP sends at five times the link's rate"
settings = ["groups.udp.rate=5mbit"]
[[readings]]
name = "three"
question = "candidates"
text = "CHOKe has two candidates more, in hardware"
settings = [
  "queue.discipline=choke_hardware", "queue.choke_hardware.candidates=3", "queue.choke_hardware.schedule={schedule}",
]
disciplines = ["choke"]
"""


def figure(name: str, discipline: str, low: int, high: int) -> str:
    return f"""
id = "tiny-{name}"
paper = "tiny"
kind = "simulation"
section = "1"
title = "t"
about = "a"
[simulation]
base = "base"
quick_seeds = 3
schemes = [{{ name = "{discipline}", discipline = "{discipline}" }}]
[[simulation.vary]]
name = "flows"
values = [4, 8]
set = ["groups.tcp.count={{}}"]
[[measures]]
name = "udp"
of = "throughput"
group = "udp"
scale = 0.001
unit = "kb/s"
[[published]]
measure = "udp"
at = {{ flows = 8 }}
value = {(low + high) / 2}
within = {(high - low) / 2}
[[claims]]
id = "udp"
text = "UDP gets this much"
kind = "between"
measure = "udp"
low = {low}
high = {high}
tolerance = "none"
"""


@pytest.fixture
def tiny(tmp_path):
    """One figure that a slow UDP bears out, and one that it breaks."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    texts = {
        "paper": PAPER, "base": SCENARIO,
        "tiny-fig1": figure("fig1", "droptail", 400, 520), "tiny-fig2": figure("fig2", "choke", 20, 420),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    forget()
    add_folder(folder)
    yield folder
    remove_folders(["tiny"])
    forget()


def forget():
    reading.paper.cache_clear()
    definition.cache_clear()


def campaign(tmp_path) -> Campaign:
    return Campaign("tiny", Order(), tmp_path / "readings", threads=1)


def test_a_reading_reaches_the_groups_and_disciplines_that_it_names(tiny):
    wide = {one.name: one for one in reproduce.paper("tiny").readings}

    def contents(name, *readings):
        part = Part(1, wide=tuple(wide[one] for one in readings))
        return [cell.content for cell in cells(definition(name), Order(), part)]

    assert [content["groups"][0]["settings"]["rate_bps"] for content in contents("tiny-fig1", "slow")] == [5e5, 5e5]
    assert [content["groups"][1]["count"] for content in contents("tiny-fig1", "slow")] == [4, 8], "what the id varies"
    assert contents("tiny-fig1", "three") == contents("tiny-fig1"), "no CHOKe there"
    (first, _) = contents("tiny-fig2", "three", "fast")
    assert first["queue"]["discipline"] == "choke_hardware" and first["queue"]["choke_hardware"]["candidates"] == 3
    assert first["groups"][0]["settings"]["rate_bps"] == 5e6


def test_each_reading_runs_against_every_id_and_each_simulation_once(tiny, tmp_path):
    one = campaign(tmp_path)
    one.check()
    planned = one.runs(one.singles())
    # Two ids of two points and three seeds; "three" changes one of them.
    assert len(planned) == 12 + 12 + 12 + 6
    for set_up in one.singles():
        one.make(set_up)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "readings" / "store").rglob("*.gz")}
    assert len(files) == len(planned) and not one.runs(one.singles())
    matrix = Matrix("tiny", one.digests)
    assert list(matrix.digests) == ["base", "slow", "fast", "three"] and matrix.ids() == ["tiny-fig1", "tiny-fig2"]
    assert matrix.digests["three"]["tiny-fig1"]["changed"] is False
    assert matrix.digests["base"]["tiny-fig1"]["claims"]["udp"]["verdict"] == "contradicted"
    saved, broken = matrix.bears_out("slow")
    assert {name for name, _ in saved} == {"tiny-fig1"} and {name for name, _ in broken} <= {"tiny-fig2"}
    assert matrix.still_broken("base") == [
        ("tiny-fig1", "udp", "contradicted"), ("tiny-fig1", "udp flows 8 = 460", "number off"),
    ]  # fmt: skip

    text = page([(matrix, "slow")])
    assert "| tiny-fig1 | +2 | same | · |" in text and "## Tiny" in text
    assert "Most claims and numbers hold under *slow*" in text and "Declared and not run yet" not in text
    del matrix.digests["fast"]
    assert "Declared and not run yet (`make readings` goes on): fast." in page([(matrix, None)])

    again = campaign(tmp_path)
    one = campaign(tmp_path)
    assert again.digests == one.digests
    for set_up in again.singles():
        again.make(set_up)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "readings" / "store").rglob("*.gz")} == files


def test_throughput_under_headers_is_of_data():
    """By hand: of 1040 bytes on the wire 1000 are data; the part of the link is of all of them."""
    run = {
        "link_rate_bps": 1e6, "link": "R",
        "groups": [
            {"name": "tcp", "throughput_bps": 520e3, "flows": 2, "offered_bps": 0.0},
            {"name": "udp", "throughput_bps": 480e3, "flows": 1, "offered_bps": 0.0},
        ],
        "flows": [
            {"name": "tcp[0]", "group": "tcp", "throughput_bps": 260e3},
            {"name": "udp", "group": "udp", "throughput_bps": 480e3},
        ],
        "queues": [{"name": "R", "throughput_bps_by_flow": [["tcp[0]", 520e3], ["udp", 480e3]]}],
    }  # fmt: skip
    data = runs.of_data(run, {"tcp": 40 / 1040, "udp": 0.0})
    assert runs.throughput(data, "tcp") == pytest.approx(500e3) and runs.throughput(data, "udp") == 480e3
    assert runs.throughput_per_flow(data, "tcp") == pytest.approx(250e3)
    assert [rate for _, rate in runs.flows(data)] == [pytest.approx(250e3), 480e3]
    assert runs.link_throughput(data, "R", "tcp") == pytest.approx(500e3)
    assert runs.link_flows(data, "R")[0] == (0.0, pytest.approx(500e3))
    assert runs.share(data, "tcp") == 0.52
    assert runs.of_data(run, {"tcp": 0.0, "udp": 0.0}) is run


def test_an_interrupted_campaign_goes_on(tiny, tmp_path):
    one = campaign(tmp_path)

    def stop(line):
        raise KeyboardInterrupt(line)

    with pytest.raises(KeyboardInterrupt, match="tiny: base: tiny-fig1"):
        one.make((), stop)
    again = campaign(tmp_path)
    assert again.missing(()) == ["tiny-fig2"]
    made = []
    again.make((), made.append)
    assert made == ["tiny: base: tiny-fig2"]
    # Another definition is another digest.
    path = tiny / "tiny-fig1.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("low = 400", "low = 300"), encoding="utf-8")
    forget()
    assert campaign(tmp_path).missing(()) == ["tiny-fig1"]


def test_the_search_finds_the_answers_under_which_most_holds(tiny, tmp_path):
    one = campaign(tmp_path)
    found = one.search()
    scores = {key: across.score(one.digests[key]) for key in one.digests}
    assert scores[across.key_of(found)] == max(scores.values()) > scores["base"]
    assert "slow" in found and of_key(across.key_of(found)) == found
    # Answers to one question exclude each other.
    assert not any({"slow", "fast"} <= set(of_key(key)) for key in scores)


def test_what_holds_with_a_reading_that_breaks_something_is_not_borne_out():
    def digest(claim, number):
        where = {"label": "x", "scheme": None, "at": {}, "unit": "kb/s"}
        point = {**where, "published": 1.0, "verdict": number, "apart": -0.5}
        return {"claims": {"a": {"verdict": claim}}, "numbers": [point]}

    digests = {
        "base": {"f": digest("contradicted", "holds"), "g": digest("holds", "holds")},
        "breaks": {"f": digest("holds", "holds"), "g": digest("holds", "number off")},
        "bears": {"f": digest("holds", "inconclusive"), "g": digest("holds", "holds")},
    }
    matrix = Matrix("p", digests)
    assert matrix.distances("base", "f") == {"kb/s": (1, 0.5)}
    assert matrix.bears_out("breaks") == ([("f", "a")], [("g", "x = 1")])
    assert matrix.holds_under() == {("f", "a"): ["bears"]}
    assert across.score(digests["base"]) == (3, -1) and across.score(digests["bears"]) == (3, 0)


def test_a_reading_that_changes_no_run_is_refused(tiny, tmp_path):
    path = tiny / "paper.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('disciplines = ["choke"]', 'disciplines = ["fred"]'), encoding="utf-8")
    forget()
    with pytest.raises(reproduce.DefinitionError, match="papers/tiny: reading 'three' changes no run of any id"):
        campaign(tmp_path).check()
    path.write_text(text.replace('name = "fast"', 'name = "slow"'), encoding="utf-8")
    forget()
    with pytest.raises(reproduce.DefinitionError, match=r"readings\.name .* names that differ"):
        reproduce.paper("tiny")


@pytest.mark.parametrize("name", ["choke", "micro", "chokew", "under", "ward"])
def test_readings_of_the_papers_change_runs(name, tmp_path):
    assert reproduce.paper(name).readings
    Campaign(name, Order(), tmp_path).check()


def test_a_document_of_something_else_is_no_digest(tiny, tmp_path):
    one = campaign(tmp_path)
    one.directory.mkdir()
    for text in ("", "[]", json.dumps({"schema": "fairdrop/result/1"})):
        one.path.write_text(text, encoding="utf-8")
        assert campaign(tmp_path).digests == {}
