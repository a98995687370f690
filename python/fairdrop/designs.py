"""Designs of points: values between two ends, drawn evenly over all axes at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Latin hypercube, or Sobol's sequence with Owen's scrambling; both of ``scipy.stats.qmc``.
DRAWN = ("latin_hypercube", "sobol")
_DIGITS = 12


@dataclass(frozen=True)
class Span:
    """All values between two ends, for the designs that draw from them."""

    low: float
    high: float
    log: bool
    #: Only whole numbers.
    whole: bool

    def at(self, part: float) -> float | int:
        """The value at ``part`` of the way, from 0 to 1."""
        if self.whole:
            low, high = self.low - 0.5, self.high + 0.5
            low = max(low, 0.5) if self.log else low
            return min(max(round(between(low, high, part, self.log)), int(self.low)), int(self.high))
        return short(between(self.low, self.high, part, self.log))


def draw(kind: str, points: int, axes: int, seed: int) -> Sequence[Sequence[float]]:
    """Points in the unit cube. Sobol's are the first of one sequence, whatever their number: a power of two."""
    from scipy.stats import qmc

    make = qmc.LatinHypercube if kind == "latin_hypercube" else qmc.Sobol
    found: Sequence[Sequence[float]] = make(axes, seed=seed).random(points).tolist()
    return found


def between(low: float, high: float, part: float, log: bool) -> float:
    """The value at ``part`` of the way, with ``log`` by ratio."""
    if log:
        return math.exp(math.log(low) + part * (math.log(high) - math.log(low)))
    return low + part * (high - low)


def short(value: float) -> float:
    """Without the last digits, which are noise: 0.3, not 0.30000000000000004."""
    return float(f"{value:.{_DIGITS}g}")
