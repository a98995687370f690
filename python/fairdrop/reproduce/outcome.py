"""An id reproduced: its document, and what a person does with it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdrop.models import ModelError
from fairdrop.reproduce.data import Data, Row
from fairdrop.reproduce.definition import BASE_READING, Definition
from fairdrop.reproduce.measures import MeasureError
from fairdrop.reproduce.plan import Order, readings
from fairdrop.reproduce.store import Store, engine, method, write_text
from fairdrop.reproduce.verdict import PENDING, Judged, judge, overall
from fairdrop.reproduce.work import Measured, Progress, measure
from fairdrop.scenario import ScenarioError

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SCHEMA = "fairdrop/reproduction/1"


class Reproduction:
    """What was found for one id: ``document`` holds all of it, in plain values."""

    def __init__(self, definition: Definition, document: Mapping[str, Any]) -> None:
        self.definition = definition
        self.document = document

    @property
    def verdict(self) -> str:
        """Holds, holds with another reading, does not hold, or cannot be decided from the text."""
        return str(self.document["verdict"])

    @property
    def follows_definition(self) -> bool:
        """False when the definition was changed since."""
        return self.document.get("definition") == hashlib.sha256(self.definition.text.encode()).hexdigest()

    @cached_property
    def data(self) -> Mapping[str, Data]:
        """Measurements by reading."""
        return {
            name: Data(Row(row["scheme"], row["at"], row["measure"], tuple(row["values"])) for row in rows)
            for name, rows in self.document["data"].items()
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

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame (needs pandas)."""
        import pandas

        return pandas.DataFrame(self.rows)

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

    def plot(self) -> Figure:
        """The figure as the paper draws it, with its published points. Raises ValueError when there is none."""
        from fairdrop.reproduce.figures import draw

        return draw(self)

    def _repr_html_(self) -> str:
        """What a notebook shows for the object: verdict, figure, claims."""
        from fairdrop.reproduce.page import notebook

        return notebook(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Draw into a file: PDF, SVG or PNG by its name."""
        from fairdrop.plot import save

        save(self.plot(), path)

    def __repr__(self) -> str:
        return f"Reproduction of {self.definition.name}: {self.verdict}"


def identity(definition: Definition, order: Order) -> str:
    """Hash of what decides the document: definition, base scenario, order, engine."""
    from fairdrop.reproduce.reading import scenario_text

    bases = definition.simulation.bases if definition.simulation else ()
    texts = [scenario_text(definition.paper, base) for base in bases]
    parts = [definition.text, *(texts or [""]), engine(), method(), order.profile, str(order.seeds), *order.settings]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def reproduce(
    definition: Definition, order: Order, store: Store, threads: int | None = None, progress: Progress | None = None
) -> Reproduction:
    """Run (or take from the store) what an id needs, and judge its claims.

    A feature that the engine lacks leaves the verdict "pending", with the reason.
    """
    try:
        found = measure(definition, order, store, threads, progress or Progress())
        judged = [judge(claim, found.data, readings(definition)) for claim in definition.claims]
    except (ScenarioError, MeasureError, ModelError) as error:
        return Reproduction(definition, _pending(definition, order, str(error)))
    return Reproduction(definition, _document(definition, order, found, judged))


def _head(definition: Definition, order: Order) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "id": definition.name,
        "paper": definition.paper,
        "title": definition.title,
        "identity": identity(definition, order),
        "definition": hashlib.sha256(definition.text.encode()).hexdigest(),
        "engine": engine(),
        "profile": order.profile,
        "asked_seeds": order.seeds,
        "settings": list(order.settings),
    }


def _pending(definition: Definition, order: Order, reason: str) -> dict[str, Any]:
    return {
        **_head(definition, order), "verdict": PENDING, "reason": reason, "seeds": 0, "runs": 0, "duration_s": [],
        "problems": [], "claims": [], "published": [], "data": {},
    }  # fmt: skip


def _document(definition: Definition, order: Order, found: Measured, judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        **_head(definition, order),
        "verdict": overall(judged),
        "reason": "",
        "seeds": found.seeds,
        "runs": found.runs,
        "duration_s": list(found.duration_s),
        "problems": list(found.problems),
        "claims": [
            {
                "id": item.claim.name,
                "text": item.claim.text,
                "tolerance": item.claim.tolerance,
                "reason": item.claim.reason,
                "verdict": item.verdict,
                "measured": item.measured,
                "why": item.why,
                "tried": {name: outcome.measured for name, outcome in item.tried.items()},
            }
            for item in judged
        ],
        "published": list(_beside_published(definition, found.data)),
        "data": {
            name: [
                {"scheme": row.scheme, "at": dict(row.at), "measure": row.measure, "values": list(row.values)}
                for row in data.rows
            ]
            for name, data in found.data.items()
        },
    }


def _beside_published(definition: Definition, data: Mapping[str, Data]) -> list[dict[str, Any]]:
    """Each published value with what was measured there under every reading."""
    units = {one.name: one for one in definition.measures}
    found = []
    for point in definition.published:
        measured: dict[str, Any] = {}
        for name, rows in data.items():
            match = rows.select(point.measure, point.scheme, point.at)
            exact = [row for row in match if point.scheme or row.scheme in _main_schemes(rows)]
            if exact:
                value = exact[0].estimate
                measured[name] = {"mean": value.mean, "low": value.low, "high": value.high}
        found.append(
            {
                "measure": point.measure, "label": units[point.measure].label, "unit": units[point.measure].unit,
                "scheme": point.scheme, "at": dict(point.at), "published": point.value, "source": point.source,
                "measured": measured.get(BASE_READING), "readings": measured,
            }
        )  # fmt: skip
    return found


def _main_schemes(data: Data) -> list[str]:
    return data.schemes()[:1]


def read(path: Path, definition: Definition) -> Reproduction | None:
    """A stored document, or None when there is none that can be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return Reproduction(definition, document) if document.get("schema") == SCHEMA else None


def write(found: Reproduction, path: Path) -> None:
    write_text(path, found.to_json())
