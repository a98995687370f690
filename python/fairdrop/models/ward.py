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

Method: Newton's iteration in the logarithms of the unknowns on the riser where the queue should be, then on the
next one or the stair between; about 3 ms. The tests solve the same equations by nested roots.

Validity: fluid, b much larger than 2. h, mu and w were confirmed by simulation at constant rates, b only
as stated; nothing was simulated with TCP. w above 0.9 would mean tail drop as well, which is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._nest import log_rate
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.errors import BelowThresholdError, ConvergenceError, TailDropError
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive, allowed_rates, class_dict, flow_classes


@dataclass(frozen=True, eq=False)
class WardEquilibrium(Result):
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


Mode = Literal["riser", "stair", "end"]


@dataclass(frozen=True)
class _Point:
    """Where on the staircase: on a riser b is known and w is not, on a stair the reverse, at an end both are."""

    mode: Mode
    w: float
    b: float

    def of(self, unknown: Sequence[float]) -> tuple[float, float, float]:
        """theta, w and b."""
        if self.mode == "end":
            return math.exp(unknown[-1]), self.w, self.b
        theta, other = math.exp(unknown[-2]), math.exp(unknown[-1])
        return (theta, other, self.b) if self.mode == "riser" else (theta, self.w, other)


class _System:
    """The equations in logarithms: h of each class, x of each responsive one, theta = tau/b, and w or b.

    The total rate and the squared shares, which couple the flows, follow from the unknowns themselves.
    """

    def __init__(
        self, flows: Sequence[FlowClass], capacity: float, arrival_lost: bool, draws: int = 2, pairs: bool = True
    ) -> None:
        self.flows = flows
        self.counts = [flow.count for flow in flows]
        self.capacity = capacity
        self.arrival_lost = arrival_lost
        self.draws = draws
        self.pairs = 2.0 if pairs else 0.0
        self.responsive = [k for k, flow in enumerate(flows) if isinstance(flow, Responsive)]

    def sum(self, values: Sequence[float]) -> float:
        return math.fsum(n * value for n, value in zip(self.counts, values, strict=True))

    def unpack(self, unknown: Sequence[float]) -> tuple[list[float], list[float]]:
        """Rate x and queue share h of each class."""
        n = len(self.flows)
        x = [flow.rate if isinstance(flow, ConstantRate) else 0.0 for flow in self.flows]
        for place, k in enumerate(self.responsive):
            x[k] = math.exp(unknown[n + place])
        return x, [math.exp(value) for value in unknown[:n]]

    def fates(self, x: Sequence[float], h: Sequence[float], theta: float, w: float) -> list[tuple[float, float]]:
        """Of each class ln A and kappa tau."""
        total, squares = self.sum(x), self.sum([share * share for share in h])
        result = []
        for rate, share in zip(x, h, strict=True):
            others = max(squares - share * share, 0.0) if self.arrival_lost else 0.0
            own = 2.0 * share - share * share if self.draws == 2 else share
            lost = w * (own + others)
            enter = math.log1p(-lost) if lost < 1.0 else -700.0 - lost
            result.append((enter, w * theta * (self.draws * rate + self.pairs * (total - rate) * share)))
        return result

    def residual(self, unknown: Sequence[float], point: _Point) -> list[float]:
        theta, w, b = point.of(unknown)
        x, h = self.unpack(unknown)
        fates = self.fates(x, h, theta, w)
        total = self.sum(x)
        result = [
            math.log(w * share * (self.draws + self.pairs * (total / rate - 1.0) * share))
            - enter
            - math.log(-math.expm1(-leak))
            for rate, share, (enter, leak) in zip(x, h, fates, strict=True)
        ]
        for k in self.responsive:
            flow, passed = cast(Responsive, self.flows[k]), fates[k][0] - fates[k][1]
            allowed = flow.law.rate(-math.expm1(passed), math.exp(passed), theta * b, flow.delay)
            result.append(math.log(x[k]) - log_rate(allowed))
        if point.mode != "end":
            result.append(self.sum(h) - 1.0)
        served = self.sum([rate * math.exp(enter - leak) for rate, (enter, leak) in zip(x, fates, strict=True)])
        return [*result, math.log(served / self.capacity)]

    def newton(self, start: Sequence[float], point: _Point) -> list[float] | None:
        """The unknowns, or None where the iteration does not come to an end."""

        def at(values: Sequence[float]) -> Floats | None:
            try:
                found = np.array(self.residual(values, point))
            except (ArithmeticError, ValueError):
                return None
            return found if np.isfinite(found).all() else None

        unknown = np.array(start)
        value = at(list(unknown))
        if value is None:
            return None
        inverse: Floats | None = None
        norm = float(np.abs(value).max())
        for _ in range(80):
            if norm < 1e-13:
                break
            fresh = inverse is None
            if inverse is None:
                inverse = self._inverse(at, unknown, value)
                if inverse is None:
                    return None
            step = -inverse @ value
            longest = float(np.abs(step).max())
            step *= min(1.0, 2.0 / longest)
            following, reached = None, math.inf
            for _ in range(12 if fresh else 1):
                following = at(list(unknown + step))
                reached = math.inf if following is None else float(np.abs(following).max())
                if reached < norm:
                    break
                step = step / 2.0
            if following is None or reached >= norm:
                if fresh:
                    break
                inverse = None
                continue
            # The slopes serve on while they bring the values down fast.
            inverse = inverse if reached < 0.1 * norm else None
            unknown, value, norm = unknown + step, following, reached
        return list(unknown) if norm < 1e-10 else None

    def _inverse(
        self, at: Callable[[Sequence[float]], Floats | None], unknown: Floats, value: Floats
    ) -> Floats | None:
        """Inverse of the slopes, by differences; None where there is none."""
        slopes = np.empty((unknown.size, unknown.size))
        for column in range(unknown.size):
            moved = unknown.tolist()
            moved[column] += 1e-7
            beside = at(moved)
            if beside is None:
                return None
            slopes[:, column] = (beside - value) / 1e-7
        try:
            return np.asarray(np.linalg.inv(slopes), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None

    def start(self) -> list[float]:
        """Shares as if nothing were lost, TCP at its part of the link, and the w that takes the excess."""
        part = 1.2 * self.capacity / math.fsum(self.counts)
        x = [part if isinstance(flow, Responsive) else flow.rate for flow in self.flows]
        total = self.sum(x)
        h = [max(min(rate / total, 0.3), 1e-250) for rate in x]
        whole = self.sum(h)
        h = [share / whole for share in h]
        lost = self.sum([rate / total * min(4.0 * share, 1.0) for rate, share in zip(x, h, strict=True)])
        w = min(max((1.0 - self.capacity / total) / lost, 0.02), 0.9)
        rates = [math.log(x[k]) for k in self.responsive]
        return [*(math.log(share) for share in h), *rates, -math.log(total), math.log(w)]


@dataclass(frozen=True)
class _Solution:
    """x and h of each class, theta = tau/b, and the point of the staircase."""

    x: list[float]
    h: list[float]
    theta: float
    w: float
    b: float
    regime: str


def _by_newton(system: _System, buffer: float) -> _Solution | None:
    """From riser to riser until w and b agree; None where an iteration fails."""
    start = system.start()
    unknown = start
    riser = min(math.ceil(10.0 * math.exp(start[-1])), 9)
    tried: dict[int, list[float]] = {}
    while True:
        following = system.newton(unknown, _Point("riser", math.nan, buffer * riser / 10.0))
        if following is None:
            # Where the queue alone decides the shares (Vegas), w on a riser would not.
            stairs = (_on_a_stair(system, buffer, stair, start) for stair in range(1, 10))
            found = next((one for one in stairs if one is not None), None)
            excess = math.nan if found is not None else _excess(system, buffer, start)
            if 1.0 < excess < math.inf:
                raise TailDropError(excess)
            return found
        tried[riser] = unknown = following
        w = math.exp(unknown[-1])
        # Without responsive flows the queue has no part in w.
        wanted = riser if riser - 1 < 10.0 * w <= riser else min(max(math.ceil(10.0 * w), 1), 9)
        if wanted == riser:
            break
        between = riser + (1 if wanted > riser else -1)
        if between in tried:
            return _on_a_stair(system, buffer, max(riser, between) - 1, unknown)
        riser = wanted if system.responsive == [] else between
    if 10.0 * w > riser:
        excess = _excess(system, buffer, unknown)
        if excess > 1.0:
            raise TailDropError(excess)
        return _on_a_stair(system, buffer, 9, unknown)
    x, h = system.unpack(unknown)
    return _Solution(x, h, math.exp(unknown[-2]), w, buffer * riser / 10.0, "sliding")


def _on_a_stair(system: _System, buffer: float, stair: int, near: Sequence[float]) -> _Solution | None:
    """W is a tenth, and the queue is somewhere between two risers."""
    point = _Point("stair", stair / 10.0, math.nan)
    unknown = system.newton([*near[:-1], math.log(buffer * (stair + 0.5) / 10.0)], point)
    if unknown is None:
        return None
    b = math.exp(unknown[-1])
    if not buffer * stair / 10.0 * (1.0 - 1e-9) <= b <= buffer * (stair + 1) / 10.0 * (1.0 + 1e-9):
        return None
    x, h = system.unpack(unknown)
    return _Solution(x, h, math.exp(unknown[-2]), stair / 10.0, b, "stair")


def _excess(system: _System, buffer: float, near: Sequence[float]) -> float:
    """Sum of the queue shares with a full buffer and nine comparisons in ten."""
    unknown = system.newton(near[:-1], _Point("end", 0.9, buffer))
    return math.inf if unknown is None else system.sum(system.unpack(unknown)[1])


def _check_load(flows: Sequence[FlowClass], capacity: float, buffer: float) -> None:
    """Without any loss and with a tenth of the buffer queued, more than the capacity has to arrive."""
    nothing = np.zeros(len(flows))
    rates = allowed_rates(flows, nothing, nothing + 1.0, 0.1 * buffer / capacity)
    offered = math.fsum(flow.count * float(rate) for flow, rate in zip(flows, rates, strict=True))
    if offered <= capacity:
        raise BelowThresholdError(buffer / 10.0, offered / capacity)


@solver
def ward_equilibrium(
    capacity: float,
    flows: Iterable[FlowClass],
    buffer: float,
    *,
    arrival_lost: bool = False,
    draws: int = 2,
    pairs: bool = True,
) -> WardEquilibrium:
    """Comparison probability and shares of WARD with a buffer of ``buffer`` packets.

    ``capacity`` in pkt/s; ``flows`` classes of constant-rate or responsive flows; ``arrival_lost`` selects
    what happens to an arrival whose two candidates belong to one other flow. ``draws`` and ``pairs`` take the
    scheme apart, to see what each is for: one packet drawn in place of two, and two candidates of one other flow
    kept (with one draw there are none).

    Raises ``ValueError`` naming the argument; :class:`BelowThresholdError` if the load does not fill the
    link with a tenth of the buffer queued; :class:`TailDropError` if comparisons up to w = 0.9 are not
    enough.
    """
    c = _check.positive("capacity", capacity)
    classes = flow_classes(flows)
    size = _check.positive("buffer", buffer)
    lost = _check.switch("arrival_lost", arrival_lost)
    number = _check.integer("draws", draws, 1)
    if number > 2:
        raise ValueError(f"draws must be 1 or 2, got {number}")
    paired = _check.switch("pairs", pairs) and number == 2
    _check_load(classes, c, size)
    active = [k for k, flow in enumerate(classes) if isinstance(flow, Responsive) or flow.rate > 0.0]
    system = _System([classes[k] for k in active], c, lost and paired, number, paired)
    solution = _by_newton(system, size)
    if solution is None:
        raise ConvergenceError("the iteration for w and the delay did not come to an end")
    return _result(classes, active, system, size, solution)


def _nearest_w(filled: float, w: float) -> float:
    """What of the staircase at this part of the buffer is nearest to w: on a riser, all between two stairs."""
    below, above = (math.floor(10.0 * filled * margin) / 10.0 for margin in (1.0 - 1e-9, 1.0 + 1e-9))
    return min(max(w, below), above)


def _result(
    flows: tuple[FlowClass, ...], active: Sequence[int], system: _System, buffer: float, found: _Solution
) -> WardEquilibrium:
    """The solution with flows that send nothing put back, and its equations evaluated once more."""
    fates = np.array(system.fates(found.x, found.h, found.theta, found.w))
    x, h, p, survival = np.zeros((4, len(flows)))
    places = list(active)
    survival[:] = 1.0
    x[places], h[places] = found.x, found.h
    p[places], survival[places] = -np.expm1(fates[:, 0] - fates[:, 1]), np.exp(fates[:, 0] - fates[:, 1])
    tau, w, c = found.theta * found.b, found.w, system.capacity
    goodput = x * survival
    count = np.array([flow.count for flow in flows], dtype=np.float64)
    total = float(count @ x)
    removed = w * h[places] * (system.draws + system.pairs * (total / x[places] - 1.0) * h[places])
    residual = verified(
        {
            "the sum of the queue shares": equal(count @ h, 1.0),
            "the throughput of the link": equal(count @ goodput, c),
            "the rate law": equal(x, allowed_rates(flows, p, survival, tau)),
            "what leaves the queue": equal(removed, np.exp(fates[:, 0]) * -np.expm1(-fates[:, 1])),
            "the staircase": equal(w, _nearest_w(found.b / buffer, w)),
        }
    )
    return WardEquilibrium(
        flows, c, buffer, found.regime, w, found.b, tau, h, p, survival, x, goodput / c, goodput, residual
    )
