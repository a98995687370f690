"""Meters as tables, traces on disk, and long work that goes on where it stopped."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections import Counter

import polars
import pyarrow.parquet
import pytest

import fairdrop as library
from patience import PATIENCE, OnTerminal, wait_for
from processes import Work

SHORT = ("--set", "duration=20s", "--set", "warm_up=5s")


@pytest.fixture(scope="module")
def result(headline):
    scenario = library.load(headline, ["duration=40s", "warm_up=10s", "positions=100ms", "sample=1s"])
    return scenario.compare(["red", "choke", "chokew"], seeds=2)


def test_link_tables_equal_the_document(result):
    runs = result.document["runs"]
    queues = [queue for run in runs for queue in run["queues"]]
    flows = [flow for queue in queues for flow in queue["flows"]]
    rows = result.link_flows.rows()
    assert [(row["flow"], row["arrivals"], row["departed_bytes"], row["match_probability"]) for row in rows] == [
        (flow["name"], flow["arrived"]["packets"], flow["departed"]["bytes"], flow["match_probability"])
        for flow in flows
    ]
    for row in rows:
        for unit in ("", "_bytes"):
            came = row[f"held_at_start{unit}"] + row["arrived_bytes" if unit else "arrivals"]
            gone = row["departed_bytes" if unit else "departures"] + row[f"dropped{unit}"]
            assert came == gone + row[f"held_at_end{unit}"]
    groups = [(group["name"], group["most_draws"]) for queue in queues for group in queue["groups"]]
    assert [(row["group"], row["most_draws"]) for row in result.link_groups.rows()] == groups
    drops = Counter()
    for row in result.link_drops.rows():
        drops[row["cause"]] += row["packets"]
    assert drops == Counter(
        {cause: n for cause, n in sum((Counter(q["drops"]) for q in queues), Counter()).items() if n}
    )
    assert len(result.link_marks) == 0


def test_internals_and_velocity(result):
    internals = {(row["discipline"], row["name"]) for row in result.internals.rows()}
    assert internals == {("red", "avg"), ("red", "count"), ("choke", "avg"), ("chokew", "p0")}
    series = result.internals_series.to_polars().filter(polars.col("name") == "avg")
    red_avg = result.series.to_polars().filter(polars.col("series") == "red_avg")
    assert series["value"].to_list() == red_avg["packets"].to_list()
    velocity = result.velocity.to_polars().filter((polars.col("discipline") == "choke") & (polars.col("seed") == 1))
    assert velocity["position"].to_list() == list(range(len(velocity)))
    assert velocity["packets_per_s"][0] > 1.2 * 125


def test_windows_are_for_tcp_only(result):
    for row in result.flows.rows():
        assert row["base_rtt_s"] == pytest.approx(0.006)
        known = [row[name] is not None for name in ("mean_cwnd_packets", "final_cwnd_packets", "srtt_s")]
        assert all(known) if row["group"] == "tcp" else not any(known)


def test_traces_on_disk(fairdrop, headline, tmp_path):
    words = ("run", headline, "--set", "warm_up=0s", "--set", "duration=30s", "--seeds", "2", "--json", "--quiet")
    done = fairdrop(*words, "--trace", "t")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["runs"] == json.loads(fairdrop(*words).stdout)["runs"], "a trace changes nothing"
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["choke-1", "choke-2"]
    folder = tmp_path / "t" / "choke-2"
    assert sorted(path.name for path in folder.iterdir()) == [
        "bottleneck.arrivals.pcap", "bottleneck.departures.pcap", "bottleneck.parquet",
    ]  # fmt: skip
    events = polars.from_arrow(pyarrow.parquet.read_table(folder / "bottleneck.parquet"))
    queue = document["runs"][1]["queues"][0]
    by_event = dict(events.group_by("event").len().iter_rows())
    assert by_event["arrive"] == queue["arrivals"]
    assert by_event["depart"] == queue["departures"]
    drops = dict(events.filter(polars.col("event") == "drop").group_by("cause").len().iter_rows())
    assert drops == {cause: packets for cause, packets in queue["drops"].items() if packets}
    assert events["time_ns"].is_sorted()
    assert set(events["flow"].unique()) == {flow["name"] for flow in queue["flows"]}
    # Arrivals can be replayed, and offer the same load.
    again = library.replay(folder / "bottleneck.arrivals.pcap", rate="1mbit", disciplines=["droptail"])
    assert again.document["scenario"]["capture"]["packets"] == queue["arrivals"]
    assert again.document["scenario"]["capture"]["bytes"] == queue["total"]["arrived"]["bytes"]


def test_a_trace_that_cannot_be_written_is_an_error(fairdrop, headline, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = fairdrop("run", headline, "--trace", "file/below", "--quiet", *SHORT)
    assert done.returncode == 2
    assert "file/below" in done.stderr


def strip(text):
    return json.loads(text) | {"command": None}


def test_resumed_work_is_that_of_one_go(fairdrop, headline, tmp_path):
    """Two seeds, then three and another discipline: the finished runs are taken over, the rest is done."""
    words = ("compare", headline, *SHORT, "--out", "o", "--quiet")
    whole = fairdrop(*words[:-2], "w", "--quiet", "--disciplines", "red,choke", "--seeds", "3", "--json")
    assert fairdrop(*words, "--disciplines", "choke", "--seeds", "2").returncode == 0
    document = json.loads((tmp_path / "o" / "result.json").read_text())
    # A mark on a run that is taken over would be noticed if it were simulated again.
    document["runs"][1]["events"] += 1
    (tmp_path / "o" / "result.json").write_text(json.dumps(document))
    done = fairdrop(*words, "--disciplines", "red,choke", "--seeds", "3", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    resumed = strip(done.stdout)
    assert resumed["runs"][4]["events"] == document["runs"][1]["events"]
    resumed["runs"][4]["events"] -= 1
    assert resumed == strip(whole.stdout)
    assert not (tmp_path / "o" / "runs").exists(), "everything is in the result"


def test_killed_work_is_resumed(fairdrop, headline, tmp_path):
    words = ["compare", headline, "--seeds", "40", "--disciplines", "choke", "--out", "o", "--resume", "--quiet"]
    command = [sys.executable, "-m", "fairdrop", *map(str, words)]
    with Work(command, cwd=tmp_path) as work:
        runs = tmp_path / "o" / "runs"
        wait_for(lambda: len(list(runs.glob("choke-*.json"))) > 2, "three runs")
        work.send_signal(signal.SIGKILL)
        work.wait()
    kept = sorted(path.name for path in runs.glob("choke-*.json"))
    assert len(kept) > 2
    assert not (tmp_path / "o" / "result.json").exists()
    seeds = max(int(name.removeprefix("choke-").removesuffix(".json")) for name in kept) + 1
    words[3] = str(seeds)
    done = fairdrop(*words, "--json")
    assert done.returncode == 0, done.stderr
    fresh = fairdrop("compare", headline, "--seeds", seeds, "--disciplines", "choke", "--json", "--quiet")
    assert strip(done.stdout) == strip(fresh.stdout)
    assert strip((tmp_path / "o" / "result.json").read_text()) == strip(fresh.stdout)


def test_interrupted_work_is_resumed(fairdrop, headline, tmp_path):
    """Ctrl-C leaves a result that says it is not complete, which is then completed."""
    words = ["run", headline, "--seeds", "10000", "--out", "o", "--resume", "--quiet"]
    command = [sys.executable, "-m", "fairdrop", *map(str, words)]
    with Work(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as work:
        runs = tmp_path / "o" / "runs"
        wait_for(lambda: len(list(runs.glob("choke-*.json"))) > 2, "three runs")
        work.send_signal(signal.SIGINT)
        work.wait(PATIENCE)
    assert work.returncode == 130
    partial = json.loads((tmp_path / "o" / "result.json").read_text())
    assert partial["complete"] is False
    assert 2 < len(partial["runs"]) < 10000
    assert len(pyarrow.parquet.read_table(tmp_path / "o" / "runs.parquet")) == len(partial["runs"])
    last = max(run["seed"] for run in partial["runs"])
    done = fairdrop("run", headline, "--seeds", last + 1, "--out", "o", "--resume", "--quiet", "--json")
    whole = json.loads(done.stdout)
    assert whole["complete"] is True
    known = {run["seed"]: run for run in whole["runs"]}
    assert all(known[run["seed"]] == run for run in partial["runs"])


def test_an_interrupted_first_run_leaves_an_empty_result(headline, tmp_path):
    words = ["run", headline, "--set", "duration=1e6", "--out", "o", "--json"]
    work = OnTerminal([sys.executable, "-m", "fairdrop", *map(str, words)], tmp_path)
    work.wait_until_shown(rb" %")
    status, stdout, terminal = work.end(signal.SIGINT)
    assert status == 130, terminal
    assert "Traceback" not in terminal
    document = json.loads(stdout)
    assert (document["complete"], document["runs"]) == (False, [])
    assert len(pyarrow.parquet.read_table(tmp_path / "o" / "flows.parquet")) == 0


def test_what_cannot_be_resumed_is_refused(fairdrop, headline, tmp_path):
    words = ("run", headline, *SHORT, "--quiet", "--out", "o")
    assert fairdrop(*words).returncode == 0
    before = (tmp_path / "o" / "result.json").read_bytes()
    cases = {
        "scenario.queue.red.max_p is 0.1 there and 0.05 here": ("--set", "queue.red.max_p=0.05"),
        "scenario.groups[1].count is 1 there and 2 here": ("--set", "groups.udp.count=2"),
        "scenario.duration_s": ("--set", "duration=21s"),
    }
    for expected, setting in cases.items():
        done = fairdrop(*words, *setting, "--resume")
        assert done.returncode == 2
        assert "o/result.json: cannot be resumed" in done.stderr
        assert expected in done.stderr, done.stderr
        assert (tmp_path / "o" / "result.json").read_bytes() == before
    document = json.loads(before)
    for change in ({"version": "0.0.1"}, {"kind": "replay"}):
        (tmp_path / "o" / "result.json").write_text(json.dumps(document | change))
        assert fairdrop(*words, "--resume").returncode == 2
    document["runs"][0]["invented"] = 1
    (tmp_path / "o" / "result.json").write_text(json.dumps(document))
    done = fairdrop(*words, "--resume")
    assert done.returncode == 2
    assert "another version" in done.stderr
    (tmp_path / "o" / "result.json").write_text("{")
    assert fairdrop(*words, "--resume").returncode == 2
    shutil.rmtree(tmp_path / "o")
    done = fairdrop("run", headline, "--resume")
    assert done.returncode == 2
    assert "--out" in done.stderr


def row(group, goodput, seed=1, **other):
    return {
        "discipline": "red", "seed": seed, "group": group, "transport": "reno", "base_rtt_s": 0.01, "class": 0,
        "throughput_bps": goodput, "goodput_bps": goodput, "share": goodput / 100, "arrivals": 10, "dropped": 2,
        "timeouts": 1, "fast_retransmits": 3, "retransmissions": 5, "mean_cwnd_packets": None, "srtt_s": None,
    } | other  # fmt: skip


def test_frequencies_by_hand():
    rows = [row("in", 4.0), row("in", 8.0), row("out", 0.0), row("out", 0.0), row("out", 2.0), row("out", 6.0)]
    inside, outside = library.measures.frequencies(rows)
    assert (inside.name, inside.values) == ("in", (4.0, 8.0))
    assert [outside.at(value) for value in (-1, 0, 1, 2, 5.9, 6, 7)] == [0, 0.5, 0.5, 0.75, 0.75, 1, 1]
    assert outside.points() == [(0.0, 0.5), (2.0, 0.75), (6.0, 1.0)]
    assert library.measures.frequencies([row("in", 1.0, goodput_bps=None)]) == []


def test_classes_by_hand():
    rows = [row("a", 10.0), row("a", 30.0), row("a", 0.0, seed=2), row("a", 20.0, seed=2, dropped=4, srtt_s=0.5)]
    rows += [row("b", 7.0, base_rtt_s=0.1), row("b", 7.0, base_rtt_s=0.1)]
    first, second = library.measures.classes(rows)
    assert (first.flows, first.starved_flows, first.throughput_bps) == (2, 0.5, 15)
    assert first.share == pytest.approx(0.3)
    assert first.drop_fraction == 10 / 40
    # (40^2 / (2 * 1000) + 20^2 / (2 * 400)) / 2, and (30 / 20 + 20 / 10) / 2.
    assert (first.jain_index, first.largest_over_mean) == (pytest.approx(0.65), pytest.approx(1.75))
    assert (first.timeouts, first.srtt_s, first.mean_cwnd_packets) == (1, 0.5, None)
    assert (second.jain_index, second.largest_over_mean) == (1, 1)
    assert [found.name for found in library.measures.classes(rows, "base_rtt_s")] == [0.01, 0.1]
    assert library.measures.jain_index([0.0, 0.0]) is None
    (low, high) = library.measures.classes([row("a", 4.0), row("b", 6.0), row("c", 5.0, **{"class": 1})], "class")
    assert (low.name, low.aggregate_goodput_bps, high.name, high.aggregate_goodput_bps) == (0, 10, 1, 5)


def test_the_simulator_and_the_package_agree_on_jains_index(headline):
    """In every group of every flow table, and where a group gets nothing at all."""
    scenario = library.load(headline, ["duration=40s", "warm_up=20s"])
    result = scenario.compare(["droptail", "choke"], seeds=2)
    flows = result.flows.rows()
    compared = []
    for run in result.document["runs"]:
        for group in run["groups"]:
            place = (run["discipline"], run["seed"], group["name"])
            rates = [row["throughput_bps"] for row in flows if (row["discipline"], row["seed"], row["group"]) == place]
            assert library.measures.jain_index(rates) == pytest.approx(group["jain_index"]), place
            compared.append(group["jain_index"])
    assert None in compared, "under DropTail TCP gets nothing here"
    assert len(set(compared)) > 3


def test_measures_of_a_result(result):
    groups = {(found.discipline, found.name): found for found in result.classes()}
    for (discipline, name), found in groups.items():
        rows = [row for row in result.groups.rows() if (row["discipline"], row["group"]) == (discipline, name)]
        assert found.share == pytest.approx(sum(row["share"] for row in rows) / len(rows))
        assert found.starved_flows == sum(row["starved_flows"] for row in rows) / len(rows)
        assert found.jain_index == pytest.approx(sum(row["jain_index"] for row in rows) / len(rows))
    assert {found.name for found in result.classes("transport")} == {"reno", "cbr"}
    (choke,) = [found for found in result.frequencies() if (found.discipline, found.name) == ("choke", "tcp")]
    assert len(choke.values) == 64
    assert choke.at(0) * 64 == 2 * groups["choke", "tcp"].starved_flows


def test_show_prints_what_the_meters_found(fairdrop, headline):
    words = ("compare", headline, *SHORT, "--disciplines", "red,chokew", "--seeds", "2", "--out", "o", "--quiet")
    assert fairdrop(*words).returncode == 0
    shown = fairdrop("show", "o")
    assert shown.returncode == 0, shown.stderr
    links, internals, senders, caption = shown.stdout.strip().split("\n\n")
    assert [line.split()[:3] for line in links.splitlines()[1:]] == [
        [discipline, "bottleneck", group] for discipline in ("red", "chokew") for group in ("tcp", "udp")
    ]
    assert [line.split()[2] for line in internals.splitlines()] == ["value", "avg", "count", "p0"]
    assert [line.split()[:3] for line in senders.splitlines()[1:]] == [
        ["red", "reno", "tcp"],
        ["chokew", "reno", "tcp"],
    ]
    assert caption == "(mean over 2 seeds)"
    assert fairdrop("show", "nosuch").returncode == 2
