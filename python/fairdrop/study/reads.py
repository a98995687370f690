"""Which parameters a discipline reads: those of its own table and of the tables that it builds on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fairdrop.library import catalogue


def reads(discipline: str, field: str) -> bool:
    """Whether the value of a scenario's ``field`` can change a run under ``discipline``."""
    words = field.split(".")
    return words[0] != "queue" or len(words) < 3 or words[1] not in _unread(discipline)


def only_read(queue: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved ``[queue]`` without the tables that its discipline does not read."""
    without = _unread(str(queue["discipline"]))
    return {name: value for name, value in queue.items() if name not in without}


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
