"""The trials of an advice: a first look at all candidates, and a check of the best, as long as there is time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, log
from statistics import fmean

from fairdrop.advise.candidates import Setting, own_disciplines
from fairdrop.advise.judge import Standing, by_discipline, goes_on, standings
from fairdrop.advise.loads import Load
from fairdrop.advise.plan import MORE_SEEDS, Stage, check, look
from fairdrop.advise.profiles import Profile
from fairdrop.advise.trials import APART, Bench, Trial, speed


@dataclass
class Work:
    """The request, and the effort and time left for it."""

    profile: Profile
    order: Sequence[str]
    loads: Sequence[Load]
    bench: Bench
    #: Simulated packets.
    effort: float
    #: When the time is over, by ``clock``.
    ends: float
    clock: Callable[[], float]
    #: Packets a second of this machine.
    speed: float = inf
    cut: bool = False

    def affords(self, effort: float) -> bool:
        """Whether trials fit into the effort, and on this machine into the time."""
        return effort <= self.effort and self.in_time(effort)

    def in_time(self, effort: float) -> bool:
        """Whether trials fit into the time; once some do not, no more do."""
        self.cut = self.cut or self.clock() + effort / self.speed > self.ends
        return not self.cut

    def trials(
        self, stage: Stage, settings: Sequence[Setting], first: int, had: int = 0
    ) -> tuple[Stage, list[list[list[Trial]]]]:
        """Load after load, as long as there is time; with the stage as far as it went, which has one load at least.

        ``had`` of the seeds are done already.
        """
        self.bench.progress.total += stage.runs
        done: list[list[list[Trial]]] = []
        for load in stage.loads:
            one = replace(stage, loads=(load,), seeds=stage.seeds - had)
            if done and not self.in_time(one.effort):
                break
            self.effort -= one.effort
            begin, before = self.clock(), self.bench.computed
            done.append(self.bench.trials(load, settings, stage.seeds, stage.trips, first))
            taken_s, computed = self.clock() - begin, self.bench.computed - before
            if computed == one.runs and taken_s > 0:
                self.speed = one.effort / taken_s
        return replace(stage, loads=stage.loads[: len(done)]), done


@dataclass(frozen=True)
class Found:
    """Results of the trials."""

    #: Score of every candidate in the first look.
    looked: Mapping[str, float]
    #: A setting of each discipline that went on, the best first; none without trials.
    standings: Sequence[Standing]
    #: Trials of each setting on each load of the last stage, by seed.
    trials: Mapping[Setting, Sequence[Sequence[Trial]]]
    stage: Stage | None
    #: Whether that was the check, and not the first look.
    checked: bool = False
    #: Candidates that there was no time to look at.
    left_out: Sequence[str] = ()


def run(work: Work, settings: Sequence[Setting], progress: bool) -> Found:
    """The first look at all, then the check of the best, with more seeds where it leaves something open."""
    first = look(work.loads, len(settings), work.effort)
    if first is not None:
        work.speed = _speed(work, settings)
    _print_time(work, first, progress)
    if first is None or not work.affords(first.effort):
        return Found({}, (), {}, None)
    some = settings[: first.settings]
    work.bench.progress.name = "first look"
    tried = {one.discipline for one in some}
    left_out = list(dict.fromkeys(one.discipline for one in settings if one.discipline not in tried))
    first, looks = work.trials(first, some, work.bench.seed)
    logs = _logs(looks, some)
    looked = {f"{one.discipline} ({one.variant})": exp(fmean(values)) for one, values in logs.items()}
    best = goes_on(logs, work.order)
    stage = check(work.loads, len(best), work.effort)
    if stage is None or not work.affords(stage.effort):
        return replace(_stood(looked, looks, some, first), left_out=left_out)
    work.bench.progress.name = "check"
    stage, trials = work.trials(stage, best, work.bench.seed + APART)
    found = replace(_stood(looked, trials, best, stage), checked=True)
    for seeds in MORE_SEEDS:
        if seeds <= stage.seeds:
            continue
        more = replace(stage, seeds=seeds - stage.seeds)
        if not any(one.is_open for one in found.standings) or not work.affords(more.effort):
            break
        longer, trials = work.trials(replace(stage, seeds=seeds), best, work.bench.seed + APART, had=stage.seeds)
        if longer.loads != stage.loads:
            break
        stage, found = longer, replace(_stood(looked, trials, best, longer), checked=True)
    return replace(found, left_out=left_out)


def _speed(work: Work, settings: Sequence[Setting]) -> float:
    """Of this machine: of one discipline of the library in place of all, and of each own one."""
    own = own_disciplines()
    slow = [setting for setting in settings if setting.discipline in own]
    fast = [setting for setting in settings if setting.discipline not in own]
    speeds = [speed(work.loads[0], some, work.bench.threads) for some in (fast[:1], slow) if some]
    times = [len(some) / of for some, of in zip(filter(None, (fast, slow)), speeds, strict=True)]
    return len(settings) / sum(times)


def _print_time(work: Work, first: Stage | None, progress: bool) -> None:
    """About how long it takes, before it begins."""
    if not progress:
        return
    least = 0.0 if first is None else first.effort / work.speed
    most = min(work.effort / work.speed, max(work.ends - work.clock(), 0.0))
    print(
        f"fairdrop: a first answer after about {ceil(least)} s, the last after {ceil(most)} s at most", file=sys.stderr
    )


def _logs(trials: Sequence[Sequence[Sequence[Trial]]], settings: Sequence[Setting]) -> dict[Setting, list[float]]:
    """Geometric means over loads, by setting and seed, as logarithms."""
    return {
        setting: [fmean(log(trial.score) for trial in of_seed) for of_seed in zip(*of_setting, strict=True)]
        for setting, of_setting in zip(settings, zip(*trials, strict=True), strict=True)
    }


def _stood(
    looked: Mapping[str, float],
    trials: Sequence[Sequence[Sequence[Trial]]],
    settings: Sequence[Setting],
    stage: Stage,
) -> Found:
    of = {setting: [load[place] for load in trials] for place, setting in enumerate(settings)}
    return Found(looked, standings(by_discipline(_logs(trials, settings))), of, stage)
