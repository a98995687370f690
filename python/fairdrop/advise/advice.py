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
from fairdrop.study.axes import StudyError
from fairdrop.study.store import Store
from fairdrop.wording.disciplines import discipline_name

SCENARIO = "scenario.toml"
FQ_CODEL = "fq_codel"
# So many go from the first look into the search, beside FQ-CoDel.
_FINALISTS = 3
_MOST_RUNS = 1_000_000
# How much more of its fair share TCP has under FQ-CoDel beside a sender that does not respond, for that to be told.
_PROTECTS = 0.2
CAKE = (
    "CAKE was not tried. It is FQ-CoDel's relative in Linux, with a shaper: "
    "where FQ-CoDel is the answer, try CAKE as well."
)


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
    #: What is to be known beside the choice: FQ-CoDel where it is the better answer, CAKE.
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
    _whole("seed", seed, 0, 2**31)
    loads, checks = tuning_loads(link, target == "fairness"), checking_loads(link)
    points = _points(budget, len(names), len(loads))
    searched = min(_FINALISTS + 1, len(names))
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


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise StudyError(f"{name} = {value!r} is not valid; valid: a whole number from {low} to {high}")


def _points(budget: int, names: int, loads: int) -> int:
    """Sets of parameters that each finalist's search may try. Raises StudyError where they are too few for one."""
    first = (names + 1) * loads * SEARCH_SEEDS
    for_each = min(_FINALISTS + 1, names) * loads * SEARCH_SEEDS
    _whole("budget", budget, first + for_each * LEAST_POINTS, _MOST_RUNS)
    return (budget - first) // for_each


def _runs(names: int, loads: int, points: int, finalists: int, checks: int) -> float:
    """How many runs there will be at most, for the time that is left."""
    searched = (names + 1 + finalists * points) * loads * SEARCH_SEEDS
    return searched + (finalists + 1) * checks * CHECK_SEEDS


def _finalists(screened: Mapping[str, float]) -> list[str]:
    """The best with usual parameters; and FQ-CoDel, so that every advice is beside it."""
    ranked = sorted(screened, key=lambda name: screened[name])
    best = ranked[:_FINALISTS]
    rest = [name for name in ranked if name not in best]
    return best + ([FQ_CODEL] if FQ_CODEL in rest else rest[:1])


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
    choice = finalists[0]
    other = next((one for one in finalists if one.discipline == FQ_CODEL), None)
    if choice.discipline == FQ_CODEL:
        return ["FQ-CoDel is the best of those that were tried.", CAKE]
    remarks = []
    if other is not None and other.behind is not None and (other.behind.low <= 0 or other.behind.half is None):
        remarks.append(
            f"FQ-CoDel is the better answer: the difference from {discipline_name(choice.discipline)} is within its "
            "95 % interval, and Linux has it as it is."
        )
    if other is not None:
        hostile = [load.name for load in checks if load.unresponsive]
        one, rest = (fmean(c.tcp_over_fair.mean for c in f.checks if c.load in hostile) for f in (choice, other))
        if rest - one > _PROTECTS:
            remarks.append(
                f"FQ-CoDel is the better answer where a sender may not respond: TCP then has {rest:.2f} of its fair "
                f"share, under {discipline_name(choice.discipline)} {one:.2f}."
            )
    if choice.tc is None:
        linux = next((one for one in finalists if one.tc is not None), None)
        if linux is not None:
            remarks.append(f"For Linux, {linux.told} comes next.")
    return [*remarks, CAKE]
