"""The Python interface as people expect it: forms of a scenario, tables as everything takes them, what is refused."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
import statistics
import tomllib

import numpy
import pandas
import polars
import pytest

import fairdrop
from fairdrop.changes import changes
from fairdrop.cli.show import changes_text
from fairdrop.document import document_of
from fairdrop.estimate import TIME_RESOLUTION, t_quantile
from fairdrop.report.tables import link_table
from fairdrop.reproduce.measure.data import Row
from fairdrop.reproduce.measure.data import paired as seed_by_seed
from fairdrop.significance import noncentrality, paired


@pytest.fixture(scope="module")
def scenario(headline):
    return fairdrop.load(headline, ["duration=10s", "warm_up=2s"])


@pytest.fixture(scope="module")
def result(scenario):
    return scenario.compare(["red", "choke"], seeds=3)


@pytest.fixture
def folders(result, scenario, tmp_path):
    """The same result twice, and one with a larger ``max_p``."""
    result.write(tmp_path / "a")
    result.write(tmp_path / "same")
    scenario.with_settings("queue.red.max_p=0.9").compare(["red", "choke"], seeds=3).write(tmp_path / "b")
    return tmp_path


# Tables.


def test_a_table_is_its_rows(result):
    frame = pandas.DataFrame(result.groups)
    pandas.testing.assert_frame_equal(frame, result.groups.to_pandas(), check_dtype=False)
    assert [row["share"] for row in result.groups] == result.groups.column("share")
    assert numpy.isnan(next(iter(result.groups))["completed"])
    assert polars.DataFrame(result.groups).equals(result.groups.to_polars())
    series = pandas.Series(result.groups["share"])
    assert list(series) == result.groups.column("share")


def test_columns_are_arrays(result):
    share = result.groups["share"]
    assert isinstance(share, numpy.ndarray) and share.dtype == float
    assert abs(share.reshape(-1, 2).sum(axis=1) - 1).max() < 0.01
    assert result.groups["flows"].dtype.kind in "iu"
    assert result.groups["group"].dtype.kind == "U"
    completed = result.groups["completed"]
    assert completed.dtype == float and numpy.isnan(completed).all()
    with pytest.raises(KeyError, match='no column "speed"; there are discipline'):
        result.groups["speed"]


def test_a_table_over_dimensions(result):
    cube = result.groups.to_xarray("discipline", "group", "seed")
    assert dict(cube.sizes) == {"discipline": 2, "group": 2, "seed": 3}
    row = next(row for row in result.groups if (row["discipline"], row["group"], row["seed"]) == ("choke", "udp", 2))
    assert float(cube.share.sel(discipline="choke", group="udp", seed=2)) == row["share"]


def test_a_result_that_is_read_again_has_its_tables(result, tmp_path):
    result.write(tmp_path / "o")
    for path in (tmp_path / "o", tmp_path / "o" / "result.json"):
        again = fairdrop.read_result(path)
        assert isinstance(again, fairdrop.Result)
        assert again.to_json() == result.to_json()
        for name in ("runs", "groups", "flows", "queues", "drops", "series", "sojourns", "link_groups", "internals"):
            assert getattr(again, name).to_arrow().equals(getattr(result, name).to_arrow()), name
        assert again.verdict == result.verdict
    again.report(tmp_path / "r.html")
    again.write(tmp_path / "p")
    assert (tmp_path / "p" / "result.json").read_bytes() == (tmp_path / "o" / "result.json").read_bytes()


def test_a_result_with_a_model_is_read_with_it(headline, tmp_path):
    scenario = fairdrop.load(headline, ["duration=10s", "warm_up=2s"])
    scenario.compare(["choke"], with_model=True).write(tmp_path / "o")
    assert fairdrop.read_result(tmp_path / "o").model["schema"] == "fairdrop/model/1"


def test_a_result_of_another_version_is_reported(result, tmp_path):
    document = copy.deepcopy(result.document)
    document["runs"][0]["speed"] = 1
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"x.json: it holds runs of another version.*valid: a result of this version"):
        fairdrop.read_result(tmp_path / "x.json")


# What is refused.


def test_a_text_is_no_list(scenario, headline):
    with pytest.raises(fairdrop.ScenarioError) as raised:
        scenario.compare("red,choke")
    assert str(raised.value) == "disciplines = 'red,choke' is one text; valid: a list, such as ['red', 'choke']"
    with pytest.raises(fairdrop.ScenarioError, match="settings = 'seed=3' is one text; valid: a list"):
        fairdrop.load(headline, "seed=3")
    with pytest.raises(fairdrop.ScenarioError, match="disciplines = 'red' is one text"):
        fairdrop.replay("nothing.pcap", disciplines="red")


@pytest.mark.parametrize("words", [("run",), ("compare", "--disciplines", "red")])
@pytest.mark.parametrize("place", ["x" * 300 + ".html", "nowhere/r.html", "/proc/r.html"])
def test_a_report_that_cannot_be_written_is_found_before_the_simulation(fairdrop, headline, tmp_path, words, place):
    """The simulation would not end."""
    refused = fairdrop(words[0], headline, *words[1:], "--set", "duration=1e7s", "--report", place)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"fairdrop: error: {place}: ")
    assert list(tmp_path.iterdir()) == []


# Forms of a scenario.


def test_every_form_is_the_same_scenario(headline):
    text = headline.read_text()
    loaded = fairdrop.load(headline)
    built = (
        fairdrop.Scenario.build(
            "headline", title=loaded.to_dict()["title"], duration="300s", warm_up="60s", seed=1, sample="500ms"
        )
        .dumbbell(rate="1mbit", delay="1ms", access_rate="10mbit", access_delay="1ms")
        .queue("choke", limit="300p", red={"min_th": "100p", "max_th": "200p", "max_p": 0.1, "w_q": 0.002},
               choke={"candidates": 1})
        .group("tcp", "reno", count=32, packet_size="1000B", max_window="300p", era="ns2-1998")
        .group("udp", "cbr", rate="2mbit", packet_size="1000B")
    )  # fmt: skip
    forms = [fairdrop.Scenario(text), fairdrop.Scenario.from_dict(tomllib.loads(text)), built.scenario()]
    assert [form.to_dict() for form in forms] == [loaded.to_dict()] * 3
    assert built.scenario("seed=7").to_dict()["seed"] == 7


def test_every_ready_made_scenario_is_the_same_as_a_dict(root):
    for path in sorted((root / "scenarios").glob("*.toml")):
        again = fairdrop.Scenario.from_dict(tomllib.loads(path.read_text()))
        assert again.to_dict() == fairdrop.load(path).to_dict(), path.name
        assert fairdrop.Scenario(again.source).to_dict() == again.to_dict()


def test_what_has_no_place_in_a_scenario_is_reported():
    with pytest.raises(fairdrop.ScenarioError, match=r"queue.limit = \{1, 2\} is not valid"):
        fairdrop.Scenario.from_dict({"queue": {"limit": {1, 2}}})
    with pytest.raises(fairdrop.ScenarioError, match="transport"):
        fairdrop.Scenario.build("x").group("g", "no such").scenario()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"disciplines": []}, "disciplines: there is none; valid: at least one"),
        ({"seeds": "3"}, "seeds = '3' is not valid; valid: a whole number, 1 or more"),
        ({"seeds": 0}, "seeds = 0 is not valid"),
        ({"threads": 0}, "threads = 0 is not valid; valid: a whole number, 1 or more"),
    ],
)
def test_what_cannot_be_simulated_is_reported(scenario, asked, message):
    with pytest.raises(fairdrop.ScenarioError, match=re.escape(message)):
        scenario.compare(**asked)


def test_wrong_threads_of_a_sweep_leave_nothing(scenario, tmp_path):
    with pytest.raises(ValueError, match="threads = 0 is not valid; valid: a whole number from 1"):
        fairdrop.sweep(scenario, axes={"discipline": ["red"]}, out=tmp_path / "o", threads=0)
    assert not (tmp_path / "o").exists()


def test_a_file_of_parts_is_named():
    with pytest.raises(ValueError, match=r"^nowhere\.py: No such file"):
        fairdrop.register("nowhere.py")


# What changed.


def varied(document, share, queue, seeds=3):
    """The runs under CHOKe with other shares of UDP and mean queues, one value each by seed."""
    runs = [run for run in copy.deepcopy(document["runs"]) if run["discipline"] == "choke"][:seeds]
    for run, part, packets in zip(runs, share, queue, strict=True):
        next(group for group in run["groups"] if group["name"] == "udp")["share"] = part
        run["queues"][0]["mean_packets"] = packets
    return {**document, "runs": runs}


def test_the_same_is_identical(folders, result, fairdrop):
    done = fairdrop("diff", "a", "same")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "identical: 0 of 56 measures differ (paired by seed, 3 seeds)\n"
    assert fairdrop("diff", "a", "same", "--exact").stdout.startswith("every field of the runs is equal\n")


def test_a_change_is_reported_with_its_interval(folders, fairdrop):
    done = fairdrop("diff", "a", "b/result.json", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"], found["outcome"], found["apart"]) == (1, 1, "significant", [])
    assert found["significant"] == sum(one["significant"] for one in found["measures"]) < found["differ"]
    assert all(one["paired"] for one in found["measures"])
    waits = next(
        one for one in found["measures"] if (one["discipline"], one["measure"]) == ("red", "queue_mean_packets")
    )
    assert waits["significant"] and waits["primary"] and waits["difference"]["mean"] < 0
    assert waits["difference"]["mean"] + waits["difference"]["half"] < 0
    assert 0 < waits["detectable"] < abs(waits["difference"]["mean"])
    shown = fairdrop("diff", "a", "b")
    assert shown.returncode == 1
    assert "queue_mean_packets (primary)" in shown.stdout and " *" in shown.stdout
    assert "(paired by seed, 3 seeds)" in shown.stdout
    assert fairdrop("diff", "a", "b", "--quiet").stdout == ""


def test_primary_measures_are_not_drowned_by_the_others(result):
    """Three seeds: a share from .505 to .237 and a queue from 122 to 61 packets, beside 26 measures that stay."""
    before = varied(result.document, (0.498, 0.505, 0.512), (121, 122, 123))
    after = varied(result.document, (0.226, 0.237, 0.248), (60, 61, 62.4))
    found = changes(before, after)
    assert {one.measure for one in found.measures if one.significant} == {"share", "queue_mean_packets"}
    assert (found.outcome, found.status) == ("significant", 1)


def test_a_difference_that_three_seeds_cannot_show_is_not_called_none(result, tmp_path, fairdrop):
    folders = []
    for name, share in (("before", (0.40, 0.50, 0.62)), ("after", (0.33, 0.10, 0.28))):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        document = varied(result.document, share, (122, 122, 122))
        (folders[-1] / "result.json").write_text(json.dumps(document))
    done = fairdrop("diff", *map(str, folders))
    assert done.returncode == 3
    last = done.stdout.splitlines()[-1]
    assert last.startswith("different: 1 of 28 measures differ, 1 of the 5 primary ones; no difference is significant")
    found = json.loads(fairdrop("diff", *map(str, folders), "--json").stdout)
    assert (found["outcome"], found["status"], found["differ"], found["significant"]) == ("different", 3, 1, 0)
    (share,) = (one for one in found["measures"] if one["differs"])
    assert share["detectable"] > abs(share["difference"]["mean"]) and share["primary"]
    assert "detectable" in done.stdout and "0.27" in done.stdout


@pytest.mark.parametrize("level", [0.05, 0.005])
def test_what_is_detectable_is_detected_in_four_of_five(level):
    """500 differences of that size over three seeds; their share has an error of 1.8 %."""
    draw = numpy.random.default_rng(1)
    before, spread = (0.5, 0.52, 0.54), 0.01
    true = noncentrality(2, level) * spread / math.sqrt(3)
    trials = (tuple(one + true + spread * draw.standard_normal() for one in before) for _ in range(500))
    found = sum((paired(before, after).p or 0.0) <= level for after in trials)
    assert abs(found / 500 - 0.8) < 3.5 * 0.018


def test_quantiles_are_not_compared_more_finely_than_they_are_known(result):
    before = varied(result.document, (0.5,) * 3, (122,) * 3)
    after = copy.deepcopy(before)
    for document, wait in ((before, 0.0396493), (after, 0.0396493 * (1 + 0.9 * TIME_RESOLUTION))):
        for run in document["runs"]:
            run["queues"][0]["sojourn_s"]["p99"] = wait
    found = {one.measure: one for one in changes(before, after).measures}["queue_sojourn_p99_s"]
    assert found.differs and found.p is None and not found.significant
    assert found.before.half == pytest.approx(0.0396493 * TIME_RESOLUTION / 2)
    assert found.difference.low < 0 < found.difference.high
    assert changes(before, after).status == 3


def test_intervals_of_quantiles_are_as_wide_as_their_bins(result):
    """In reports and claims: three seeds whose 99th percentiles fell into one bin."""
    document = varied(result.document, (0.5,) * 3, (122,) * 3)
    for run in document["runs"]:
        run["queues"][0]["sojourn_s"] |= {"p50": 0.0301, "p99": 0.039649279}
    (row,) = link_table(document_of(document)).rows
    cells = {cell.label: (cell.mean, cell.half) for cell in row.cells}
    assert cells["99th-percentile delay, ms"] == ("39.65", "0.02")
    assert cells["Median delay, ms"] == ("30.10", "0.01")
    one, other = (Row("red", {}, "wait_p99", (wait,) * 3) for wait in (40.0, 40.03))
    assert one.estimate.half == pytest.approx(40 * TIME_RESOLUTION / 2)
    gap = seed_by_seed(other, one, lambda a, b: a - b).interval()
    assert gap.mean == pytest.approx(0.03) and gap.low < 0 < gap.high
    assert Row("red", {}, "share", (40.0,) * 3).estimate.half == 0.0


def test_whole_numbers_that_grew_by_one_twice_prove_nothing(result):
    before = varied(result.document, (0.5,) * 2, (122,) * 2, seeds=2)
    after = copy.deepcopy(before)
    for run in after["runs"]:
        run["groups"][0]["timeouts"] += 1
    found = changes(before, after)
    assert (found.outcome, [one.measure for one in found.measures if one.differs]) == ("different", ["timeouts"])
    for run in after["runs"]:
        run["groups"][0]["timeouts"] += 1000
    assert [one.measure for one in changes(before, after).measures if one.significant] == ["timeouts"]


def test_exact_names_the_fields_that_differ(folders, fairdrop):
    """Version, command and remarks are no results."""
    document = json.loads((folders / "same" / "result.json").read_text())
    document |= {"version": "0.0.1", "command": None, "warnings": ["another"], "title": "another"}
    (folders / "same" / "result.json").write_text(json.dumps(document))
    assert fairdrop("diff", "a", "same", "--exact").returncode == 0
    document["runs"][1]["flows"][3]["arrivals"] += 1
    del document["runs"][2]["queues"][0]["velocity"]
    document["runs"][3]["queues"][0]["internals"].append({"name": "new"})
    (folders / "same" / "result.json").write_text(json.dumps(document))
    assert fairdrop("diff", "a", "same").returncode == 0
    done = fairdrop("diff", "a", "same", "--exact")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"runs\[red, seed 2\]\.flows\[tcp\[3\]\]\.arrivals: (\d+) -> \d+", lines[0])
    assert lines[1].startswith("runs[red, seed 3].queues[bottleneck].velocity: ") and lines[1].endswith(" -> (absent)")
    assert lines[2] == "runs[choke, seed 1].queues[bottleneck].internals[new]: (absent) -> (table of 1)"
    assert lines[3:] == ["3 fields of the runs differ", "different: 0 of 56 measures differ (paired by seed, 3 seeds)"]
    found = json.loads(fairdrop("diff", "a", "same", "--exact", "--json").stdout)
    assert (found["status"], found["outcome"], len(found["fields"])) == (1, "different", 3)


def test_wrong_input_of_diff(folders, fairdrop):
    for words in (("a", "nowhere"), ("a", "a/groups.parquet"), ("a",)):
        assert fairdrop("diff", *words).returncode == 2, words


def test_what_is_only_in_one_is_a_change(result, scenario):
    found = fairdrop.diff(result, scenario.compare(["red", "codel"], seeds=3))
    assert list(found.apart) == ["choke is only in A", "codel is only in B"]
    assert found.status == 1 and not any(one.differs for one in found.measures)


def test_two_single_disciplines_are_compared_whatever_they_are(scenario):
    found = fairdrop.diff(scenario.compare(["droptail"], seeds=3), scenario.compare(["codel"], seeds=3))
    assert {one.discipline for one in found.measures} == {"droptail → codel"}
    assert found.status == 1


def test_other_seeds_of_the_same_seldom_differ_significantly(scenario):
    """Twenty comparisons of independent seeds at 5 % in two families: more than six are as likely as 2 in 1000."""
    significant = 0
    runs = [scenario.with_settings(f"seed={1 + 5 * n}").run(5) for n in range(21)]
    for one, other in itertools.pairwise(runs):
        found = fairdrop.diff(one, other)
        assert not any(change.paired for change in found.measures)
        assert found.outcome != "identical"
        significant += found.outcome == "significant"
    assert significant <= 6


def test_a_single_seed_differs_where_a_digit_does(result):
    before = {**result.document, "runs": result.document["runs"][:1]}
    after = copy.deepcopy(before)
    assert changes(before, after).outcome == "identical"
    after["runs"][0]["groups"][0]["goodput_bps"] += 1e-6
    done = changes(before, after)
    found = [(one.group, one.measure, one.p) for one in done.measures if one.differs]
    assert found == [("tcp", "goodput_bps", None)]
    assert (done.outcome, done.status) == ("different", 3)
    assert changes_text(done, everything=False).endswith("; not tested, as that takes two seeds or more")


def test_one_seed_beside_several_is_compared_with_how_much_they_vary(result):
    """What is the same in all of them has not changed."""
    runs = [run for run in result.document["runs"] if run["discipline"] == "red"]
    before = {**result.document, "runs": runs}
    after = copy.deepcopy({**before, "runs": runs[:1]})
    after["runs"][0]["seed"] = 99
    found = changes(before, after)
    assert found.outcome == "different"
    assert all(one.p is not None for one in found.measures if one.differs and "sojourn" not in one.measure)
    of_tcp = {one.measure: one for one in found.measures if one.group == "tcp"}
    values = [group["share"] for run in runs for group in run["groups"] if group["name"] == "tcp"]
    error = statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
    assert of_tcp["share"].difference.mean == pytest.approx(values[0] - statistics.fmean(values))
    assert of_tcp["share"].difference.half == pytest.approx(t_quantile(len(values) - 1) * error)
    after["runs"][0]["groups"][0]["share"] += 100 * error
    assert [one.measure for one in changes(before, after).measures if one.significant] == ["share"]


# The reference.


def test_everything_public_has_a_docstring():
    public = [getattr(fairdrop, name) for name in fairdrop.__all__ if name != "__version__"]
    classes = [one for one in public if isinstance(one, type)]
    members = [(one, name) for one in classes for name in vars(one) if not name.startswith("_")]
    missing = [
        f"{one.__name__}.{name}"
        for one, name in members
        if callable(getattr(one, name)) and not getattr(one, name).__doc__
    ]
    assert not missing
