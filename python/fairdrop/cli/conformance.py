"""``fairdrop conformance``: list the vectors, export them, run the library or a foreign program on them."""

from __future__ import annotations

import argparse
import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairdrop.cli.arguments import Parser
from fairdrop.cli.names import disciplines
from fairdrop.conformance import (
    FOLDER,
    MANIFEST,
    SCHEMA,
    Declined,
    ForeignError,
    Strictness,
    Vector,
    answers,
    counts_draws,
    differences,
    read_vectors,
)
from fairdrop.files import write_text
from fairdrop.terminal import printable
from fairdrop.wording.phrases import count

# Events shown before the one that differs.
_CONTEXT = 3

_CHECK = """\
Check a foreign implementation. The program is started once per vector; it reads the header and the events on stdin and
writes one line per event on stdout. The formats are in conformance/README.md. A program may decline a vector, which is
then skipped. Exit status: 0 every vector passed or was skipped, and at least one passed; 1 otherwise; 2 bad input.
"""


def add(parser: Parser) -> None:
    """Adds the four commands."""
    parser.set_defaults(action=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listed = commands.add_parser("list", help="the vectors and what each exercises")
    _add_selection(listed)
    listed.set_defaults(action=list_vectors)
    export = commands.add_parser("export", help="write the vectors as plain text")
    _add_selection(export)
    export.add_argument("folder", metavar="DIR", type=Path, help="folder to write DISCIPLINE/CASE.jsonl in")
    export.set_defaults(action=export_vectors)
    run = commands.add_parser("run", help="play the vectors to the library from their files")
    _add_selection(run)
    run.set_defaults(action=run_library)
    check = commands.add_parser(
        "check",
        help="check a foreign implementation",
        description=_CHECK,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="fairdrop conformance check [options] -- PROGRAM [ARGUMENT ...]",
    )
    _add_selection(check)
    check.add_argument("--format", choices=["json", "text"], default="json", help="form of the stream (json)")
    check.add_argument(
        "--decisions-only", action="store_true", help="compare only drops, marks and departures"
    )
    check.add_argument(
        "--tolerance",
        type=_tolerance,
        default=1e-9,
        metavar="X",
        help="internals may differ by this part of their value (1e-9)",
    )
    check.add_argument("--timeout", type=_seconds, default=10.0, metavar="S", help="seconds for each answer (10)")
    check.add_argument("program", nargs="+", metavar="PROGRAM", help="the program with its arguments, after --")
    check.set_defaults(action=check_program)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--discipline", "--disciplines", metavar="NAME,...", help="only the vectors of these disciplines (all)"
    )
    parser.add_argument("--case", metavar="NAME", help="only the vectors of this name, such as idle")
    parser.add_argument("--vectors", metavar="DIR", type=Path, help="folder of the vectors (those of this package)")


def _tolerance(text: str) -> float:
    return _number(text, "a number from 0", least=0.0)


def _seconds(text: str) -> float:
    return _number(text, "seconds above 0", least=1e-3)


def _number(text: str, valid: str, least: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= least:
        raise argparse.ArgumentTypeError(f"{text!r} is not valid; valid: {valid}")
    return number


def _selected(options: Namespace) -> list[Vector]:
    names = [] if options.discipline is None else disciplines(options.discipline, "--discipline")
    vectors = read_vectors(options.vectors or FOLDER, names)
    if options.case:
        vectors = [vector for vector in vectors if vector.header["case"] == options.case]
        if not vectors:
            raise ValueError(f"there is no vector {options.case!r}; valid: a name from `fairdrop conformance list`")
    return vectors


def list_vectors(options: Namespace) -> int:
    vectors = _selected(options)
    width = max(len(vector.name) for vector in vectors)
    for vector in vectors:
        events = count(vector.header["events"], "event")
        described = f"{vector.name:{width}}  {events:>11}  {vector.header['description']}"
        print(printable(described))
    return 0


def export_vectors(options: Namespace) -> int:
    vectors = _selected(options)
    for vector in vectors:
        path = options.folder / f"{vector.name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, vector.text)
    for name in (MANIFEST, SCHEMA):
        source = (options.vectors or FOLDER) / name
        if source.is_file():
            write_text(options.folder / name, source.read_text(encoding="utf-8"))
    print(f"{count(len(vectors), 'vector')}: {options.folder}", file=sys.stderr)
    return 0


def run_library(options: Namespace) -> int:
    from fairdrop import _core

    table = _Table(_selected(options))
    for vector in table.vectors:
        difference = _core.conformance_replay(vector.text)
        if difference is None:
            table.passed(vector, "decisions, random numbers, internals to the last bit")
        else:
            table.failed(vector, difference)
    return table.finish()


def check_program(options: Namespace) -> int:
    strictness = Strictness(options.decisions_only, options.tolerance)
    table = _Table(_selected(options))
    for vector in table.vectors:
        try:
            passed = _check(options.program, vector, options.format, options.timeout, strictness)
        except Declined as declined:
            table.skipped(vector, str(declined))
        except (ForeignError, _DiffersError) as error:
            table.failed(vector, str(error))
        except OSError as error:
            raise ValueError(f"{options.program[0]} cannot be started: {error.strerror or error}") from None
        else:
            table.passed(vector, passed.compared, passed.uncounted)
    return table.finish()


class _DiffersError(Exception):
    """An answer is not the one that the vector has."""


@dataclass(frozen=True)
class _Passed:
    compared: str
    """What the answers were compared by."""
    uncounted: int
    """Events at which candidates were drawn, and no answer showed how many."""


def _check(program: Sequence[str], vector: Vector, form: str, timeout: float, strictness: Strictness) -> _Passed:
    """Raises where the program first differs."""
    given: list[dict[str, Any]] = []
    talk = answers(program, vector, form, timeout)
    try:
        for event, answer in zip(vector.events, talk, strict=False):
            found = differences(event, answer, strictness)
            given.append(answer)
            if found:
                raise _DiffersError(_divergence(vector, given, found))
        # Sees the program end.
        next(talk, None)
    finally:
        talk.close()
    optional = ("compared", "backlog", "deadline_ns", "used", "internals")
    named = [name for name in optional if any(name in answer for answer in given)]
    compared = ", ".join(["decisions", *([] if strictness.decisions_only else named)])
    pairs = zip(vector.events, given, strict=True)
    return _Passed(compared, sum(not counts_draws(event, answer, strictness) for event, answer in pairs))


def _divergence(vector: Vector, given: list[dict[str, Any]], found: list[str]) -> str:
    """The first event that differs, with those before it."""
    at = len(given) - 1
    lines = [f"event {at} is the first that differs", *(f"  {difference}" for difference in found)]
    for number in range(max(0, at - _CONTEXT), at + 1):
        question = {name: value for name, value in vector.events[number].items() if name != "outcome"}
        lines.append(f"  {json.dumps(question)}")
        lines.append(f"    expected {json.dumps(vector.events[number]['outcome'])}")
        lines.append(f"    got      {json.dumps(given[number])}")
    return "\n".join(lines)


class _Table:
    """A line per vector, and a count at the end."""

    def __init__(self, vectors: list[Vector]) -> None:
        self.vectors = vectors
        self.width = max(len(vector.name) for vector in vectors)
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.uncounted = 0

    def passed(self, vector: Vector, compared: str, uncounted: int = 0) -> None:
        text = f"{count(len(vector.events), 'event')}: {compared}"
        if uncounted:
            self.uncounted += 1
            text += f"; the number of draws was not checked at {count(uncounted, 'event')}"
        self._line("passed", vector, text)

    def skipped(self, vector: Vector, reason: str) -> None:
        self._line("skipped", vector, reason)

    def failed(self, vector: Vector, difference: str) -> None:
        first, *rest = difference.splitlines() or [""]
        self._line("failed", vector, first)
        for line in rest:
            print(f"    {line}")

    def _line(self, result: str, vector: Vector, text: str) -> None:
        self.counts[result] += 1
        print(printable(f"{result:8} {vector.name:{self.width}}  {text}"), flush=True)

    def finish(self) -> int:
        counts = ", ".join(f"{number} {result}" for result, number in self.counts.items() if number)
        print(f"{count(len(self.vectors), 'vector')}: {counts}", file=sys.stderr)
        if self.uncounted:
            print(
                f"{count(self.uncounted, 'vector')} passed without a check of how many candidates were drawn: "
                "answer `compared`, or `used` with the stream candidate",
                file=sys.stderr,
            )
        return 0 if self.counts["passed"] and not self.counts["failed"] else 1
