"""Axes of a study: the values of a field, and the name of its column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from fairdrop import _core
from fairdrop.designs import Span, between, short
from fairdrop.library import named
from fairdrop.nearest import choices

Value: TypeAlias = "bool | int | float | str"

#: An axis of this name exchanges the scenario file; its values are files.
SCENARIO = "scenario"
#: Short for ``queue.discipline``.
DISCIPLINE = "discipline"

_RANGE = {"from", "to", "points", "step", "log"}
_OWN = {"values", "field", "role", *_RANGE}
#: What an axis varies: the queue discipline and its parameters, or the load and the network that it meets.
DESIGN, ENVIRONMENT = "design", "environment"
_ROLES = (DESIGN, ENVIRONMENT)
_PACKETS = re.compile(r"(\d+)p")


class StudyError(ValueError):
    """Problem of a study, with field, value and valid values."""


@dataclass(frozen=True)
class Axis:
    """A field and its values, as a scenario writes them; none where a design draws them from ``span``."""

    name: str
    field: str
    levels: tuple[Value, ...]
    span: Span | None
    #: Of plain numbers: ``bps``, ``s``, ``packets`` or nothing.
    unit: str
    #: ``design`` or ``environment``.
    role: str = ENVIRONMENT

    @property
    def column(self) -> str:
        """Name of the column, with its unit."""
        return self.name if not self.unit or self.name.endswith(f"_{self.unit}") else f"{self.name}_{self.unit}"

    @cached_property
    def kind(self) -> str:
        """``text``, ``switch``, ``number``, or ``count`` where all are whole."""
        if self.span is not None:
            return "count" if self.span.whole and self.span.low >= 0 else "number"
        if all(isinstance(level, bool) for level in self.levels):
            return "switch"
        numbers = [plain(level, self.unit) for level in self.levels]
        if any(number is None for number in numbers):
            return "text"
        return "count" if all(isinstance(number, int) and number >= 0 for number in numbers) else "number"

    def value(self, level: Value) -> Any:
        """Value of a level in the column."""
        if self.kind == "text":
            return _text(level)
        return level if self.kind == "switch" else plain(level, self.unit)

    def setting(self, level: Value) -> str:
        """The ``path=value`` that puts the scenario there."""
        return f"{self.field}={_text(level)}"


def read_axes(tables: Mapping[str, Any], drawn: bool) -> tuple[Axis, ...]:
    """The axes of ``[axes]``; ``drawn`` when a design takes values from between the ends of a range."""
    found = list(_leaves(tables, ""))
    names = _names([path for path, _ in found])
    axes = tuple(_axis(path, spec, name, drawn) for (path, spec), name in zip(found, names, strict=True))
    if not axes:
        raise StudyError('axes: there is none; valid: at least one, such as "queue.red.max_p" = [0.02, 0.1]')
    return axes


def default_role(field: str) -> str:
    """What disciplines read is part of the design, and the rest of its environment."""
    return DESIGN if field.startswith("queue.") else ENVIRONMENT


def whole(name: str, value: Any, low: int, high: int) -> int:
    """A whole number between two others. Raises StudyError."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise StudyError(f"{name} = {value!r} is not valid; valid: a whole number from {low} to {high}")
    return value


def plain(level: Value, unit: str) -> float | int | None:
    """A level as a number in its unit; None of what is none."""
    if isinstance(level, bool):
        return None
    if isinstance(level, int | float):
        return level
    return _READ[unit](level) if unit else None


def _rate(text: str) -> int | None:
    try:
        return _core.rate_bps(text)
    except ValueError:
        return None


def _seconds(text: str) -> float | None:
    try:
        return _core.seconds(text)
    except ValueError:
        return None


def _packets(text: str) -> int | None:
    found = _PACKETS.fullmatch(text)
    return int(found[1]) if found else None


_READ = {"bps": _rate, "s": _seconds, "packets": _packets}


def _leaves(tables: Mapping[str, Any], path: str) -> list[tuple[str, Any]]:
    """Every axis with its path; a table is one when it has values or ends, and leads to others otherwise."""
    found = []
    for key, spec in tables.items():
        inner = f"{path}.{key}" if path else str(key)
        own = isinstance(spec, Mapping) and (
            "values" in spec or any(name in spec and not isinstance(spec[name], list | Mapping) for name in _RANGE)
        )
        if isinstance(spec, Mapping) and not own:
            found += _leaves(spec, inner)
        else:
            found.append((inner, spec))
    return found


def _axis(path: str, spec: Any, name: str, drawn: bool) -> Axis:
    described = spec if isinstance(spec, Mapping) else {"values": spec}
    unknown = sorted(set(described) - _OWN)
    if unknown:
        raise StudyError(f"axes.{path}.{unknown[0]} is not known{choices(unknown[0], sorted(_OWN))}")
    field = described.get("field")
    if field is not None:
        name = path
        if not isinstance(field, str):
            raise StudyError(f"axes.{path}.field = {field!r} is not valid; valid: a field of a scenario, as in --set")
    field = field or {DISCIPLINE: "queue.discipline"}.get(path, path)
    role = _role(path, field, described.get("role"))
    if "values" in described:
        if set(described) & _RANGE:
            raise StudyError(f"axes.{path} has values and a range; valid: one of them")
        levels = _levels(path, _as_results_name(field, described["values"]))
        return Axis(name, field, levels, None, _unit(levels), role)
    span, unit = _span(path, described)
    if drawn:
        return Axis(name, field, (), span, unit, role)
    return Axis(name, field, _steps(path, described, span, unit), None, unit, role)


def _role(path: str, field: str, asked: Any) -> str:
    if asked is None:
        return default_role(field)
    if asked not in _ROLES:
        raise StudyError(f"axes.{path}.role = {asked!r} is not valid{choices(asked, _ROLES)}")
    return str(asked)


def _as_results_name(field: str, values: Any) -> Any:
    """Disciplines under the names that results have; what is none is left to the scenario, which names it."""
    if field.rpartition(".")[2] != DISCIPLINE or not isinstance(values, list | tuple):
        return values
    return [named(value, "disciplines") if isinstance(value, str) else value for value in values]


def _levels(path: str, values: Any) -> tuple[Value, ...]:
    if not isinstance(values, list | tuple) or not values:
        valid = "a list of values, or a range {from, to, points}"
        raise StudyError(f"axes.{path} = {values!r} is not valid; valid: {valid}")
    for value in values:
        if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and math.isnan(value)):
            raise StudyError(f"axes.{path}: {value!r} is not valid; valid: texts, numbers, true and false")
    if len(set(map(_text, values))) < len(values):
        raise StudyError(f"axes.{path} has a value twice; valid: each once")
    return tuple(values)


def _unit(levels: Sequence[Value]) -> str:
    texts = [level for level in levels if isinstance(level, str)]
    for unit, read in _READ.items() if len(texts) == len(levels) else ():
        if all(read(text) is not None for text in texts):
            return unit
    return ""


def _span(path: str, described: Mapping[str, Any]) -> tuple[Span, str]:
    for name in ("from", "to"):
        if name not in described:
            raise StudyError(f"axes.{path}.{name} is missing; valid: both ends of a range, or values = [...]")
    ends = [described["from"], described["to"]]
    log = described.get("log", False)
    if not isinstance(log, bool):
        raise StudyError(f"axes.{path}.log = {log!r} is not valid; valid: true or false")
    unit = _unit(ends)
    for name, end in zip(("from", "to"), ends, strict=True):
        found = plain(end, unit)
        if found is None or not math.isfinite(found) or (log and found <= 0):
            valid = "a number above 0, as log is true" if log else "a number, or texts of one unit, such as 1mbit"
            raise StudyError(f"axes.{path}.{name} = {end!r} is not valid; valid: {valid}")
    low, high = (plain(end, unit) or 0 for end in ends)
    if low >= high:
        raise StudyError(f"axes.{path}.from = {ends[0]!r} is not below to = {ends[1]!r}; valid: a value below it")
    return Span(low, high, log, all(isinstance(value, int) for value in (low, high))), unit


def _steps(path: str, described: Mapping[str, Any], span: Span, unit: str) -> tuple[Value, ...]:
    """The values of a range that is gone through in steps, in the order from its lower end."""
    if ("points" in described) == ("step" in described):
        raise StudyError(f"axes.{path}: valid: either points or step beside from and to")
    if "step" in described:
        step = plain(described["step"], unit)
        if span.log or step is None or not 0 < step <= span.high - span.low:
            valid = "points, as log is true" if span.log else "a number above 0 and at most to - from"
            raise StudyError(f"axes.{path}.step = {described['step']!r} is not valid; valid: {valid}")
        # One more where rounding alone keeps the upper end out.
        count = math.floor((span.high - span.low) / step * (1 + 1e-12)) + 1
        values = [short(span.low + step * number) for number in range(count)]
        are_whole = span.whole and isinstance(step, int)
    else:
        count, are_whole = whole(f"axes.{path}.points", described["points"], 2, 1_000_000), span.whole
        values = [short(between(span.low, span.high, number / (count - 1), span.log)) for number in range(count)]
        if are_whole and not span.log and count > span.high - span.low + 1:
            reason = f"{described['from']!r} and {described['to']!r} are whole, and so are all values between"
            raise StudyError(f"axes.{path}.points = {count}: {reason}; valid: fewer points, or ends such as 0.0")
    if are_whole:
        values = [int(value) for value in dict.fromkeys(round(value) for value in values)]
    return tuple(values)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _names(paths: Sequence[str]) -> list[str]:
    """A short name for each path; the whole path where two would have the same."""
    short = [_short_name(path) for path in paths]
    return [name if short.count(name) == 1 else path.replace(".", "_") for name, path in zip(short, paths, strict=True)]


def _short_name(path: str) -> str:
    words = path.split(".")
    return "_".join(words[1:]) if words[0] == "groups" and len(words) > 2 else words[-1]
