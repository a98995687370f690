"""Claims as predicates on measurements, decided with the 95 % interval of the mean over seeds.

A predicate is ``holds`` when the whole interval satisfies it, ``fails`` when the whole interval contradicts it, and
``unclear`` when the interval reaches across the bound. Models have no interval: their value decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fairdrop.estimate import Estimate
from fairdrop.reproduce.judge.checks import CHECKS
from fairdrop.reproduce.measure.data import Data, Row, paired
from fairdrop.wording.numbers import digits

SHOWN_POINTS = 12
HOLDS, UNCLEAR, FAILS = "holds", "unclear", "fails"
_WORST = (HOLDS, UNCLEAR, FAILS)


@dataclass(frozen=True)
class Outcome:
    """What a predicate found: the state, and the measured value nearest to failing, in words."""

    state: str
    measured: str
    detail: str = ""


class ClaimError(ValueError):
    """A claim that cannot be applied to the data at hand."""


Predicate = Callable[[Data, Mapping[str, Any]], Outcome]


def evaluate(kind: str, arguments: Mapping[str, Any], data: Data) -> Outcome:
    """Apply the predicate ``kind``. Raises ClaimError when its selection is empty."""
    return PREDICATES[kind][0](data, arguments)


def shown(value: Estimate) -> str:
    """``0.246 [0.241, 0.251]``."""
    mean = digits(value.mean)
    return mean if not value.half else f"{mean} [{digits(value.low)}, {digits(value.high)}]"


def _within(value: Estimate, low: float, high: float) -> str:
    if low <= value.low and value.high <= high:
        return HOLDS
    return FAILS if value.high < low or value.low > high else UNCLEAR


def _select(data: Data, arguments: Mapping[str, Any], override: Mapping[str, Any] | None = None) -> list[Row]:
    wanted = {**{name: arguments.get(name) for name in ("measure", "scheme", "at")}, **(override or {})}
    if override and "at" in override and arguments.get("at"):
        wanted["at"] = {**arguments["at"], **override["at"]}
    rows = data.select(wanted["measure"], wanted["scheme"], wanted["at"])
    if not rows:
        raise ClaimError(f"nothing was measured for {wanted}")
    return rows


def _worst(found: Sequence[tuple[str, Estimate, str, float]]) -> Outcome:
    """The outcome of many points: the worst state, told by the point nearest to failing (least margin)."""
    state = max((item[0] for item in found), key=_WORST.index)
    among = [item for item in found if item[0] == state]
    _, value, point, _ = min(among, key=lambda item: item[3])
    bad = [item[2] for item in found if item[0] != HOLDS]
    detail = "" if not bad else f"not at: {'; '.join(dict.fromkeys(bad))}" if len(found) > 1 else ""
    where = f" ({point})" if point and len(found) > 1 else ""
    return Outcome(state, f"{shown(value)}{where}", detail)


def _between(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    low, high = float(arguments.get("low", -math.inf)), float(arguments.get("high", math.inf))
    found = []
    for row in _select(data, arguments):
        value = row.estimate
        found.append((_within(value, low, high), value, row.point, min(value.low - low, high - value.high)))
    return _worst(found)


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
    found = []
    for row, other in _pairs(data, arguments, "than"):
        gap = paired(row, other, lambda a, b: factor * b + margin - a)
        state = HOLDS if gap.low > 0 else FAILS if gap.high < 0 else UNCLEAR
        found.append((state, gap, f"{row.point}: {shown(row.estimate)} against {shown(other.estimate)}", gap.low))
    state = max((item[0] for item in found), key=_WORST.index)
    _, _, point, _ = min((item for item in found if item[0] == state), key=lambda item: item[3])
    bad = [item[2].split(":")[0] for item in found if item[0] != HOLDS]
    return Outcome(state, point, f"not at: {'; '.join(bad)}" if bad and len(found) > 1 else "")


def _ratio(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    low, high = float(arguments.get("low", -math.inf)), float(arguments.get("high", math.inf))
    found = []
    for row, other in _pairs(data, arguments, "to"):
        value = paired(row, other, lambda a, b: a / b if b else math.inf if a else 1.0)
        found.append((_within(value, low, high), value, row.point, min(value.low - low, high - value.high)))
    return _worst(found)


def _equal_within(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    relative, absolute = float(arguments.get("relative", 0.0)), float(arguments.get("absolute", 0.0))
    found = []
    for row, other in _pairs(data, arguments, "to"):
        value = paired(row, other, lambda a, b: a - b)
        room = absolute + relative * abs(other.estimate.mean)
        point = f"{row.point}: {shown(row.estimate)} and {shown(other.estimate)}".removeprefix(": ")
        margin = room - max(abs(value.low), abs(value.high))
        found.append((_within(value, -room, room), value, point, margin))
    state = max((item[0] for item in found), key=_WORST.index)
    _, value, point, _ = min((item for item in found if item[0] == state), key=lambda item: item[3])
    return Outcome(state, f"difference {shown(value)}; {point}")


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


def _step(before: Row, after: Row, sign: float) -> Estimate:
    return paired(after, before, lambda a, b: sign * (a - b))


def _rise(rows: Sequence[Row], sign: float, slack: float = 0.0) -> tuple[str, str]:
    """Whether a series rises (or falls): no step significantly goes back, and the ends differ significantly."""
    back = [f"{b.point} to {a.point}" for b, a in pairwise(rows) if _step(b, a, sign).high < -slack]
    ends = _step(rows[0], rows[-1], sign)
    if back or ends.high <= 0:
        return FAILS, "; ".join(back)
    return (HOLDS if ends.low > 0 else UNCLEAR), ""


def _monotone(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    sign = {"up": 1.0, "down": -1.0}[str(arguments["direction"])]
    found = [(*_rise(rows, sign, float(arguments.get("slack", 0.0))), rows) for rows in _series(data, arguments)]
    state, back, rows = max(found, key=lambda item: _WORST.index(item[0]))
    return Outcome(state, _path(rows), f"goes back: {back}" if back else "")


def _path(rows: Sequence[Row]) -> str:
    step = -(-len(rows) // SHOWN_POINTS)
    shown_rows = [*rows[:-1:step], rows[-1]]
    values = " → ".join(digits(row.estimate.mean) for row in shown_rows)
    return f"{rows[0].scheme}: {values}" if rows[0].scheme != "all" else values


def _peaks_then_falls(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    states, paths = [], []
    for rows in _series(data, arguments):
        top = max(range(len(rows)), key=lambda index: rows[index].estimate.mean)
        if top in (0, len(rows) - 1):
            state = FAILS
        else:
            state = max(_rise(rows[: top + 1], 1.0)[0], _rise(rows[top:], -1.0)[0], key=_WORST.index)
        where = rows[top].at[arguments["along"]]
        if not arguments.get("peak_from", -math.inf) <= where <= arguments.get("peak_to", math.inf):
            state = FAILS
        states.append(state)
        paths.append(f"{_path(rows)}; peak at {where}")
    worst = max(range(len(states)), key=lambda index: _WORST.index(states[index]))
    return Outcome(states[worst], paths[worst])


def _order(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """Values of schemes (or of measures) rise in the order listed, at every point."""
    by = "schemes" if "schemes" in arguments else "measures"
    names = list(arguments[by])
    key = by.removesuffix("s")
    rows = _select(data, arguments, {key: names})
    points: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        other = row.measure if by == "schemes" else row.scheme
        place = (other, *sorted((axis, str(value)) for axis, value in row.at.items()))
        points.setdefault(place, {})[row.scheme if by == "schemes" else row.measure] = row
    states, texts = [], []
    for found in points.values():
        missing = [name for name in names if name not in found]
        if missing:
            raise ClaimError(f"{', '.join(missing)} not measured where {', '.join(found)} were")
        gaps = [paired(found[b], found[a], lambda x, y: x - y) for a, b in pairwise(names)]
        fails, holds = any(gap.high < 0 for gap in gaps), all(gap.low > 0 for gap in gaps)
        states.append(FAILS if fails else HOLDS if holds else UNCLEAR)
        first = found[names[0]]
        at = ", ".join(f"{axis} {value}" for axis, value in first.at.items())
        listed = ", ".join(f"{name} {shown(found[name].estimate)}" for name in names)
        texts.append(f"{at}: {listed}" if at else listed)
    worst = max(range(len(states)), key=lambda index: _WORST.index(states[index]))
    bad = [text.split(":")[0] for state, text in zip(states, texts, strict=True) if state != HOLDS]
    return Outcome(states[worst], texts[worst], f"not at: {'; '.join(bad)}" if bad and len(texts) > 1 else "")


def _all_flows_within(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """Every point of a curve over flows lies within a factor of ``of``, a number or the curve's mean."""
    factor = float(arguments["factor"])
    rows = _select(data, arguments)
    of = arguments.get("of", "mean")
    middle = sum(row.estimate.mean for row in rows) / len(rows) if of == "mean" else float(of)
    found = []
    for row in rows:
        value = row.estimate
        margin = min(value.low - middle / factor, middle * factor - value.high)
        found.append((_within(value, middle / factor, middle * factor), value, row.point, margin))
    return _worst(found)


def _check(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    rest = {name: value for name, value in arguments.items() if name != "check"}
    state, measured = CHECKS[str(arguments["check"])](data, **rest)
    return Outcome(HOLDS if state else FAILS, measured)


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
    "check": (_check, {"check"}, set()),
}


def argument_problems(kind: str, arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with the fields of a claim."""
    _, needed, more = PREDICATES[kind]
    problems = [f"{name} is missing" for name in sorted(needed - set(arguments))]
    if kind == "check":
        if arguments.get("check") not in CHECKS:
            problems.append(f"check = {arguments.get('check')!r} is not valid; valid: {', '.join(sorted(CHECKS))}")
        return problems
    valid = sorted(needed | more)
    problems += [f"{name} is unknown; valid: {', '.join(valid)}" for name in sorted(set(arguments) - set(valid))]
    for name in ("low", "high", "factor", "margin", "relative", "absolute", "slack", "peak_from", "peak_to"):
        value = arguments.get(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            problems.append(f"{name} = {value!r} is not valid; valid: a number")
    if kind in ("between", "ratio") and not {"low", "high"} & set(arguments):
        problems.append("low or high is missing")
    if kind == "equal_within" and not {"relative", "absolute"} & set(arguments):
        problems.append("relative or absolute is missing")
    if kind == "monotone" and arguments.get("direction") not in ("up", "down"):
        problems.append(f"direction = {arguments.get('direction')!r} is not valid; valid: up, down")
    if kind == "order" and ("schemes" in arguments) == ("measures" in arguments):
        problems.append("one of schemes and measures must be given")
    return problems
