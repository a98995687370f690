"""Exceptions of the analytic models.

Input that no queue can have (a negative rate, a NaN, more memory than flows) is a ``ValueError`` whose
message starts with the name of the argument. Valid input for which the model has no answer is a
:class:`NoEquilibriumError`, which is a ``ValueError`` as well: the values are the reason, whoever checks them.
"""

from __future__ import annotations

import math


class ModelError(Exception):
    """Base class of everything the models raise besides ``ValueError``."""


class NoEquilibriumError(ModelError, ValueError):
    """The parameters are physical, but the model has no solution in its domain of validity."""


class BelowThresholdError(NoEquilibriumError):
    """The link cannot be kept full with the queue at the threshold where CHOKe starts to act.

    Fewer flows than the minimum N of "Understanding CHOKe", section VI, or too little offered load. A
    root with a backlog below the threshold would be meaningless, because no packet is compared there:
    the real queue toggles around the threshold.

    ``threshold`` is that backlog in packets; ``ratio`` (below 1) is how much of it, or of the capacity if
    that is less, the flows fill when the other condition holds; None where it is not known.
    """

    def __init__(self, threshold: float, ratio: float | None) -> None:
        self.threshold = threshold
        self.ratio = ratio if ratio is not None and math.isfinite(ratio) else None
        reached = "" if self.ratio is None else f", they reach {self.ratio:.4g} of it"
        super().__init__(
            f"the flows cannot keep the link full and {threshold:g} packets queued{reached}: "
            "matching is not active all the time (too few flows or too little load)"
        )


class TailDropError(NoEquilibriumError):
    """The queue would reach the end of the buffer, where packets are lost for lack of room.

    ``excess`` is the queue the flows would hold at the last modelled point, divided by the room there.
    """

    def __init__(self, excess: float) -> None:
        self.excess = excess
        held = f"{excess:.4g} times the queue" if math.isfinite(excess) else "more than the queue"
        super().__init__(
            f"at the strongest matching the flows would hold {held}: the buffer overflows, which is not modelled"
        )


class ConvergenceError(ModelError):
    """An iteration did not reach its tolerance. This is a defect of the solver: please report the input."""
