"""The equations of WARD as nested bracketed roots, the slow and sure way: a reference for ``ward_equilibrium``."""

from __future__ import annotations

import math

from fairdrop.models import ConstantRate, Responsive
from fairdrop.models._nest import State, balance, check_filled, log_rate
from fairdrop.models._roots import bracketed, rising, steep_rising


class Nested:
    """The same equations as nested bracketed roots: slow, and sure where Newton's iteration is not."""

    def __init__(self, flows, capacity, arrival_lost):
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

                def excess(log_x: float, law=law, delay=delay):
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


def staircase(s, buffer):
    """Queue and w along the staircase: s in [2k, 2k+1] is stair k, s in [2k+1, 2k+2] the riser after it."""
    stair = math.floor(s / 2.0)
    rest = s - 2.0 * stair
    if rest <= 1.0:
        return buffer * (stair + rest) / 10.0, stair / 10.0
    return buffer * (stair + 1) / 10.0, (stair + rest - 1.0) / 10.0


def ward_by_nesting(capacity, flows, buffer, arrival_lost):
    """w, b, and the queue shares and rates of the classes; None without an equilibrium."""
    model = Nested(flows, capacity, arrival_lost)
    low, high = 1.0 + 1e-6, 19.0

    def state_at(tau, s):
        b, w = staircase(s, buffer)
        return model.consistent(tau, b, w)

    log_tau = math.log(0.1 * buffer / capacity)
    found = balance(flows, capacity, state_at, low=low, high=high, guess=2.0, step=0.05, log_tau=log_tau)
    if found.s in (low, high):
        return None
    check_filled(found, flows, capacity)
    b, w = staircase(found.s, buffer)
    return w, b, found.state.h, found.state.x
