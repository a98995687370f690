"""What the library offers, as it says itself: disciplines, transports, and the fields of a scenario."""

from __future__ import annotations

import json
from typing import Any

from fairdrop import _core
from fairdrop.parts.registry import parts_of, registered

__all__ = ["catalogue", "schema"]


def catalogue() -> dict[str, Any]:
    """Every discipline and transport with its parameters, units, defaults, valid values and sources.

    Those that are registered (``fairdrop.register``) come after the library's own.
    """
    listed: dict[str, Any] = json.loads(_core.catalogue(parts_of(registered())))
    return listed


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file."""
    described: dict[str, Any] = json.loads(_core.schema())
    return described
