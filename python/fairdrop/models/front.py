"""Front CHOKe: every arrival is compared with the packet at the head of the queue.

Source: "CHOKe" (INFOCOM 2000), section IV.A, equations (1) to (3). Poisson arrivals, exponential
service, infinite first-in-first-out queue, no thresholds. A match drops the arrival and the head packet.
By the PASTA property the result is the same for any rule that selects the candidate and the packet in
service alike, for instance both at random.

Validity: the head packet is the one in service and can be dropped while in service. The formulas do not
carry over to bursty or window-controlled sources, and as a stand-in for random-draw CHOKe they
underestimate the drops of a fast flow by several per cent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import elementwise

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._verify import equal, solver, verified


@dataclass(frozen=True, eq=False)
class FrontChoke(Result):
    """Result of :func:`front_choke`. Arrays are per flow along the last axis, in the order of the rates.

    mu: service rate, pkt/s. rates: arrival rates, pkt/s.
    p: probability that the head of the queue belongs to the flow.
    goodput: rate of service completions, pkt/s; below mu/2.
    drop_fraction: packets dropped per arrival, on arrival or from the head.
    idle: probability of an empty queue (P0).
    stable: whether the queue has an equilibrium, equation (2).
    growth: rate at which packets of the flow pile up in an overloaded queue, pkt/s; 0 if stable.
    """

    AXES: ClassVar[tuple[str, ...]] = ("case", "flow")

    mu: float
    rates: Floats
    p: Floats
    goodput: Floats
    drop_fraction: Floats
    idle: Floats
    stable: np.ndarray[Any, np.dtype[np.bool_]]
    growth: Floats

    def _variables(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        found = super()._variables()
        leading = found["p"][0][:-1]
        return {**found, "idle": (leading, self.idle), "stable": (leading, self.stable)}

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and numbers."""
        return dict(_check.plain(self))


@solver
def front_choke(mu: float, rates: ArrayLike) -> FrontChoke:
    """Head probabilities, goodputs and drops of Front CHOKe.

    ``mu`` is the service rate in pkt/s (positive), ``rates`` the Poisson arrival rates in pkt/s, shape
    (..., N), not negative. Vectorised over the leading axes.

    Stable queue: p = lambda/(mu + 2 lambda), equation (1); goodput mu p.
    Overloaded queue (beyond the paper): the head is never empty and only a fraction k of the admitted
    packets reaches it, the rest piling up behind, so that p = k lambda/(mu + lambda + k lambda) with k in
    (0, 1) set by sum p = 1. Such a k exists exactly if equation (2) fails.

    Raises ``ValueError`` naming the argument for rates or mu that are negative, zero mu or not finite.
    """
    mu = _check.positive("mu", mu)
    lam = _check.rate_vector("rates", rates)
    # mu/lambda instead of lambda/mu: a rate of zero gives p = 0 and a huge one 1/2, without overflow.
    with np.errstate(divide="ignore", over="ignore"):
        inverse = mu / lam
    p = 1.0 / (2.0 + inverse)
    total = p.sum(axis=-1)
    is_stable = np.asarray(total < 1.0) if lam.shape[-1] > 2 else np.ones(total.shape, dtype=np.bool_)
    # For one and two flows the sum may round to 1 although every term is below 1/2.
    idle = np.where(is_stable, np.maximum(1.0 - total, 0.0), 0.0)
    rows = inverse.reshape(-1, inverse.shape[-1])
    overfull = np.flatnonzero(~is_stable)
    share = np.ones(total.size)
    if overfull.size:

        def excess(k: Floats, row: np.ndarray[Any, np.dtype[np.int64]]) -> Floats:
            part = k[..., np.newaxis]
            return np.asarray(np.sum(part / (1.0 + part + rows[row]), axis=-1) - 1.0)

        found = elementwise.find_root(excess, (np.zeros(overfull.size), np.ones(overfull.size)), args=(overfull,))
        # A sum of exactly 1 at k = 1, up to rounding, is no change of sign.
        share[overfull] = np.where(found.success, found.x, 1.0)
    share = share.reshape(total.shape)
    k = share[..., np.newaxis]
    overloaded = ~is_stable[..., np.newaxis]
    p = np.where(overloaded, k / (1.0 + k + inverse), p)
    growth = np.where(overloaded, (1.0 - k) * lam * (1.0 - p), 0.0)
    sums = np.where(is_stable, p.sum(axis=-1) + idle, p.sum(axis=-1))
    passed = np.where(overloaded, k, 1.0) * (1.0 - p)
    verified(
        {
            "the probabilities of the head": equal(sums, 1.0),
            "what enters beside what leaves": equal(passed, np.where(p > 0.0, (1.0 + inverse) * p, passed)),
        }
    )
    return FrontChoke(mu, lam, p, mu * p, 2.0 * p, idle, is_stable, growth)
