"""The drawing of the tree in ``docs/architecture.md``, made from manifests and imports."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from import_graph import Graph, between_members, circles, rust_graph

_SECTION = re.compile(r"(<!-- drawn: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
# A crate with more files than that beside each other is a list, not a building.
_FLAT = 30
_UNSAFE = re.compile(r"^\s*#!?\[allow\(unsafe_code\)\](?: // (.*))?$", re.MULTILINE)

# From the top down: a part of the package imports from those in lower lines only, and from its own.
LAYERS = (
    ("__main__",),
    ("cli",),
    ("advise", "characterize"),
    ("part_check", "reproduce", "study"),
    ("capture", "changes", "extension_check", "host"),
    ("scenario",),
    ("result",),
    ("report",),
    ("pages",),
    ("flent", "plot", "live"),
    ("few_groups",),
    ("cautions", "conformance", "exact", "sensitivity", "table"),
    ("timers",),
    ("wording", "document", "measures", "model_scenario", "significance"),
    ("designs", "engine", "estimate", "library", "models", "parts", "progress", "warmup"),
    ("extension", "new", "packaged"),
    ("files", "lock", "nearest", "optional", "terminal"),
)


@dataclass(frozen=True)
class Crate:
    """A crate of the workspace: its purpose, and the crates of the workspace that it needs, tests apart."""

    name: str
    purpose: str
    uses: frozenset[str]


def crates(root: Path) -> list[Crate]:
    """The crates by height: each stands above all that it uses."""
    manifests = [tomllib.loads(file.read_text()) for file in root.glob("crates/*/Cargo.toml")]
    names = {manifest["package"]["name"] for manifest in manifests}
    found = [
        Crate(package["name"], package["description"], frozenset(names & set(manifest.get("dependencies", ()))))
        for manifest in manifests
        for package in [manifest["package"]]
    ]
    floors = heights({crate.name: set(crate.uses) for crate in found})
    return sorted(found, key=lambda crate: (-floors[crate.name], crate.name))


def heights(graph: Graph) -> dict[str, int]:
    """Floor of each node of an acyclic graph: 0 if it uses nothing, otherwise one above the highest that it uses."""
    known: dict[str, int] = {}

    def height(node: str) -> int:
        if node not in known:
            known[node] = 1 + max((height(other) for other in graph.get(node, ())), default=-1)
        return known[node]

    return {node: height(node) for node in graph}


def nearest_uses(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same order from fewest arrows: without those that a longer way implies."""
    reach: dict[str, set[str]] = {}
    for node in sorted(graph, key=heights(graph).__getitem__):
        reach[node] = set(graph[node]).union(*(reach[other] for other in graph[node]))
    return {
        node: {other for other in others if not any(other in reach[via] for via in others - {other})}
        for node, others in graph.items()
    }


def sections(root: Path) -> dict[str, str]:
    """Every generated section of the page, by name."""
    found = crates(root)
    return {
        "crates.drawing": _drawing(found),
        "crates.table": _table(
            ["crate", "purpose", "uses"],
            [[f"`{one.name}`", one.purpose, _code(sorted(nearest_uses(_uses(found))[one.name]))] for one in found],
        ),
        "crates.folders": _table(
            ["crate", "from the top down"],
            [[f"`{one.name}`", text] for one in found if (text := _floors(root / "crates" / one.name))],
        ),
        "python.layers": _table(
            ["layer", "parts"], [[str(number), _code(layer)] for number, layer in enumerate(LAYERS, 1)]
        ),
        "unsafe": _table(["file", "reason"], [[f"`{file}`", reason] for file, reason in sorted(unsafe_files(root))]),
    }


def rewritten(page: str, made: Mapping[str, str]) -> str:
    """The page with each section's text between its two markers."""
    return _SECTION.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n{match[3]}", page)


def unsafe_files(root: Path) -> list[tuple[str, str]]:
    """Files of the sources with unsafe code, and the first reason that each states."""
    found = []
    for file in root.glob("crates/*/src/**/*.rs"):
        text = file.read_text(encoding="utf-8")
        if reasons := _UNSAFE.findall(text):
            found.append((str(file.relative_to(root)), next(filter(None, reasons), "")))
    return found


def _uses(found: Iterable[Crate]) -> dict[str, set[str]]:
    return {crate.name: set(crate.uses) for crate in found}


def _drawing(found: Iterable[Crate]) -> str:
    arrows = [
        f"    {one} --> {other}" for one, others in nearest_uses(_uses(found)).items() for other in sorted(others)
    ]
    alone = [f"    {crate.name}" for crate in found if not crate.uses]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, *alone, "```"]) + "\n"


def _floors(crate: Path) -> str:
    """Files and folders of a crate's root, a floor a step; nothing for a flat crate of many files alike."""
    graph = between_members(rust_graph(crate), "", "/")
    members = {member: others - {"lib", "main"} for member, others in graph.items() if member not in {"lib", "main"}}
    floors = heights(_without_circles(members))
    if len(floors) > _FLAT:
        return ""
    by_floor = {floor: sorted(name for name in floors if floors[name] == floor) for floor in floors.values()}
    return " → ".join(_code(by_floor[floor]) for floor in sorted(by_floor, reverse=True)) if len(by_floor) > 1 else ""


def _without_circles(graph: Graph) -> dict[str, set[str]]:
    """Each circle as one node, whose name lists its members."""
    names = {member: "` ⇄ `".join(group) for group in circles(graph) for member in group}
    joined: dict[str, set[str]] = {}
    for member, others in graph.items():
        joined.setdefault(names.get(member, member), set()).update(names.get(other, other) for other in others)
    return {member: others - {member} for member, others in joined.items()}


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
