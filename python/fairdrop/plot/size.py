"""Widths of figures, on screens and in print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Width = Literal["screen", "phone", "column", "page"]


@dataclass(frozen=True)
class Size:
    """Width in inches; ``narrow`` stacks what stands side by side elsewhere."""

    width_in: float
    narrow: bool


# Columns and pages of IEEE journals (IEEE Author Center, "Resolution and size": 3.5 and 7.16 in); acmart's are 3.33
# and 7.0 in.
SIZES: dict[Width, Size] = {
    "screen": Size(9.0, False),
    "phone": Size(3.7, True),
    "column": Size(3.5, True),
    "page": Size(7.16, False),
}


def size_of(width: Width) -> Size:
    """The size of a preset. Raises ValueError, with the presets there are."""
    if width not in SIZES:
        raise ValueError(f"width = {width!r} is not valid; valid: {', '.join(SIZES)}")
    return SIZES[width]
