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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._roots import bracketed


@dataclass(frozen=True, eq=False)
class FrontChoke:
    """Result of :func:`front_choke`. Arrays are per flow along the last axis, in the order of the rates.

    mu: service rate, pkt/s. rates: arrival rates, pkt/s.
    p: probability that the head of the queue belongs to the flow.
    goodput: rate of service completions, pkt/s; below mu/2.
    drop_fraction: packets dropped per arrival, on arrival or from the head.
    idle: probability of an empty queue (P0).
    stable: whether the queue has an equilibrium, equation (2).
    growth: rate at which packets of the flow pile up in an overloaded queue, pkt/s; 0 if stable.
    """

    mu: float
    rates: Floats
    p: Floats
    goodput: Floats
    drop_fraction: Floats
    idle: Floats
    stable: np.ndarray[Any, np.dtype[np.bool_]]
    growth: Floats

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and numbers."""
        return dict(_check.plain(self))


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
    share = np.ones(total.shape)
    for index in np.ndindex(total.shape):
        if not is_stable[index]:
            row = inverse[index]

            def excess(k: float, row: Floats = row) -> float:
                return float(np.sum(k / (1.0 + k + row))) - 1.0

            share[index] = 1.0 if excess(1.0) <= 0.0 else bracketed(excess, 0.0, 1.0)
    k = share[..., np.newaxis]
    overloaded = ~is_stable[..., np.newaxis]
    p = np.where(overloaded, k / (1.0 + k + inverse), p)
    growth = np.where(overloaded, (1.0 - k) * lam * (1.0 - p), 0.0)
    return FrontChoke(mu, lam, p, mu * p, 2.0 * p, idle, is_stable, growth)
