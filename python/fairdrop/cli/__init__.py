"""The ``fairdrop`` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    from fairdrop.cli.parser import build_parser

    words = list(sys.argv[1:] if arguments is None else arguments)
    options = build_parser().parse_args(words)
    options.command_line = ["fairdrop", *words]
    try:
        status: int = options.action(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of a pipe went away; Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}", 2)
    except ValueError as error:
        return _fail(str(error), 2)


def _fail(message: str, status: int) -> int:
    for line in message.splitlines():
        print(f"fairdrop: error: {line}", file=sys.stderr)
    return status
