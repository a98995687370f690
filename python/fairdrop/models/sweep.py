"""The equilibrium of UDP and TCP over many values of any of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._frames import Result
from fairdrop.models._verify import solver
from fairdrop.models.equilibrium import SURVIVALS, ChokeLink, Equilibrium, Solver, tcp_case, tcp_link
from fairdrop.models.errors import BelowThresholdError, ConvergenceError, ModelError
from fairdrop.models.tcp import RateLaw

_POSITIVE = ("capacity", "tcp_flows", "max_th", "max_p")
_NUMBERS = (*_POSITIVE, "delay", "min_th", "udp_rate", "candidates")
_LINK = ("capacity", "min_th", "max_th", "max_p", "candidates", "survival", "jump")
PARAMETERS = (*_NUMBERS, "survival", "jump", "law")


@dataclass(frozen=True, eq=False)
class EquilibriumSweep(Result):
    """Solutions at n points; names as in :class:`fairdrop.models.equilibrium.Equilibrium`.

    b, r, tau, residual have shape (n,); h, p, survival, x, mu, goodput have shape (n, 2): UDP, then one
    TCP flow. ``udp_rate``, ``tcp_flows`` and ``parameters``, which holds all that vary, have shape (n,).
    ``regime`` holds "active" or "sliding"; where there is no solution all values are NaN, ``error`` says why, and
    the regime is "below_threshold", "no_equilibrium", "not_converged", or "invalid" for values that no queue has
    together (max_th below min_th). ``axes``: of a grid, its values in the order of its dimensions.
    """

    AXES: ClassVar[tuple[str, ...]] = ("point", "flow")

    udp_rate: Floats
    tcp_flows: Floats
    regime: tuple[str, ...]
    b: Floats
    r: Floats
    tau: Floats
    residual: Floats
    h: Floats
    p: Floats
    survival: Floats
    x: Floats
    mu: Floats
    goodput: Floats
    error: tuple[str, ...]
    parameters: Mapping[str, Sequence[Any] | Floats]
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain lists; NaN becomes None."""
        return dict(_check.plain(self))

    def _coordinates(self) -> dict[str, Any]:
        labels: dict[str, Any] = {"flow": ["udp", "tcp"]}
        if self.axes:
            return {**labels, **{name: list(values) for name, values in self.axes.items()}}
        return {**labels, **{name: ("point", np.asarray(values)) for name, values in self.parameters.items()}}

    def _variables(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        shape = tuple(len(values) for values in self.axes.values()) or (len(self.regime),)
        dims = tuple(self.axes) or ("point",)
        names = ("b", "r", "tau", "residual", "h", "p", "survival", "x", "mu", "goodput")
        found: dict[str, tuple[tuple[str, ...], Any]] = {
            name: (dims, np.array(getattr(self, name)).reshape(shape)) for name in ("regime", "error")
        }
        for name in names:
            values = getattr(self, name)
            pair = values.ndim == 2
            found[name] = ((*dims, "flow"), values.reshape(*shape, 2)) if pair else (dims, values.reshape(shape))
        return found


def _values(name: str, given: Any) -> list[Any]:
    """The values of one parameter, each checked by itself; a single one as a list of one."""
    if name in _NUMBERS:
        values = np.atleast_1d(_check.array(name, given))
        if values.ndim != 1:
            raise ValueError(f"{name} must be at most one-dimensional, got shape {values.shape}")
        if name in _POSITIVE and np.any(values <= 0.0):
            raise ValueError(f"{name} must be positive, got {float(values.min()):g}")
        if name == "max_p" and np.any(values > 1.0):
            raise ValueError(f"max_p must not exceed 1, got {float(values.max()):g}")
        if name == "candidates":
            return [_check.integer(name, value, 1) for value in values.tolist()]
        return list(values.tolist())
    listed: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]
    if name == "survival":
        return [_check.choice(name, value, SURVIVALS) for value in listed]
    if name == "jump":
        return [_check.switch(name, value) for value in listed]
    for value in listed:
        tcp_case(0.0, 1.0, 0.0, value)
    return listed


def _failure(error: Exception) -> str:
    if isinstance(error, BelowThresholdError):
        return "below_threshold"
    if isinstance(error, ConvergenceError):
        return "not_converged"
    return "no_equilibrium" if isinstance(error, ModelError) else "invalid"


def _sweep(points: Mapping[str, Sequence[Any]], varied: Sequence[str], axes: Mapping[str, tuple[Any, ...]],
           progress: Callable[[int, int], object] | None) -> EquilibriumSweep:  # fmt: skip
    n = len(points["capacity"])
    scalars = {name: np.full(n, np.nan) for name in ("b", "r", "tau", "residual")}
    pairs = {name: np.full((n, 2), np.nan) for name in ("h", "p", "survival", "x", "mu", "goodput")}
    regimes, errors = [], []
    guess: tuple[float, float] | None = None

    def link(case: Mapping[str, Any]) -> ChokeLink:
        return tcp_link(*(case[name] for name in _LINK))

    @solver
    def at(case: Mapping[str, Any]) -> tuple[Equilibrium, tuple[float, float]]:
        one = Solver(link(case), tcp_case(case["udp_rate"], case["tcp_flows"], case["delay"], case["law"]))
        return one.solve(guess), one.last

    if not set(_LINK) & set(varied):
        # What is wrong with the only link is wrong with the question.
        link({name: values[0] for name, values in points.items()})
    for i in range(n):
        case = {name: values[i] for name, values in points.items()}
        try:
            result, guess = at(case)
        except (ModelError, ValueError) as error:
            regimes.append(_failure(error))
            errors.append(str(error))
        else:
            regimes.append(result.regime)
            errors.append("")
            for name, column in scalars.items():
                column[i] = getattr(result, name)
            for name, table in pairs.items():
                table[i] = getattr(result, name)
        if progress is not None:
            progress(i + 1, n)
    shown = {name: _labels(points[name]) for name in varied}
    rates, counts = np.array(points["udp_rate"]), np.array(points["tcp_flows"])
    return EquilibriumSweep(
        rates, counts, tuple(regimes), **scalars, **pairs, error=tuple(errors), parameters=shown, axes=axes
    )


def _labels(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(value if isinstance(value, (bool, int, float, str)) else repr(value) for value in values)


def tcp_sweep(
    *,
    capacity: ArrayLike,
    tcp_flows: ArrayLike,
    delay: ArrayLike,
    min_th: ArrayLike,
    max_th: ArrayLike,
    max_p: ArrayLike,
    udp_rate: ArrayLike,
    candidates: ArrayLike = 1,
    survival: str | Sequence[str] = "cbr",
    law: RateLaw | Sequence[RateLaw | None] | None = None,
    jump: bool | Sequence[bool] = False,
) -> EquilibriumSweep:
    """:func:`tcp_equilibrium` at n points: each parameter is one value or n of them, taken together.

    Points without a solution are flagged in ``regime``, with the reason in ``error``, and the sweep goes on; a
    value that is none by itself still raises ``ValueError``. Each solution starts from its predecessor, so
    sort the sweep for speed. For all combinations see :func:`tcp_grid`.
    """
    given = {name: _values(name, value) for name, value in locals().items()}
    sizes = {name: len(values) for name, values in given.items() if len(values) != 1}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(str(size) for size in sizes.values())
        raise ValueError(f"{' and '.join(sizes)} do not fit: lengths {lengths}")
    n = next(iter(sizes.values()), 1)
    points = {name: values if len(values) == n else values * n for name, values in given.items()}
    return _sweep(points, [name for name in PARAMETERS if name in sizes or name in ("udp_rate", "tcp_flows")], {}, None)


def tcp_grid(
    over: Mapping[str, Any], *, progress: Callable[[int, int], object] | None = None, **fixed: Any
) -> EquilibriumSweep:
    """:func:`tcp_equilibrium` at every combination of the values in ``over``, the last varying fastest.

    ``over`` maps names of parameters of :func:`tcp_equilibrium` to their values, ``fixed`` holds the others.
    ``to_xarray()`` has one dimension for each. ``progress(done, all)`` is called after each point. Errors as in
    :func:`tcp_sweep`.
    """
    if not isinstance(over, Mapping) or not over:
        raise ValueError("over must map at least one parameter to its values")
    for name in (*over, *fixed):
        if name not in PARAMETERS:
            raise ValueError(f"over must name parameters of tcp_equilibrium ({', '.join(PARAMETERS)}), got {name!r}")
    doubled = sorted(set(over) & set(fixed))
    if doubled:
        raise ValueError(f"{doubled[0]} must be given once, got one value and several")
    given = {"candidates": 1, "survival": "cbr", "law": None, "jump": False, **fixed}
    missing = [name for name in PARAMETERS if name not in over and name not in given]
    if missing:
        raise ValueError(f"{missing[0]} must be given")
    axes = {name: _values(name, values) for name, values in over.items()}
    single = {name: _values(name, value) for name, value in given.items() if name not in over}
    for name, values in (*axes.items(), *single.items()):
        if len(values) == 0 or (name in single and len(values) != 1):
            raise ValueError(f"{name} must be {'one value' if name in single else 'at least one value'}")
    size = math.prod(len(values) for values in axes.values())
    points, repeat = {name: values * size for name, values in single.items()}, size
    for name, values in axes.items():
        repeat //= len(values)
        cycle = [value for value in values for _ in range(repeat)]
        points[name] = cycle * (size // len(cycle))
    return _sweep(points, list(axes), {name: _labels(values) for name, values in axes.items()}, progress)
