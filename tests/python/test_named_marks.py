"""Marks with names: labels lie beside them, and never over each other or over a mark."""

from __future__ import annotations

import random

import pytest
from matplotlib.text import Annotation

from fairdrop import plot
from fairdrop.estimate import Estimate


@pytest.mark.parametrize("seed", range(5))
def test_labels_lie_over_nothing(seed: int) -> None:
    dice = random.Random(seed)
    draws = [(dice.gauss(50, 20), dice.gauss(80, 8)) for _ in range(38)]
    points = [(f"discipline {n}", Estimate(x, 1.0, 5), Estimate(y, 1.0, 5)) for n, (x, y) in enumerate(draws)]
    figure = plot.trade_off(points, "wait, ms", "link used, %", "note")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    labels = [text for text in axes.texts if isinstance(text, Annotation)]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) >= 5
    assert not any(one.overlaps(other) for at, one in enumerate(boxes) for other in boxes[:at])
    marks = [axes.transData.transform((x.mean, y.mean)) for _, x, y in points]
    assert not any(box.contains(*mark) for box in boxes for mark in marks)
