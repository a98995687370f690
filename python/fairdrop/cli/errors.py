"""How a command reports errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from fairdrop.terminal import printable


def print_error(error: BaseException | str) -> None:
    """A line on stderr for each line of what went wrong."""
    for line in _message(error).splitlines():
        print(f"fairdrop: error: {printable(line)}", file=sys.stderr)


def print_problems(problems: Sequence[str]) -> None:
    """Runs that failed: the first with its whole message, the others with the first line of theirs."""
    for number, problem in enumerate(problems):
        lines = problem.splitlines()
        for line in lines if number == 0 else lines[:1]:
            print(f"fairdrop: {printable(line)}", file=sys.stderr)


def print_incomplete() -> int:
    """For work that Ctrl-C stopped and whose finished runs are kept. Returns the exit status."""
    print("fairdrop: incomplete; what was finished is kept, and the same command goes on with it", file=sys.stderr)
    return 130


def _message(error: BaseException | str) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{printable(str(error.filename))}: "
        return f"{where}{error.strerror}"
    return str(error)
