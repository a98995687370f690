"""Commands over many results: sweeps, their parts, and what changed between two."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from fairdrop.cli.commands import of_document, read_finished
from fairdrop.cli.errors import print_incomplete, print_problems
from fairdrop.cli.places import SWEEP, check_files, taken

if TYPE_CHECKING:
    from fairdrop.characterize.scorecard import Scorecard
    from fairdrop.study.sweep import Sweep


def sweep(options: Namespace) -> int:
    """``fairdrop sweep``."""
    from pathlib import Path

    from fairdrop.study.sweep import shard_folder, sweep

    if options.dask and options.threads:
        raise ValueError("--threads is given together with --dask; valid: one of them")
    out = Path(options.out or Path("sweeps") / Path(options.study).stem)
    own = out if options.shard is None else out / shard_folder(options.shard)
    with taken(options, SWEEP, own):
        done = sweep(
            options.study,
            out=out,
            seeds=options.seeds,
            seed=options.seed,
            resume=options.resume,
            shard=options.shard,
            threads=options.threads,
            dask=options.dask,
            progress=not options.quiet and sys.stderr.isatty(),
            command=options.command_line,
            run_timeout=options.run_timeout,
        )
        return _finish(done, options)


def merge(options: Namespace) -> int:
    """``fairdrop merge``."""
    from fairdrop.study.sweep import merge

    check_files(options)
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
    return ended(done, options)


def ended(done: Sweep | Scorecard, options: Namespace) -> int:
    """The exit status of many runs, once their problems are printed and their report is written."""
    print_problems(done.problems)
    if options.report:
        done.report(options.report)
        if not options.quiet:
            print(f"report: {options.report}", file=sys.stderr)
    if done.problems:
        return 1
    if not done.complete:
        return print_incomplete()
    return 0


def diff(options: Namespace) -> int:
    """``fairdrop diff``: 0 identical, 1 significant, 3 different; with ``--exact`` 0 or 1; 2 wrong input."""
    import json

    from fairdrop.changes import changes
    from fairdrop.cli.show import changes_text

    before, after = read_finished(options.before), read_finished(options.after)
    with of_document(f"{options.before} or {options.after}"):
        found = changes(before, after, exact=options.exact)
    if options.json:
        print(json.dumps(found.to_dict(), indent=1, allow_nan=False))
    elif not options.quiet:
        print(changes_text(found, everything=options.all))
    return found.status
