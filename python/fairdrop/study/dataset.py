"""The data set of a sweep: one row per run and group of flows, in Parquet files by axis."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairdrop import _core
from fairdrop.study.axes import Axis
from fairdrop.study.campaign import Campaign
from fairdrop.study.definition import Point, Study
from fairdrop.study.runs import GROUP_COLUMNS, LINK_COLUMNS

DATA = "data"
# More folders than this would be many small files.
MOST_FOLDERS = 256
# Runs whose rows are held in memory at once, and that a file has at most.
RUNS_AT_ONCE = 50_000
_UNSAFE = re.compile(r"[^\w.+-]")

Row = tuple[Any, ...]


def columns(study: Study) -> list[tuple[str, str]]:
    """Names and kinds of the columns."""
    return [*_of_runs(study), *GROUP_COLUMNS, *LINK_COLUMNS]


def _of_runs(study: Study) -> list[tuple[str, str]]:
    return [("run", "text"), *((axis.column, axis.kind) for axis in _own(study)), ("seed", "count")]


def write(campaign: Campaign, folder: Path) -> int:
    """The files, all at once in the place of what was there; how many runs they hold. Raises OSError.

    A run that counts at several points, which differ in nothing that it reads, has rows for each, and counts once.
    """
    target = folder / DATA
    made = Path(_core.folder_beside(target))
    runs: set[str] = set()
    named = _of_runs(campaign.study)
    try:
        for place, points in _places(campaign.study).items():
            inside = made / place
            for number, (rows, packed) in enumerate(_parts(campaign, points)):
                inside.mkdir(parents=True, exist_ok=True)
                runs.update(row[0] for row in rows)
                values = [[*column] for column in zip(*rows, strict=True)]
                columns = [(name, kind, column) for (name, kind), column in zip(named, values, strict=True)]
                try:
                    _core.write_rows(inside / f"part-{number}.parquet", columns, packed)
                except (ValueError, TypeError):
                    # Says which run is damaged: a text is no bytes.
                    campaign.store.get([row[0] for row in rows])
                    raise
        _core.replace_folder(made, target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return len(runs)


def files(folder: Path) -> list[Path]:
    """The files of a data set, in the order of its points as far as folders show it."""
    return sorted((folder / DATA).rglob("*.parquet"), key=lambda path: [_natural(part) for part in path.parts])


def folder_axes(study: Study) -> list[Axis]:
    """The axes by which there are folders: as many of the first as do not make too many."""
    for count in range(len(study.axes), 0, -1):
        if len({point.levels[:count] for point in study.points}) <= MOST_FOLDERS:
            return list(study.axes[:count])
    return []


def _own(study: Study) -> list[Axis]:
    """Axes that have a column of their own: every run has its discipline anyway."""
    return [axis for axis in study.axes if axis.column != "discipline"]


def _places(study: Study) -> dict[str, list[Point]]:
    axes = folder_axes(study)
    names: dict[tuple[Any, ...], str] = {}
    places: dict[str, list[Point]] = {}
    for point in study.points:
        levels = point.levels[: len(axes)]
        if levels not in names:
            parts = [_folder(axis, level) for axis, level in zip(axes, levels, strict=True)]
            place = "/".join(parts)
            names[levels] = place if place not in places else f"{place}-{len(places)}"
            places[names[levels]] = []
        places[names[levels]].append(point)
    return places


def _folder(axis: Axis, level: Any) -> str:
    """No ``=``: readers disagree about the types of what they take from such names (pandas: text)."""
    return f"{axis.column}-{_UNSAFE.sub('_', str(axis.value(level)))}"


def _parts(campaign: Campaign, points: Sequence[Point]) -> Iterator[tuple[Sequence[Row], list[bytes]]]:
    """Key, place on the axes and seed of each run, and its packed rows.

    In the order of points and seeds, so that the same runs are always the same files.
    """
    wanted = (
        (key, *levels, seed)
        for point in points
        for levels in [_at(campaign.study, point)]
        for seed, key in campaign.keys(point.index)
    )
    while some := list(itertools.islice(wanted, RUNS_AT_ONCE)):
        found = campaign.store.packed([row[0] for row in some])
        rows = [row for row in some if row[0] in found]
        if rows:
            yield rows, [found[row[0]] for row in rows]


def _at(study: Study, point: Point) -> list[Any]:
    own = _own(study)
    return [axis.value(level) for axis, level in zip(study.axes, point.levels, strict=True) if axis in own]


def _natural(text: str) -> list[Any]:
    """Numbers in a name by their size."""
    return [(0, float(part), "") if part.replace(".", "", 1).isdigit() else (1, 0.0, part)
            for part in re.split(r"(\d+(?:\.\d+)?)", text) if part]  # fmt: skip
