"""How the equilibrium is reached: the fluid model of CHOKe in time, with its delays, integrated.

Beyond "Understanding CHOKe" (2004), which is about the equilibrium (its section VII asks for more). The queue is kept
as what entered in each step, so that the profile of :mod:`fairdrop.models.spatial` moves with it. With h a flow's share
of the queue, all of it at time t,

    enters      x (1-h)^m (1-r)
    leaks       m x/b of what is queued of the flow, per second
    leaves      what is oldest, at c in total; its age is tau
    RED         r = g(average), average' = -ln(1-w_q) X (b - average); nothing is compared below min_th
    TCP         W' = x(t-R) ((1-p(t-R))/W - p(t-R) W/2), x = W/R, R = d + tau, p = 1 - (1-h)^m (1-r) + m h

whose state of rest is equations (3) to (9) with the "poisson" survival and the law sqrt(2(1-p)/p)/R. Until a flow has
to expect its first loss its window doubles per round trip.

Validity: a fluid, the mean of many runs; TCP without timeouts; steps far below the round trip.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.equilibrium import ChokeLink
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive
from fairdrop.models.tcp import Reno


@dataclass(frozen=True)
class Timed:
    """A class of flows that sends from ``start`` to ``stop``, s."""

    flow: FlowClass
    start: float = 0.0
    stop: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.flow, (ConstantRate, Responsive)):
            raise ValueError(f"flow must be a ConstantRate or a Responsive, got {_check.shown(self.flow)}")
        if isinstance(self.flow, Responsive) and not (isinstance(self.flow.law, Reno) and self.flow.delay > 0.0):
            raise ValueError("flow must follow Reno with a delay above 0: only its window is modelled in time")
        start = _check.non_negative("start", self.start)
        if self.stop != math.inf and _check.positive("stop", self.stop) <= start:
            raise ValueError(f"stop must be after start, got {_check.shown(self.stop)}")
        _check.store(self, start=start, stop=float(self.stop))


@dataclass(frozen=True, eq=False)
class Transient(Result):
    """Result of :func:`integrate`: values at times ``t`` (s), shape (n,); of the classes shape (classes, n).

    b: queue, pkt. average: RED's. r: RED drop probability. tau: age of the head, s. x: source rate of one flow,
    pkt/s. p: loss of one flow. backlog, throughput: packets queued and pkt/s sent on, of the whole class.
    """

    AXES: ClassVar[tuple[str, ...]] = ("flow", "time")

    names: tuple[str, ...]
    t: Floats
    b: Floats
    average: Floats
    r: Floats
    tau: Floats
    x: Floats
    p: Floats
    backlog: Floats
    throughput: Floats

    def _coordinates(self) -> dict[str, Any]:
        return {"flow": list(self.names)}

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return dict(_check.plain(self))


class _Fluid:
    """The queue as what entered in each step and is still there, class by class; and the senders."""

    def __init__(self, link: ChokeLink, flows: Sequence[Timed], w_q: float, step: float, steps: int) -> None:
        self.link, self.flows, self.step = link, flows, step
        self.keep = -math.log1p(-w_q)
        classes = len(flows)
        self.count = np.array([one.flow.count for one in flows])
        self.parcels = np.zeros((classes, steps))
        self.head = 0
        self.average = 0.0
        self.window = np.ones(classes)
        self.expected_losses = np.zeros(classes)
        self.entered = np.zeros(classes)
        self.left = np.zeros(classes)
        self.x, self.p, self.served = (np.zeros((classes, steps)) for _ in range(3))
        self.backlog = np.zeros((classes, steps))
        self.scalars = np.zeros((4, steps))

    def advance(self, i: int) -> None:
        link, dt, m = self.link, self.step, self.link.candidates
        queued = self.parcels[:, self.head : i].sum(axis=1)
        b = float(queued.sum())
        tau = (i - self.head) * dt
        h = queued / self.count / b if b > 0.0 and self.average >= link.red.min_th else np.zeros(len(self.flows))
        red = link.red
        ramp = min(1.0, max(0.0, red.slope * (self.average - red.min_th)))
        r = 1.0 if red.jump and self.average > red.max_th else ramp
        x = self._rates(i, tau)
        enter = (1.0 - h) ** m * (1.0 - r)
        self.p[:, i], self.x[:, i] = 1.0 - enter + m * h, x
        self.backlog[:, i], self.scalars[:, i] = queued, (b, self.average, r, tau)
        # Leaks, then arrivals, then departures.
        if h.any():
            decay = np.exp(-m * x / max(b, float(m)) * dt)
            self.left += queued * (1.0 - decay)
            self.parcels[:, self.head : i] *= decay[:, np.newaxis]
        coming = x * self.count * enter * dt
        self.entered += coming
        self.parcels[:, i] = coming
        self._serve(i)
        arrived = float(x @ self.count) * dt
        self.average += -math.expm1(-self.keep * arrived) * (b - self.average)

    def _serve(self, i: int) -> None:
        room = self.link.capacity * self.step
        sums = np.cumsum(self.parcels[:, self.head : i + 1].sum(axis=0))
        whole = int(np.searchsorted(sums, room, side="right"))
        out = self.parcels[:, self.head : self.head + whole].sum(axis=1)
        self.parcels[:, self.head : self.head + whole] = 0.0
        done = float(sums[whole - 1]) if whole else 0.0
        self.head += whole
        if self.head <= i and room > done:
            parcel = self.parcels[:, self.head]
            part = (room - done) / float(parcel.sum())
            out = out + part * parcel
            self.parcels[:, self.head] = (1.0 - part) * parcel
        self.left += out
        self.served[:, i] = out / self.step

    def _rates(self, i: int, tau: float) -> Floats:
        now, dt = i * self.step, self.step
        x = np.zeros(len(self.flows))
        for k, one in enumerate(self.flows):
            flow = one.flow
            if not one.start <= now < one.stop:
                continue
            if isinstance(flow, ConstantRate):
                x[k] = flow.rate
                continue
            round_trip = flow.delay + tau
            past = i - round(round_trip / dt)
            if past >= 0 and self.x[k, past] > 0.0:
                sent, lost = self.x[k, past], min(self.p[k, past], 1.0)
                self.expected_losses[k] += sent * lost * dt
                w, law = self.window[k], flow.law
                assert isinstance(law, Reno)
                gain = 1.0 if self.expected_losses[k] < 1.0 else law.constant / 2.0 / w
                kept = 1.0 if law.small_loss else 1.0 - lost
                self.window[k] = max(w + dt * sent * (kept * gain - lost * w / 2.0), 1.0)
            x[k] = self.window[k] / round_trip
        return x


@solver
def integrate(
    link: ChokeLink,
    flows: Iterable[Timed],
    duration: float,
    *,
    w_q: float = 0.002,
    step: float | None = None,
    every: int = 1,
) -> Transient:
    """The fluid model from an empty queue at time 0 to ``duration`` s.

    ``w_q``: weight of RED's average. ``step``: s, by default a tenth of the shortest propagation delay or the time of
    one packet, whichever is less. ``every``: steps from one value of the result to the next, which is their mean.
    ``survival`` of the link has no effect. Raises ``ValueError`` naming the argument.
    """
    if not isinstance(link, ChokeLink):
        raise ValueError(f"link must be a ChokeLink, got {_check.shown(link)}")
    timed = tuple(flows) if isinstance(flows, Iterable) else ()
    if not timed or not all(isinstance(one, Timed) for one in timed):
        raise ValueError("flows must be a non-empty sequence of Timed")
    weight = _check.positive("w_q", w_q)
    if weight >= 1.0:
        raise ValueError(f"w_q must be below 1, got {_check.shown(w_q)}")
    delays = [one.flow.delay for one in timed if isinstance(one.flow, Responsive)]
    default = min([0.1 * delay for delay in delays] + [1.0 / link.capacity])
    dt = default if step is None else _check.positive("step", step)
    together = _check.integer("every", every, 1)
    steps = math.ceil(_check.positive("duration", duration) / dt)
    if not together <= steps <= 5_000_000:
        raise ValueError(f"duration must take from {together} to 5000000 steps of {dt:g} s, got {steps}")
    fluid = _Fluid(link, timed, weight, dt, steps)
    for i in range(steps):
        fluid.advance(i)
    kept = fluid.parcels[:, fluid.head :].sum(axis=1)
    verified({"what entered beside what left and what is queued": equal(fluid.left + kept, fluid.entered)})

    def means(values: Floats) -> Floats:
        whole = values[..., : steps // together * together]
        return np.asarray(whole.reshape(*whole.shape[:-1], -1, together).mean(axis=-1))

    b, average, r, tau = means(fluid.scalars)
    names = tuple(one.flow.name for one in timed)
    t = means(np.arange(steps, dtype=np.float64) * dt)
    x, p, backlog, served = (means(values) for values in (fluid.x, fluid.p, fluid.backlog, fluid.served))
    return Transient(names, t, b, average, r, tau, x, p, backlog, served)
