"""Description of a user-defined class for the simulator."""

from __future__ import annotations

import hashlib
import inspect
import marshal
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import CodeType
from typing import Any, NamedTuple

from fairdrop.extension.param import Param, written

__all__ = ["Declared", "check_names", "identity", "name_of", "parameters", "sentence"]

# Likeness of two names, from 0 to 1, above which one is taken for the other.
_LIKE = 0.75


class Declared(NamedTuple):
    """A parameter."""

    name: str
    unit: str
    kind: str
    low: float
    high: float
    words: list[str]
    default: str
    doc: str
    source: str


def name_of(class_: type[Any]) -> str:
    """The name in scenarios: ``name``, or that of the class in small letters."""
    return str(class_.name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_.__name__).lower()


def sentence(class_: type[Any], default: str) -> str:
    """The first paragraph of its docstring, as lists show it."""
    doc = inspect.getdoc(class_) if class_.__doc__ is not None else None
    return (doc or default).split("\n\n")[0].replace("\n", " ")


def parameters(class_: type[Any], base: type[Any]) -> list[Declared]:
    """Declared parameters, those of base classes first. Raises ValueError for names that ``base`` has."""
    found: dict[str, Param] = {}
    for one in reversed(class_.__mro__):
        found |= {name: value for name, value in vars(one).items() if isinstance(value, Param)}
    for name in found:
        if hasattr(base, name):
            why = f"{base.__name__} has an attribute of that name; valid: another name"
            raise ValueError(f"{name_of(class_)}: {name} is not valid as a parameter: {why}")
    return [
        Declared(
            name, param.unit, param.kind, param.low, param.high, list(param.words), written(param.default),
            param.doc, param.source,
        )
        for name, param in found.items()
    ]  # fmt: skip


def check_names(class_: type[Any], base: type[Any], hooks: Mapping[str, Sequence[str]]) -> None:
    """Raises ValueError for a method of ``hooks`` that does not take what it is called with, and for near misses.

    A near miss is a public name that is nearly one which ``base`` gives a meaning: it would do nothing. A name that the
    class itself uses is none, and neither is one beside the right name.
    """
    for hook, arguments in hooks.items():
        _check_call(class_, hook, arguments)
    own = class_.__mro__[: class_.__mro__.index(base)]
    there = {name for one in own for name in vars(one)}
    settings = [name for name, value in vars(base).items() if not (name.startswith("_") or callable(value))]
    used = {name for one in own for code in _codes(one) for name in code.co_names}
    for one in own:
        for name, value in vars(one).items():
            if name.startswith("_") or hasattr(base, name) or isinstance(value, Param) or name in {*hooks, *used}:
                continue
            known = list(hooks) if callable(value) else settings
            near = get_close_matches(name.lower(), known, n=1, cutoff=_LIKE)
            if near and near[0] not in there:
                what = "method" if callable(value) else "attribute"
                why = f"nothing calls it, and {near[0]} is missing" if callable(value) else "nothing reads it"
                raise ValueError(
                    f"{name_of(class_)}: the {what} {name} is not valid: {why}; valid: {near[0]}, "
                    f"or _{name} for a {what} of its own"
                )


def _check_call(class_: type[Any], hook: str, arguments: Sequence[str]) -> None:
    method = inspect.getattr_static(class_, hook, None)
    if method is None or isinstance(method, classmethod | staticmethod):
        return
    if not callable(method):
        raise ValueError(f"{name_of(class_)}: {hook} = {method!r} is not valid; valid: a method")
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(class_, *arguments)
    except TypeError:
        called = f"{hook}({', '.join(['self', *arguments])})"
        raise ValueError(f"{name_of(class_)}: {hook}{signature} is not valid; valid: {called}") from None


def _codes(class_: type[Any]) -> Iterator[CodeType]:
    """The code of its methods, and of what is defined in these."""
    plain = (getattr(value, "fget", getattr(value, "__func__", value)) for value in vars(class_).values())
    waiting = [value.__code__ for value in plain if inspect.isfunction(value)]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [value for value in code.co_consts if isinstance(value, CodeType)]


def identity(class_: type[Any], base: type[Any]) -> str:
    """A hash of the class: the text of its file, or its compiled methods where there is none."""
    content = hashlib.sha256()
    for one in class_.__mro__[: class_.__mro__.index(base)]:
        content.update(_text(one))
    return f"python:{content.hexdigest()[:32]}"


def _text(class_: type) -> bytes:
    try:
        return inspect.getsource(inspect.getmodule(class_) or class_).encode()
    except (OSError, TypeError):
        codes = [value.__code__ for _, value in sorted(vars(class_).items()) if inspect.isfunction(value)]
        return b"".join(_code(code) for code in codes)


def _code(code: CodeType) -> bytes:
    """What a function does, without where it was written."""
    plain = [value for value in code.co_consts if not isinstance(value, CodeType)]
    inner = b"".join(_code(value) for value in code.co_consts if isinstance(value, CodeType))
    return code.co_code + marshal.dumps((code.co_names, code.co_varnames, repr(plain))) + inner
