"""Runs that fall into one of two states, or lock: their mean is of neither.

The values of all seeds are split where the part of their variation between the two sides is largest. L. Engelman and
J. A. Hartigan ("Percentage points of a test for clusters", Journal of the American Statistical Association 64, 1969)
test with that ratio whether there are two clusters or one normal one. The rule here: the ratio is above the point that
one normal sample in a thousand exceeds, both sides have two runs or more, and their means are apart by a fifth of the
larger one. A side whose runs all have one value is locked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fairdrop.reproduce.measure.data import Row

LEVEL = 0.001
APART = 0.2
LEAST_SIDE = 2
#: Fewer runs than this show no two states.
LEAST_RUNS = 5
_SAMPLES = 100_000


@dataclass(frozen=True)
class TwoStates:
    """The runs of one measure at one point, as two groups."""

    row: Row
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def locked(self) -> bool:
        """Whether all runs of one side have the same value."""
        return min(self.low) == max(self.low) or min(self.high) == max(self.high)

    def as_document(self) -> dict[str, Any]:
        """The two groups in plain values."""
        sides = {
            name: {"runs": len(side), "mean": sum(side) / len(side)}
            for name, side in (("low", self.low), ("high", self.high))
        }
        where = {"measure": self.row.measure, "scheme": self.row.scheme, "at": dict(self.row.at)}
        return {**where, **sides, "locked": self.locked}


def split_ratio(values: Iterable[float]) -> tuple[float, int]:
    """Largest variation between two sides over that within them, and how many values are on the lower side."""
    ratios, _ = _ratios(np.sort(np.asarray(list(values), dtype=float))[None, :])
    place = int(np.argmax(ratios[0]))
    return float(ratios[0, place]), place + LEAST_SIDE


def _ratios(ordered: np.ndarray) -> tuple[np.ndarray, int]:
    n = ordered.shape[1]
    whole = ordered.sum(axis=1, keepdims=True)
    squares = ((ordered - whole / n) ** 2).sum(axis=1, keepdims=True)
    lower = np.arange(LEAST_SIDE, n - LEAST_SIDE + 1)
    sums = np.cumsum(ordered, axis=1)[:, lower - 1]
    between = lower * (sums / lower - whole / n) ** 2 + (n - lower) * ((whole - sums) / (n - lower) - whole / n) ** 2
    within = np.maximum(squares - between, 1e-12 * np.maximum(squares, 1e-300))
    return between / within, n


@lru_cache(maxsize=64)
def critical_ratio(n: int) -> float:
    """What one normal sample of this size in a thousand exceeds, by simulation."""
    samples = np.sort(np.random.default_rng(n).standard_normal((_SAMPLES, n)), axis=1)
    return float(np.quantile(_ratios(samples)[0].max(axis=1), 1 - LEVEL))


def two_states(row: Row) -> TwoStates | None:
    """The two states of a row, or None when it has one."""
    values = sorted(row.values)
    if row.exact or len(values) < LEAST_RUNS or values[0] == values[-1] or not np.isfinite(values).all():
        return None
    ratio, lower = split_ratio(values)
    low, high = tuple(values[:lower]), tuple(values[lower:])
    means = sum(low) / len(low), sum(high) / len(high)
    if means[1] - means[0] < APART * max(map(abs, means)) or ratio <= critical_ratio(len(values)):
        return None
    return TwoStates(row, low, high)
