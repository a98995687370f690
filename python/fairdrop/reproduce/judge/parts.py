"""Comparisons that claims are made of, and what they come to together.

A claim about many points holds when it holds at each, so each is asked with the whole error of the look (R. L. Berger,
"Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4), 1982). It is contradicted when one
point contradicts it, so each is asked with its part of the error only (Bonferroni): many points do not make a true
claim look false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairdrop.estimate import Estimate
from fairdrop.reproduce.measure.data import Sample
from fairdrop.wording.numbers import digits

HOLDS, UNCLEAR, FAILS = "holds", "unclear", "fails"
_WORST = (HOLDS, UNCLEAR, FAILS)


@dataclass(frozen=True)
class Part:
    """One comparison: the mean of a sample lies within ``low`` and ``high``, strictly so when ``strict``."""

    sample: Sample
    low: float = -math.inf
    high: float = math.inf
    strict: bool = False
    point: str = ""
    words: str = ""

    def state(self, parts: int = 1) -> str:
        """Holds, unclear or fails, as one of the ``parts`` of a claim."""
        if not self.sample.decides:
            return UNCLEAR
        value = self.sample.interval()
        inside = self.low < value.low and value.high < self.high if self.strict else self._covers(value)
        if inside:
            return HOLDS
        careful = self.sample.interval(parts)
        outside = (
            careful.high <= self.low or careful.low >= self.high
            if self.strict
            else careful.high < self.low or careful.low > self.high
        )
        return FAILS if outside else UNCLEAR

    def _covers(self, value: Estimate) -> bool:
        return self.low <= value.low and value.high <= self.high

    @property
    def margin(self) -> float:
        """How far the interval is inside the bounds; the part with the least is nearest to failing."""
        value = self.sample.interval()
        return min(value.low - self.low, self.high - value.high)


@dataclass(frozen=True)
class Outcome:
    """What a predicate found: the state, and the measured value nearest to failing, in words.

    ``apart`` is how far the worst mean is beyond its bound, in the measure's unit; None where that has no meaning.
    """

    state: str
    measured: str
    detail: str = ""
    apart: float | None = None


def shown(value: Estimate) -> str:
    """``0.246 [0.241, 0.251]``."""
    mean = digits(value.mean)
    return mean if not value.half else f"{mean} [{digits(value.low)}, {digits(value.high)}]"


def worst_of(states: Sequence[str]) -> str:
    return max(states, key=_WORST.index)


def together(parts: Sequence[Part]) -> tuple[str, Part, list[Part]]:
    """The state of all parts, the part that decides it, and the parts that do not hold."""
    states = [part.state(len(parts)) for part in parts]
    state = worst_of(states)
    nearest = min((part for part, one in zip(parts, states, strict=True) if one == state), key=lambda part: part.margin)
    return state, nearest, [part for part, one in zip(parts, states, strict=True) if one != HOLDS]


def outcome(parts: Sequence[Part], measured: str | None = None) -> Outcome:
    """The parts as one outcome: the measured value is that of the part nearest to failing."""
    state, nearest, bad = together(parts)
    value = nearest.sample.interval()
    where = f" ({nearest.point})" if nearest.point and len(parts) > 1 else ""
    words = measured or nearest.words or f"{shown(value)}{where}"
    points = dict.fromkeys(part.point for part in bad if part.point)
    detail = f"not at: {'; '.join(points)}" if points and len(parts) > 1 else ""
    beyond = min(value.mean - nearest.low, 0.0) or max(value.mean - nearest.high, 0.0)
    return Outcome(state, words, detail, beyond if math.isfinite(beyond) else None)
