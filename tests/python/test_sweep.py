"""Sweeps: axes, designs, seeds, the store, the data set, what is lost when something goes wrong."""

from __future__ import annotations

import json
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import duckdb
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairdrop
from fairdrop import _core
from fairdrop.estimate import TIME_RESOLUTION, estimate, resolution_of
from fairdrop.measures import loss_synchronisation
from fairdrop.plot.cells import Shown
from fairdrop.plot.sweeps import by_environment, front
from fairdrop.progress import Progress
from fairdrop.study import axes as axes_module
from fairdrop.study import dataset, definition
from fairdrop.study.axes import StudyError, read_axes
from fairdrop.study.campaign import Campaign, enough
from fairdrop.study.definition import make_study, read_study
from fairdrop.study.fronts import environments, set_ups
from fairdrop.study.reads import reads
from fairdrop.study.runs import GROUP_COLUMNS, LINK_COLUMNS, open_points, packed, unpack
from fairdrop.study.store import Store
from fairdrop.wording.numbers import number_and_half
from patience import PATIENCE, wait_for
from processes import Work
from test_left_behind import small_disk

SHORT = ["duration=3s", "warm_up=1s"]
STUDY = """\
base = "headline.toml"
settings = ["duration=3s", "warm_up=1s"]
seeds = 3

[axes]
discipline = ["red", "choke"]
queue.red.max_p = [0.02, 0.1]
groups.udp.rate = { from = "500kbit", to = "2mbit", points = 3, log = true }
"""
RUNS = 2 * 2 * 3 * 3


@pytest.fixture
def study(headline, tmp_path):
    (tmp_path / "headline.toml").write_text(headline.read_text())
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


@pytest.fixture(scope="module")
def scenario(headline):
    return fairdrop.load(headline, SHORT)


@pytest.fixture(scope="module")
def done(scenario, tmp_path_factory):
    """A sweep over three axes."""
    axes = {"discipline": ["red", "choke"], "queue.red.max_p": [0.02, 0.1], "groups.udp.rate": ["500kbit", "1mbit"]}
    return fairdrop.sweep(scenario, axes=axes, seeds=2, out=tmp_path_factory.mktemp("sweep") / "s")


def levels(spec, drawn=False):
    (axis,) = read_axes({"queue.red.max_p": spec}, drawn)
    return list(axis.levels)


def as_bytes(folder: Path) -> dict[str, bytes]:
    data = folder / "data"
    return {str(path.relative_to(data)): path.read_bytes() for path in sorted(data.rglob("*.parquet"))}


# Axes and designs.


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ([0.1, 0.2], [0.1, 0.2]),
        ({"from": 0.1, "to": 0.4, "step": 0.1}, [0.1, 0.2, 0.3, 0.4]),
        ({"from": 0, "to": 4, "points": 3}, [0, 2, 4]),
        ({"from": 1, "to": 4, "points": 9, "log": True}, [1, 2, 3, 4]),
        ({"from": 0.0, "to": 1.0, "points": 3}, [0.0, 0.5, 1.0]),
        ({"from": 1, "to": 100, "points": 3, "log": True}, [1, 10, 100]),
        ({"from": "1mbit", "to": "100mbit", "points": 3, "log": True}, [1_000_000, 10_000_000, 100_000_000]),
        ({"from": 1, "to": 10, "step": 4}, [1, 5, 9]),
    ],
)
def test_values_of_an_axis(spec, expected):
    assert levels(spec) == expected
    assert [type(value) for value in levels(spec)] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "there is none"),
        ({"seed": "7"}, "valid: a list of values"),
        ({"a.b": []}, r"axes.a.b = \[\] is not valid"),
        ({"a.b": [1, 1]}, "has a value twice"),
        ({"a.b": {"from": 1, "to": 5}}, "either points or step"),
        ({"a.b": {"from": 5, "to": 1, "points": 3}}, "is not below to"),
        ({"a.b": {"from": 0, "to": 1, "points": 3, "log": True}}, "a number above 0, as log is true"),
        ({"a.b": {"from": "1mbit", "to": "20ms", "points": 3}}, "texts of one unit"),
        ({"a.b": {"from": 1, "to": 5, "points": 1}}, "from 2 to 1000000"),
        ({"a.b": {"from": 0, "to": 1, "points": 3}}, "0 and 1 are whole, and so are all values between; valid: fewer"),
        ({"a.b": {"from": 1, "to": 5, "stepp": 1}}, "stepp is not known .did you mean step.*; valid: "),
        ({"a.b": [float("nan")]}, "nan is not valid"),
        ({"a.b": {"values": [1], "from": 2}}, "valid: one of them"),
        ({"x.share": [1, 2]}, "is the name of another column"),
    ],
)
def test_wrong_axes_are_refused(axes, message):
    with pytest.raises(StudyError, match=message):
        make_study({"axes": axes}, "s", Path(), fairdrop.Scenario('[[groups]]\nname = "g"\ntransport = "reno"\n'))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seds": 3}, "seds is not known .did you mean seeds.*; valid: schema, name"),
        ({"seeds": 0}, "seeds = 0 is not valid; valid: a whole number from 1"),
        ({"design": "grid"}, "design.kind = 'grid' is not valid; valid: product, zip"),
        ({"design": {"kind": "sobol", "points": 12}}, "valid: a power of two"),
        ({"design": "sobol"}, "design.points is missing; valid: a whole number"),
        ({"stop": {"half_width": 1}}, "stop.measure is missing; valid: starved_flows, "),
        ({"design": "zip"}, "a has 2, b has 3; valid: as many values on each axis"),
        ({"design": {"kind": "product", "points": 3}}, "design.points is not known with product"),
        ({"stop": {"measure": "speed", "half_width": 1}}, "stop.measure = 'speed' is not valid; valid: "),
        ({"stop": {"measure": "share", "half_width": 1}}, "stop.group is missing; valid: the name of a group"),
        ({"stop": {"measure": "run_jain_index"}}, "either half_width or relative"),
        ({"schema": "fairdrop/study/9"}, "valid: 'fairdrop/study/1'"),
    ],
)
def test_wrong_studies_are_refused(scenario, fields, message):
    with pytest.raises(StudyError, match=message):
        make_study({"axes": {"x.a": [1, 2], "x.b": [1, 2, 3]}, **fields}, "s", Path(), scenario)


def test_columns_are_called_by_field_and_unit():
    axes = read_axes(
        {
            "queue.red.max_p": [0.1], "queue": {"limit": ["100p", "200p"]}, "groups.udp.rate": ["1mbit"],
            "dumbbell.delay": ["1ms", "1s"], "dumbbell.rate": ["1mbit"],
            "mine": {"field": "duration", "values": ["3s"]},
        },
        drawn=False,
    )  # fmt: skip
    found = {axis.column: (axis.kind, axis.field) for axis in axes}
    assert found == {
        "max_p": ("number", "queue.red.max_p"),
        "limit_packets": ("count", "queue.limit"),
        "udp_rate_bps": ("count", "groups.udp.rate"),
        "delay_s": ("number", "dumbbell.delay"),
        "rate_bps": ("count", "dumbbell.rate"),
        "mine_s": ("number", "duration"),
    }


def test_designs_that_draw(scenario):
    axes = {
        "queue.red.max_p": {"from": 0.01, "to": 1.0, "log": True},
        "groups.tcp.count": {"from": 1, "to": 8},
        "discipline": ["red", "choke"],
    }
    for kind in ("latin_hypercube", "sobol"):
        study = make_study({"axes": axes, "design": {"kind": kind, "points": 16, "seed": 3}}, "s", Path(), scenario)
        assert len(study.points) == 16
        columns = list(zip(*(point.levels for point in study.points), strict=True))
        # One in each sixteenth of the logarithmic axis; each of eight counts twice; half of the names each.
        sixteenths = sorted(int(math.log(value / 0.01) / math.log(100) * 16) for value in columns[0])
        assert sixteenths == list(range(16))
        assert sorted(columns[1]) == sorted([*range(1, 9)] * 2)
        assert sorted(columns[2]) == ["choke"] * 8 + ["red"] * 8
        again = make_study({"axes": axes, "design": {"kind": kind, "points": 16, "seed": 3}}, "s", Path(), scenario)
        assert again.points == study.points


def test_points_of_total_indices(scenario):
    """Two samples, then the first with one column of the second each: Saltelli's design."""
    axes = {"queue.red.max_p": {"from": 0.01, "to": 1.0, "log": True}, "queue.red.w_q": {"from": 0.001, "to": 0.01}}
    study = make_study({"axes": axes, "design": {"kind": "saltelli", "points": 8}}, "s", Path(), scenario)
    levels = [point.levels for point in study.points]
    assert len(levels) == 8 * (2 + 2)
    a, b, first, second = (levels[start : start + 8] for start in range(0, 32, 8))
    assert first == [(other[0], one[1]) for one, other in zip(a, b, strict=True)]
    assert second == [(one[0], other[1]) for one, other in zip(a, b, strict=True)]
    assert not set(a) & set(b)
    with pytest.raises(fairdrop.StudyError, match="power of two with saltelli"):
        make_study({"axes": axes, "design": {"kind": "saltelli", "points": 9}}, "s", Path(), scenario)


def test_completion_times_are_means_over_all_sizes(root, tmp_path):
    scenario = fairdrop.load(root / "scenarios" / "web.toml", ["duration=20s", "warm_up=5s"])
    done = fairdrop.sweep(scenario, axes={"discipline": ["red"]}, seeds=1, out=tmp_path / "o")
    rows = [
        row
        for row in scenario.with_settings("queue.discipline=red").run().transfers.rows()
        if row["group"] == "web" and row["completed"]
    ]
    assert len(rows) > 2
    mean = sum(row["completed"] * row["fct_mean_s"] for row in rows) / sum(row["completed"] for row in rows)
    found = {row["group"]: row["fct_mean_s"] for row in done.table.rows()}
    assert found["web"] == pytest.approx(mean, rel=1e-12)
    assert found["long"] is None and found["udp"] is None


def test_synchronisation_is_that_of_the_recorded_windows(scenario, tmp_path):
    settings = ['windows=["tcp"]', "sample=100ms", "duration=60s", "warm_up=10s", "groups.udp.rate=100kbit"]
    done = fairdrop.sweep(scenario.with_settings(*settings), axes={"discipline": ["droptail"]}, seeds=1, out=tmp_path)
    found = {row["group"]: row["loss_synchronisation"] for row in done.table.rows()}
    windows = scenario.with_settings(*settings, "queue.discipline=droptail").run().windows.to_pandas()
    kept = windows[windows.t_s >= 10].pivot(index="flow", columns="t_s", values="cwnd_packets").to_numpy()
    assert kept.shape[0] > 1 and found["tcp"] == loss_synchronisation(kept) > 1
    assert found["udp"] is None


def test_zip_goes_along_all_axes_at_once(scenario):
    axes = {"queue.red.min_th": ["20p", "50p"], "queue.red.max_th": ["60p", "150p"]}
    study = make_study({"axes": axes, "design": "zip"}, "s", Path(), scenario)
    assert [point.levels for point in study.points] == [("20p", "60p"), ("50p", "150p")]
    assert study.points[1].settings[-2:] == ("queue.red.min_th=50p", "queue.red.max_th=150p")


def test_files_are_an_axis(root, tmp_path):
    (tmp_path / "s.toml").write_text(
        f"settings = {SHORT}\nseeds = 1\n"
        f'[axes]\nscenario = ["{root}/scenarios/headline.toml", "{root}/scenarios/ward.toml"]\n'
    )
    found = fairdrop.sweep(tmp_path / "s.toml", out=tmp_path / "o")
    assert found.runs == 2
    assert {Path(name).stem for name in found.table.column("scenario")} == {"headline", "ward"}


# The rows are those of runs.


def test_rows_are_what_runs_say(done, scenario):
    frame = done.to_pandas()
    assert len(frame) == done.runs * 2 == 32
    row = frame[
        (frame.discipline == "choke") & (frame.max_p == 0.1) & (frame.udp_rate_bps == 500_000) & (frame.seed == 2)
    ]
    settings = ["queue.discipline=choke", "queue.red.max_p=0.1", "groups.udp.rate=500kbit", "seed=2"]
    result = scenario.with_settings(*settings).run()
    groups, runs, queues = (result.groups.to_pandas(), result.runs.to_pandas(), result.queues.to_pandas())
    assert list(row.group) == list(groups.group) == ["tcp", "udp"]
    waits = result.link_groups.to_pandas()
    for name, _ in GROUP_COLUMNS:
        if name in ("fct_mean_s", "loss_synchronisation"):
            continue
        source = waits if name.startswith("sojourn_") else groups
        pandas.testing.assert_series_equal(
            row[name].reset_index(drop=True), source[name], check_dtype=False, check_exact=True
        )
    renamed = {"run_jain_index": "jain_index", "link_utilisation": "utilisation"}
    for name, _ in LINK_COLUMNS:
        source = queues[name.removeprefix("queue_")] if name.startswith("queue_") else runs[renamed.get(name, name)]
        assert list(row[name]) == [source[0]] * 2, name


POINTS = [
    ("queue.discipline", ["red", "choke", "droptail", "fq_codel"]),
    ("queue.limit", ["200p", "300p"]),
    ("groups.udp.rate", ["300kbit", "1mbit", "3mbit"]),
    ("groups.tcp.count", [1, 3]),
]


@given(
    st.lists(st.tuples(*(st.sampled_from(values) for _, values in POINTS), st.integers(0, 9)), min_size=1, max_size=8),
    st.integers(1, 3),
)
@settings(max_examples=25, deadline=None)
def test_a_batch_is_its_runs_one_by_one(headline, levels, threads):
    """Points and seeds in one call, some twice and in any order: the rows of each run alone, bit for bit."""
    text, short = headline.read_text(encoding="utf-8"), ["duration=500ms", "warm_up=100ms"]
    points = [
        (*short, *(f"{name}={value}" for (name, _), value in zip(POINTS, one, strict=True)), f"seed={seed}")
        for *one, seed in levels
    ]
    opened = open_points({"f": text}, [("f", point) for point in points], ())
    jobs, found = list(enumerate(opened)), {}

    def take(most):
        some = [jobs.pop() for _ in range(min(most, len(jobs)))]
        return [at for at, _ in some], [one.scenario for _, one in some], [one.first_seed for _, one in some]

    def give(tags, rows, problems):
        found.update(zip(tags, rows, strict=True))
        assert problems == [None] * len(tags)

    assert _core.work_through(take, give, threads)
    assert sorted(found) == list(range(len(points)))
    for at, point in enumerate(points):
        alone = fairdrop.Scenario(text, "f", point)
        assert unpack(found[at]) == unpack(packed(alone.inner.simulate(None, 1, 1, False, None))), point


def test_points_that_are_wrong_leave_the_others_of_their_call(headline):
    """Each message names the file, the field and the value, as if its point had been read alone."""
    text = headline.read_text(encoding="utf-8")
    asked = [("seed=3",), ("queue.red.max_p=1.5",), ("queue.choke.candidate=2", "dumbbell.rate=fast"), ("seed=3",)]
    first, wrong, two, last = open_points({"f.toml": text}, [("f.toml", point) for point in asked], ())
    assert (first.digest, first.first_seed) == (last.digest, 3)
    for found, point in ((wrong, asked[1]), (two, asked[2])):
        with pytest.raises(fairdrop.ScenarioError) as alone:
            fairdrop.Scenario(text, "f.toml", point)
        assert isinstance(found, fairdrop.ScenarioError) and str(found) == str(alone.value)
    assert "queue.red.max_p = 1.5 is not valid" in str(wrong) and len(str(two).splitlines()) == 2


def test_what_decides_is_what_is_run(headline):
    """A hash differs where a time or a parameter that is read differs; not by title, seed or unread parameter."""
    text = headline.read_text(encoding="utf-8")
    same = [(), ("seed=9",), ("title=Other",), ("queue.fq_codel.quantum=300B",), ("queue.red.max_p=0.1",)]
    other = ["duration=200s", "queue.limit=250p", "queue.red.max_p=0.05", "queue.discipline=red", "groups.udp.count=2"]
    points = [("queue.discipline=choke", "queue.red.max_p=0.1", *one) for one in (*same, *((one,) for one in other))]
    digests = [one.digest for one in open_points({"f": text}, [("f", point) for point in points], ())]
    assert len(set(digests[: len(same)])) == 1
    assert len(set(digests)) == 1 + len(other)


def test_points_that_are_done_are_passed_over_in_few_calls(scenario, tmp_path, monkeypatch):
    """Of 400 points all are in the store: asking for one job opens more and more of them at once."""
    asked = make_study({"axes": {"queue.red.max_p": [n / 1000 for n in range(400)]}, "seeds": 1}, "s", Path(), scenario)
    calls = []
    monkeypatch.setattr(definition, "open_points", lambda *given: calls.append(given) or open_points(*given))
    with Store(tmp_path / "s") as store:
        first = Campaign(asked, store, Progress())
        while jobs := first.next(100):
            first.finished(jobs, [zlib.compress(b"[[], []]")] * len(jobs), [None] * len(jobs))
        assert first.complete and (len(store), len(calls)) == (400, 4)
        calls.clear()
        again = Campaign(asked, store, Progress())
        assert again.next(1) == [] and again.complete
        assert sum(len(given[1]) for given in calls) == 400 and len(calls) < 12


def test_the_order_and_number_of_threads_change_no_byte(done, scenario, tmp_path):
    axes = {"discipline": ["red", "choke"], "queue.red.max_p": [0.02, 0.1], "groups.udp.rate": ["500kbit", "1mbit"]}
    other = fairdrop.sweep(scenario, axes=axes, seeds=2, out=tmp_path / "s", threads=1)
    assert as_bytes(other.folder) == as_bytes(done.folder)


def test_opened_by_everything_without_glue(done):
    own = done.to_polars()
    frame = pandas.read_parquet(done.data)
    polar = polars.read_parquet(done.data)
    with duckdb.connect() as base:
        duck = polars.from_pandas(base.execute(f"SELECT * FROM '{done.data}/**/*.parquet'").df())
    key = ["discipline", "max_p", "udp_rate_bps", "seed", "group"]
    assert polar.sort(key).equals(own.sort(key))
    assert duck.sort(key)["share"].equals(own.sort(key)["share"])
    assert polars.from_pandas(frame).sort(key)["share"].equals(own.sort(key)["share"])
    assert frame["max_p"].dtype == "float64" and frame["udp_rate_bps"].dtype == "uint64"
    cube = frame.set_index(key).to_xarray()
    assert dict(cube.sizes) == {"discipline": 2, "max_p": 2, "udp_rate_bps": 2, "seed": 2, "group": 2}
    assert done.to_xarray().sizes == cube.sizes
    one = float(cube.share.sel(discipline="choke", max_p=0.1, udp_rate_bps=500_000, seed=2, group="udp"))
    assert one == own.filter(discipline="choke", max_p=0.1, udp_rate_bps=500_000, seed=2, group="udp")["share"].item()


def test_the_work_for_values_is_proportional_to_them(monkeypatch):
    """Each level is read once for its kind, and once for its row: 100,000 points took quadratic time."""
    (axis,) = read_axes({"groups.udp.rate": [f"{n}kbit" for n in range(1, 2001)]}, False)
    calls = []
    read = axes_module.plain
    monkeypatch.setattr(axes_module, "plain", lambda level, unit: calls.append(level) or read(level, unit))
    assert [axis.value(level) for level in axis.levels] == [1000 * n for n in range(1, 2001)]
    assert len(calls) <= 2 * len(axis.levels)


def test_folders_are_by_axis_and_not_too_many(done, scenario):
    assert "discipline-choke/max_p-0.1/udp_rate_bps-500000/part-0.parquet" in as_bytes(done.folder)
    axes = {"discipline": ["red", "choke"], "queue.red.max_p": [n / 1000 for n in range(1, 301)]}
    study = make_study({"axes": axes}, "s", Path(), scenario)
    assert [axis.column for axis in dataset.folder_axes(study)] == ["discipline"]


# What is done is not done again.


def test_nothing_is_computed_twice(study, tmp_path):
    first = fairdrop.sweep(study, out=tmp_path / "o")
    assert (first.runs, first.computed, first.complete) == (RUNS, RUNS, True)
    before = as_bytes(first.folder)
    again = fairdrop.sweep(study, out=tmp_path / "o", resume=True)
    assert (again.runs, again.computed) == (RUNS, 0)
    assert as_bytes(again.folder) == before
    # One value exchanged: its runs alone are new. Then back, where nothing is.
    study.write_text(STUDY.replace("[0.02, 0.1]", "[0.02, 0.2]"))
    assert fairdrop.sweep(study, out=tmp_path / "o").computed == RUNS // 2
    study.write_text(STUDY)
    assert fairdrop.sweep(study, out=tmp_path / "o").computed == 0
    assert as_bytes(first.folder) == before
    # More seeds: the others are there.
    assert fairdrop.sweep(study, out=tmp_path / "o", seeds=4).computed == RUNS // 3
    # A name is not what decides a run; a duration is.
    study.write_text(STUDY.replace("warm_up=1s", "warm_up=1s', 'title=other").replace('"duration', "'duration"))
    study.write_text(STUDY.replace('"warm_up=1s"', '"warm_up=1s", "title=\\"other\\""'))
    assert fairdrop.sweep(study, out=tmp_path / "o").computed == 0
    study.write_text(STUDY.replace("warm_up=1s", "warm_up=2s"))
    assert fairdrop.sweep(study, out=tmp_path / "o").computed == RUNS


UNREAD = {
    "discipline": ["red", "choke", "fq_codel"],
    "queue.choke.candidates": [1, 2],
    "queue.red.max_p": [0.02, 0.1],
    "groups.udp.rate": ["500kbit", "2mbit"],
}


@pytest.fixture(scope="module")
def unread(scenario, tmp_path_factory):
    """Of 24 points 14 differ in what is read: RED reads max_p, CHOKe both parameters, FQ-CoDel neither."""
    return fairdrop.sweep(scenario, axes=UNREAD, seeds=2, out=tmp_path_factory.mktemp("unread") / "s", threads=2)


def test_runs_that_differ_in_nothing_that_is_read_are_simulated_once(unread, scenario):
    assert (unread.about["points"], unread.computed, unread.runs, unread.about["repeated"]) == (24, 28, 28, 10)
    assert unread.complete
    assert "10 points of 24 differ from another only in parameters" in unread.remarks[0]
    rows = unread.columns("discipline", "candidates", "max_p", "udp_rate_bps", "group", "seed", "run").rows()
    assert len(list(rows)) == 24 * 2 * 2
    again = fairdrop.sweep(scenario, axes={**UNREAD, "queue.codel.target": ["5ms"]}, seeds=2, out=unread.folder)
    assert again.computed == 0


def test_a_run_that_fails_is_missing_at_each_of_its_points(scenario, tmp_path):
    broken = scenario.with_settings("queue.discipline=red")
    axes = {"queue.choke.candidates": [1, 2], "groups.udp.rate": ["1mbit"]}
    store, progress = Store(tmp_path / "s"), Progress(name="s", shown=False)
    campaign = Campaign(make_study({"axes": axes, "seeds": 1}, "s", Path(), broken), store, progress)
    [job] = campaign.next()
    assert campaign.next() == []
    campaign.finished([job], [None], ["why"])
    assert [line.partition(",")[0] for line in campaign.problems] == ["candidates = 1", "candidates = 2"]
    assert campaign.finished_all
    store.close()


def test_disciplines_read_their_own_tables_and_those_they_build_on():
    assert reads("choke", "queue.red.max_p")
    assert reads("choke", "queue.choke.candidates")
    assert not reads("red", "queue.choke.candidates")
    assert reads("red", "queue.limit")
    assert reads("fq_codel", "queue.codel.target")
    assert not reads("fq_codel", "queue.cobalt.target")
    assert reads("mine", "queue.mine.depth")
    assert not reads("mine", "queue.red.max_p")
    assert reads("red", "groups.udp.rate")


def test_set_ups_are_compared_in_one_environment(unread):
    assert environments(unread.about) == ["udp_rate_bps"]
    delay, fairness = (
        set_ups(unread.about, unread.columns, measure, {}) for measure in ("queue_sojourn_p99_s", "run_jain_index")
    )
    assert len(delay.points) == 14
    places = by_environment(delay, fairness, ["udp_rate_bps"])
    assert [(at["udp_rate_bps"], len(some)) for at, some in places] == [(500_000, 7), (2_000_000, 7)]
    of_red = [(at["candidates"], at["max_p"]) for at, _ in delay.points if at["discipline"] == "red"]
    assert of_red == [(None, 0.02), (None, 0.02), (None, 0.1), (None, 0.1)]


def test_the_report_has_a_front_for_each_environment(unread, tmp_path):
    unread.report(tmp_path / "s.html")
    html = (tmp_path / "s.html").read_text()
    rows = html[html.index('id="best"') : html.index('id="figures"')]
    assert "In each environment" in rows
    assert rows.count("0.5 Mb/s") >= 1
    assert rows.count("2 Mb/s") >= 1
    fq_codel = [row for row in rows.split("<tr") if "FQ-CoDel" in row]
    assert len(fq_codel) == 2
    assert all(row.count("not read") == 2 for row in fq_codel)
    assert "10 points of 24 differ" in html
    titles = [axes.get_title(loc="left") for axes in unread.plot.pareto(by="discipline").axes]
    assert titles == ["udp_rate 0.5 Mb/s", "udp_rate 2 Mb/s"]


def test_the_role_of_an_axis_may_be_given(scenario, tmp_path):
    axes = {"groups.tcp.transport": {"values": ["reno", "cubic"], "role": "design"}, "queue.limit": ["200p", "300p"]}
    done = fairdrop.sweep(scenario, axes=axes, seeds=1, out=tmp_path / "s")
    assert environments(done.about) == []
    assert len(done.plot.pareto().axes) == 1
    with pytest.raises(StudyError, match=r"axes\.a\.b\.role = 'load' is not valid; valid: design, environment"):
        read_axes({"a.b": {"values": [1], "role": "load"}}, False)


def test_drawn_environments_have_no_front(scenario, tmp_path):
    axes = {"discipline": ["red", "choke"], "groups.udp.rate": {"from": "500kbit", "to": "2mbit"}}
    design = {"kind": "latin_hypercube", "points": 4}
    done = fairdrop.sweep(scenario, axes=axes, design=design, seeds=1, out=tmp_path / "s")
    assert "environment of its own" in done.plot.pareto(by="discipline")._supxlabel.get_text().replace("\n", " ")
    done.report(tmp_path / "s.html")
    assert 'id="best"' not in (tmp_path / "s.html").read_text()


def test_more_lines_than_can_be_distinguished_have_panels(scenario, tmp_path):
    axes = {
        "discipline": ["red", "choke", "droptail", "sfq", "fq_codel", "pie", "codel"],
        "groups.udp.rate": ["500kbit", "1mbit"],
    }
    done = fairdrop.sweep(scenario, axes=axes, seeds=2, out=tmp_path / "s")
    figure = done.plot.lines("share", "udp_rate_bps", by="discipline", group="udp")
    assert [axes.get_title(loc="left") for axes in figure.axes][:3] == ["RED", "CHOKe", "DropTail"]


def test_no_whisker_of_a_part_goes_beyond_the_whole(done):
    [one] = {cells.most for cells in [done.plot._cells("share", "udp", {"max_p": 0.1}, ["udp_rate_bps", "discipline"])]}
    assert one == 1.0
    cells = done.plot._cells("share", "udp", {"max_p": 0.1}, ["udp_rate_bps", "discipline"])
    near = estimate([0.9, 0.99, 0.99])
    assert near.high > 1.0
    assert near.mean + cells.whisker(near)[1] * cells.measure.divisor == pytest.approx(1.0)


def test_a_file_that_a_scenario_reads_is_part_of_what_decides(tmp_path):
    (tmp_path / "a.csv").write_text("time_s,size_bytes\n0.5,1000\n1.5,1000\n")
    (tmp_path / "s.toml").write_text(
        'duration = "3s"\nwarm_up = "1s"\n[[groups]]\nname = "g"\ntransport = "trace"\nfile = "a.csv"\n'
    )
    asked = {"axes": {"dumbbell.rate": ["1mbit", "2mbit"]}, "seeds": 1, "out": tmp_path / "o"}
    assert fairdrop.sweep(tmp_path / "s.toml", **asked).computed == 2
    assert fairdrop.sweep(tmp_path / "s.toml", **asked).computed == 0
    (tmp_path / "a.csv").write_text("time_s,size_bytes\n0.5,1000\n1.6,1000\n")
    assert fairdrop.sweep(tmp_path / "s.toml", **asked).computed == 2


def test_the_trace_of_a_link_is_part_of_what_decides(tmp_path):
    (tmp_path / "cell.trace").write_text("10\n20\n")
    (tmp_path / "s.toml").write_text(
        'duration = "3s"\nwarm_up = "1s"\n[dumbbell]\ntrace = "cell.trace"\n'
        '[[groups]]\nname = "g"\ntransport = "cbr"\nrate = "2mbit"\n'
    )
    asked = {"axes": {"queue.limit": ["50p", "100p"]}, "seeds": 1, "out": tmp_path / "o"}
    assert fairdrop.sweep(tmp_path / "s.toml", **asked).computed == 2
    assert fairdrop.sweep(tmp_path / "s.toml", **asked).computed == 0
    (tmp_path / "cell.trace").write_text("10\n30\n")
    assert fairdrop.sweep(tmp_path / "s.toml", **asked).computed == 2


def test_resume_wants_something_to_resume(study, tmp_path, fairdrop):
    refused = fairdrop("sweep", study, "--out", "nothing", "--resume")
    assert refused.returncode == 2
    assert "nothing: there is nothing to resume; valid: the folder of an earlier sweep" in refused.stderr
    assert not (tmp_path / "nothing").exists()


# When there are seeds enough.


def test_the_rule_is_that_of_the_prefix():
    def within(half_width):
        return lambda mean, half: half <= half_width

    values = [1.0, 3.0, 2.0, 2.0, 2.0, 2.0, 9.0]
    assert enough(within(100.0), values, 2) == 2
    assert enough(within(100.0), values, 4) == 4
    assert enough(within(0.01), values, 2) is None
    # 3, 2, 2, 2 more: half the interval of the first six is 0.6636...
    assert enough(within(0.67), values, 2) == 6
    assert enough(within(0.66), values, 2) is None
    assert enough(within(1.0), [None, 1.0, 1.0], 2) == 3


def test_a_quantile_is_known_to_its_bin_only(done):
    """Five seeds whose 99th percentile fell into one bin; bins begin at powers of two."""
    same = [0.039649279] * 5
    assert enough(lambda mean, half: half <= 1e-6, same, 2) == 2
    assert enough(lambda mean, half: half <= 1e-6, same, 2, resolution_of("queue_sojourn_p99_s")) is None
    found = estimate(same, resolution=resolution_of("queue_sojourn_p99_s"))
    assert number_and_half(found, 1e3) == ("39.65", "0.02")
    assert [resolution_of(name) for name in ("queue_sojourn_mean_s", "share", "queue_max_packets")] == [0.0] * 3
    for name in ("queue_sojourn_max_s", "sojourn_p99_s", "voice_wait_p99", "queue_sojourn_p999_s"):
        assert resolution_of(name) == TIME_RESOLUTION
    waits = done.columns("queue_sojourn_p99_s").column("queue_sojourn_p99_s")
    steps = [round(1e9 * wait + 1) / 2 ** math.floor(math.log2(1e9 * wait) - 10) for wait in waits]
    assert all(step == int(step) for step in steps), "upper ends of bins that are 2^-10 of a power of two wide"


def test_a_stopping_rule_finer_than_the_bins_is_refused(scenario, tmp_path):
    stop = {"measure": "queue_sojourn_p99_s", "relative": 0.0001}
    message = r"stop.relative = 0.0001 is finer than queue_sojourn_p99_s is known, to 0.00098 of itself; valid: 0.00049"
    with pytest.raises(StudyError, match=message):
        fairdrop.sweep(scenario, axes={"discipline": ["red"]}, stop=stop, out=tmp_path / "o")


def test_seeds_are_added_until_the_interval_is_narrow(scenario, tmp_path):
    axes = {"discipline": ["droptail", "choke"], "groups.udp.rate": ["500kbit", "2mbit"]}
    stop = {"measure": "share", "group": "udp", "half_width": 0.02, "min_seeds": 3, "max_seeds": 30}
    found = fairdrop.sweep(scenario, axes=axes, stop=stop, out=tmp_path / "o")
    assert found.complete
    frame = found.to_pandas()
    counts = []
    for _, point in frame[frame.group == "udp"].groupby(["discipline", "udp_rate_bps"], sort=False):
        values = list(point.sort_values("seed").share)
        enough_at = enough(lambda mean, half: half <= 0.02, values, 3)
        assert enough_at == len(values) or (enough_at is None and len(values) == 30)
        counts.append(len(values))
    assert len(set(counts)) > 1, "points differ in what they need"
    other = fairdrop.sweep(scenario, axes=axes, stop=stop, out=tmp_path / "p", threads=1)
    assert as_bytes(other.folder) == as_bytes(found.folder)
    assert fairdrop.sweep(scenario, axes=axes, stop=stop, out=tmp_path / "o").computed == 0


# What goes wrong.


def command(*words):
    return [sys.executable, "-m", "fairdrop", *map(str, words)]


def stored(folder: Path) -> int:
    """Runs that the store of a process holds, seen from outside: its log grows with each."""
    log = folder / "store.sqlite-wal"
    return log.stat().st_size if log.exists() else 0


def long_study(study: Path) -> Path:
    study.write_text(STUDY.replace("seeds = 3", "seeds = 400"))
    return study


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_signals_lose_the_running_runs_alone(study, tmp_path, number):
    long_study(study)
    with Work(
        command("sweep", study, "--out", "o"), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as work:
        wait_for(lambda: stored(tmp_path / "o") > 50_000 or work.poll() is not None, "runs in the store")
        work.send_signal(number)
        _, stderr = work.communicate(timeout=PATIENCE)
    assert work.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), stderr
    with Store(tmp_path / "o") as store:
        kept = len(store)
    # A page of the log is 4 KiB, and each run writes a few.
    assert kept > 3
    study.write_text(STUDY.replace("seeds = 3", "seeds = 25"))
    if number == signal.SIGINT:
        assert "incomplete; what was finished is kept" in stderr
        partial = fairdrop.read_sweep(tmp_path / "o")
        assert not partial.complete
        assert partial.runs == kept == len(partial.columns("run").to_polars()["run"].unique())
    again = fairdrop.sweep(study, out=tmp_path / "o", resume=True)
    # The first points were finished: of each the first 25 seeds are used.
    assert again.complete
    assert again.runs == 300
    assert again.runs - again.computed > 3
    clean = fairdrop.sweep(study, out=tmp_path / "clean")
    assert as_bytes(clean.folder) == as_bytes(again.folder)


def test_a_file_that_may_not_grow_ends_the_sweep_with_its_name(study, tmp_path):
    long_study(study)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))

    done = subprocess.run(
        command("sweep", study, "--out", "o"), cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
        check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("fairdrop: error: o/store.sqlite: ")
    with Store(tmp_path / "o") as store:
        kept = len(store)
    assert kept > 3
    study.write_text(STUDY.replace("seeds = 3", "seeds = 2"))
    assert fairdrop.sweep(study, out=tmp_path / "o", resume=True).computed == 24 - min(kept, 2), (
        "the first point was done"
    )


def test_a_full_disk_keeps_what_was_finished(study, tmp_path):
    long_study(study)
    found = small_disk(
        tmp_path, "300k", f"fairdrop sweep {study} --out disk/o", "echo $?; cp -r disk/o kept", "ls -A disk/o"
    )
    assert found.stdout.splitlines()[0] == "2", found.stderr
    assert "Traceback" not in found.stderr
    assert found.stderr.startswith("fairdrop: error: disk/o/store.sqlite: No space left on device")
    assert "data" not in found.stdout
    with Store(tmp_path / "kept") as store:
        assert len(store) > 3


def test_two_at_once_in_one_folder_are_refused(study, tmp_path, fairdrop):
    with Store(tmp_path / "o"):
        refused = fairdrop("sweep", study, "--out", "o")
    assert refused.returncode == 2
    assert f"fairdrop: error: o: is in use by process {os.getpid()} (" in refused.stderr


def test_what_is_no_store_is_left_alone(study, tmp_path, fairdrop):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "store.sqlite").write_text("my notes " * 1000)
    refused = fairdrop("sweep", study, "--out", "o")
    assert refused.returncode == 2
    assert "is no store of runs" in refused.stderr
    assert (tmp_path / "o" / "store.sqlite").read_text() == "my notes " * 1000


def test_a_wrong_value_is_found_before_anything_is_done(study, tmp_path, fairdrop):
    study.write_text(STUDY.replace("[0.02, 0.1]", "[0.02, 1.5]"))
    refused = fairdrop("sweep", study, "--out", "o")
    assert refused.returncode == 2
    message = "study.toml: queue.red.max_p = 1.5 is not valid; valid: a number from 0 to 1\n"
    assert refused.stderr.endswith(message) and "--set" not in refused.stderr
    assert not (tmp_path / "o").exists()


def test_what_is_wrong_at_a_point_alone_is_reported_with_the_point(study, fairdrop):
    """Neither value is wrong by itself."""
    study.write_text(STUDY.replace("queue.red.max_p = [0.02, 0.1]", 'queue.limit = ["300p", "100p"]'))
    refused = fairdrop("sweep", study)
    assert refused.returncode == 2
    assert "queue.red.max_th = 200 is not valid" in refused.stderr
    assert refused.stderr.endswith("(where discipline = red, limit = 100p, udp_rate = 500000)\n")


def test_a_rule_for_seeds_wants_a_group_that_is_there(scenario, tmp_path):
    stop = {"measure": "share", "group": "upd", "half_width": 0.1}
    with pytest.raises(fairdrop.ScenarioError, match=r"stop\.group = 'upd' is not valid .did you mean udp"):
        fairdrop.sweep(scenario, axes={"discipline": ["red"]}, stop=stop, out=tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_the_command_names_the_file_of_such_a_rule(study, fairdrop):
    study.write_text(f'{STUDY}[stop]\nmeasure = "share"\ngroup = "upd"\nhalf_width = 0.1\n')
    refused = fairdrop("sweep", study)
    assert refused.returncode == 2 and "study.toml: stop.group = 'upd'" in refused.stderr


def test_a_file_is_no_folder(study, fairdrop):
    refused = fairdrop("sweep", study, "--out", "study.toml")
    assert refused.returncode == 2
    assert "study.toml: is no folder; valid: a folder, or a name that is not taken" in refused.stderr


def test_a_report_that_cannot_be_written_is_found_before_the_simulation(study, tmp_path, fairdrop):
    for name in ("nowhere/r.html", "x" * 300):
        refused = fairdrop("sweep", study, "--out", "o", "--report", name)
        assert refused.returncode == 2
        assert not (tmp_path / "o").exists()


# Shards.


def test_shards_with_a_part_of_ones_own_merge(headline, tmp_path, fairdrop):
    """The study names the discipline, which merging has to know, too."""
    (tmp_path / "headline.toml").write_text(headline.read_text())
    (tmp_path / "own.py").write_text(
        'import fairdrop\n\n\nclass Own(fairdrop.Discipline):\n    """A FIFO."""\n\n'
        "    def enqueue(self, packet):\n        if len(self.queue) < self.limit:\n"
        "            self.queue.push(packet)\n"
        "        else:\n            self.drop(packet, 'overflow')\n"
    )
    (tmp_path / "study.toml").write_text(
        'base = "headline.toml"\nsettings = ["duration=2s", "warm_up=1s"]\nseeds = 1\n'
        '[axes]\ndiscipline = ["droptail", "own"]\n'
    )
    for shard in ("1/2", "2/2"):
        done = fairdrop("sweep", "study.toml", "--out", "o", "--shard", shard, "--parts", "own.py", "--quiet")
        assert done.returncode == 0, done.stderr
    merged = fairdrop("merge", "o", "--parts", "own.py")
    assert (merged.returncode, merged.stderr) == (0, "")
    assert merged.stdout.startswith("2 points, 2 runs, 0 of them simulated now")


def test_shards_merge_to_the_same_bytes(study, tmp_path, fairdrop):
    for part in ("1/3", "2/3", "3/3"):
        done = fairdrop("sweep", study, "--out", "o", "--shard", part)
        assert done.returncode == 0, done.stderr
    merged = fairdrop("merge", "o", "--report", "r.html")
    assert merged.returncode == 0, merged.stderr
    assert f"12 points, {RUNS} runs, 0 of them simulated now" in merged.stdout
    assert (tmp_path / "r.html").exists()
    import fairdrop as library

    whole = library.sweep(study, out=tmp_path / "whole")
    assert as_bytes(tmp_path / "o") == as_bytes(whole.folder)
    # Merged, it can be gone on with.
    assert library.sweep(study, out=tmp_path / "o", seeds=4).computed == RUNS // 3


def test_a_missing_shard_leaves_it_incomplete(study, tmp_path, fairdrop):
    assert fairdrop("sweep", study, "--out", "o", "--shard", "2/3").returncode == 0
    merged = fairdrop("merge", "o")
    assert merged.returncode == 130
    assert "incomplete" in merged.stderr


def test_shards_of_other_studies_are_refused(study, tmp_path, fairdrop):
    assert fairdrop("sweep", study, "--out", "o", "--shard", "1/2").returncode == 0
    study.write_text(STUDY.replace("0.02", "0.03"))
    assert fairdrop("sweep", study, "--out", "o", "--shard", "2/2").returncode == 0
    refused = fairdrop("merge", "o")
    assert refused.returncode == 2
    assert "shard-2-of-2: digest = " in refused.stderr
    assert "valid: parts of one study" in refused.stderr
    assert fairdrop("merge", "nowhere").returncode == 2
    assert "valid: i/n" in fairdrop("sweep", study, "--shard", "3/2").stderr


# Figures, the report, and objects that travel.


def test_figures_by_name(done):
    lines = done.plot.lines("share", "udp_rate_bps", by="discipline", group="udp", where={"max_p": 0.1})
    (axes,) = lines.axes
    assert axes.get_xlabel() == "udp_rate, Mb/s"
    shares = done.to_polars().filter(discipline="choke", max_p=0.1, udp_rate_bps=500_000, group="udp")["share"]
    drawn = [
        line.get_ydata()[0] for line in axes.get_lines() if len(line.get_xdata()) == 2 and line.get_marker() != "_"
    ]
    assert any(abs(y - 100 * shares.mean()) < 1e-9 for y in drawn)
    multiples = done.plot.multiples("share", "udp_rate_bps", "max_p", by="discipline", group="udp")
    assert [axes.get_title(loc="left") for axes in multiples.axes] == ["max_p 0.02", "max_p 0.1"]
    heat = done.plot.heat_map("queue_sojourn_p99_s", "udp_rate_bps", "max_p", where={"discipline": "choke"})
    assert len(heat.axes[0].texts) == 4
    assert done.plot.pareto(by="discipline").axes[0].get_ylabel() == "Jain's index (more is better)"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda plot: plot.lines("share", "max_p", group="udp"), "axes that the figure does not show are open"),
        (lambda plot: plot.lines("speed", "max_p"), "measure = 'speed' is not valid; valid: "),
        (lambda plot: plot.lines("share", "speed", group="udp"), "'speed' is no axis; valid: discipline"),
        (lambda plot: plot.lines("share", "max_p", group="abc"), "group = 'abc' is not valid with share; valid: tcp"),
        (lambda plot: plot.lines("run_jain_index", "max_p", group="udp"), "which is of the link"),
        (
            lambda plot: plot.lines("run_jain_index", "max_p", where={"discipline": "x"}),
            "is not there; valid: red, choke",
        ),
    ],
)
def test_figures_that_cannot_be_drawn_say_why(done, ask, message):
    with pytest.raises(StudyError, match=message):
        ask(done.plot)


def test_values_by_ratio_are_on_a_scale_of_ratios():
    def is_log(*values):
        return Shown("x", values).is_log

    assert is_log(1, 2, 4, 8) and is_log(1, 10, 100) and is_log(1, 2, 5, 10, 20)
    assert not is_log(1, 2, 3, 4, 5, 6, 7, 8, 9) and not is_log(0, 10, 100) and not is_log(1, 2, 4)


def test_no_other_beats_the_front():
    points = [(1.0, 0.2), (1.0, 0.3), (2.0, 0.3), (3.0, 0.5), (4.0, 0.4), (0.5, 0.1)]
    assert front(points) == [(0.5, 0.1), (1.0, 0.3), (3.0, 0.5)]


def test_the_report_is_one_page(done, tmp_path):
    done.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.count("<svg") >= 8
    assert 'src="http' not in page and 'href="http' not in page
    assert "0.5 Mb/s, 1 Mb/s" in page


def test_objects_travel(done, scenario):
    again = pickle.loads(pickle.dumps(scenario))
    assert again.to_dict() == scenario.to_dict()
    assert again.settings == scenario.settings
    result = scenario.compare(["red", "choke"], seeds=2)
    packed = pickle.dumps(result)
    copy = pickle.loads(packed)
    assert copy.to_json() == result.to_json()
    assert copy.groups.to_arrow().equals(result.groups.to_arrow())
    assert len(packed) < 1.1 * len(zlib.compress(result.to_json().encode())) + 500
    assert len(packed) < len(result.to_json()) / 3
    sweep = pickle.loads(pickle.dumps(done))
    assert sweep.table.to_arrow().equals(done.table.to_arrow())


def test_the_command_reports_what_it_did(study, tmp_path, fairdrop):
    done = fairdrop("sweep", study, "--json", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert (about["runs"], about["points"], about["complete"]) == (RUNS, 12, True)
    assert (tmp_path / "sweeps" / "study" / "data").is_dir()
    assert read_study(study).to_dict() == about["kept"]
    assert os.listdir(tmp_path / "sweeps" / "study") and not list(tmp_path.rglob("*.tmp"))
