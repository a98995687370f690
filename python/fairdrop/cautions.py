"""What a reader should know before relying on the numbers of a result."""

from __future__ import annotations

from fairdrop.document import Document
from fairdrop.timers import timer_limited
from fairdrop.warmup import unsettled


def cautions(document: Document) -> list[str]:
    """Warnings of the simulator, then series that still moved, then groups limited by their own timers."""
    return [*(document.get("warnings") or []), *map(str, unsettled(document)), *map(str, timer_limited(document))]
