"""Imports form no circles: between files, between folders, and between the layers of the Python package."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairdrop
from fairdrop import reproduce
from import_graph import circles, python_graph, rust_graph, told

# Circles that there are still; a change may only make them fewer.
RUST_CIRCLES: dict[str, int] = {}
# From the top down: a part of the package imports from those in lower lines only, and from its own.
LAYERS = (
    ("__main__",),
    ("cli",),
    ("advise", "characterize"),
    ("reproduce", "study"),
    ("capture", "changes", "host", "part_check"),
    ("scenario",),
    ("result",),
    ("report",),
    ("pages",),
    ("flent", "plot", "live"),
    ("few_groups",),
    ("cautions", "conformance", "exact", "sensitivity", "table"),
    ("timers",),
    ("wording", "document", "measures", "model_scenario", "significance"),
    ("designs", "engine", "estimate", "library", "models", "progress", "warmup"),
    ("new", "packaged", "parts"),
    ("files", "lock", "nearest", "optional", "terminal"),
)
# Parts of ``reproduce``, in the order in which a reproduction goes through them.
STEPS = ("define", "measure", "execute", "judge", "show")


@pytest.fixture(scope="module")
def imports(root: Path) -> dict[str, set[str]]:
    return python_graph(root / "python" / "fairdrop")


def test_python_files_form_no_circle(imports):
    found = circles(imports)
    assert not found, f"move what they share into a file below both:{told(found)}"


def test_python_folders_form_no_circle(imports):
    """Taken as wholes, the members of each package import one another in one direction only."""
    for package in {name.rpartition(".")[0] for name in imports} - {""}:
        found = circles(_between_members(imports, package))
        assert not found, f"{package}:{told(found)}"


def _between_members(imports, package: str) -> dict[str, set[str]]:
    depth = package.count(".") + 2
    graph: dict[str, set[str]] = {}
    for name, imported in imports.items():
        if name.startswith(f"{package}."):
            inner = {".".join(other.split(".")[:depth]) for other in imported if other.startswith(f"{package}.")}
            graph.setdefault(".".join(name.split(".")[:depth]), set()).update(inner)
    return {member: others - {member} for member, others in graph.items()}


def test_python_layers_import_downwards(imports):
    order = {f"fairdrop.{part}": number for number, layer in enumerate(LAYERS) for part in layer}
    members = _between_members(imports, "fairdrop")
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
    for member, others in _between_members(imports, "fairdrop.reproduce").items():
        for other in others:
            if member in order:
                assert order.get(other, len(STEPS)) < order[member], f"{member} imports {other}"


@pytest.mark.parametrize("crate", sorted(path.parent.name for path in Path(__file__).parents[2].glob("crates/*/src")))
def test_rust_files_form_no_more_circles_than_they_do(root, crate):
    found = circles(rust_graph(root / "crates" / crate))
    print(f"{crate}: {len(found)} circles{told(found)}")
    assert len(found) <= RUST_CIRCLES.get(crate, 0), told(found)


def test_a_circle_is_found():
    """The finder itself, on what it must tell apart."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": set()}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


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
