"""Numbers with their units as a reader sees them: as many digits as they deserve."""

from __future__ import annotations

from math import floor, log10

from fairdrop.estimate import Estimate


def rate_unit(largest_bps: float) -> tuple[float, str]:
    """Divisor and unit for rates up to ``largest_bps``."""
    for divisor, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if abs(largest_bps) >= divisor:
            return divisor, unit
    return 1.0, "b/s"


def time_unit(largest_s: float) -> tuple[float, str]:
    """Divisor and unit for times up to ``largest_s``."""
    for divisor, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(largest_s) >= divisor:
            return divisor, unit
    return 1e-6, "µs"


def waiting_unit(largest_s: float) -> tuple[float, str]:
    """Unit for waiting times, which networks give in milliseconds far beyond a second."""
    return (1e-3, "ms") if 1.0 <= largest_s < 10.0 else time_unit(largest_s)


def digits(value: float, significant: int = 3) -> str:
    """A number with about ``significant`` digits, never in exponent form; integers above that stay whole."""
    if value == 0:
        return "0"
    places = significant - 1 - floor(log10(abs(value)))
    rounded = f"{value:.{min(max(places, 0), 9)}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def rate(bps: float) -> str:
    """``2 Mb/s``."""
    divisor, unit = rate_unit(bps)
    return f"{digits(bps / divisor)} {unit}"


def duration(seconds: float) -> str:
    """``20 ms``."""
    divisor, unit = time_unit(seconds)
    return f"{digits(seconds / divisor)} {unit}"


def decimals_for(half: float, at_most: int) -> int:
    """Decimals that show an interval to one significant digit, to two when the first is a 1."""
    exponent = floor(log10(half))
    places = -exponent + (1 if half / 10**exponent < 2 else 0)
    return min(max(places, 0), at_most)


def places_for(value: Estimate, scale: float = 1.0, at_most: int = 2) -> int:
    """Decimals that a mean deserves: as many as its interval shows, or about three digits without one."""
    if value.half:
        return decimals_for(value.half * scale, at_most)
    size = abs(value.mean * scale)
    return min(0 if size >= 1000 else 1 if size >= 10 else at_most, at_most) if size else 0


def number_and_half(
    value: Estimate, scale: float = 1.0, at_most: int = 2, places: int | None = None
) -> tuple[str, str | None]:
    """The mean, and half its interval when there is one, rounded alike; ``<0.1`` for a half that would round to 0."""
    if places is None:
        places = places_for(value, scale, at_most)
    mean = f"{value.mean * scale:.{places}f}"
    if value.half is None or (value.half == 0 and value.mean == 0):
        return mean, None
    if not value.half:
        return mean, "0"
    half, least = value.half * scale, 10.0**-places
    return mean, f"{half:.{places}f}" if half >= least / 2 else f"<{least:.{places}f}"


def with_half(value: Estimate, scale: float, unit: str) -> str:
    """``23.5 ± 0.1 kb/s``."""
    mean, half = number_and_half(value, scale)
    return f"{mean} {unit}" if half is None else f"{mean} ± {half} {unit}"


def percent(value: Estimate, interval: bool = True) -> str:
    """``24.6 % (±0.4)``; two digits of what is below 1 %."""
    places = _percent_places(value.mean)
    shown = f"{value.mean * 100:.{places}f} %"
    if value.half is None or not interval:
        return shown
    half, least = value.half * 100, 10.0**-places
    return f"{shown} (±{half:.{places}f})" if half >= least / 2 else f"{shown} (±<{least:.{places}f})"


def percent_number(fraction: float) -> str:
    """``24.6 %``."""
    return f"{fraction * 100:.{_percent_places(fraction)}f} %"


def _percent_places(fraction: float) -> int:
    part = abs(fraction) * 100
    return 1 if part >= 1 or part < 0.005 else 1 - floor(log10(part))
