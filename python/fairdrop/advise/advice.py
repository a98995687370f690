"""Which discipline, with which parameters, and how sure that is."""

from __future__ import annotations

import sys
import time as clocks
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, inf, log
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import Any

from fairdrop import files
from fairdrop.advise.candidates import Setting, settings_of
from fairdrop.advise.judge import Standing, by_discipline, chosen, goes_on, standings
from fairdrop.advise.link import Link, read_link, seconds
from fairdrop.advise.linux import Command, commands, remark
from fairdrop.advise.loads import Load, loads_of
from fairdrop.advise.plan import MORE_SEEDS, Stage, check, look
from fairdrop.advise.profiles import Profile, access_of, profile_of
from fairdrop.advise.score import TARGETS
from fairdrop.advise.sureness import Sureness, sureness
from fairdrop.advise.trials import APART, NOMINAL, Bench, InterruptedTrialsError, Trial, speed
from fairdrop.estimate import TIME_RESOLUTION, Estimate, estimate
from fairdrop.library import catalogue
from fairdrop.nearest import choices
from fairdrop.progress import Progress
from fairdrop.scenario import Scenario, listed
from fairdrop.study.axes import StudyError, whole
from fairdrop.study.store import Store

SCENARIO = "scenario.toml"
_TIMES_S = (1.0, 86_400.0)
# Round trips of the scenario that is written.
_SHOWN_TRIPS = 160


@dataclass(frozen=True)
class Check:
    """What a finalist did on a load, over seeds."""

    load: str
    score: Estimate
    #: 99th percentile of the waits of those that send little, and the part of their packets that is lost.
    sparse_wait_ms: Estimate
    sparse_lost: Estimate
    #: What a short transfer takes longer than if it waited for nobody, for each of its round trips.
    short_extra_ms: Estimate
    #: Mean wait of the long flows.
    long_wait_ms: Estimate
    used: Estimate
    jain: Estimate
    tcp_over_fair: Estimate


@dataclass(frozen=True)
class Finalist:
    """A discipline that went into the check, and what it did on each load there."""

    discipline: str
    #: ``defaults``, or ``for this link``.
    variant: str
    parameters: Mapping[str, float]
    told: str
    checks: Sequence[Check]
    #: Geometric mean of its scores over the loads; less is better. None without any trial.
    score: Estimate | None
    #: By which part its score is above the least one, with its interval in parts; None for the least.
    worse: Estimate | None
    #: Whether it counts as being as good as the best.
    level: bool
    #: What Linux is told, for each place where the queue may be; empty where it has no such qdisc.
    commands: Sequence[Command]
    remark: str


@dataclass(frozen=True)
class Advice:
    """The choice, those that it was checked beside, and how sure it is."""

    link: Link
    profile: str
    #: Why it is that profile.
    because: str
    access: str
    target: str
    choice: Finalist
    #: With the choice, the best first.
    finalists: Sequence[Finalist]
    #: Score of every candidate in the first look.
    looked: Mapping[str, float]
    sure: Sureness
    #: Of the trials that it rests on; 0 without any.
    seeds: int
    round_trips: int
    first_seed: int
    #: Whether trials were left out that the time was meant for, since this machine was too slow for them.
    cut: bool
    scenario: Scenario
    #: Runs that the advice rests on, and how many of them were simulated now.
    runs: int
    computed: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""

        def plain(value: Any) -> Any:
            if isinstance(value, Estimate):
                return {"mean": value.mean, "half": value.half, "n": value.n}
            if isinstance(value, Finalist | Check | Command | Sureness):
                return {name: plain(one) for name, one in value.__dict__.items()}
            if isinstance(value, Mapping):
                return dict(value)
            return [plain(one) for one in value] if isinstance(value, list | tuple) else value

        fields = {name: plain(value) for name, value in self.__dict__.items() if name not in ("link", "scenario")}
        link = {
            "rate_bps": self.link.rate_bps, "rtt_s": [self.link.low_rtt_s, self.link.high_rtt_s],
            "flows": self.link.flows,
        }  # fmt: skip
        return {**link, **fields, "scenario": self.scenario.source}


@dataclass
class _Work:
    """What is asked, and what there is left for it."""

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

    def trials(self, stage: Stage, settings: Sequence[Setting], first: int) -> tuple[Stage, list[list[list[Trial]]]]:
        """Load after load, as long as there is time; with the stage as far as it went, which has one load at least."""
        self.bench.progress.total += stage.runs
        done: list[list[list[Trial]]] = []
        for load in stage.loads:
            one = replace(stage, loads=(load,))
            if done and not self.in_time(one.effort):
                break
            self.effort -= one.effort
            begin, before = self.clock(), self.bench.computed
            done.append(self.bench.trials(load, settings, stage.seeds, stage.trips, first))
            taken_s, computed = self.clock() - begin, self.bench.computed - before
            if computed == one.runs and taken_s > 0:
                self.speed = one.effort / taken_s
        return replace(stage, loads=stage.loads[: len(done)]), done


def advise(
    rate: str,
    rtt: str,
    flows: int,
    *,
    profile: str | None = None,
    access: str | None = None,
    target: str = "delay",
    disciplines: Sequence[str] | None = None,
    out: str | PathLike[str] = "advice",
    time: str = "30s",
    seed: int = 1,
    threads: int | None = None,
    progress: bool = False,
    clock: Callable[[], float] = clocks.monotonic,
) -> Advice | None:
    """Find by simulation which discipline suits a link; None after Ctrl-C.

    ``rate`` is that of the link, ``rtt`` a round-trip time or two (``"20ms..80ms"``) between which those of the long
    flows lie. ``profile`` says what kind of link it is (``home``, ``campus``, ``satellite``, ``mobile``,
    ``datacentre``); otherwise it is told from these. ``access`` is what the link is made of, for the commands.
    ``target`` is what is wanted: ``delay`` (of those that send little, of short transfers, and the mean wait of long
    flows, the link well used), ``fairness`` (Jain's index, a sender that does not respond included) or ``throughput``.

    ``time`` decides how many trials there are and how long they are: a million simulated packets for each second. So
    the same arguments give the same advice on every machine, unless the machine is slower and the time is over before;
    ``cut`` of the advice then says so. Runs are kept in the folder ``out``, and none is done twice.

    Raises StudyError before anything is simulated where an argument is wrong, and OSError.
    """
    begin = clock()
    link = read_link(rate, rtt, flows)
    kind, because = profile_of(link, profile)
    made_of = access_of(link, kind, access)
    if target not in TARGETS:
        raise StudyError(f"target = {target!r} is not valid{choices(target, TARGETS)}")
    names = _names(disciplines, kind)
    order = [*kind.order, *(name for name in names if name not in kind.order)]
    whole("seed", seed, 0, 2**31)
    asked_s = seconds(time)
    if not _TIMES_S[0] <= asked_s <= _TIMES_S[1]:
        raise StudyError(f"time = {time!r} is not valid; valid: a time from 1s to 24h, such as 30s")
    loads = loads_of(link, kind)
    settings = [setting for name in names for setting in settings_of(name, link, kind)]
    with Store(Path(out)) as store:
        bench = Bench(target, seed, store, Progress(shown=progress), threads)
        work = _Work(kind, order, loads, bench, asked_s * NOMINAL, begin + asked_s, clock)
        try:
            found = _found(work, settings, progress)
        except InterruptedTrialsError:
            bench.progress.clear()
            return None
        bench.progress.clear()
        advice = _advice(work, (link, because, made_of, target), settings, found)
        files.write_text(Path(out) / SCENARIO, advice.scenario.source)
    return advice


def _names(asked: Sequence[str] | None, profile: Profile) -> list[str]:
    """Candidates, those first that are deployed most. Own disciplines that are registered are among them."""
    known = [str(entry["name"]) for entry in catalogue()["disciplines"]]
    if asked is None:
        return [*profile.order, *own_disciplines()]
    names = listed("disciplines", asked, "red")
    for name in names:
        if name not in known:
            raise StudyError(f"disciplines: {name!r} is not valid{choices(name, known)}")
    if not names:
        raise StudyError(f"disciplines: there is none; valid: {', '.join(known)}")
    order = [*profile.order, *known]
    return sorted(dict.fromkeys(names), key=order.index)


def own_disciplines() -> list[str]:
    """Those that came with ``--parts`` or ``fairdrop.register``."""
    from fairdrop.parts.registry import parts_of, registered

    own = {part.name for part in parts_of(registered())}
    return [str(entry["name"]) for entry in catalogue()["disciplines"] if entry["name"] in own]


@dataclass(frozen=True)
class _Found:
    """What the trials showed."""

    #: Score of every candidate in the first look.
    looked: Mapping[str, float]
    #: A setting of each discipline that went on, the best first; none without trials.
    standings: Sequence[Standing]
    #: Trials of each setting on each load of the last stage, by seed.
    trials: Mapping[Setting, Sequence[Sequence[Trial]]]
    stage: Stage | None
    #: Whether that was the check, and not the first look.
    checked: bool = False


def _found(work: _Work, settings: Sequence[Setting], progress: bool) -> _Found:
    """The first look at all, then the check of the best, with more seeds where it leaves something open."""
    first = look(work.loads, len(settings), work.effort)
    if first is not None:
        work.speed = _speed(work, settings)
    _tell_time(work, first, progress)
    if first is None or not work.affords(first.effort):
        return _Found({}, (), {}, None)
    some = settings[: first.settings]
    work.bench.progress.name = "first look"
    first, looks = work.trials(first, some, work.bench.seed)
    logs = _logs(looks, some)
    looked = {f"{one.discipline} ({one.variant})": exp(fmean(values)) for one, values in logs.items()}
    best = goes_on(logs, work.order)
    stage = check(work.loads, len(best), work.effort)
    if stage is None or not work.affords(stage.effort):
        return _stood(looked, looks, some, first, checked=False)
    work.bench.progress.name = "check"
    stage, trials = work.trials(stage, best, work.bench.seed + APART)
    found = _stood(looked, trials, best, stage)
    for seeds in MORE_SEEDS:
        if seeds <= stage.seeds:
            continue
        more = replace(stage, seeds=seeds - stage.seeds)
        if not any(one.is_open for one in found.standings) or not work.affords(more.effort):
            break
        work.effort += stage.effort
        longer, trials = work.trials(replace(stage, seeds=seeds), best, work.bench.seed + APART)
        if longer.loads != stage.loads:
            break
        stage, found = longer, _stood(looked, trials, best, longer)
    return found


def _speed(work: _Work, settings: Sequence[Setting]) -> float:
    """Of this machine: of one discipline of the library in place of all, and of each own one."""
    own = own_disciplines()
    slow = [setting for setting in settings if setting.discipline in own]
    fast = [setting for setting in settings if setting.discipline not in own]
    speeds = [speed(work.loads[0], some, work.bench.threads) for some in (fast[:1], slow) if some]
    times = [len(some) / of for some, of in zip(filter(None, (fast, slow)), speeds, strict=True)]
    return len(settings) / sum(times)


def _tell_time(work: _Work, first: Stage | None, progress: bool) -> None:
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
    checked: bool = True,
) -> _Found:
    of = {setting: [load[place] for load in trials] for place, setting in enumerate(settings)}
    return _Found(looked, standings(by_discipline(_logs(trials, settings))), of, stage, checked)


def _advice(work: _Work, asked: tuple[Link, str, str, str], settings: Sequence[Setting], found: _Found) -> Advice:
    link, because, access, target = asked

    def finalist(setting: Setting, standing: Standing | None = None) -> Finalist:
        loads = () if found.stage is None else found.stage.loads
        return Finalist(
            setting.discipline, setting.variant, dict(setting.values), setting.told,
            [_check(load, some) for load, some in zip(loads, found.trials.get(setting, ()), strict=True)],
            None if standing is None else standing.score,
            None if standing is None else standing.worse, standing is None or standing.is_level,
            commands(setting, link, work.profile, access), remark(setting.discipline),
        )  # fmt: skip

    finalists = [finalist(one.setting, one) for one in found.standings] or [finalist(settings[0])]
    best = chosen(found.standings, work.order).setting if found.standings else settings[0]
    choice = next(one for one in finalists if one.discipline == best.discipline)
    scenario = work.loads[0].scenario(_SHOWN_TRIPS).with_settings(*best.scenario_settings)
    return Advice(
        link, work.profile.name, because, access, target, choice, finalists, found.looked,
        sureness(found.standings, choice.discipline, found.stage, len(work.loads)),
        0 if found.stage is None else found.stage.seeds, 0 if found.stage is None else found.stage.trips,
        work.bench.seed + (APART if found.checked else 0), work.cut, scenario, work.bench.runs, work.bench.computed,
    )  # fmt: skip


def _check(load: Load, trials: Sequence[Trial]) -> Check:
    def of(value: Callable[[Trial], float], resolution: float = 0.0) -> Estimate:
        found = estimate([value(trial) for trial in trials], resolution=resolution)
        assert found is not None
        return found

    return Check(
        load.name,
        of(lambda trial: trial.score),
        of(lambda trial: 1e3 * trial.seen.sparse_wait_s, TIME_RESOLUTION),
        of(lambda trial: trial.seen.sparse_lost),
        of(lambda trial: 1e3 * trial.seen.short_extra_s),
        of(lambda trial: 1e3 * trial.seen.long_wait_s),
        of(lambda trial: trial.seen.used),
        of(lambda trial: trial.seen.jain),
        of(lambda trial: trial.seen.tcp_over_fair),
    )
