"""Scenarios that come with the package, by name: ``headline`` is one wherever the command was started."""

from __future__ import annotations

import tomllib
from errno import ENOENT
from functools import cache
from os import PathLike, fspath
from pathlib import Path

from fairdrop.nearest import did_you_mean

__all__ = ["located", "scenarios", "titles"]

_FOLDER = Path(__file__).parent / "scenarios"


@cache
def scenarios() -> dict[str, Path]:
    """The files by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}


def titles() -> dict[str, str]:
    """What each shows, by name."""
    return {name: str(tomllib.loads(path.read_text("utf-8"))["title"]) for name, path in scenarios().items()}


def located(path: str | PathLike[str], folder: str | PathLike[str] = "") -> str:
    """The file that is meant: one that is there, in ``folder`` where it has a relative path, or one of the package.

    Raises FileNotFoundError, which says what was probably meant.
    """
    place = Path(folder) / path
    name = fspath(path)
    # A folder of results may have the name of a scenario.
    if name in scenarios() and not place.is_file():
        return fspath(scenarios()[name])
    if not place.exists():
        meant = did_you_mean(place.stem, scenarios())
        problem = f"No such file or directory{meant}; valid: a TOML file, or one of {', '.join(scenarios())}"
        raise FileNotFoundError(ENOENT, problem, fspath(place))
    return fspath(place)
