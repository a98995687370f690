"""Where the definitions are: a folder for each paper, with a file for each id and the scenarios they start from.

The papers of the package are in ``fairdrop/papers``. `add_folder` adds others, from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from fairdrop.files import SCENARIO, read_text
from fairdrop.nearest import choices
from fairdrop.reproduce.define.fields import DefinitionError

PAPERS = ("choke", "micro", "chokew", "under", "ward", "cross")
ABOUT, EXTENSION = "paper.toml", "extension.py"
_KINDS = ("fig", "table", "eq", "thm", "lem", "asym", "c", "X")
_ID = re.compile(r"(?:(?:choke|micro|chokew|under|ward)-[a-z]+\d*|X\d+)")
_NAME = re.compile(r"[a-z][a-z0-9]*")
_outside: dict[str, Path] = {}


def package() -> Traversable:
    """The folder of the papers that come with the package."""
    return resources.files("fairdrop") / "papers"


def home(paper: str) -> Traversable | Path:
    """The folder of a paper."""
    return _outside[paper] if paper in _outside else package() / paper


def add_folder(folder: Path) -> list[str]:
    """Add a folder that is a paper (it has a ``paper.toml``) or that holds such folders, and give their names.

    Raises DefinitionError when there is none, or when a name is taken.
    """
    found = [folder] if (folder / ABOUT).is_file() else sorted(path.parent for path in folder.glob(f"*/{ABOUT}"))
    if not found:
        raise DefinitionError(f"{folder}: no paper; valid: a folder with a {ABOUT}, or with folders that have one")
    for path in found:
        name = path.resolve().name
        if not _NAME.fullmatch(name):
            raise DefinitionError(f"{path}: {name!r} is no name of a paper; valid: lower-case letters and digits")
        if name in PAPERS or _outside.get(name, path.resolve()) != path.resolve():
            raise DefinitionError(f"{path}: there is a paper {name!r} already; valid: another name of the folder")
        _outside[name] = path.resolve()
    forget()
    return [path.resolve().name for path in found]


def remove_folders(names: Iterable[str]) -> None:
    """Take papers that were added away again."""
    for name in names:
        _outside.pop(name, None)
    forget()


def forget() -> None:
    """Look at the folders anew."""
    _index.cache_clear()


def papers() -> tuple[str, ...]:
    """Every paper: those of the package, then those that were added."""
    return (*PAPERS, *_outside)


def is_id(name: str) -> bool:
    """Whether a file of the package defines an experiment; the others are base scenarios and ``paper.toml``."""
    return _ID.fullmatch(name) is not None


@cache
def _index() -> dict[str, str]:
    """The paper of every id, in the order of the papers and of their numbers."""
    found: dict[str, str] = {}
    for paper in papers():
        files = [entry.name for entry in home(paper).iterdir() if entry.name.endswith(".toml")]
        stems = [name.removesuffix(".toml") for name in files]
        ids = [name for name in stems if (name.startswith(f"{paper}-") if paper in _outside else is_id(name))]
        found.update(dict.fromkeys(sorted(ids, key=_order), paper))
    return found


def names() -> tuple[str, ...]:
    """Every id, in the order of the papers and of their numbers."""
    return tuple(_index())


def _order(name: str) -> tuple[int, int, str]:
    kind = re.sub(r"\d", "", name.split("-")[-1])
    digits = re.search(r"\d+$", name)
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS), int(digits[0]) if digits else 0, name


def paper_of(name: str) -> str:
    """The paper of an id."""
    return _index()[name]


def scenario_text(paper: str, base: str) -> str:
    """The scenario ``base`` of a paper; ``other/base`` is that of another one. Raises DefinitionError."""
    place, _, file = base.rpartition("/")
    path = home(place or paper) / f"{file}.toml"
    try:
        return _text(path)
    except FileNotFoundError:
        raise DefinitionError(f"{path}: there is no such base scenario") from None


def definition_text(name: str) -> tuple[str, str]:
    """The definition of an id, and what messages call its file. Raises DefinitionError when there is none."""
    if name not in names():
        raise DefinitionError(f"{name!r} is no id{choices(name, names())}")
    return _read(paper_of(name), f"{name}.toml")


def paper_text(name: str) -> tuple[str, str]:
    """The file about a paper as a whole: its text, and its name in messages."""
    return _read(name, ABOUT)


def findings_text() -> tuple[str, str]:
    """The file of findings across the papers: its text, and its name in messages."""
    return (package() / "findings.toml").read_text(encoding="utf-8"), "papers/findings.toml"


def extension_path(paper: str) -> Path | None:
    """The Python file that a paper from outside brings along."""
    path = _outside[paper] / EXTENSION if paper in _outside else None
    return path if path is not None and path.is_file() else None


def extension_text(paper: str) -> str:
    """What that file says; nothing when there is none."""
    path = extension_path(paper)
    return _text(path) if path else ""


def _read(paper: str, file: str) -> tuple[str, str]:
    shown = str(_outside[paper] / file) if paper in _outside else f"papers/{paper}/{file}"
    return _text(home(paper) / file), shown


def _text(path: Traversable | Path) -> str:
    """The text of a file: those from outside may be anything. Raises OSError, DefinitionError."""
    if not isinstance(path, Path):
        return path.read_text(encoding="utf-8")
    try:
        return read_text(path, SCENARIO)
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{path}: not text in UTF-8 ({error.reason}); valid: a TOML file") from None
