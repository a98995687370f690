"""Was the warm-up long enough: the tests themselves, and what a result says of its runs."""

from __future__ import annotations

import math
import random

import pytest
from scipy.stats import norm, t

import fairdrop
from fairdrop.cautions import cautions
from fairdrop.cli.show import result_text
from fairdrop.document import document_of
from fairdrop.report.notices import notices
from fairdrop.warmup import LIMIT, Trend, _long_run_variance, geweke, moved, mser, normal_score, unsettled


def at_rest(rng, memory, length):
    """An autoregression of the first order, in its stationary state."""
    value, found = rng.gauss(0, 1) / math.sqrt(1 - memory**2), []
    for _ in range(length):
        value = memory * value + rng.gauss(0, 1)
        found.append(value)
    return found


@pytest.mark.parametrize(("memory", "most"), [(0.0, 0.1), (0.5, 0.1), (0.9, 0.1)])
def test_series_at_rest_are_called_unsettled_as_seldom_as_stated(memory, most):
    """Of 400 series 5 to 10 % are beyond 1.96, and two in a hundred at most beyond the limit."""
    scores = [abs(geweke(at_rest(random.Random(seed), memory, 480))[0]) for seed in range(400)]
    assert 0.02 < sum(score > 1.96 for score in scores) / 400 < most
    assert sum(score > LIMIT for score in scores) / 400 <= 0.02


def test_a_start_far_away_is_found():
    rng = random.Random(3)
    values = [8 * math.exp(-n / 40) + value for n, value in enumerate(at_rest(rng, 0.5, 480))]
    score, first, last = geweke(values)
    assert score > LIMIT
    assert first == pytest.approx(sum(values[:48]) / 48)
    assert last == pytest.approx(sum(values[240:]) / 240)
    assert 40 <= mser(values) <= 200


def test_mser_by_hand():
    """Batches of five: 100, then 1, 3, 1, 3, ... Without the first the squared error of the mean is least."""
    values = [100.0] * 5 + [1.0, 1, 1, 1, 1, 3, 3, 3, 3, 3] * 10
    assert mser(values) == 5
    assert mser([100.0] * 5 + [2.0] * 95) == 5
    assert mser([2.0] * 100) == 0
    # A ramp is never at rest: what is left is known best where little is left.
    assert mser([float(n) for n in range(100)]) is None


def test_scores_of_students_t():
    for degrees in (3, 5, 9, 50):
        for value in (-2.0, 0.0, 0.5, 1.5, 3.0, 5.0):
            assert normal_score(value, degrees) == pytest.approx(-norm.ppf(t.sf(value, degrees)), abs=0.06)


def test_the_spectrum_at_zero_of_an_autoregression():
    """Of the first order with memory 0.5 it is 1/(1 - 0.5)² = 4 times the noise; of noise alone 1."""
    found = [_long_run_variance(at_rest(random.Random(seed), 0.5, 2000)) for seed in range(20)]
    assert sum(found) / 20 == pytest.approx(4.0, rel=0.1)
    found = [_long_run_variance(at_rest(random.Random(seed), 0.0, 2000)) for seed in range(20)]
    assert sum(found) / 20 == pytest.approx(1.0, rel=0.1)
    assert _long_run_variance([2.0] * 50) == 0.0


SLOW = ["queue.chokew.p_plus=0.0002", "queue.chokew.p_minus=0.0001", "duration=120s", "sample=500ms"]


@pytest.fixture(scope="module")
def slow(root):
    """CHOKeW with steps of a tenth: its drawing factor needs a minute and more."""
    return fairdrop.load(root / "scenarios" / "chokew.toml", SLOW)


def test_runs_that_moved_all_alike_have_a_score_that_can_be_written():
    """A counter that goes from 9 to 64, its most, in every run: no spread to measure the difference by."""
    runs = [{("bottleneck", "trials"): Trend(-1e6, 9.0, 64.0, None)}] * 5
    (found,) = moved("mlc", runs, 20.0)
    assert found.z < -LIMIT and math.isfinite(found.z)


@pytest.mark.parametrize("seeds", [2, 6])
def test_a_warm_up_that_is_too_short_is_reported(slow, seeds):
    result = slow.with_settings("warm_up=2s").run(seeds=seeds)
    (found,) = [one for one in result.unsettled if one.series == "p0"]
    assert (found.discipline, found.queue, found.runs, found.warm_up_s) == ("chokew", "bottleneck", seeds, 2.0)
    assert found.first < 0.5 * found.last and found.z < -LIMIT
    (line,) = [line for line in result_text(result).splitlines() if line.startswith("warning: ")]
    number = len(result.unsettled)
    assert number > 1
    assert line.startswith(f"warning: {number} series under chokew still moved after the warm-up of 2 s, ")
    (notice,) = [one for one in notices(document_of(result.document)) if one.kind == "warning"]
    assert [f"warning: {text}" for text in notice.lines] == [line]


def test_one_series_alone_is_reported_with_its_numbers(slow, monkeypatch):
    result = slow.with_settings("warm_up=2s").run(seeds=2)
    (found,) = [one for one in result.unsettled if one.series == "p0"]
    monkeypatch.setattr("fairdrop.cautions.unsettled", lambda _: [found])
    (line,) = cautions(document_of(result.document))
    assert line == str(found)
    assert line.startswith("chokew: p0 at bottleneck still moved after the warm-up of 2 s: ")


def test_long_enough_is_not_reported(root, headline):
    for seeds in (1, 6):
        assert fairdrop.load(headline).run(seeds=seeds).unsettled == []
    chokew = fairdrop.load(root / "scenarios" / "chokew.toml", ["duration=200s", "warm_up=50s"])
    assert chokew.run(seeds=6).unsettled == []


def test_what_is_meant_to_change_is_not_checked(slow):
    result = slow.with_settings("warm_up=2s").run(seeds=2)
    document = result.document
    assert unsettled(document)
    for change in (
        {"kind": "live"},
        {"scenario": {**document["scenario"], "links": [{"rate_schedule": [[10.0, 5]]}]}},
        {"scenario": {**document["scenario"], "groups": [{"start_s": 30.0, "start_spread_s": 0.0, "stop_s": None}]}},
        {"scenario": {**document["scenario"], "groups": [{"start_s": 0.0, "start_spread_s": 0.0, "stop_s": 90.0}]}},
    ):
        assert unsettled({**document, **change}) == []
    assert slow.with_settings("warm_up=2s", "sample=0s").run(seeds=2).unsettled == []


def test_the_document_has_nothing_of_it(slow):
    """The check reads a result and adds nothing to it."""
    result = slow.with_settings("warm_up=2s").run(seeds=1)
    before = result.to_json()
    assert result.unsettled
    assert result.to_json() == before and "unsettled" not in before
