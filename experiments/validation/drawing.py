"""What the figures of the report share."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter


def logarithmic(axis: Axis, ticks: list[float]) -> None:
    """A logarithmic axis with these ticks, as plain numbers."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
