"""When to look at the seeds run so far, and how wide intervals are then.

Seeds are added in looks: the first number, twice that, four times that. The intervals of all looks together contain
the mean with 95 % probability, so a verdict may be given at the first look that decides it. They are repeated
confidence intervals: C. Jennison, B. W. Turnbull, "Interim analyses: the repeated confidence interval approach",
Journal of the Royal Statistical Society B 51(3), 1989. The error is spent over the looks as K. K. G. Lan and
D. L. DeMets describe ("Discrete sequential boundaries for clinical trials", Biometrika 70(3), 1983), here in equal
parts. The parts add up by Bonferroni's inequality, so that each interval is one of Student's t and the error rate holds
for normal values at any number of seeds, with no approximation.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairdrop.reproduce.define.reading import LEAST_SEEDS

__all__ = ["ERROR", "LEAST_SEEDS", "LOOKS", "Look", "seeds_of_looks"]

ERROR = 0.05
LOOKS = 3


@dataclass(frozen=True)
class Look:
    """One of ``of`` looks; ``error`` is its part of the 5 %."""

    number: int = 1
    of: int = 1

    @property
    def error(self) -> float:
        """Probability that an interval of this look misses its mean."""
        return ERROR / self.of

    @property
    def is_last(self) -> bool:
        return self.number == self.of


def seeds_of_looks(first: int, most: int | None = None) -> tuple[int, ...]:
    """How many seeds there are at each look: ``first``, doubled twice, and never more than ``most``."""
    limit = most if most is not None else first * 2 ** (LOOKS - 1)
    return tuple(dict.fromkeys(min(first * 2**look, max(limit, first)) for look in range(LOOKS)))
