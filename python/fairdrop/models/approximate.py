"""Approximate models of CHOKe: closed forms for the share of a fast flow.

Source: "Understanding CHOKe" (2004), section III. Three approximations: RED acts before CHOKe, equations
(11) to (14); a TCP packet is never matched, (15) and (16); the queue is long, (17). Together they give one
curve, (18) to (22): the share mu of UDP against the load s = x_0(1-r)/c that RED lets through,

    mu/(1-mu) = u e^{-u},   s = (2a-1) u/(a+u),   a = e^u,

where u is the mean number of times a UDP packet in transit is drawn by its own flow. Generalised here
(beyond the paper) to m candidates and K equal constant-rate flows.

Validity: large N and small drop probability. With a fixed RED slope r grows with N, and the peak of the
full model falls below 1/(e+1): see :func:`fairdrop.models.limits.peak_share`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import elementwise

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._nest import match_loss
from fairdrop.models._roots import bracketed, rising
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.equilibrium import draw_rate, tcp_link
from fairdrop.models.errors import BelowThresholdError, ConvergenceError, NoEquilibriumError
from fairdrop.models.flows import Responsive
from fairdrop.models.tcp import RateLaw, Reno

VARIANTS = ("III-C", "order", "three")


@dataclass(frozen=True, eq=False)
class ShareCurve(Result):
    """Points of the approximate curve; arrays of one shape.

    u: log of the mean thinning in the queue, ln a. load: s = x_0(1-r)/c of one fast flow.
    mu: its share of the link. h: its share of the queue.
    """

    AXES: ClassVar[tuple[str, ...]] = ("point",)

    u: Floats
    load: Floats
    mu: Floats
    h: Floats

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and numbers."""
        return dict(_check.plain(self))


def _occupancy(u: float, m: int) -> float:
    return match_loss(u, 0.0, m)[0]


def _points(u: Floats, m: int, flows: float) -> tuple[Floats, Floats, Floats]:
    """Load, share and occupancy of each of ``flows`` fast flows."""
    entered = -np.expm1(-u)
    if m == 1:
        h = entered / (1.0 + entered)
        # 1 - K h without cancellation where two flows nearly fill the queue.
        decay = np.exp(-u)
        others = ((2.0 - flows) + (flows - 1.0) * decay) / (2.0 - decay)
    else:
        h = np.zeros_like(u)
        for _ in range(60):
            power = entered * (1.0 - h) ** (m - 1)
            step = (power * (1.0 - h) - m * h) / (m * (1.0 + power))
            h = h + step
            if np.all(step <= 2e-16 * h):
                break
        others = 1.0 - flows * h
    passed = u * np.exp(-u) * (1.0 - h) ** m
    denominator = m * others + flows * passed
    return u / denominator, passed / denominator, h


def _largest_u(m: int, flows: float) -> float:
    """Where the fast flows alone fill the queue; infinite if matching can always hold them."""
    if flows * _occupancy(800.0, m) <= 1.0:
        return math.inf
    return bracketed(lambda u: flows * _occupancy(u, m) - 1.0, 0.0, 800.0)


def _curve_arguments(candidates: int, udp_flows: float) -> tuple[int, float]:
    return _check.integer("candidates", candidates, 1), _check.positive("udp_flows", udp_flows)


@solver
def share_curve(u: ArrayLike, candidates: int = 1, udp_flows: float = 1.0) -> ShareCurve:
    """The approximate curve, parametrised by u >= 0 (any shape). Equations (18) to (21) for m = K = 1.

    ``udp_flows`` K equal fast flows of the same rate; for K h >= 1 they fill the queue by themselves and
    the point is not a solution: ``ValueError`` names u.
    """
    m, flows = _curve_arguments(candidates, udp_flows)
    grid = _check.array("u", u)
    top = _largest_u(m, flows)
    if grid.size and float(grid.max()) > top:
        raise ValueError(f"u must not exceed {top:g}, where the fast flows fill the queue")
    return _curve(grid, *_points(grid, m, flows), m, flows)


def _curve(u: Floats, load: Floats, mu: Floats, h: Floats, m: int, flows: float) -> ShareCurve:
    """The points, where equation (18) and the throughput of one flow hold: mu = s e^{-u}(1-h)^m."""
    inside = np.isfinite(u)
    through = load * np.exp(-u) * (1.0 - h) ** m
    rest = u * np.exp(-u) * (1.0 - h) ** m * (1.0 - flows * mu)
    verified(
        {
            "the throughput of a fast flow": equal(mu[inside], through[inside]),
            "equation (18)": np.abs(m * mu * (1.0 - flows * h) - rest)[inside],
        }
    )
    return ShareCurve(u, load, mu, h)


@solver
def approximate_share(load: ArrayLike, candidates: int = 1, udp_flows: float = 1.0) -> ShareCurve:
    """The approximate share of each of K equal fast flows at a given load s = x_0(1-r)/c >= 0 (any shape).

    Above the load at which the fast flows fill the queue by themselves (K = 3, m = 1: s = 1) nothing is
    left for TCP: then mu = h = 1/K, u is infinite, and RED, not matching, has to hold them.
    """
    m, flows = _curve_arguments(candidates, udp_flows)
    loads = _check.array("load", load)
    top = _largest_u(m, flows)
    end = _points(np.array([min(top, 800.0)]), m, flows)[0][0]
    full = loads >= end if math.isfinite(top) else np.zeros(loads.shape, dtype=np.bool_)
    wanted = np.where(full, 0.0, loads)

    def excess(u: Floats, s: Floats) -> Floats:
        return _points(u, m, flows)[0] - s

    # s >= u (m = K = 1: s = (2a-1) u/(a+u)) up to a factor m.
    bracket = elementwise.bracket_root(excess, 0.0, np.minimum(top, 1.0 + wanted), args=(wanted,), xmin=0.0, xmax=top)
    found = elementwise.find_root(excess, bracket.bracket, args=(wanted,))
    u = np.where(full, math.inf, np.where(wanted == 0.0, 0.0, found.x))
    _, mu, h = _points(np.where(full, 0.0, u), m, flows)
    curve = _curve(np.where(full, 0.0, u), wanted, mu, h, m, flows)
    verified({"the load": equal(_points(curve.u, m, flows)[0], wanted)})
    return ShareCurve(u, loads, np.where(full, 1.0 / flows, mu), np.where(full, 1.0 / flows, h))


@dataclass(frozen=True)
class MaximumShare:
    """Theorem 1: the peak share ``mu``, at the load x_0(1-r)/c = ``load`` and queue share ``h``; a = e^u."""

    mu: float
    load: float
    h: float
    a: float

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain numbers."""
        return dict(_check.plain(self))


def maximum_share(candidates: int = 1) -> MaximumShare:
    """Theorem 1 and its extension to m candidates, for one constant-rate flow.

    m = 1: mu = 1/(e+1), s = (2e-1)/(e+1), h = (e-1)/(2e-1), a = e. The limit of small r and many TCP flows,
    not an upper bound of the full model.
    """
    m = _check.integer("candidates", candidates, 1)

    def minus_slope(u: float) -> float:
        h = _occupancy(u, m)
        decay = math.exp(-u)
        slope = (1.0 - h) ** m * decay / (m * (1.0 + (1.0 - h) ** (m - 1) * (1.0 - decay)))
        return 1.0 - 1.0 / u + (m - 1) * slope / (1.0 - h)

    u = 1.0 if m == 1 else bracketed(minus_slope, 1e-3, 1.0)
    load, mu, h = (float(value) for value in _points(np.asarray(u), m, 1.0))
    return MaximumShare(mu, load, h, math.exp(u))


@dataclass(frozen=True, eq=False)
class ApproximateEquilibrium(Result):
    """Solution of :func:`tcp_approximate`; arrays hold UDP, then one TCP flow.

    Names and units as in :class:`fairdrop.models.equilibrium.Equilibrium`; h of TCP is 0 by assumption.
    """

    variant: str
    regime: str
    b: float
    r: float
    tau: float
    h: Floats
    p: Floats
    survival: Floats
    x: Floats
    mu: Floats
    goodput: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and numbers."""
        return dict(_check.plain(self))


@solver
def tcp_approximate(
    *,
    capacity: float,
    tcp_flows: float,
    delay: float,
    min_th: float,
    max_th: float,
    max_p: float,
    udp_rate: float,
    candidates: int = 1,
    survival: str = "cbr",
    law: RateLaw | None = None,
    jump: bool = False,
    variant: str = "III-C",
) -> ApproximateEquilibrium:
    """The approximate model solved numerically for one UDP and ``tcp_flows`` TCP flows.

    Arguments as in :func:`fairdrop.models.equilibrium.tcp_equilibrium`. ``variant``:

    * "III-C": equations (3) to (5) for UDP, (6) to (9) and (16), with h_1 = 0 and p_1 = r (section III.C);
    * "order": RED before CHOKe as well, (11) and (14) in place of (3) and (4);
    * "three": "order" with (17), so that ``survival`` has no effect.

    The paper leaves open which of the first two its figures use. Vectorise with a comprehension. Raises
    ``ValueError`` and :class:`BelowThresholdError`.
    """
    link = tcp_link(capacity, min_th, max_th, max_p, candidates, survival, jump)
    x0 = _check.non_negative("udp_rate", udp_rate)
    tcp = Responsive(_check.positive("tcp_flows", tcp_flows), delay, Reno() if law is None else law)
    variant = _check.choice("variant", variant, VARIANTS)
    m, red, c = link.candidates, link.red, link.capacity
    exposure_law = "poisson" if variant == "three" else link.survival
    log_tau = [math.log(link.lower_backlog / c)]

    def udp(b: float, r: float, tau: float) -> tuple[float, float, float]:
        u = draw_rate(b, m, exposure_law) * x0 * tau
        if variant == "III-C":
            return match_loss(u, r, m)
        h, p, passed = match_loss(u * (1.0 - r), 0.0, m)
        return h, r + (1.0 - r) * p, (1.0 - r) * passed

    def delay_of(b: float, r: float) -> float:
        def little(log: float) -> float:
            tau = math.exp(log)
            h, _, passed = udp(b, r, tau)
            return (c - x0 * passed) * tau / b - (1.0 - h)

        middle = math.log(b / c)
        root = rising(little, log_tau[0], 0.02, middle - 28.0, middle + 28.0)
        if root is None or root == -math.inf:
            raise ConvergenceError("Little's law gave no queueing delay")
        log_tau[0] = root
        return math.exp(root)

    def surplus(b: float, r: float) -> float:
        if r >= 1.0:
            return -1.0
        tau = delay_of(b, r)
        throughput = x0 * udp(b, r, tau)[2] + tcp.count * (1.0 - r) * tcp.law.rate(r, 1.0 - r, tau, tcp.delay)
        return min(throughput / c - 1.0, 4.0)

    low = link.lower_backlog
    if low >= red.path_end:
        raise BelowThresholdError(low, None)
    deficit: Callable[[float], float] = lambda s: -surplus(*red.path(s))  # noqa: E731
    at_low = deficit(low)
    if at_low > 0.0:
        raise BelowThresholdError(low, 1.0 - at_low)
    s = bracketed(deficit, low, red.path_end, low_value=at_low)
    b, r = red.path(s)
    if r >= 1.0:
        raise NoEquilibriumError("no drop probability below one brings the load down to the capacity")
    tau = delay_of(b, r)
    h0, p0, passed = udp(b, r, tau)
    x1 = tcp.law.rate(r, 1.0 - r, tau, tcp.delay)
    h, p, through = np.array([h0, 0.0]), np.array([p0, r]), np.array([passed, 1.0 - r])
    x = np.array([x0, x1])
    goodput = x * through
    if variant == "III-C":
        loss = m * h0 + 1.0 - (1.0 - r) * (1.0 - h0) ** m
    else:
        loss = r + (1.0 - r) * (m * h0 + 1.0 - (1.0 - h0) ** m)
    residual = verified(
        {
            "equation (16)": equal((c - goodput[0]) * tau, b * (1.0 - h0)),
            "equation (7)": equal(goodput[0] + tcp.count * goodput[1], c),
            "the loss of UDP": equal(p0, loss),
        }
    )
    regime = "sliding" if red.jump and s > red.max_th else "active"
    return ApproximateEquilibrium(
        variant, regime, b, r, tau, h, p, through, x, goodput / c, goodput, residual
    )
