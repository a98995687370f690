"""Exceptions of the analytic models.

Input that no queue can have (a negative rate, a NaN, more memory than flows) is a ``ValueError`` whose
message starts with the name of the argument. Valid input for which the model has no answer is a
:class:`NoEquilibriumError`.
"""

from __future__ import annotations


class ModelError(Exception):
    """Base class of everything the models raise besides ``ValueError``."""


class NoEquilibriumError(ModelError):
    """The parameters are physical, but the model has no solution in its domain of validity."""


class BelowThresholdError(NoEquilibriumError):
    """The link cannot be kept full with the queue at the threshold where CHOKe starts to act.

    Fewer flows than the minimum N of "Understanding CHOKe", section VI, or too little offered load. A
    root with a backlog below the threshold would be meaningless, because no packet is compared there:
    the real queue toggles around the threshold.

    ``threshold`` is that backlog in packets; ``ratio`` (below 1) is how much of it, or of the capacity if
    that is less, the flows fill when the other condition holds.
    """

    def __init__(self, threshold: float, ratio: float) -> None:
        self.threshold = threshold
        self.ratio = ratio
        super().__init__(
            f"the flows cannot keep the link full and {threshold:g} packets queued, they reach {ratio:.4g} "
            "of it: matching is not active all the time (too few flows or too little load)"
        )


class TailDropError(NoEquilibriumError):
    """The queue would reach the end of the buffer, where packets are lost for lack of room.

    ``excess`` is the queue the flows would hold at the last modelled point, divided by the room there.
    """

    def __init__(self, excess: float) -> None:
        self.excess = excess
        super().__init__(
            f"at the strongest matching the flows would hold {excess:.4g} times the queue: "
            "the buffer overflows, which is not modelled"
        )


class ConvergenceError(ModelError):
    """An iteration did not reach its tolerance. This is a defect of the solver: please report the input."""
