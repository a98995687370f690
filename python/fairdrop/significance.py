"""Tests of differences between means: in pairs and unpaired, many at once, and the smallest that a test can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from statistics import fmean, stdev

from fairdrop.estimate import CONFIDENCE, Estimate, t_quantile, welch

#: Chance of a false alarm among the tests of a family.
LEVEL = 1 - CONFIDENCE
#: Chance that a difference as large as the detectable one is significant.
POWER = 0.8


@dataclass(frozen=True)
class Grid:
    """Steps in which values come. ``rounded``: the quantity itself lies between them, so that a step means nothing."""

    step: float = 0.0
    rounded: bool = False

    @property
    def blur(self) -> float:
        """Differences up to this one mean nothing."""
        return self.step if self.rounded else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of a value within its step. Values that agree to a step vary by this at least."""
        return self.step / sqrt(12)


@dataclass(frozen=True)
class Tested:
    """A difference of means with its interval, its test, and the smallest difference that the test can show."""

    difference: Estimate
    #: Chance of at least this difference where there is none. None with one value on each side, and where the steps of
    #: the values explain it.
    p: float | None
    #: Standard error of the difference, and degrees of freedom; None with one value on each side.
    error: float | None
    degrees: float
    blur: float

    def detectable(self, tests: int) -> float | None:
        """The difference that is significant with a chance of 80 % as the smallest chance of ``tests`` under Holm.

        None where nothing varies, and with one value on each side.
        """
        if not self.error:
            return None
        return max(self.blur, noncentrality(self.degrees, LEVEL / max(tests, 1)) * self.error)


_EXACT = Grid()


def paired(before: Sequence[float], after: Sequence[float], grid: Grid = _EXACT) -> Tested:
    """Student's test of the differences of pairs."""
    differences = [other - one for one, other in zip(before, after, strict=True)]
    mean, n = fmean(differences), len(differences)
    if n == 1:
        return Tested(Estimate(mean, None, 1), None, None, 0.0, grid.blur)
    spread = max(stdev(differences), sqrt(2) * grid.deviation if mean else 0.0)
    return _tested(mean, spread / sqrt(n), n - 1.0, n, grid)


def unpaired(before: Sequence[float], after: Sequence[float], grid: Grid = _EXACT) -> Tested:
    """Welch's test of two means; Student's where one of them is a single value, as if both sides varied alike."""
    mean = fmean(after) - fmean(before)
    fewer, more = sorted((len(before), len(after)))
    if more < 2:
        return Tested(Estimate(mean, None, 1), None, None, 0.0, grid.blur)
    if fewer < 2:
        error, degrees = stdev(before if len(before) == more else after) * sqrt(1 + 1 / more), more - 1.0
    else:
        error, degrees = welch(before, after)
    least = grid.deviation * sqrt(1 / fewer + 1 / more) if mean else 0.0
    return _tested(mean, max(error, least), degrees, fewer, grid)


def _tested(mean: float, error: float, degrees: float, n: int, grid: Grid) -> Tested:
    half = max(t_quantile(degrees) * error, grid.blur)
    p = None if 0 < abs(mean) <= grid.blur else _two_sided(mean, error, degrees)
    return Tested(Estimate(mean, half, n), p, error, degrees, grid.blur)


def _two_sided(mean: float, error: float, degrees: float) -> float:
    from scipy.stats import t

    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t.sf(abs(mean) / error, degrees))


def holm(chances: Sequence[float | None]) -> list[bool]:
    """Which are significant at 5 % for all together: the smallest against 5 % over all, the next over the rest, ...

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
    1979.
    """
    order = sorted((p, number) for number, p in enumerate(chances) if p is not None)
    significant = [False] * len(chances)
    for rank, (p, number) in enumerate(order):
        if p > LEVEL / (len(order) - rank):
            break
        significant[number] = True
    return significant


@lru_cache(maxsize=256)
def noncentrality(degrees: float, level: float, power: float = POWER) -> float:
    """Size of a difference, in standard errors, that a two-sided t test at ``level`` shows with a chance of ``power``.

    By the noncentral t distribution; ``power`` is above a half, so that the tail on the other side adds nothing.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = float(t.isf(level / 2, degrees))
    return float(brentq(lambda size: float(nct.sf(critical, degrees, size)) - power, 0.0, 4 * critical + 10))
