"""Where the definitions are: a folder for each paper, with a file for each id and the scenarios they start from."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fairdrop.reproduce.define.fields import DefinitionError

PAPERS = ("choke", "micro", "chokew", "under", "ward", "cross")
_ID = re.compile(r"(?:(?:choke|micro|chokew|under|ward)-[a-z]+\d*|X\d+)")


def folder() -> Traversable:
    return resources.files("fairdrop") / "papers"


def is_id(name: str) -> bool:
    """Whether a file of this name defines an experiment; the others are base scenarios and ``paper.toml``."""
    return _ID.fullmatch(name) is not None


@cache
def names() -> tuple[str, ...]:
    """Every id, in the order of the papers and of their numbers."""
    found = []
    for paper in PAPERS:
        files = [entry.name for entry in (folder() / paper).iterdir() if entry.name.endswith(".toml")]
        ids = [name.removesuffix(".toml") for name in files if is_id(name.removesuffix(".toml"))]
        found += sorted(ids, key=_order)
    return tuple(found)


def _order(name: str) -> tuple[int, int, str]:
    kind = re.sub(r"\d", "", name.split("-")[-1])
    kinds = ("fig", "table", "eq", "thm", "lem", "asym", "c", "X")
    digits = re.search(r"\d+$", name)
    return kinds.index(kind) if kind in kinds else len(kinds), int(digits[0]) if digits else 0, name


def paper_of(name: str) -> str:
    return "cross" if name.startswith("X") else name.split("-")[0]


def scenario_text(paper: str, base: str) -> str:
    """The scenario ``base`` of a paper; ``other/base`` is that of another one."""
    home, _, file = base.rpartition("/")
    return (folder() / (home or paper) / f"{file}.toml").read_text(encoding="utf-8")


def definition_text(name: str) -> tuple[str, str]:
    """The definition of an id, and what messages call its file. Raises DefinitionError when there is none."""
    if name not in names():
        raise DefinitionError(f"{name!r} is no id; valid: {', '.join(names())}")
    return _read(f"{paper_of(name)}/{name}.toml")


def paper_text(name: str) -> tuple[str, str]:
    """What is said of a paper as a whole, and what messages call its file."""
    return _read(f"{name}/paper.toml")


def _read(place: str) -> tuple[str, str]:
    return folder().joinpath(*place.split("/")).read_text(encoding="utf-8"), f"papers/{place}"
