"""Designs of points: values between two ends, drawn evenly over all axes at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Latin hypercube, Sobol's sequence with Owen's scrambling (``scipy.stats.qmc``), or the points for Sobol's indices.
DRAWN = ("latin_hypercube", "sobol", "saltelli")
#: Those whose number of points is a power of two.
POWERS = ("sobol", "saltelli")
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

    if kind == "saltelli":
        return _saltelli(points, axes, seed)
    make = qmc.LatinHypercube if kind == "latin_hypercube" else qmc.Sobol
    found: Sequence[Sequence[float]] = make(axes, seed=seed).random(points).tolist()
    return found


def _saltelli(points: int, axes: int, seed: int) -> list[list[float]]:
    """Two samples A and B; then A with each column of B in turn: points * (axes + 2) of them.

    Source: A. Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics Communications
    181(2), 2010.
    """
    from scipy.stats import qmc

    both = qmc.Sobol(2 * axes, seed=seed).random(points).tolist()
    a, b = [row[:axes] for row in both], [row[axes:] for row in both]
    mixed = [
        [*one[:place], other[place], *one[place + 1 :]]
        for place in range(axes)
        for one, other in zip(a, b, strict=True)
    ]
    return [*a, *b, *mixed]


def between(low: float, high: float, part: float, log: bool) -> float:
    """The value at ``part`` of the way, with ``log`` by ratio."""
    if log:
        return math.exp(math.log(low) + part * (math.log(high) - math.log(low)))
    return low + part * (high - low)


def short(value: float) -> float:
    """Without the last digits, which are noise: 0.3, not 0.30000000000000004."""
    return float(f"{value:.{_DIGITS}g}")
