"""The base class of disciplines in Python."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from fairdrop import _core
from fairdrop.extension.described import Declared, check_names, identity, name_of, parameters, sentence

__all__ = ["HOOKS", "OPTIONAL", "Discipline", "part_of"]

#: The methods that the simulator calls, and with what.
HOOKS = {"enqueue": ("packet",), "dequeue": (), "timer": (), "backlog": ()}
#: What those are for that the base class does not have.
OPTIONAL = {
    "timer": "Called at the time that ``set_timer`` has asked for.",
    "backlog": "Packets and bytes that wait, as a pair, where some wait elsewhere than in ``queue`` and ``new_queue``.",
}


class Discipline(_core.Discipline):
    """A user-defined queue discipline; the simulator makes an object of the class for each queue.

    A class has a ``name`` for scenarios (its own in small letters by default), parameters as class attributes (see
    ``fairdrop.param``), a docstring whose first sentence lists show, and the methods ``enqueue`` and, if packets do not
    leave in order of arrival, ``dequeue``. ``__init__`` has no arguments: when it runs, the parameters, ``limit``,
    ``rate_bps`` and ``queue`` are there. With a method ``timer``, ``set_timer`` calls it. With a method ``backlog``,
    which gives packets and bytes, packets may wait elsewhere than in ``queue`` and those of ``new_queue``.
    ``internals`` are names of attributes that results show; ``avg`` is the average queue. When ``dequeue`` changes
    them, ``departures_change_internals`` is true. ``causes`` are names that ``drop`` takes beside those of the library.
    """

    #: Name in scenarios; that of the class in small letters where it is empty.
    name: ClassVar[str] = ""
    #: Where it was published.
    source: ClassVar[str] = ""
    #: Names of attributes that results show over time; ``avg`` is the average queue. Their values are finite numbers.
    internals: ClassVar[tuple[str, ...]] = ()
    #: Names of causes of drops that the library does not have.
    causes: ClassVar[tuple[str, ...]] = ()
    #: Whether ``dequeue`` changes them.
    departures_change_internals: ClassVar[bool] = False

    def enqueue(self, packet: _core.Packet) -> None:
        """A packet arrives: ``self.queue.push`` it, or ``drop`` it; more may be dropped with it."""
        raise NotImplementedError(f"{type(self).__name__} has no method enqueue")

    def dequeue(self) -> _core.Packet | None:
        """The packet to send next, or None: the link is free. Called when the queue is empty as well."""
        return self.queue.pop()


class _Described(NamedTuple):
    """The description for the simulator."""

    name: str
    doc: str
    source: str
    timed: bool
    counts: bool
    causes: list[str]
    internals: list[str]
    at_departures: bool
    parameters: list[Declared]
    identity: str
    warnings: list[str]


def part_of(class_: type[Discipline]) -> _core.Extension:
    """The compiled half of a class. Raises ValueError for a class that is no discipline."""
    # Much that it looks for is loaded for extensions alone.
    from fairdrop.extension import outside

    check_names(class_, Discipline, HOOKS)
    about = _Described(
        name_of(class_),
        sentence(class_, "A user-defined discipline."),
        class_.source or class_.__name__,
        hasattr(class_, "timer"),
        hasattr(class_, "backlog"),
        list(class_.causes),
        list(class_.internals),
        class_.departures_change_internals,
        parameters(class_, Discipline),
        identity(class_, Discipline),
        outside.warnings(class_, Discipline, name_of(class_)),
    )
    return _core.Extension(class_, about)
