"""Equilibrium of responsive and constant-rate flows under CHOKe with RED.

Source: "Understanding CHOKe" (2004), section II, equations (3) to (9):

    (3) p = 2h + r - r h                       (6) b = sum of the backlogs
    (4) 1-p = (1-h)(1-r)(1-1/b)^(x tau)        (7) throughput = c
    (5) h = b_i/b                              (8) x = f(p, tau) for responsive flows;  (9) r = g(b)

solved here for any number of classes of identical flows. Beyond the paper:

* *m candidates*, all matching ones dropped, drawn without replacement: (3) becomes
  p = m h + 1 - (1-r)(1-h)^m, (4) becomes 1-p = (1-r)(1-h)^m e^{-u} with u = x tau times the rate at which
  own arrivals draw a packet. Valid for b much larger than m.
* *survival law*: "cbr" takes (1-m/b) per own arrival, right for evenly spaced arrivals; "poisson" takes
  e^{-m x tau/b}, right for Poisson ones and the one under which the spatial model closes exactly.
* *several constant-rate classes* of different rates; matching alone holds K fast flows only if K times
  :func:`fairdrop.models.limits.occupancy_bound` is below 1, otherwise RED carries the load.
* *classes with different round-trip times*; rates differ less than 1/(d+tau), because a faster flow is
  matched more often. Not checked against simulations.

Method: equations (3) and (4) give h and p of a flow in closed form from u, which leaves the rate, the
backlog and the delay: three nested one-dimensional roots, each bracketed, without an initial guess.
Uniqueness of the outer root is assumption A1 of the paper; it was found in every case examined.

Validity: a fluid in equilibrium, arrivals that see time averages. A periodic flow with few packets queued
sees half a packet less than its mean; the backlog of a queue fed by periodic sources differs by up to
10%, the shares by under 1%. Nothing holds when the queue spends time below ``min_th``, where no packet is
compared. The Reno law is poor above a loss of about 0.1 to 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats, relative_difference
from fairdrop.models._frames import Result
from fairdrop.models._nest import Rates, State, balance, check_filled, match_loss, throughput
from fairdrop.models._verify import solver, verified
from fairdrop.models.errors import BelowThresholdError
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive, allowed_rates, class_dict, flow_classes
from fairdrop.models.red import Red
from fairdrop.models.tcp import RateLaw, Reno

Survival = Literal["cbr", "poisson"]
SURVIVALS = ("cbr", "poisson")


def draw_rate(b: float, candidates: int = 1, survival: str = "cbr") -> float:
    """beta: how fast the log of the survival probability of a queued packet falls, per own arrival.

    -ln(1 - m/b) for "cbr" (requires b > m), m/b for "poisson".
    """
    return -math.log1p(-candidates / b) if survival == "cbr" else candidates / b


@dataclass(frozen=True)
class ChokeLink:
    """A link with a CHOKe queue. ``capacity`` in pkt/s; ``red`` gives r = g(b); ``candidates`` drawn packets.

    ``survival`` is "cbr" or "poisson". Raises ``ValueError`` naming the argument.
    """

    capacity: float
    red: Red
    candidates: int = 1
    survival: Survival = "cbr"

    def __post_init__(self) -> None:
        _check.store(
            self,
            capacity=_check.positive("capacity", self.capacity),
            candidates=_check.integer("candidates", self.candidates, 1),
        )
        _check.choice("survival", self.survival, SURVIVALS)
        if not isinstance(self.red, Red):
            raise ValueError(f"red must be a Red, got {_check.shown(self.red)}")
        if self.red.jump and self.red.max_th <= self._least_backlog:
            raise ValueError(f"candidates must be fewer than max_th = {self.red.max_th:g} packets")

    @property
    def _least_backlog(self) -> float:
        return self.candidates * (1.0 + 1e-6) if self.survival == "cbr" else 1e-6

    @property
    def lower_backlog(self) -> float:
        """Smallest backlog for which the model makes sense, pkt: the threshold, and enough to draw from."""
        return max(self.red.min_th, self._least_backlog)


@dataclass(frozen=True, eq=False)
class Equilibrium(Result):
    """Solution of :func:`solve`. Arrays have shape (classes,) and are per single flow, in order of ``flows``.

    regime: "active", or "sliding" if RED with a jump pins the queue at max_th and r is the mean of its
    two values. b: backlog, pkt. r: RED drop probability. tau: queueing delay, s. beta: see
    :func:`draw_rate`. h: match probability per candidate, equal to the share of the queue.
    p: total loss probability. survival: 1-p, exact where p rounds to 1. x: source rate, pkt/s.
    backlog: packets queued. mu: share of the link. goodput: throughput, pkt/s.
    residual: largest relative residual of the equations; above 1e-6 nothing is returned.
    """

    link: ChokeLink
    flows: tuple[FlowClass, ...]
    regime: str
    b: float
    r: float
    tau: float
    beta: float
    h: Floats
    p: Floats
    survival: Floats
    x: Floats
    backlog: Floats
    mu: Floats
    goodput: Floats
    residual: float = field(default=math.nan)

    @property
    def count(self) -> Floats:
        """Flows per class."""
        return np.array([flow.count for flow in self.flows], dtype=np.float64)

    def residuals(self) -> dict[str, Floats]:
        """Relative residuals by equation number, evaluated from the stored values alone."""
        m, b, r = self.link.candidates, self.b, self.r
        match_none = (1.0 - self.h) ** m
        loss = m * self.h + 1.0 - (1.0 - r) * match_none
        through = (1.0 - r) * match_none * np.exp(-self.beta * self.x * self.tau)
        rate = allowed_rates(self.flows, self.p, self.survival, self.tau)
        red = self.link.red
        ramp = min(1.0, max(0.0, red.slope * (b - red.min_th)))
        nominal = r if self.regime == "sliding" else ramp
        beta = draw_rate(b, m, self.link.survival)
        return {
            "3": relative_difference(self.p, loss),
            "4": relative_difference(self.survival, through),
            "5": relative_difference(self.h * b, self.backlog),
            "6": relative_difference(np.array([b]), np.array([self.count @ self.backlog])),
            "7": relative_difference(
                np.array([self.link.capacity]), np.array([self.count @ (self.x * self.survival)])
            ),
            "8": relative_difference(self.x, rate),
            "9": np.maximum(
                relative_difference(np.array([r]), np.array([nominal])), abs(beta / self.beta - 1.0)
            ),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers; per-class values are lists in the order of ``names``."""
        keys = ("regime", "b", "r", "tau", "beta", "h", "p", "survival", "x", "backlog", "mu", "goodput")
        return class_dict(self, (*keys, "residual"))


class Solver:
    """One problem; the severity is the coordinate along the RED curve."""

    def __init__(self, link: ChokeLink, flows: Sequence[FlowClass]) -> None:
        self.link = link
        self.flows = flows
        self.rates = Rates(flows)

    def state(self, tau: float, s: float) -> State:
        """Rates, queue shares and losses at queueing delay ``tau`` and coordinate ``s`` of RED's curve."""
        link = self.link
        b, r = link.red.path(s)

        def loss(u: float) -> tuple[float, float, float]:
            return match_loss(u, r, link.candidates)

        beta = draw_rate(b, link.candidates, link.survival)
        return self.rates.state(tau, beta * tau, [loss] * len(self.flows))

    def solve(self, guess: tuple[float, float] | None = None) -> Equilibrium:
        """``guess``: severity and log of the delay, or None."""
        link, red, c = self.link, self.link.red, self.link.capacity
        low, high = link.lower_backlog, red.path_end
        if low >= high:
            raise BelowThresholdError(low, None)
        start, log_tau = (low, math.log(low / c)) if guess is None else guess
        start = min(max(start, low), high)
        found = balance(
            self.flows, c, self.state, low=low, high=high, guess=start, step=0.01 * start, log_tau=log_tau
        )
        s, state = found.s, found.state
        utilisation = throughput(self.flows, state) / c
        if s == low and (found.occupancy < 1.0 - 1e-9 or utilisation < 1.0 - 1e-9):
            raise BelowThresholdError(low, min(utilisation, found.occupancy))
        check_filled(found, self.flows, c)
        self.last = s, math.log(state.tau)
        b, r = red.path(s)
        h, p, x, survival = (np.array(values) for values in (state.h, state.p, state.x, state.survival))
        regime = "sliding" if red.jump and s > red.max_th else "active"
        beta = draw_rate(b, link.candidates, link.survival)
        goodput = x * survival
        result = Equilibrium(
            link, tuple(self.flows), regime, b, r, state.tau, beta, h, p, survival, x, h * b,
            goodput / c, goodput,
        )  # fmt: skip
        worst = verified({f"equation ({name})": value for name, value in result.residuals().items()})
        object.__setattr__(result, "residual", worst)
        return result


@solver
def solve(link: ChokeLink, flows: Iterable[FlowClass]) -> Equilibrium:
    """The equilibrium of the given classes of flows on one link.

    Raises ``ValueError`` for bad arguments and :class:`BelowThresholdError` if the flows cannot keep the link
    full and the queue above ``min_th`` (too few flows, or too little load).
    """
    if not isinstance(link, ChokeLink):
        raise ValueError(f"link must be a ChokeLink, got {_check.shown(link)}")
    return Solver(link, flow_classes(flows)).solve()


def tcp_case(
    udp_rate: float, tcp_flows: float, delay: float, law: RateLaw | None
) -> tuple[ConstantRate, Responsive]:
    """One UDP flow and a class of TCP flows."""
    udp = ConstantRate(_check.non_negative("udp_rate", udp_rate))
    return udp, Responsive(_check.positive("tcp_flows", tcp_flows), delay, Reno() if law is None else law)


def tcp_link(
    capacity: float, min_th: float, max_th: float, max_p: float, candidates: int, survival: str, jump: bool
) -> ChokeLink:
    """A link with CHOKe, from plain numbers."""
    survival = _check.choice("survival", survival, SURVIVALS)
    return ChokeLink(capacity, Red(min_th, max_th, max_p, jump), candidates, cast(Survival, survival))


def tcp_equilibrium(
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
) -> Equilibrium:
    """The model of "Understanding CHOKe": class 0 is one UDP flow, class 1 are ``tcp_flows`` TCP flows.

    ``capacity`` and ``udp_rate`` in pkt/s, ``delay`` (round-trip propagation) in s, thresholds in pkt.
    ``law`` defaults to :class:`Reno`. Raises as :func:`solve`.
    """
    link = tcp_link(capacity, min_th, max_th, max_p, candidates, survival, jump)
    return solve(link, tcp_case(udp_rate, tcp_flows, delay, law))
