"""From the packets that a receiver saw to errors of rate and of delay."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Packets = NDArray[np.int64]
Errors = NDArray[np.float64]
# Columns of what `probe receive` writes.
AT, LEN, NUMBER, SENT = range(4)
# After a pause, what was due meanwhile takes as long to leave.
AFTER_PAUSE_NS = 2_000_000


def read(path: Path) -> Packets:
    """The packets in the order in which they came."""
    return np.fromfile(path, dtype=np.int64).reshape(-1, 4)


def read_pauses(path: Path) -> Packets:
    """Begin and end of each time that the machine did not run who wanted to run, and how long it was."""
    return np.fromfile(path, dtype=np.int64).reshape(-1, 3)


class Windows(NamedTuple):
    """Relative errors of a rate in the windows that count, and how many there are in all."""

    errors: Errors
    begin: Packets
    end: Packets
    total: int

    def paused(self, pauses: Packets) -> Errors:
        """How long the machine paused in all, of the pauses that reach into each window, in parts of the window.

        One pause may have been seen by several: they are no longer together than the time from the begin of the first
        to the end of the last of those that overlap.
        """
        paused_ns = np.zeros(len(self.begin), dtype=np.int64)
        for place, (begin, end) in enumerate(zip(self.begin, self.end, strict=True)):
            reaches = (pauses[:, 0] <= end) & (pauses[:, 1] + AFTER_PAUSE_NS >= begin)
            here = pauses[reaches]
            paused_ns[place] = min(int(here[:, 2].sum()), _union(here[:, :2]))
        return paused_ns / (self.end - self.begin)


def _union(spans: Packets) -> int:
    """How long spans are in which something overlaps."""
    total, until = 0, None
    for begin, end in sorted(spans.tolist()):
        total += max(end - (begin if until is None else max(begin, until)), 0)
        until = end if until is None else max(until, end)
    return total


def rate_errors(packets: Packets, rate_bps: float, overhead: int, window_s: float, skip_s: float) -> Windows:
    """Relative error of the rate in each window in which the link always had a packet to send.

    A window begins and ends with a packet, since at 1 Mb/s only eight come in 100 ms: it is the least number of whole
    gaps between packets that lasts `window_s`. The first `skip_s` are left out. The link had a packet to send when each
    was sent before the one before it came out; the sender may pause for longer than the queue lasts.
    """
    at = packets[:, AT]
    begin = int(np.searchsorted(at, at[0] + int(skip_s * 1e9)))
    bits = np.cumsum(packets[:, LEN] + overhead) * 8
    idle = np.concatenate([[0], np.cumsum(packets[1:, SENT] > at[:-1])])
    errors: list[float] = []
    ends: list[tuple[int, int]] = []
    windows = 0
    while True:
        end = int(np.searchsorted(at, at[begin] + int(window_s * 1e9)))
        if end >= len(at):
            begins, lasts = np.array(ends, dtype=np.int64).reshape(-1, 2).T
            return Windows(np.array(errors), begins, lasts, windows)
        windows += 1
        if idle[end] == idle[begin]:
            errors.append((bits[end] - bits[begin]) / (at[end] - at[begin]) * 1e9 / rate_bps - 1)
            ends.append((int(at[begin]), int(at[end])))
        begin = end


def delay_errors_us(packets: Packets, rate_bps: float, overhead: int, delay_s: float) -> Errors:
    """How much later each packet came than over a link that is exact, us.

    The exact link takes packets as they are sent and transmits one after another.
    """
    by_number = packets[np.argsort(packets[:, NUMBER], kind="stable")]
    took = ((by_number[:, LEN] + overhead) * 8e9 / rate_bps).astype(np.int64) if rate_bps else by_number[:, LEN] * 0
    due, free = np.empty(len(by_number), dtype=np.int64), 0
    for place, (sent, took_ns) in enumerate(zip(by_number[:, SENT].tolist(), took.tolist(), strict=True)):
        free = max(sent, free) + took_ns
        due[place] = free
    return (by_number[:, AT] - due - int(delay_s * 1e9)) / 1e3
