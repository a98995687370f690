"""The compiled half of the package, which determines a run together with its scenario."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairdrop import _core

__all__ = ["engine", "key_of"]


@cache
def engine() -> str:
    """Version and digest of the compiled half: another engine is another result."""
    digest = hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()[:16]
    return f"{_core.__version__}-{digest}"


def key_of(content: Mapping[str, Any]) -> str:
    """Hash of the inputs of a run, and of the engine."""
    text = json.dumps({"engine": engine(), **content}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
