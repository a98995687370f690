"""Validation of arguments: every message starts with the name of the argument."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def number(name: str, value: Any) -> float:
    """A finite real number."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return result


def positive(name: str, value: Any) -> float:
    result = number(name, value)
    if result <= 0.0:
        raise ValueError(f"{name} must be positive, got {value!r}")
    return result


def non_negative(name: str, value: Any) -> float:
    result = number(name, value)
    if result < 0.0:
        raise ValueError(f"{name} must not be negative, got {value!r}")
    return result


def within(name: str, value: Any, low: float, high: float) -> float:
    """A number in the closed interval [low, high]."""
    result = number(name, value)
    if not low <= result <= high:
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value!r}")
    return result


def integer(name: str, value: Any, low: int) -> int:
    result = number(name, value)
    if result != int(result) or result < low:
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}")
    return int(result)


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def array(name: str, value: ArrayLike, *, low: float = 0.0) -> Floats:
    """A finite array of floats, none below ``low``."""
    try:
        result = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}") from None
    if not np.all(np.isfinite(result)):
        raise ValueError(f"{name} must be finite")
    if np.any(result < low):
        raise ValueError(f"{name} must not be below {low:g}, got {float(result.min()):g}")
    return result


def rate_vector(name: str, value: ArrayLike) -> Floats:
    """Rates of at least one flow along the last axis, not negative and not all zero."""
    result = array(name, value)
    if result.ndim == 0 or result.shape[-1] == 0:
        raise ValueError(f"{name} must hold the rate of at least one flow")
    return result


def relative_difference(value: Floats, reference: Floats) -> Floats:
    """|value - reference| over the larger magnitude, the latter at least 1e-290.

    The floor is for survival probabilities: near the end of the range of floats they lose digits.
    """
    scale = np.maximum(np.maximum(np.abs(value), np.abs(reference)), 1e-290)
    return np.abs(value - reference) / scale


def plain(value: Any) -> Any:
    """Recursively turn arrays, dataclasses and NumPy scalars into what ``json.dumps`` accepts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
