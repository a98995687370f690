"""Means over seeds with their 95 % intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import fmean, stdev, variance

from fairdrop import _core

CONFIDENCE = 0.95
#: Quantiles and maxima of times are upper ends of bins, which are at most this fraction of the time wide.
TIME_RESOLUTION = _core.TIME_RESOLUTION
_BINNED = re.compile(r"(?:^|_)(?:sojourn|wait|fct)_(?:p\d+|max)(?:_s)?$")


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds. ``half`` is half the width of its interval (95 % by default), None with a single seed."""

    mean: float
    half: float | None
    n: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + (self.half or 0.0)


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are there; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@lru_cache(maxsize=256)
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Student's t that leaves half of what is not confidence in each tail, 2.5 % by default."""
    # What scipy.stats.t.ppf calls, without the rest of that package.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def resolution_of(measure: str) -> float:
    """Width of the bins that a measure was read from, as a fraction of its value; 0 where it is exact.

    ``measure`` is a name such as ``queue_sojourn_p99_s``: quantiles and maxima of times come from bins.
    """
    return TIME_RESOLUTION if _BINNED.search(measure) else 0.0


def estimate(
    values: Iterable[float | None], confidence: float = CONFIDENCE, resolution: float = 0.0
) -> Estimate | None:
    """Mean and interval of the values that are there; None when none is.

    Half the interval is at least half a bin of values that were read to within ``resolution``, a fraction of each.
    """
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    mean = fmean(known)
    if len(known) == 1:
        return Estimate(mean, None, 1)
    spread = stdev(known)
    half = t_quantile(len(known) - 1, confidence) * spread / sqrt(len(known)) if spread else 0.0
    return Estimate(mean, max(half, resolution / 2 * abs(mean)), len(known))


def difference(
    before: Iterable[float | None], after: Iterable[float | None], resolution: float = 0.0
) -> Estimate | None:
    """How much larger the mean of ``after`` is, and Welch's interval of that; None when one of them has no values.

    ``n`` is the smaller number of values. Half the interval is at least half a bin of either mean (``resolution``).
    """
    one, other = ([float(value) for value in values if value is not None] for values in (before, after))
    if not one or not other:
        return None
    means = fmean(one), fmean(other)
    n = min(len(one), len(other))
    if n == 1:
        return Estimate(means[1] - means[0], None, n)
    error, degrees = welch(one, other)
    half = max(t_quantile(degrees) * error, resolution / 2 * sum(map(abs, means)))
    return Estimate(means[1] - means[0], half, n)


def welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom; each has two values at least.

    Source: B. L. Welch, "The generalization of Student's problem when several different population variances are
    involved", Biometrika 34, 1947.
    """
    parts = [variance(values) / len(values) for values in (one, other)]
    if sum(parts) == 0:
        return 0.0, 1.0
    squares = sum(part**2 / (len(values) - 1) for part, values in zip(parts, (one, other), strict=True))
    return sqrt(sum(parts)), sum(parts) ** 2 / squares
