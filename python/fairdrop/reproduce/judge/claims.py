"""Claims as predicates on measurements, decided with intervals of means over seeds (`measure.looks`).

A predicate is ``holds`` when the whole interval satisfies it, ``fails`` when the whole interval contradicts it, and
``unclear`` when the interval reaches across the bound. Models have no interval: their value decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fairdrop.reproduce.judge.checks import CHECKS
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, UNCLEAR, Outcome, Part, outcome, shown, together, worst_of
from fairdrop.reproduce.judge.printed import printed
from fairdrop.reproduce.measure.data import Data, Row, Sample, paired
from fairdrop.wording.numbers import digits

__all__ = ["FAILS", "HOLDS", "PREDICATES", "UNCLEAR", "ClaimError", "Outcome", "argument_problems", "evaluate", "shown"]

SHOWN_POINTS = 12
#: A step back of less than this part of the whole rise counts as level: a curve that is flat shows no order of noise.
LEVEL = 0.05


class ClaimError(ValueError):
    """A claim that cannot be applied to the data at hand."""


Predicate = Callable[[Data, Mapping[str, Any]], Outcome]


def evaluate(kind: str, arguments: Mapping[str, Any], data: Data) -> Outcome:
    """Apply the predicate ``kind``. Raises ClaimError when its selection is empty."""
    return PREDICATES[kind][0](data, arguments)


def _select(data: Data, arguments: Mapping[str, Any], override: Mapping[str, Any] | None = None) -> list[Row]:
    wanted = {**{name: arguments.get(name) for name in ("measure", "scheme", "at")}, **(override or {})}
    if override and "at" in override and arguments.get("at"):
        wanted["at"] = {**arguments["at"], **override["at"]}
    rows = data.select(wanted["measure"], wanted["scheme"], wanted["at"])
    if not rows:
        raise ClaimError(f"nothing was measured for {wanted}")
    return rows


def _bounds(arguments: Mapping[str, Any]) -> tuple[float, float]:
    return float(arguments.get("low", -math.inf)), float(arguments.get("high", math.inf))


def _between(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    low, high = _bounds(arguments)
    return outcome([Part(row.sample, low, high, point=row.point) for row in _select(data, arguments)])


def _pairs(data: Data, arguments: Mapping[str, Any], other: str) -> Iterable[tuple[Row, Row]]:
    """Each selected row with the one at the same point of the other selection."""
    override = dict(arguments[other])
    theirs = _select(data, arguments, override)
    for row in _select(data, arguments):
        free = {axis: value for axis, value in row.at.items() if axis not in (override.get("at") or {})}
        match = [
            found
            for found in theirs
            if ("scheme" in override or found.scheme == row.scheme)
            and ("measure" in override or found.measure == row.measure)
            and all(found.at.get(axis, value) == value for axis, value in free.items())
        ]
        for found in match:
            yield row, found
        if not match:
            raise ClaimError(f"nothing was measured to compare {row.measure} ({row.point}) with")


def _less(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    factor, margin = float(arguments.get("factor", 1.0)), float(arguments.get("margin", 0.0))
    parts = []
    for row, other in _pairs(data, arguments, "than"):
        gap = paired(row, other, lambda a, b: factor * b + margin - a)
        words = f"{row.point}: {shown(row.estimate)} against {shown(other.estimate)}"
        parts.append(Part(gap, low=0.0, strict=True, point=row.point, words=words))
    return outcome(parts)


def _ratio(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    low, high = _bounds(arguments)
    return outcome(
        [
            Part(paired(row, other, lambda a, b: a / b if b else math.inf if a else 1.0), low, high, point=row.point)
            for row, other in _pairs(data, arguments, "to")
        ]
    )


def _equal_within(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    relative, absolute = float(arguments.get("relative", 0.0)), float(arguments.get("absolute", 0.0))
    parts = []
    for row, other in _pairs(data, arguments, "to"):
        gap = paired(row, other, lambda a, b: a - b)
        room = absolute + relative * abs(other.estimate.mean)
        both = f"{row.point}: {shown(row.estimate)} and {shown(other.estimate)}".removeprefix(": ")
        words = f"difference {shown(gap.interval())}; {both}"
        parts.append(Part(gap, -room, room, point=row.point, words=words))
    return outcome(parts)


def _series(data: Data, arguments: Mapping[str, Any]) -> list[list[Row]]:
    """Selected rows as series along an axis, in the order of its values."""
    along = str(arguments["along"])
    series: dict[tuple[Any, ...], list[Row]] = {}
    for row in _select(data, arguments):
        if along not in row.at:
            raise ClaimError(f"{row.measure} was not measured along {along!r}")
        rest = tuple(sorted((axis, str(value)) for axis, value in row.at.items() if axis != along))
        series.setdefault((row.scheme, row.measure, rest), []).append(row)
    ordered = [sorted(rows, key=lambda row: float(row.at[along])) for rows in series.values()]
    if any(len(rows) < 2 for rows in ordered):
        raise ClaimError(f"a series along {along!r} needs two points or more")
    return ordered


def _gap(before: Row, after: Row, sign: float) -> Sample:
    return paired(after, before, lambda a, b: sign * (a - b))


def _rise(rows: Sequence[Row], sign: float, slack: float | None = None) -> list[Part]:
    """A series rises (or falls): its ends differ, and no step goes back by more than the slack."""
    ends = _gap(rows[0], rows[-1], sign)
    level = LEVEL * abs(ends.interval().mean) if slack is None else slack
    steps = [Part(_gap(b, a, sign), -level, point=f"{b.point} to {a.point}") for b, a in pairwise(rows)]
    return [Part(ends, 0.0, strict=True), *(steps if len(rows) > 2 else [])]


def _monotone(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    sign = {"up": 1.0, "down": -1.0}[str(arguments["direction"])]
    slack = float(arguments["slack"]) if "slack" in arguments else None
    series = _series(data, arguments)
    parts = [(part, rows) for rows in series for part in _rise(rows, sign, slack)]
    state, nearest, bad = together([part for part, _ in parts])
    path = next(_path(rows) for part, rows in parts if part is nearest)
    back = "; ".join(part.point for part in bad if part.point)
    words = "goes back" if state == FAILS else "perhaps goes back"
    return Outcome(state, path, f"{words}: {back}" if back else "")


def _path(rows: Sequence[Row]) -> str:
    step = -(-len(rows) // SHOWN_POINTS)
    shown_rows = [*rows[:-1:step], rows[-1]]
    values = " → ".join(digits(row.estimate.mean) for row in shown_rows)
    return f"{rows[0].scheme}: {values}" if rows[0].scheme != "all" else values


def _peaks_then_falls(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """The highest point of the window is above both ends and above all that is outside; no step goes the wrong way."""
    along = str(arguments["along"])
    low, high = arguments.get("peak_from", -math.inf), arguments.get("peak_to", math.inf)
    states, paths = [], []
    for rows in _series(data, arguments):
        inside = [n for n, row in enumerate(rows) if 0 < n < len(rows) - 1 and low <= row.at[along] <= high]
        highest = max(rows, key=lambda row: row.estimate.mean)
        paths.append(f"{_path(rows)}; peak at {highest.at[along]}")
        if not inside:
            states.append(FAILS)
            continue
        top = max(inside, key=lambda n: rows[n].estimate.mean)
        others = [row for n, row in enumerate(rows) if n not in inside]
        parts = [Part(_gap(row, rows[top], 1.0), 0.0, strict=True, point=row.point) for row in others]
        level = LEVEL * (rows[top].estimate.mean - min(row.estimate.mean for row in rows))
        parts += [*_rise(rows[: top + 1], 1.0, level)[1:], *_rise(rows[top:], -1.0, level)[1:]]
        states.append(together(parts)[0])
    worst = states.index(worst_of(states))
    return Outcome(states[worst], paths[worst])


def _order(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """Values of schemes (or of measures) rise in the order listed, at every point."""
    by = "schemes" if "schemes" in arguments else "measures"
    names = list(arguments[by])
    points: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in _select(data, arguments, {by.removesuffix("s"): names}):
        other = row.measure if by == "schemes" else row.scheme
        place = (other, *sorted((axis, str(value)) for axis, value in row.at.items()))
        points.setdefault(place, {})[row.scheme if by == "schemes" else row.measure] = row
    parts = []
    for found in points.values():
        missing = [name for name in names if name not in found]
        if missing:
            raise ClaimError(f"{', '.join(missing)} not measured where {', '.join(found)} were")
        at = ", ".join(f"{axis} {value}" for axis, value in found[names[0]].at.items())
        listed = ", ".join(f"{name} {shown(found[name].estimate)}" for name in names)
        words = f"{at}: {listed}" if at else listed
        gaps = [_gap(found[a], found[b], 1.0) for a, b in pairwise(names)]
        parts += [Part(gap, 0.0, strict=True, point=at, words=words) for gap in gaps]
    return outcome(parts)


def _all_flows_within(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """Every point of a curve over flows lies within a factor of ``of``, a number or the curve's mean."""
    factor = float(arguments["factor"])
    rows = _select(data, arguments)
    of = arguments.get("of", "mean")
    middle = sum(row.estimate.mean for row in rows) / len(rows) if of == "mean" else float(of)
    return outcome([Part(row.sample, middle / factor, middle * factor, point=row.point) for row in rows])


def _check(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """A check answers yes or no, where nothing is random, or with parts that are decided as all others are."""
    rest = {name: value for name, value in arguments.items() if name != "check"}
    found, measured = CHECKS[str(arguments["check"])](data, **rest)
    if isinstance(found, bool):
        found = HOLDS if found else FAILS
    if isinstance(found, str):
        return Outcome(found, measured)
    return outcome(found, measured)


_SELECTION = {"measure", "scheme", "at"}
# Predicate, fields it needs, further fields it takes.
PREDICATES: dict[str, tuple[Predicate, set[str], set[str]]] = {
    "between": (_between, {"measure"}, {*_SELECTION, "low", "high"}),
    "less": (_less, {"measure", "than"}, {*_SELECTION, "factor", "margin"}),
    "ratio": (_ratio, {"measure", "to"}, {*_SELECTION, "low", "high"}),
    "equal_within": (_equal_within, {"measure", "to"}, {*_SELECTION, "relative", "absolute"}),
    "monotone": (_monotone, {"measure", "along", "direction"}, {*_SELECTION, "slack"}),
    "peaks_then_falls": (_peaks_then_falls, {"measure", "along"}, {*_SELECTION, "peak_from", "peak_to"}),
    "order": (_order, set(), {*_SELECTION, "schemes", "measures"}),
    "all_flows_within": (_all_flows_within, {"measure", "factor"}, {*_SELECTION, "of"}),
    "printed": (printed, set(), _SELECTION),
    "check": (_check, {"check"}, set()),
}


def argument_problems(kind: str, arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with the fields of a claim."""
    _, needed, more = PREDICATES[kind]
    problems = [f"{name} is missing" for name in sorted(needed - set(arguments))]
    if kind == "check":
        if str(arguments.get("check")) not in CHECKS:
            problems.append(f"check = {arguments.get('check')!r} is not valid; valid: {', '.join(sorted(CHECKS))}")
        return problems
    valid = sorted(needed | more)
    problems += [f"{name} is unknown; valid: {', '.join(valid)}" for name in sorted(set(arguments) - set(valid))]
    for name in ("low", "high", "factor", "margin", "relative", "absolute", "slack", "peak_from", "peak_to"):
        value = arguments.get(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            problems.append(f"{name} = {value!r} is not valid; valid: a number")
    for name in ("than", "to", "at"):
        if not isinstance(arguments.get(name, {}), Mapping):
            problems.append(f"{name} = {arguments[name]!r} is not valid; valid: a table")
    for name in ("schemes", "measures"):
        value = arguments.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            problems.append(f"{name} = {value!r} is not valid; valid: a list of texts")
    if kind in ("between", "ratio") and not {"low", "high"} & set(arguments):
        problems.append("low or high is missing")
    if kind == "equal_within" and not {"relative", "absolute"} & set(arguments):
        problems.append("relative or absolute is missing")
    if kind == "monotone" and arguments.get("direction") not in ("up", "down"):
        problems.append(f"direction = {arguments.get('direction')!r} is not valid; valid: up, down")
    if kind == "order" and ("schemes" in arguments) == ("measures" in arguments):
        problems.append("one of schemes and measures must be given")
    return problems
