"""Set-ups of a sweep beside each other: in one environment, and by the parameters that their discipline reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairdrop.estimate import Estimate
from fairdrop.plot.cells import Cells
from fairdrop.study.axes import ENVIRONMENT, default_role
from fairdrop.study.cells import Read, cells
from fairdrop.study.reads import reads
from fairdrop.wording.phrases import count


def role_of(axis: Mapping[str, Any]) -> str:
    """Of an axis in ``study.json``; those of before there were roles have the one by default."""
    return str(axis.get("role", default_role(axis["field"])))


def remarks(about: Mapping[str, Any]) -> list[str]:
    """What a reader should know of points that are the same set-up."""
    repeated = about.get("repeated", 0)
    if not repeated:
        return []
    same = f"{count(repeated, 'point')} of {about['points']} differ from another only in parameters that the discipline"
    return [f"{same} there does not read; such points share their runs."]


def environments(about: Mapping[str, Any]) -> list[str]:
    """Columns of the axes that vary the load and the network: points that differ there are not rivals."""
    return [axis["column"] for axis in about["axes"] if role_of(axis) == ENVIRONMENT and len(axis["values"]) > 1]


def set_ups(about: Mapping[str, Any], read: Read, measure: str, where: Mapping[str, Any]) -> Cells:
    """A measure of the link at each set-up; None is the place on an axis that the discipline does not read.

    Raises StudyError where the measure or ``where`` is not valid.
    """
    shown = [axis["column"] for axis in about["axes"]]
    found = cells(about, read, measure, None, where, shown)
    table = read(*dict.fromkeys([*shown, "discipline"]))
    columns = [table.column(name) for name in (*shown, "discipline")]
    disciplines = {tuple(at): discipline for *at, discipline in zip(*columns, strict=True)}
    distinct: dict[tuple[Any, ...], tuple[dict[str, Any], Estimate]] = {}
    for at, value in found.points:
        discipline = disciplines[tuple(at[name] for name in shown)]
        place = {
            axis["column"]: at[axis["column"]] if reads(discipline, axis["field"]) else None for axis in about["axes"]
        }
        distinct.setdefault(tuple(place.values()), (place, value))
    return replace(found, points=tuple(distinct.values()))
