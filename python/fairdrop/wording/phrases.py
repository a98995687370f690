"""Names and lists as a reader sees them, safe to draw and to encode."""

from __future__ import annotations

import re

from fairdrop.terminal import CONTROLS

# A name out of a capture must not break or reorder the page. Surrogates and these two cannot be encoded, or not in XML.
_UNSAFE = re.compile(f"[{CONTROLS}\ud800-\udfff\ufffe\uffff]")
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


def keep_together(text: str) -> str:
    """No line break between a number and its unit."""
    return _BREAKABLE.sub("\u00a0", text)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 flow``, ``2,000 flows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


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
