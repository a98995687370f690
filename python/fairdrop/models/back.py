"""Back CHOKe with memory: an arrival is dropped if its flow is among the last M admitted packets.

Source: "CHOKe" (INFOCOM 2000), section IV.B, equations (4) and (5). The closed form for any number of
flows and any memory goes beyond the paper: in continuous time an ordered memory content has weight
proportional to the product of its rates, hence with e_k the elementary symmetric polynomials

    admitted rate of flow i   a_i = lambda_i e_M(lambda without i) / e_M(lambda)
    share of the admissions  pi_i = lambda_i e_M(lambda without i) / ((M+1) e_{M+1}(lambda))

The polynomials enter only as ratios. They are evaluated as probabilities that M of a set of
independent trials succeed, with odds theta lambda_i and theta chosen so that about M successes are expected. Nothing is
subtracted, nothing overflows, and the leave-one-out values come from prefix and suffix products, O(N M).

Validity: Poisson arrivals; any service law; packets are dropped on arrival only, also when the queue is
empty. Memory must be below the number of active flows: with M = N nothing is ever admitted again.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit, logit

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._roots import bracketed
from fairdrop.models._verify import equal, solver, verified


@dataclass(frozen=True, eq=False)
class BackChoke(Result):
    """Result of :func:`back_choke`; arrays have shape (N,), in the order of the arrival rates.

    arrival_rates: Poisson rates, pkt/s. memory: M.
    shares: fraction of the admitted packets that belongs to the flow; at most 1/(M+1).
    rates: absolute admitted rate of each flow, pkt/s. load: their sum, pkt/s.
    mu: service rate, pkt/s, or None. stable: load < mu, or None without mu.
    goodput: rate of service completions, pkt/s: the admitted rate, or mu times the share in overload
    (first-in-first-out service); None without mu.
    """

    arrival_rates: Floats
    memory: int
    shares: Floats
    rates: Floats
    load: float
    mu: float | None
    stable: bool | None
    goodput: Floats | None

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and numbers."""
        return dict(_check.plain(self))


def _vector(rates: ArrayLike) -> Floats:
    lam = _check.rate_vector("rates", rates)
    if lam.ndim != 1:
        raise ValueError(f"rates must be one-dimensional, got shape {lam.shape}")
    if not np.any(lam > 0.0):
        raise ValueError("rates must not all be zero")
    return lam


def _memory(memory: int, active: int) -> int:
    m = _check.integer("memory", memory, 0)
    if m >= active:
        raise ValueError(f"memory must be below the number of flows with a positive rate ({active}), got {m}")
    return m


@solver
def back_choke(rates: ArrayLike, memory: int, mu: float | None = None) -> BackChoke:
    """Shares and admitted rates of Back CHOKe with a memory of ``memory`` flow ids.

    ``rates``: Poisson arrival rates in pkt/s, shape (N,), not negative; ``memory``: 0 <= M < number of
    positive rates; ``mu``: service rate in pkt/s, needed only for ``stable`` and ``goodput``.
    M = 0 admits everything, M = N-1 is a round robin over the flows.

    Stability: the paper prints ``sum lambda_i pi_i < mu``; the load on the server is the total admitted
    rate R = (M+1) e_{M+1}/e_M, and the queue is stable iff R < mu.

    Time and memory O(N M). Raises ``ValueError`` naming the argument.
    """
    lam = _vector(rates)
    active = np.flatnonzero(lam > 0.0)
    m = _memory(memory, active.size)
    if mu is not None:
        mu = _check.positive("mu", mu)
    n = active.size
    logs = np.log(lam[active])
    target = m + 0.5
    offset = float(logit(target / n))
    tilt = bracketed(
        lambda t: float(np.sum(expit(t + logs))) - target,
        offset - float(logs.max()) - 1.0,
        offset - float(logs.min()) + 1.0,
        xtol=1e-12,
    )
    heads, tails = expit(tilt + logs), expit(-(tilt + logs))

    prefix = np.zeros((n + 1, m + 2))
    prefix[0, 0] = 1.0
    for i in range(n):
        np.multiply(prefix[i], tails[i], out=prefix[i + 1])
        prefix[i + 1, 1:] += prefix[i, :-1] * heads[i]
    others = np.empty(n)
    suffix = np.zeros(m + 1)
    suffix[0] = 1.0
    for i in range(n - 1, -1, -1):
        others[i] = prefix[i, : m + 1] @ suffix[::-1]
        shifted = suffix[:-1] * heads[i]
        suffix *= tails[i]
        suffix[1:] += shifted
    exactly_m, exactly_next = float(prefix[n, m]), float(prefix[n, m + 1])

    shares = np.zeros_like(lam)
    shares[active] = heads * others / ((m + 1) * exactly_next)
    # The polynomials themselves: with odds theta lambda, k heads have a probability proportional to theta^k e_k.
    load = (m + 1) * exactly_next / exactly_m * math.exp(-tilt)
    admitted = shares * load
    verified(
        {
            "the sum of the shares": equal(shares.sum(), 1.0),
            "the share of one flow beside 1/(M+1)": np.maximum(shares * (m + 1.0) - 1.0, 0.0),
            "admitted beside arriving": np.maximum(admitted[active] / lam[active] - 1.0, 0.0),
        }
    )
    if mu is None:
        return BackChoke(lam, m, shares, admitted, load, None, None, None)
    is_stable = load < mu
    return BackChoke(lam, m, shares, admitted, load, mu, is_stable, admitted if is_stable else mu * shares)


@dataclass(frozen=True, eq=False)
class BackChain:
    """Embedded Markov chain of the ordered memory contents, one step per admission.

    states: flow indices, oldest first, shape (K, M) with K = N!/(N-M)!.
    transition: K x K sparse matrix of transition probabilities. pi: stationary law, shape (K,).
    shares: stationary fraction of admissions per flow, shape (N,).
    """

    states: np.ndarray[Any, np.dtype[np.int64]]
    transition: Any
    pi: Floats
    shares: Floats

    def stationarity_error(self) -> float:
        """Largest ``|pi P - pi|`` relative to the largest probability."""
        return float(np.max(np.abs(self.pi @ self.transition - self.pi)) / self.pi.max())

    def dynamic_reversibility_error(self) -> float:
        """Largest ``|pi_r P_rs - pi_{s+} P_{s+ r+}|`` relative to the largest flow; s+ is s reversed."""
        order = {tuple(state): index for index, state in enumerate(self.states.tolist())}
        conjugate = np.array([order[tuple(reversed(state))] for state in self.states.tolist()])
        flow = sparse.csr_matrix(sparse.diags(self.pi) @ self.transition)
        reverse = flow[conjugate][:, conjugate].T
        return float(abs(flow - reverse).max() / flow.max())


def back_chain(rates: ArrayLike, memory: int, *, max_states: int = 20_000) -> BackChain:
    """The ordered chain of Back CHOKe, for checks on small cases. Section IV.B, M general.

    pi is proportional to the product of the rates in the state times the total rate outside it, equations
    (4) and (5) (in (5) the sum runs over different i and j). All rates must be positive. ``ValueError``
    if the chain has more than ``max_states`` states. For M = N-1 the chain is periodic with (N-1)! closed
    classes: the law given is then one of many stationary laws, with the same shares.
    """
    lam = _vector(rates)
    if np.any(lam == 0.0):
        raise ValueError("rates must be positive for the ordered chain")
    n = lam.size
    m = _memory(memory, n)
    count = math.perm(n, m)
    if count > max_states:
        raise ValueError(f"memory gives {count} states, more than max_states = {max_states}")
    lam = lam / lam.max()
    tuples = list(itertools.permutations(range(n), m))
    order = {state: index for index, state in enumerate(tuples)}
    weight = np.empty(count)
    row, column, value = [], [], []
    shares = np.zeros(n)
    for index, state in enumerate(tuples):
        free = [k for k in range(n) if k not in state]
        outside = math.fsum(lam[k] for k in free)
        weight[index] = math.prod(lam[k] for k in state) * outside
        for k in free:
            row.append(index)
            column.append(order[(*state, k)[1:]])
            value.append(lam[k] / outside)
            shares[k] += weight[index] * value[-1]
    total = math.fsum(weight)
    transition = sparse.csr_matrix((value, (row, column)), shape=(count, count))
    states = np.array(tuples, dtype=np.int64).reshape(count, m)
    return BackChain(states, transition, weight / total, shares / total)


def marching_soldiers(rates: ArrayLike, memory: int = 1) -> Floats:
    """Stepping rates of soldiers on a complete graph, steps/s, shape (N,).

    A soldier whose clock (Poisson, ``rates`` in 1/s) ticks steps forward unless among the last ``memory``
    soldiers who did. This is Back CHOKe with a step for an admission, section IV.B; for memory 1 the rate
    is lambda_i (1 - lambda_i/S).
    """
    return back_choke(rates, memory).rates


@solver
def tail_pair_shares(rates: ArrayLike) -> Floats:
    """Shares if an arrival is compared with the tail packet and a match drops both, shape (N,).

    The variant of "Understanding CHOKe", section VI. Beyond the paper: while the queue stays long, its
    content is a word in which equal neighbours cancel, that is, a random walk on a tree. With
    a_i = lambda_i/S, F_i the probability that the walk ever crosses a given edge of colour i, and
    nu_i = F_i/(1+F_i) the law of the first letter that stays for ever,

        F_i = a_i/(1 - sum_{j != i} a_j F_j),   share_i = nu_i (1-nu_i) / sum_j nu_j (1-nu_j).

    For one fast flow with probability q among very many slow ones this is q/(1+2q), at most 1/3.

    ``rates``: Poisson rates in pkt/s, shape (N,), at least three of them positive (with fewer the word
    has no limit: the queue empties again and again). Raises ``ValueError`` naming the argument.
    """
    lam = _vector(rates)
    active = lam > 0.0
    if int(active.sum()) < 3:
        raise ValueError("rates must hold at least three positive rates")
    a = lam[active] / lam[active].sum()

    # With g = 1 - sum a F the equations read a F^2 + g F - a = 0, solved without cancellation; g is then
    # the one unknown, and the difference below falls from N - 1 at g = 0 to below zero at g = 1.
    def letter(g: float) -> Floats:
        crossing = 2.0 * a / (g + np.sqrt(g * g + 4.0 * a * a))
        return np.asarray(crossing / (1.0 + crossing))

    # Sum of first-letter probabilities is 1; g = 0 is the spurious root of the defining equation, where
    # every F is 1 and the sum is N/2.
    g = bracketed(lambda value: float(np.sum(letter(value))) - 1.0, 0.0, 1.0)
    nu = letter(g)
    verified({"the sum of the first letters": equal(nu.sum(), 1.0)})
    weight = nu * (1.0 - nu)
    shares = np.zeros_like(lam)
    shares[active] = weight / weight.sum()
    return shares


def tail_pair_share(probability: ArrayLike) -> Floats:
    """Limit of :func:`tail_pair_shares` for one fast flow among very many slow ones: q/(1+2q).

    ``probability`` q in [0, 1]: chance that the next arrival belongs to the fast flow; any shape. A burst
    of k packets leaves k mod 2, odd with probability q/(1+q).
    """
    q = _check.array("probability", probability)
    if np.any(q > 1.0):
        raise ValueError("probability must not exceed 1")
    return np.asarray(q / (1.0 + 2.0 * q))
