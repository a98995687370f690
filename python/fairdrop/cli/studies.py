"""Commands over many results: sweeps, their parts, and what changed between two."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from fairdrop.cli.commands import check_files
from fairdrop.cli.errors import tell_problems

if TYPE_CHECKING:
    from fairdrop.study.sweep import Sweep


def sweep(options: Namespace) -> int:
    """``fairdrop sweep``."""
    from pathlib import Path

    from fairdrop.study.sweep import sweep

    check_files(options.report)
    if options.dask and options.threads:
        raise ValueError("--threads is given together with --dask; valid: one of them")
    done = sweep(
        options.study,
        out=options.out or Path("sweeps") / Path(options.study).stem,
        seeds=options.seeds,
        seed=options.seed,
        resume=options.resume,
        shard=options.shard,
        threads=options.threads,
        dask=options.dask,
        progress=not options.quiet and sys.stderr.isatty(),
        command=options.command_line,
    )
    return _finish(done, options)


def merge(options: Namespace) -> int:
    """``fairdrop merge``."""
    from fairdrop.study.sweep import merge

    check_files(options.report)
    return _finish(merge(options.out, options.shards), options)


def _finish(done: Sweep, options: Namespace) -> int:
    import json

    from fairdrop.wording.phrases import count

    if options.json:
        print(json.dumps(done.about, indent=1))
    elif not options.quiet:
        points = count(done.about["points"], "point")
        print(f"{points}, {count(done.runs, 'run')}, {done.computed} of them simulated now; data set: {done.data}")
        for remark in done.remarks:
            print(remark)
    tell_problems(done.problems)
    if options.report:
        done.report(options.report)
        if not options.quiet:
            print(f"report: {options.report}", file=sys.stderr)
    if done.problems:
        return 1
    if not done.complete:
        print("fairdrop: incomplete; what was finished is kept, and the same command goes on with it", file=sys.stderr)
        return 130
    return 0


def diff(options: Namespace) -> int:
    """``fairdrop diff``: 0 identical, 1 significant, 3 different; with ``--exact`` 0 or 1; 2 wrong input."""
    import json

    from fairdrop.changes import changes
    from fairdrop.cli.show import changes_text
    from fairdrop.result import read_document

    found = changes(read_document(options.before), read_document(options.after), exact=options.exact)
    if options.json:
        print(json.dumps(found.to_dict(), indent=1, allow_nan=False))
    elif not options.quiet:
        print(changes_text(found, everything=options.all))
    return found.status
