"""The runs of a study: those to do, those done, and the rule for enough seeds."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil

from fairdrop import _core
from fairdrop.estimate import estimate, resolution_of
from fairdrop.progress import Progress
from fairdrop.scenario import ScenarioError
from fairdrop.study.definition import Point, Study
from fairdrop.study.runs import Opened, key_of, value_of
from fairdrop.study.store import Store

# Points that are set up before any work, to find what is wrong with them.
_CHECKED = 300
# Points that are set up at once, at most.
_OPENED = 256
# Most wrong points that are reported.
_MOST_LINES = 10
# How many more seeds a point gets at once, as a part of those that it has.
_MORE = 0.5


@dataclass(frozen=True, slots=True)
class Job:
    """A run to do: the seed of number ``number`` of a point."""

    point: Point
    number: int
    seed: int
    key: str
    scenario: _core.Scenario


@dataclass
class Progressed:
    """State of a point."""

    digest: str
    first_seed: int
    #: Seeds that were asked for.
    issued: int = 0
    #: Jobs that are not back.
    missing: int = 0
    #: Of the stopping rule, by number of the seed.
    values: dict[int, float | None] = field(default_factory=dict)
    #: Seeds that count; None while that is open.
    seeds: int | None = None


class Campaign:
    """Hands out jobs and takes back their results; every method may be called from several threads."""

    def __init__(self, study: Study, store: Store, progress: Progress, shard: tuple[int, int] = (1, 1)) -> None:
        self.study = study
        self.store = store
        self.progress = progress
        self.problems: list[str] = []
        self.computed = 0
        self.points: dict[int, Progressed] = {}
        self._mine = range(shard[0] - 1, len(study.points), shard[1])
        self._next = iter(self._mine)
        self._pending: deque[Job] = deque()
        # Jobs by key from the time they are pending: the first is done, and the others wait for it.
        self._asked: dict[str, list[Job]] = {}
        self._lock = threading.Lock()
        self._least = study.stop.min_seeds if study.stop else study.seeds
        progress.total = len(self._mine) * self._least

    def check(self) -> None:
        """Set points up before any work: all of them, or some where there are many. Raises ScenarioError."""
        mine = self._mine
        some = mine if len(mine) <= _CHECKED else [*mine[:: ceil(len(mine) / _CHECKED)], mine[-1]]
        wrong: dict[str, Point] = {}
        points = iter([self.study.points[index] for index in some])
        while len(wrong) < _MOST_LINES and (batch := list(islice(points, _MOST_LINES))):
            for point, opened in zip(batch, self.study.open(batch), strict=True):
                for line in self._problems(opened) if len(wrong) < _MOST_LINES else ():
                    wrong.setdefault(line, point)
        if wrong:
            raise ScenarioError("\n".join(self._line(line, point) for line, point in wrong.items()))

    def _problems(self, opened: Opened | ScenarioError | OSError) -> list[str]:
        """What is wrong with the scenario of a point; files that cannot be read are reported when it is run."""
        try:
            if isinstance(opened, Opened):
                self.study.check(opened)
        except ScenarioError as error:
            opened = error
        return str(opened).splitlines() if isinstance(opened, ScenarioError) else []

    def _line(self, line: str, point: Point) -> str:
        """A problem, with its point unless a value of the study alone causes it."""
        own = line.removeprefix(f"{self.study.where}: ")
        # A value that is wrong only beside another one, whose problem comes first.
        is_blamed = own.startswith(tuple(f"{setting}: " for setting in point.settings))
        if (own != line and not is_blamed) or not point.levels:
            return line
        return f"{line} (where {self.where(point)})"

    def next(self, most: int = 1) -> list[Job]:
        """Jobs, ``most`` of them at the most; none when there are none now: some may come once others are back."""
        with self._lock:
            size = min(_OPENED, ceil(most / self._least))
            while len(self._pending) < most and (some := list(islice(self._next, size))):
                self._open([self.study.points[index] for index in some])
                # Points whose runs are all in the store give no jobs.
                size = min(_OPENED, 2 * size)
            return [self._pending.popleft() for _ in range(min(most, len(self._pending)))]

    def finished(
        self, jobs: Sequence[Job], found: Sequence[bytes | None], problems: Sequence[str | None]
    ) -> None:
        """Jobs are back, each with its packed rows, or with None and a problem."""
        if kept := [(job.key, packed) for job, packed in zip(jobs, found, strict=True) if packed is not None]:
            self.store.put(kept)
        with self._lock:
            for job, packed, why in zip(jobs, found, problems, strict=True):
                self.computed += packed is not None
                for waiting in self._asked.pop(job.key, [job]):
                    self.progress.advance(1.0, computed=waiting is job)
                    if packed is None:
                        self.problems.append(f"{self.where(waiting.point)}, seed {waiting.seed}: {why}")
                    self._back(waiting.point, waiting.scenario, {waiting.number: packed})

    @property
    def finished_all(self) -> bool:
        """Whether no job is missing."""
        return all(known.missing == 0 for known in self.points.values())

    @property
    def has_more(self) -> bool:
        """Whether there are jobs to hand out now."""
        return bool(self._pending)

    @property
    def size(self) -> int:
        """Points that are to be done."""
        return len(self._mine)

    def where(self, point: Point) -> str:
        """A point in words."""
        pairs = zip(self.study.axes, point.levels, strict=True)
        return ", ".join(f"{axis.name} = {level}" for axis, level in pairs)

    def keys(self, index: int) -> list[tuple[int, str]]:
        """Seeds and keys of the runs of a point that count so far."""
        known = self.points.get(index)
        if known is None:
            return []
        count = known.issued if known.seeds is None else known.seeds
        seeds = [known.first_seed + number for number in range(count)]
        return [(seed, key_of(known.digest, seed)) for seed in seeds]

    @property
    def repeated(self) -> int:
        """Points that differ from another in nothing that their discipline reads."""
        return len(self.points) - len({(known.digest, known.first_seed) for known in self.points.values()})

    @property
    def complete(self) -> bool:
        """Whether all points have their seeds."""
        done = len(self.points) == len(self._mine)
        return done and not self.problems and all(known.seeds is not None for known in self.points.values())

    def _open(self, points: Sequence[Point]) -> None:
        good = []
        for point, opened in zip(points, self.study.open(points), strict=True):
            if isinstance(opened, Opened):
                self.points[point.index] = Progressed(opened.digest, opened.first_seed)
                good.append((point, opened.scenario))
            else:
                self.problems.append(f"{self.where(point)}: {opened}")
                self.progress.advance(self._least, computed=False)
        self._issue(good, self._least)

    def _issue(self, points: Sequence[tuple[Point, _core.Scenario]], more: int) -> None:
        """Ask for more seeds of points; what the store has is back at once."""
        issued = [(point, scenario, self._more_of(point, scenario, more)) for point, scenario in points]
        keys = [job.key for *_, jobs in issued for job in jobs]
        there: dict[str, bytes | None] = dict.fromkeys(self.store.has(keys))
        if self.study.stop:
            there = dict(self.store.get(keys))
        for point, scenario, jobs in issued:
            self._ask([job for job in jobs if job.key not in there])
            found = {job.number: there[job.key] for job in jobs if job.key in there}
            if found:
                self.progress.advance(len(found), computed=False)
                self._back(point, scenario, found)

    def _more_of(self, point: Point, scenario: _core.Scenario, more: int) -> list[Job]:
        known = self.points[point.index]
        seeds = range(known.first_seed + known.issued, known.first_seed + known.issued + more)
        first = known.issued
        known.issued += more
        known.missing += more
        return [
            Job(point, number, seed, key_of(known.digest, seed), scenario) for number, seed in enumerate(seeds, first)
        ]

    def _ask(self, jobs: Iterable[Job]) -> None:
        """Put jobs in the queue, but for those that another point, which differs in nothing that is read, has there."""
        for job in jobs:
            waiting = self._asked.setdefault(job.key, [])
            if not waiting:
                self._pending.append(job)
            waiting.append(job)

    def _back(self, point: Point, scenario: _core.Scenario, found: dict[int, bytes | None]) -> None:
        known = self.points[point.index]
        known.missing -= len(found)
        stop = self.study.stop
        if stop:
            for number, packed in found.items():
                known.values[number] = None if packed is None else value_of(packed, stop.measure, stop.group)
        if known.missing == 0:
            self._settle(point, scenario, known)

    def _settle(self, point: Point, scenario: _core.Scenario, known: Progressed) -> None:
        stop = self.study.stop
        if stop is None:
            known.seeds = known.issued
            return
        values = [known.values.get(number) for number in range(known.issued)]
        known.seeds = enough(stop.satisfied, values, stop.min_seeds, resolution_of(stop.measure))
        if known.seeds is None and known.issued >= stop.max_seeds:
            known.seeds = known.issued
        if known.seeds is None:
            more = min(ceil(_MORE * known.issued), stop.max_seeds - known.issued)
            self.progress.total += more
            self._issue([(point, scenario)], more)
        else:
            known.values.clear()


def enough(
    satisfied: Callable[[float, float], bool], values: Sequence[float | None], least: int, resolution: float = 0.0
) -> int | None:
    """How many of the first values are enough, from ``least`` on; None when all are not."""
    for count in range(least, len(values) + 1):
        found = estimate(values[:count], resolution=resolution)
        if found is not None and found.half is not None and satisfied(found.mean, found.half):
            return count
    return None
