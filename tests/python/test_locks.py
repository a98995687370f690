"""The lock file of the fuzz targets has the versions of the workspace, so that both build their dependencies once."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path


def locked(path: Path) -> dict[str, set[str]]:
    versions = defaultdict(set)
    for package in tomllib.loads(path.read_text(encoding="utf-8"))["package"]:
        versions[package["name"]].add(package["version"])
    return versions


def test_fuzz_targets_have_the_versions_of_the_workspace(root):
    workspace, fuzz = locked(root / "Cargo.lock"), locked(root / "fuzz" / "Cargo.lock")
    differ = {
        name: f"{sorted(fuzz[name])}, in the workspace {sorted(workspace[name])}"
        for name in fuzz.keys() & workspace.keys()
        if not fuzz[name] <= workspace[name]
    }
    assert not differ, f"cargo update --manifest-path fuzz/Cargo.toml --package NAME --precise VERSION: {differ}"
