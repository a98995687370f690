"""The discipline that suits a link, with its parameters, and the confidence in it."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable, Sequence
from itertools import chain
from math import ceil
from os import PathLike
from pathlib import Path

from fairdrop import files
from fairdrop.advise.answer import Advice, Check, Finalist
from fairdrop.advise.campaign import Found, Work, run
from fairdrop.advise.candidates import Setting, own_disciplines, published, settings_of
from fairdrop.advise.judge import Standing, chosen
from fairdrop.advise.link import Link, read_link, seconds
from fairdrop.advise.linux import commands, remark
from fairdrop.advise.loads import Load, loads_of
from fairdrop.advise.plan import least_effort
from fairdrop.advise.profiles import Profile, access_of, profile_of
from fairdrop.advise.score import TARGETS
from fairdrop.advise.sureness import sureness, unsure
from fairdrop.advise.trials import APART, NOMINAL, Bench, InterruptedTrialsError, Trial
from fairdrop.estimate import TIME_RESOLUTION, Estimate, estimate
from fairdrop.library import catalogue
from fairdrop.nearest import choices
from fairdrop.progress import Progress
from fairdrop.scenario import listed
from fairdrop.study.axes import StudyError, whole
from fairdrop.study.store import Store

SCENARIO = "scenario.toml"
_TIMES_S = (1.0, 86_400.0)
# Round trips of the scenario that is written.
_SHOWN_TRIPS = 160


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
    ``datacentre``); otherwise it is derived from these. ``access`` is the kind of access, for the commands.
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
    variants = [settings_of(name, link, kind) for name in names]
    # Where there is no time for all, one variant of each goes first.
    settings = list(dict.fromkeys([*(published(some, link) for some in variants), *chain.from_iterable(variants)]))
    with Store(Path(out)) as store:
        bench = Bench(target, seed, store, Progress(shown=progress), threads)
        work = Work(kind, order, loads, bench, asked_s * NOMINAL, begin + asked_s, clock)
        try:
            found = run(work, settings, progress)
        except InterruptedTrialsError:
            bench.progress.clear()
            return None
        bench.progress.clear()
        advice = _advice(work, (link, because, made_of, target), settings, found)
        files.write_text(Path(out) / SCENARIO, advice.scenario.source)
    return advice


def _names(asked: Sequence[str] | None, profile: Profile) -> list[str]:
    """Candidates, those first that are deployed most. Registered extensions are among them."""
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


def _advice(work: Work, asked: tuple[Link, str, str, str], settings: Sequence[Setting], found: Found) -> Advice:
    link, because, access, target = asked

    def finalist(setting: Setting, standing: Standing | None = None) -> Finalist:
        loads = () if found.stage is None else found.stage.loads
        return Finalist(
            setting.discipline, setting.variant, dict(setting.values), setting.in_words,
            [_check(load, some) for load, some in zip(loads, found.trials.get(setting, ()), strict=True)],
            None if standing is None else standing.score,
            None if standing is None else standing.worse, standing is None or standing.is_level,
            commands(setting, link, work.profile, access), remark(setting.discipline),
        )  # fmt: skip

    if found.standings and found.stage is not None:
        finalists = [finalist(one.setting, one) for one in found.standings]
        best = chosen(found.standings, work.order).setting
        sure = sureness(found.standings, best.discipline, found.stage, len(work.loads), found.left_out)
    else:
        best = settings[0]
        finalists, sure = [finalist(best)], unsure(ceil(least_effort(work.loads) / NOMINAL), work.cut)
    choice = next(one for one in finalists if one.discipline == best.discipline)
    scenario = work.loads[0].scenario(_SHOWN_TRIPS).with_settings(*best.scenario_settings)
    return Advice(
        link, work.profile.name, because, access, target, choice, finalists, found.looked,
        sure,
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
