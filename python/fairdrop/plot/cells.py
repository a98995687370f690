"""What figures of a sweep draw: a measure at points of axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

from fairdrop.estimate import Estimate


@dataclass(frozen=True)
class Shown:
    """An axis of a figure: its label with the unit, and its values as numbers or as names."""

    label: str
    values: tuple[Any, ...]
    #: What numbers are divided by, so that they are in the unit of the label.
    divisor: float = 1.0
    #: Values that a design drew: each has a point of its own, and no line leads from one to the next.
    drawn: bool = False

    @property
    def is_number(self) -> bool:
        return not any(isinstance(value, bool | str) for value in self.values)

    @property
    def is_log(self) -> bool:
        """Whether values are spaced by ratios rather than by differences."""
        if not self.is_number or len(self.values) < 3 or min(self.values) <= 0:
            return False
        low, high = min(self.values), max(self.values)
        return bool(high / low >= 8 and median(self.values) < low + 0.35 * (high - low))


@dataclass(frozen=True)
class Cells:
    """A measure at points; ``at`` of each has a value of every axis in ``axes``, or None where it is not read."""

    measure: Shown
    axes: Mapping[str, Shown]
    points: tuple[tuple[Mapping[str, Any], Estimate], ...]
    #: The caption: the measure, its group, the axes that are held, and the kind of interval.
    note: str
    intervals: str
    #: The largest value that the measure can have: no whisker goes beyond it, nor below 0.
    most: float = inf

    def mean(self, found: Estimate) -> float:
        """In the unit of the label."""
        return found.mean / self.measure.divisor

    def whisker(self, found: Estimate) -> tuple[float, float]:
        """How far the interval reaches down and up, in the unit of the label."""
        half = found.half or 0.0
        down, up = min(half, max(found.mean, 0.0)), min(half, max(self.most - found.mean, 0.0))
        return down / self.measure.divisor, up / self.measure.divisor
