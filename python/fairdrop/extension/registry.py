"""Extensions that scenarios may name: classes and files that were registered, and what files hold."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import TypeAlias
from weakref import WeakKeyDictionary

from fairdrop import _core, files
from fairdrop.extension import congestion, discipline
from fairdrop.extension.congestion import CongestionControl
from fairdrop.extension.described import name_of
from fairdrop.extension.discipline import Discipline

__all__ = ["Registered", "compiled", "load_file", "register", "registered"]

Class: TypeAlias = "type[Discipline] | type[CongestionControl]"
#: A class, or the path of a file with some.
Registered: TypeAlias = "Class | str"

_registered: dict[str, Registered] = {}
_DERIVED = "a class that derives from fairdrop.Discipline or fairdrop.CongestionControl"
# Files that were read: path, hash of the content, what they hold.
_files: dict[Path, tuple[str, list[_core.Extension]]] = {}
# Warnings about a class are kept until the process ends: each is given once.
_parts: WeakKeyDictionary[Class, _core.Extension] = WeakKeyDictionary()


def register(part: Class | str | PathLike[str]) -> Registered:
    """Let scenarios name a discipline or congestion control: a class, or those in a file (``.py``, ``.so``).

    Works as a decorator, too.

    A class takes the place of one that was registered under its name. Raises ValueError when it cannot be one.
    """
    if isinstance(part, type):
        if not issubclass(part, (Discipline, CongestionControl)):
            raise ValueError(f"{part.__name__} is no discipline and no congestion control; valid: {_DERIVED}")
        _part_of(part)
        _registered[name_of(part)] = part
        return part
    path = str(Path(fspath(part)).resolve())
    try:
        load_file(path)
    except ValueError as error:
        raise ValueError(f"{fspath(part)}: {error}") from None
    _registered[path] = path
    return path


def registered() -> tuple[Registered, ...]:
    """Classes and files that are registered, in that order."""
    return tuple(_registered.values())


def compiled(chosen: Iterable[Registered]) -> list[_core.Extension]:
    """The compiled half of each."""
    found: dict[str, _core.Extension] = {}
    for one in chosen:
        for part in load_file(one) if isinstance(one, str) else [_part_of(one)]:
            found[part.name] = part
    return list(found.values())


def _part_of(class_: Class) -> _core.Extension:
    part = _parts.get(class_)
    if part is None:
        of = discipline.part_of if issubclass(class_, Discipline) else congestion.part_of
        part = _parts[class_] = of(class_)  # type: ignore[arg-type]
    return part


def load_file(path: str | PathLike[str]) -> list[_core.Extension]:
    """The extensions that a file holds. Raises ValueError, which says what is wrong with it."""
    file = Path(path).resolve()
    try:
        source = files.read_bytes(file, files.PART)
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    content = hashlib.sha256(source).hexdigest()
    known = _files.get(file)
    if known is not None and known[0] == content:
        return known[1]
    if file.suffix == ".py":
        found = _of_module(_module(file, source))
    elif file.suffix == ".so":
        found = [_core.load_plugin(file)]
    else:
        raise ValueError("a file of this kind is not loaded; valid: a name that ends with .py or .so")
    _files[file] = content, found
    return found


def _module(file: Path, source: bytes) -> ModuleType:
    name = f"fairdrop_extension_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Modules beside it are found, after all others.
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    # Compiled here: a cached file would be that of another version within the same second.
    import linecache

    linecache.checkcache(str(file))
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        message = traceback.format_exception_only(error)[-1].strip()
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else _line(error, file)
        raise ValueError(f"{message}{'' if line is None else f' (line {line})'}") from None
    return module


def _line(error: BaseException, file: Path) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None


def _of_module(module: ModuleType) -> list[_core.Extension]:
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    derived = [class_ for class_ in classes if issubclass(class_, (Discipline, CongestionControl))]
    own = [class_ for class_ in derived if class_.__module__ == module.__name__]
    if not own:
        raise ValueError(f"it has no discipline and no congestion control; valid: {_DERIVED}")
    return [_part_of(class_) for class_ in own]
