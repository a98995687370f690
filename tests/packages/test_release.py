"""What goes with a release is made from the checkout, and nothing is released while something is missing."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import package_readme
import pytest
import release
from stranger import ROOT

ADDRESS = "https://example.org/fairdrop"
CHANGES = "# Changelog\n\n## Unreleased\n\n- later\n\n## 0.2.0\n\n- a thing\n\n## 0.1.0\n\n- the first\n"
CITATION = {"title": "fairdrop", "version": "0.2.0", "authors": [{"name": "The fairdrop authors"}], "keywords": ["AQM"]}


def test_nothing_is_released_without_an_address() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "release.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert 'release: Cargo.toml: [workspace.package] repository = "" is not valid; valid: the address' in done.stderr
    assert "Traceback" not in done.stderr


def test_every_problem_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "git", lambda *_: "")
    assert list(release.problems("0.2.0", ADDRESS, CHANGES, CITATION)) == []
    found = list(release.problems("0.3.0", "", CHANGES, CITATION))
    assert [problem.split(":")[0] for problem in found] == ["Cargo.toml", "CITATION.cff", "CHANGELOG.md"]
    monkeypatch.setattr(release, "git", lambda *_: " M README.md")
    assert list(release.problems("0.2.0", ADDRESS, CHANGES, CITATION)) == [
        "the checkout has changes that are not committed; valid: none"
    ]


def test_documents_are_those_of_the_version_and_the_packages(tmp_path: Path) -> None:
    (package := tmp_path / "fairdrop-0.2.0.tar.gz").write_bytes(b"sources")
    found = release.documents("0.2.0", ADDRESS, CHANGES, CITATION, [package])
    digest = hashlib.sha256(b"sources").hexdigest()
    assert found["NOTES.md"] == "# fairdrop 0.2.0\n\n- a thing\n"
    assert found["SHA256SUMS"] == f"{digest}  fairdrop-0.2.0.tar.gz\n"
    statement = json.loads(found["provenance.intoto.json"])
    assert statement["subject"] == [{"name": "fairdrop-0.2.0.tar.gz", "digest": {"sha256": digest}}]
    assert statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]["gitCommit"] == release.git(
        "rev-parse", "HEAD"
    )
    assert json.loads(found["zenodo.json"])["creators"] == [{"name": "The fairdrop authors"}]


def test_crates_are_published_after_what_they_need() -> None:
    published: set[str] = set()
    for crate in release.CRATES:
        manifest = (
            (ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8").partition("[dev-dependencies]")[0]
        )
        needed = {line.split(".")[0].split(" ")[0] for line in manifest.splitlines() if line.startswith("fairdrop")}
        assert needed <= published, crate
        published.add(crate)
    kept = {
        path.parent.name
        for path in ROOT.glob("crates/*/Cargo.toml")
        if "publish = false" in path.read_text(encoding="utf-8")
    }
    assert published | kept == {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}


def test_the_readme_of_packages_has_no_link_to_a_file_beside_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    without = package_readme.package_readme(readme, "", "0.2.0")
    assert "](docs/" not in without and "![" not in without and "the first half hour" in without
    found = package_readme.package_readme(readme, ADDRESS, "0.2.0")
    assert f"]({ADDRESS}/raw/v0.2.0/docs/images/throughput-per-flow.png)" in found
    assert f"[the first half hour]({ADDRESS}/blob/v0.2.0/docs/tutorial.md)" in found
    assert "](docs/" not in found
