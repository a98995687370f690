"""``fairdrop reproduce``."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

from fairdrop.nearest import did_you_mean
from fairdrop.progress import Progress
from fairdrop.reproduce.define.papers import names, paper_of, papers
from fairdrop.reproduce.execute.plan import Order
from fairdrop.reproduce.execute.work import Interrupted
from fairdrop.reproduce.extensions import papers_of
from fairdrop.reproduce.judge.mutants import HELD as STILL_HOLDS
from fairdrop.reproduce.judge.verdict import HELD, PENDING
from fairdrop.reproduce.outcome import Reproduction
from fairdrop.reproduce.show.page import counted, write_page
from fairdrop.reproduce.workspace import Workspace
from fairdrop.wording.phrases import count

PROBLEM = 3


def run(options: Namespace) -> int:
    """The command; 0 done, 3 when a claim could not be evaluated, 130 interrupted."""
    workspace = Workspace(Path(options.out))
    folders = [Path(folder) for folder in options.papers] or (workspace.remembered_folders() if options.resume else [])
    with papers_of(folders) as added:
        if options.list:
            return _list(workspace, options.json)
        return _run(options, workspace, added, folders)


def _run(options: Namespace, workspace: Workspace, added: Sequence[str], folders: Sequence[Path]) -> int:
    ids, order = _asked(options, workspace, added)
    workspace.folders = tuple(folders)
    progress = Progress(shown=not options.quiet and sys.stderr.isatty())
    started = time.monotonic()

    def report(found: Reproduction) -> None:
        if not options.quiet:
            print(f"{found.definition.name:14} {found.verdict}", file=sys.stderr)

    try:
        done = workspace.reproduce(ids, order, options.threads, progress, report)
    except Interrupted:
        progress.clear()
        print("fairdrop: interrupted; go on with: fairdrop reproduce --resume", file=sys.stderr)
        return 130
    everything = workspace.all()
    workspace.write_summary(everything)
    page = workspace.directory / "index.html"
    write_page(everything, page)
    if options.json:
        print(json.dumps([_brief(found) for found in done], indent=1))
    elif not options.quiet:
        print(_table(done))
        seconds = time.monotonic() - started
        print(f"{count(len(done), 'id')} in {seconds:.0f} s; page: {page}", file=sys.stderr)
    return PROBLEM if any(found.verdict == PENDING for found in done) else 0


def _asked(options: Namespace, workspace: Workspace, added: Sequence[str]) -> tuple[list[str], Order]:
    """What to run: with folders of papers and no words, all of these papers."""
    if options.resume:
        if options.what or options.settings or options.seeds or options.seed is not None:
            valid = "valid: no ids, --seeds, --seed or --set beside it"
            raise ValueError(f"--resume goes on with what was asked before; {valid}")
        return workspace.remembered()
    return choose(options.what or added), Order(
        options.profile, options.seeds, tuple(options.settings), 1 if options.seed is None else options.seed
    )


def choose(words: Sequence[str]) -> list[str]:
    """Ids that words name: an id, a paper, or nothing for all. Raises ValueError."""
    wanted: set[str] = set()
    for word in words:
        members = [name for name in names() if name == word or paper_of(name) == word]
        if not members:
            meant = did_you_mean(word, [*papers(), *names()])
            valid = f"{', '.join(papers())}, or an id of `--list`"
            raise ValueError(f"{word!r} is no paper and no id{meant}; valid: {valid}")
        wanted.update(members)
    return [name for name in names() if not words or name in wanted]


def _list(workspace: Workspace, as_json: bool) -> int:
    states = workspace.states()
    if as_json:
        print(json.dumps(states, indent=1))
    else:
        for row in states:
            print(f"{row['id']:14} {row['state']:32} {shorten(row['title'], 70)}")
    return 0


def _brief(found: Reproduction) -> dict[str, object]:
    document = found.document
    return {name: document[name] for name in ("id", "verdict", "reason", "claims", "published")}


def _table(done: Sequence[Reproduction]) -> str:
    lines = [counted(done)]
    for found in done:
        for claim in found.document["claims"]:
            if claim["verdict"] != HELD:
                lines.append(f"{found.definition.name:14} {claim['verdict']}: {claim['text']}")
                lines.append(f"{'':14} measured {claim['measured']}. {claim['why']}")
            if empty := [name for name, state in claim["mutants"].items() if state == STILL_HOLDS]:
                empty_claim = f"says nothing, holds with {' and '.join(empty)}: {claim['text']}"
                lines.append(f"{found.definition.name:14} {empty_claim}")
        if found.document["reason"]:
            lines.append(f"{found.definition.name:14} {found.document['reason'].splitlines()[0]}")
    return "\n".join(lines)
