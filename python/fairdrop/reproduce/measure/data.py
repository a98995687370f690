"""Measured values: one row per scheme, point and measure, with a value per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fairdrop.estimate import Estimate, estimate, mean_of_known, resolution_of
from fairdrop.reproduce.define.definition import Published
from fairdrop.reproduce.measure.looks import ERROR, LEAST_SEEDS


@dataclass(frozen=True)
class Sample:
    """Values seed by seed, and the probability with which an interval of theirs may miss the mean.

    ``exact`` says that a model gave the single value: it has no error. Half an interval is at least ``blur``, to which
    the values are known.
    """

    values: tuple[float, ...]
    error: float = ERROR
    exact: bool = False
    blur: float = 0.0

    @property
    def decides(self) -> bool:
        """Whether there are seeds enough for a verdict."""
        return self.exact or len(self.values) >= LEAST_SEEDS

    def interval(self, parts: int = 1) -> Estimate:
        """Mean and interval; with ``parts`` the interval for one of that many means, judged together."""
        if not all(map(math.isfinite, self.values)):
            return _endless(self.values)
        found = estimate(self.values, 1.0 - self.error / parts)
        if found is None:
            raise ValueError("there are no values")
        return found if found.half is None else replace(found, half=max(found.half, self.blur))


def _endless(values: Sequence[float]) -> Estimate:
    """Of quotients by nothing: known where all are, otherwise unknown."""
    alike = all(value == values[0] for value in values)
    return Estimate(values[0], 0.0 if alike else math.inf, len(values))


@dataclass(frozen=True)
class Row:
    """Values of one measure at one point, seed by seed."""

    scheme: str
    at: Mapping[str, Any]
    measure: str
    values: tuple[float, ...]
    error: float = ERROR
    exact: bool = False

    @property
    def sample(self) -> Sample:
        return Sample(self.values, self.error, self.exact, self.blur)

    @property
    def blur(self) -> float:
        """Half the bin of a quantile that was read from bins; 0 of what is exact."""
        return resolution_of(self.measure) / 2 * abs(mean_of_known(self.values) or 0.0)

    @cached_property
    def estimate(self) -> Estimate:
        """Mean and interval over seeds, as wide as the look asks for (95 % over all looks)."""
        if not self.values:
            raise ValueError(f"{self.measure} has no values")
        return self.sample.interval()

    @property
    def point(self) -> str:
        """Where it was measured, in words."""
        parts = [self.scheme] if self.scheme != "all" else []
        return ", ".join([*parts, *(f"{axis} {value}" for axis, value in self.at.items())])


class Data:
    """Rows of one reading of one definition."""

    def __init__(self, rows: Iterable[Row], published: Iterable[Published] = ()) -> None:
        self.rows = tuple(rows)
        self.published = tuple(published)
        #: Rows that were selected since the last `forget`.
        self.touched: list[Row] = []

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, measure: Any = None, scheme: Any = None, at: Mapping[str, Any] | None = None) -> list[Row]:
        """Rows that match; a list means any of its members, None means all."""
        found = [row for row in self.rows if _in(row.measure, measure) and _in(row.scheme, scheme)]
        for axis, value in (at or {}).items():
            found = [row for row in found if axis in row.at and _in(row.at[axis], value)]
        self.touched += found
        return found

    def forget(self) -> None:
        """Begin a new list of the rows that are selected."""
        self.touched = []

    def measures(self) -> list[str]:
        return list(dict.fromkeys(row.measure for row in self.rows))

    def schemes(self) -> list[str]:
        return list(dict.fromkeys(row.scheme for row in self.rows))

    def axis(self, name: str, rows: Sequence[Row] | None = None) -> list[Any]:
        """Values of an axis, in the order of first appearance."""
        return list(dict.fromkeys(row.at[name] for row in rows or self.rows if name in row.at))


def paired(left: Row, right: Row, combine: Callable[[float, float], float]) -> Sample:
    """Combination seed by seed: a seed has the same sources under every scheme, so this is tighter than two means.

    The single value of a model goes with every seed of the other.
    """
    ours, theirs = left.values, right.values
    if left.exact:
        ours = ours * len(theirs)
    if right.exact:
        theirs = theirs * len(ours)
    values = tuple(combine(a, b) for a, b in zip(ours, theirs, strict=False))
    if not values:
        raise ValueError(f"{left.measure} and {right.measure} have no seeds in common")
    return Sample(values, left.error, left.exact and right.exact, _blur(left, right, combine))


def _blur(left: Row, right: Row, combine: Callable[[float, float], float]) -> float:
    """How far a combination is off at most where both are off by half a bin."""
    if not left.blur and not right.blur:
        return 0.0
    one, other = mean_of_known(left.values) or 0.0, mean_of_known(right.values) or 0.0
    ends = [combine(one + a * left.blur, other + b * right.blur) for a in (-1, 1) for b in (-1, 1)]
    return max(abs(end - combine(one, other)) for end in ends)


def _in(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return True
    return value in wanted if isinstance(wanted, list | tuple) else bool(value == wanted)
