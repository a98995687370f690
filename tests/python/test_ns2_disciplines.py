"""CHOKe, CHOKeW and WARD as modules of ns-2: what is stored of the comparison, and a part of it anew."""

from __future__ import annotations

import re
import subprocess

import pytest

import fairdrop
from experiments.digests import read
from experiments.validation import ns2_disciplines as disciplines
from experiments.validation import page
from experiments.validation.beside_ns2 import installed
from experiments.validation.ns2_modules.build import MODULE

Arrival = disciplines.Arrival


@pytest.fixture(scope="module")
def rows():
    return read(disciplines.TARGET)


def documented(path):
    """The default of a parameter, without its unit."""
    owner, name = path.split(".")
    (found,) = (one for one in fairdrop.catalogue()["disciplines"] if one["name"] == owner)
    (default,) = (one["default"] for one in found["parameters"] if one["name"] == name)
    return default


def number(default):
    return float(default.rstrip("pB") if isinstance(default, str) else default)


def test_defaults_of_the_modules_are_those_documented():
    defaults = page.defaults()
    for kind, names in page.PARAMETERS.items():
        assert set(defaults[kind]) == set(names) | (set(defaults[kind]) & set(page.OTHERS)), kind
        for name, path in names.items():
            if path != "chokew.weights":
                assert defaults[kind][name] == number(documented(path)), name
    assert [defaults["CHOKeW"]["weight0_"], defaults["CHOKeW"]["weight1_"]] == [1, 2]
    assert documented("chokew.weights") == [1, 2]
    # 1 Mb/s, the link of the papers, in packets of the default size.
    assert defaults["CHOKe"]["packets_per_s_"] == 1e6 / 8 / number(documented("red.mean_packet_size"))


def test_modules_read_what_has_a_default(root):
    folder = root / "experiments" / "validation" / "ns2_modules"
    common = (folder / "comparing.cc").read_text(encoding="utf-8")
    for kind, values in page.defaults().items():
        source = common + (folder / f"{kind.lower()}.cc").read_text(encoding="utf-8")
        assert set(re.findall(r'bind(?:_bool)?\("(\w+)"', source)) == set(values), kind


def test_each_run_is_stored_once(rows):
    wanted = [
        (discipline.name, str(load), str(seed))
        for discipline in disciplines.DISCIPLINES
        for load in disciplines.LOADS
        for seed in disciplines.SEEDS
    ]
    assert [(row["discipline"], row["load"], row["seed"]) for row in rows] == wanted
    for row in rows:
        outcomes = sum(int(row[outcome]) for outcome in disciplines.OUTCOMES)
        assert outcomes == int(row["arrivals"]) > 10_000, row
        # Something was compared: arrivals met packets of their flow.
        assert int(row["match_arriving"]) > 100, row


def test_every_stored_run_is_the_same(rows):
    for row in rows:
        assert row["same_moved"] == row["arrivals"], row
        assert int(row["same"]) <= int(row["same_moved"]) <= int(row["arrivals"]), row
        assert bool(row["moved"]) <= (row["same"] != row["arrivals"]), row


def test_arrivals_of_a_trace():
    def event(time, what, packet, cause=None):
        return {"time_ns": time, "event": what, "cause": cause, "flow": f"flow{packet}[0]", "seq": 9, "packet": packet}

    events = [
        event(1, "arrive", 4), event(1, "enqueue", 4),
        event(2, "arrive", 6), event(2, "drop", 4, "match_queued"), event(2, "drop", 6, "match_arriving"),
        event(3, "arrive", 7), event(3, "enqueue", 7), event(4, "depart", 7),
        event(5, "arrive", 8), event(5, "drop", 8, "red_early"),
    ]  # fmt: skip
    assert disciplines.arrivals_of(events) == [
        Arrival(1, 4, 9, "queued", ()),
        Arrival(2, 6, 9, "match_arriving", (0,)),
        Arrival(3, 7, 9, "queued", ()),
        Arrival(5, 8, 9, "red_early", ()),
    ]
    assert disciplines.arrival_of("1.5 33 0 match_arriving 12 7") == Arrival(
        1_500_000_000, 33, 0, "match_arriving", (7, 12)
    )


@pytest.mark.parametrize(
    "change", [{"flow": 2}, {"segment": 7}, {"outcome": "overflow"}, {"discarded": (1,)}, {"time_ns": 9000}]
)
def test_any_difference_is_found(change):
    peers = [Arrival(index, 1, index, "queued", ()) for index in range(5)]
    mine = [*peers[:3], peers[3]._replace(**change), *peers[4:]]
    assert disciplines.agreeing(mine, peers) == 3
    assert disciplines.agreeing(peers, peers) == 5
    assert disciplines.agreeing([*peers, peers[0]], peers) == 4, "one more on our side"


def test_hosts_are_moved_only_where_two_flows_are_swapped():
    setup = disciplines.Setup(disciplines.DISCIPLINES[0], disciplines.LOADS[0], 1, 1, None, 0, {})
    peers = [Arrival(index, index, 0, "queued", ()) for index in range(5)]
    # Another decision about the same packet: nothing is moved, nothing is run.
    mine = [*peers[:3], peers[3]._replace(outcome="overflow"), *peers[4:]]
    assert disciplines.decided_as_ns2(setup, mine, peers) == ([], mine)


@pytest.fixture
def ns2():
    """The command of ns-2."""
    command = installed()
    if command is None or not MODULE.exists():
        pytest.skip("needs Debian's ns2, and its modules: make ns2-modules")
    return command


@pytest.mark.parametrize(("thresholds", "seed"), [((30, 60), 1), ((5, 15), 2)])
def test_without_candidates_the_module_is_the_red_of_ns2(ns2, tmp_path, thresholds, seed):
    low, high = thresholds
    rate = 1e6 / 8 / disciplines.PACKET_BYTES
    settings = f"candidates_ 0 thresh_ {low} maxthresh_ {high} packets_per_s_ {rate!r}"
    common = (
        f"-tcp_flows 32 -udp_flows 1 -udp_rate 1970003 -packet_size {disciplines.PACKET_BYTES} -access_rate 9700000 "
        f"-timerfix 0 -measure 2 -scheduler List -duration 40 -warm_up 0 -seed {seed} "
    ).split()
    traces = []
    for options in (
        ["-queue", "red", "-min_th", str(low), "-max_th", str(high), "-use_mark_p", "0"],
        ["-queue", "CHOKe", "-module", str(MODULE), "-settings", settings],
    ):
        trace = tmp_path / f"{len(traces)}.tr"
        argv = [ns2, str(disciplines.SCRIPT), *common, *options, "-trace", str(trace)]
        subprocess.run(argv, check=True, capture_output=True, timeout=300)
        traces.append(trace.read_text(encoding="utf-8"))
    assert traces[0] == traces[1]
    assert traces[0].count("\nd ") > 1000, "packets were dropped"


@pytest.mark.parametrize("name", ["CHOKe, two candidates", "CHOKeW, a short queue", "WARD, 32 packets"])
def test_arrivals_are_those_of_ns2(ns2, name):
    (discipline,) = (one for one in disciplines.DISCIPLINES if one.name == name)
    load = disciplines.LOADS[0]
    drawn, peers = disciplines.theirs(ns2, discipline, load, 1, 10)
    first_ns = next(arrival.time_ns for arrival in peers if arrival.flow == load.flows + 1)
    mine = disciplines.Setup(discipline, load, 1, 10, drawn, first_ns, {}).arrivals()
    assert disciplines.agreeing(mine, peers) == len(peers) > 2000
