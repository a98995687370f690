"""Texts about the disciplines for readers, from the library's catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from fairdrop.library import catalogue
from fairdrop.wording.phrases import clean


@dataclass(frozen=True)
class Facts:
    """``name`` as beside an axis or inside a sentence; ``paragraph`` for a newcomer."""

    name: str
    paragraph: str


@cache
def known() -> Mapping[str, Facts]:
    """Facts about every discipline of the catalogue, in its order."""
    return {
        entry["name"]: Facts(name=entry["label"], paragraph=entry["report"])
        for entry in catalogue()["disciplines"]
    }


def discipline_name(name: str) -> str:
    """As a reader knows it; what is not in the catalogue keeps its name."""
    found = known().get(name.lower())
    return found.name if found else clean(name)
