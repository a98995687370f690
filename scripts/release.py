#!/usr/bin/env python3
"""Prepare a release from what ``make dist`` built, and stop one step before anything leaves this machine.

    python scripts/release.py             what is missing is named; nothing is published
    python scripts/release.py --dist DIR  packages from elsewhere

Writes to DIR/release: notes from CHANGELOG.md, checksums, a statement of provenance for each package (in-toto, SLSA
provenance 1) and the metadata of Zenodo from CITATION.cff. Prints the commands that publish, in their order, for those
who have the accounts.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
# Each after those that it depends on.
CRATES = (
    "fairdrop", "fairdrop-capture", "fairdrop-conformance", "fairdrop-ffi", "fairdrop-link", "fairdrop-config",
    "fairdrop-tcp", "fairdrop-extension", "fairdrop-sim", "fairdrop-live",
)  # fmt: skip
PACKAGES = (
    "fairdrop-*-abi3-*.whl", "fairdropd-*.whl", "fairdrop-[0-9]*.tar.gz", "fairdropd-*-linux-*", "fairdropd_*.deb",
    "libfairdrop-*-linux-*.tar.gz", "libfairdrop?_*.deb", "libfairdrop-dev_*.deb",
    "fairdrop-bpf-*.tar.gz",
)  # fmt: skip


def main() -> None:
    """Command line of the script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", metavar="DIR", help="the packages (dist)")
    options = parser.parse_args()
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    version, address = workspace["version"], workspace["repository"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    packages = sorted({path for pattern in PACKAGES for path in options.dist.glob(pattern)})
    missing = [*problems(version, address, changes, citation), *(f"{options.dist}/{each}: not built; valid: make dist"
               for each in PACKAGES if not list(options.dist.glob(each)))]  # fmt: skip
    if missing:
        sys.exit("\n".join(f"release: {problem}" for problem in missing))
    out = options.dist / "release"
    out.mkdir(exist_ok=True)
    for name, text in documents(version, address, changes, citation, packages).items():
        (out / name).write_text(text, encoding="utf-8")
        print(out / name)
    print("\nNothing has been published. With accounts, in this order:")
    for command in commands(version, packages, out):
        print(f"  {command}")


def problems(version: str, address: str, changes: str, citation: dict[str, Any]) -> Iterator[str]:
    """What a release lacks."""
    if not address.startswith("https://"):
        field = f'[workspace.package] repository = "{address}"'
        yield f"Cargo.toml: {field} is not valid; valid: the address of the project, https://..."
    if str(citation["version"]) != version:
        yield f"CITATION.cff: version = {citation['version']} is not valid; valid: {version}, as in Cargo.toml"
    if notes_of(version, changes) is None:
        yield f"CHANGELOG.md: no section for {version}; valid: ## {version}, in place of ## Unreleased"
    if git("status", "--porcelain"):
        yield "the checkout has changes that are not committed; valid: none"


def notes_of(version: str, changes: str) -> str | None:
    """The section of a version."""
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", changes, re.DOTALL | re.MULTILINE)
    return found[1].strip() if found else None


def documents(
    version: str, address: str, changes: str, citation: dict[str, Any], packages: list[Path]
) -> dict[str, str]:
    """What goes with the packages, by file name."""
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in packages}
    return {
        "NOTES.md": f"# fairdrop {version}\n\n{notes_of(version, changes)}\n",
        "SHA256SUMS": "".join(f"{digest}  {name}\n" for name, digest in sums.items()),
        "provenance.intoto.json": json.dumps(provenance(address, sums), indent=2) + "\n",
        "zenodo.json": json.dumps(zenodo(version, address, citation), indent=2, ensure_ascii=False) + "\n",
    }


def provenance(address: str, sums: dict[str, str]) -> dict[str, Any]:
    """Which commit the packages are from, and by which command: a statement to be signed (in-toto 1, SLSA 1.0)."""
    commit = git("rev-parse", "HEAD")
    source = {"uri": f"git+{address}", "digest": {"gitCommit": commit}}
    definition = {
        "buildType": f"{address}/blob/{commit}/scripts/dist.py",
        "externalParameters": {"command": "make dist"},
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sums.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": definition | {"resolvedDependencies": [source]},
            "runDetails": {"builder": {"id": f"{address}/blob/{commit}/CONTRIBUTING.md"}},
        },
    }


def zenodo(version: str, address: str, citation: dict[str, Any]) -> dict[str, Any]:
    """Metadata of a deposit, from CITATION.cff."""
    return {
        "upload_type": "software",
        "title": citation["title"],
        "version": version,
        "publication_date": datetime.date.fromtimestamp(int(git("log", "-1", "--format=%ct"))).isoformat(),
        "creators": [
            {"name": each.get("name") or f"{each['family-names']}, {each['given-names']}"}
            for each in citation["authors"]
        ],
        "description": citation["title"],
        "keywords": citation["keywords"],
        "license": "MIT OR Apache-2.0",
        "related_identifiers": [{"identifier": address, "relation": "isSupplementTo", "scheme": "url"}],
    }


def commands(version: str, packages: list[Path], out: Path) -> Iterator[str]:
    """What publishes the release."""
    yield f"git tag --sign v{version} && git push origin v{version}"
    yield from (f"cargo publish --package {crate}" for crate in CRATES)
    wheels = [path for path in packages if path.suffix == ".whl" or path.match("fairdrop-[0-9]*.tar.gz")]
    yield f"twine upload {' '.join(str(path) for path in wheels)}"
    yield f"cosign attest-blob --predicate {out / 'provenance.intoto.json'} --type slsaprovenance1 PACKAGE"
    yield f"upload {out / 'NOTES.md'}, {out / 'SHA256SUMS'} and the programs and libraries to the release v{version}"
    yield f"deposit the sources with {out / 'zenodo.json'}"


def git(*words: str) -> str:
    """What a command of git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
