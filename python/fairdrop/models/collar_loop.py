"""How steady COLLAR is: the noise of its estimate of s, and the phase margin of its controller.

*Noise.* A sampled departure is compared with c of M remembered ones, and an average moves by (hits - c s) s/A. Samples
are taken to be independent draws from the output, of shares q. With g = c s/A the weight of the last sample, w_n = g
(1-g)^n of the one n before, and W_n the weight that it had as a remembered one, two averages v and v' have

    cov = (s (1-s) - 2 (s3 - s^2)) sum w w' / c + (s3 - s^2) sum (w + W) (w' + W'),   s3 = sum q^3

by Hoeffding's decomposition of the pairs: what belongs to a pair alone, and what belongs to each of its ends. For N
equal flows s3 = s^2, and the relative deviation of one is sqrt((1-s)/(2 A)), whatever N is. The discipline's s is the
lesser of one of 512 matches and one of 2048. Where both are normal, t the deviation of their difference, its mean is
t/sqrt(2 pi) below theirs, and its variance (var v + var v')/2 - t^2/(2 pi).

*Margin.* N flows of Reno with round trip R hold the part 1 - u of the link, the rest is held by senders that do not
answer. Their windows are sqrt(2)/r at a root r. From r to the wait, after Misra, Gong and Towsley 2000 and Hollot and
others 2001, with a drop probability r^2 as in RFC 9332:

    G = (1-u) (sqrt(2)/R) e^{-iwR} / ((iw + r (1 + e^{-iwR})/(sqrt(2) R)) (iw + (1-u)/R))
    C = (beta g + alpha g^2/(iw T)) e^{-iwT/2}

where g is (100 ms + target) / (100 ms + the wait aimed at), and T the time between
updates, which holds a value for T/2 on average.

Validity: small deviations, all flows in step, one round-trip time; TCP of a window of several packets. What the limit
of each flow takes is not in the loop.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models import _check
from fairdrop.models._frames import Result
from fairdrop.models._roots import bracketed
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.errors import NoEquilibriumError

#: Constants of the discipline: crates/fairdrop/src/disciplines/collar/.
T_UPDATE, ALPHA, BETA, RTT_MAX, MOST_ROOT = 0.016, 0.16, 3.2, 0.1, 0.5
COMPARED, AVERAGED, AVERAGED_SLOWLY = 128, 512.0, 2048.0


@dataclass(frozen=True, eq=False)
class CollarNoise(Result):
    """Result of :func:`collar_noise`.

    s: the sum of squares. bias: how far the mean of the estimate is from it, as a part of it. deviation: standard
    deviation over s. pairs, ends: the parts of the squared deviation of the quicker average that belong to pairs and to
    their ends. samples: sampled departures that it averages.
    """

    s: float
    bias: float
    deviation: float
    pairs: float
    ends: float
    samples: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {name: getattr(self, name) for name in ("s", "bias", "deviation", "pairs", "ends", "samples")}


@dataclass(frozen=True, eq=False)
class CollarMargin(Result):
    """Result of :func:`collar_margin`.

    root: root of the drop probability. window: packets. rtt: round trip with the wait, s. wait: s. crossover: frequency
    of gain 1, rad/s. phase_margin: degrees; below 0 the loop swings. swing: frequency at which the phase is -180
    degrees, rad/s. gain_margin: 1 over the gain there. stable: whether both margins say so.
    """

    root: float
    window: float
    rtt: float
    wait: float
    crossover: float
    phase_margin: float
    swing: float
    gain_margin: float
    stable: bool
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        names = ("root", "window", "rtt", "wait", "crossover", "phase_margin", "swing", "gain_margin", "stable")
        return {name: getattr(self, name) for name in (*names, "residual")}


@solver
def collar_noise(
    shares: ArrayLike,
    counts: ArrayLike = 1.0,
    *,
    ids: int = 256,
    compared: int = COMPARED,
    averaged: float = AVERAGED,
    averaged_slowly: float = AVERAGED_SLOWLY,
) -> CollarNoise:
    """Bias and standard deviation of s for an output of these ``shares``, which are made to sum to 1.

    ``counts`` says how many flows have each share; one for all, or one each. ``ids`` are remembered, ``compared`` of
    them at each sample; ``averaged`` matches, and ``averaged_slowly`` of the bound.

    Raises ``ValueError`` naming the argument.
    """
    q, many = _check.rate_vector("shares", shares).ravel(), _check.array("counts", counts)
    if many.shape not in ((), q.shape):
        raise ValueError("counts must be one number, or one for each share")
    if not (many * q).sum() > 0.0:
        raise ValueError("shares must not all be zero")
    memory, c = _check.integer("ids", ids, 1), _check.integer("compared", compared, 1)
    if c > memory:
        raise ValueError(f"compared must be at most ids, got {c}")
    a = _check.positive("averaged", averaged)
    q = q / (many * q).sum()
    s, cubes = float((many * q**2).sum()), float((many * q**3).sum())
    if c * s >= a:
        raise ValueError(f"averaged must be above compared times the sum of squares, {c * s:g}, got {a:g}")
    slow = _check.positive("averaged_slowly", averaged_slowly)
    if slow < a:
        raise ValueError(f"averaged_slowly must be at least averaged, {a:g}, got {slow:g}")
    g, h = c * s / a, c * s / slow
    # Of the two averages: variances of each, covariance.
    of_pairs, of_ends = (s * (1.0 - s) - 2.0 * (cubes - s * s)) / c, cubes - s * s
    both = ((g, g), (h, h), (g, h))
    pairs = [of_pairs * x * y / (x + y - x * y) for x, y in both]
    ends = [of_ends * _both_ends(x, y, memory) for x, y in both]
    quick, steady, shared = (pair + end for pair, end in zip(pairs, ends, strict=True))
    apart = max(quick + steady - 2.0 * shared, 0.0) / (2.0 * math.pi)
    deviation = math.sqrt(max((quick + steady) / 2.0 - apart, 0.0))
    return CollarNoise(s, -math.sqrt(apart) / s, deviation / s, pairs[0] / s**2, ends[0] / s**2, 2.0 / g - 1.0)


def _both_ends(g: float, h: float, memory: int) -> float:
    """The sum of (w + W) (w' + W'): a sample has the weight w when it comes, and W while it is remembered.

    A sample n steps back was compared with by those from n-1 to n-memory steps back, for a part 1/memory of each.
    """
    least = min(g, h)
    steps = np.arange(memory + math.ceil(40.0 / least) if least > 1e-7 else 4_000_000, dtype=np.float64)

    def weights(gain: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        keep = 1.0 - gain
        later = keep ** np.maximum(steps - memory, 0.0) - keep**steps
        return gain * keep**steps + later / memory

    return float(np.sum(weights(g) * weights(h)))


def gain_of(target: float, wait: float) -> float:
    """How much of its gains the controller takes while it aims at ``wait``, s."""
    return min((RTT_MAX + target) / (RTT_MAX + wait), 1.0)


@solver
def collar_margin(
    capacity: float, tcp_flows: float, delay: float, *, greedy: float = 0.0, target: float = 0.015
) -> CollarMargin:
    """Phase and gain margin with ``tcp_flows`` of Reno of a round trip of ``delay`` s without the wait.

    ``capacity`` in pkt/s. ``greedy`` is the part of the link that senders which do not answer hold, ``target`` the
    discipline's, s.

    Raises ``ValueError`` naming the argument, and :class:`NoEquilibriumError` where the root would be above its
    most, 0.5, or the loop has a gain below 1 at all frequencies.
    """
    c, n = _check.positive("capacity", capacity), _check.positive("tcp_flows", tcp_flows)
    d, u = _check.non_negative("delay", delay), _check.within("greedy", greedy, 0.0, 1.0)
    aimed = _check.positive("target", target)
    wait = max(aimed, n / c)
    rtt = d + wait
    window = c * (1.0 - u) * rtt / n
    if math.sqrt(2.0) / window > MOST_ROOT:
        raise NoEquilibriumError(f"TCP's windows would be {window:.3g} packets: the root would be above 0.5")
    root, g = math.sqrt(2.0) / window, gain_of(aimed, wait)

    def loop(w: float) -> complex:
        back = cmath.exp(-1j * w * rtt)
        windows = 1j * w + root * (1.0 + back) / (math.sqrt(2.0) * rtt)
        plant = (1.0 - u) * math.sqrt(2.0) / rtt * back / (windows * (1j * w + (1.0 - u) / rtt))
        return plant * (BETA * g + ALPHA * g * g / (1j * w * T_UPDATE)) * cmath.exp(-0.5j * w * T_UPDATE)

    log_w = np.linspace(math.log(1e-4 / rtt), math.log(100.0 / rtt), 6000)
    values = np.array([loop(math.exp(each)) for each in log_w])
    gain, phase = np.log(np.abs(values)), np.unwrap(np.angle(values))
    # An integrator: a quarter turn back at frequency 0.
    phase -= 2.0 * math.pi * round((phase[0] + math.pi / 2) / (2.0 * math.pi))
    crossing = np.flatnonzero((gain[:-1] > 0.0) & (gain[1:] <= 0.0))
    turning = np.flatnonzero((phase[:-1] > -math.pi) & (phase[1:] <= -math.pi))
    if crossing.size == 0 or turning.size == 0:
        raise NoEquilibriumError("the gain of the loop is below 1 at all frequencies")
    at, turn = int(crossing[-1]), int(turning[0])
    crossover = math.exp(bracketed(lambda x: math.log(abs(loop(math.exp(x)))), log_w[at], log_w[at + 1]))
    swing = math.exp(bracketed(lambda x: (-loop(math.exp(x))).imag, log_w[turn], log_w[turn + 1]))
    turns = 2.0 * math.pi * round((phase[at] - cmath.phase(loop(crossover))) / (2.0 * math.pi))
    margin = 180.0 + math.degrees(cmath.phase(loop(crossover)) + turns)
    gain_margin = 1.0 / abs(loop(swing))
    residual = verified(
        {
            "the gain at the crossover": equal(abs(loop(crossover)), 1.0),
            "the half turn": np.atleast_1d(abs(loop(swing).imag) / abs(loop(swing))),
            "the throughput of the link": equal(n * math.sqrt(2.0) / root / rtt + u * c, c),
        }
    )
    stable = margin > 0.0 and gain_margin > 1.0
    return CollarMargin(root, window, rtt, wait, crossover, margin, swing, gain_margin, stable, residual)
