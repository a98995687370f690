"""The link that advice is asked for, and the loads that disciplines are tuned and checked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

from fairdrop import _core
from fairdrop.scenario import Scenario
from fairdrop.study.axes import StudyError, whole
from fairdrop.wording.numbers import duration, rate
from fairdrop.wording.phrases import count

PACKET_BYTES = 1500
_RATES_BPS = (1_000_000, 10_000_000_000)
_RTTS_S = (0.001, 1.0)
_FLOWS = (1, 10_000)
# Part of the link that short transfers offer, and how long each is.
_SHORT = 0.05
_SHORT_BYTES = 60_000
# A conversation: 64 kb/s in packets of 20 ms, with their headers.
_VOICE_BPS, _VOICE_BYTES = 80_000, 200
# Of the link: what the sender that does not respond offers.
_UNRESPONSIVE = 1.0
_MOST_WINDOW = 1_000_000
# The measuring window, in largest round trips and at least in seconds.
_ROUND_TRIPS, _LEAST_S = 150, 10.0


@dataclass(frozen=True)
class Link:
    """A bottleneck: rate, round-trip times of its flows without any wait, how many long flows there are."""

    rate_bps: int
    low_rtt_s: float
    high_rtt_s: float
    flows: int

    @property
    def buffer_packets(self) -> int:
        """The bandwidth-delay product of the largest round trip, but 50 packets at least (RFC 7928, 3.2)."""
        return max(ceil(self.rate_bps * self.high_rtt_s / 8 / PACKET_BYTES), 50)

    def __str__(self) -> str:
        rtts = duration(self.high_rtt_s)
        if self.low_rtt_s < self.high_rtt_s:
            rtts = f"{duration(self.low_rtt_s)} to {rtts}"
        return f"{rate(self.rate_bps)}, round trips of {rtts}, {count(self.flows, 'flow')}"


@dataclass(frozen=True)
class Load:
    """Flows on a link: CUBIC over its round trips, short transfers, voice, perhaps one that does not respond."""

    name: str
    link: Link
    unresponsive: bool = False

    @property
    def scenario(self) -> Scenario:
        """Under DropTail; settings exchange the discipline. The buffer is set by who asks."""
        link = self.link
        window = min(max(4 * link.buffer_packets, 1000), _MOST_WINDOW)
        measured = max(_ROUND_TRIPS * link.high_rtt_s, _LEAST_S)
        build = (
            Scenario.build("advice", duration=round(1.5 * measured, 6), warm_up=round(0.5 * measured, 6))
            .dumbbell(rate=link.rate_bps, delay=0.0, access_rate=20 * link.rate_bps, access_delay=link.low_rtt_s / 4)
            .queue("droptail", limit=link.buffer_packets)
        )
        tcp: dict[str, Any] = {"packet_size": PACKET_BYTES, "max_window": window}
        for name, rtt, flows in _classes(link):
            build = build.group(name, "cubic", count=flows, access_delay=rtt / 4, **tcp)
        a_second = _SHORT * link.rate_bps / 8 / _SHORT_BYTES
        middle = sqrt(link.low_rtt_s * link.high_rtt_s)
        build = build.group(
            "short", "cubic", connections=a_second, transfer=_SHORT_BYTES, access_delay=middle / 4, **tcp
        )
        build = build.group(
            "voice", "cbr", rate=_VOICE_BPS, packet_size=_VOICE_BYTES, jitter=0.1, access_delay=middle / 4
        )
        if self.unresponsive:
            offered = round(_UNRESPONSIVE * link.rate_bps)
            build = build.group("udp", "cbr", rate=offered, packet_size=PACKET_BYTES, jitter=0.1)
        return build.scenario()


def read_link(rate_text: str, rtt_text: str, flows: int) -> Link:
    """A link as a person writes it: ``100mbit``, ``20ms..80ms`` or ``50ms``. Raises StudyError."""
    try:
        rate_bps = _core.rate_bps(rate_text)
    except ValueError:
        rate_bps = 0
    if not _RATES_BPS[0] <= rate_bps <= _RATES_BPS[1]:
        raise StudyError(f"rate = {rate_text!r} is not valid; valid: a rate from 1mbit to 10gbit, such as 100mbit")
    words = rtt_text.split("..")
    rtts = [_seconds(word) for word in words]
    if len(words) > 2 or any(not _RTTS_S[0] <= found <= _RTTS_S[1] for found in rtts) or rtts != sorted(rtts):
        raise StudyError(
            f"rtt = {rtt_text!r} is not valid; valid: a time from 1ms to 1s, or two, the smaller first: 20ms..80ms"
        )
    return Link(rate_bps, rtts[0], rtts[-1], whole("flows", flows, *_FLOWS))


def tuning_loads(link: Link, fairness: bool) -> list[Load]:
    """What parameters are searched on; a sender that does not respond is there where fairness is wanted."""
    plain = Load("as asked", link)
    return [plain, Load("with UDP", link, unresponsive=True)] if fairness else [plain]


def checking_loads(link: Link) -> list[Load]:
    """What the best are checked on: other seeds of the load that was asked for, and loads that were not tuned on."""
    low, high = link.low_rtt_s, link.high_rtt_s
    return [
        Load("as asked, other seeds", link),
        Load("half the flows", replace(link, flows=max(link.flows // 2, 1))),
        Load("twice the flows", replace(link, flows=2 * link.flows)),
        Load("half the round trips", replace(link, low_rtt_s=low / 2, high_rtt_s=high / 2)),
        Load("twice the round trips", replace(link, low_rtt_s=2 * low, high_rtt_s=2 * high)),
        Load("UDP at the link's rate", link, unresponsive=True),
    ]


def _seconds(text: str) -> float:
    try:
        return float(_core.seconds(text))
    except ValueError:
        return -1.0


def _classes(link: Link) -> Iterator[tuple[str, float, int]]:
    """Groups of long flows: the smallest, the middle and the largest round trip, as far as there are flows."""
    if link.low_rtt_s == link.high_rtt_s or link.flows == 1:
        yield "tcp", link.high_rtt_s, link.flows
        return
    rtts = [link.low_rtt_s, sqrt(link.low_rtt_s * link.high_rtt_s), link.high_rtt_s]
    names = ["near", "middle", "far"]
    if link.flows == 2:
        names, rtts = [names[0], names[2]], [rtts[0], rtts[2]]
    for number, (name, rtt) in enumerate(zip(names, rtts, strict=True)):
        yield name, rtt, (link.flows + number) // len(names)
