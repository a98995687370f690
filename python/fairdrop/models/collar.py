"""COLLAR as a fluid: the fixed points of its limit, and which of them hold.

Source of the algorithm: this project, ``docs/background/collar.md``; everything here is ours. With ``s`` the sum of the
squared shares of the output, a flow that sends the part x of the link has sent ``over = x/(a s)`` times its limit,
where a is the parameter ``share``. With p = root^2 the base probability, l = min(1 + slack/root, 1.4) and phi = l w,

    u = over/phi,   k = 2 - s^2,   L = 0 up to u = 1, (u-1)^2/(k (k-1)) up to k, 1 - 1/(u l) above;
    B = min(p, 64 s) min(over, phi)^2 + max(p - 64 s, 0);
    1 - loss = (1-L) (1-B),   q = x (1 - loss),   sum q = 1.

The output that a limit makes has a sum of squares S(s) = sum q^2 (1+v). Fixed points are S(s) = s. As s follows S with
a lag, a fixed point holds where dS/ds < 1. The wait is what the controller aims at: ``target``, or one packet of each
of 1/s flows where that takes longer, and at most half of the buffer.

Where the flows do not fill the link without base drops, the limit is widened, w > 1, until they do; the wait is then
0.8 of the aim. Where a limit of the whole link does not suffice either, the rule that two packets must wait decides:
drops act for a part of the time, and the wait is taken to be that part of the aim.

Validity: every flow that matters is a suspect (fewer than places); means, no bursts; v, the squared variation of the
shares of responsive flows within the memory, is given, not predicted. Packets are of one size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._nest import log_rate
from fairdrop.models._roots import bracketed
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.errors import NoEquilibriumError
from fairdrop.models.flows import ConstantRate, FlowClass, allowed_rates, class_dict, flow_classes

#: Constants of the discipline: crates/fairdrop/src/disciplines/collar/.
SLACK, LOOSEST, KNEE, MOST_ROOT = 0.003, 1.4, 2.0, 0.5
MOST_DRAWS, LEAST = 64.0, 1.0 / 16_384.0
WIDEN_BELOW = 0.8
_STEPS_PER_E = 24
_LEAST_ROOT = 1e-6
_LEAST_LOG_RATE, _MOST_LOG_RATE = -60.0, 10.0


@dataclass(frozen=True, eq=False)
class CollarShares(Result):
    """Result of :func:`collar_shares`; one entry per fixed point, the least first.

    q: share of the link of one greedy sender. tcp: of one TCP flow. s: sum of squares. slope: dS/ds; below 1 the point
    holds. greed: q times the number of all flows, 1 when fair.
    """

    senders: float
    tcp_flows: float
    limit: float
    variation: float
    q: Floats
    tcp: Floats
    s: Floats
    slope: Floats
    greed: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        names = ("senders", "tcp_flows", "limit", "variation", "q", "tcp", "s", "slope", "greed", "residual")
        return {name: _check.plain(getattr(self, name)) for name in names}


@dataclass(frozen=True, eq=False)
class CollarEquilibrium(Result):
    """Result of :func:`collar_equilibrium`; arrays of shape (classes,), per single flow.

    s: estimate of the discipline. root: root of the base probability. active: part of the time in which drops act, 1
    unless root is 0. tau: wait, s. over: what a flow sends over its limit. p: loss. survival: 1-p. x: source rate,
    pkt/s. mu: share of the link. goodput: pkt/s. fixed_points, slopes: all s with S(s) = s, and dS/ds there, of shape
    (points,); this is the least of those that hold. residual: largest relative residual.
    """

    flows: tuple[FlowClass, ...]
    capacity: float
    share: float
    variation: float
    s: float
    root: float
    active: float
    tau: float
    over: Floats
    p: Floats
    survival: Floats
    x: Floats
    mu: Floats
    goodput: Floats
    fixed_points: Floats
    slopes: Floats
    residual: float

    DIMS: ClassVar[Mapping[str, tuple[str, ...]]] = {"fixed_points": ("point",), "slopes": ("point",)}

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, in the order of ``names``."""
        keys = ("share", "variation", "s", "root", "active", "tau", "over", "p", "survival", "x", "mu", "goodput")
        return class_dict(self, (*keys, "fixed_points", "slopes", "residual"))


@solver
def collar_shares(senders: float, tcp_flows: float, limit: float = 0.9, variation: float = 0.0) -> CollarShares:
    """Fixed points of two classes: ``senders`` that are held to ``limit`` s, and TCP flows that share the rest.

    S = K q^2 + (1+v) (1 - K q)^2 / N with q = limit s. ``variation`` is v. With limit 1 and v 0 they are 1/(N+K), of
    slope 0, and 1/K, of slope 2. Fixed points at which the senders would take more than the link are left out.

    Raises ``ValueError`` naming the argument.
    """
    k, n = _check.positive("senders", senders), _check.positive("tcp_flows", tcp_flows)
    a, v = _check.positive("limit", limit), _check.non_negative("variation", variation)
    # In y = K q: y^2 (1/K + (1+v)/N) - y (2 (1+v)/N + 1/(a K)) + (1+v)/N = 0.
    rest = (1.0 + v) / n
    second, first = 1.0 / k + rest, 2.0 * rest + 1.0 / (a * k)
    under = first * first - 4.0 * second * rest
    # The larger root without cancellation, the smaller from their product.
    larger = (first + math.sqrt(max(under, 0.0))) / (2.0 * second)
    y = np.array([root for root in (rest / (second * larger), larger) if under >= 0.0 and root <= 1.0 + 1e-12])
    if y.size == 0:
        raise NoEquilibriumError("no share of the greedy senders is a fixed point: the limit is too loose")
    q, tcp = y / k, np.maximum(1.0 - y, 0.0) / n
    s = q / a
    squares = k * q**2 + n * (1.0 + v) * tcp**2
    residual = verified({"the sum of squares": equal(squares, s), "the link": equal(k * q + n * tcp, 1.0)})
    slope = 2.0 * a * (k * q - k * (1.0 + v) * tcp)
    return CollarShares(k, n, a, v, q, tcp, s, slope, q * (n + k), residual)


@dataclass(frozen=True)
class _Limits:
    """What arrivals are judged by."""

    s: float
    share: float
    root: float
    active: float = 1.0
    tail: float = 0.0
    widened: float = 1.0

    def loss(self, x: float) -> tuple[float, float, float]:
        """Excess over the limit, loss and survival of a flow that sends the part x of the link."""
        slack = min(1.0 + SLACK / self.root, LOOSEST) if self.root > 0.0 else LOOSEST
        phi = slack * self.widened
        over = x / (self.share * self.s)
        kept = 1.0 - self.active * _excess(over / phi, KNEE - self.s * self.s, slack)
        p = self.root * self.root
        by_share = min(p, MOST_DRAWS * self.s)
        base = min(by_share * min(over, phi) ** 2 + p - by_share, 1.0)
        survival = kept * (1.0 - base) * (1.0 - self.tail)
        return over, 1.0 - survival, survival


def _excess(u: float, knee: float, slack: float) -> float:
    if u <= 1.0:
        return 0.0
    return (u - 1.0) ** 2 / (knee * (knee - 1.0)) if u < knee else 1.0 - 1.0 / (u * slack)


@dataclass(frozen=True)
class _Link:
    """A link and its flows."""

    capacity: float
    flows: tuple[FlowClass, ...]
    share: float
    target: float
    buffer: float
    variation: float

    def aim(self, s: float) -> float:
        """The wait that the controller aims at."""
        packet = 1.0 / self.capacity
        return min(max(self.target, packet / s), 0.5 * self.buffer * packet)

    def wait(self, limits: _Limits) -> float:
        """The wait at which the controller rests."""
        return limits.active * self.aim(limits.s) * (WIDEN_BELOW if limits.widened > 1.0 else 1.0)

    def rate(self, flow: FlowClass, limits: _Limits, tau: float) -> float:
        """What one flow sends, as a part of the link."""
        if isinstance(flow, ConstantRate):
            return flow.rate / self.capacity
        law, delay = flow.law, flow.delay

        def sent_over_allowed(log_x: float) -> float:
            _, loss, survival = limits.loss(math.exp(log_x))
            return log_x + math.log(self.capacity) - log_rate(law.rate(loss, survival, tau, delay))

        # Where drops hardly act TCP has no bound but this one, far above any link; where all is dropped it is silent.
        low, high = sent_over_allowed(_LEAST_LOG_RATE), sent_over_allowed(_MOST_LOG_RATE)
        if high <= 0.0 or low >= 0.0:
            return math.exp(_MOST_LOG_RATE if high <= 0.0 else _LEAST_LOG_RATE)
        ends = {"low_value": low, "high_value": high}
        return math.exp(bracketed(sent_over_allowed, _LEAST_LOG_RATE, _MOST_LOG_RATE, **ends))

    def rates(self, limits: _Limits) -> list[float]:
        tau = self.wait(limits)
        return [self.rate(flow, limits, tau) for flow in self.flows]

    def load(self, limits: _Limits) -> float:
        """What passes, as a part of the link."""
        each = zip(self.flows, self.rates(limits), strict=True)
        return sum(flow.count * x * limits.loss(x)[2] for flow, x in each)

    def balanced(self, s: float) -> _Limits:
        """The base probability with which the link is just full.

        Where it is not even without, how far the limit is widened, or how often drops act. Where it is overfull with
        the largest, the part that the full buffer drops.
        """
        free = _Limits(s, self.share, 0.0)
        if self.load(free) < 1.0:
            whole = max(1.0 / (LOOSEST * self.share * s), 1.0)
            if self.load(_Limits(s, self.share, 0.0, widened=whole)) >= 1.0:
                widened = bracketed(
                    lambda times: self.load(_Limits(s, self.share, 0.0, widened=times)) - 1.0, 1.0, whole
                )
                return _Limits(s, self.share, 0.0, widened=widened)
            active = bracketed(
                lambda part: self.load(_Limits(s, self.share, 0.0, part, widened=whole)) - 1.0, 0.0, 1.0
            )
            return _Limits(s, self.share, 0.0, active, widened=whole)

        def excess(log_root: float) -> float:
            return self.load(_Limits(s, self.share, math.exp(log_root))) - 1.0

        low = math.log(_LEAST_ROOT)
        at_low = excess(low)
        if excess(math.log(MOST_ROOT)) > 0.0:
            tail = bracketed(lambda part: self.load(_Limits(s, self.share, MOST_ROOT, 1.0, part)) - 1.0, 0.0, 1.0)
            return _Limits(s, self.share, MOST_ROOT, 1.0, tail)
        log_root = low if at_low <= 0.0 else bracketed(excess, low, math.log(MOST_ROOT), low_value=at_low)
        return _Limits(s, self.share, math.exp(log_root))

    def squares(self, s: float) -> float:
        """S(s)."""
        limits = self.balanced(s)
        total = 0.0
        for flow, x in zip(self.flows, self.rates(limits), strict=True):
            spread = 1.0 if isinstance(flow, ConstantRate) else 1.0 + self.variation
            total += flow.count * spread * (x * limits.loss(x)[2]) ** 2
        return total


@solver
def collar_equilibrium(
    capacity: float,
    flows: Iterable[FlowClass],
    *,
    share: float = 0.9,
    target: float = 0.015,
    buffer: float = 1e9,
    variation: float = 0.0,
) -> CollarEquilibrium:
    """Shares under COLLAR of any mix of constant rates and of responsive flows with any round-trip times.

    ``capacity`` in pkt/s; ``share`` and ``target`` (s) are the discipline's; ``buffer`` in packets; ``variation`` is v.

    Raises ``ValueError`` naming the argument, and :class:`NoEquilibriumError` if the load is below the capacity or no
    fixed point holds.
    """
    link = _link(capacity, flows, share, target, buffer, variation)
    points = _fixed_points(link)
    slopes = [_slope(link, s) for s in points]
    holding = [s for s, slope in zip(points, slopes, strict=True) if slope < 1.0]
    if not holding:
        raise NoEquilibriumError("no fixed point of the limit holds")
    return _result(link, holding[0], points, slopes)


@solver
def collar_map(
    s: float,
    capacity: float,
    flows: Iterable[FlowClass],
    *,
    share: float = 0.9,
    target: float = 0.015,
    buffer: float = 1e9,
    variation: float = 0.0,
) -> float:
    """S(s): the sum of squares of the output that a limit set by ``s`` makes; see :func:`collar_equilibrium`."""
    at = _check.within("s", s, LEAST, 1.0)
    return _link(capacity, flows, share, target, buffer, variation).squares(at)


def _link(
    capacity: float, flows: Iterable[FlowClass], share: float, target: float, buffer: float, variation: float
) -> _Link:
    """The link, checked, whose flows offer more than it carries."""
    link = _Link(
        _check.positive("capacity", capacity), flow_classes(flows), _check.positive("share", share),
        _check.positive("target", target), _check.positive("buffer", buffer),
        _check.non_negative("variation", variation),
    )  # fmt: skip
    offered = sum(math.inf if not isinstance(flow, ConstantRate) else flow.count * flow.rate for flow in link.flows)
    if offered <= link.capacity:
        raise NoEquilibriumError("the load is below the capacity: nothing need be dropped")
    return link


def _fixed_points(link: _Link) -> list[float]:
    """All s with S(s) = s, the least first: changes of sign on a fine grid of its logarithm."""
    number = sum(flow.count for flow in link.flows)
    low = math.log(max(0.25 / number, LEAST))

    def gap(log_s: float) -> float:
        return math.log(link.squares(math.exp(log_s))) - log_s

    grid: Sequence[float] = np.linspace(low, 0.0, max(round(-low * _STEPS_PER_E), 8)).tolist()
    values = [gap(log_s) for log_s in grid]
    found = []
    for k in range(len(grid) - 1):
        if values[k] == 0.0:
            found.append(math.exp(grid[k]))
        elif values[k] * values[k + 1] < 0.0:
            root = bracketed(gap, grid[k], grid[k + 1], low_value=values[k], high_value=values[k + 1])
            found.append(math.exp(root))
    # s is at most 1: where the output of one flow would make more of it, that is where it stays.
    if values[-1] >= 0.0:
        found.append(1.0)
    return found


def _slope(link: _Link, s: float) -> float:
    """dS/ds at a fixed point; 0 where s has reached its end."""
    if s >= 1.0:
        return 0.0
    step = 1e-4
    up, down = link.squares(s * math.exp(step)), link.squares(s * math.exp(-step))
    return math.log(up / down) / (2.0 * step)


def _result(link: _Link, s: float, points: list[float], slopes: list[float]) -> CollarEquilibrium:
    limits = link.balanced(s)
    if limits.tail > 0.0:
        raise NoEquilibriumError("the base probability is at its most: the buffer overflows, which is not modelled")
    shares = np.array(link.rates(limits))
    over, p, survival = np.array([limits.loss(float(x)) for x in shares]).T
    count = np.array([flow.count for flow in link.flows])
    spread = np.array([1.0 if isinstance(flow, ConstantRate) else 1.0 + link.variation for flow in link.flows])
    mu = shares * survival
    tau = link.wait(limits)
    squares = float(count @ (spread * mu**2))
    residual = verified(
        {
            "the throughput of the link": equal(count @ mu, 1.0),
            "the sum of squares": equal(min(squares, 1.0), s),
            "the rate law": equal(shares * link.capacity, allowed_rates(link.flows, p, survival, tau)),
            "the loss beside the survival": np.abs(1.0 - p - survival),
            "the excess": equal(over * link.share * s, shares),
        }
    )
    return CollarEquilibrium(
        link.flows, link.capacity, link.share, link.variation, s, limits.root, limits.active, tau, over, p, survival,
        shares * link.capacity, mu, mu * link.capacity, np.array(points), np.array(slopes), residual,
    )  # fmt: skip
