"""The library's description of itself: disciplines, transports, and the fields of a scenario."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Literal

from fairdrop import _core
from fairdrop.extension.registry import compiled, registered
from fairdrop.nearest import folded

__all__ = ["catalogue", "named", "schema"]


def catalogue() -> dict[str, Any]:
    """Every discipline and transport with its parameters, units, defaults, valid values and sources.

    Those that are registered (``fairdrop.register``) come after the library's own.
    """
    listed: dict[str, Any] = json.loads(_listed(tuple(compiled(registered()))))
    return listed


@lru_cache(maxsize=4)
def _listed(extensions: tuple[_core.Extension, ...]) -> str:
    return _core.catalogue(list(extensions))


@lru_cache(maxsize=8)
def _names(extensions: tuple[_core.Extension, ...], kind: str) -> tuple[str, ...]:
    return tuple(str(entry["name"]) for entry in json.loads(_listed(extensions))[kind])


@lru_cache(maxsize=8)
def _bases(extensions: tuple[_core.Extension, ...]) -> dict[str, str | None]:
    return {str(entry["name"]): entry["also_uses"] for entry in json.loads(_listed(extensions))["disciplines"]}


def tables_of(discipline: str) -> frozenset[str]:
    """The tables of ``[queue]`` that a discipline reads: its own, and that of the discipline it builds on."""
    bases, found = _bases(tuple(compiled(registered()))), set()
    name: str | None = discipline
    while name is not None:
        found.add(name)
        name = bases.get(name)
    return frozenset(found)


def named(name: str, kind: Literal["disciplines", "transports"]) -> str:
    """The name as scenarios spell it, of one whose case or hyphens are others; any other name as it is."""
    known = _names(tuple(compiled(registered())), kind)
    meant = [one for one in known if folded(one) == folded(name)]
    return meant[0] if len(meant) == 1 and name not in known else name


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file."""
    described: dict[str, Any] = json.loads(_core.schema())
    return described
