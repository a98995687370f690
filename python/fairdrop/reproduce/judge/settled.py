"""Whether runs had settled when measuring began, and what their claims come to where they had not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairdrop.reproduce.define.definition import BASE_READING, Definition
from fairdrop.reproduce.execute.plan import Place
from fairdrop.reproduce.execute.work import Moved
from fairdrop.reproduce.judge.numbers import beside_published
from fairdrop.reproduce.judge.verdict import judge
from fairdrop.reproduce.measure.data import Data, Row


def lengthen(data: Data, longer: Data, places: frozenset[Place]) -> Data:
    """The measurements, with those of some set-ups replaced by what a longer warm-up gave."""
    fresh = {_key(row): row for row in longer.rows if not row.exact}
    rows = []
    for row in data.rows:
        if (other := fresh.pop(_key(row), None)) is not None:
            rows.append(other)
        elif row.exact or not any(_is_at(row, place) for place in places):
            rows.append(row)
    return Data([*rows, *fresh.values()], data.published)


def _key(row: Row) -> tuple[Any, ...]:
    return row.scheme, row.measure, tuple(row.at.items())


def _is_at(row: Row, place: Place) -> bool:
    scheme, where = place
    return row.scheme == scheme and all(row.at.get(axis) == value for axis, value in where)


def compared(definition: Definition, data: Data, lengthened: Data) -> dict[str, list[dict[str, Any]]]:
    """Claims and printed numbers whose verdict is another one after the longer warm-up."""
    claims, numbers = [], []
    before, _ = judge(definition, {BASE_READING: data}, ())
    after, _ = judge(definition, {BASE_READING: lengthened}, ())
    for old, new in zip(before, after, strict=True):
        if old.verdict != new.verdict:
            judged = {"id": old.claim.name, "text": old.claim.text, "before": old.verdict, "after": new.verdict}
            claims.append({**judged, "measured": new.measured})
    points = (beside_published(definition, {BASE_READING: some}, None) for some in (data, lengthened))
    for old_point, new_point in zip(*points, strict=True):
        if old_point["verdict"] != new_point["verdict"]:
            where = {name: old_point[name] for name in ("label", "scheme", "at", "published", "unit")}
            numbers.append({**where, "before": old_point["verdict"], "after": new_point["verdict"]})
    return {"claims": claims, "numbers": numbers}


def plain(moved: Sequence[Moved]) -> list[dict[str, Any]]:
    """What had not settled, in plain values."""
    return [
        {
            "reading": one.reading, "scheme": one.place[0], "at": dict(one.place[1]), "queue": one.series.queue,
            "series": one.series.series, "first": one.series.first, "last": one.series.last, "z": one.series.z,
            "runs": one.series.runs, "warm_up_s": one.series.warm_up_s, "needed_s": one.series.needed_s,
        }
        for one in moved
    ]  # fmt: skip
