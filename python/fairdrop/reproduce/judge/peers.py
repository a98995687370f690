"""What ns-2 and Linux have where a paper prints a number.

``experiments/validation/peers.py`` writes it into ``papers/peers.csv``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from fairdrop.reproduce.define.papers import package
from fairdrop.wording.numbers import digits

PEERS = ("ns-2", "Linux")


@cache
def _rows() -> tuple[dict[str, str], ...]:
    text = (package() / "peers.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(io.StringIO(text)))


def beside(name: str, point: Mapping[str, Any], main: str | None) -> dict[str, str]:
    """The peers' values at a published point of an id, in words; ``main`` is the scheme of a point that names none."""
    found = {}
    for row in _rows():
        same = (row["id"], row["measure"], row["scheme"]) == (name, point["measure"], point["scheme"] or main)
        if same and json.loads(row["at"]) == point["at"]:
            found[row["peer"]] = f"{digits(float(row['mean']))} ± {digits(float(row['half']))}"
    return found
