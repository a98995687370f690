"""Imports form no circles: between files, between folders, and between the layers of the Python package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import fairdrop
from drawing import LAYERS
from fairdrop import reproduce
from import_graph import between_members, circles, folders, listing, python_graph, rust_graph

# Parts of ``reproduce``, in the order in which a reproduction goes through them.
STEPS = ("define", "measure", "execute", "judge", "show")


@pytest.fixture(scope="module")
def imports(root: Path) -> dict[str, set[str]]:
    return python_graph(root / "python" / "fairdrop")


def test_python_files_form_no_circle(imports):
    found = circles(imports)
    assert not found, f"move what they share into a file below both:{listing(found)}"


def test_python_folders_form_no_circle(imports):
    """Taken as wholes, the members of each package import one another in one direction only."""
    for package in {name.rpartition(".")[0] for name in imports} - {""}:
        found = circles(between_members(imports, package, "."))
        assert not found, f"{package}:{listing(found)}"


def test_python_layers_import_downwards(imports):
    order = {f"fairdrop.{part}": number for number, layer in enumerate(LAYERS) for part in layer}
    members = between_members(imports, "fairdrop", ".")
    unplaced = sorted(set(members) - set(order))
    assert not unplaced, f"say in LAYERS where these stand: {unplaced}"
    pairs = [(one, other) for one, others in members.items() for other in others]
    upwards = [f"{one} imports {other}" for one, other in pairs if order[other] <= order[one]]
    assert not upwards, upwards


def test_no_module_hides_a_name_of_the_package(imports):
    """A module that was imported is an attribute of its package, in the place of a function of that name."""
    for package, names in {"fairdrop": fairdrop._HOMES, "fairdrop.reproduce": reproduce.__all__}.items():
        modules = {name.rpartition(".")[2] for name in imports if name.rpartition(".")[0] == package}
        assert not modules & set(names), package


def test_steps_of_a_reproduction_import_earlier_ones(imports):
    order = {f"fairdrop.reproduce.{step}": number for number, step in enumerate(STEPS)}
    for member, others in between_members(imports, "fairdrop.reproduce", ".").items():
        for other in others:
            if member in order:
                assert order.get(other, len(STEPS)) < order[member], f"{member} imports {other}"


CRATES = sorted(path.parent.name for path in Path(__file__).parents[2].glob("crates/*/src"))


@pytest.mark.parametrize("crate", CRATES)
def test_rust_files_form_no_circle(root, crate):
    found = circles(rust_graph(root / "crates" / crate))
    assert not found, f"move what they share into a file below both:{listing(found)}"


@pytest.mark.parametrize("crate", CRATES)
def test_rust_folders_form_no_circle(root, crate):
    """Taken as wholes, the files and folders of each folder import one another in one direction only.

    The root of a crate, which declares its public face, stands above all.
    """
    graph = {file: others - {"lib.rs"} for file, others in rust_graph(root / "crates" / crate).items()}
    found = {folder: circles(between_members(graph, folder, "/")) for folder in folders(graph, "/")}
    left = {folder: groups for folder, groups in found.items() if groups}
    texts = [f"{crate}/src/{folder}:{listing(groups)}" for folder, groups in left.items()]
    assert not left, "\n".join(texts)


@pytest.mark.parametrize("crate", CRATES)
def test_rust_tests_are_one_program(root, crate):
    """Each file is a module of ``tests/all.rs`` or a program that Cargo.toml names; else it would never be run."""
    tests = root / "crates" / crate / "tests"
    manifest = tomllib.loads((root / "crates" / crate / "Cargo.toml").read_text())
    files = {path.stem for path in tests.glob("*.rs")} | {path.parent.name for path in tests.glob("*/mod.rs")}
    if manifest["package"].get("autotests", True):
        assert len(files) <= 1, f"{crate}: autotests = false, a [[test]] named all, and tests/all.rs for them"
        return
    programs = {program["name"] for program in manifest["test"]}
    modules = set(re.findall(r"^mod (\w+);", (tests / "all.rs").read_text(), re.MULTILINE))
    if crate == "fairdrop":
        disciplines = root / "crates/fairdrop/src/disciplines"
        modules |= files & {path.stem for path in disciplines.glob("*.rs")}
        presets = "".join(path.read_text(encoding="utf-8") for path in disciplines.glob("*/presets.rs"))
        modules |= set(re.findall(r'^ *name: "(\w+)",$', presets, re.MULTILINE))
    assert files - programs == modules, f"{crate}/tests/all.rs lists the others: mod name;"


EXAMPLE = re.compile(r"^\s*//[/!] ?```(.*)$", re.MULTILINE)


@pytest.mark.parametrize("manifest", ["fuzz", *(f"crates/{crate}" for crate in CRATES)])
def test_rust_without_a_test_program_has_no_tests(root, manifest):
    """Where a manifest says ``test = false`` there are no tests, and no examples where it says ``doctest = false``."""
    crate = root / manifest
    targets = tomllib.loads((crate / "Cargo.toml").read_text())
    library = targets.get("lib", {})
    files = {path: path.read_text(encoding="utf-8") for path in (crate / "src").rglob("*.rs")}
    programs = {crate / program["path"]: program for program in targets.get("bin", ()) if "path" in program}
    for path, text in files.items():
        # The module tree of a program is its one file.
        if not programs.get(path, library).get("test", True):
            assert not re.search(r"#\[test\]", text), path
        if not library.get("doctest", True) and path not in programs:
            opened = EXAMPLE.findall(text)[::2]
            assert all(language and not language.startswith("rust") for language in opened), path


def test_a_circle_is_found():
    """The finder itself, on imports that it must distinguish."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": set()}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def test_a_circle_of_folders_is_found():
    """None of these files is in a circle, and two of the folders are."""
    graph = {"a/x.rs": {"b/mod.rs"}, "b/mod.rs": set(), "b/y.rs": {"a/z.rs"}, "a/z.rs": {"c.rs"}, "c.rs": set()}
    assert circles(graph) == []
    assert circles(between_members(graph, "", "/")) == [["a", "b"]]
    assert folders(graph, "/") == ["", "a", "b"]
    assert between_members(graph, "a", "/") == {"a/x": set(), "a/z": set()}


def test_imports_of_python_are_read_wherever_they_stand(tmp_path):
    package = tmp_path / "p"
    (package / "inner").mkdir(parents=True)
    for file, text in {
        "__init__.py": "",
        "a.py": "def f():\n    from p import b\n",
        "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.inner.c import C\n",
        "inner/__init__.py": "import p.a",
        "inner/c.py": "from p import inner, nothing\n",
    }.items():
        (package / file).write_text(text)
    assert python_graph(package) == {
        "p": set(), "p.a": {"p.b"}, "p.b": {"p.inner.c"}, "p.inner": {"p.a"}, "p.inner.c": {"p", "p.inner"},
    }  # fmt: skip


def test_paths_of_rust_lead_to_the_file_that_defines(tmp_path):
    for file, text in {
        "lib.rs": "mod a;\nmod b;\npub use b::{inner::Deep, Plain};\n",
        "a.rs": "use crate::{Deep, b::Plain as P};\n// use crate::c::C;\n#[cfg(test)]\nmod t { use crate::c::C; }\n",
        "c.rs": "",
        "b/mod.rs": "mod inner;\nuse inner::Deep;\nuse std::fmt;\npub struct Plain;\n",
        "b/inner.rs": "use super::Plain;\npub struct Deep { a: crate::a::A }\n",
    }.items():
        path = tmp_path / "src" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert rust_graph(tmp_path) == {
        "lib.rs": set(),
        "a.rs": {"b/mod.rs", "b/inner.rs"},
        "c.rs": set(),
        "b/mod.rs": {"b/inner.rs"},
        "b/inner.rs": {"b/mod.rs", "a.rs"},
    }
