"""The check that `make` begins with: one line says which tool is missing or too old, and how to get it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# What the script itself needs from a shell.
HELPERS = ("cut", "head", "sort", "printf", "sh")
GOOD = {
    "rustc": "echo 'rustc 1.95.0 (59807616e 2026-04-14)'",
    "cargo": "true",
    "cc": "true",
    "python": f'exec "{sys.executable}" "$@"',
}


def check(tmp_path: Path, root: Path, **changed: str | None) -> subprocess.CompletedProcess[str]:
    """Runs the check with only these tools in reach; None leaves a tool out."""
    for helper in HELPERS:
        place = next(Path(folder) / helper for folder in os.defpath.split(":") if (Path(folder) / helper).exists())
        (tmp_path / helper).symlink_to(place)
    for name, body in (GOOD | changed).items():
        if body is not None:
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
    script = root / "scripts" / "check_tools.sh"
    environment = {"PATH": str(tmp_path), "PYTHON": "python"}
    return subprocess.run(["/bin/sh", script], env=environment, capture_output=True, text=True, check=False)


def test_everything_is_there(tmp_path, root):
    done = check(tmp_path, root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("changed", "what", "how"),
    [
        ({"rustc": None}, "Rust is missing", "rustup"),
        ({"cargo": None}, "cargo is missing", "rustup"),
        ({"rustc": "echo rustc 1.70.0"}, "Rust 1.70.0 is too old", "rustup update"),
        ({"rustc": "echo rustc 1.9.0"}, "Rust 1.9.0 is too old", "rustup update"),
        ({"python": None}, "Python is missing", "apt-get install python3"),
        ({"python": "echo 3.9.2"}, "Python 3.9.2 is too old", "PYTHON=python3.11"),
        ({"cc": None}, "C compiler is missing", "apt-get install gcc"),
        ({"python": 'case "$2" in *ensurepip*) exit 1;; esac; echo 3.12.1'}, "venv", "python3-venv"),
    ],
)
def test_one_line_says_what_and_how(tmp_path, root, changed, what, how):
    done = check(tmp_path, root, **changed)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert what in done.stderr
    assert how in done.stderr


def test_newer_versions_pass(tmp_path, root):
    assert check(tmp_path, root, rustc="echo rustc 1.100.0-nightly").returncode == 0
