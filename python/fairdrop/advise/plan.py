"""Number and length of the trials: determined by their cost in simulated packets, never by a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairdrop.advise.loads import Load

#: Of the first look: round trips, seeds and loads; the first that fits.
_LOOKS = ((40, 2, 2), (20, 2, 2), (20, 1, 2), (20, 1, 1))
#: Of the check: round trips and seeds on all loads, then on some.
_CHECKS = ((160, 3), (80, 3), (80, 2), (40, 3), (40, 2), (20, 3), (20, 2))
_FEWER_LOADS = (3, 2, 1)
# Part of the effort that the first look may take; and where it takes more, there are fewer candidates.
_LOOK_PART, _MOST_LOOK = 0.25, 0.6
#: Seeds that the check goes on to where it leaves something open, one step after another.
MORE_SEEDS = (5, 8, 12)


@dataclass(frozen=True)
class Stage:
    """Trials: each of some settings, and DropTail, on each load."""

    loads: tuple[Load, ...]
    settings: int
    seeds: int
    trips: int

    @property
    def effort(self) -> float:
        """In simulated packets."""
        return (self.settings + 1) * self.seeds * sum(load.effort(self.trips) for load in self.loads)

    @property
    def runs(self) -> int:
        """Their number."""
        return (self.settings + 1) * self.seeds * len(self.loads)


def look(loads: Sequence[Load], settings: int, effort: float) -> Stage | None:
    """The first look at all candidates, or at those that fit; None where no two do."""
    for trips, seeds, number in _LOOKS:
        stage = Stage(tuple(loads[:number]), settings, seeds, trips)
        if stage.effort <= _LOOK_PART * effort:
            return stage
    trips, seeds, number = _LOOKS[-1]
    each = Stage(tuple(loads[:number]), 0, seeds, trips).effort
    fitting = min(int(_MOST_LOOK * effort / each) - 1, settings)
    return Stage(tuple(loads[:number]), fitting, seeds, trips) if fitting >= 2 else None


def least_effort(loads: Sequence[Load]) -> float:
    """Below this :func:`look` has nothing to offer."""
    trips, seeds, number = _LOOKS[-1]
    return 3 * Stage(tuple(loads[:number]), 0, seeds, trips).effort / _MOST_LOOK


def check(loads: Sequence[Load], settings: int, effort: float) -> Stage | None:
    """The check of the best; None where none fits."""
    for number in (len(loads), *_FEWER_LOADS):
        for trips, seeds in _CHECKS:
            stage = Stage(tuple(loads[:number]), settings, seeds, trips)
            if stage.effort <= effort:
                return stage
    return None
