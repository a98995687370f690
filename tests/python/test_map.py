"""The map for contributors names every folder and every crate of the checkout, and none that is not there."""

from __future__ import annotations

import re
import subprocess

import pytest

# Folders that a contributor's map does not need.
HIDDEN = {".ci", ".cargo"}


@pytest.fixture(scope="module")
def mapped(root):
    """Folders that the first column of the map names."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## The map")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


@pytest.fixture(scope="module")
def tracked(root):
    found = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a git checkout")
    return [path.split("/") for path in found.stdout.splitlines() if "/" in path]


def test_every_crate_is_on_the_map(mapped, tracked):
    crates = {f"crates/{parts[1]}" for parts in tracked if parts[0] == "crates"}
    assert crates == {name for name in mapped if name.startswith("crates/")}


def test_every_folder_is_on_the_map(mapped, tracked):
    folders = {parts[0] for parts in tracked} - HIDDEN
    assert folders == {name.partition("/")[0] for name in mapped}
