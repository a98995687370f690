"""Classes of identical flows, shared by the CHOKe, CHOKeW and WARD equilibria."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdrop.models import _check
from fairdrop.models._check import Floats
from fairdrop.models.tcp import RateLaw, Reno


@dataclass(frozen=True)
class ConstantRate:
    """``count`` sources that each send at ``rate`` pkt/s whatever happens (UDP)."""

    rate: float
    count: float = 1.0
    name: str = "udp"

    def __post_init__(self) -> None:
        _check.store(
            self,
            rate=_check.non_negative("rate", self.rate),
            count=_check.positive("count", self.count),
            name=_check.text("name", self.name),
        )


@dataclass(frozen=True)
class Responsive:
    """``count`` sources that follow a rate law, with a round-trip propagation delay of ``delay`` seconds.

    ``count`` may be any positive real number: the equations are those of a fluid.
    """

    count: float
    delay: float
    law: RateLaw = field(default_factory=Reno)
    name: str = "tcp"

    def __post_init__(self) -> None:
        _check.store(
            self,
            count=_check.positive("count", self.count),
            delay=_check.non_negative("delay", self.delay),
            name=_check.text("name", self.name),
        )
        if isinstance(self.law, type) or not callable(getattr(self.law, "rate", None)):
            raise ValueError(
                f"law must have a method rate(loss, survival, queueing, delay), got {_check.shown(self.law)}"
            )


FlowClass = ConstantRate | Responsive


def flow_classes(flows: Iterable[FlowClass]) -> tuple[FlowClass, ...]:
    """The flows as a tuple, checked."""
    result = tuple(flows) if isinstance(flows, Iterable) else ()
    if not result or not all(isinstance(flow, (ConstantRate, Responsive)) for flow in result):
        raise ValueError("flows must be a non-empty sequence of ConstantRate and Responsive")
    return result


def allowed_rates(flows: Sequence[FlowClass], p: Floats, survival: Floats, tau: float) -> Floats:
    """What each class would send at these losses and this queueing delay, pkt/s; for residuals."""
    return np.array(
        [
            flow.law.rate(float(p[k]), float(survival[k]), tau, flow.delay)
            if isinstance(flow, Responsive)
            else flow.rate
            for k, flow in enumerate(flows)
        ]
    )


def class_dict(result: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """The named attributes of a result with ``flows``, as plain values after the names of the classes."""
    flows: Sequence[FlowClass] = result.flows
    head = {"names": [flow.name for flow in flows], "count": [flow.count for flow in flows]}
    return {**head, **{key: _check.plain(getattr(result, key)) for key in keys}}


TRUSTED_LOSS = 0.1


def doubts(flows: Sequence[FlowClass], p: ArrayLike) -> list[str]:
    """Where the rate law of a class is out of its range, in words: Reno above a loss of 0.1 to 0.2."""
    return [
        f"{flow.name} loses {100.0 * float(loss):.3g} %: above a loss of 10 to 20 % TCP waits for timeouts, which the "
        "square-root law does not know; a real queue is shorter"
        for flow, loss in zip(flows, np.asarray(p, dtype=np.float64), strict=True)
        if isinstance(flow, Responsive) and isinstance(flow.law, Reno) and loss > TRUSTED_LOSS
    ]
