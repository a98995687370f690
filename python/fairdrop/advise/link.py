"""The link to advise on: its rate, its round-trip times and its long flows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from fairdrop import _core
from fairdrop.study.axes import StudyError, whole
from fairdrop.wording.numbers import duration, rate
from fairdrop.wording.phrases import count

PACKET_BYTES = 1500
_RATES_BPS = (1_000_000, 10_000_000_000)
_RTTS_S = (10e-6, 2.0)
_FLOWS = (1, 10_000)


@dataclass(frozen=True)
class Link:
    """A bottleneck: rate, round-trip times of its flows without any wait, how many long flows there are."""

    rate_bps: int
    low_rtt_s: float
    high_rtt_s: float
    flows: int

    @property
    def packet_s(self) -> float:
        """How long a full packet takes on it."""
        return 8 * PACKET_BYTES / self.rate_bps

    @property
    def bdp_packets(self) -> int:
        """The bandwidth-delay product of the largest round trip, rounded up."""
        return ceil(self.rate_bps * self.high_rtt_s / 8 / PACKET_BYTES)

    def with_flows(self, factor: float) -> Link:
        """As many times the flows, one at least."""
        return replace(self, flows=max(int(factor * self.flows), 1))

    def with_rtts(self, factor: float) -> Link:
        """As many times the round trips."""
        return replace(self, low_rtt_s=factor * self.low_rtt_s, high_rtt_s=factor * self.high_rtt_s)

    def __str__(self) -> str:
        rtts = duration(self.high_rtt_s)
        if self.low_rtt_s < self.high_rtt_s:
            rtts = f"{duration(self.low_rtt_s)} to {rtts}"
        return f"{rate(self.rate_bps)}, round trips of {rtts}, {count(self.flows, 'flow')}"


def read_link(rate_text: str, rtt_text: str, flows: int) -> Link:
    """A link in the notation of the command: ``100mbit``, ``20ms..80ms`` or ``50us``. Raises StudyError."""
    try:
        rate_bps = _core.rate_bps(rate_text)
    except ValueError:
        rate_bps = 0
    if not _RATES_BPS[0] <= rate_bps <= _RATES_BPS[1]:
        raise StudyError(f"rate = {rate_text!r} is not valid; valid: a rate from 1mbit to 10gbit, such as 100mbit")
    words = rtt_text.split("..")
    rtts = [seconds(word) for word in words]
    if len(words) > 2 or any(not _RTTS_S[0] <= found <= _RTTS_S[1] for found in rtts) or rtts != sorted(rtts):
        raise StudyError(
            f"rtt = {rtt_text!r} is not valid; valid: a time from 10us to 2s, or two, the smaller first: 20ms..80ms"
        )
    return Link(rate_bps, rtts[0], rtts[-1], whole("flows", flows, *_FLOWS))


def seconds(text: str) -> float:
    """A time in the notation of the command; below 0 if it is invalid."""
    try:
        return float(_core.seconds(text))
    except ValueError:
        return -1.0
