"""Numbers, units and names as a reader sees them."""

from __future__ import annotations

import re
from math import floor, log10

from fairdrop.report.summary import Estimate

DISPLAY_NAMES = {
    "droptail": "DropTail",
    "red": "RED",
    "gentle-red": "gentle RED",
    "ared": "ARED",
    "fred": "FRED",
    "choke": "CHOKe",
    "xchoke": "xCHOKe",
    "chokew": "CHOKeW",
    "back_choke_memory": "Back CHOKe",
    "choke_hardware": "CHOKe in hardware",
    "ward": "WARD",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "fq_codel": "FQ-CoDel",
    "pie": "PIE",
    "rio": "RIO",
    "sred": "SRED",
    "csfq": "CSFQ",
    "blue": "BLUE",
    "sfb": "SFB",
    "afd": "AFD",
    "red_pd": "RED-PD",
    "penalty_box": "penalty box",
    "flow_valve": "flow valve",
    "sfq": "SFQ",
    "drr": "DRR",
    "fq": "FQ",
    "wfq": "WFQ",
    "dualpi2": "DualPI2",
}
CAUSE_NAMES = {
    "overflow": "buffer full",
    "red_early": "RED, early",
    "red_forced": "RED, forced",
    "match_arriving": "match, arriving",
    "match_queued": "match, queued",
    "memory": "in the memory",
    "ward_pair_queued": "pair, queued",
    "blue": "BLUE",
    "codel": "CoDel",
    "pie": "PIE",
    "fred_limit": "FRED, refused",
    "sred": "SRED",
    "csfq": "CSFQ",
    "filter": "filter",
    "afd": "AFD",
    "sfb": "SFB",
    "longest_queue": "longest queue",
    "dualpi2": "DualPI2",
}
# Controls, surrogates and direction overrides: a name out of a capture must not break or reorder the page.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_BREAKABLE = re.compile(r"(?<=[\d)]) (?=(?:%|[kMG]?b/s|µs|ms|s|packets?|seeds?|times)(?![\w/]))")


def clean(text: object) -> str:
    """Text that is safe to draw and to encode."""
    return _UNSAFE.sub("\ufffd", str(text))


def shorten(text: object, limit: int) -> str:
    """At most ``limit`` characters, keeping both ends: flow keys differ at either."""
    whole = clean(text).replace("\n", " ").replace("\t", " ")
    if len(whole) <= limit:
        return whole
    tail = (limit - 1) // 2
    return f"{whole[: limit - 1 - tail]}…{whole[len(whole) - tail :]}"


def discipline_name(name: str) -> str:
    return DISPLAY_NAMES.get(name.lower(), clean(name))


def cause_name(cause: str) -> str:
    return CAUSE_NAMES.get(cause, clean(cause).replace("_", " "))


def keep_together(text: str) -> str:
    """No line break between a number and its unit."""
    return _BREAKABLE.sub("\u00a0", text)


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
    divisor, unit = rate_unit(bps)
    return f"{digits(bps / divisor)} {unit}"


def duration(seconds: float) -> str:
    divisor, unit = time_unit(seconds)
    return f"{digits(seconds / divisor)} {unit}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


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
    """The mean, and half its interval when there is one, rounded alike."""
    if places is None:
        places = places_for(value, scale, at_most)
    mean = f"{value.mean * scale:.{places}f}"
    if value.half is None or (value.half == 0 and value.mean == 0):
        return mean, None
    return mean, f"{value.half * scale:.{places}f}" if value.half else "0"


def percent(value: Estimate, interval: bool = True) -> str:
    """``24.6 % (±0.4)``."""
    shown = f"{value.mean * 100:.1f} %"
    if value.half is None or not interval:
        return shown
    return f"{shown} (±{value.half * 100:.1f})" if value.half >= 5e-4 else f"{shown} (±<0.1)"


def joined(parts: list[str]) -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def ranges(numbers: list[int]) -> str:
    """``1–10, 12``."""
    out: list[list[int]] = []
    for number in sorted(set(numbers)):
        if out and number == out[-1][-1] + 1:
            out[-1] = [out[-1][0], number]
        else:
            out.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}–{part[1]}" for part in out)
