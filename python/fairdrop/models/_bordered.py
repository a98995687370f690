"""Linear equations of many classes that know of each other by a few common quantities only."""

from __future__ import annotations

import numpy as np

from fairdrop.models._check import Floats


class Bordered:
    """Two equations and two unknowns for each of n classes, bordered by g equations and g common unknowns.

    Each class is eliminated for itself, which leaves g equations: O(n) in place of O(n^3).

    ``local``: coefficients of a class's equations by its unknowns, (2, 2, n). ``through``: of these equations by the
    common unknowns, (2, g, n). ``border``: of the common equations by the first unknowns of all classes, then by the
    second ones, (g, 2n). ``corner``: of those by the common unknowns, (g, g). Raises LinAlgError where what is left is
    singular; a singular class makes steps that are not finite.
    """

    def __init__(self, local: Floats, through: Floats, border: Floats, corner: Floats) -> None:
        self._local = local
        self._determinant = local[0, 0] * local[1, 1] - local[0, 1] * local[1, 0]
        self._carried = self._alone(through[0], through[1])
        self._border = border
        self._inverse = np.linalg.inv(corner - border @ self._carried.T)

    def _alone(self, first: Floats, second: Floats) -> Floats:
        """Both unknowns of every class, for these right hand sides and no common unknowns."""
        (a, b), (c, d) = self._local
        parts = [(d * first - b * second) / self._determinant, (a * second - c * first) / self._determinant]
        return np.concatenate(parts, axis=-1)

    def solve(self, first: Floats, second: Floats, common: Floats) -> tuple[tuple[Floats, Floats], Floats]:
        """The unknowns of all classes, and the common ones, for the right hand sides of the two and of the common."""
        alone = self._alone(first, second)
        shared = self._inverse @ (common - self._border @ alone)
        each = alone - shared @ self._carried
        return (each[: first.size], each[first.size :]), shared
