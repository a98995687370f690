"""Whether the mean of many runs is what a paper prints: the one place where a printed number is decided.

Claims about printed numbers (`printed`) and the table of published values (`judge.numbers`) both ask here, so a number
has one verdict wherever it stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from fairdrop.estimate import t_quantile
from fairdrop.reproduce.define.definition import Published
from fairdrop.reproduce.judge.parts import FAILS, HOLDS, UNCLEAR, Outcome, Part, shown, worst_of
from fairdrop.reproduce.measure.data import Data, Row
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import count


@dataclass(frozen=True)
class Beside:
    """A published number beside a measurement; ``apart`` is the measured mean less the number."""

    state: str
    apart: float
    why: str = ""


def beside(point: Published, row: Row) -> Beside:
    """The number beside the measurement.

    A printed number is that of one run, as far as the papers say. It is off when the whole interval of our mean is
    beyond the tolerance, and no single run of ours would give it: the number is outside the prediction interval of the
    next run, mean ± t s sqrt(1 + 1/n).
    """
    room = 0.0 if point.relation != "=" else point.within
    low = -math.inf if point.relation == "<=" else point.value - room
    high = math.inf if point.relation == ">=" else point.value + room
    state = Part(row.sample, low, high).state()
    apart = row.estimate.mean - point.value
    if state == UNCLEAR:
        return Beside(UNCLEAR, apart, "the interval reaches across the tolerance")
    if state == FAILS and point.relation != "=":
        return Beside(FAILS, apart, "beyond the printed bound")
    if state == FAILS and abs(apart) <= one_run(row):
        return Beside(UNCLEAR, apart, "the mean is off, but a single run may give the number")
    return Beside(state, apart)


def one_run(row: Row) -> float:
    """Half of the prediction interval of one more run."""
    n = len(row.values)
    return 0.0 if n < 2 else t_quantile(n - 1, 1 - row.error) * stdev(row.values) * math.sqrt(1 + 1 / n)


def row_of(point: Published, data: Data) -> Row | None:
    """What was measured where a number is printed; that of the first scheme where the point names none."""
    main = data.schemes()[:1]
    rows = data.select(point.measure, point.scheme, point.at)
    return next((row for row in rows if point.scheme or row.scheme in main), None)


def printed(data: Data, arguments: Mapping[str, Any]) -> Outcome:
    """The numbers that a claim is about, together: the worst of them decides."""
    found = [(point, row) for point in data.published if point.is_about(arguments) and (row := row_of(point, data))]
    if not found:
        return Outcome(UNCLEAR, "", "nothing was measured there")
    sides = [beside(point, row) for point, row in found]
    worst = worst_of([side.state for side in sides])
    of_worst = [index for index, side in enumerate(sides) if side.state == worst]
    chosen = max(of_worst, key=lambda index: abs(sides[index].apart) / (found[index][0].within or 1.0))
    point, row = found[chosen]
    where = f" ({row.point})" if row.point and len(found) > 1 else ""
    words = f"{shown(row.estimate)} for {digits(point.value)}{where}"
    several = f"{count(len(found), 'number')}; worst {words}" if len(found) > 1 else words
    bad = [found[index][1].point for index, side in enumerate(sides) if side.state != HOLDS]
    detail = f"not at: {'; '.join(bad)}" if len(found) > 1 and bad else ""
    return Outcome(worst, several, detail, sides[chosen].apart)
