"""``fairdrop new scenario`` and ``fairdrop new paper``: files to start from, with comments, that run as they are."""

from __future__ import annotations

import re
from errno import EEXIST
from pathlib import Path

from fairdrop.files import check_writable, write_text

__all__ = ["new_paper", "new_scenario"]

_TEMPLATES = Path(__file__).parent


def new_scenario(name: str, target: str | Path | None = None) -> list[Path]:
    """Write the scenario ``name`` into a new file, NAME.toml by default. Raises ValueError, and OSError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
        raise ValueError(f"{name!r} is not valid as the name of a scenario; valid: letters, digits, _, - and .")
    name = name.removesuffix(".toml")
    path = Path(f"{name}.toml" if target is None else target)
    _refuse(path)
    check_writable(path)
    write_text(path, _filled(_TEMPLATES / "scenario.toml.in", name))
    return [path]


def new_paper(name: str, target: str | Path | None = None) -> list[Path]:
    """Write a paper with one definition into a new folder, NAME by default. Raises ValueError, and OSError."""
    if not re.fullmatch(r"[a-z][a-z0-9]{0,63}", name):
        valid = "small letters and digits, beginning with a letter"
        raise ValueError(f"{name!r} is not valid as the name of a paper; valid: {valid}")
    folder = Path(name if target is None else target)
    if folder.name != name:
        raise ValueError(f"--out {folder}: the folder of a paper has its name; valid: a folder called {name}")
    _refuse(folder)
    folder.mkdir(parents=True)
    written = []
    for template in sorted((_TEMPLATES / "paper").glob("*.in")):
        path = folder / template.name.removesuffix(".in").replace("NAME", name)
        write_text(path, _filled(template, name))
        written.append(path)
    return written


def _refuse(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(EEXIST, "is there already; valid: a name that is not taken", str(path))


def _filled(template: Path, name: str) -> str:
    return template.read_text(encoding="utf-8").replace("NAME", name)
