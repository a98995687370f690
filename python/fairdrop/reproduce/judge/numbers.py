"""One verdict for each published number: whether the mean of many runs is what the paper prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from fairdrop.estimate import t_quantile
from fairdrop.reproduce.define.definition import BASE_READING, Definition, Published
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, Part
from fairdrop.reproduce.judge.verdict import CONTRADICTED, HELD, INCONCLUSIVE, OFF, OTHERWISE, PENDING
from fairdrop.reproduce.measure.data import Data, Row

#: Tolerance of a printed number where its definition has none: a part of it, or points for what is in per cent.
RELATIVE, POINTS = 0.05, 1.0


@dataclass(frozen=True)
class Compared:
    """The verdict on a published number; ``apart`` is the measured mean less the number."""

    verdict: str
    apart: float | None = None
    why: str = ""


def tolerance(point: Published, unit: str) -> float:
    """How far a mean may be from a printed number and still be it."""
    if point.within is not None:
        return point.within
    return POINTS if unit == "%" else RELATIVE * abs(point.value)


def compare(point: Published, row: Row, unit: str) -> Compared:
    """The number beside the measurement.

    A printed number is that of one run, as far as the papers say. It is off when the whole interval of our mean is
    beyond the tolerance, and no single run of ours would give it: the number is outside the prediction interval of the
    next run, mean ± t s sqrt(1 + 1/n).
    """
    room = 0.0 if point.relation != "=" else tolerance(point, unit)
    low = -math.inf if point.relation == "<=" else point.value - room
    high = math.inf if point.relation == ">=" else point.value + room
    state = Part(row.sample, low, high).state()
    apart = row.estimate.mean - point.value
    if state == HOLDS:
        return Compared(HELD, apart)
    if state != FAILS:
        return Compared(INCONCLUSIVE, apart, "the interval reaches across the tolerance")
    if point.relation != "=":
        return Compared(CONTRADICTED, apart, "beyond the printed bound")
    if abs(apart) <= one_run(row):
        return Compared(INCONCLUSIVE, apart, "the mean is off, but a single run may give the number")
    return Compared(OFF, apart)


def one_run(row: Row) -> float:
    """Half of the prediction interval of one more run."""
    n = len(row.values)
    return 0.0 if n < 2 else t_quantile(n - 1, 1 - row.error) * stdev(row.values) * math.sqrt(1 + 1 / n)


def beside_published(definition: Definition, data: Mapping[str, Data], bearing: str | None) -> list[dict[str, Any]]:
    """Each published value that is judged, with what was measured there under every reading, and its verdict.

    ``bearing`` is the reading under which all claims hold, where the base reading bears not all of them out.
    """
    units = {one.name: one for one in definition.measures}
    found = []
    for point in (one for one in definition.published if one.judged):
        rows = {name: row for name, some in data.items() if (row := _row_of(point, some)) is not None}
        unit = units[point.measure].unit
        verdict = Compared(PENDING)
        if BASE_READING in rows:
            verdict = compare(point, rows[BASE_READING], unit)
        if verdict.verdict != HELD and bearing in rows and compare(point, rows[bearing], unit).verdict == HELD:
            verdict = Compared(OTHERWISE, verdict.apart, f"reading: {bearing}")
        measured = {
            name: {"mean": row.estimate.mean, "low": row.estimate.low, "high": row.estimate.high}
            for name, row in rows.items()
        }
        found.append(
            {
                "measure": point.measure, "label": units[point.measure].label, "unit": unit,
                "scheme": point.scheme, "at": dict(point.at), "published": point.value, "source": point.source,
                "relation": point.relation, "tolerance": tolerance(point, unit) if point.relation == "=" else 0.0,
                "verdict": verdict.verdict, "apart": verdict.apart, "why": verdict.why,
                "measured": measured.get(BASE_READING), "readings": measured,
            }
        )  # fmt: skip
    return found


def _row_of(point: Published, data: Data) -> Row | None:
    main = data.schemes()[:1]
    rows = data.select(point.measure, point.scheme, point.at)
    return next((row for row in rows if point.scheme or row.scheme in main), None)
