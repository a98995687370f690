"""CHOKe with packets of several sizes: draws of packets, or of the cells that they are chopped into.

Source: IEEE Micro 21(3), 2001, "Chopping the packets", which argues N1 = N2: two flows of equal byte rate lose equally
many bytes. The equilibrium goes beyond the article. A packet of S bytes counts w times in a draw, once or S/cell;
with W the weight of the queue and h the weight of one flow over W, equations (3) to (5) of "Understanding CHOKe"
hold as they are with a survival per own arrival of 1 - w/W:

    h = (1-h)(1-r)(1-e^{-u}),  1-p = (1-h)(1-r) e^{-u},  u = -ln(1 - w/W) x tau,

and RED sees W, as its average counts what is sampled. With cells w x is the byte rate: loss depends on it alone (for
W much larger than w), which is N1 = N2. With packets it depends on the packet rate.

Validity: as :mod:`fairdrop.models.equilibrium`; S a multiple of the cell (a rest counts as a part of one here).
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
from fairdrop.models._nest import LossFunction, Rates, State, balance, check_filled, match_loss
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.errors import BelowThresholdError, NoEquilibriumError
from fairdrop.models.flows import FlowClass, allowed_rates, class_dict, flow_classes
from fairdrop.models.red import Red


@dataclass(frozen=True, eq=False)
class SizedEquilibrium(Result):
    """Result of :func:`sized_equilibrium`; arrays of shape (classes,), per single flow.

    sizes: bytes of a packet. cell: bytes of a cell, None when packets are drawn. b: queue in what is drawn.
    packets: packets queued. r: RED drop probability. tau: queueing delay, s. h: match probability. p: loss.
    survival: 1-p. x: source rate, pkt/s. goodput: bytes/s. mu: share of the link. residual: largest relative residual.
    """

    flows: tuple[FlowClass, ...]
    sizes: Floats
    cell: float | None
    regime: str
    b: float
    packets: float
    r: float
    tau: float
    h: Floats
    p: Floats
    survival: Floats
    x: Floats
    goodput: Floats
    mu: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, in the order of ``names``."""
        keys = ("sizes", "cell", "regime", "b", "packets", "r", "tau", "h", "p", "survival", "x", "goodput", "mu")
        return class_dict(self, (*keys, "residual"))


@solver
def sized_equilibrium(
    capacity: float, red: Red, flows: Iterable[FlowClass], sizes: ArrayLike, *, cell: float | None = None
) -> SizedEquilibrium:
    """The equilibrium of CHOKe with one candidate and packets of several sizes.

    ``capacity`` in bytes/s; ``sizes`` bytes per packet, one for each class of flows; ``cell`` bytes of a cell when
    cells are drawn and counted, None when packets are. ``red`` counts what is drawn.

    Raises ``ValueError`` naming the argument, and :class:`BelowThresholdError` as
    :func:`fairdrop.models.equilibrium.solve`.
    """
    c = _check.positive("capacity", capacity)
    if not isinstance(red, Red):
        raise ValueError(f"red must be a Red, got {_check.shown(red)}")
    classes = flow_classes(flows)
    size = _check.array("sizes", sizes)
    if size.shape != (len(classes),) or np.any(size <= 0.0):
        raise ValueError("sizes must be positive, one per class of flows")
    weight = np.ones(size.shape) if cell is None else size / _check.positive("cell", cell)
    rates = Rates(classes)
    low, high = max(red.min_th, float(weight.max()) * (1.0 + 1e-6)), red.path_end
    if low >= high:
        raise BelowThresholdError(low, None)

    def betas(b: float) -> list[float]:
        return [-math.log1p(-float(w) / b) for w in weight]

    def plain_state(tau: float, s: float) -> State:
        b, r = red.path(s)

        def loss(beta: float) -> LossFunction:
            return lambda load: match_loss(beta * load, r, 1)

        return rates.state(tau, tau, [loss(beta) for beta in betas(b)])

    def in_bytes(tau: float, s: float) -> State:
        """The balance adds survivals up to the capacity: each counts as many bytes as its packets have."""
        state = plain_state(tau, s)
        return State(tau, state.x, state.h, state.p, [q * float(k) for q, k in zip(state.survival, size, strict=True)])

    log_tau = math.log(low * (float(size.mean()) if cell is None else float(cell)) / c)
    found = balance(classes, c, in_bytes, low=low, high=high, guess=low, step=0.01 * low, log_tau=log_tau)
    if found.s == low and found.occupancy < 1.0 - 1e-9:
        raise BelowThresholdError(low, found.occupancy)
    check_filled(found, classes, c)
    if found.s == low:
        raise NoEquilibriumError("the queue is shorter than RED's min_th")
    state, (b, r) = plain_state(found.state.tau, found.s), red.path(found.s)
    tau = state.tau
    h, p, x, survival = (np.array(values) for values in (state.h, state.p, state.x, state.survival))
    count = np.array([flow.count for flow in classes])
    goodput = x * survival * size
    through = (1.0 - h) * (1.0 - r) * np.exp(-np.array(betas(b)) * x * tau)
    residual = verified(
        {
            "equation (3)": equal(p, 2.0 * h + r - r * h),
            "equation (4)": equal(survival, through),
            "the sum of the queue shares": equal(count @ h, 1.0),
            "the throughput of the link": equal(count @ goodput, c),
            "the rate law": equal(x, allowed_rates(classes, p, survival, tau)),
        }
    )
    regime = "sliding" if red.jump and found.s > red.max_th else "active"
    packets = float(count @ (h / weight)) * b
    return SizedEquilibrium(
        classes, size, cell, regime, b, packets, r, tau, h, p, survival, x, goodput, goodput / c, residual
    )
