"""``docs/architecture.md`` draws the tree as it is, and its map names every folder of the checkout and no other."""

from __future__ import annotations

import os
import re
import tomllib

import pytest

from drawing import crates, heights, nearest_uses, rewritten, sections, unsafe_files
from experiments.tracked import tracked as files

# Folders that a reader's map does not need.
HIDDEN = {".ci", ".cargo"}


@pytest.fixture(scope="module")
def page(root):
    return root / "docs" / "architecture.md"


@pytest.fixture(scope="module")
def tracked(root):
    return [path.parts for path in files(root) if len(path.parts) > 1]


def test_drawing_is_that_of_the_tree(root, page):
    """``FAIRDROP_WRITE_DOCS=1`` draws it anew."""
    text = page.read_text(encoding="utf-8")
    drawn = rewritten(text, sections(root))
    if "FAIRDROP_WRITE_DOCS" in os.environ:
        page.write_text(drawn, encoding="utf-8")
    else:
        assert drawn == text, "make generate draws docs/architecture.md anew"


def test_every_folder_is_on_the_map(page, tracked):
    section = page.read_text(encoding="utf-8").partition("## The repository")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == {parts[0] for parts in tracked} - HIDDEN


def test_every_crate_has_a_purpose(root, tracked):
    assert {f"{crate.name}" for crate in crates(root) if crate.purpose} == {
        parts[1] for parts in tracked if parts[0] == "crates"
    }


def test_every_file_with_unsafe_code_says_why(root):
    assert [file for file, reason in unsafe_files(root) if not reason] == []


def test_arrows_that_a_longer_path_implies_are_left_out():
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": set()}
    assert nearest_uses(graph) == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}
    assert heights(graph) == {"a": 2, "b": 1, "c": 0, "d": 0}


def test_features_of_the_crates_are_those_of_the_page(root):
    text = (root / "docs" / "reference" / "packages.md").read_text(encoding="utf-8")
    section = text.partition("<!-- features -->")[2].partition("<!-- end -->")[0]
    manifests = [tomllib.loads(path.read_text(encoding="utf-8")) for path in root.glob("crates/*/Cargo.toml")]
    declared = {
        (found["package"]["name"], name)
        for found in manifests
        for name in found.get("features", {})
        if name != "default"
    }
    assert set(re.findall(r"^\| `([\w-]+)` \| `([\w-]+)` \|", section, re.MULTILINE)) == declared
