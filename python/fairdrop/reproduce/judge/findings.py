"""What was found for one id, as its document holds it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.measure.data import Data, Row


class Findings:
    """What was found for one id: ``document`` holds all of it, in plain values."""

    def __init__(self, definition: Definition, document: Mapping[str, Any]) -> None:
        self.definition = definition
        self.document = document

    @property
    def verdict(self) -> str:
        """That of the worst claim: one of `judge.verdict.VERDICTS`."""
        return str(self.document["verdict"])

    @property
    def follows_definition(self) -> bool:
        """False when the definition was changed since."""
        return self.document.get("definition") == hashlib.sha256(self.definition.text.encode()).hexdigest()

    @cached_property
    def data(self) -> Mapping[str, Data]:
        """Measurements by reading."""
        return {
            name: Data(_row(row, some["error"]) for row in some["rows"]) for name, some in self.document["data"].items()
        }

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every measured value with its interval, one dict per reading, scheme, point and measure."""
        units = {one.name: one.unit for one in self.definition.measures}
        found = []
        for reading, data in self.data.items():
            for row in data.rows:
                value = row.estimate
                found.append(
                    {
                        "id": self.definition.name, "reading": reading, "scheme": row.scheme, **row.at,
                        "measure": row.measure, "unit": units.get(row.measure, ""), "mean": value.mean,
                        "low": value.low, "high": value.high, "seeds": value.n,
                    }
                )  # fmt: skip
        return found

    def to_csv(self) -> str:
        """The rows as CSV."""
        rows = self.rows
        names = list(dict.fromkeys(name for row in rows for name in row))
        out = io.StringIO()
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def to_json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document, allow_nan=False, indent=1, default=float) + "\n"


def _row(row: Mapping[str, Any], error: float) -> Row:
    exact = bool(row.get("exact", False))
    return Row(row["scheme"], row["at"], row["measure"], tuple(row["values"]), error, exact)
