"""Parameters of an extension: class attributes with a default, a range and a unit.

>>> from fairdrop import Discipline, param
>>> class Mine(Discipline):
...     threshold = param.packets(50, doc="Queue from which arrivals are dropped.")

A queue has the value of the scenario in their place: ``self.threshold`` is a number there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from fairdrop import _core

__all__ = ["Param", "bytes_", "choice", "integer", "number", "packets", "rate", "seconds", "switch"]

# Whole numbers that a float has exactly.
_MOST_WHOLE = 2**53


@dataclass(frozen=True)
class Param:
    """A parameter as a class declares it; made by the functions of this module."""

    kind: str
    default: Any
    low: float = 0.0
    high: float = 0.0
    words: tuple[str, ...] = ()
    unit: str = ""
    doc: str = ""
    source: str = ""


def number(
    default: float, low: float = -1e300, high: float = 1e300, *, unit: str = "", doc: str = "", source: str = ""
) -> Any:
    """A number from ``low`` to ``high``."""
    return Param("number", float(default), *_ends(low, high), unit=unit, doc=doc, source=source)


def integer(
    default: int, low: int = 0, high: int = _MOST_WHOLE, *, unit: str = "", doc: str = "", source: str = ""
) -> Any:
    """A whole number from ``low`` to ``high``."""
    return Param("integer", int(default), *_ends(low, high), unit=unit, doc=doc, source=source)


def packets(
    default: float | str, low: float | str = 0, high: float | str = 1e6, *, doc: str = "", source: str = ""
) -> Any:
    """A number of packets, written ``300`` or ``"300p"``, here as in scenarios."""
    start, *ends = (_read("packets", value) for value in (default, low, high))
    return Param("packets", start, *_ends(*ends), unit="packets", doc=doc, source=source)


def bytes_(
    default: int | str, low: int | str = 0, high: int | str = 2**31, *, doc: str = "", source: str = ""
) -> Any:
    """A size, written ``1500``, ``"1500B"`` or ``"1kB"``, here as in scenarios."""
    start, *ends = (_read("bytes", value) for value in (default, low, high))
    return Param("bytes", int(start), *_ends(*ends), unit="bytes", doc=doc, source=source)


def seconds(
    default: float | str, low: float | str = 0, high: float | str = 3600, *, doc: str = "", source: str = ""
) -> Any:
    """A time in seconds, written ``0.005`` or ``"5ms"``, here as in scenarios."""
    start, *ends = (_read("seconds", value) for value in (default, low, high))
    return Param("seconds", start, *_ends(*ends), unit="s", doc=doc, source=source)


def rate(
    default: float | str, low: float | str = 1, high: float | str = 1e13, *, doc: str = "", source: str = ""
) -> Any:
    """A rate in bit/s, written ``1000000`` or ``"1mbit"``, here as in scenarios."""
    start, *ends = (_read("rate_bps", value) for value in (default, low, high))
    return Param("rate", start, *_ends(*ends), unit="bit/s", doc=doc, source=source)


def switch(default: bool, *, doc: str = "", source: str = "") -> Any:
    """``true`` or ``false``."""
    return Param("switch", bool(default), doc=doc, source=source)


def choice(default: str, words: Sequence[str], *, doc: str = "", source: str = "") -> Any:
    """One of ``words``."""
    return Param("choice", str(default), words=tuple(words), doc=doc, source=source)


def written(value: Any) -> str:
    """A default as a scenario has it."""
    return json.dumps(value)


def _read(quantity: str, value: float | str) -> float:
    """A number, or a text as scenarios have it. Raises ValueError, which says what would be valid."""
    return float(getattr(_core, quantity)(value) if isinstance(value, str) else value)


def _ends(low: float, high: float) -> tuple[float, float]:
    for end in (low, high):
        if not isfinite(end):
            raise ValueError(f"{end} is not valid as the end of a range; valid: a finite number")
    if low > high:
        raise ValueError(f"{low} is not valid as the lower end of a range to {high}; valid: at most that")
    return float(low), float(high)
