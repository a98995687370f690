"""Which parameters a discipline reads: those of its own table and of the tables that it builds on."""

from __future__ import annotations

from functools import cache

from fairdrop.library import catalogue


def reads(discipline: str, field: str) -> bool:
    """Whether the value of a scenario's ``field`` can change a run under ``discipline``."""
    words = field.split(".")
    return words[0] != "queue" or len(words) < 3 or words[1] not in _unread(discipline)


@cache
def _unread(discipline: str) -> frozenset[str]:
    """Tables of the catalogue's other disciplines; all of them for one that is not of the catalogue."""
    base = {entry["name"]: entry["also_uses"] for entry in catalogue()["disciplines"]}
    read = set()
    name: str | None = discipline
    while name in base:
        read.add(name)
        name = base[name]
    return frozenset(base) - read
