"""Papers from outside the package: their folders, and the Python files that they bring along.

``extension.py`` of a folder may define dictionaries of functions by name: ``MEASURES``, ``HOST_MEASURES``, ``MODELS``,
``CHECKS`` and ``PREDICATES``, as those of the package are (`measure.runs`, `measure.models`, `judge.checks`,
`judge.claims`). It is run as any Python file is: use folders that you trust.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairdrop.reproduce.define.fields import DefinitionError
from fairdrop.reproduce.define.papers import add_folder, extension_path, names, paper_of, remove_folders
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.definitions import definition
from fairdrop.reproduce.judge.checks import CHECKS
from fairdrop.reproduce.judge.claims import PREDICATES
from fairdrop.reproduce.measure.models import MODELS
from fairdrop.reproduce.measure.runs import HOST_MEASURES, MEASURES

_TABLES: dict[str, MutableMapping[str, Any]] = {
    "MEASURES": MEASURES, "HOST_MEASURES": HOST_MEASURES, "MODELS": MODELS, "CHECKS": CHECKS, "PREDICATES": PREDICATES,
}  # fmt: skip


@contextmanager
def papers_of(folders: list[Path]) -> Iterator[list[str]]:
    """While it lasts, the papers of these folders are there, too; gives their names. Raises DefinitionError."""
    added: list[str] = []
    brought: list[tuple[str, str]] = []
    try:
        for folder in folders:
            for name in add_folder(folder):
                added.append(name)
                brought += _bring(name)
        _forget()
        for name in added:
            paper(name)
        for name in names():
            if paper_of(name) in added:
                definition(name)
        yield added
    finally:
        for table, name in brought:
            del _TABLES[table][name]
        remove_folders(added)
        _forget()


def _forget() -> None:
    definition.cache_clear()
    paper.cache_clear()


def _bring(name: str) -> list[tuple[str, str]]:
    """Run the extension of a paper and add what it defines."""
    path = extension_path(name)
    if path is None:
        return []
    spec = importlib.util.spec_from_file_location(f"fairdrop_paper_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DefinitionError(f"{path}: {type(error).__name__}: {error}") from error
    brought = []
    for table, known in _TABLES.items():
        functions = getattr(module, table, {})
        if not isinstance(functions, Mapping):
            raise DefinitionError(f"{path}: {table} is no dictionary; valid: functions by their names")
        if taken := sorted(set(functions) & set(known)):
            raise DefinitionError(f"{path}: {table} has {', '.join(taken)}, which is there already; valid: other names")
        known.update(functions)
        brought += [(table, function) for function in functions]
    return brought
