"""What a check is, and the statistics that checks share."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats


@dataclass(frozen=True)
class Check:
    """One comparison: the measured beside the expected value, and whether they agree."""

    name: str
    expected: str
    measured: str
    holds: bool
    why: str = ""


@dataclass(frozen=True)
class Section:
    """Checks of one kind, with the text that explains them and SVG figures."""

    title: str
    text: str
    checks: list[Check]
    figures: list[bytes]


@dataclass(frozen=True)
class Interval:
    """Mean over replications and the half-width of its 95 % interval (Student's t)."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.5g} ± {self.half:.2g}"

    def near(self, value: float, tolerance: float) -> bool:
        """Whether the interval, widened by ``tolerance`` x ``value``, holds ``value``."""
        return abs(self.mean - value) <= self.half + tolerance * abs(value)


def interval(values: Sequence[float]) -> Interval:
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Interval(mean, math.inf)
    half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean, float(half))


def same_law(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Two-sample Kolmogorov-Smirnov: the statistic and its p-value."""
    found = stats.ks_2samp(ours, theirs)
    return float(found.statistic), float(found.pvalue)
