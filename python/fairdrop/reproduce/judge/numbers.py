"""One verdict for each published number: whether the mean of many runs is what the paper prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairdrop.reproduce.define.definition import BASE_READING, Definition, Published
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, UNCLEAR
from fairdrop.reproduce.judge.printed import beside, row_of
from fairdrop.reproduce.judge.verdict import CONTRADICTED, HELD, INCONCLUSIVE, OFF, OTHERWISE, PENDING
from fairdrop.reproduce.measure.data import Data, Row


@dataclass(frozen=True)
class Compared:
    """The verdict on a published number; ``apart`` is the measured mean less the number."""

    verdict: str
    apart: float | None = None
    why: str = ""


def compare(point: Published, row: Row) -> Compared:
    """The verdict on a number beside a measurement."""
    found = beside(point, row)
    off = OFF if point.relation == "=" else CONTRADICTED
    return Compared({HOLDS: HELD, UNCLEAR: INCONCLUSIVE, FAILS: off}[found.state], found.apart, found.why)


def beside_published(definition: Definition, data: Mapping[str, Data], bearing: str | None) -> list[dict[str, Any]]:
    """Each published value that is judged, with what was measured there under every reading, and its verdict.

    ``bearing`` is the reading under which all claims hold, where the base reading bears not all of them out.
    """
    units = {one.name: one for one in definition.measures}
    found = []
    for point in (one for one in definition.published if one.judged):
        rows = {name: row for name, some in data.items() if (row := row_of(point, some)) is not None}
        unit = units[point.measure].unit
        verdict = Compared(PENDING)
        if BASE_READING in rows:
            verdict = compare(point, rows[BASE_READING])
        if verdict.verdict != HELD and bearing in rows and compare(point, rows[bearing]).verdict == HELD:
            verdict = Compared(OTHERWISE, verdict.apart, f"reading: {bearing}")
        measured = {
            name: {"mean": row.estimate.mean, "low": row.estimate.low, "high": row.estimate.high}
            for name, row in rows.items()
        }
        found.append(
            {
                "measure": point.measure, "label": units[point.measure].label, "unit": unit,
                "scheme": point.scheme, "at": dict(point.at), "published": point.value, "source": point.source,
                "relation": point.relation, "tolerance": point.within if point.relation == "=" else 0.0,
                "verdict": verdict.verdict, "apart": verdict.apart, "why": verdict.why,
                "measured": measured.get(BASE_READING), "readings": measured,
            }
        )  # fmt: skip
    return found

