"""Bracketing root finders used by the nested solvers."""

from __future__ import annotations

from collections.abc import Callable

from fairdrop.models.errors import ConvergenceError

_EPS = 2.0**-52


def bracketed(
    f: Callable[[float], float],
    low: float,
    high: float,
    *,
    low_value: float | None = None,
    high_value: float | None = None,
    xtol: float = 1e-15,
) -> float:
    """Root of a continuous function with opposite signs at ``low`` and ``high``, by Chandrupatla's method.

    Takes the end values if known. That matters beyond speed: the functions here are themselves roots,
    exact only to rounding, and an end that is a root already need not repeat its sign.
    """
    b, a = low, high
    fb = f(b) if low_value is None else low_value
    fa = f(a) if high_value is None else high_value
    if fa == 0.0:
        return a
    if fb == 0.0:
        return b
    if (fa > 0.0) == (fb > 0.0):
        raise ConvergenceError(f"no change of sign between {low:g} ({fb:g}) and {high:g} ({fa:g})")
    c, fc = a, fa
    fraction = 0.5
    for _ in range(300):
        x = a + fraction * (b - a)
        fx = f(x)
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        best, value = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        tolerance = 2.0 * _EPS * abs(best) + 0.5 * xtol
        limit = tolerance / abs(b - c) if b != c else 1.0
        if limit > 0.5 or value == 0.0:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            # Inverse quadratic interpolation through the last three points.
            fraction = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            fraction = 0.5
        fraction = min(1.0 - limit, max(limit, fraction))
    raise ConvergenceError(f"no convergence in [{low:g}, {high:g}]")


def rising(f: Callable[[float], float], guess: float, step: float, low: float, high: float) -> float | None:
    """Root of an increasing function in [low, high], searched outwards from ``guess``.

    Returns ``-inf`` if the function is positive already at ``low`` and ``None`` if it is negative up to
    ``high``. A good guess costs two evaluations before the bracketing method starts.
    """
    x = min(max(guess, low), high)
    value = f(x)
    if value == 0.0:
        return x
    direction = -1.0 if value > 0.0 else 1.0
    limit = low if value > 0.0 else high
    while True:
        if x == limit:
            return float("-inf") if direction < 0.0 else None
        following = x + direction * step
        if (following - limit) * direction >= 0.0:
            following = limit
        following_value = f(following)
        if following_value == 0.0:
            return following
        if (following_value > 0.0) != (value > 0.0):
            return bracketed(f, x, following, low_value=value, high_value=following_value)
        x, value, step = following, following_value, 4.0 * step


def steep_rising(f: Callable[[float], float], guess: float) -> float:
    """Root of an increasing function whose slope is at least 1 everywhere.

    The value of the function then bounds the distance to the root, so that any start gives a bracket.
    Secant steps, replaced by bisection when they leave the bracket.
    """
    x = guess
    value = f(x)
    if value == 0.0:
        return x
    # A margin for rounding keeps the true root inside the bracket.
    margin = 8.0 * _EPS * (1.0 + abs(x))
    low, high = (x - value - margin, x) if value > 0.0 else (x, x - value + margin)
    previous, previous_value = x, value
    x -= value / 1.45
    for _ in range(200):
        value = f(x)
        if value > 0.0:
            high = x
        elif value < 0.0:
            low = x
        else:
            return x
        slope = (value - previous_value) / (x - previous)
        previous, previous_value = x, value
        following = x - value / (slope if slope > 1.0 else 1.0)
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 2.0 * _EPS * (1.0 + abs(x)) or high - low <= margin:
            return following
        x = following
    raise ConvergenceError("the rate of a responsive flow did not converge")
