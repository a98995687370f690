"""Strict reading of TOML tables: every problem names file and field, and what is not asked for is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MISSING = object()


def is_number(value: object) -> bool:
    """Whether TOML has it as a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class DefinitionError(ValueError):
    """What is wrong with a definition, a line per problem."""


class Fields:
    """A TOML table being read. Fields are taken one by one; ``finish`` complains about those that are left."""

    def __init__(self, table: object, file: str, path: str, problems: list[str]) -> None:
        self.file, self.path, self.problems = file, path, problems
        self._taken: set[str] = set()
        if not isinstance(table, Mapping):
            self.wrong("", table, "a table")
            table = {}
        self._table: Mapping[str, Any] = table

    def where(self, name: str) -> str:
        return ".".join(part for part in (self.path, name) if part)

    def wrong(self, name: str, value: object, valid: str) -> None:
        self.problems.append(f"{self.file}: {self.where(name)} = {value!r} is not valid; valid: {valid}")

    def has(self, name: str) -> bool:
        return name in self._table

    def raw(self, name: str, default: object = MISSING) -> Any:
        self._taken.add(name)
        if name in self._table:
            return self._table[name]
        if default is MISSING:
            self.problems.append(f"{self.file}: {self.where(name)} is missing")
            return None
        return default

    def text(self, name: str, default: object = MISSING) -> str:
        value = self.raw(name, default)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.wrong(name, value, "a text")
            return ""
        return " ".join(value.split()) if "\n" in value else value

    def one_of(self, name: str, valid: Sequence[str], default: object = MISSING) -> str:
        value = self.text(name, default)
        if self.has(name) and value not in valid:
            self.wrong(name, value, f"one of {', '.join(valid)}")
        return value

    def number(self, name: str, default: object = MISSING) -> float:
        value = self.raw(name, default)
        if value is None:
            return 0.0
        if not is_number(value):
            self.wrong(name, value, "a number")
            return 0.0
        return float(value)

    def optional_number(self, name: str) -> float | None:
        return self.number(name) if self.has(name) else None

    def count(self, name: str, default: object = MISSING) -> int:
        value = self.raw(name, default)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            self.wrong(name, value, "a whole number from 1")
            return 1
        return int(value or 1)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.raw(name, default)
        if not isinstance(value, bool):
            self.wrong(name, value, "true or false")
            return default
        return value

    def texts(self, name: str, default: object = MISSING) -> tuple[str, ...]:
        value = self.raw(name, default)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            self.wrong(name, value, "a list of texts")
            return ()
        return tuple(value)

    def table(self, name: str) -> dict[str, Any]:
        value = self.raw(name, {})
        if not isinstance(value, Mapping):
            self.wrong(name, value, "a table")
            return {}
        return dict(value)

    def inner(self, name: str) -> Fields | None:
        if not self.has(name):
            return None
        return Fields(self.raw(name), self.file, self.where(name), self.problems)

    def list_of(self, name: str) -> list[Fields]:
        value = self.raw(name, [])
        if not isinstance(value, list):
            self.wrong(name, value, f"[[{name}]] tables")
            return []
        return [
            Fields(item, self.file, self.where(f"{name}[{index}]"), self.problems) for index, item in enumerate(value)
        ]

    def rest(self) -> dict[str, Any]:
        """Everything not taken yet."""
        left = {name: value for name, value in self._table.items() if name not in self._taken}
        self._taken.update(left)
        return left

    def finish(self, valid: str = "") -> None:
        for name in self._table:
            if name not in self._taken:
                listed = valid or ", ".join(sorted(self._taken))
                self.problems.append(f"{self.file}: {self.where(name)} is unknown; valid: {listed}")
