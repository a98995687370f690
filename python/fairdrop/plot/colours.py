"""Colours that mean the same thing in every figure. Based on the palette of Okabe and Ito."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

# Each colour for light paper, and for a dark page. The greys carry text and lines.
INK = "#1b1f24"
MUTED = "#57606b"
GRID = "#dde2e7"
PAPER = "#fefefe"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#b8608f"
SKY = "#45a3dc"
ORANGE = "#e09a00"
OLIVE = "#8f8a1d"
GREY = "#8c959f"
PALE_PURPLE = "#e2b4cd"
PALE_GREEN = "#83cdb6"
SLATE = "#4d5661"

DARK: Mapping[str, str] = {
    INK: "#e8ebee",
    MUTED: "#a5afba",
    GRID: "#333a42",
    PAPER: "#14181d",
    BLUE: "#3f9bd8",
    VERMILLION: "#e8762c",
    GREEN: "#1fb98c",
    PURPLE: "#cc79a7",
    SKY: "#7cc4ee",
    ORANGE: "#e69f00",
    OLIVE: "#d3c94a",
    GREY: "#8c959f",
    PALE_PURPLE: "#edc9dc",
    PALE_GREEN: "#9fe0cb",
    SLATE: "#b4bdc7",
}
VARIABLES: Mapping[str, str] = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    PAPER: "paper",
    BLUE: "blue",
    VERMILLION: "vermillion",
    GREEN: "green",
    PURPLE: "purple",
    SKY: "sky",
    ORANGE: "orange",
    OLIVE: "olive",
    GREY: "grey",
    PALE_PURPLE: "pale-purple",
    PALE_GREEN: "pale-green",
    SLATE: "slate",
}

KNOWN_GROUPS = {"tcp": BLUE, "udp": VERMILLION, "icmp": ORANGE, "non-ip": GREY}
GROUP_FALLBACK = (SKY, OLIVE, PURPLE, GREEN, ORANGE, BLUE, VERMILLION, GREY)
KNOWN_DISCIPLINES = {
    "droptail": SLATE,
    "red": PURPLE,
    "choke": GREEN,
    "chokew": BLUE,
    "ward": ORANGE,
    "back_choke_memory": GREY,
    "blue": SKY,
    "codel": OLIVE,
    "pie": VERMILLION,
}
DISCIPLINE_FALLBACK = (SKY, ORANGE, OLIVE, BLUE, VERMILLION, GREY)
# RED's causes share RED's hue, CHOKe's matches share CHOKe's.
CAUSES = {
    "overflow": GREY,
    "red_early": PALE_PURPLE,
    "red_forced": PURPLE,
    "match_arriving": PALE_GREEN,
    "match_queued": GREEN,
    "memory": SKY,
    "ward_pair_queued": ORANGE,
    "blue": BLUE,
    "codel": OLIVE,
    "pie": VERMILLION,
    "longest_queue": SLATE,
    "dualpi2": ORANGE,
}
CAUSE_FALLBACK = (ORANGE, SKY, OLIVE, BLUE)
Dash = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = ("-", (0, (5, 1.6)), (0, (1.4, 1.4)), (0, (6, 1.5, 1.4, 1.5)))
KNOWN_DASHES = {"choke": DASHES[0], "red": DASHES[1], "droptail": DASHES[2]}


def groups(names: Iterable[str]) -> dict[str, str]:
    return _assign(names, KNOWN_GROUPS, GROUP_FALLBACK)


def disciplines(names: Iterable[str]) -> dict[str, str]:
    return _assign(names, KNOWN_DISCIPLINES, DISCIPLINE_FALLBACK)


def dash(discipline: str) -> Dash:
    """A second mark beside colour, for those who see colours alike and for print."""
    spare = DASHES[sha256(discipline.encode("utf-8", "replace")).digest()[1] % len(DASHES)]
    return KNOWN_DASHES.get(discipline.lower(), spare)


def lines(names: Iterable[str]) -> dict[str, tuple[str, Dash]]:
    """Colour and dash of each curve; of those that share a colour none has the dash of another, while dashes last."""
    found: dict[str, tuple[str, Dash]] = {}
    for name, colour in disciplines(names).items():
        free = [one for one in (dash(name), *DASHES) if (colour, one) not in found.values()]
        found[name] = colour, (free or [dash(name)])[0]
    return found


def causes(names: Iterable[str]) -> dict[str, str]:
    return _assign(names, CAUSES, CAUSE_FALLBACK)


def _assign(names: Iterable[str], known: Mapping[str, str], fallback: tuple[str, ...]) -> dict[str, str]:
    """Known names keep their colour; others start at a place of their own and move on when it is taken."""
    wanted = list(dict.fromkeys(names))
    chosen = {name: known[name.lower()] for name in wanted if name.lower() in known}
    for name in sorted(set(wanted) - set(chosen)):
        start = sha256(name.encode("utf-8", "replace")).digest()[0] % len(fallback)
        turns = fallback[start:] + fallback[:start]
        free = [colour for colour in turns if colour not in chosen.values()]
        chosen[name] = (free or turns)[0]
    return {name: chosen[name] for name in wanted}
