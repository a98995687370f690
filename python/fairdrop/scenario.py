"""Scenarios: links, the disciplines on them, groups of flows, and the duration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from html import escape
from os import PathLike, fspath
from os.path import join
from typing import Any, Literal

from fairdrop import _core
from fairdrop.extension.registry import Registered, compiled, load_file, registered
from fairdrop.files import SCENARIO, read_text
from fairdrop.library import catalogue, named
from fairdrop.live import find_program
from fairdrop.lock import held
from fairdrop.packaged import located
from fairdrop.result import LIVE_FOLDER, Result

__all__ = ["Builder", "Scenario", "ScenarioError", "load"]

_MOST_SEED = 2**31
# Names that TOML writes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class ScenarioError(ValueError):
    """Problems of a scenario, one per line, with file, line, field and valid values."""


class Scenario:
    """A scenario, read and checked.

    ``text`` is TOML (see ``docs/reference/scenario.md``), ``file`` its name in messages, and ``settings`` are
    ``path=value`` strings applied before reading. ``parts`` are user-defined disciplines that it may name, classes or
    files; by default those that are registered (``fairdrop.register``). Raises ScenarioError.
    """

    def __init__(
        self,
        text: str,
        file: str = "scenario",
        settings: Iterable[str] = (),
        parts: Iterable[Registered] | None = None,
    ) -> None:
        self._text, self._file, self._settings = text, file, tuple(listed("settings", settings, "duration=60s"))
        self._parts = registered() if parts is None else tuple(parts)
        try:
            #: The compiled half, for the package's own use.
            self.inner = _core.Scenario(text, file, list(self._settings), compiled(self._parts), load_file)
        except ValueError as error:
            raise ScenarioError(str(error)) from None

    def with_settings(self, *settings: str) -> Scenario:
        """The same scenario with more ``path=value`` settings, such as ``"queue.red.max_p=0.02"``."""
        return Scenario(self._text, self._file, (*self._settings, *settings), self._parts)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], settings: Iterable[str] = ()) -> Scenario:
        """A scenario from a dict with the fields of a scenario file, as ``tomllib`` reads it. Raises ScenarioError.

        ``to_dict`` is another form, after defaults and in SI units.
        """
        return cls(toml_text(fields), "scenario", settings)

    @classmethod
    def build(cls, name: str = "scenario", **fields: Any) -> Builder:
        """Begin a scenario that is put together piece by piece; ``fields`` are those at the top of a file."""
        return Builder({"name": name, **fields})

    def __reduce__(self) -> tuple[type[Scenario], tuple[str, str, tuple[str, ...], tuple[Registered, ...]]]:
        return Scenario, (self._text, self._file, self._settings, self._parts)

    @property
    def text(self) -> str:
        """The TOML text as it was given, before settings."""
        return self._text

    @property
    def file(self) -> str:
        """Its name in messages, and the base of relative paths."""
        return self._file

    @property
    def settings(self) -> tuple[str, ...]:
        """The ``path=value`` settings that were applied."""
        return self._settings

    @property
    def parts(self) -> tuple[Registered, ...]:
        """User-defined disciplines that it may name: classes, and files with some."""
        return self._parts

    @property
    def source(self) -> str:
        """The TOML text, settings applied."""
        return self.inner.source

    def to_dict(self) -> dict[str, Any]:
        """The scenario after defaults and settings, in SI units."""
        resolved: dict[str, Any] = json.loads(self.inner.to_json())
        return resolved

    def run(
        self,
        seeds: int = 1,
        *,
        threads: int | None = None,
        progress: bool = False,
        command: list[str] | None = None,
        trace: str | PathLike[str] | None = None,
        resume: str | PathLike[str] | None = None,
        run_timeout: str | float | None = None,
    ) -> Result:
        """Simulate under ``seeds`` seeds, on all cores unless ``threads`` says otherwise.

        Ctrl-C stops the work; the result then holds what was finished and says so in ``complete``. ``trace`` is a
        directory for event traces of every run. ``resume`` is one that holds finished runs of this scenario: they are
        not simulated again, and those that are finished now are kept there until the result is written there. Raises
        ScenarioError when it holds something else. A run that takes longer than ``run_timeout``, in seconds or as
        ``"60s"``, is ended and listed in ``failed``; a call of a part that cannot be ended then, outside Python, ends
        the process.
        """
        return self._simulate(
            None, seeds, threads, progress, command, trace=trace, resume=resume, run_timeout=run_timeout
        )

    def compare(
        self,
        disciplines: Iterable[str] | None = None,
        seeds: int = 1,
        *,
        threads: int | None = None,
        progress: bool = False,
        command: list[str] | None = None,
        with_model: bool = False,
        trace: str | PathLike[str] | None = None,
        resume: str | PathLike[str] | None = None,
        run_timeout: str | float | None = None,
    ) -> Result:
        """Simulate under each of ``disciplines`` (all when None) in the place of the scenario's own.

        The same seed gives the same sources under every discipline. ``trace``, ``resume`` and ``run_timeout`` are as in
        ``run``; more disciplines and seeds may be asked for than were finished. ``with_model`` adds the results of
        the model of CHOKe; raises NotModelledError, before anything is simulated, when that does not apply.
        """
        names = _names(disciplines)
        if names is None:
            names = [entry["name"] for entry in catalogue()["disciplines"]]
        model = self._model_beside(names) if with_model else None
        return self._simulate(
            names, seeds, threads, progress, command, model, trace=trace, resume=resume, run_timeout=run_timeout
        )

    def live(
        self,
        seeds: int = 1,
        *,
        disciplines: Iterable[str] | None = None,
        congestion: Iterable[str] = (),
        progress: bool = False,
        command: list[str] | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Result:
        """Run with real hosts, one run after another: each takes as long as the scenario lasts.

        Groups are kernel TCP and paced datagrams; the links are those of the simulator, in logical time. Needs Linux
        and the program ``fairdropd``. ``congestion`` are ``group=name`` strings: that group's connections use this
        congestion control of the kernel, such as ``bbr``, in place of the group's transport. A run that the
        machine disturbed too much says so in ``valid`` and ``problems``. Stopping and ``resume`` are as in ``run``.
        Raises ScenarioError when real hosts cannot do what the scenario asks for.
        """
        names = _names(disciplines)
        return self._simulate(names, seeds, 1, progress, command, trace=None, resume=resume, live=list(congestion))

    def compare_live(
        self,
        seeds: int = 1,
        *,
        disciplines: Iterable[str] | None = None,
        congestion: Iterable[str] = (),
        threads: int | None = None,
        progress: bool = False,
        command: list[str] | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Result:
        """Run live and simulate, under the scenario's own discipline or under each of ``disciplines``.

        The result is that of the simulation, with the live one in ``live``. ``resume`` is as in ``run``; live runs are
        kept in its folder ``live``.
        """
        names = _names(disciplines)
        beside = None if resume is None else join(resume, LIVE_FOLDER)
        live = self.live(
            seeds, disciplines=names, congestion=congestion, progress=progress, command=command, resume=beside
        )
        if not live.complete:
            return live
        done = self._simulate(names, seeds, threads, progress, command, trace=None, resume=resume)
        return done.beside(live)

    def model(
        self, *, survival: Literal["cbr", "poisson"] = "cbr", command: list[str] | None = None
    ) -> dict[str, Any]:
        """The model of CHOKe for this scenario (see ``docs/reference/model.md``).

        Raises NotModelledError, with the reason, when the model does not describe it.
        """
        from fairdrop.model_scenario import NotModelledError, model_document

        try:
            return model_document(self.to_dict(), survival=survival, command=command)
        except NotModelledError as error:
            raise NotModelledError(f"{self._file}: {error}") from None

    def _model_beside(self, disciplines: list[str]) -> dict[str, Any]:
        from fairdrop.model_scenario import NotModelledError

        if not any(named(name, "disciplines") == "choke" for name in disciplines):
            listed = ", ".join(disciplines)
            problem = f"the model is that of choke, which is not among the disciplines ({listed}); valid: with choke"
            raise NotModelledError(problem)
        return self.with_settings("queue.discipline=choke").model()

    def _simulate(
        self,
        disciplines: list[str] | None,
        seeds: int,
        threads: int | None,
        progress: bool,
        command: list[str] | None,
        model: dict[str, Any] | None = None,
        *,
        trace: str | PathLike[str] | None,
        resume: str | PathLike[str] | None,
        live: list[str] | None = None,
        run_timeout: str | float | None = None,
    ) -> Result:
        limit = limit_s(run_timeout)
        _check_count("seeds", seeds)
        if threads is not None:
            _check_count("threads", threads)
        try:
            host = None if live is None else (find_program(), self._file, live)
            with nullcontext() if resume is None else held(resume):
                done = self.inner.simulate(
                    disciplines, seeds, threads, progress, command,
                    trace=trace, resume=resume, live=host, run_timeout=limit,
                )  # fmt: skip
            return Result(done, model)
        except ValueError as error:
            raise ScenarioError(str(error)) from None

    def __repr__(self) -> str:
        resolved = self.to_dict()
        groups = ", ".join(f"{group['count']} {group['name']}" for group in resolved["groups"])
        return f"Scenario {resolved['name']!r}: {groups}; {resolved['queue']['discipline']}"

    def _repr_html_(self) -> str:
        return f"<h3>{escape(self.to_dict()['title'] or repr(self))}</h3><pre>{escape(self.source)}</pre>"


class Builder:
    """A scenario in the making: each call adds a piece and returns the builder; ``scenario()`` ends it."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def dumbbell(self, **fields: Any) -> Builder:
        """The bottleneck and the links of the hosts: ``rate="10mbit"``, ``delay="5ms"``, ..."""
        return self._with("dumbbell", fields)

    def queue(self, discipline: str, **fields: Any) -> Builder:
        """The queue at the bottleneck; parameters of a discipline as a dict: ``red={"min_th": "20p"}``."""
        return self._with("queue", {"discipline": discipline, **fields})

    def link(self, **fields: Any) -> Builder:
        """A link of a network: ``name``, ``from_`` and ``to``, ``rate``, ..."""
        return self._with_one_more("links", fields)

    def group(self, name: str, transport: str, **fields: Any) -> Builder:
        """Flows: ``count=10``, ``rate="2mbit"``, ...; ``class_`` and ``from_`` stand for Python's keywords."""
        return self._with_one_more("groups", {"name": name, "transport": transport, **fields})

    def scenario(self, *settings: str) -> Scenario:
        """The scenario. Raises ScenarioError."""
        return Scenario.from_dict(self._fields, settings)

    def _with(self, name: str, fields: Mapping[str, Any]) -> Builder:
        return Builder({**self._fields, name: fields})

    def _with_one_more(self, name: str, fields: Mapping[str, Any]) -> Builder:
        plain = {field.removesuffix("_"): value for field, value in fields.items()}
        return Builder({**self._fields, name: [*self._fields.get(name, ()), plain]})


def toml_text(fields: Mapping[str, Any], path: str = "") -> str:
    """A dict as TOML: plain values first, then tables, then lists of tables. Raises ScenarioError for the rest."""
    plain, tables = [], []
    for name, value in fields.items():
        if not isinstance(name, str):
            raise ScenarioError(f"{path}{name!r} is not valid; valid: texts as names of fields")
        key = name if _BARE.fullmatch(name) else json.dumps(name)
        if isinstance(value, Mapping):
            tables.append(f"[{path}{key}]\n{toml_text(value, f'{path}{key}.')}")
        elif isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
            tables += [f"[[{path}{key}]]\n{toml_text(one, f'{path}{key}.')}" for one in value]
        elif value is not None:
            plain.append(f"{key} = {_toml_value(value, path + key)}\n")
    return "".join([*plain, *tables])


def _toml_value(value: Any, path: str) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml_value(one, path) for one in value)}]"
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(str(name))} = {_toml_value(one, path)}" for name, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool | int | str):
        # JSON leaves DEL as it is, which TOML does not allow.
        return json.dumps(value).replace("\x7f", "\\u007f")
    raise ScenarioError(f"{path} = {value!r} is not valid; valid: a text, number, true or false, list or dict")


def listed(name: str, values: Iterable[str], example: str) -> list[str]:
    """A list of texts. Raises ScenarioError for a single text, which would be taken letter by letter."""
    if isinstance(values, str):
        apart = [word.strip() for word in values.split(",")]
        raise ScenarioError(f"{name} = {values!r} is one text; valid: a list, such as {apart if values else [example]}")
    return list(values)


def limit_s(run_timeout: str | float | None) -> float | None:
    """Time limit of a run, in seconds. Raises ScenarioError unless it is above 0."""
    if run_timeout is None:
        return None
    try:
        seconds = _core.seconds(str(run_timeout))
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise ScenarioError(f"run_timeout = {run_timeout!r} is not valid; valid: a time above 0, such as 60s")
    return seconds


def _names(disciplines: Iterable[str] | None) -> list[str] | None:
    if disciplines is None:
        return None
    names = listed("disciplines", disciplines, "choke")
    if not names:
        raise ScenarioError("disciplines: there is none; valid: at least one, or None for all")
    return names


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ScenarioError(f"{name} = {value!r} is not valid; valid: a whole number, 1 or more")


def check_seed(value: object) -> None:
    """Raises ScenarioError for an invalid first seed."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_SEED:
        raise ScenarioError(f"seed = {value!r} is not valid; valid: a whole number from 0 to {_MOST_SEED}")


def load(path: str | PathLike[str], settings: Iterable[str] = ()) -> Scenario:
    """Read a scenario: a regular file of at most 16 MiB, or one that comes with the package, such as ``"headline"``.

    Raises ScenarioError, or OSError when it cannot be read.
    """
    file = located(path)
    return Scenario(source_of(file), file, settings)


def source_of(path: str | PathLike[str]) -> str:
    """The text of a scenario file. Raises as ``load``."""
    try:
        return read_text(path, SCENARIO)
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{fspath(path)}: not text in UTF-8 ({error.reason}); valid: a TOML file") from None
