"""RED's thresholds, looked up in the scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairdrop.document import Document

KEYS = ("min_th", "max_th")
NAMED_BY = ("discipline", "name", "kind", "type")


def thresholds(document: Document, discipline: str) -> dict[str, float]:
    """``min_th`` and ``max_th`` in packets for a discipline that keeps an average; empty when unknown.

    A table named after the discipline goes first; failing that, thresholds that all disciplines share.
    """
    found = list(_candidates(document.scenario, ()))
    own = [pair for path, pair in found if path and path[-1] == discipline.lower()]
    if own:
        return own[0]
    pairs = [pair for _, pair in found]
    return pairs[0] if pairs and all(pair == pairs[0] for pair in pairs) else {}


def _packets(value: Any) -> float | None:
    """A document has numbers without units: what a scenario file writes is read by the library alone."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _candidates(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, float]]]:
    """Every table that holds both thresholds, with the names of the tables around it."""
    if isinstance(node, Mapping):
        own = tuple(str(node[key]).lower() for key in NAMED_BY if isinstance(node.get(key), str))
        pair = {key: value for key in KEYS if (value := _packets(node.get(key))) is not None}
        if len(pair) == len(KEYS):
            yield (*path, *own), pair
        for key, value in node.items():
            yield from _candidates(value, (*path, str(key).lower()))
    elif isinstance(node, list):
        for value in node:
            yield from _candidates(value, path)
