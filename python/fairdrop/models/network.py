"""Several congested links with CHOKe queues: the equilibrium of flows that cross some of them in a row.

Beyond the paper, whose section VII asks for it. On each link equations (3) to (7) of "Understanding CHOKe" hold for
the flows that cross it, at the rates that the links before have let through; a responsive flow obeys (8) with

    1-p = product of its links' (1-p),   tau = sum of their tau.

Method: one link after the other is solved with the rest held, until nothing moves; then all equations are evaluated
together. A link that its flows do not fill to ``min_th`` has no queue and loses nothing.

Validity: as on one link, and each queue sees the flows as if they came from their sources: a flow that a CHOKe queue
has thinned is burstier than it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models._verify import TOLERANCE, equal, solver, verified
from fairdrop.models.equilibrium import ChokeLink, Equilibrium, Solver
from fairdrop.models.errors import BelowThresholdError, ConvergenceError
from fairdrop.models.flows import ConstantRate, FlowClass, Responsive
from fairdrop.models.tcp import RateLaw


@dataclass(frozen=True)
class Routed:
    """A class of flows and the names of the links that it crosses, in order."""

    flow: FlowClass
    route: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.flow, (ConstantRate, Responsive)):
            raise ValueError(f"flow must be a ConstantRate or a Responsive, got {_check.shown(self.flow)}")
        names = self.route
        if not isinstance(names, (tuple, list)) or not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"route must be the names of at least one link, got {_check.shown(names)}")
        if len(set(names)) != len(names):
            raise ValueError(f"route must have each link once, got {_check.shown(names)}")
        _check.store(self, route=tuple(names))


@dataclass(frozen=True, eq=False)
class NetworkEquilibrium:
    """Result of :func:`network_equilibrium`.

    links: equilibrium of each link that holds a queue, of the classes that cross it; None for the others.
    x, p, survival, goodput: per single flow of each class, end to end (pkt/s); tau: sum of its queueing delays, s.
    residual: largest relative residual.
    """

    flows: tuple[Routed, ...]
    links: Mapping[str, Equilibrium | None]
    x: Floats
    p: Floats
    survival: Floats
    goodput: Floats
    tau: Floats
    residual: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        fields = ("x", "p", "survival", "goodput", "tau", "residual")
        return {
            "names": [routed.flow.name for routed in self.flows],
            "count": [routed.flow.count for routed in self.flows],
            "routes": [list(routed.route) for routed in self.flows],
            "links": {name: None if eq is None else eq.to_dict() for name, eq in self.links.items()},
            **{name: _check.plain(getattr(self, name)) for name in fields},
        }


@dataclass(frozen=True)
class _OnOneLink:
    """A rate law as one link sees it: the other links lose and delay as well, those before it first."""

    law: RateLaw
    before: float
    elsewhere: float
    queueing: float

    def rate(self, loss: float, survival: float, queueing: float, delay: float) -> float:
        through = survival * self.elsewhere
        return self.before * self.law.rate(1.0 - through, through, queueing + self.queueing, delay)


class _Iteration:
    """Survivals and delays of every class on every link it crosses, moved link by link."""

    def __init__(self, links: Mapping[str, ChokeLink], flows: Sequence[Routed]) -> None:
        self.links, self.flows = links, flows
        self.survival = {(k, name): 1.0 for k, routed in enumerate(flows) for name in routed.route}
        self.tau = dict.fromkeys(links, 0.0)
        self.found: dict[str, Equilibrium | None] = dict.fromkeys(links)
        self.guess: dict[str, tuple[float, float] | None] = dict.fromkeys(links)

    def seen(self, k: int, name: str) -> FlowClass:
        """Class k as this link sees it."""
        flow, route = self.flows[k].flow, self.flows[k].route
        place = route.index(name)
        before = math.prod(self.survival[k, other] for other in route[:place])
        if isinstance(flow, ConstantRate):
            return replace(flow, rate=flow.rate * before)
        after = math.prod(self.survival[k, other] for other in route[place + 1 :])
        queueing = math.fsum(self.tau[other] for other in route if other != name)
        return replace(flow, law=_OnOneLink(flow.law, before, before * after, queueing))

    def crossing(self, name: str) -> list[int]:
        return [k for k, routed in enumerate(self.flows) if name in routed.route]

    def move(self, name: str) -> float:
        """Solve one link; how far its survivals and its delay moved, relatively."""
        classes = self.crossing(name)
        if not classes:
            return 0.0
        solver_ = Solver(self.links[name], [self.seen(k, name) for k in classes])
        try:
            eq: Equilibrium | None = solver_.solve(self.guess[name])
        except BelowThresholdError:
            eq = None
        self.guess[name] = None if eq is None else solver_.last
        moved = 0.0
        for place, k in enumerate(classes):
            new = 1.0 if eq is None else float(eq.survival[place])
            moved = max(moved, abs(new - self.survival[k, name]) / max(new, self.survival[k, name], 1e-290))
            self.survival[k, name] = new
        tau = 0.0 if eq is None else eq.tau
        moved = max(moved, abs(tau - self.tau[name]) / max(tau, self.tau[name], 1e-290))
        self.found[name], self.tau[name] = eq, tau
        return moved


@solver
def network_equilibrium(links: Mapping[str, ChokeLink], flows: Iterable[Routed]) -> NetworkEquilibrium:
    """The equilibrium of flows that cross several links with CHOKe queues.

    Raises ``ValueError`` naming the argument; :class:`NoEquilibriumError` as on one link;
    :class:`BelowThresholdError` where no link on the way of a responsive class holds a queue;
    :class:`ConvergenceError` if the links do not settle within 500 rounds.
    """
    if not isinstance(links, Mapping) or not links or not all(isinstance(link, ChokeLink) for link in links.values()):
        raise ValueError("links must map at least one name to a ChokeLink")
    routed = tuple(flows) if isinstance(flows, Iterable) else ()
    if not routed or not all(isinstance(one, Routed) for one in routed):
        raise ValueError("flows must be a non-empty sequence of Routed")
    unknown = [name for one in routed for name in one.route if name not in links]
    if unknown:
        raise ValueError(f"route must name links ({', '.join(links)}), got {unknown[0]!r}")
    state = _Iteration(links, routed)
    for _ in range(500):
        if max(state.move(name) for name in links) < 1e-12:
            break
    else:
        raise ConvergenceError("the links did not settle: each changes what the other sees")
    return _network_result(state)


def _network_result(state: _Iteration) -> NetworkEquilibrium:
    survival = np.array(
        [math.prod(state.survival[k, name] for name in one.route) for k, one in enumerate(state.flows)]
    )
    tau = np.array([math.fsum(state.tau[name] for name in one.route) for one in state.flows])
    x = np.zeros(len(state.flows))
    for k, one in enumerate(state.flows):
        if isinstance(one.flow, ConstantRate):
            x[k] = one.flow.rate
            continue
        held = [name for name in one.route if state.found[name] is not None]
        if not held:
            low = max(state.links[name].lower_backlog for name in one.route)
            raise BelowThresholdError(low, None)
        x[k] = one.flow.law.rate(1.0 - float(survival[k]), float(survival[k]), float(tau[k]), one.flow.delay)
    residuals: dict[str, Floats] = {}
    for name, eq in state.found.items():
        classes = state.crossing(name)
        arriving = np.array([x[k] * _before(state, k, name) for k in classes])
        count = np.array([state.flows[k].flow.count for k in classes])
        if eq is None:
            over = float(count @ arriving) / state.links[name].capacity - 1.0 if classes else 0.0
            if over > TOLERANCE:
                # Matches at min_th lose more than is too much, and below it nothing is lost: the queue hovers there.
                raise BelowThresholdError(state.links[name].lower_backlog, None)
            continue
        residuals[f"what arrives at link {name}"] = equal(eq.x, arriving)
        residuals[f"the throughput of link {name}"] = equal(count @ (arriving * eq.survival), eq.link.capacity)
    worst = verified(residuals)
    worst = max([worst, *(eq.residual for eq in state.found.values() if eq is not None)])
    return NetworkEquilibrium(state.flows if isinstance(state.flows, tuple) else tuple(state.flows), dict(state.found),
                              x, 1.0 - survival, survival, x * survival, tau, worst)  # fmt: skip


def _before(state: _Iteration, k: int, name: str) -> float:
    route = state.flows[k].route
    return math.prod(state.survival[k, other] for other in route[: route.index(name)])
