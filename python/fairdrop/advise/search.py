"""The search: what the candidates do with usual parameters, and where those of the best are better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from fairdrop.advise.candidates import CANDIDATES, Candidate
from fairdrop.advise.link import Link, Load
from fairdrop.advise.score import Seen, score, seen
from fairdrop.progress import Progress
from fairdrop.study.observed import listed_points, observe
from fairdrop.study.store import Store

#: Seeds of each point of the search, and of the check.
SEARCH_SEEDS, CHECK_SEEDS = 2, 5
# Between the first seeds of the search and of the check: they share none.
_APART = 1000
# Points of a generation: powers of two, as they begin as points of Sobol's; and generations at least.
_GENERATION, _LARGEST_GENERATION, _GENERATIONS = 8, 32, 2
#: Points that a search takes at least.
LEAST_POINTS = _GENERATION * _GENERATIONS


class InterruptedSearchError(Exception):
    """Ctrl-C: what was finished is in the store."""


@dataclass(frozen=True)
class Setting:
    """A discipline with parameters."""

    discipline: str
    values: Mapping[str, float]

    @property
    def candidate(self) -> Candidate:
        """What is known of the discipline."""
        return CANDIDATES[self.discipline]


@dataclass
class Bench:
    """Runs settings on loads and scores them; every run is in the store afterwards."""

    link: Link
    target: str
    seed: int
    store: Store
    progress: Progress
    threads: int | None
    total: float
    computed: int = 0
    _droptail: dict[tuple[str, int, int], list[float]] = field(default_factory=dict)

    def measure(self, load: Load, settings: Sequence[Setting], seeds: int, first: int) -> list[list[Seen]]:
        """What each setting does on a load, seed by seed.

        Raises InterruptedSearchError, or ValueError for runs that failed.
        """
        each = [setting.candidate.scenario_settings(self.link, setting.values) for setting in settings]
        scenario = load.scenario.with_settings(f"seed={first}", f"queue.limit={self.link.buffer_packets}p")
        found = observe(
            listed_points(load.name, scenario, each, seeds), self.store, self.progress, self.threads, self.total
        )
        self.computed += found.computed
        if found.problems:
            raise ValueError(f"{load.name}: {found.problems[0]}")
        if not found.complete:
            raise InterruptedSearchError
        return [[seen(run) for run in runs] for runs in found.points]

    def scores(
        self, load: Load, settings: Sequence[Setting], seeds: int, first: int
    ) -> tuple[list[list[float]], list[list[Seen]]]:
        """The score of each setting on a load, seed by seed; and what was seen."""
        used = self._used_by_droptail(load, seeds, first)
        found = self.measure(load, settings, seeds, first)
        scored = [[score(self.target, one, load, used[place]) for place, one in enumerate(runs)] for runs in found]
        return scored, found

    def _used_by_droptail(self, load: Load, seeds: int, first: int) -> list[float]:
        key = (load.name, seeds, first)
        if key not in self._droptail:
            reference = Setting("droptail", {"limit": self.link.buffer_packets})
            self._droptail[key] = [one.used for one in self.measure(load, [reference], seeds, first)[0]]
        return self._droptail[key]

    @property
    def search_seed(self) -> int:
        """First seed of the runs of the search."""
        return self.seed

    @property
    def check_seed(self) -> int:
        """First seed of the runs of the check."""
        return self.seed + _APART


def screen(bench: Bench, names: Sequence[str], loads: Sequence[Load]) -> dict[str, float]:
    """Mean score of each candidate with usual parameters."""
    settings = [Setting(name, CANDIDATES[name].usual(bench.link)) for name in names]
    return dict(zip(names, _means(bench, settings, loads), strict=True))


def tune(bench: Bench, name: str, loads: Sequence[Load], points: int) -> Setting:
    """Parameters with the least mean score: differential evolution over ``points`` of them, the usual ones included.

    Source: R. Storn, K. Price, "Differential evolution", Journal of Global Optimization 11, 1997; scipy's.
    """
    from scipy.optimize import Bounds, differential_evolution

    candidate = CANDIDATES[name]
    knobs = candidate.knobs(bench.link)
    tried: dict[tuple[float, ...], float] = {}

    def mean_scores(population: Any) -> Any:
        """Of parts along the knobs, a row each knob and a column each point."""
        points = zip(*population, strict=True)
        places = [tuple(knob.at(part) for knob, part in zip(knobs, point, strict=True)) for point in points]
        new = [place for place in dict.fromkeys(places) if place not in tried]
        if new:
            settings = [Setting(name, _named(candidate, bench.link, place)) for place in new]
            tried.update(zip(new, _means(bench, settings, loads), strict=True))
        return [tried[place] for place in places]

    size = _GENERATION
    while 4 * size <= points and size < _LARGEST_GENERATION:
        size *= 2
    usual = [min(max(knob.part(knob.usual), 0.0), 1.0) for knob in knobs]
    differential_evolution(
        mean_scores, Bounds([0.0] * len(knobs), [1.0] * len(knobs)), x0=usual, popsize=size // len(knobs), init="sobol",
        maxiter=points // size - 1, tol=0.0, atol=0.0, polish=False, updating="deferred", vectorized=True,
        rng=bench.seed,
    )  # fmt: skip
    best = min(tried, key=lambda place: (tried[place], place))
    return Setting(name, _named(candidate, bench.link, best))


def _named(candidate: Candidate, link: Link, place: Sequence[float]) -> dict[str, float]:
    return {knob.name: value for knob, value in zip(candidate.knobs(link), place, strict=True)}


def _means(bench: Bench, settings: Sequence[Setting], loads: Sequence[Load]) -> list[float]:
    """Mean score of each setting over loads and seeds."""
    found = [bench.scores(load, settings, SEARCH_SEEDS, bench.search_seed)[0] for load in loads]
    return [fmean(value for scores in found for value in scores[place]) for place in range(len(settings))]
