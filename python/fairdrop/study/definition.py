"""A study: a scenario, axes, a design of points, seeds, and when to stop adding seeds."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from fairdrop.designs import DRAWN, POWERS, draw
from fairdrop.estimate import resolution_of
from fairdrop.extension.registry import registered
from fairdrop.files import read_toml
from fairdrop.nearest import choices
from fairdrop.packaged import located
from fairdrop.scenario import Scenario, ScenarioError, source_of
from fairdrop.study.axes import SCENARIO, Axis, StudyError, Value, read_axes, whole
from fairdrop.study.runs import GROUP_COLUMNS, LINK_COLUMNS, Opened, measures, open_points

SCHEMA = "fairdrop/study/1"
DESIGNS = ("product", "zip", *DRAWN)
_FIELDS = ("schema", "name", "base", "settings", "seeds", "axes", "design", "stop")
_MOST_SEEDS = 1_000_000
_MOST_POINTS = 10_000_000
# How messages on settings begin.
_SETTING = "--set "
# Columns that no axis may be called.
_TAKEN = {"run", "seed", *(name for name, _ in (*GROUP_COLUMNS, *LINK_COLUMNS))}


@dataclass(frozen=True)
class Design:
    """How axes are put together. ``points`` and ``seed`` are of those that draw."""

    kind: str = "product"
    points: int = 0
    seed: int = 1


@dataclass(frozen=True)
class Stop:
    """No more seeds once half the 95 % interval of a mean is at most ``half_width``, or ``relative`` of the mean.

    The rule is looked at after each seed in order, from ``min_seeds`` on; what more seeds may have been simulated by
    then is left out. So the seeds of a point do not depend on how many were done at once.
    """

    measure: str
    group: str | None
    half_width: float | None
    relative: float | None
    min_seeds: int
    max_seeds: int

    def satisfied(self, mean: float, half: float) -> bool:
        """Whether the interval is narrow enough."""
        wanted = self.half_width if self.relative is None else self.relative * abs(mean)
        return wanted is not None and half <= wanted


@dataclass(frozen=True)
class Point:
    """One set-up: where it is on each axis, and its scenario."""

    index: int
    levels: tuple[Value, ...]
    file: str
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """What ``fairdrop sweep`` reads, checked."""

    name: str
    #: Text of each scenario file by its name; one, unless an axis exchanges them.
    texts: Mapping[str, str]
    settings: tuple[str, ...]
    axes: tuple[Axis, ...]
    design: Design
    seeds: int
    stop: Stop | None
    #: Where names of files in it begin.
    folder: str
    #: As it was written, to be kept beside the results.
    source: Mapping[str, Any] = field(repr=False)
    #: The file that it was read from, for messages; empty for one that was put together in a program.
    file: str = ""

    @cached_property
    def points(self) -> list[Point]:
        """Every point, in the order of the design; the last axis changes fastest."""
        return [self._point(index, levels) for index, levels in enumerate(self._levels())]

    @property
    def most_seeds(self) -> int:
        """Seeds that a point may get."""
        return self.stop.max_seeds if self.stop else self.seeds

    def open(self, points: Sequence[Point]) -> list[Opened | ScenarioError | OSError]:
        """The scenarios of points, or what is wrong with each: it names the study where a value of that is wrong."""
        found = open_points(self.texts, [(point.file, point.settings) for point in points], registered())
        return [self._named(one) if isinstance(one, ScenarioError) else one for one in found]

    def _named(self, error: ScenarioError) -> ScenarioError:
        return ScenarioError("\n".join(_of_study(line, self.where) for line in str(error).splitlines()))

    def check(self, opened: Opened) -> None:
        """Checks what depends on the scenario of a point. Raises ScenarioError."""
        if self.stop is None or self.stop.group is None:
            return
        names = [group["name"] for group in json.loads(opened.scenario.to_json())["groups"]]
        if self.stop.group not in names:
            problem = f"stop.group = {self.stop.group!r} is not valid{choices(self.stop.group, names)}"
            raise ScenarioError(f"{self.where}: {problem}")

    @property
    def where(self) -> str:
        """How messages on its values begin."""
        return self.file or "study"

    @cached_property
    def digest(self) -> str:
        """Hash of what is asked for, but not of how many seeds."""
        asked = [dict(self.texts), [[point.file, point.settings] for point in self.points]]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32]

    def changed(self, fields: Mapping[str, Any]) -> Study:
        """The same with other fields of the study file, such as ``seeds``. Raises StudyError."""
        return replace(from_dict({**self.to_dict(), "study": {**self.source, **fields}}), file=self.file)

    def to_dict(self) -> dict[str, Any]:
        """What :func:`from_dict` takes."""
        return {
            "name": self.name, "folder": self.folder, "texts": dict(self.texts), "settings": list(self.settings),
            "study": dict(self.source),
        }  # fmt: skip

    def _point(self, index: int, levels: tuple[Value, ...]) -> Point:
        file = next(iter(self.texts))
        settings = list(self.settings)
        for axis, level in zip(self.axes, levels, strict=True):
            if axis.field == SCENARIO:
                file = str(level)
            else:
                settings.append(axis.setting(level))
        return Point(index, levels, file, tuple(settings))

    def _levels(self) -> Iterator[tuple[Value, ...]]:
        if self.design.kind == "product":
            return itertools.product(*(axis.levels for axis in self.axes))
        if self.design.kind == "zip":
            return zip(*(axis.levels for axis in self.axes), strict=True)
        return self._drawn()

    def _drawn(self) -> Iterator[tuple[Value, ...]]:
        for parts in draw(self.design.kind, self.design.points, len(self.axes), self.design.seed):
            yield tuple(_drawn_level(axis, part) for axis, part in zip(self.axes, parts, strict=True))


def read_study(path: str | PathLike[str]) -> Study:
    """Read a study file: TOML of at most 16 MiB. Raises StudyError, ScenarioError or OSError."""
    file = Path(path)
    try:
        written = read_toml(file)
    except ValueError as error:
        raise StudyError(str(error)) from None
    try:
        found = replace(make_study(written, file.stem, file.parent), file=fspath(file))
        found.points  # noqa: B018
        return found
    except StudyError as error:
        raise StudyError(f"{file}: {error}") from None


def make_study(written: Mapping[str, Any], name: str, folder: Path, base: Scenario | None = None) -> Study:
    """A study of a table with the fields of a study file; ``base`` instead of its scenario file."""
    unknown = sorted(set(written) - set(_FIELDS))
    if unknown:
        raise StudyError(f"{unknown[0]} is not known{choices(unknown[0], _FIELDS)}")
    if written.get("schema", SCHEMA) != SCHEMA:
        raise StudyError(f"schema = {written['schema']!r} is not valid; valid: {SCHEMA!r}")
    axes = read_axes(_table("axes", written.get("axes", {})), _design(written).kind in DRAWN)
    settings = written.get("settings", [])
    if not isinstance(settings, list | tuple) or not all(isinstance(one, str) for one in settings):
        raise StudyError(f'settings = {settings!r} is not valid; valid: a list of texts, such as ["duration=60s"]')
    before = base.settings if base is not None else ()
    named = str(written.get("name", name))
    return _assembled(written, named, folder, _texts(written, folder, axes, base), (*before, *settings))


def from_dict(kept: Mapping[str, Any]) -> Study:
    """The study that :meth:`Study.to_dict` kept. Raises StudyError where something of it is of another kind."""
    for name, kind in (("name", str), ("folder", str), ("texts", dict), ("settings", list), ("study", dict)):
        if not isinstance(kept[name], kind):
            raise StudyError(f"{name} = {kept[name]!r} is not valid; valid: what was kept")
    return _assembled(kept["study"], kept["name"], Path(kept["folder"]), kept["texts"], tuple(kept["settings"]))


def _assembled(
    written: Mapping[str, Any], name: str, folder: Path, texts: Mapping[str, str], settings: tuple[str, ...]
) -> Study:
    design = _design(written)
    axes = read_axes(_table("axes", written.get("axes", {})), design.kind in DRAWN)
    _check_names(axes)
    _check_design(design, axes)
    axes = tuple(_in_folder(axis, folder) if axis.field == SCENARIO else axis for axis in axes)
    stop = _stop(_table("stop", written["stop"])) if "stop" in written else None
    seeds = whole("seeds", written.get("seeds", 10), 1, _MOST_SEEDS)
    return Study(name, dict(texts), settings, axes, design, seeds, stop, fspath(folder), dict(written))


def _table(name: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise StudyError(f"{name} = {found!r} is not valid; valid: a table")
    return found


def _texts(written: Mapping[str, Any], folder: Path, axes: Sequence[Axis], base: Scenario | None) -> dict[str, str]:
    files = [axis for axis in axes if axis.field == SCENARIO]
    if files:
        paths = [fspath(folder / str(level)) for level in files[0].levels]
        return {path: source_of(path) for path in paths}
    if base is not None:
        return {base.file: base.text}
    named = written.get("base")
    _required("base", named, 'a scenario file, or an axis "scenario" with several')
    if not isinstance(named, str):
        raise StudyError(f'base = {named!r} is not valid; valid: a scenario file, or an axis "scenario" with several')
    path = located(named, folder)
    return {path: source_of(path)}


def _in_folder(axis: Axis, folder: Path) -> Axis:
    levels = tuple(fspath(folder / str(level)) for level in axis.levels)
    return replace(axis, levels=levels)


def _check_names(axes: Sequence[Axis]) -> None:
    columns = [axis.column for axis in axes]
    for axis in axes:
        if axis.column in _TAKEN and axis.field != "queue.discipline":
            raise StudyError(
                f"axes: {axis.column!r} is the name of another column; valid: "
                f'another name, such as my_{axis.name} = {{ field = "{axis.field}", values = [...] }}'
            )
        if columns.count(axis.column) > 1:
            raise StudyError(f"axes: two are called {axis.column!r}; valid: each field once")


def _design(written: Mapping[str, Any]) -> Design:
    asked = written.get("design", {})
    table = _table("design", {"kind": asked} if isinstance(asked, str) else asked)
    kind = table.get("kind", "product")
    if kind not in DESIGNS:
        raise StudyError(f"design.kind = {kind!r} is not valid{choices(kind, DESIGNS)}")
    drawn = kind in DRAWN
    known = ("kind", "points", "seed") if drawn else ("kind",)
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise StudyError(f"design.{unknown[0]} is not known with {kind}{choices(unknown[0], known)}")
    if not drawn:
        return Design(kind)
    _required("design.points", table.get("points"), f"a whole number from 1 to {_MOST_POINTS}")
    points = whole("design.points", table.get("points"), 1, _MOST_POINTS)
    if kind in POWERS and points & (points - 1):
        raise StudyError(f"design.points = {points} is not valid; valid: a power of two with {kind}")
    return Design(kind, points, whole("design.seed", table.get("seed", 1), 0, 2**31))


def _check_design(design: Design, axes: Sequence[Axis]) -> None:
    if design.kind == "zip":
        counts = {len(axis.levels) for axis in axes}
        if len(counts) > 1:
            sizes = ", ".join(f"{axis.name} has {len(axis.levels)}" for axis in axes)
            raise StudyError(f"design.kind = 'zip': {sizes}; valid: as many values on each axis")
    if design.kind == "product":
        points = 1
        for axis in axes:
            points *= len(axis.levels)
        if points > _MOST_POINTS:
            raise StudyError(f"axes: {points:,} points; valid: at most {_MOST_POINTS:,}")


def _stop(table: Mapping[str, Any]) -> Stop:
    known = ("measure", "group", "half_width", "relative", "min_seeds", "max_seeds")
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise StudyError(f"stop.{unknown[0]} is not known{choices(unknown[0], known)}")
    measure = table.get("measure")
    _required("stop.measure", measure, ", ".join(measures()))
    if measure not in measures():
        raise StudyError(f"stop.measure = {measure!r} is not valid{choices(measure, measures())}")
    if ("half_width" in table) == ("relative" in table):
        raise StudyError("stop: valid: either half_width or relative")
    for name in ("half_width", "relative"):
        value = table.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise StudyError(f"stop.{name} = {value!r} is not valid; valid: a number above 0")
    of_link = measure in dict(LINK_COLUMNS)
    group = table.get("group")
    if of_link != (group is None) or not isinstance(group, str | None):
        valid = f"none, as {measure} is of the link" if of_link else "the name of a group of flows"
        _required("stop.group", group, valid)
        raise StudyError(f"stop.group = {group!r} is not valid; valid: {valid}")
    finest = resolution_of(str(measure)) / 2
    if table.get("relative", 1) < finest:
        fine = f"stop.relative = {table['relative']!r} is finer than {measure} is known, to {2 * finest:.2g} of itself"
        raise StudyError(f"{fine}; valid: {finest:.2g} or more")
    least = whole("stop.min_seeds", table.get("min_seeds", 5), 2, _MOST_SEEDS)
    most = whole("stop.max_seeds", table.get("max_seeds", 100), least, _MOST_SEEDS)
    return Stop(str(measure), group, table.get("half_width"), table.get("relative"), least, most)


def _of_study(line: str, where: str) -> str:
    """A message on a setting, which nobody gave on a command line: the name of the study is in the place of that."""
    if not line.startswith(_SETTING):
        return line
    line = line.removeprefix(_SETTING)
    setting, _, rest = line.partition(": ")
    # The field is there already where it is called as it was written.
    return f"{where}: {rest if setting.partition('=')[0] in rest else line}"


def _required(name: str, value: Any, valid: str) -> None:
    if value is None:
        raise StudyError(f"{name} is missing; valid: {valid}")


def _drawn_level(axis: Axis, part: float) -> Value:
    if axis.span is not None:
        return axis.span.at(part)
    return axis.levels[min(int(part * len(axis.levels)), len(axis.levels) - 1)]
