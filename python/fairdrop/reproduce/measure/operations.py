"""What deciding about a packet costs: counts of operations per arrival, and bits of state."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log2
from typing import Any

from fairdrop.reproduce.measure.errors import MeasureError

Run = Mapping[str, Any]
#: Bits that name a flow, in this library: see ``crates/fairdrop/src/contract/packet.rs``.
ID_BITS = 64


def draws(run: Run, link: str | None = None) -> float:
    """Waiting packets drawn per arrival; each is a random address, a read of one flow id, and a comparison."""
    total = _queue(run, link)["total"]
    return float(total["drawn"] / total["arrived"]["packets"])


def most_draws(run: Run, link: str | None = None) -> float:
    """Most packets drawn for one arrival."""
    return float(_queue(run, link)["total"]["most_draws"])


def compared_part(run: Run, link: str | None = None) -> float:
    """Part of the arrivals that are compared with anything."""
    total = _queue(run, link)["total"]
    return float(total["compared"] / total["arrived"]["packets"])


def removals(run: Run, link: str | None = None) -> float:
    """Packets taken out of the middle of the queue, per arrival."""
    total = _queue(run, link)["total"]
    return float(total["leaked"] / total["arrived"]["packets"])


def traversal(run: Run, link: str | None = None) -> float:
    """Places passed per arrival if the queue were a linked list, walked from its tail to each packet that is taken out.

    Needs ``positions`` in the scenario: the places at which packets leaked are counted, 0 being the tail. An array, or
    mark bits as in section "Implementation" of Pan, Prabhakar, Psounis 2001, pass none.
    """
    queue = _queue(run, link)
    if "velocity" not in queue:
        raise MeasureError("velocity is not in the run; valid: a scenario with positions above 0")
    passed = sum(place * row["leaked"] for place, row in enumerate(queue["velocity"]))
    return float(passed / queue["total"]["arrived"]["packets"])


def state_bits(run: Run, bits: Mapping[str, Mapping[str, float]], link: str | None = None) -> float:
    """Bits of state beside the FIFO itself that a discipline needs for what a run brought.

    ``bits`` has for each discipline some of ``fixed``; ``per_packet``, times the longest queue; ``per_active_flow``,
    times the flows that can have packets waiting at once, at most the longest queue; ``per_flow``, times all flows of
    the queue; ``pointers_per_packet`` and ``pointers_per_active_flow``, each of ceil(log2 limit) bits.
    """
    queue = _queue(run, link)
    if queue["discipline"] not in bits:
        raise MeasureError(f"bits of {queue['discipline']!r} are missing; valid: {', '.join(sorted(bits))}")
    sizes = bits[queue["discipline"]]
    pointer = ceil(log2(queue["limit_packets"])) if queue["limit_packets"] > 1 else 1
    longest, flows = queue["max_packets"], len(queue["flows"])
    active = min(longest, flows)
    per_packet = sizes.get("per_packet", 0.0) + pointer * sizes.get("pointers_per_packet", 0.0)
    per_active = sizes.get("per_active_flow", 0.0) + pointer * sizes.get("pointers_per_active_flow", 0.0)
    return float(
        sizes.get("fixed", 0.0) + per_packet * longest + per_active * active + sizes.get("per_flow", 0.0) * flows
    )


def _queue(run: Run, link: str | None) -> Mapping[str, Any]:
    wanted = link or run["link"]
    found: Mapping[str, Any] = next(row for row in run["queues"] if row["name"] == wanted)
    return found
