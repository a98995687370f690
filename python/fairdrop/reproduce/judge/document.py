"""The document of an id: verdict, claims, published values beside measured ones, and every measurement."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairdrop.engine import engine
from fairdrop.reproduce.define.definition import BASE_READING, Definition
from fairdrop.reproduce.define.papers import extension_text, scenario_text
from fairdrop.reproduce.execute.plan import Order
from fairdrop.reproduce.execute.store import method
from fairdrop.reproduce.execute.work import Measured
from fairdrop.reproduce.judge.numbers import beside_published
from fairdrop.reproduce.judge.states import two_states
from fairdrop.reproduce.judge.verdict import PENDING, Judged, overall
from fairdrop.reproduce.measure.data import Data
from fairdrop.reproduce.measure.looks import Look

SCHEMA = "fairdrop/reproduction/3"


def identity(definition: Definition, order: Order) -> str:
    """Hash of what decides the document: definition, base scenario, order, engine."""
    bases = definition.simulation.bases if definition.simulation else ()
    texts = [scenario_text(definition.paper, base) for base in bases]
    texts.append(extension_text(definition.paper))
    parts = [definition.text, *texts, engine(), method(), order.profile, str(order.seeds), *order.settings]
    parts += [f"seed={order.seed}"] if order.seed != 1 else []
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
        "first_seed": order.seed,
        "settings": list(order.settings),
    }


def pending(definition: Definition, order: Order, reason: str) -> dict[str, Any]:
    """The document of an id that could not be measured."""
    return {
        **_head(definition, order), "verdict": PENDING, "reason": reason, "seeds": 0, "runs": 0, "duration_s": [],
        "look": {"number": 0, "of": 0, "error": 0.0}, "problems": [], "bearing": None, "claims": [], "states": [],
        "warm_up": {"asked": 0, "unsettled": [], "longer": None}, "published": [], "data": {},
    }  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Everything that was found for an id."""

    measured: Measured
    judged: Sequence[Judged]
    #: The reading under which all claims hold, where the base reading bears not all of them out.
    bearing: str | None
    look: Look
    mutants: Mapping[str, Sequence[str | None]]
    #: Whether runs had settled when measuring began.
    settled: Mapping[str, Any]


def finished(definition: Definition, order: Order, found: Found) -> dict[str, Any]:
    """The document of an id whose claims were judged."""
    measured, data = found.measured, found.measured.data
    return {
        **_head(definition, order),
        "verdict": overall(found.judged),
        "reason": "",
        "seeds": measured.seeds,
        "look": {"number": found.look.number, "of": found.look.of, "error": found.look.error},
        "runs": measured.runs,
        "duration_s": list(measured.duration_s),
        "problems": list(measured.problems),
        "warm_up": dict(found.settled),
        "bearing": found.bearing,
        "claims": [
            {
                "id": item.claim.name,
                "text": item.claim.text,
                "tolerance": item.claim.tolerance,
                "reason": item.claim.reason,
                **({"claimed": item.claim.claimed} if item.claim.claimed else {}),
                "verdict": item.verdict,
                "measured": item.measured,
                "why": item.why,
                "tried": {
                    name: {"state": outcome.state, "measured": outcome.measured} for name, outcome in item.tried.items()
                },
                "mutants": {
                    name: states[index] for name, states in found.mutants.items() if states[index] is not None
                },
            }
            for index, item in enumerate(found.judged)
        ],
        "states": _states(definition, data[BASE_READING]),
        "published": beside_published(definition, data, found.bearing),
        "data": {
            name: {
                "error": rows.rows[0].error if rows.rows else None,
                "rows": [
                    {
                        "scheme": row.scheme, "at": dict(row.at), "measure": row.measure, "values": list(row.values),
                        **({"exact": True} if row.exact else {}),
                    }
                    for row in rows.rows
                ],
            }
            for name, rows in data.items()
        },
    }  # fmt: skip


def _states(definition: Definition, data: Data) -> list[dict[str, Any]]:
    """Measures of a network whose runs fall into two states. Points of a curve are flows, so none of these."""
    if definition.simulation is None:
        return []
    curves = {one.name for one in definition.measures if one.axis}
    rows = [row for row in data.rows if row.measure not in curves]
    return [found.as_document() for row in rows if (found := two_states(row)) is not None]
