"""RFC 7928 as a campaign: every trial under every discipline, in one store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from fairdrop import _core, files
from fairdrop.characterize.harm import HARM, harms
from fairdrop.characterize.rows import Row
from fairdrop.characterize.scorecard import SCHEMA, Scorecard
from fairdrop.characterize.sensitivity import axes as knobs
from fairdrop.characterize.sensitivity import influences
from fairdrop.characterize.trials import SENSITIVITY, UNANSWERED, Measure, Trial, scenario_of, trials
from fairdrop.engine import engine
from fairdrop.estimate import estimate, resolution_of
from fairdrop.library import catalogue
from fairdrop.nearest import choices
from fairdrop.progress import Progress
from fairdrop.scenario import Scenario, check_seed, listed, toml_text
from fairdrop.study.axes import StudyError, whole
from fairdrop.study.definition import Study, make_study
from fairdrop.study.observed import Observed, observe
from fairdrop.study.store import Store

_MOST_SEEDS = 1000


@dataclass(frozen=True)
class Profile:
    """The amount of simulation: seeds of each point, and points of the sample for the sensitivity."""

    name: str
    seeds: int
    sample: int
    full: bool


PROFILES = {one.name: one for one in (Profile("quick", 5, 16, full=False), Profile("full", 20, 256, full=True))}


@dataclass(frozen=True)
class _Part:
    """A study of the campaign. ``discipline`` is the one whose parameters it varies, None where it is an axis."""

    trial: Trial
    study: Study
    discipline: str | None = None


def characterize(
    disciplines: Sequence[str] | None = None,
    *,
    out: str | PathLike[str],
    profile: str = "quick",
    sections: Sequence[str] | None = None,
    seeds: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool = False,
    command: Sequence[str] | None = None,
) -> Scorecard:
    """Simulate the campaign of RFC 7928 under each of ``disciplines`` (all when None), into the folder ``out``.

    ``sections`` are sections of the RFC, such as ``["5.3", "6"]``, or names of trials; all when None. ``seeds`` goes
    before the profile's, and the first is ``seed``. The folder has the scenarios, finished runs, and the scorecard as
    CSV and Parquet. What it has is not simulated again. Ctrl-C leaves a scorecard of what was finished.

    Raises StudyError or OSError before anything is simulated where that is possible.
    """
    asked = _profile(profile, seeds)
    check_seed(seed)
    names = _disciplines(disciplines)
    chosen = _trials(sections)
    folder = Path(out)
    parts = [part for trial in chosen for part in _parts(trial, names, asked, seed)]
    total = sum(len(part.study.points) * part.study.seeds for part in parts)
    with Store(folder) as store:
        _write_scenarios(folder, chosen, parts, asked, seed)
        work = Progress(shown=progress)
        rows, problems, computed, complete = [], [], 0, True
        for number, part in enumerate(parts, 1):
            work.name = f"{part.trial.section} {part.trial.title} ({number} of {len(parts)})"
            found = observe(part.study, store, work, threads, total)
            rows += _rows(part, found.points)
            problems += [f"{part.trial.name}: {problem}" for problem in found.problems]
            computed += found.computed
            if not found.complete:
                complete = False
                if not found.problems:
                    break
        work.clear()
        about = {
            "schema": SCHEMA, "version": _core.__version__, "engine": engine(), "profile": asked.name,
            "disciplines": names, "trials": [trial.name for trial in chosen], "seeds": asked.seeds, "seed": seed,
            "sample": asked.sample, "runs": total, "computed": computed, "complete": complete,
            "problems": problems[:100],
            "unanswered": [[one.section, one.what, one.why] for one in UNANSWERED],
            "command": None if command is None else listed("command", command, "fairdrop"),
        }  # fmt: skip
        card = Scorecard(rows, about, folder)
        card.write(folder)
    return card


def _profile(name: str, seeds: int | None) -> Profile:
    if name not in PROFILES:
        raise StudyError(f"profile = {name!r} is not valid{choices(name, PROFILES)}")
    if seeds is None:
        return PROFILES[name]
    return replace(PROFILES[name], seeds=whole("seeds", seeds, 1, _MOST_SEEDS))


def _disciplines(asked: Sequence[str] | None) -> list[str]:
    known = [str(entry["name"]) for entry in catalogue()["disciplines"]]
    names = known if asked is None else listed("disciplines", asked, "choke")
    for name in names:
        if name not in known:
            raise StudyError(f"disciplines: {name!r} is not valid{choices(name, known)}")
        if names.count(name) > 1:
            raise StudyError(f"disciplines: {name!r} is there twice; valid: each once")
    if not names:
        raise StudyError(f"disciplines: there is none; valid: {', '.join(known)}")
    return names


def _trials(sections: Sequence[str] | None) -> list[Trial]:
    every = [*trials().values(), SENSITIVITY]
    if sections is None:
        return every
    wanted = listed("sections", sections, "5.3")
    for one in wanted:
        if not any(_is_of(trial, one) for trial in every):
            valid = ", ".join(dict.fromkeys(trial.section for trial in every))
            raise StudyError(f"sections: {one!r} is not valid; valid: {valid}, or the name of a trial")
    return [trial for trial in every if any(_is_of(trial, one) for one in wanted)]


def _is_of(trial: Trial, section: str) -> bool:
    """``5`` has 5.1.1, 5.3, ..."""
    return section == trial.name or f"{trial.section}.".startswith(f"{section}.") or trial.section == section


def _parts(trial: Trial, disciplines: Sequence[str], profile: Profile, seed: int = 1) -> Iterator[_Part]:
    base = _base(trial, profile, seed)
    if trial is not SENSITIVITY:
        varied = (trial.full if profile.full else None) or trial.quick
        written = {"axes": {"discipline": disciplines, **_flat(varied)}, "seeds": profile.seeds}
        yield _Part(trial, make_study(written, trial.name, Path(), base))
        return
    for name in disciplines:
        under = base.with_settings(f"queue.discipline={name}")
        design = {"kind": "saltelli", "points": profile.sample, "seed": 1}
        written = {"axes": knobs(name, under), "seeds": 1, "design": design}
        yield _Part(trial, make_study(written, trial.name, Path(), under), name)


def _base(trial: Trial, profile: Profile, seed: int) -> Scenario:
    base = scenario_of(trial, profile.full)
    return base if seed == 1 else base.with_settings(f"seed={seed}")


def _flat(varied: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Names of columns that no other column has."""
    return {f"at_{n}": {"field": path, "values": list(values)} for n, (path, values) in enumerate(varied.items())}


def _rows(part: _Part, points: Sequence[Sequence[Observed]]) -> list[Row]:
    if part.discipline is not None:
        return [*_sensitivities(part, part.discipline, points), *_harms(part, {"": {part.discipline: points}})]
    rows = []
    at_once: dict[str, dict[str, list[Sequence[Observed]]]] = {}
    for point, runs in zip(part.study.points, points, strict=True):
        discipline, *levels = point.levels
        fields = [axis.field for axis in part.study.axes[1:]]
        at = dict(zip(fields, levels, strict=True))
        named = " & ".join(
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in at.items()
        )
        at_once.setdefault(named, {})[str(discipline)] = [runs]
        shown = all(at.get(name, value) == value for name, value in part.trial.shown.items())
        for measure in part.trial.measures:
            found = estimate((measure.value(run) for run in runs), resolution=resolution_of(measure.name))
            if found is not None:
                rows.append(
                    _row(part.trial, named, str(discipline), measure, found.mean, found.half, found.n,
                         measure.score and shown)
                )  # fmt: skip
    return [*rows, *_harms(part, at_once)]


def _harms(part: _Part, runs: Mapping[str, Mapping[str, Sequence[Sequence[Observed]]]]) -> Iterator[Row]:
    """A row for each discipline that does harm, at each setting; ``runs`` are by setting and discipline."""
    scenario = scenario_of(part.trial, full=False).to_dict()
    for at, some in runs.items():
        observed = {name: [run for seeds in points for run in seeds] for name, points in some.items()}
        for name, harm in harms(scenario, observed).items():
            yield _row(part.trial, at, name, HARM, harm, None, len(observed[name]), False)


def _row(
    trial: Trial, at: str, discipline: str, measure: Measure, mean: float, half: float | None, n: int, score: bool
) -> Row:
    return Row(
        trial.section, trial.name, at, discipline, measure.name, measure.unit, measure.better, score, mean, half, n
    )


def _sensitivities(part: _Part, discipline: str, points: Sequence[Sequence[Observed]]) -> list[Row]:
    """Of each measure the largest / the smallest value over the sample, and the total index of each parameter."""
    names = [axis.field for axis in part.study.axes]
    rows = []
    for measure in part.trial.measures:
        values = [measure.value(runs[0]) if runs else None for runs in points]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            continue
        spread = replace(measure, name=f"{measure.name}_spread", unit="", better="one")
        if min(known) > 0:
            score = measure.name == "wait_p99"
            rows.append(_row(part.trial, "", discipline, spread, max(known) / min(known), None, len(known), score))
        for one in influences(names, part.study.design.points, values):
            index = replace(measure, name=f"{measure.name}_index", unit="", better="")
            half = (one.high - one.low) / 2
            rows.append(_row(part.trial, one.parameter, discipline, index, one.total, half, len(known), False))
    return rows


def _write_scenarios(
    folder: Path, chosen: Sequence[Trial], parts: Sequence[_Part], profile: Profile, seed: int
) -> None:
    """What ``fairdrop run`` takes and, where parameters are drawn, ``fairdrop sweep``."""
    for name in ("scenarios", "studies"):
        (folder / name).mkdir(exist_ok=True)
    for trial in chosen:
        files.write_text(folder / "scenarios" / trial.file, _base(trial, profile, seed).source)
    for part in parts:
        if part.discipline is not None:
            written = {
                "base": f"../scenarios/{part.trial.file}", "settings": [f"queue.discipline={part.discipline}"],
                **part.study.source,
            }  # fmt: skip
            files.write_text(folder / "studies" / f"{part.trial.name}-{part.discipline}.toml", toml_text(written))
