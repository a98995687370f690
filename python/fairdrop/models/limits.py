"""Limits and bounds of the CHOKe equilibrium: an infinitely fast flow, the peak share, the fewest flows.

Source: "Understanding CHOKe" (2004), sections IV.D, IV.E and VI; what goes beyond it is marked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._nest import throughput
from fairdrop.models._roots import bracketed, rising
from fairdrop.models._verify import TOLERANCE, equal, solver, verified
from fairdrop.models.approximate import maximum_share
from fairdrop.models.equilibrium import Equilibrium, Solver, draw_rate, tcp_case, tcp_equilibrium, tcp_link
from fairdrop.models.errors import BelowThresholdError, ConvergenceError, NoEquilibriumError
from fairdrop.models.flows import FlowClass, Responsive
from fairdrop.models.tcp import RateLaw, Reno

FORMS = ("exact", "log", "linear")


def occupancy_bound(r: ArrayLike = 0.0, candidates: int = 1) -> Floats:
    """Largest share of the queue a flow can hold, theorem 5: H with m H = (1-r)(1-H)^m.

    (1-r)/(2-r) for one candidate; m > 1 is beyond the paper. ``r`` in [0, 1], any shape.
    """
    m = _check.integer("candidates", candidates, 1)
    drop = _check.array("r", r)
    if np.any(drop > 1.0):
        raise ValueError("r must not exceed 1")
    admit = 1.0 - drop
    if m == 1:
        return np.asarray(admit / (1.0 + admit))
    h = np.zeros_like(admit)
    for _ in range(60):
        power = admit * (1.0 - h) ** (m - 1)
        step = (power * (1.0 - h) - m * h) / (m * (1.0 + power))
        h = h + step
        if np.all(np.abs(step) <= 2e-16):
            break
    return np.asarray(h)


def flows_held(candidates: int = 1, r: float = 0.0) -> int:
    """Most equally fast flows that matching can hold, beyond the paper: the largest K with K H_m(r) < 1.

    1, 3, 5, 7, 9 for 1 to 5 candidates without RED. With more of them (K H_m = 1 is marginal, for instance
    K = 2, m = 1) the queue of fast flows grows until RED drops enough, see :func:`drop_needed`.
    """
    bound = float(occupancy_bound(_check.within("r", r, 0.0, 1.0), candidates))
    if bound == 0.0:
        raise ValueError("r must be below 1")
    # K H_m is an exact integer at the marginal cases, up to rounding.
    return math.ceil(1.0 / bound * (1.0 - 1e-12)) - 1


def drop_needed(udp_flows: float, candidates: int = 1) -> float:
    """RED drop probability that K infinitely fast flows force, beyond the paper: the r with K H_m(r) = 1.

    (K-2)/(K-1) for one candidate and K >= 2; 0 if matching alone holds them. If RED cannot reach it below
    ``max_th``, the queue stays there (sliding regime).
    """
    k = _check.positive("udp_flows", udp_flows)
    m = _check.integer("candidates", candidates, 1)
    if k <= 1.0:
        return 0.0
    return max(0.0, 1.0 - m / k / (1.0 - 1.0 / k) ** m)


def peak_share(r: ArrayLike) -> tuple[Floats, Floats]:
    """Peak of the UDP share for many TCP flows at a RED drop probability ``r``, beyond the paper.

    Keeping the order match, then RED, and letting h_1 -> 0: mu/(1-mu) = (1-r) u e^{-u}, with the peak
    mu = (1-r)/(e+1-r) at x_0/c = (e+(1-r)(e-1))/(e+1-r). Returns (mu, x_0/c), shapes of ``r`` in [0, 1).
    The 1/(e+1) of theorem 1 is the case r = 0; as N grows at a fixed RED slope, r grows and the peak falls.
    """
    drop = _check.array("r", r)
    if np.any(drop >= 1.0):
        raise ValueError("r must be below 1")
    admit = 1.0 - drop
    return np.asarray(admit / (math.e + admit)), np.asarray(
        (math.e + admit * (math.e - 1.0)) / (math.e + admit)
    )


@solver
def peak(
    *,
    capacity: float,
    tcp_flows: float,
    delay: float,
    min_th: float,
    max_th: float,
    max_p: float,
    candidates: int = 1,
    survival: str = "cbr",
    law: RateLaw | None = None,
    jump: bool = False,
) -> Equilibrium:
    """The equilibrium of the full model at the UDP rate that maximises the UDP share.

    Searched within a factor of 4,000 of the rate where the approximate model has its peak. Arguments and errors as in
    :func:`fairdrop.models.equilibrium.tcp_equilibrium`; :class:`NoEquilibriumError` also where the share is
    highest at the end of what has an equilibrium (few TCP flows: below some UDP rate the queue is not kept).
    The rate is found to about 1e-6 relative, the share to about 1e-12.
    """

    def at(rate: float) -> Equilibrium:
        return tcp_equilibrium(
            capacity=capacity, tcp_flows=tcp_flows, delay=delay, min_th=min_th, max_th=max_th, max_p=max_p,
            udp_rate=rate, candidates=candidates, survival=survival, law=law, jump=jump,
        )  # fmt: skip

    c = _check.positive("capacity", capacity)
    _check.positive("tcp_flows", tcp_flows)

    def share(log_ratio: float) -> float:
        try:
            return float(at(c * math.exp(log_ratio)).mu[0])
        except NoEquilibriumError:
            return 0.0

    # Around the peak of the approximate model, each rate twice the one before.
    middle = math.log(maximum_share(candidates).load)
    grid = [middle + math.log(2.0) * step for step in range(-12, 13)]
    shares = [share(value) for value in grid]
    top = max(range(len(grid)), key=shares.__getitem__)
    if shares[top] == 0.0:
        at(c * math.exp(middle))
    inside = 0 < top < len(grid) - 1 and shares[top - 1] > 0.0 and shares[top + 1] > 0.0
    if not inside:
        rate = f"{c * math.exp(grid[top]):.4g}"
        raise NoEquilibriumError(
            "the share of UDP has no peak where there is an equilibrium: it is highest at the end, "
            f"near {rate} packets/s"
        )
    bounds = (grid[top - 1], grid[top + 1])
    found = minimize_scalar(lambda value: -share(value), bounds=bounds, method="bounded", options={"xatol": 1e-7})
    result = at(c * math.exp(float(found.x)))
    if result.mu[0] < shares[top] * (1.0 - TOLERANCE):
        raise ConvergenceError("the search for the peak of the share ended below a point it had passed")
    return result


@dataclass(frozen=True)
class Asymptote:
    """Result of :func:`asymptote`: the equilibrium for an infinitely fast UDP flow.

    b: backlog, pkt. r: RED drop probability. p: loss of a TCP flow. x: its rate, pkt/s.
    tau: queueing delay, s. h: queue shares of UDP and of one TCP flow. beta: log survival per own arrival.
    y_star: position where UDP ends, pkt, theorem 8. theta: decay of the UDP survival per unit rate, s/pkt.
    """

    form: str
    regime: str
    capacity: float
    tcp_flows: float
    candidates: int
    b: float
    r: float
    p: float
    x: float
    tau: float
    h: tuple[float, float]
    beta: float
    y_star: float

    @property
    def theta(self) -> float:
        """Decay of the log survival of UDP per unit of its rate, s/pkt."""
        return self.beta * self.tau

    def udp_share(self, udp_rate: ArrayLike) -> Floats:
        """Share of a fast UDP flow (theorem 6, made quantitative): (x_0/c)(1-r)(1-h_0)^m e^{-theta x_0}.

        Beyond the paper; the relative error vanishes as ``udp_rate`` (pkt/s, any shape) grows.
        """
        x0 = _check.array("udp_rate", udp_rate)
        entered = (1.0 - self.r) * (1.0 - self.h[0]) ** self.candidates
        return np.asarray(x0 / self.capacity * entered * np.exp(-self.theta * x0))

    def to_dict(self) -> dict[str, Any]:
        """All fields and theta as plain values."""
        return {**_check.plain(self), "theta": self.theta}


@solver
def asymptote(
    *,
    capacity: float,
    tcp_flows: float,
    delay: float,
    min_th: float,
    max_th: float,
    max_p: float,
    candidates: int = 1,
    survival: str = "cbr",
    law: RateLaw | None = None,
    jump: bool = False,
    form: str = "exact",
) -> Asymptote:
    """The regime x_0 -> infinity, one unknown instead of ten. Section IV.E.

    ``form`` sets the queueing delay: "log" by equation (41), tau = ln(1 + beta x_1 b/((2-r)c))/(beta x_1);
    "linear" by (42), tau = b/((2-r)c); "exact" by the limit of equations (3) to (9), which equals (41) iff
    beta b = 1 and is within O(1/b) of it otherwise. The first two are for one candidate only.

    Arguments and errors as in :func:`fairdrop.models.equilibrium.tcp_equilibrium`.
    """
    link = tcp_link(capacity, min_th, max_th, max_p, candidates, survival, jump)
    tcp = Responsive(_check.positive("tcp_flows", tcp_flows), delay, Reno() if law is None else law)
    form = _check.choice("form", form, FORMS)
    m, red, c, n = link.candidates, link.red, link.capacity, tcp.count
    if form != "exact" and m != 1:
        raise ValueError(f"candidates must be 1 for form {form!r}, got {candidates!r}")

    def state(s: float) -> tuple[float, float, float, float, float, float, float] | None:
        """b, r, h_0, h_1, p, x, tau; None where TCP could not fill the link."""
        b, r = red.path(s)
        h0 = float(occupancy_bound(r, m))
        h1 = (1.0 - h0) / n
        through = (1.0 - r) * (1.0 - h1) ** m - m * h1
        if through <= 1e-12:
            return None
        p = m * h1 + r - (1.0 - r) * math.expm1(m * math.log1p(-h1))
        x = c / (n * through)
        beta = draw_rate(b, m, link.survival)
        if form == "linear":
            tau = b / ((2.0 - r) * c)
        elif form == "log":
            tau = math.log1p(beta * x * b / ((2.0 - r) * c)) / (beta * x)
        else:
            tau = math.log1p(m * h1 / through) / (beta * x)
        return b, r, h0, h1, p, x, tau

    def excess(s: float) -> float:
        at = state(s)
        if at is None:
            return 1.0
        _, _, _, _, p, x, tau = at
        # A bounded function of rate over allowed rate, so that the search does not crawl along a pole.
        allowed = tcp.law.rate(p, 1.0 - p, tau, tcp.delay)
        return (x - allowed) / (x + allowed)

    low, high = link.lower_backlog, red.path_end
    at_low = excess(low) if low < high else 1.0
    if at_low > 0.0:
        utilisation = (1.0 - at_low) / (1.0 + at_low)
        raise BelowThresholdError(low, utilisation)
    s = bracketed(excess, low, high, low_value=at_low)
    found = state(s)
    if found is None:
        raise NoEquilibriumError("TCP cannot fill the link at any drop probability")
    b, r, h0, h1, p, x, tau = found
    regime = "sliding" if red.jump and s > red.max_th else "active"
    beta = draw_rate(b, m, link.survival)
    verified(
        {
            "the sum of the queue shares": equal(h0 + n * h1, 1.0),
            "the rate law": equal(x, tcp.law.rate(p, 1.0 - p, tau, tcp.delay)),
            "equation (39)": equal(n * x * (1.0 - p), c),
            "the RED curve": equal(r, r if regime == "sliding" else min(1.0, max(0.0, red.slope * (b - red.min_th)))),
        }
    )
    return Asymptote(form, regime, c, n, m, b, r, p, x, tau, (h0, h1), beta, b * h0)


def minimum_flows_estimate(capacity: float, delay: float, min_th: float) -> float:
    """Estimate of the fewest TCP flows that keep CHOKe active, section VI: (c d + min_th)^(2/3) / 2^(1/3).

    ``capacity`` in pkt/s, ``delay`` in s, ``min_th`` in pkt. For a fast UDP flow, from p_1 >= 1/N, the
    small-loss Reno law and tau about min_th/c; 8.08 with the paper's parameters. Compare
    :func:`minimum_flows`.
    """
    c = _check.positive("capacity", capacity)
    product = c * _check.non_negative("delay", delay) + _check.non_negative("min_th", min_th)
    return float((product / math.sqrt(2.0)) ** (2.0 / 3.0))


@solver
def minimum_flows(
    *,
    capacity: float,
    delay: float,
    min_th: float,
    udp_rate: float,
    candidates: int = 1,
    survival: str = "cbr",
    law: RateLaw | None = None,
) -> float:
    """Real-valued number of TCP flows at which the full model's queue is ``min_th``; beyond the paper.

    With fewer, CHOKe turns on and off and :func:`fairdrop.models.equilibrium.solve` raises
    :class:`BelowThresholdError`. Independent of RED. 0 if the UDP flow alone fills the link there.
    """
    minimum = _check.positive("min_th", min_th)
    link = tcp_link(capacity, minimum, 2.0 * minimum + 1.0, 1.0, candidates, survival, False)
    if link.lower_backlog > minimum:
        raise ValueError(f"min_th must exceed the number of candidates, got {min_th!r}")

    def surplus(log_flows: float) -> float:
        """Throughput over capacity minus one, with the queue at the threshold; at most a constant."""
        flows: tuple[FlowClass, ...] = tcp_case(udp_rate, math.exp(log_flows), delay, law)
        solver = Solver(link, flows)

        def overfull(log_tau: float) -> float:
            state = solver.state(math.exp(log_tau), minimum)
            return math.fsum(flow.count * h for flow, h in zip(flows, state.h, strict=True)) - 1.0

        middle = math.log(minimum / link.capacity)
        root = rising(overfull, middle, 0.1, middle - 40.0, middle + 40.0)
        if root is None:
            return -1.0
        if root == -math.inf:
            return 4.0
        return min(throughput(flows, solver.state(math.exp(root), minimum)) / link.capacity - 1.0, 4.0)

    low, high = -7.0, 3.0
    if surplus(low) > 0.0:
        return 0.0
    while surplus(high) < 0.0:
        high += 3.0
        if high > 40.0:
            raise NoEquilibriumError("no number of flows fills the link at this threshold")
    flows = bracketed(surplus, low, high)
    if not abs(surplus(flows)) <= TOLERANCE:
        raise NoEquilibriumError("no number of flows holds just this threshold: the queue jumps past it")
    return math.exp(flows)
