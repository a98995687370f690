"""Measured values: one row per scheme, point and measure, with a value per seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairdrop.estimate import Estimate, estimate
from fairdrop.reproduce.define.definition import Published


@dataclass(frozen=True)
class Row:
    """Values of one measure at one point, seed by seed."""

    scheme: str
    at: Mapping[str, Any]
    measure: str
    values: tuple[float, ...]

    @cached_property
    def estimate(self) -> Estimate:
        """Mean and 95 % interval over seeds."""
        found = estimate(self.values)
        if found is None:
            raise ValueError(f"{self.measure} has no values")
        return found

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

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, measure: Any = None, scheme: Any = None, at: Mapping[str, Any] | None = None) -> list[Row]:
        """Rows that match; a list means any of its members, None means all."""
        found = [row for row in self.rows if _in(row.measure, measure) and _in(row.scheme, scheme)]
        for axis, value in (at or {}).items():
            found = [row for row in found if axis in row.at and _in(row.at[axis], value)]
        return found

    def measures(self) -> list[str]:
        return list(dict.fromkeys(row.measure for row in self.rows))

    def schemes(self) -> list[str]:
        return list(dict.fromkeys(row.scheme for row in self.rows))

    def axis(self, name: str, rows: Sequence[Row] | None = None) -> list[Any]:
        """Values of an axis, in the order of first appearance."""
        return list(dict.fromkeys(row.at[name] for row in rows or self.rows if name in row.at))


def paired(left: Row, right: Row, combine: Any) -> Estimate:
    """Combination seed by seed: a seed has the same sources under every scheme, so this is tighter than two means.

    A row with a single value (a model) goes with every seed of the other.
    """
    ours, theirs = left.values, right.values
    if len(ours) == 1:
        ours = ours * len(theirs)
    if len(theirs) == 1:
        theirs = theirs * len(ours)
    found = estimate(combine(a, b) for a, b in zip(ours, theirs, strict=False))
    if found is None:
        raise ValueError(f"{left.measure} and {right.measure} have no seeds in common")
    return found


def _in(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return True
    return value in wanted if isinstance(wanted, list | tuple) else bool(value == wanted)
