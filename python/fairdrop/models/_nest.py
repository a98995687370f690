"""The nested solver shared by the equilibria of CHOKe, CHOKeW and WARD.

A matching scheme is reduced to one function per class: the *load* u, proportional to the rate times the
queueing delay, gives the queue share h of one flow, its loss p and its survival 1-p. Three one-dimensional
roots are left: the rate of each responsive class, how severe the scheme has to be for the shares to add up
to one queue, and the delay that makes the throughput equal the capacity. Each function is monotonic, so
that no initial guess is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairdrop.models._roots import rising, steep_rising
from fairdrop.models.errors import NoEquilibriumError
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive

LossFunction = Callable[[float], tuple[float, float, float]]


def match_loss(u: float, r: float, m: int) -> tuple[float, float, float]:
    """Occupancy h, loss p and survival 1-p of one flow under CHOKe with m candidates.

    h solves m h = (1-r)(1-h)^m (1-e^{-u}). For m = 1 this is the exact reduction of equations (3) and
    (4) of "Understanding CHOKe". Newton's method from h = 0 increases monotonically to the root, because
    the difference of the two sides is increasing and concave in h.
    """
    admit = 1.0 - r
    entered = -admit * math.expm1(-u)
    if m == 1:
        h = entered / (1.0 + entered)
        return h, r + (1.0 + admit) * h, admit * math.exp(-u) / (1.0 + entered)
    h = 0.0
    for _ in range(60):
        power = entered * (1.0 - h) ** (m - 1)
        step = (power * (1.0 - h) - m * h) / (m * (1.0 + power))
        h += step
        if step <= 2e-16 * h:
            break
    keep = m * math.log1p(-h)
    return h, m * h + r - admit * math.expm1(keep), admit * math.exp(keep - u)


@dataclass
class State:
    """Rates, queue shares, losses and survivals of one flow per class, at queueing delay ``tau`` (s)."""

    tau: float
    x: list[float]
    h: list[float]
    p: list[float]
    survival: list[float]


class Rates:
    """The innermost level: the rate of each class. Keeps the last roots as the next guesses."""

    def __init__(self, flows: Sequence[FlowClass]) -> None:
        self.flows = flows
        self._log_load = [0.0] * len(flows)

    def state(self, tau: float, exposure: float, losses: Sequence[LossFunction]) -> State:
        """Rates at queueing delay ``tau``; the load of a flow is ``exposure`` times its rate."""
        result = State(tau, [], [], [], [])
        for index, flow in enumerate(self.flows):
            loss = losses[index]
            if isinstance(flow, ConstantRate):
                x = float(flow.rate)
            else:
                x = self._responsive(index, flow, tau, exposure, loss)
            h, p, survival = loss(exposure * x)
            result.x.append(x)
            result.h.append(h)
            result.p.append(p)
            result.survival.append(survival)
        return result

    def _responsive(
        self, index: int, flow: Responsive, tau: float, exposure: float, loss: LossFunction
    ) -> float:
        law, delay = flow.law, flow.delay

        # The logarithm of sent over allowed rate: rises with slope at least 1, as loss rises with the load.
        def excess(log_load: float) -> float:
            _, p, survival = loss(math.exp(min(log_load, 700.0)))
            return log_load - log_rate(exposure * law.rate(p, survival, tau, delay))

        self._log_load[index] = steep_rising(excess, self._log_load[index])
        return math.exp(self._log_load[index]) / exposure


def log_rate(rate: float) -> float:
    """Logarithm of a rate, finite for zero and for infinity."""
    return -1000.0 if rate <= 0.0 else min(math.log(rate), 1000.0)


@dataclass
class Balanced:
    """Solution of :func:`balance`: the severity, the state, and the sum of n h (1 unless s is at an end).

    ``filled`` is False where no delay in the range of the search makes the throughput equal the capacity.
    """

    s: float
    state: State
    occupancy: float
    filled: bool


def balance(
    flows: Sequence[FlowClass],
    capacity: float,
    state_at: Callable[[float, float], State],
    *,
    low: float,
    high: float,
    guess: float,
    step: float,
    log_tau: float,
) -> Balanced:
    """The two outer levels: the delay and the severity that fill the link and make the queue consistent.

    ``state_at(tau, s)`` gives the rates at severity s, a number in [low, high] along which the queue shares
    fall. For each delay the severity follows from sum n h = 1; the delay follows from the capacity. This
    order keeps both well conditioned when a very fast flow has saturated its share of the queue, where
    that share no longer determines the delay.

    Where no severity in the range will do, the nearest end is taken; the caller sees it from ``occupancy``.
    ``guess``, ``step`` and ``log_tau`` (log of s) start the searches and need not be good.
    """
    last = guess
    counts = [flow.count for flow in flows]

    def occupancy(state: State) -> float:
        return math.fsum(n * h for n, h in zip(counts, state.h, strict=True))

    def along(log_delay: float) -> tuple[float, State]:
        nonlocal last
        tau = math.exp(log_delay)
        s = rising(lambda value: 1.0 - occupancy(state_at(tau, value)), last, step, low, high)
        s = high if s is None else max(s, low)
        last = s
        return s, state_at(tau, s)

    def deficit(log_delay: float) -> float:
        _, state = along(log_delay)
        sent = math.fsum(n * x * q for n, x, q in zip(counts, state.x, state.survival, strict=True))
        return max(1.0 - sent / capacity, -4.0)

    bottom, top = log_tau - 40.0, log_tau + 40.0
    root = rising(deficit, log_tau, 0.05, bottom, top)
    filled = root is not None and root != -math.inf
    s, state = along(top if root is None else max(root, bottom))
    return Balanced(s, state, occupancy(state), filled)


def check_filled(found: Balanced, flows: Sequence[FlowClass], capacity: float) -> None:
    """Raise NoEquilibriumError where no queueing delay fills the link."""
    if not found.filled:
        ratio = throughput(flows, found.state) / capacity
        reached = f": at {found.state.tau:.3g} s {ratio:.4g} of it gets through" if math.isfinite(ratio) else ""
        raise NoEquilibriumError(f"no queueing delay makes the throughput equal the capacity{reached}")


def throughput(flows: Sequence[FlowClass], state: State) -> float:
    """Sum of the goodputs, pkt/s."""
    return math.fsum(flow.count * x * q for flow, x, q in zip(flows, state.x, state.survival, strict=True))
