"""Checks of extensions: that they load, run to the end and repeat their results, and their cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from fairdrop import _core
from fairdrop.exact import field_changes
from fairdrop.extension.registry import load_file
from fairdrop.result import Result
from fairdrop.scenario import Scenario, ScenarioError, limit_s

__all__ = ["Finding", "check_extensions"]

Outcome = Literal["passed", "failed", "warning", "measured"]

# Twice what the link carries, for two thirds of the time: then the queue has to drain.
_LOAD = """\
duration = 15
warm_up = 2
[dumbbell]
rate = "2mbit"
[queue]
discipline = "{discipline}"
limit = "40p"
[[groups]]
name = "tcp"
transport = "{transport}"
count = 4
stop = "10s"
[[groups]]
name = "ecn"
transport = "{transport}"
count = 2
ecn = true
stop = "10s"
[[groups]]
name = "udp"
transport = "cbr"
rate = "1mbit"
stop = "10s"
"""
_SEEDS = 2
# What the simulator says of a discipline that keeps its packets.
_KEEPS = ("it gave no packet to send", "it has given no packet to send")
# Fraction of a FIFO's throughput below which a discipline counts as leaving the link idle.
_BUSY = 0.95
_TIMES = 3


@dataclass(frozen=True)
class Finding:
    """Outcome of one check of an extension."""

    file: str
    part: str
    check: str
    outcome: Outcome
    told: str
    value: float | None = None


@dataclass(frozen=True)
class _Subject:
    """An extension in a file, in the place of what it is compared with."""

    file: str
    name: str
    is_discipline: bool

    def scenario(self, other: str | None = None) -> Scenario:
        name = other or self.name
        words = {"discipline": "droptail", "transport": "sack"} | {
            "discipline" if self.is_discipline else "transport": name
        }
        return Scenario(_LOAD.format(**words), "check.toml", parts=[str(Path(self.file).resolve())])


def check_extensions(
    files: Sequence[str | PathLike[str]], *, rival: str | None = None, run_timeout: str | float | None = "60s"
) -> list[Finding]:
    """Load and run every extension in ``files``; the findings, check by check.

    ``rival`` is the discipline or transport of the library that costs are compared with: CHOKe and SACK unless it is
    given. With several files the first extension of each must give the same results: one design in two languages.
    Raises ScenarioError where there is no such rival.
    """
    limit_s(run_timeout)
    found: list[Finding] = []
    first: list[tuple[_Subject, Result]] = []
    for file in [fspath(one) for one in files]:
        subjects = _loaded(file, found)
        runs = [(subject, _checked(subject, rival, run_timeout, found)) for subject in subjects]
        first += [(subject, run) for subject, run in runs[:1] if run is not None]
    found += [_same(first[0], other) for other in first[1:]]
    return found


def _loaded(file: str, found: list[Finding]) -> list[_Subject]:
    try:
        parts = load_file(file)
    except ValueError as error:
        found.append(Finding(file, "", "load", "failed", str(error)))
        return []
    listed = json.loads(_core.catalogue(parts))
    disciplines = {entry["name"] for entry in listed["disciplines"]}
    subjects = [_Subject(file, part.name, part.name in disciplines) for part in parts]
    for subject in subjects:
        kind = "a discipline" if subject.is_discipline else "a congestion control"
        found.append(Finding(file, subject.name, "load", "passed", kind))
    return subjects


def _checked(
    subject: _Subject, rival: str | None, run_timeout: str | float | None, found: list[Finding]
) -> Result | None:
    """The result of its runs; None where there is none."""

    def note(check: str, outcome: Outcome, text: str, value: float | None = None) -> None:
        found.append(Finding(subject.file, subject.name, check, outcome, text, value))

    try:
        scenario = subject.scenario()
        run = scenario.run(_SEEDS, threads=1, run_timeout=run_timeout)
    except ScenarioError as error:
        keeps = any(words in str(error) for words in _KEEPS)
        note("work conservation" if keeps else "run", "failed", str(error))
        return None
    for one in run.failed:
        note("run", "failed", f"seed {one['seed']}: {one['error']}")
    if run.failed or not run.complete:
        return None
    note("run", "passed", f"{_SEEDS} seeds")
    for warning in run.document["warnings"]:
        note("random numbers", "warning", warning)
    _check_determinism(subject, run, run_timeout, note)
    if subject.is_discipline:
        _check_idleness(subject, run, note)
    _check_cost(subject, run, rival or ("choke" if subject.is_discipline else "sack"), note)
    return run


def _check_determinism(subject: _Subject, run: Result, run_timeout: str | float | None, note: Any) -> None:
    """The same seeds again here, and in another process, whose hashes of texts are others."""
    for place, again in (("here", _again), ("in another process", _elsewhere)):
        try:
            other = again(subject, run_timeout)
        except ScenarioError as error:
            note("determinism", "failed", f"a second run, {place}: {error}")
            return
        difference = next(field_changes(run.document, other), None)
        if difference is not None:
            values = f"{difference.before}, and {difference.after} in a second run of the seed"
            text = f"{difference.field} is {values}, {place}"
            note("determinism", "failed", text)
            return
    note("determinism", "passed", "the same runs again, here and in another process")


def _again(subject: _Subject, run_timeout: str | float | None) -> dict[str, Any]:
    return subject.scenario().run(_SEEDS, threads=1, run_timeout=run_timeout).document


def _elsewhere(subject: _Subject, run_timeout: str | float | None) -> dict[str, Any]:
    scenario = subject.scenario()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "check.toml")
        place.write_text(scenario.text, encoding="utf-8")
        command = [sys.executable, "-m", "fairdrop", "run", str(place), "--json", "--seeds", str(_SEEDS)]
        command += ["--extension", str(Path(subject.file).resolve()), "--threads", "1", "--quiet"]
        if run_timeout is not None:
            command += ["--run-timeout", str(run_timeout)]
        hashes = {"PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
        done = subprocess.run(command, env=os.environ | hashes, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ScenarioError(done.stderr.strip() or f"it ended with status {done.returncode}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _check_idleness(subject: _Subject, run: Result, note: Any) -> None:
    """A link that carries much less than under a FIFO, though packets wait, was left idle, or they were dropped."""
    carried, fifo = (_delivered(one.document) for one in (run, subject.scenario("droptail").run(_SEEDS, threads=1)))
    part = carried / fifo if fifo else 1.0
    if part < _BUSY:
        text = f"the link carries {part:.0%} of what it carries under droptail: packets are held back or dropped"
        note("work conservation", "warning", text, part)
    else:
        note("work conservation", "passed", "no packet is left while the link is idle", part)


def _delivered(document: dict[str, Any]) -> int:
    return sum(run["queues"][0]["departures"] for run in document["runs"])


def _check_cost(subject: _Subject, run: Result, rival: str, note: Any) -> None:
    own, theirs = (min(_costs(subject, name)) for name in (subject.name, rival))
    text = f"{own:.0f} ns of processor time per packet of the simulation, {own / theirs:.1f} times that with {rival}"
    note("cost", "measured", text, own)


def _costs(subject: _Subject, name: str) -> Iterator[float]:
    for _ in range(_TIMES):
        timing = subject.scenario(name).run(1, threads=1).timing()
        yield 1e9 * timing["loop_cpu_s"] / max(timing["bottleneck_packets"], 1)


def _same(one: tuple[_Subject, Result], other: tuple[_Subject, Result]) -> Finding:
    """Whether two extensions are one design: the same runs, but for their names."""
    (subject, run), (second, again) = one, other
    check = f"same as {subject.name} ({Path(subject.file).name})"
    if subject.is_discipline != second.is_discipline:
        return Finding(second.file, second.name, check, "failed", "one is a discipline, the other a congestion control")
    plain = [_renamed(result.document, name.name) for result, name in ((run, subject), (again, second))]
    difference = next(field_changes(*plain), None)
    if difference is None:
        return Finding(second.file, second.name, check, "passed", f"{_SEEDS} seeds, to the last digit")
    text = f"{difference.field} is {difference.before} there, and {difference.after} here"
    return Finding(second.file, second.name, check, "failed", text)


def _renamed(document: dict[str, Any], name: str) -> dict[str, Any]:
    text = json.dumps(document["runs"]).replace(json.dumps(name), '"this"')
    return {"complete": document["complete"], "runs": json.loads(text)}
