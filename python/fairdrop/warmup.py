"""Was the warm-up long enough? Judged for each run from the series recorded on its sampling grid.

The queue, and what a discipline decides by, must stay where they were when the measuring began. Geweke's test compares
the mean of the first tenth of the measuring window with that of the last half, seed by seed where there are five;
MSER-5 says from when on the series is at rest.

Sources: J. Geweke, "Evaluating the accuracy of sampling-based approaches to the calculation of posterior moments",
Bayesian Statistics 4, 1992; K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
Simulation 69, 1997, with batches of five (White, Cobb, Spratt, 2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression, pvariance, stdev
from typing import Any

#: Of the measuring window, at either end.
FIRST, LAST = 0.1, 0.5
#: Beyond this score one run in a thousand that is at rest would be; up to two in a hundred with a long memory.
LIMIT = 3.29
#: A difference that is a smaller part of the mean is not reported, however certain it is.
MATTERS = 0.05
BATCH = 5
#: Least number of seeds for tests of their differences instead of each series.
SEEDS = 5
_FEWEST = 100
# Most values of a series: longer ones are averaged in blocks.
_MOST = 1000
# A score of infinity: what varies not at all has moved.
_CERTAIN = 1e6
# Averages of the queue, which say what the queue says.
_AVERAGES = ("avg", "avg_in")


@dataclass(frozen=True)
class Unsettled:
    """A series that still moved in the measuring windows of a discipline's runs."""

    discipline: str
    queue: str
    series: str
    #: Means over the runs of the first tenth and of the last half.
    first: float
    last: float
    #: Scores of the runs together, standard normal at rest.
    z: float
    runs: int
    warm_up_s: float
    #: Warm-up after which it would have been at rest; None where the whole run was not enough.
    needed_s: float | None

    @property
    def what(self) -> str:
        """``the queue at bottleneck``, or the name of what a discipline decides by in the place of the queue."""
        return f"{'the queue' if self.series == 'packets' else self.series} at {self.queue}"

    def __str__(self) -> str:
        advice = "longer than this run" if self.needed_s is None else f"about {self.needed_s:.3g} s"
        return (
            f"{self.discipline}: {self.what} still moved after the warm-up of {self.warm_up_s:g} s: "
            f"{self.first:.4g} in the first tenth, {self.last:.4g} in the last half (z = {self.z:.1f}); "
            f"it needs {advice} (MSER-5)"
        )


@dataclass(frozen=True)
class Trend:
    """How a series of one run moved over its measuring window."""

    #: Standard normal at rest; values beyond ``_CERTAIN`` are given as that bound.
    z: float
    #: Means of the first tenth and of the last half.
    first: float
    last: float
    #: From when on the run would have been at rest (MSER-5); None where it was not within its first half.
    needed_s: float | None


#: Of a run, by queue and series.
Trends = Mapping[tuple[str, str], Trend]


def unsettled(document: Mapping[str, Any]) -> list[Unsettled]:
    """What still moved after the warm-up, for each discipline, queue and series; scores of its seeds are put together.

    Not judged: live runs and replays, runs without a sampling grid, and scenarios in which a rate changes, or flows
    start or stop, while it is measured.
    """
    if document.get("kind") != "simulation" or changes(document.get("scenario") or {}):
        return []
    found: dict[str, list[Mapping[str, Any]]] = {}
    for run in document["runs"]:
        found.setdefault(run["discipline"], []).append(run)
    return [
        one
        for discipline, runs in found.items()
        for one in moved(discipline, [trends(run) for run in runs], float(runs[0]["measured_from_s"]))
    ]


def trends(run: Mapping[str, Any]) -> Trends:
    """How each series of a run moved; nothing of those with too few values."""
    start, found = float(run["measured_from_s"]), {}
    for queue in run["queues"]:
        for name in _names(queue):
            if (trend := _trend(*_series(queue, name), start)) is not None:
                found[queue["name"], name] = trend
    return found


def moved(discipline: str, runs: Sequence[Trends], warm_up_s: float) -> list[Unsettled]:
    """What still moved in the runs of a discipline, one per seed."""
    places = dict.fromkeys(place for run in runs for place in run)
    seen = ((place, [run[place] for run in runs if place in run]) for place in places)
    found = (_judge(discipline, place, some, warm_up_s) for place, some in seen if len(some) == len(runs))
    return [one for one in found if one is not None]


def changes(scenario: Mapping[str, Any]) -> bool:
    """Whether something is meant to change in the measuring window."""
    warm_up = float(scenario.get("warm_up_s", 0.0))
    rates = any(link.get("rate_schedule") or link.get("trace") for link in scenario.get("links", ()))
    return rates or any(
        group.get("start_s", 0.0) + group.get("start_spread_s", 0.0) > warm_up or group.get("stop_s") is not None
        for group in scenario.get("groups", ())
    )


def geweke(values: Sequence[float]) -> tuple[float, float, float]:
    """Score, mean of the first tenth, and mean of the last half. The score is standard normal for a series at rest.

    The variance of the means is that of an autoregression fitted to the last half, as long memory makes neighbours
    alike. With as many degrees as independent values would say the same, Student's t is turned into the score.
    """
    first = values[: max(2, round(FIRST * len(values)))]
    last = values[len(values) - max(2, round(LAST * len(values))) :]
    apart = fmean(first) - fmean(last)
    # A line is taken off, lest a series that rises to its end seem to vary too much for any result.
    level = _without_line(last)
    spectrum = _long_run_variance(level)
    if spectrum <= 0.0:
        return (0.0 if apart == 0.0 else math.copysign(math.inf, apart)), fmean(first), fmean(last)
    independent = len(last) * min(1.0, pvariance(level) / spectrum)
    degrees = max(independent - 2.0, 0.5)
    t = apart / math.sqrt(spectrum * independent / degrees * (1.0 / len(first) + 1.0 / len(last)))
    return normal_score(t, degrees), fmean(first), fmean(last)


def normal_score(t: float, degrees: float) -> float:
    """The standard normal that is as unlikely as Student's t.

    Within 0.06 up to a score of 3, from 3 degrees on (D. L. Wallace, "Bounds on normal approximations to Student's and
    the chi-square distributions", Annals of Mathematical Statistics 30, 1959).
    """
    size = math.sqrt(degrees * math.log1p(t * t / degrees)) * (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0)
    return math.copysign(size, t)


def mser(values: Sequence[float], batch: int = BATCH) -> int | None:
    """How many values to leave out at the start so that the mean of the rest is known best; None above the half.

    Minimises the squared standard error of the mean of what is left, over batch means.
    """
    means = [fmean(values[at : at + batch]) for at in range(0, len(values) - batch + 1, batch)]
    best, least, total, squares = 0, math.inf, 0.0, 0.0
    centre = fmean(means) if means else 0.0
    for left, value in enumerate(reversed(means), start=1):
        total += value - centre
        squares += (value - centre) ** 2
        error = max(squares - total**2 / left, 0.0) / left**2
        # What is left must not be a few values that happen to be equal.
        if error <= least and left >= min(len(means), 5):
            best, least = len(means) - left, error
    return best * batch if 2 * best <= len(means) else None


def _trend(times: Sequence[float], values: Sequence[float], start: float) -> Trend | None:
    window = [value for time, value in zip(times, values, strict=True) if time >= start]
    if len(window) < _FEWEST:
        return None
    score, first, last = geweke(_thinned(window))
    together = _thinned(values)
    cut = mser(together)
    needed = None if cut is None else cut * (times[-1] - times[0]) / len(together)
    return Trend(max(-_CERTAIN, min(score, _CERTAIN)), first, last, needed)


def _judge(discipline: str, place: tuple[str, str], runs: Sequence[Trend], warm_up_s: float) -> Unsettled | None:
    queue, name = place
    first, last = fmean(run.first for run in runs), fmean(run.last for run in runs)
    z = _together([run.z for run in runs], [run.first - run.last for run in runs])
    if abs(z) <= LIMIT or abs(first - last) <= MATTERS * max(abs(first), abs(last)):
        return None
    known = [run.needed_s for run in runs if run.needed_s is not None]
    longest = max(known) if len(known) == len(runs) else None
    return Unsettled(
        discipline, queue, name, first, last, z, len(runs), warm_up_s,
        None if longest is None or longest <= warm_up_s else longest,
    )  # fmt: skip


def _together(scores: Sequence[float], apart: Sequence[float]) -> float:
    """One score of several seeds. Five or more give the variance themselves; of fewer the scores are added."""
    seeds = len(scores)
    if seeds < SEEDS:
        return sum(scores) / math.sqrt(seeds)
    spread = stdev(apart)
    if spread == 0.0:
        return 0.0 if fmean(apart) == 0.0 else math.copysign(_CERTAIN, fmean(apart))
    return normal_score(fmean(apart) / (spread / math.sqrt(seeds)), seeds - 1)


def _names(queue: Mapping[str, Any]) -> Iterator[str]:
    series = queue["series"]
    if len(series["t_s"]):
        yield "packets"
        yield from (name for name in series.get("internals", {}) if name not in _AVERAGES)


def _series(queue: Mapping[str, Any], name: str) -> tuple[list[float], list[float]]:
    series = queue["series"]
    values = series["packets"] if name == "packets" else series["internals"][name]
    return series["t_s"], [float(value) for value in values]


def _thinned(values: Sequence[float]) -> Sequence[float]:
    """Means of neighbours, so that there are at most a thousand."""
    size = -(-len(values) // _MOST)
    return values if size == 1 else [fmean(values[at : at + size]) for at in range(0, len(values) - size + 1, size)]


def _without_line(values: Sequence[float]) -> list[float]:
    slope, start = linear_regression(range(len(values)), values)
    return [value - start - slope * place for place, value in enumerate(values)]


def _long_run_variance(values: Sequence[float]) -> float:
    """Variance of the mean times the number of values: the spectrum at 0 of an autoregression, its order by AIC.

    Orders up to 10 log10 of the number of values, by Durbin's recursion.
    """
    n = len(values)
    centre = fmean(values)
    apart = [value - centre for value in values]
    order = min(int(10 * math.log10(n)), n // 4)
    covariance = [sum(a * b for a, b in zip(apart, apart[lag:], strict=False)) / n for lag in range(order + 1)]
    noise = covariance[0]
    if noise <= 0.0:
        return 0.0
    weights: list[float] = []
    best, least = noise, n * math.log(noise)
    for step in range(1, order + 1):
        ahead = covariance[step] - sum(w * covariance[step - 1 - k] for k, w in enumerate(weights))
        reflection = ahead / noise
        weights = [*(w - reflection * back for w, back in zip(weights, reversed(weights), strict=True)), reflection]
        noise *= 1.0 - reflection**2
        if noise <= 0.0:
            break
        criterion = n * math.log(noise) + 2 * step
        if criterion < least:
            best, least = noise / (1.0 - sum(weights)) ** 2, criterion
    return best
