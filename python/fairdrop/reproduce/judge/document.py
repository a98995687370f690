"""The document of an id: verdict, claims, published values beside measured ones, and every measurement."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from fairdrop.engine import engine
from fairdrop.reproduce.define.definition import BASE_READING, Definition
from fairdrop.reproduce.define.papers import scenario_text
from fairdrop.reproduce.execute.plan import Order
from fairdrop.reproduce.execute.store import method
from fairdrop.reproduce.execute.work import Measured
from fairdrop.reproduce.judge.verdict import PENDING, Judged, overall
from fairdrop.reproduce.measure.data import Data

SCHEMA = "fairdrop/reproduction/1"


def identity(definition: Definition, order: Order) -> str:
    """Hash of what decides the document: definition, base scenario, order, engine."""
    bases = definition.simulation.bases if definition.simulation else ()
    texts = [scenario_text(definition.paper, base) for base in bases]
    parts = [definition.text, *(texts or [""]), engine(), method(), order.profile, str(order.seeds), *order.settings]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


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


def pending(definition: Definition, order: Order, reason: str) -> dict[str, Any]:
    """The document of an id that could not be measured."""
    return {
        **_head(definition, order), "verdict": PENDING, "reason": reason, "seeds": 0, "runs": 0, "duration_s": [],
        "problems": [], "claims": [], "published": [], "data": {},
    }  # fmt: skip


def finished(definition: Definition, order: Order, found: Measured, judged: Sequence[Judged]) -> dict[str, Any]:
    """The document of an id whose claims were judged."""
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
