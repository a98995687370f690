"""Which parameters of a design matter for an outcome: partial rank correlations with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairdrop.wording.phrases import count

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Correlation:
    """A partial rank correlation and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def least(self) -> float:
        """Lower bound of its strength, 0 where the interval holds 0."""
        return 0.0 if self.low <= 0.0 <= self.high else min(abs(self.low), abs(self.high))

    @property
    def most(self) -> float:
        """Upper bound of its strength."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Sensitivity:
    """How an outcome goes with each parameter where the others are held.

    ``explained``: part of the variance of the outcome's ranks that the parameters' ranks explain together, R². Where it
    is small the outcome does not rise or fall with them throughout, and the correlations mean little.
    """

    correlations: Mapping[str, Correlation]
    explained: float
    points: int


def rank_sensitivity(parameters: Mapping[str, Sequence[float]], outcome: Sequence[float]) -> Sensitivity:
    """Partial rank correlation of an outcome with each parameter, the others held, over the points of a design.

    The interval is Fisher's, with the variance 1.06/(n - k - 2) of n points and k parameters: of Spearman's coefficient
    (Fieller, Hartley, Pearson, "Tests for rank correlation coefficients", Biometrika 44, 1957), less a degree for each
    parameter that is held. Partial rank correlations for designs of simulations: Marino et al., "A methodology for
    performing global uncertainty and sensitivity analysis", Journal of Theoretical Biology 254, 2008.

    Raises ValueError naming what is wrong: fewer points than parameters + 4, or a column that never changes.
    """
    from scipy.stats import norm, rankdata

    columns = {**parameters, "the outcome": outcome}
    points, held = len(outcome), len(parameters) - 1
    if points < len(parameters) + 4:
        raise ValueError(f"points: {points} for {len(parameters)} parameters; valid: at least {len(parameters) + 4}")
    for name, values in columns.items():
        if len(values) != points:
            sizes = f"{count(len(values), 'value')} for {count(points, 'point')}"
            raise ValueError(f"{name}: {sizes}; valid: one for each")
        if not np.all(np.isfinite(values)) or np.ptp(values) == 0.0:
            raise ValueError(f"{name} never changes or is not finite; valid: numbers that differ")
    ranks = np.array([rankdata(values) for values in columns.values()])
    # A trace on the diagonal: an outcome in the very order of a parameter has a matrix without an inverse.
    inverse = np.linalg.inv(np.corrcoef(ranks) + 1e-10 * np.eye(len(ranks)))
    half = float(norm.ppf(0.5 + CONFIDENCE / 2)) * math.sqrt(1.06 / (points - held - 3))
    found = {}
    for index, name in enumerate(parameters):
        value = float(-inverse[index, -1] / math.sqrt(inverse[index, index] * inverse[-1, -1]))
        centre = math.atanh(min(max(value, -1 + 1e-15), 1 - 1e-15))
        found[name] = Correlation(value, math.tanh(centre - half), math.tanh(centre + half))
    return Sensitivity(found, float(1.0 - 1.0 / inverse[-1, -1]), points)
