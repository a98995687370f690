"""Cautions for readers of a result."""

from __future__ import annotations

from collections.abc import Sequence

from fairdrop.document import Document
from fairdrop.timers import timer_limited
from fairdrop.warmup import Unsettled, unsettled
from fairdrop.wording.phrases import count, joined

_MOST_NAMED = 3


def cautions(document: Document) -> list[str]:
    """Warnings of the simulator, then series that still moved, then groups limited by their own timers."""
    moved = unsettled(document.source)
    still = [str(moved[0])] if len(moved) == 1 else [_together(moved)] if moved else []
    return [*document.warnings, *still, *map(str, timer_limited(document))]


def _together(moved: Sequence[Unsettled]) -> str:
    """One line for all that moved: the most certain one, and the longest warm-up that it would have taken."""
    names = list(dict.fromkeys(one.discipline for one in moved))
    under = joined(names) if len(names) <= _MOST_NAMED else count(len(names), "discipline")
    known = [one.needed_s for one in moved if one.needed_s is not None]
    advice = f"about {max(known):.3g} s" if len(known) == len(moved) else "longer than these runs"
    most = max(moved, key=lambda one: abs(one.z))
    return (
        f"{len(moved)} series under {under} still moved after the warm-up of {most.warm_up_s:g} s, the slowest needs "
        f"{advice} (MSER-5); most certainly {most.what} under {most.discipline}: {most.first:.4g} in the first tenth, "
        f"{most.last:.4g} in the last half (Result.unsettled has each)"
    )
