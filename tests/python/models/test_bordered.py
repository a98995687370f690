"""Bordered equations against the same ones written out."""

from __future__ import annotations

import numpy as np
import pytest

from fairdrop.models._bordered import Bordered


@pytest.mark.parametrize(("classes", "common"), [(1, 3), (2, 4), (17, 4)])
def test_bordered_equations_are_those_of_the_whole_matrix(classes, common):
    rng = np.random.default_rng(7)
    local, through = rng.normal(size=(2, 2, classes)), rng.normal(size=(2, common, classes))
    border, corner = rng.normal(size=(common, 2 * classes)), rng.normal(size=(common, common))
    whole = np.zeros((2 * classes + common,) * 2)
    for n in range(classes):
        for equation in (0, 1):
            row = whole[n + equation * classes]
            row[[n, n + classes]] = local[equation, :, n]
            row[2 * classes :] = through[equation, :, n]
    whole[2 * classes :, : 2 * classes], whole[2 * classes :, 2 * classes :] = border, corner
    right = rng.normal(size=2 * classes + common)
    (first, second), shared = Bordered(local, through, border, corner).solve(
        right[:classes], right[classes : 2 * classes], right[2 * classes :]
    )
    np.testing.assert_allclose(np.concatenate([first, second, shared]), np.linalg.solve(whole, right), rtol=1e-9)
