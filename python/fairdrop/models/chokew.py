"""Equilibrium of CHOKeW: weighted matching, stop at the first match, no RED.

Source of the algorithm: "CHOKeW" (MILCOM 2005), equations (1) and (2), figures 1 and 2. The paper contains
no model; everything here goes beyond it. A flow of weight w draws up to D = p0/w packets, D = m+f meaning
m draws and one more with probability f. With h the share of the queue,

    no match q = (1-h)^m (1-f h),  loss p = 2(1-q),  1-p = q e^{-u(1-q)/h},  u = x tau/b.

The two unknowns p0 and tau follow from sum h = 1 and from the capacity. For small h the loss is about
2 D h, so that p w/h is equal for all flows.

Validity: p0 is constant while the queue is between its two thresholds L- and L+, so every backlog in that
band is an equilibrium, not one; give the one of interest as ``b``. The rule that moves p0 integrates twice
and oscillates: under it the mean p0 is 3 to 14% above the value here (simulated at constant rates), shares
of TCP within 0.5%. At constant rates p0, h and mu do not depend on b. Results with TCP at high loss
(timeouts) are solutions of the equations, not predictions. Tail drop is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._nest import LossFunction, Rates, State, balance, check_filled
from fairdrop.models._roots import bracketed
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.errors import NoEquilibriumError
from fairdrop.models.flows import FlowClass, allowed_rates, class_dict, flow_classes


@dataclass(frozen=True, eq=False)
class ChokeWEquilibrium(Result):
    """Result of :func:`chokew_equilibrium`; arrays of shape (classes,), per single flow.

    p0: basic drawing factor. drawing: p0/w. b: backlog, pkt (given). tau: queueing delay, s.
    h: share of the queue. match: probability that an arrival matches, 1-q. p: loss. survival: 1-p.
    x: source rate, pkt/s. mu: share of the link. goodput: pkt/s. residual: largest relative residual.
    """

    flows: tuple[FlowClass, ...]
    weights: Floats
    capacity: float
    b: float
    p0: float
    drawing: Floats
    tau: float
    h: Floats
    match: Floats
    p: Floats
    survival: Floats
    x: Floats
    mu: Floats
    goodput: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, in the order of ``names``."""
        keys = ("weights", "b", "p0", "drawing", "tau", "h", "match", "p", "survival", "x", "mu", "goodput")
        return class_dict(self, (*keys, "residual"))


def match_probability(h: float, drawing: float) -> float:
    """1-q: probability that at least one of the draws matches, for a queue share ``h`` in [0, 1]."""
    whole = math.floor(drawing)
    part = drawing - whole
    if h >= 1.0 or part * h >= 1.0:
        return 1.0 if whole > 0 else part * h
    return -math.expm1(whole * math.log1p(-h) + math.log1p(-part * h))


def _loss(drawing: float) -> LossFunction:
    """The map from u = x tau/b to h, p and 1-p at a given drawing factor."""

    def linear(u: float) -> tuple[float, float, float]:
        # At most one draw: h is explicit, and may pass 1, which the sum over the flows then excludes.
        entered = -math.expm1(-u * drawing)
        matched = entered / (1.0 + entered)
        return matched / drawing, 2.0 * matched, math.exp(-u * drawing) / (1.0 + entered)

    def general(u: float) -> tuple[float, float, float]:
        if u <= 0.0:
            return 0.0, 0.0, 1.0

        def excess(h: float) -> float:
            matched = match_probability(h, drawing)
            return matched + (1.0 - matched) * math.expm1(-u * matched / h)

        high = min(1.0, u)
        # h = u - O(u^2): for a very small load rounding may hide the sign at the upper end.
        at_high = excess(high)
        h = high if at_high <= 0.0 else bracketed(excess, 0.0, high, low_value=-1.0, high_value=at_high)
        matched = match_probability(h, drawing)
        return h, 2.0 * matched, (1.0 - matched) * math.exp(-u * matched / h)

    return linear if drawing < 1.0 else general


@solver
def chokew_equilibrium(
    capacity: float, flows: Iterable[FlowClass], weights: ArrayLike, b: float = 150.0
) -> ChokeWEquilibrium:
    """Drawing factor and shares of CHOKeW.

    ``capacity`` in pkt/s; ``flows`` classes of constant-rate or responsive flows; ``weights`` one positive
    weight per class (the paper uses at least 1); ``b`` the backlog in packets, anywhere between the two
    thresholds of the drawing factor.

    Raises ``ValueError`` naming the argument, and :class:`NoEquilibriumError` if the load is below the
    capacity, so that nothing need be dropped.
    """
    c = _check.positive("capacity", capacity)
    classes = flow_classes(flows)
    weight = _check.array("weights", weights)
    if weight.shape != (len(classes),) or np.any(weight <= 0.0):
        raise ValueError("weights must be positive, one per class of flows")
    backlog = _check.positive("b", b)
    count = np.array([flow.count for flow in classes], dtype=np.float64)
    rates = Rates(classes)

    def state_at(tau: float, log_p0: float) -> State:
        losses = [_loss(math.exp(log_p0) / float(w)) for w in weight]
        return rates.state(tau, tau / backlog, losses)

    low, high = math.log(1e-8 * float(weight.min())), math.log(1e7 * float(weight.max()))
    found = balance(
        classes, c, state_at, low=low, high=high, guess=0.0, step=0.1, log_tau=math.log(backlog / c)
    )
    state = found.state
    if found.s == low:
        raise NoEquilibriumError("the load is below the capacity: nothing need be dropped")
    if found.s == high:
        raise NoEquilibriumError("no drawing factor brings the load down to the capacity")
    check_filled(found, classes, c)
    p0 = math.exp(found.s)
    drawing = p0 / weight
    h, p, x, survival = (np.array(values) for values in (state.h, state.p, state.x, state.survival))
    match = np.array([match_probability(float(h[k]), float(drawing[k])) for k in range(h.size)])
    goodput = x * survival
    active = x > 0.0
    thinned = (1.0 - match[active]) * np.exp(-x[active] * state.tau / backlog * match[active] / h[active])
    rate = allowed_rates(classes, p, survival, state.tau)
    residual = verified(
        {
            "the sum of the queue shares": equal(count @ h, 1.0),
            "the throughput of the link": equal(count @ goodput, c),
            "the rate law": equal(x, rate),
            "the loss of two packets per match": equal(p, 2.0 * match),
            "the survival of the queue": equal(survival[active], thinned),
            "the loss beside the survival": np.abs(1.0 - p - survival),
        }
    )
    return ChokeWEquilibrium(
        classes,
        weight,
        c,
        backlog,
        p0,
        drawing,
        state.tau,
        h,
        match,
        p,
        survival,
        x,
        goodput / c,
        goodput,
        residual,
    )
