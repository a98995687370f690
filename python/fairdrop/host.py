"""A discipline without a network, as analytic models assume, simulated."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from fairdrop import _core
from fairdrop.scenario import ScenarioError

__all__ = ["queue_host"]


def queue_host(
    poisson: Sequence[float] = (),
    constant: Sequence[float] = (),
    *,
    service_rate: float = 1.0,
    arrivals: int = 1_000_000,
    seed: int = 1,
    settings: Iterable[str] = (),
) -> dict[str, Any]:
    """Offer Poisson flows and then evenly spaced ones, at these rates in packets/s, to one queue.

    Service is exponential with ``service_rate`` packets/s. The packet in service stays in the queue and can be
    drawn; when it is dropped, service goes on with the next. ``settings`` are those of a scenario's ``[queue]``,
    such as ``"queue.discipline=red"``.

    Returns ``duration_s``, the counts ``arrived``, ``served``, ``dropped`` and ``left`` by flow, ``empty_fraction``
    of time, and ``mean_packets`` over time. Raises ScenarioError.
    """
    for name, rates in (("poisson", poisson), ("constant", constant)):
        wrong = [rate for rate in rates if not (math.isfinite(rate) and rate > 0)]
        if wrong:
            raise ScenarioError(f"{name} = {wrong[0]} is not valid; valid: rates above 0 packets/s")
    if not (math.isfinite(service_rate) and service_rate > 0):
        raise ScenarioError(f"service_rate = {service_rate} is not valid; valid: a rate above 0 packets/s")
    if not poisson and not constant:
        raise ScenarioError("there are no flows; valid: at least one rate")
    try:
        text = _core.queue_host(
            list(poisson),
            list(constant),
            service_rate=service_rate,
            arrivals=arrivals,
            seed=seed,
            settings=list(settings),
        )
    except (ValueError, OverflowError) as error:
        raise ScenarioError(str(error)) from None
    found: dict[str, Any] = json.loads(text)
    return found
