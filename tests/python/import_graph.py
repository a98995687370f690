"""Which file imports which, for Python and for Rust, and the circles in that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, set[str]]


def circles(graph: Graph) -> list[list[str]]:
    """Groups of files of which each reaches every other (R. Tarjan, Depth-first search..., SIAM J. Comput. 1, 1972)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        open_nodes.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_nodes:
                lowest[node] = min(lowest[node], index[other])
        if lowest[node] == index[node]:
            start = open_nodes.index(node)
            group, open_nodes[start:] = open_nodes[start:], []
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def between_members(graph: Graph, folder: str, separator: str) -> dict[str, set[str]]:
    """The members of a folder or package, each taken as a whole, and which other members each imports."""
    start = f"{folder}{separator}" if folder else ""
    members: dict[str, set[str]] = {}
    for name, imported in graph.items():
        if name.startswith(start):
            inner = {_member(other, start, separator) for other in imported if other.startswith(start)}
            members.setdefault(_member(name, start, separator), set()).update(inner)
    return {member: others - {member} for member, others in members.items()}


def _member(name: str, start: str, separator: str) -> str:
    return start + name[len(start) :].partition(separator)[0].removesuffix(".rs")


def folders(graph: Graph, separator: str) -> list[str]:
    """Every folder or package that holds one of the files, the outermost first."""
    found = {
        separator.join(parts[:end]) for name in graph for parts in [name.split(separator)] for end in range(len(parts))
    }
    return sorted(found)


def listing(found: Iterable[Iterable[str]]) -> str:
    return "".join(f"\n  circle: {', '.join(group)}" for group in found)


def python_graph(package: Path) -> dict[str, set[str]]:
    """Modules of a package by dotted name. Imports inside functions and those for type checkers count as well.

    Relative imports are not read: the tree has none (ruff, TID252).
    """
    modules = {_dotted(file, package): file for file in package.rglob("*.py")}
    return {name: set(_python_imports(file, modules)) - {name} for name, file in modules.items()}


def _dotted(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _python_imports(file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in modules:
                    yield inner
                elif node.module in modules and not (alias.name == "_core" and node.module.count(".") == 0):
                    yield node.module


def rust_graph(crate: Path) -> dict[str, set[str]]:
    """Files of a crate, relative to its ``src``. What a file re-exports counts for the file that defines it.

    Read from ``use`` and from paths that begin with ``crate`` or ``super``; ``mod``, tests inside a file and comments
    do not count.
    """
    source = crate / "src"
    found = [file for file in source.rglob("*.rs") if not {"tests", "tests.rs"} & set(file.relative_to(source).parts)]
    files = {_rust_path(file, source): file for file in found}
    texts = {path: _TESTS.sub("", _COMMENT.sub("", file.read_text(encoding="utf-8"))) for path, file in files.items()}
    exports = {path: dict(_exports(text, path, set(files))) for path, text in texts.items()}
    names = {path: str(file.relative_to(source)) for path, file in files.items()}
    graph: dict[str, set[str]] = {}
    for path, text in texts.items():
        reached = {_owner(wanted, exports) for wanted in _rust_paths(text, path, set(files))}
        graph[names[path]] = {names[other] for other in reached - {path}}
    return graph


RustPath = tuple[str, ...]
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod \w+ \{.*\Z", re.DOTALL)
_USE = re.compile(r"^[ \t]*(pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
_PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def _rust_path(file: Path, source: Path) -> RustPath:
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts


def _owner(wanted: RustPath, exports: Mapping[RustPath, Mapping[str, RustPath]]) -> RustPath:
    """The file that defines what a path names: that of the path's longest beginning, or whose item it re-exports."""
    file = next(wanted[:end] for end in range(len(wanted), -1, -1) if wanted[:end] in exports)
    item = wanted[len(file)] if len(wanted) > len(file) else None
    inner = exports[file].get(item) if item else None
    return _owner(inner, exports) if inner else file


def _exports(text: str, own: RustPath, files: set[RustPath]) -> Iterator[tuple[str, RustPath]]:
    for public, tree in _USE.findall(text):
        for words in _expanded(tree) if public else ():
            path = _absolute(words, own, files)
            if path and path != own:
                yield words[-1], path


def _rust_paths(text: str, own: RustPath, files: set[RustPath]) -> Iterator[RustPath]:
    trees = [tree for public, tree in _USE.findall(text) if not public]
    inline = _PATH.findall(_USE.sub("", text))
    for words in [words for tree in [*trees, *inline] for words in _expanded(tree)]:
        path = _absolute(words, own, files)
        if path is not None:
            yield path


def _absolute(words: list[str], own: RustPath, files: set[RustPath]) -> RustPath | None:
    """From the root of the crate; None for what another crate has."""
    if words[0] == "crate":
        return tuple(words[1:])
    ups = next((place for place, word in enumerate(words) if word != "super"), len(words))
    if ups:
        return (*own[: len(own) - ups], *words[ups:])
    return (*own, *words) if (*own, words[0]) in files else None


def _expanded(tree: str) -> list[list[str]]:
    """``a::{b, c::{d, e}}`` as its paths."""
    head, brace, rest = tree.partition("{")
    words = [word for word in re.sub(r"\s+as\s+\w+", "", head).replace(" ", "").strip().split("::") if word]
    if not brace:
        return [[word for word in words if word not in ("*", "self")]]
    inner = rest.rstrip().removesuffix("}")
    return [[*words, *path] for part in _split(inner) for path in _expanded(part)]


def _split(text: str) -> list[str]:
    parts, depth, last = [], 0, 0
    for place, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append(text[last:place])
            last = place + 1
    return [part.strip() for part in [*parts, text[last:]] if part.strip()]
