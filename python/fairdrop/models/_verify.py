"""What every solver does before it returns: its own identities, evaluated again from the values of the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models._check import Floats, relative_difference
from fairdrop.models.errors import ConvergenceError, NoEquilibriumError

TOLERANCE = 1e-6

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def equal(value: ArrayLike, reference: ArrayLike) -> Floats:
    """Relative difference of two values, or arrays of one shape."""
    one, other = np.atleast_1d(np.asarray(value, dtype=np.float64)), np.asarray(reference, dtype=np.float64)
    return relative_difference(one, np.broadcast_to(other, one.shape))


def verified(residuals: Mapping[str, Floats]) -> float:
    """The largest of the residuals, named by the identity. Raises ConvergenceError above 1e-6, and for NaN."""
    worst = 0.0
    for name, values in residuals.items():
        largest = float(np.max(values, initial=0.0))
        if not largest <= TOLERANCE:
            raise ConvergenceError(f"{name} does not hold: relative residual {largest:.2g}")
        worst = max(worst, largest)
    return worst


def solver(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A function whose arithmetic may leave the range of floats: then there is no result, and no warning."""

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)
        except ArithmeticError as error:
            raise NoEquilibriumError(f"the numbers leave the range of floating point ({error})") from error

    return call
