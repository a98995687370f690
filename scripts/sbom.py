"""What fairdrop is made of, as a CycloneDX document: ``sbom.py FILE``.

Components are the crates that the extension and ``fairdropd`` are built from for this machine, by ``cargo metadata``,
with the checksums of ``Cargo.lock``, the installed Python distributions that the package needs, and the library that
reports carry.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
#: What is shipped; the rest of the workspace is for tests.
SHIPPED = ("fairdrop-py", "fairdrop-live")
LICENCES = LicenseFactory()


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _component(kind: str, name: str, version: str, licence: str | None, sha256: str | None = None) -> Component:
    purl = PackageURL(kind, name=name, version=version)
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=str(purl),
        purl=purl,
        # Crates of old wrote "MIT/Apache-2.0" for the expression.
        licenses=[LICENCES.make_from_string(licence.replace("/", " OR "))] if licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else [],
    )


def _crates() -> tuple[dict[str, Component], dict[str, set[str]]]:
    """Crates by their ids, and what each needs to run or to be built; not for tests."""
    host = re.search(r"^host: (\S+)$", _output("rustc", "--version", "--verbose"), re.MULTILINE)
    assert host is not None
    command = ("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host[1])
    metadata: dict[str, Any] = json.loads(_output(*command))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    packages = {one["id"]: one for one in metadata["packages"]}
    needs = {
        node["id"]: {one["pkg"] for one in node["deps"] if any(kind["kind"] != "dev" for kind in one["dep_kinds"])}
        for node in metadata["resolve"]["nodes"]
    }
    reached: set[str] = set()
    ahead = [number for number, package in packages.items() if package["name"] in SHIPPED]
    while ahead:
        number = ahead.pop()
        if number not in reached:
            reached.add(number)
            ahead.extend(needs[number])
    components = {}
    for number in reached:
        name, version = packages[number]["name"], packages[number]["version"]
        checksum = checksums[name, version]
        components[number] = _component("cargo", name, version, packages[number]["license"], checksum)
    return components, {number: needs[number] for number in reached}


def _needed(of: Distribution) -> Iterator[Distribution]:
    """Distributions that one needs here, without its extras."""
    for text in of.requires or ():
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield distribution(wanted.name)


def _licence(of: Distribution) -> str | None:
    """A name or expression. Old metadata have a whole text in its place, and a name among the classifiers."""
    text = of.metadata.get("License-Expression") or of.metadata.get("License")
    if text and "\n" not in text and len(text) < 100:
        return text
    names = [line.rpartition(" :: ")[2] for line in of.metadata.get_all("Classifier", []) if line.startswith("License")]
    return names[0] if len(names) == 1 else None


def _vendored() -> Component:
    """The library of the report's charts."""
    file = ROOT / "python/fairdrop/report/vendor/uPlot.iife.min.js"
    text = file.read_text(encoding="utf-8")
    found = re.match(r"/\*! \S+/uPlot \(v([\d.]+)\) \*/", text)
    assert found is not None
    return _component("npm", "uplot", found[1], "MIT", sha256(file.read_bytes()).hexdigest())


def bom() -> Bom:
    """The document."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    whole = _component("pypi", "fairdrop", version, "MIT OR Apache-2.0")
    whole.type = ComponentType.APPLICATION
    document = Bom()
    document.metadata.component = whole
    crates, needs = _crates()
    for number, component in crates.items():
        document.components.add(component)
        document.register_dependency(component, [crates[one] for one in needs[number]])
    parts = [component for component in crates.values() if component.name in SHIPPED]
    distributions: dict[str, Component] = {}

    def add(of: Distribution) -> Component:
        name = of.metadata["Name"]
        if name not in distributions:
            component = distributions[name] = _component("pypi", name, of.version, _licence(of))
            document.components.add(component)
            document.register_dependency(component, [add(one) for one in _needed(of)])
        return distributions[name]

    parts.extend(add(one) for one in _needed(distribution("fairdrop")))
    parts.append(vendored := _vendored())
    document.components.add(vendored)
    document.register_dependency(vendored)
    document.register_dependency(whole, parts)
    return document


def main() -> None:
    """Writes it aside, then where it is wanted."""
    if len(sys.argv) != 2:
        sys.exit("usage: sbom.py FILE")
    file = Path(sys.argv[1])
    document = bom()
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f"{file.name}.new")
    aside.write_text(JsonV1Dot6(document).output_as_string(indent=2), encoding="utf-8")
    os.replace(aside, file)
    print(f"{file}: {len(document.components)} components")


if __name__ == "__main__":
    main()
