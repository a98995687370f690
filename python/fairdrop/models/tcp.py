"""Rate laws of responsive sources: x = f(p, tau) of "Understanding CHOKe", equation (8)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from fairdrop.models import _check


class RateLaw(Protocol):
    """Equilibrium rate of one source, pkt/s.

    ``loss`` is p in [0, 1] and ``survival`` is 1 - p, given separately because p may round to 1;
    ``queueing`` is tau and ``delay`` the round-trip propagation delay d, both in seconds. The rate must
    not be negative and must increase neither with the loss nor with ``queueing``: uniqueness rests on it.
    """

    def rate(self, loss: float, survival: float, queueing: float, delay: float) -> float:
        """Rate in pkt/s."""
        ...


@dataclass(frozen=True)
class Reno:
    """Square-root law: ``sqrt(constant (1-p)/p) / (d + tau)``, equation (43).

    ``small_loss=True`` drops the factor 1-p, as section VI does for the minimum number of flows.
    Neither form knows retransmission timeouts: do not trust it above a loss of about 0.1 to 0.2, and see :class:`Pftk`.
    """

    small_loss: bool = False
    constant: float = 2.0

    def __post_init__(self) -> None:
        _check.store(
            self,
            small_loss=_check.switch("small_loss", self.small_loss),
            constant=_check.positive("constant", self.constant),
        )

    def rate(self, loss: float, survival: float, queueing: float, delay: float) -> float:
        """Rate in pkt/s; infinite without loss."""
        if loss <= 0.0:
            return math.inf
        ratio = self.constant / loss
        if not self.small_loss:
            ratio *= survival
        return math.sqrt(ratio) / (delay + queueing)


@dataclass(frozen=True)
class Pftk:
    """Reno with timeouts: ``1 / (R sqrt(2 b p/3) + T min(1, 3 sqrt(3 b p/8)) p (1 + 32 p^2))``.

    J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP throughput", SIGCOMM 1998, equation (33), without a limit
    of the window. R is d + tau; T, the first timeout, is ``min_rto`` or R, whichever is longer; b, ``packets_per_ack``.
    The paper takes every packet after a loss in the same round to be lost as well, so losses that are independent leave
    TCP more than this, and the square-root law, which has no timeouts, is on the other side.
    """

    min_rto: float = 1.0
    packets_per_ack: float = 1.0

    def __post_init__(self) -> None:
        _check.store(
            self,
            min_rto=_check.positive("min_rto", self.min_rto),
            packets_per_ack=_check.positive("packets_per_ack", self.packets_per_ack),
        )

    def rate(self, loss: float, survival: float, queueing: float, delay: float) -> float:
        """Rate in pkt/s; infinite without loss."""
        if loss <= 0.0:
            return math.inf
        round_trip = delay + queueing
        timeout = max(self.min_rto, round_trip)
        halves = math.sqrt(2.0 * self.packets_per_ack * loss / 3.0)
        timeouts = min(1.0, 3.0 * math.sqrt(3.0 * self.packets_per_ack * loss / 8.0))
        return 1.0 / (round_trip * halves + timeout * timeouts * loss * (1.0 + 32.0 * loss * loss))


@dataclass(frozen=True)
class Vegas:
    """Delay-based law: ``alpha / tau``, section V.C. ``alpha`` is the packets a flow keeps queued."""

    alpha: float

    def __post_init__(self) -> None:
        _check.store(self, alpha=_check.positive("alpha", self.alpha))

    def rate(self, loss: float, survival: float, queueing: float, delay: float) -> float:
        """Rate in pkt/s, whatever the loss and the propagation delay."""
        return self.alpha / queueing if queueing > 0.0 else math.inf
