"""Other leaky buffers by the same technique: what leaks, and in which order the rest is served.

"Understanding CHOKe" (2004), section VII, suggests it; beyond the paper. A packet of a flow in the queue is removed at
rate eta per second and an arrival enters with probability A; served first in, first out with queueing delay tau,

    h b = x A (1-e^{-eta tau})/eta,   1-p = A e^{-eta tau},

and served at random, each queued packet at rate c/b,

    h b = x A/(eta + c/b),   1-p = A (c/b)/(eta + c/b).

* "own", CHOKe: A = (1-h)(1-r), eta = x/b (Poisson arrivals). Served first in, first out it is
  :func:`fairdrop.models.equilibrium.solve`; served at random h = x(1-r)/(c + x(2-r)), the share of the link is that
  of the queue.
* "any", Random Drop: an arrival that finds the buffer of B packets full pushes out any packet: A = 1,
  eta = (X-c)/B for all, so that all lose 1-c/X: no flow is held back.
* "none", a FIFO without leaks, section IV.A: eta = 0. Under RED A = 1-r and all lose r; under DropTail the buffer of
  B packets is full and A = c/X, so that all lose 1-c/X. All wait b/c, so the share of the queue is that of the link,
  and each position is alike: :func:`fifo_profile`.

Validity: a fluid in equilibrium, Poisson arrivals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._nest import log_rate
from fairdrop.models._roots import rising
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.errors import BelowThresholdError, NoEquilibriumError
from fairdrop.models.flows import FlowClass, Responsive, class_dict, flow_classes
from fairdrop.models.red import Red
from fairdrop.models.spatial import SpatialProfile

LEAKS = ("own", "any", "none")
# Logarithm of the fastest rate that is looked for; a Vegas flow that wants more than the queue holds has none.
_WIDEST = 300.0


@dataclass(frozen=True, eq=False)
class LeakyBuffer(Result):
    """Result of :func:`leaky_buffer`; arrays of shape (classes,), per single flow.

    leak: what leaks. b: packets queued. r: RED drop probability. h: share of the queue. p: loss. survival: 1-p.
    tau: mean queueing delay of what is served, s. x: source rate, pkt/s. mu: share of the link. goodput: pkt/s.
    residual: largest relative residual.
    """

    flows: tuple[FlowClass, ...]
    leak: str
    b: float
    r: float
    h: Floats
    p: Floats
    survival: Floats
    tau: Floats
    x: Floats
    mu: Floats
    goodput: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, in the order of ``names``."""
        return class_dict(self, ("leak", "b", "r", "h", "p", "survival", "tau", "x", "mu", "goodput", "residual"))


@dataclass
class _Fate:
    """h, loss, survival and mean delay of one flow at rate x."""

    h: float
    p: float
    survival: float
    tau: float


def _random_choke(x: float, c: float, b: float, r: float) -> _Fate:
    """CHOKe served at random: a queued packet is served at rate c/b and matched at rate x/b."""
    admit = 1.0 - r
    h = x * admit / (c + x * (1.0 + admit))
    survival = c * admit / (c + x * (1.0 + admit))
    return _Fate(h, 1.0 - survival, survival, b / (x + c))


def _rate(flow: FlowClass, fate: Any) -> float:
    if not isinstance(flow, Responsive):
        return float(flow.rate)

    def excess(log_x: float) -> float:
        at = fate(math.exp(log_x))
        return log_x - log_rate(flow.law.rate(at.p, at.survival, at.tau, flow.delay))

    # Served at random a faster flow waits less, and so may send more: the slope may be near 0.
    log_x = rising(excess, 0.0, 1.0, -_WIDEST, _WIDEST)
    return math.exp(_WIDEST if log_x is None else max(log_x, -_WIDEST))


@solver
def leaky_buffer(
    capacity: float, flows: Iterable[FlowClass], *, leak: str, red: Red | None = None, buffer: float | None = None
) -> LeakyBuffer:
    """The equilibrium of a buffer that leaks otherwise than CHOKe's.

    ``leak``: "own" for CHOKe served at random, with ``red``; "any" for Random Drop, with ``buffer`` in packets; "none"
    for a FIFO, with ``red`` for RED or ``buffer`` for DropTail. ``capacity`` in pkt/s.

    Raises ``ValueError`` naming the argument, and :class:`NoEquilibriumError` if the load does not fill the link and
    the queue.
    """
    c = _check.positive("capacity", capacity)
    classes = flow_classes(flows)
    kind = _check.choice("leak", leak, LEAKS)
    count = np.array([flow.count for flow in classes])

    def at(s: float) -> tuple[float, float, list[float], list[_Fate]]:
        """b, r, rates and fates at severity s: along RED's curve, or ln(X/c) for a full buffer."""
        fates: list[Callable[[float], _Fate]]
        if size is not None:
            loss, tau = -math.expm1(-s), size / c * (s / math.expm1(s) if kind == "any" else 1.0)
            fates = [lambda x: _Fate(x / (c * math.exp(s)), loss, math.exp(-s), tau)] * len(classes)
            b, r = size, 0.0
        else:
            assert red is not None
            b, r = red.path(s)
            if kind == "own":
                fates = [lambda x: _random_choke(x, c, b, r)] * len(classes)
            else:
                fates = [lambda x: _Fate((1.0 - r) * x / c, r, 1.0 - r, b / c)] * len(classes)
        x = [_rate(flow, fate) for flow, fate in zip(classes, fates, strict=True)]
        found: list[_Fate] = [fate(rate) for fate, rate in zip(fates, x, strict=True)]
        return b, r, x, found

    size: float | None = None
    if kind == "any" or (kind == "none" and buffer is not None):
        if buffer is None or red is not None:
            raise ValueError(f"buffer must be given with leak {kind!r}, and no red")
        size = _check.positive("buffer", buffer)
        low, high, start = 1e-9, 600.0, 0.1
    else:
        if not isinstance(red, Red) or buffer is not None:
            other = "red or buffer must be given with leak 'none'"
            raise ValueError(other if kind == "none" else f"red must be given with leak {kind!r}, and no buffer")
        low, high = max(red.min_th, 1e-6), red.path_end
        start = low + 0.1 * (high - low)

    def missing(s: float) -> float:
        shares = [fate.h for fate in at(s)[3]]
        return max(1.0 - float(count @ np.array(shares)), -4.0)

    s = rising(missing, start, 0.05 * (high - low), low, high)
    if s == -math.inf:
        raise BelowThresholdError(size if size is not None else low, 1.0 - missing(low))
    if s is None:
        raise NoEquilibriumError("no drop probability below one brings the load down to the capacity")
    b, r, rates, fates = at(s)
    x = np.array(rates)
    h, p, survival, tau = (np.array([getattr(fate, name) for fate in fates]) for name in ("h", "p", "survival", "tau"))
    goodput = x * survival
    allowed = [_rate(flow, None) if not isinstance(flow, Responsive) else
               flow.law.rate(fate.p, fate.survival, fate.tau, flow.delay)
               for flow, fate in zip(classes, fates, strict=True)]  # fmt: skip
    identities = {
        "the sum of the queue shares": equal(count @ h, 1.0),
        "the throughput of the link": equal(count @ goodput, c),
        "the rate law": equal(x, np.array(allowed)),
    }
    if kind == "none":
        identities["Little's law"] = equal(h * b, goodput * tau)
    residual = verified(identities)
    return LeakyBuffer(classes, kind, b, r, h, p, survival, tau, x, goodput / c, goodput, residual)


def fifo_profile(found: LeakyBuffer, points: int = 201) -> SpatialProfile:
    """Who is where in a FIFO without leaks: every position is alike and moves at the speed of the link (003, IV.A).

    Raises ValueError when ``found`` leaks.
    """
    if found.leak != "none":
        raise ValueError(f"found must be a buffer without leaks, got leak {found.leak!r}")
    y = np.linspace(0.0, found.b, _check.integer("points", points, 2))
    speed = found.b / float(found.tau[0])
    rho = np.repeat(found.h[:, None], len(y), axis=1)
    counts = np.array([flow.count for flow in found.flows])
    return SpatialProfile(y, y / speed, rho, np.full_like(y, speed), found.b, counts)
