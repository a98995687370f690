"""Files of the tree that are no build outputs, in a checkout and in unpacked sources alike."""

from __future__ import annotations

import os
import subprocess
from fnmatch import fnmatch
from pathlib import Path

from experiments import ROOT


def tracked(root: Path = ROOT) -> list[Path]:
    """Paths below ``root``, relative to it and sorted: those under version control or, in unpacked sources, all that
    ``.gitignore`` does not name.
    """
    if (root / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
        names = [Path(name) for name in listed.stdout.split("\0") if name]
    else:
        names = list(_walked(root))
    return sorted(path for path in names if (root / path).is_file())


def _walked(root: Path) -> list[Path]:
    patterns = [line for line in (root / ".gitignore").read_text(encoding="utf-8").splitlines() if line]
    found = []
    for place, folders, files in os.walk(root):
        here = Path(place).relative_to(root)
        folders[:] = [name for name in folders if not _ignored(here / name, f"{name}/", patterns)]
        found += [here / name for name in files if not _ignored(here / name, name, patterns)]
    return found


def _ignored(path: Path, name: str, patterns: list[str]) -> bool:
    """Whether a pattern has the name, or the whole path where it holds a slash before its end."""
    whole = f"/{path}/" if name.endswith("/") else f"/{path}"
    return any(
        fnmatch(whole, f"/{pattern.lstrip('/')}") if "/" in pattern.rstrip("/") else fnmatch(name, pattern)
        for pattern in patterns
    )
