"""Progress of the work, on a terminal."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from fairdrop.terminal import redraw


@dataclass
class Progress:
    """Counts finished work and shows the time left: in place on a terminal, elsewhere not at all."""

    total: float = 0.0
    done: float = 0.0
    name: str = ""
    shown: bool = False
    started: float = field(default_factory=time.monotonic)
    _computed: float = 0.0
    _last: float = 0.0

    def advance(self, weight: float, computed: bool) -> None:
        """The speed is estimated from ``computed`` work, not from work found in the store."""
        self.done += weight
        if computed:
            self._computed += weight
        now = time.monotonic()
        if self.shown and now - self._last > 0.2:
            self._last = now
            redraw(self.line())

    def line(self) -> str:
        """The progress, and the estimated time left."""
        part = self.done / self.total if self.total else 1.0
        left = ""
        if self._computed > 0:
            seconds = (self.total - self.done) * (time.monotonic() - self.started) / self._computed
            left = f", about {int(seconds // 60)} min {int(seconds % 60):02d} s left"
        return f"{self.name}: {100 * part:.0f} %{left}"

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            redraw("")
