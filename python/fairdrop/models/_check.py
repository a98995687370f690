"""Validation of arguments: every message starts with the name of the argument."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def shown(value: Any) -> str:
    """A refused value as a message shows it, of bounded length."""
    try:
        text = repr(value)
    except Exception:
        # An integer of thousands of digits has no repr.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def number(name: str, value: Any) -> float:
    """A finite real number. Text is none, whatever it says."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)) or (isinstance(value, np.ndarray) and value.ndim):
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, got {shown(value)}") from None
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {shown(value)}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return result


def positive(name: str, value: Any) -> float:
    result = number(name, value)
    if result <= 0.0:
        raise ValueError(f"{name} must be positive, got {shown(value)}")
    return result


def non_negative(name: str, value: Any) -> float:
    result = number(name, value)
    if result < 0.0:
        raise ValueError(f"{name} must not be negative, got {shown(value)}")
    return result


def within(name: str, value: Any, low: float, high: float) -> float:
    """A number in the closed interval [low, high]."""
    result = number(name, value)
    if not low <= result <= high:
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {shown(value)}")
    return result


def integer(name: str, value: Any, low: int) -> int:
    result = number(name, value)
    if result != int(result) or result < low:
        raise ValueError(f"{name} must be an integer of at least {low}, got {shown(value)}")
    return int(result)


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {shown(value)}")
    return value


def switch(name: str, value: Any) -> bool:
    """True or False, and nothing that only counts as one."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be true or false, got {shown(value)}")
    return bool(value)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {shown(value)}")
    return value


def store(instance: Any, **values: Any) -> None:
    """Put checked values into the fields of a frozen dataclass."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def array(name: str, value: ArrayLike, *, low: float = 0.0) -> Floats:
    """A finite array of floats, none below ``low``. Text and switches are no numbers."""
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {shown(value)}") from None
    if given.dtype.kind == "O" or isinstance(value, (list, tuple)):
        # NumPy would take True among numbers for 1, and has no room for long integers.
        _items(name, value)
    if given.dtype.kind not in "iufO":
        raise ValueError(f"{name} must be numbers, got {shown(value)}")
    try:
        result = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, got {shown(value)}") from None
    if not np.all(np.isfinite(result)):
        raise ValueError(f"{name} must be finite")
    if np.any(result < low):
        raise ValueError(f"{name} must not be below {low:g}, got {float(result.min()):g}")
    return result


def _items(name: str, value: Any) -> None:
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim and value.dtype.kind == "O"):
        for item in value:
            _items(name, item)
    elif not isinstance(value, np.ndarray):
        number(name, value)


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
    """Recursively turn arrays, dataclasses and NumPy scalars into strict JSON; NaN and infinity become None."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
