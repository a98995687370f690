"""The Python interface: results as tables, plots, reports, and in a notebook."""

from __future__ import annotations

import json
import pickle

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from jsonschema import Draft202012Validator

import fairdrop


@pytest.fixture(scope="module")
def result(headline):
    scenario = fairdrop.load(headline, ["duration=40s", "warm_up=10s"])
    return scenario.compare(["droptail", "red", "choke"], seeds=2)


def test_tables_open_everywhere(result):
    for name in ("runs", "groups", "flows", "queues", "drops", "series", "queue_lengths", "sojourns"):
        table = getattr(result, name)
        frame, polar, arrow = table.to_pandas(), table.to_polars(), table.to_arrow()
        assert isinstance(frame, pandas.DataFrame)
        assert isinstance(polar, polars.DataFrame)
        assert isinstance(arrow, pyarrow.Table)
        assert len(frame) == len(polar) == len(arrow) == len(table) > 0
        assert list(frame.columns) == polar.columns == arrow.column_names == table.columns
        assert polars.DataFrame(table).equals(polar)
        assert frame.columns[0] == "discipline"


def test_tables_equal_the_document(result):
    flows = [
        (run["discipline"], run["seed"], flow["name"], flow["throughput_bps"], flow["drops"])
        for run in result.document["runs"]
        for flow in run["flows"]
    ]
    table = result.flows
    columns = [table.column(name) for name in ("discipline", "seed", "flow", "throughput_bps", "dropped")]
    assert [(d, s, f, t, sum(drops.values())) for d, s, f, t, drops in flows] == list(zip(*columns, strict=True))
    drops = result.drops.to_polars().group_by("cause").agg(polars.col("packets").sum())
    total: dict[str, int] = {}
    for run in result.document["runs"]:
        for cause, packets in run["queues"][0]["drops"].items():
            total[cause] = total.get(cause, 0) + packets
    assert dict(drops.iter_rows()) == {cause: packets for cause, packets in total.items() if packets}


def test_files_hold_the_same(result, tmp_path):
    result.write(tmp_path / "out")
    assert fairdrop.read_result(tmp_path / "out").document == result.document
    for name in ("runs", "groups", "series"):
        on_disk = pyarrow.parquet.read_table(tmp_path / "out" / f"{name}.parquet")
        assert on_disk.equals(getattr(result, name).to_arrow())
    assert not list((tmp_path / "out").glob("*.tmp"))


def test_unknown_columns_and_tables_are_named(result):
    with pytest.raises(KeyError, match="throughput_bps"):
        result.flows.column("speed")


def test_plots_and_report(result, tmp_path):
    for figure in (
        result.plot.throughput_per_flow(),
        result.plot.shares(),
        result.plot.queue_over_time(),
        result.plot.queue_length(),
        result.plot.drops(),
        result.plot.sojourn(),
    ):
        assert figure.axes
    result.report(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert result.verdict in page or "CHOKe" in page
    assert 'src="http' not in page
    assert 'href="http' not in page


def test_notebook_representations(result, headline):
    assert "<table" in result._repr_html_()
    assert "<table" in result.groups._repr_html_()
    assert "<pre>" in fairdrop.load(headline)._repr_html_()
    assert "6 runs" in repr(result)


def test_same_seed_same_result(headline):
    scenario = fairdrop.load(headline, ["duration=20s", "warm_up=5s"])
    assert scenario.run(seeds=2, threads=1).to_json() == scenario.run(seeds=2, threads=2).to_json()
    other = fairdrop.load(headline, ["duration=20s", "warm_up=5s", "seed=2"])
    assert scenario.run(seeds=2).document["runs"][1] == other.run().document["runs"][0]


def test_settings_are_in_the_source_and_the_scenario_can_be_run_from_it(headline):
    scenario = fairdrop.load(headline).with_settings("queue.red.max_p=0.02", "groups.udp.rate=3mbit", "duration=9s",
                                                     "warm_up=1s", "queue.choke.schedule=odd")  # fmt: skip
    again = fairdrop.Scenario(scenario.source)
    assert again.to_dict() == scenario.to_dict()
    assert scenario.to_dict()["queue"]["red"]["max_p"] == 0.02
    assert scenario.to_dict()["groups"][1]["settings"]["rate_bps"] == 3_000_000
    assert scenario.to_dict()["queue"]["choke"]["candidates"] == 1
    assert scenario.to_dict()["queue"]["choke"]["schedule"] == "odd"
    assert "# open" in scenario.source, "comments survive settings"


def test_drops_are_another_name_of_candidates():
    text = '[[groups]]\nname = "tcp"\ntransport = "reno"\n'
    by_drops, by_candidates = (
        fairdrop.Scenario(text).with_settings(f"queue.choke.{setting}") for setting in ("drops=5", "candidates=4")
    )
    assert by_drops.to_dict() == by_candidates.to_dict()
    assert by_drops.to_dict()["queue"]["choke"]["candidates"] == 4
    assert "drops" not in by_drops.to_dict()["queue"]["choke"]
    assert fairdrop.Scenario(by_drops.source).to_dict() == by_drops.to_dict()
    found, expected = (
        fairdrop.queue_host([0.5, 1.0], arrivals=1000, settings=["queue.red.min_th=0", f"queue.choke.{setting}"])
        for setting in ("drops=5", "candidates=4")
    )
    assert found == expected
    validator = Draft202012Validator(fairdrop.schema()["properties"]["queue"]["properties"]["choke"])
    assert validator.is_valid({"drops": 5})
    assert validator.is_valid({"candidates": 4})
    assert not validator.is_valid({"drops": 5, "candidates": 4})


def test_ready_made_scenarios_fit_the_schema(root):
    import tomllib

    validator = Draft202012Validator(fairdrop.schema())
    scenarios = sorted((root / "scenarios").glob("*.toml"))
    assert scenarios
    for path in scenarios:
        validator.validate(tomllib.loads(path.read_text()))
        fairdrop.load(path)
    errors = list(validator.iter_errors({"groups": [{"name": "x", "transport": "reno", "speed": 1}]}))
    assert errors


def test_errors_are_value_errors_with_text():
    with pytest.raises(ValueError, match="seeds = 0"):
        fairdrop.Scenario('[[groups]]\nname = "g"\ntransport = "reno"\n').run(seeds=0)
    with pytest.raises(OSError, match="nosuch"):
        fairdrop.load("nosuch.toml")
    with pytest.raises(AttributeError):
        fairdrop.nosuch  # noqa: B018
    assert set(fairdrop.__all__) <= set(dir(fairdrop))
    for name in fairdrop.__all__:
        assert getattr(fairdrop, name) is not None


def test_documents_are_plain_data(result):
    assert pickle.loads(pickle.dumps(result.document)) == json.loads(result.to_json())
