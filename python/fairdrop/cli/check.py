"""``fairdrop check``: tests of an extension before its results are believed."""

from __future__ import annotations

import argparse
from itertools import groupby
from typing import TYPE_CHECKING

from fairdrop.terminal import printable

if TYPE_CHECKING:
    from fairdrop.extension_check import Finding


def add(parser: argparse.ArgumentParser) -> None:
    """The words of the command."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="Python file or shared object; of several the first extensions must agree",
    )
    parser.add_argument(
        "--rival", metavar="NAME", help="discipline or transport that costs are compared with (choke, sack)"
    )
    parser.add_argument("--run-timeout", default="60s", metavar="TIME", help="end a run that takes longer (60s)")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.set_defaults(action=check)


def check(options: argparse.Namespace) -> int:
    """Prints what was found; status 1 where a check failed."""
    import json

    from fairdrop.extension_check import check_extensions

    found = check_extensions(options.files, rival=options.rival, run_timeout=options.run_timeout)
    if options.json:
        print(json.dumps([one.__dict__ for one in found], indent=1, allow_nan=False))
    else:
        for (file, part), findings in groupby(found, lambda one: (one.file, one.part)):
            print(printable(f"{file}: {part}" if part else file))
            print("\n".join(line for one in findings for line in _lines(one)))
    return int(any(one.outcome == "failed" for one in found))


def _lines(one: Finding) -> list[str]:
    first, *rest = one.told.splitlines() or [""]
    return [f"  {one.check:18}  {one.outcome:8}  {first}", *(f"    {line}" for line in rest)]
