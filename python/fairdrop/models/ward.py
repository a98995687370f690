"""Equilibrium of WARD: comparison with two queued packets, with a probability that follows the queue.

Source of the algorithm: "A TCP-Friendly Stateless AQM Scheme for Fair Bandwidth Allocation", section 3.1.
Its fluid model is in another article; everything here goes beyond it. An arrival that would take position
P of a buffer of B packets is compared with probability w = floor(10 P/B)/10; matching candidates and the
arrival are dropped, and so are two candidates of one other flow. With X the total arrival rate, S2 the sum
of the squared queue shares h, a packet leaks at rate

    kappa = (2w/b)(x + (X-x) h),

and with A the probability that an arrival enters, for each flow

    2 w h (1 + (X/x - 1) h) = A (1 - e^{-kappa tau}),   1-p = A e^{-kappa tau},   A = 1 - w(2h - h^2),

or A = 1 - w(2h - h^2) - w(S2 - h^2) if the arrival is lost with the other flow's pair as well. The text
does not say which; by default it is queued. Unknown are tau/b and w, from sum h = 1 and the capacity.

Because w is a staircase in the queue, a w strictly between two tenths pins the queue at a stair edge, where
it switches between the two; a w on a tenth leaves the queue somewhere on that stair.

Validity: fluid, b much larger than 2. h, mu and w were confirmed by simulation at constant rates, b only
as stated; nothing was simulated with TCP. w above 0.9 would mean tail drop as well, which is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats, relative_difference
from fairdrop.models._nest import State, balance, log_rate
from fairdrop.models._roots import bracketed, rising, steep_rising
from fairdrop.models.errors import BelowThresholdError, TailDropError
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive, allowed_rates, class_dict, flow_classes


@dataclass(frozen=True, eq=False)
class WardEquilibrium:
    """Result of :func:`ward_equilibrium`; arrays of shape (classes,), per single flow.

    w: mean comparison probability. b: queue, pkt. tau: queueing delay, s. regime: "sliding" if the queue
    is pinned at a stair edge, "stair" if w is a tenth. h: share of the queue. p: loss. survival: 1-p.
    x: source rate, pkt/s. mu: share of the link. goodput: pkt/s. residual: largest relative residual.
    """

    flows: tuple[FlowClass, ...]
    capacity: float
    buffer: float
    regime: str
    w: float
    b: float
    tau: float
    h: Floats
    p: Floats
    survival: Floats
    x: Floats
    mu: Floats
    goodput: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, in the order of ``names``."""
        keys = ("regime", "w", "b", "tau", "h", "p", "survival", "x", "mu", "goodput", "residual")
        return class_dict(self, keys)


class _Ward:
    def __init__(self, flows: tuple[FlowClass, ...], capacity: float, arrival_lost: bool) -> None:
        self.flows = flows
        self.capacity = capacity
        self.arrival_lost = arrival_lost
        self.log_x = [math.log(capacity)] * len(flows)
        self.total = 1.0
        self.squares = 0.0

    def entering(self, h: float, w: float, squares: float) -> float:
        # Continued as a constant beyond h = 1 and below A = 0, where the search may pass through.
        part = min(h, 1.0)
        enter = 1.0 - w * (2.0 * part - part * part)
        if self.arrival_lost:
            enter -= w * max(squares - part * part, 0.0)
        return max(enter, 0.0)

    def flow(
        self, x: float, theta: float, w: float, total: float, squares: float
    ) -> tuple[float, float, float]:
        """h, p and 1-p of a flow of rate x at theta = tau/b."""
        if x <= 0.0:
            return 0.0, 0.0, 1.0
        foreign = max(total - x, 0.0)

        def excess(h: float) -> float:
            crossing = x + foreign * h
            leak = -math.expm1(-2.0 * w * theta * crossing)
            return 2.0 * w * h / x - self.entering(h, w, squares) * leak / crossing

        # theta x is the value without any loss; what is far above 1 is only asked for its sign.
        high = min(theta * x, 1e6)
        at_high = excess(high)
        h = high if at_high <= 0.0 else bracketed(excess, 0.0, high, high_value=at_high)
        enter = self.entering(h, w, squares)
        survival = enter * math.exp(-2.0 * w * theta * (x + foreign * h))
        return h, 1.0 - survival, survival

    def rates(self, tau: float, b: float, w: float, total: float, squares: float) -> State:
        theta = tau / b
        xs, hs, ps, survivals = [], [], [], []
        for index, flow in enumerate(self.flows):
            if isinstance(flow, Responsive):
                law, delay = flow.law, flow.delay

                def excess(log_x: float, law: Any = law, delay: float = delay) -> float:
                    _, p, survival = self.flow(math.exp(log_x), theta, w, total, squares)
                    return log_x - log_rate(law.rate(p, survival, tau, delay))

                self.log_x[index] = steep_rising(excess, self.log_x[index])
                x = math.exp(self.log_x[index])
            else:
                x = float(flow.rate)
            h, p, survival = self.flow(x, theta, w, total, squares)
            xs.append(x)
            hs.append(h)
            ps.append(p)
            survivals.append(survival)
        return State(tau, xs, hs, ps, survivals)

    def consistent(self, tau: float, b: float, w: float) -> State:
        """Rates at the total arrival rate and squared shares that they themselves produce.

        More total rate or more squares mean more loss, hence lower rates and shares: both equations
        have the form "unknown minus a decreasing function".
        """
        c = self.capacity

        def at_squares(squares: float) -> State:
            if all(isinstance(flow, ConstantRate) for flow in self.flows):
                total = math.fsum(
                    flow.count * flow.rate for flow in self.flows if isinstance(flow, ConstantRate)
                )
                return self.rates(tau, b, w, total, squares)

            def excess(scaled: float) -> float:
                state = self.rates(tau, b, w, max(scaled, 0.0) * c, squares)
                return scaled - math.fsum(f.count * x for f, x in zip(self.flows, state.x, strict=True)) / c

            self.total = steep_rising(excess, self.total)
            return self.rates(tau, b, w, self.total * c, squares)

        if not self.arrival_lost:
            return at_squares(0.0)

        def gap(squares: float) -> float:
            state = at_squares(squares)
            return squares - min(
                1.0, math.fsum(f.count * h * h for f, h in zip(self.flows, state.h, strict=True))
            )

        root = rising(gap, self.squares, 0.02, 0.0, 1.0)
        self.squares = 1.0 if root is None else max(root, 0.0)
        return at_squares(self.squares)


def _staircase(s: float, buffer: float) -> tuple[float, float]:
    """Queue and w along the staircase: s in [2k, 2k+1] is stair k, s in [2k+1, 2k+2] the riser after it."""
    stair = math.floor(s / 2.0)
    rest = s - 2.0 * stair
    if rest <= 1.0:
        return buffer * (stair + rest) / 10.0, stair / 10.0
    return buffer * (stair + 1) / 10.0, (stair + rest - 1.0) / 10.0


def ward_equilibrium(
    capacity: float, flows: Iterable[FlowClass], buffer: float, *, arrival_lost: bool = False
) -> WardEquilibrium:
    """Comparison probability and shares of WARD with a buffer of ``buffer`` packets.

    ``capacity`` in pkt/s; ``flows`` classes of constant-rate or responsive flows; ``arrival_lost`` selects
    what happens to an arrival whose two candidates belong to one other flow.

    Raises ``ValueError`` naming the argument; :class:`BelowThresholdError` if the load does not fill the
    link with a tenth of the buffer queued; :class:`TailDropError` if comparisons up to w = 0.9 are not
    enough.
    """
    c = _check.positive("capacity", capacity)
    classes = flow_classes(flows)
    size = _check.positive("buffer", buffer)
    model = _Ward(classes, c, arrival_lost)
    count = np.array([flow.count for flow in classes], dtype=np.float64)

    low, high = 1.0 + 1e-6, 19.0

    def state_at(tau: float, s: float) -> State:
        b, w = _staircase(s, size)
        return model.consistent(tau, b, w)

    found = balance(
        classes, c, state_at, low=low, high=high, guess=2.0, step=0.05, log_tau=math.log(0.1 * size / c)
    )
    s, state, tau = found.s, found.state, found.state.tau
    if s == high:
        raise TailDropError(found.occupancy)
    if s == low:
        raise BelowThresholdError(size / 10.0, found.occupancy)
    b, w = _staircase(s, size)
    x, h, p, survival = (np.array(values) for values in (state.x, state.h, state.p, state.survival))
    goodput = x * survival
    total = float(count @ x)
    squares = float(count @ (h * h))
    enter = np.array([model.entering(float(value), w, squares) for value in h])
    leak = 2.0 * w * tau / b * (x + (total - x) * h)
    active = x > 0.0
    removed = 2.0 * w * h[active] * (1.0 + (total / x[active] - 1.0) * h[active])
    rate = allowed_rates(classes, p, survival, tau)
    residual = max(
        float(relative_difference(np.array([count @ h, count @ goodput / c]), np.ones(2)).max()),
        float(relative_difference(x, rate).max()),
        float(relative_difference(removed, -np.expm1(-leak[active]) * enter[active]).max()),
        float(relative_difference(survival[active], (enter * np.exp(-leak))[active]).max()),
    )
    regime = "stair" if s - 2.0 * math.floor(s / 2.0) <= 1.0 else "sliding"
    return WardEquilibrium(
        classes, c, size, regime, w, b, tau, h, p, survival, x, goodput / c, goodput, residual
    )
