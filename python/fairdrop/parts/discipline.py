"""The base class of disciplines in Python, and what the simulator is told of a class."""

from __future__ import annotations

import hashlib
import inspect
import marshal
import re
from types import CodeType
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

from fairdrop import _core
from fairdrop.parts.param import Param, written

__all__ = ["Discipline", "part_of"]


class Discipline(_core.Discipline):
    """A queue discipline of one's own; the simulator makes an object of the class for each queue.

    A class has a ``name`` for scenarios (its own in small letters by default), parameters as class attributes (see
    ``fairdrop.param``), a docstring whose first sentence lists show, and the methods ``enqueue`` and, if packets do not
    leave in order of arrival, ``dequeue``. ``__init__`` has no arguments: when it runs, the parameters, ``limit``,
    ``rate_bps`` and ``queue`` are there. With a method ``timer``, ``set_timer`` calls it. With a method ``backlog``,
    which gives packets and bytes, packets may wait elsewhere than in ``queue`` and those of ``new_queue``.
    ``internals`` are names of attributes that results show; ``avg`` is the average queue. When ``dequeue`` changes
    them, ``departures_change_internals`` is true.
    """

    name: ClassVar[str] = ""
    #: Where it was published.
    source: ClassVar[str] = ""
    internals: ClassVar[tuple[str, ...]] = ()
    departures_change_internals: ClassVar[bool] = False

    def enqueue(self, packet: _core.Packet) -> None:
        """A packet arrives: ``self.queue.push`` it, or ``drop`` it; more may be dropped with it."""
        raise NotImplementedError(f"{type(self).__name__} has no method enqueue")

    def dequeue(self) -> _core.Packet | None:
        """The packet to send next, or None: the link is free. Called when the queue is empty as well."""
        return self.queue.pop()


class _Described(NamedTuple):
    """What the simulator is told."""

    name: str
    doc: str
    source: str
    timed: bool
    counts: bool
    internals: list[str]
    at_departures: bool
    parameters: list[_Declared]
    identity: str


class _Declared(NamedTuple):
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


_parts: WeakKeyDictionary[type[Discipline], _core.Part] = WeakKeyDictionary()


def part_of(class_: type[Discipline]) -> _core.Part:
    """What scenarios may name; the same for the same class. Raises ValueError for a class that is no discipline."""
    part = _parts.get(class_)
    if part is None:
        part = _parts[class_] = _core.Part(class_, _described(class_))
    return part


def name_of(class_: type[Discipline]) -> str:
    """The name in scenarios: ``name``, or that of the class in small letters."""
    return class_.name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_.__name__).lower()


def _described(class_: type[Discipline]) -> _Described:
    name = name_of(class_)
    parameters = []
    for attribute, param in _params(class_).items():
        if hasattr(Discipline, attribute):
            why = "disciplines have an attribute of that name; valid: another name"
            raise ValueError(f"{name}: {attribute} is not valid as a parameter: {why}")
        parameters.append(
            _Declared(
                attribute, param.unit, param.kind, param.low, param.high, list(param.words), written(param.default),
                param.doc, param.source,
            )
        )  # fmt: skip
    doc = inspect.getdoc(class_) if class_.__doc__ is not None else None
    sentence = (doc or "A discipline of one's own.").split("\n\n")[0].replace("\n", " ")
    return _Described(
        name,
        sentence,
        class_.source or class_.__name__,
        hasattr(class_, "timer"),
        hasattr(class_, "backlog"),
        list(class_.internals),
        class_.departures_change_internals,
        parameters,
        _identity(class_),
    )


def _params(class_: type[Discipline]) -> dict[str, Param]:
    """Declared parameters, those of base classes first."""
    found: dict[str, Param] = {}
    for base in reversed(class_.__mro__):
        found |= {name: value for name, value in vars(base).items() if isinstance(value, Param)}
    return found


def _identity(class_: type[Discipline]) -> str:
    """A hash of what the class is made of: the text of its file, or its compiled methods where there is none."""
    content = hashlib.sha256()
    for base in class_.__mro__[: class_.__mro__.index(Discipline)]:
        content.update(_text(base))
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
