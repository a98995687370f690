"""Random numbers and clocks that an extension takes from outside the simulation, where the seed does not decide."""

from __future__ import annotations

import ast
import builtins
import datetime
import inspect
import os
import random
import secrets
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import Any

__all__ = ["warnings"]

_CLOCKS = (
    "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
    "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime",
)  # fmt: skip
_TIMES = [getattr(time, name) for name in _CLOCKS]
_RANDOM = [os.urandom, os.getpid, uuid.uuid1, uuid.uuid4, *(getattr(secrets, name) for name in secrets.__all__)]
#: Generators that are of a seed where they are given one.
_SEEDED = ("Random", "RandomState", "default_rng", "SeedSequence", "PCG64", "MT19937", "Philox", "SFC64")
_DATES = ("now", "today", "utcnow")


def warnings(class_: type[Any], base: type[Any], name: str) -> list[str]:
    """Calls in the text of a class that make two runs of one seed differ; none where there is no text."""
    found: dict[str, str] = {}
    for one in class_.__mro__[: class_.__mro__.index(base)]:
        for line, call, instead in _calls(one, set()):
            found.setdefault(
                call,
                f"{name}: {call}() in line {line} of its file does not depend on the seed of the run, so that two runs "
                f"of one seed may differ; valid: {instead}",
            )
    return list(found.values())


def _calls(what: Any, seen: set[Any]) -> Iterator[tuple[int, str, str]]:
    """Line, text and replacement of each call to outside, in a class or function and the code that it uses."""
    seen.add(what)
    try:
        lines, first = inspect.getsourcelines(what)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    names = vars(sys.modules.get(what.__module__, builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            instead = _instead(node, names)
            if instead:
                yield first + node.lineno - 1, ast.unparse(node.func), instead
        if isinstance(node, ast.Name):
            used = names.get(node.id)
            if inspect.isfunction(used) and used.__module__ == what.__module__ and used not in seen:
                yield from _calls(used, seen)


def _instead(call: ast.Call, names: dict[str, Any]) -> str:
    """What would do in place of a call; empty where it is one of the simulation's, or of nobody known."""
    found, path = _resolved(call.func, names)
    stream, clock = 'self.random("NAME"), a stream of the run', "self.now"
    if found is None:
        return ""
    if any(found is one for one in _TIMES):
        return clock
    owner = getattr(found, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, datetime.date) and found.__name__ in _DATES:
        return clock
    seeded = getattr(found, "__name__", "") in _SEEDED
    if seeded and (found is random.Random or "numpy.random" in path):
        return "" if call.args or call.keywords else stream
    # Its state goes on from run to run, whatever its seed.
    is_global = isinstance(owner, random.Random)
    if is_global or found is random.SystemRandom or "numpy.random" in path or any(found is one for one in _RANDOM):
        return stream
    return ""


def _resolved(node: ast.expr, names: dict[str, Any]) -> tuple[Any, list[str]]:
    """The object that a dotted name stands for now, and the modules on the way; None where only a run knows it."""
    if isinstance(node, ast.Name):
        found = names.get(node.id)
        owner = getattr(getattr(found, "__self__", None), "__module__", None) or getattr(found, "__module__", None)
        path = [found.__name__] if isinstance(found, ModuleType) else []
        return found, path + (["numpy.random"] if str(owner).startswith("numpy.random") else [])
    if isinstance(node, ast.Attribute):
        owner, path = _resolved(node.value, names)
        if type(owner).__module__.startswith("numpy.random"):
            path = ["numpy.random"]
        elif not isinstance(owner, ModuleType | type | random.Random):
            return None, []
        found = getattr(owner, node.attr, None)
        return found, [*path, found.__name__] if isinstance(found, ModuleType) else path
    return None, []
