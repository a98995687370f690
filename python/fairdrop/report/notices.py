"""Notices for readers of the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from fairdrop.cautions import cautions
from fairdrop.document import Document, disciplines, runs_of
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import clean, count, joined, ranges

MOST_LISTED = 8


@dataclass(frozen=True)
class Notice:
    kind: str  # "incomplete", "invalid" or "warning"
    title: str
    lines: list[str]


def notices(document: Document) -> list[Notice]:
    """Gravest first: numbers that are wrong, numbers that are missing, then warnings."""
    found = [_invalid(document), _incomplete(document), _warnings(document)]
    return [notice for notice in found if notice is not None]


def _incomplete(document: Document) -> Notice | None:
    if document.complete:
        return None
    sizes = [f"{discipline_name(name)} {len(runs_of(document, name))}" for name in disciplines(document)]
    done = f"Finished runs: {joined(sizes)}." if sizes else "No run was finished."
    return Notice("incomplete", "Incomplete: the work was interrupted.", [done])


def _invalid(document: Document) -> Notice | None:
    bad = [run for run in [*document.runs, *(document.live.runs if document.live else ())] if not run.valid]
    if not bad:
        return None
    where: dict[str, list[str]] = {}
    for run in bad:
        for problem in run.problems or ["no reason given"]:
            where.setdefault(clean(problem), []).append(f"{run.discipline}\0{run.seed}")
    lines = [f"{_places(places)}: {problem}" for problem, places in where.items()]
    if len(lines) > MOST_LISTED:
        lines = [*lines[:MOST_LISTED], f"and {len(lines) - MOST_LISTED} more"]
    title = f"{count(len(bad), 'run')} of {len(document.runs)} not valid: do not rely on these numbers."
    return Notice("invalid", title, lines)


def _places(places: list[str]) -> str:
    seeds: dict[str, list[int]] = {}
    for place in places:
        name, seed = place.split("\0")
        seeds.setdefault(name, []).append(int(seed))
    return "; ".join(
        f"{discipline_name(name)}, {'seed' if len(found) == 1 else 'seeds'} {ranges(found)}"
        for name, found in seeds.items()
    )


def _warnings(document: Document) -> Notice | None:
    lines = [clean(line) for line in cautions(document)]
    return Notice("warning", "Before you rely on this", lines) if lines else None
