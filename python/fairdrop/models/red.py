"""The congestion drop probability r = g(b) of RED, "Understanding CHOKe" equations (9) and (44)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models import _check


@dataclass(frozen=True)
class Red:
    """Drop probability against the mean queue in packets.

    Between ``min_th`` and ``max_th`` it rises linearly from 0 to ``max_p``. Above ``max_th`` it goes on
    with the same slope up to 1 (``jump=False``), or is 1 at once as in RED of 1993 (``jump=True``).
    With the jump, flows that ``max_p`` cannot hold keep the queue at ``max_th``, switching between the
    two values: the *sliding* regime, in which the mean drop probability is between ``max_p`` and 1.
    """

    min_th: float
    max_th: float
    max_p: float
    jump: bool = False

    def __post_init__(self) -> None:
        _check.store(
            self,
            min_th=_check.non_negative("min_th", self.min_th),
            max_th=_check.positive("max_th", self.max_th),
            max_p=_check.positive("max_p", self.max_p),
            jump=_check.switch("jump", self.jump),
        )
        if self.max_th <= self.min_th:
            raise ValueError(f"max_th must be above min_th, got {self.max_th!r} and {self.min_th!r}")
        if self.max_p > 1.0:
            raise ValueError(f"max_p must not exceed 1, got {self.max_p!r}")

    @property
    def slope(self) -> float:
        """Increase of the drop probability per packet below ``max_th``."""
        return self.max_p / (self.max_th - self.min_th)

    def drop_probability(self, b: ArrayLike) -> _check.Floats:
        """Drop probability at a mean queue of ``b`` packets (array of any shape)."""
        queue = _check.array("b", b)
        value = np.clip(self.slope * (queue - self.min_th), 0.0, 1.0)
        return np.where(queue > self.max_th, 1.0, value) if self.jump else value

    @property
    def path_end(self) -> float:
        """Coordinate at which :meth:`path` reaches a drop probability of 1."""
        return 2.0 * self.max_th if self.jump else self.min_th + 1.0 / self.slope

    def path(self, s: float) -> tuple[float, float]:
        """Queue in packets and drop probability along the curve, including the vertical part.

        The coordinate equals the queue up to ``max_th``; with the jump, the same length again raises the
        probability from ``max_p`` to 1 at a queue of ``max_th``. Both never decrease along the path,
        which lets one root search cover the ordinary and the sliding regime.
        """
        if self.jump and s > self.max_th:
            return self.max_th, min(1.0, self.max_p + (1.0 - self.max_p) * (s / self.max_th - 1.0))
        return s, min(1.0, max(0.0, self.slope * (s - self.min_th)))
