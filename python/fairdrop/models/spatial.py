"""Where the packets of each flow are in the queue, and how fast they move.

Source: "Understanding CHOKe" (2004), section IV, equations (25) to (38). Position y runs from the tail (0)
to the head; rho_i(y) is the probability that the packet at y belongs to a given flow of class i, v(y) the
speed in pkt/s at which a packet there moves towards the head.

Beyond the paper, in closed form for any number of classes and m candidates: with the flow that survives
to age t, w_i(t) = x_i (1-r)(1-h_i)^m e^{-beta x_i t},

    v = sum n_i w_i,   rho_i = w_i/v,   y(t) = sum n_i (1-r)(1-h_i)^m (1-e^{-beta x_i t})/beta.

The profile ends, at age tau, at y = m/beta. That is the backlog b exactly for the "poisson" survival law;
for "cbr" it is about m/2 packets less, because (28) and (31) then do not hold together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._verify import equal, solver, verified
from fairdrop.models.equilibrium import Equilibrium
from fairdrop.models.errors import ConvergenceError
from fairdrop.models.limits import Asymptote


@dataclass(frozen=True, eq=False)
class SpatialProfile(Result):
    """Result of :func:`profile`.

    y: positions from the tail, pkt, shape (n,). t: age of a packet at y, s, shape (n,).
    rho: probability per single flow, shape (classes, n). v: velocity, pkt/s, shape (n,).
    length: position of the head, pkt. counts: flows per class; sum counts rho = 1.
    """

    AXES: ClassVar[tuple[str, ...]] = ("flow", "position")
    DIMS: ClassVar[Mapping[str, tuple[str, ...]]] = {"counts": ("flow",)}

    y: Floats
    t: Floats
    rho: Floats
    v: Floats
    length: float
    counts: Floats

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists and numbers."""
        return dict(_check.plain(self))


def _admitted(eq: Equilibrium) -> Floats:
    """Probability that an arrival enters the queue, per class."""
    return np.asarray((1.0 - eq.r) * (1.0 - eq.h) ** eq.link.candidates)


def profile_length(eq: Equilibrium) -> float:
    """Position of the head of the queue in the spatial model, pkt: m/beta."""
    return eq.link.candidates / eq.beta


def position(eq: Equilibrium, t: ArrayLike) -> Floats:
    """Position y, pkt, of a packet that has been queued for ``t`` seconds, 0 <= t <= tau (any shape)."""
    age = _check.array("t", t)
    exponent = eq.beta * eq.x * age[..., np.newaxis]
    return np.asarray(-np.expm1(-exponent) @ (eq.count * _admitted(eq)) / eq.beta)


def _age(eq: Equilibrium, y: Floats) -> Floats:
    """Inverse of :func:`position`: bisection sped up by Newton steps that stay in the bracket."""
    rate = eq.beta * eq.x
    weight = eq.count * _admitted(eq) / eq.beta
    low, high = np.zeros_like(y), np.full_like(y, eq.tau)
    t = eq.tau * np.clip(y / profile_length(eq), 0.0, 1.0)
    for _ in range(200):
        decay = np.exp(-rate * t[:, np.newaxis])
        error = -np.expm1(-rate * t[:, np.newaxis]) @ weight - y
        low, high = np.where(error < 0.0, t, low), np.where(error > 0.0, t, high)
        following = t - error / (decay @ (weight * rate))
        following = np.where((following >= low) & (following <= high), following, 0.5 * (low + high))
        moved = np.abs(following - t)
        t = np.where(error == 0.0, t, following)
        # The steps converge quadratically, so what is left is far below this bound.
        if np.all((moved <= 4e-15 * eq.tau) | (error == 0.0)):
            return np.asarray(t)
    raise ConvergenceError("the age of a packet at a given position did not converge")


def _positions(eq: Equilibrium, y: ArrayLike | None, points: int) -> Floats:
    length = profile_length(eq)
    if y is None:
        return np.linspace(0.0, length, _check.integer("points", points, 2))
    grid = _check.array("y", y)
    if grid.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {grid.shape}")
    if grid.size and float(grid.max()) > length * (1.0 + 1e-12):
        raise ValueError(f"y must not exceed the length of the queue, {length:.10g} packets")
    return grid


@solver
def profile(eq: Equilibrium, y: ArrayLike | None = None, *, points: int = 201) -> SpatialProfile:
    """rho_i(y) and v(y) in closed form for a solved equilibrium.

    ``y``: positions in packets, shape (n,), between 0 and :func:`profile_length`; by default ``points``
    equally spaced ones. ``ValueError`` names the argument.
    """
    grid = _positions(eq, y, points)
    # The head has an age that is known: a fast flow would make much of its last digit.
    t = np.where(grid == profile_length(eq), eq.tau, _age(eq, grid))
    flow = (eq.x * _admitted(eq))[:, np.newaxis] * np.exp(-eq.beta * np.outer(eq.x, t))
    v = eq.count @ flow
    rho, entering = flow / v, eq.x * _admitted(eq)
    verified(
        {
            "equation (27)": equal(eq.count @ rho, 1.0),
            "equation (31)": equal(eq.count @ (entering * np.exp(-eq.beta * eq.x * eq.tau)), eq.link.capacity),
            "the age of a position": np.abs(position(eq, t) - grid) / profile_length(eq),
        }
    )
    return SpatialProfile(grid, t, rho, v, profile_length(eq), eq.count)


def profile_ode(eq: Equilibrium, y: ArrayLike | None = None, *, points: int = 201) -> SpatialProfile:
    """The same by integrating (35) and (36) from the tail, starting at the values (30).

    An independent check of :func:`profile`, to about 1e-10. Slower for a fast flow, whose front is steep.
    """
    grid = _positions(eq, y, points)
    entry = eq.x * _admitted(eq)
    v0 = float(eq.count @ entry)

    def slope(_: float, state: Floats) -> Floats:
        v, rho = state[0], state[2:]
        mean = float((eq.count * rho) @ eq.x)
        return np.concatenate(([-eq.beta * mean, 1.0 / v], -eq.beta * rho * (eq.x - mean) / v))

    start = np.concatenate(([v0, 0.0], entry / v0))
    order = np.argsort(grid, kind="stable")
    # Rounding may put the last position a hair beyond the head, which is also the end of the integration.
    end = max(profile_length(eq), float(grid.max(initial=0.0)))
    solution = solve_ivp(
        slope,
        (0.0, end),
        start,
        method="DOP853",
        t_eval=grid[order],
        rtol=1e-12,
        atol=1e-14 * start.min() + 1e-15,
    )
    if not solution.success:
        raise ConvergenceError(str(solution.message))
    state = np.empty((start.size, grid.size))
    state[:, order] = solution.y
    return SpatialProfile(grid, state[1], state[2:], state[0], profile_length(eq), eq.count)


@dataclass(frozen=True)
class Inflexion:
    """Curvature of rho_0(y), theorem 4.

    rho_star: (x_0 - 2 x_1)/(3(x_0 - x_1)), the value at an inflexion; NaN if x_0 = x_1.
    y: its position in packets, NaN if there is none inside the queue.
    shape: "convex", "concave", "concave-convex" or "convex-concave" from tail to head, or "constant".
    """

    rho_star: float
    y: float
    shape: str

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values; NaN becomes None."""
        return dict(_check.plain(self))


def inflexion(eq: Equilibrium) -> Inflexion:
    """Theorem 4 for one constant-rate flow (class 0) and one class of identical flows (class 1).

    The paper treats x_0 > x_1, where rho_0 falls and is convex below rho_star and concave above; for
    x_0 < x_1 rho_0 rises and is convex below and concave above as well. ``ValueError`` for other classes.
    """
    if len(eq.flows) != 2 or eq.flows[0].count != 1.0:
        raise ValueError("eq must have two classes, the first of a single flow")
    x0, x1 = float(eq.x[0]), float(eq.x[1])
    if x0 == x1 or x0 == 0.0:
        return Inflexion(math.nan, math.nan, "constant")
    rho_star = (x0 - 2.0 * x1) / (3.0 * (x0 - x1))
    ratio = x0 * float(_admitted(eq)[0]) / (eq.flows[1].count * x1 * float(_admitted(eq)[1]))
    decay = eq.beta * (x0 - x1)
    tail = ratio / (1.0 + ratio)
    end = ratio * math.exp(-decay * eq.tau)
    head = end / (1.0 + end)
    if max(tail, head) <= rho_star:
        return Inflexion(rho_star, math.nan, "convex")
    if min(tail, head) >= rho_star:
        return Inflexion(rho_star, math.nan, "concave")
    t = math.log(ratio * (1.0 - rho_star) / rho_star) / decay
    y = float(position(eq, min(max(t, 0.0), eq.tau)))
    return Inflexion(rho_star, y, "concave-convex" if x0 > x1 else "convex-concave")


def limit_profile(limit: Asymptote, y: ArrayLike) -> SpatialProfile:
    """Theorems 8 and 9: the profile for an infinitely fast UDP flow, at positions ``y`` in [0, b].

    rho_0 is 1 before y_star and 0 after it; v is infinite before it and c + beta x_1 (b-y) after it; the
    packets get there in no time. At y_star itself the values from beyond are given. Convergence is slow:
    the front is about c ln(K)/(beta x_0) packets wide with K = rho_0(0)/(1-rho_0(0)).
    """
    grid = _check.array("y", y)
    if grid.ndim != 1 or (grid.size and float(grid.max()) > limit.b):
        raise ValueError(f"y must be one-dimensional and not exceed b = {limit.b:g}")
    before = grid < limit.y_star
    rho0 = np.where(before, 1.0, 0.0)
    rho = np.stack([rho0, (1.0 - rho0) / limit.tcp_flows])
    drain = limit.beta * float(limit.x)
    v = np.where(before, np.inf, limit.capacity + drain * (limit.b - grid))
    head = limit.capacity + drain * (limit.b - limit.y_star)
    t = np.where(before, 0.0, np.log(head / np.where(before, head, v)) / drain)
    return SpatialProfile(grid, t, rho, v, limit.b, np.array([1.0, limit.tcp_flows]))
