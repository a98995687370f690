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
next one or the stair between. Classes meet in two sums only, so the work is proportional to their number: 2 to 5 ms for
1 to 64. The tests solve the same equations by nested roots.

Validity: fluid, b much larger than 2. h, mu and w were confirmed by simulation at constant rates, b only
as stated; nothing was simulated with TCP. w above 0.9 would mean tail drop as well, which is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairdrop.models import _check
from fairdrop.models._bordered import Bordered
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
#: Step of the differences, in logarithms.
_STEP = 1e-7


@dataclass(frozen=True)
class _Point:
    """Where on the staircase: on a riser b is known and w is not, on a stair the reverse, at an end both are."""

    mode: Mode
    w: float
    b: float

    def of(self, unknown: Floats) -> tuple[float, float, float]:
        """theta, w and b."""
        if self.mode == "end":
            return math.exp(unknown[-1]), self.w, self.b
        theta, other = math.exp(unknown[-2]), math.exp(unknown[-1])
        return (theta, other, self.b) if self.mode == "riser" else (theta, self.w, other)


_Pair = tuple[Any, Any]


class _System:
    """The equations in logarithms: h of each class, x of each responsive one, theta = tau/b, and w or b.

    The total rate and the squared shares, which couple the flows, follow from the unknowns themselves.
    """

    def __init__(
        self, flows: Sequence[FlowClass], capacity: float, arrival_lost: bool, draws: int = 2, pairs: bool = True
    ) -> None:
        self.flows = flows
        self.counts = np.array([flow.count for flow in flows], dtype=np.float64)
        self.capacity = capacity
        self.arrival_lost = arrival_lost
        self.draws = draws
        self.pairs = 2.0 if pairs else 0.0
        self.constant = np.array([flow.rate if isinstance(flow, ConstantRate) else 0.0 for flow in flows])
        self.responsive = [k for k, flow in enumerate(flows) if isinstance(flow, Responsive)]
        self.laws = [(flow.law.rate, flow.delay) for flow in flows if isinstance(flow, Responsive)]

    def sparing(self) -> _System:
        """The same, but an arrival is queued that meets a pair of another flow."""
        return _System(self.flows, self.capacity, False, self.draws, self.pairs > 0.0)

    def sum(self, values: Floats) -> float:
        return float(self.counts @ values)

    def unpack(self, unknown: Floats) -> tuple[Floats, Floats]:
        """Rate x and queue share h of each class."""
        n = len(self.flows)
        x = self.constant.copy()
        x[self.responsive] = np.exp(unknown[n : n + len(self.responsive)])
        return x, np.exp(unknown[:n])

    def sums(self, x: Floats, h: Floats) -> tuple[float, float]:
        """The total rate and the squared shares."""
        return self.sum(x), self.sum(h * h)

    def fates(self, x: Floats, h: Floats, sums: _Pair, theta: Floats | float, w: Floats | float) -> _Pair:
        """Of each class ln A and kappa tau."""
        total, squares = sums
        lost = 2.0 * h - h * h if self.draws == 2 else h
        if self.arrival_lost:
            lost = lost + np.maximum(squares - h * h, 0.0)
        lost = w * lost
        enter = np.where(lost < 1.0, np.log1p(-np.minimum(lost, 1.0)), -700.0 - lost)
        return enter, w * theta * (self.draws * x + self.pairs * (total - x) * h)

    def each(self, x: Floats, h: Floats, sums: _Pair, point: tuple[Any, Any, Any]) -> tuple[Floats, Floats, Floats]:
        """Class by class: the balance of the queue, the rate law of the responsive ones, and what is served.

        Rows of the arguments, if they have several, are several places.
        """
        theta, w, b = point
        enter, leak = self.fates(x, h, sums, theta, w)
        removed = w * h * (self.draws + self.pairs * (sums[0] / x - 1.0) * h)
        balance = np.log(removed) - enter - np.log(-np.expm1(-leak))
        passed = enter - leak
        law = np.log(x[..., self.responsive]) - self._allowed(passed[..., self.responsive], theta * b)
        return balance, law, x * np.exp(passed)

    def _allowed(self, passed: Floats, tau: Floats | float) -> Floats:
        """Logarithm of what responsive classes would send, by their laws, which know single numbers."""
        if not self.laws:
            return passed
        rows = passed.reshape(-1, len(self.laws))
        survivals, losses, delays = np.exp(rows).tolist(), (-np.expm1(rows)).tolist(), np.ravel(tau).tolist()
        allowed = [
            [log_rate(rate(p, q, queued, delay)) for (rate, delay), p, q in zip(self.laws, loss, survival, strict=True)]
            for loss, survival, queued in zip(losses, survivals, delays, strict=True)
        ]
        return np.array(allowed).reshape(passed.shape)

    def residual(self, unknown: Floats, point: _Point) -> Floats:
        x, h = self.unpack(unknown)
        balance, law, served = self.each(x, h, self.sums(x, h), point.of(unknown))
        full = [] if point.mode == "end" else [self.sum(h) - 1.0]
        return np.concatenate([balance, law, full, [math.log(self.sum(served) / self.capacity)]])

    def slopes(self, unknown: Floats, point: _Point) -> Bordered:
        """Derivatives of the residual, by differences.

        Classes know of each other by the two sums only. So all shares are moved at once, then all rates, then each sum
        and each common unknown: one evaluation at seven places, however many classes there are.
        """
        x, h = self.unpack(unknown)
        total, squares = self.sums(x, h)
        balance, law, served = self._beside(x, h, unknown[x.size + len(self.responsive) :], point)
        weight = self.counts / self.sum(served[0])
        slopes = np.zeros((2, len(balance) - 1, x.size))
        slopes[0] = (balance[1:] - balance[0]) / _STEP
        # The rate of a constant source stays as it is.
        slopes[1, 1] = 1.0
        slopes[1][:, self.responsive] = (law[1:] - law[0]) / _STEP
        of_served = (served[1:] - served[0]) / _STEP * weight
        nothing = np.zeros(x.size)
        border = [(nothing, -self.counts * x / total), (-2.0 * self.counts * h * h / squares, nothing)]
        border += [] if point.mode == "end" else [(self.counts * h, nothing)]
        border += [(of_served[0], of_served[1])]
        corner = np.zeros((len(border), len(border)))
        corner[0, 0] = corner[1, 1] = 1.0
        corner[-1] = of_served[2:].sum(axis=1)
        return Bordered(slopes[:, :2], slopes[:, 2:], np.array([np.concatenate(row) for row in border]), corner)

    def _beside(self, x: Floats, h: Floats, common: Floats, point: _Point) -> tuple[Floats, Floats, Floats]:
        """``each`` as it is, and with one thing moved: shares, rates, the two sums, the common unknowns."""
        places, growth = 5 + common.size, math.exp(_STEP)
        xs, hs = np.tile(x, (places, 1)), np.tile(h, (places, 1))
        hs[1] *= growth
        xs[2, self.responsive] *= growth
        total, squares = (np.full((places, 1), value) for value in self.sums(x, h))
        total[3] *= growth
        squares[4] *= growth
        shared = np.tile(common, (places, 1))
        shared[range(5, places), range(common.size)] += _STEP
        theta, w, b = np.array([point.of(row) for row in shared]).T[:, :, None]
        return self.each(xs, hs, (total, squares), (theta, w, b))

    def newton(self, start: Floats, point: _Point) -> Floats | None:
        """The unknowns, or None where the iteration does not come to an end."""
        with np.errstate(all="ignore"):
            return self._newton(start, point)

    def _newton(self, start: Floats, point: _Point) -> Floats | None:
        unknown = start
        value = self._at(unknown, point)
        if value is None:
            return None
        slopes: Bordered | None = None
        norm = float(np.abs(value).max())
        for _ in range(80):
            if norm < 1e-13:
                break
            fresh = slopes is None
            slopes = slopes or self._slopes(unknown, point)
            step = None if slopes is None else self._step(slopes, value)
            if step is None or not np.isfinite(step).all():
                return None
            longest = float(np.abs(step).max())
            step *= min(1.0, 2.0 / longest)
            following, reached = None, math.inf
            for _ in range(12 if fresh else 1):
                following = self._at(unknown + step, point)
                reached = math.inf if following is None else float(np.abs(following).max())
                if reached < norm:
                    break
                step = step / 2.0
            if following is None or reached >= norm:
                if fresh:
                    break
                slopes = None
                continue
            # The slopes serve on while they bring the values down fast.
            slopes = slopes if reached < 0.1 * norm else None
            unknown, value, norm = unknown + step, following, reached
        return unknown if norm < 1e-10 else None

    def _step(self, slopes: Bordered, value: Floats) -> Floats:
        """Newton's step."""
        n, m = len(self.flows), len(self.responsive)
        law = np.zeros(n)
        law[self.responsive] = value[n : n + m]
        (shares, rates), common = slopes.solve(value[:n], law, np.concatenate([[0.0, 0.0], value[n + m :]]))
        return -np.concatenate([shares, rates[self.responsive], common[2:]])

    def _at(self, unknown: Floats, point: _Point) -> Floats | None:
        """The residual, or None where there is none."""
        try:
            found = self.residual(unknown, point)
        except (ArithmeticError, ValueError):
            return None
        return found if np.isfinite(found).all() else None

    def _slopes(self, unknown: Floats, point: _Point) -> Bordered | None:
        """The derivatives, or None where there are none."""
        try:
            return self.slopes(unknown, point)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return None

    def start(self) -> Floats:
        """Shares as if nothing were lost, TCP at its part of the link, and the w that takes the excess."""
        x = self.constant.copy()
        x[self.responsive] = 1.2 * self.capacity / float(self.counts.sum())
        total = self.sum(x)
        h = np.clip(x / total, 1e-250, 0.3)
        h /= self.sum(h)
        lost = self.sum(x / total * np.minimum(4.0 * h, 1.0))
        w = min(max((1.0 - self.capacity / total) / lost, 0.02), 0.9)
        return np.concatenate([np.log(h), np.log(x[self.responsive]), [-math.log(total), math.log(w)]])


@dataclass(frozen=True)
class _Solution:
    """x and h of each class, theta = tau/b, and the point of the staircase."""

    x: Floats
    h: Floats
    theta: float
    w: float
    b: float
    regime: str


def _by_newton(system: _System, buffer: float) -> _Solution | None:
    """From riser to riser until w and b agree; None where an iteration fails."""
    start = system.start()
    unknown = start
    riser = min(math.ceil(10.0 * math.exp(start[-1])), 9)
    tried: dict[int, Floats] = {}
    while True:
        following = _on_a_riser(system, buffer * riser / 10.0, unknown)
        if following is None:
            return _search(system, buffer, start)
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
    return _sliding(system, buffer * riser / 10.0, unknown)


def _sliding(system: _System, b: float, unknown: Floats) -> _Solution:
    x, h = system.unpack(unknown)
    return _Solution(x, h, math.exp(unknown[-2]), math.exp(unknown[-1]), b, "sliding")


def _search(system: _System, buffer: float, start: Floats) -> _Solution | None:
    """Every stair, as where the queue alone decides the shares (Vegas) w on a riser would not, and then every riser."""
    for stair in range(1, 10):
        if (found := _on_a_stair(system, buffer, stair, start)) is not None:
            return found
    excess = _excess(system, buffer, start)
    if 1.0 < excess < math.inf:
        raise TailDropError(excess)
    for riser in range(1, 10):
        unknown = _on_a_riser(system, buffer * riser / 10.0, start)
        if unknown is not None and riser - 1 <= 10.0 * math.exp(unknown[-1]) <= riser:
            return _sliding(system, buffer * riser / 10.0, unknown)
    return None


def _on_a_riser(system: _System, b: float, near: Floats) -> Floats | None:
    """W and the shares with b packets queued."""
    point = _Point("riser", math.nan, b)
    found = system.newton(near, point)
    if found is None and system.arrival_lost:
        # Nearly the same queue, and easier: the pairs of others cost no arrival.
        easier = system.sparing().newton(near, point)
        found = None if easier is None else system.newton(easier, point)
    return found


def _on_a_stair(system: _System, buffer: float, stair: int, near: Floats) -> _Solution | None:
    """W is a tenth, and the queue is somewhere between two risers."""
    point = _Point("stair", stair / 10.0, math.nan)
    unknown = system.newton(np.append(near[:-1], math.log(buffer * (stair + 0.5) / 10.0)), point)
    if unknown is None:
        return None
    b = math.exp(unknown[-1])
    if not buffer * stair / 10.0 * (1.0 - 1e-9) <= b <= buffer * (stair + 1) / 10.0 * (1.0 + 1e-9):
        return None
    x, h = system.unpack(unknown)
    return _Solution(x, h, math.exp(unknown[-2]), stair / 10.0, b, "stair")


def _excess(system: _System, buffer: float, near: Floats) -> float:
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
    enter, leak = system.fates(found.x, found.h, system.sums(found.x, found.h), found.theta, found.w)
    x, h, p, survival = np.zeros((4, len(flows)))
    places = list(active)
    survival[:] = 1.0
    x[places], h[places] = found.x, found.h
    p[places], survival[places] = -np.expm1(enter - leak), np.exp(enter - leak)
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
            "what leaves the queue": equal(removed, np.exp(enter) * -np.expm1(-leak)),
            "the staircase": equal(w, _nearest_w(found.b / buffer, w)),
        }
    )
    return WardEquilibrium(
        flows, c, buffer, found.regime, w, found.b, tau, h, p, survival, x, goodput / c, goodput, residual
    )
