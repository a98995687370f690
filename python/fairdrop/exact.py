"""Fields of two result documents that are not the same, to the last digit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairdrop.document import Json

#: Value of a field that a document does not have.
ABSENT = "(absent)"


@dataclass(frozen=True)
class FieldChange:
    """A field with its value in each document, ``ABSENT`` where it has none."""

    field: str
    before: Any
    after: Any


def field_changes(before: Json, after: Json) -> Iterator[FieldChange]:
    """Fields of runs that differ, in the order of the documents.

    Runs are matched by discipline and seed, entries of lists by their names or places. Only what was measured counts:
    neither version nor command, and neither the scenario's text nor remarks on it.
    """
    yield from _values("complete", before.get("complete"), after.get("complete"))
    sides = [{_title(run): run for run in document.get("runs") or []} for document in (before, after)]
    yield from _members(sides[0], sides[1], "")


def _title(run: Json) -> str:
    return f"runs[{run['discipline']}, seed {run['seed']}]"


def _values(path: str, one: Any, other: Any) -> Iterator[FieldChange]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from _members(one, other, f"{path}.")
    elif _is_list(one) and _is_list(other):
        named = [_by_name(some) for some in (one, other)]
        if all(named):
            yield from _members(named[0], named[1], path)
        elif len(one) != len(other):
            yield FieldChange(f"{path}.length", len(one), len(other))
        else:
            for place, pair in enumerate(zip(one, other, strict=True)):
                yield from _values(f"{path}[{place}]", *pair)
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield FieldChange(path, *(_short(value) for value in (one, other)))


def _members(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str) -> Iterator[FieldChange]:
    for name in dict.fromkeys([*one, *other]):
        if name in one and name in other:
            yield from _values(f"{prefix}{name}", one[name], other[name])
        else:
            sides = (_short(some[name]) if name in some else ABSENT for some in (one, other))
            yield FieldChange(f"{prefix}{name}", *sides)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _by_name(entries: Sequence[Any]) -> dict[str, Any]:
    """Entries by their names; nothing where one has none, or two the same."""
    named = {f"[{entry['name']}]": entry for entry in entries if isinstance(entry, Mapping) and "name" in entry}
    return named if len(named) == len(entries) else {}


def _short(value: Any) -> Any:
    """A value for a message: numbers and texts as they are, a table or list by its kind."""
    if isinstance(value, Mapping):
        return f"(table of {len(value)})"
    return f"(list of {len(value)})" if _is_list(value) else value
