"""Names on a command line: of disciplines and transports, however they are spelt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fairdrop.library import catalogue, named

#: Stands for all disciplines.
EVERY = "all"
# Fields of a scenario that name something of the library.
_KINDS: dict[str, Literal["disciplines", "transports"]] = {"discipline": "disciplines", "transport": "transports"}


def disciplines(text: str, option: str = "--disciplines") -> list[str]:
    """Names with commas between them, each once; ``all`` are the catalogue's. Raises ValueError where there is none."""
    words = [word.strip() for word in text.split(",")]
    names = list(dict.fromkeys(named(word, "disciplines") for word in words if word))
    if not names:
        raise ValueError(f"{option} {text!r} names none; valid: names from `fairdrop list`")
    return every_discipline() if names == [EVERY] else names


def every_discipline() -> list[str]:
    """The names that ``all`` stands for; registered extensions are among them."""
    return [str(entry["name"]) for entry in catalogue()["disciplines"]]


def settings(given: Iterable[str]) -> list[str]:
    """``path=value`` settings, names of disciplines and transports as scenarios spell them."""
    return [_setting(text) for text in given]


def _setting(text: str) -> str:
    path, equals, value = text.partition("=")
    kind = _KINDS.get(path.strip().rpartition(".")[2])
    return text if kind is None else f"{path}{equals}{named(value, kind)}"
