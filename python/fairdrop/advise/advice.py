"""Which discipline, with which parameters, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import Any

from fairdrop import files
from fairdrop.advise.candidates import CANDIDATES, told
from fairdrop.advise.link import Link, Load, checking_loads, read_link, tuning_loads
from fairdrop.advise.score import TARGETS, Seen
from fairdrop.advise.search import (
    CHECK_SEEDS,
    LEAST_POINTS,
    SEARCH_SEEDS,
    Bench,
    InterruptedSearchError,
    Setting,
    screen,
    tune,
)
from fairdrop.estimate import Estimate, estimate
from fairdrop.progress import Progress
from fairdrop.scenario import Scenario, listed
from fairdrop.study.axes import StudyError, whole
from fairdrop.study.store import Store
from fairdrop.wording.disciplines import discipline_name

SCENARIO = "scenario.toml"
#: What Linux has for this, as it is: every advice is beside them.
BESIDE = ("fq_codel", "cake")
# So many go from the first look into the search, beside these.
_FINALISTS = 3
_MOST_RUNS = 1_000_000
# How much more of its fair share TCP has under them beside a sender that does not respond, for that to be told.
_PROTECTS = 0.2


@dataclass(frozen=True)
class Check:
    """What a finalist did on a load, over seeds."""

    load: str
    score: Estimate
    #: 99th percentiles of the waits of long flows, short transfers and voice.
    long_wait_ms: Estimate
    short_wait_ms: Estimate
    voice_wait_ms: Estimate
    used: Estimate
    jain: Estimate
    tcp_over_fair: Estimate
    short_s: Estimate | None


@dataclass(frozen=True)
class Finalist:
    """A discipline that was searched: its parameters, and what it did on each load that it was checked on."""

    discipline: str
    parameters: Mapping[str, float]
    checks: Sequence[Check]
    #: Mean score over all loads of the check; less is better.
    score: Estimate
    #: How much larger its score is than that of the choice, seed by seed; None for the choice.
    behind: Estimate | None
    #: After ``tc qdisc replace dev DEV root``; None where Linux has no such qdisc.
    tc: str | None
    remark: str
    #: The same where the queue is in front of a slower link; None where the discipline has no shaper.
    tc_in_front: str | None = None

    @property
    def told(self) -> str:
        """In words."""
        words = told(self.parameters)
        return f"{discipline_name(self.discipline)}{f' with {words}' if words else ''}"


@dataclass(frozen=True)
class Advice:
    """The finalists, the best first, and what follows from them."""

    link: Link
    target: str
    finalists: Sequence[Finalist]
    #: Score of every candidate with usual parameters on the load that was asked for.
    screened: Mapping[str, float]
    #: What is to be known beside the choice: FQ-CoDel or CAKE where they are the better answer, or were not tried.
    remarks: Sequence[str]
    scenario: Scenario
    #: Runs that the advice rests on, and how many of them were simulated now.
    runs: int
    computed: int

    @property
    def choice(self) -> Finalist:
        """The discipline with the least score."""
        return self.finalists[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""

        def plain(value: Any) -> Any:
            if isinstance(value, Estimate):
                return {"mean": value.mean, "half": value.half, "n": value.n}
            if isinstance(value, Finalist | Check):
                return {name: plain(one) for name, one in value.__dict__.items()}
            if isinstance(value, Mapping):
                return dict(value)
            return [plain(one) for one in value] if isinstance(value, list | tuple) else value

        return {
            "rate_bps": self.link.rate_bps, "rtt_s": [self.link.low_rtt_s, self.link.high_rtt_s],
            "flows": self.link.flows, "target": self.target, "finalists": plain(list(self.finalists)),
            "screened": dict(self.screened), "remarks": list(self.remarks), "scenario": self.scenario.source,
            "runs": self.runs, "computed": self.computed,
        }  # fmt: skip


def advise(
    rate: str,
    rtt: str,
    flows: int,
    *,
    target: str = "delay",
    disciplines: Sequence[str] | None = None,
    out: str | PathLike[str] = "advice",
    budget: int = 400,
    seed: int = 1,
    threads: int | None = None,
    progress: bool = False,
) -> Advice | None:
    """Search by simulation for the discipline and parameters that do best on a link; None after Ctrl-C.

    ``rate`` is that of the link, ``rtt`` a round-trip time or two (``"20ms..80ms"``) between which those of the long
    flows lie. ``target`` is what is wanted: ``delay`` (99th percentile of the wait of
    long flows, short transfers and voice alike, the link well used), ``fairness``
    (Jain's index, a sender that does not respond included) or ``throughput``. ``budget`` is about how many runs the
    search may take; the check takes more. The same arguments give the same advice. Runs are kept in the folder
    ``out``, and none is done twice.

    Raises StudyError before anything is simulated where an argument is wrong, and OSError.
    """
    link = read_link(rate, rtt, flows)
    if target not in TARGETS:
        raise StudyError(f"target = {target!r} is not valid; valid: {', '.join(TARGETS)}")
    names = _names(disciplines)
    whole("seed", seed, 0, 2**31)
    loads, checks = tuning_loads(link, target == "fairness"), checking_loads(link)
    points = _points(budget, names, len(loads))
    searched = _searched(names)
    total = _runs(len(names), len(loads), points, searched, len(checks))
    work = Progress(shown=progress, name="usual parameters")
    with Store(Path(out)) as store:
        bench = Bench(link, target, seed, store, work, threads, total)
        try:
            screened = screen(bench, names, loads)
            best = _finalists(screened)
            settings = []
            for name in best:
                work.name = f"parameters of {name}"
                settings.append(tune(bench, name, loads, points))
            work.name = "check"
            found = {load.name: bench.scores(load, settings, CHECK_SEEDS, bench.check_seed) for load in checks}
        except InterruptedSearchError:
            work.clear()
            return None
        work.clear()
        finalists = _judged(link, settings, found)
        scenario = _scenario(link, finalists[0])
        files.write_text(Path(out) / SCENARIO, scenario.source)
    return Advice(
        link, target, finalists, screened, _remarks(finalists, checks), scenario, round(work.done), bench.computed
    )


def _names(asked: Sequence[str] | None) -> list[str]:
    names = list(CANDIDATES) if asked is None else listed("disciplines", asked, "red")
    for name in names:
        if name not in CANDIDATES:
            raise StudyError(f"disciplines: {name!r} is not valid; valid: {', '.join(CANDIDATES)}")
    if not names:
        raise StudyError(f"disciplines: there is none; valid: {', '.join(CANDIDATES)}")
    return list(dict.fromkeys(names))


def _searched(names: Sequence[str]) -> int:
    """How many are searched at most."""
    return min(_FINALISTS + len(BESIDE), len(names))


def _points(budget: int, names: Sequence[str], loads: int) -> int:
    """Sets of parameters that each finalist's search may try. Raises StudyError where they are too few for one."""
    first = (len(names) + 1) * loads * SEARCH_SEEDS
    for_each = _searched(names) * loads * SEARCH_SEEDS
    whole("budget", budget, first + for_each * LEAST_POINTS, _MOST_RUNS)
    return (budget - first) // for_each


def _runs(names: int, loads: int, points: int, finalists: int, checks: int) -> float:
    """How many runs there will be at most, for the time that is left."""
    searched = (names + 1 + finalists * points) * loads * SEARCH_SEEDS
    return searched + (finalists + 1) * checks * CHECK_SEEDS


def _finalists(screened: Mapping[str, float]) -> list[str]:
    """The best with usual parameters, and what every advice is beside; of few candidates, all."""
    ranked = sorted(screened, key=lambda name: screened[name])
    best = ranked[:_FINALISTS]
    best += [name for name in BESIDE if name in screened and name not in best]
    return best + [name for name in ranked if name not in best][: max(_FINALISTS + 1 - len(best), 0)]


def _judged(
    link: Link, settings: Sequence[Setting], found: Mapping[str, tuple[list[list[float]], list[list[Seen]]]]
) -> list[Finalist]:
    by_seed = [
        [fmean(scores[place][number] for scores, _ in found.values()) for number in range(CHECK_SEEDS)]
        for place in range(len(settings))
    ]
    order = sorted(range(len(settings)), key=lambda place: fmean(by_seed[place]))
    first = by_seed[order[0]]
    return [
        Finalist(
            settings[place].discipline,
            settings[place].values,
            [_check(load, scores[place], seen[place]) for load, (scores, seen) in found.items()],
            _estimate(by_seed[place]),
            None if place == order[0] else _estimate([a - b for a, b in zip(by_seed[place], first, strict=True)]),
            None if (tc := settings[place].candidate.tc) is None else tc(link, settings[place].values),
            settings[place].candidate.remark,
            None if (tc := settings[place].candidate.tc_in_front) is None else tc(link, settings[place].values),
        )
        for place in order
    ]


def _check(load: str, scores: Sequence[float], found: Sequence[Seen]) -> Check:
    return Check(
        load,
        _estimate(scores),
        _estimate([1e3 * one.long_wait_s for one in found]),
        _estimate([1e3 * one.short_wait_s for one in found]),
        _estimate([1e3 * one.voice_wait_s for one in found]),
        _estimate([one.used for one in found]),
        _estimate([one.jain for one in found]),
        _estimate([one.tcp_over_fair for one in found]),
        estimate(one.short_s for one in found),
    )


def _estimate(values: Sequence[float]) -> Estimate:
    found = estimate(values)
    assert found is not None
    return found


def _scenario(link: Link, choice: Finalist) -> Scenario:
    """The load that was asked for under the choice."""
    candidate = CANDIDATES[choice.discipline]
    return Load("as asked", link).scenario.with_settings(*candidate.scenario_settings(link, choice.parameters))


def _remarks(finalists: Sequence[Finalist], checks: Sequence[Load]) -> list[str]:
    choice, others = finalists[0], [one for one in finalists[1:] if one.discipline in BESIDE]
    name = discipline_name(choice.discipline)
    level = [one for one in finalists[1:] if _is_level(one)]
    if choice.discipline in BESIDE:
        remarks = [f"{name} is the best of those that were tried."]
        return remarks + [_as_good(one, name) for one in level] + _not_tried(finalists)
    remarks = [_as_good(one, name) for one in level if one not in others]
    remarks += [
        f"{discipline_name(one.discipline)} is the better answer: the difference from {name} is within its 95 % "
        "interval, and Linux has it as it is."
        for one in others
        if _is_level(one)
    ]
    hostile = [load.name for load in checks if load.unresponsive]
    kept = {
        one.discipline: fmean(check.tcp_over_fair.mean for check in one.checks if check.load in hostile)
        for one in finalists
    }
    remarks += [
        f"{discipline_name(one.discipline)} is the better answer where a sender may not respond: TCP then has "
        f"{kept[one.discipline]:.2f} of its fair share, under {name} {kept[choice.discipline]:.2f}."
        for one in others
        if kept[one.discipline] - kept[choice.discipline] > _PROTECTS
    ]
    if choice.tc is None:
        linux = next((one for one in finalists if one.tc is not None), None)
        if linux is not None:
            remarks.append(f"For Linux, {linux.told} comes next.")
    return remarks + _not_tried(finalists)


def _is_level(one: Finalist) -> bool:
    """No interval tells it from the choice."""
    return one.behind is not None and (one.behind.low <= 0 or one.behind.half is None)


def _as_good(one: Finalist, choice: str) -> str:
    return f"{discipline_name(one.discipline)} is as good: the difference from {choice} is within its 95 % interval."


def _not_tried(finalists: Sequence[Finalist]) -> list[str]:
    """Of what every advice should be beside, what was left out by who asked."""
    tried = [one.discipline for one in finalists]
    missing = [discipline_name(name) for name in BESIDE if name not in tried]
    if not missing:
        return []
    return [f"{' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not tried, which Linux has for this."]
