"""The base class of congestion controls in Python."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from fairdrop import _core
from fairdrop.extension.described import Declared, check_names, identity, name_of, parameters, sentence

__all__ = ["HOOKS", "CongestionControl", "part_of"]

#: The methods that the simulator calls, and with what.
HOOKS = {"on_ack": ("ack",), "on_loss": ("loss",), "on_ecn": ("mark",), "on_timeout": ("timeout",)}


class CongestionControl(_core.CongestionControl):
    """A user-defined congestion control; the simulator makes an object of the class for each connection.

    A class has a ``name`` for scenarios (its own in small letters by default), parameters as class attributes (see
    ``fairdrop.param``), a docstring whose first sentence lists show, and the methods below; those that are
    left out are Reno's (RFC 5681). They set ``cwnd`` and ``ssthresh``, in segments. ``__init__`` has no arguments: when
    it runs, the parameters, ``cwnd``, ``ssthresh`` and ``segment_bytes`` are there.

    Under it is the loss recovery that ``recovery`` names: ``"sack"`` (RFC 6675), ``"newreno"`` (RFC 6582), ``"reno"``
    (RFC 5681) or ``"tahoe"``. With ``needs_ecn`` data is always ECN-capable; with ``echoes_each_packet`` each ACK says
    whether the last packet was marked; with ``one_way_delays`` ACKs have these. With ``model_based`` senders are as
    Linux (``era = "linux"``), ACKs have samples of the rate of delivery, ``cwnd``, in whole segments, is the class's at
    every ACK, in recovery as well, and ``pacing_rate`` says how fast segments leave.
    """

    #: Name in scenarios; that of the class in small letters where it is empty.
    name: ClassVar[str] = ""
    #: Where it was published.
    source: ClassVar[str] = ""
    #: The loss recovery under it: ``"sack"`` (RFC 6675), ``"newreno"`` (RFC 6582), ``"reno"`` (RFC 5681), ``"tahoe"``.
    recovery: ClassVar[str] = "sack"
    #: Whether its data is always ECN-capable.
    needs_ecn: ClassVar[bool] = False
    #: Whether each ACK says if the last packet was marked.
    echoes_each_packet: ClassVar[bool] = False
    #: Whether ACKs have one-way delays.
    one_way_delays: ClassVar[bool] = False
    #: Whether senders are as Linux, with samples of the rate of delivery and pacing; ``cwnd`` is then always its own.
    model_based: ClassVar[bool] = False

    def on_ack(self, ack: _core.Ack) -> None:
        """An ACK has arrived: new or duplicate, in loss recovery or not. Sets ``cwnd``."""
        if ack.may_grow:
            self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd

    def on_loss(self, loss: _core.CongestionEvent) -> None:
        """A segment is lost, and is sent again: sets ``ssthresh``, from which loss recovery takes ``cwnd``."""
        if not loss.follows_ecn:
            self.ssthresh = self._half(loss)

    def on_ecn(self, mark: _core.CongestionEvent) -> None:
        """A packet was marked, the first in a window: sets ``ssthresh``, to which ``cwnd`` is then cut."""
        self.ssthresh = self._half(mark)

    def on_timeout(self, timeout: _core.CongestionEvent) -> None:
        """The retransmission timer ran out: sets ``ssthresh``; ``cwnd`` is then 1."""
        if not timeout.again:
            self.ssthresh = self._half(timeout)

    @staticmethod
    def _half(event: _core.CongestionEvent) -> float:
        return max((event.flight or 0.0) / 2, 2.0)


class _Described(NamedTuple):
    """The description for the simulator."""

    name: str
    doc: str
    source: str
    recovery: str
    needs_ecn: bool
    echoes_each_packet: bool
    one_way_delays: bool
    model_based: bool
    parameters: list[Declared]
    identity: str
    warnings: list[str]


def part_of(class_: type[CongestionControl]) -> _core.Extension:
    """The compiled half of a class. Raises ValueError for a class that is no congestion control."""
    # Much that it looks for is loaded for extensions alone.
    from fairdrop.extension import outside

    check_names(class_, CongestionControl, HOOKS)
    if class_.model_based and class_.recovery != "sack":
        raise ValueError(
            f"{name_of(class_)}: recovery = {class_.recovery!r} is not valid with model_based; valid: 'sack'"
        )
    about = _Described(
        name_of(class_),
        sentence(class_, "A user-defined congestion control."),
        class_.source or class_.__name__,
        class_.recovery,
        class_.needs_ecn,
        class_.echoes_each_packet,
        class_.one_way_delays,
        class_.model_based,
        parameters(class_, CongestionControl),
        identity(class_, CongestionControl),
        outside.warnings(class_, CongestionControl, name_of(class_)),
    )
    return _core.Extension.of_control(class_, about)
