"""The traffic of a trial: long flows, short transfers, flows that send little, and in some a flood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2, log10, sqrt
from typing import Any

from fairdrop.advise.link import PACKET_BYTES, Link
from fairdrop.advise.profiles import Profile
from fairdrop.scenario import Scenario

#: Names of groups whose flows are neither long nor greedy; the one that sends little has the profile's name for it.
SHORT = "short"
UDP = "udp"
# Part of the link that short transfers offer, and the window that they begin with (RFC 6928). Each has 60 kB, or what
# the link sends in 0.1 s.
_SHORT_PART, _FIRST_WINDOW = 0.05, 10
_SHORT_BYTES, _SHORT_S = 60_000, 0.1
_SPARSE_BYTES = 200
# Of the link: what the sender that does not respond offers.
_UNRESPONSIVE = 1.0
# Windows are no limit: a flow may have as many times its share of the path and a full buffer.
_SHARES, _MOST_WINDOW = 16, 1_000_000
# The shortest trial measures this many of the largest round trips, packets of the flows that send little, and short
# transfers.
LEAST_TRIPS, _LEAST_SPARSE, _LEAST_SHORT = 20, 100, 10
# Rates of a link that varies, as parts of its mean, and how long each lasts.
_PARTS, _STEP_S = (1.0, 0.5, 1.5, 0.75, 1.25), 1.0
# Packets that a run costs beside those that it sends: its scenario, its tables, the store.
_RUN = 10_000
# The same for each flow.
_FLOW = 20


@dataclass(frozen=True)
class Load:
    """Flows on a link."""

    name: str
    link: Link
    profile: Profile
    unresponsive: bool = False
    #: Half of the long flows have the profile's other transport.
    mixed: bool = False

    def measured_s(self, trips: int) -> float:
        """Measured duration of a trial of ``trips`` round trips."""
        sparse = _LEAST_SPARSE * self.profile.period_s(self.link) / self.profile.sparse_flows
        least = max(sparse, _LEAST_SHORT / self._short_a_second, self.profile.least_s)
        return round(trips * max(self.link.high_rtt_s, least / LEAST_TRIPS), 6)

    def warm_up_s(self, trips: int) -> float:
        """How long it runs before: until slow start is over and what it drove into the queue is gone."""
        return round(max(self.measured_s(trips) / 2, LEAST_TRIPS * self.link.high_rtt_s), 6)

    def effort(self, trips: int) -> float:
        """Cost of a trial, in simulated packets."""
        packets = (self.measured_s(trips) + self.warm_up_s(trips)) / self.link.packet_s
        # More flows are more memory, and so slower: by two thirds with 500 of them.
        each = (1 + _UNRESPONSIVE * self.unresponsive) * (1 + log10(self.link.flows) / 4)
        return packets * each + _RUN + _FLOW * self.link.flows

    @property
    def short_bytes(self) -> int:
        """Size of a short transfer."""
        return min(_SHORT_BYTES, round(_SHORT_S * self.link.rate_bps / 8))

    @property
    def _short_a_second(self) -> float:
        return _SHORT_PART * self.link.rate_bps / 8 / self.short_bytes

    @property
    def short_trips(self) -> int:
        """Round trips of a short transfer that loses nothing: its handshake, if any, and windows that double."""
        handshake = int(self.profile.tcp.get("handshake", True))
        return handshake + ceil(log2(self.short_bytes / PACKET_BYTES / _FIRST_WINDOW + 1))

    @property
    def short_s(self) -> float:
        """How long a short transfer takes that waits for nobody: its round trips, or longer by its fair share."""
        sharing = self.link.flows + 1 + self.unresponsive
        fair_s = 8 * sharing * self.short_bytes / self.link.rate_bps
        return max(self.short_trips * self._middle_s, fair_s)

    @property
    def _middle_s(self) -> float:
        return sqrt(self.link.low_rtt_s * self.link.high_rtt_s)

    def scenario(self, trips: int) -> Scenario:
        """Under DropTail; settings exchange the discipline."""
        link, profile = self.link, self.profile
        warm_up = self.warm_up_s(trips)
        duration = round(self.measured_s(trips) + warm_up, 6)
        spread = round(min(1.0, 0.2 * warm_up), 6)
        buffer = profile.buffer_packets(link)
        ends: dict[str, Any] = {"access_rate": 20 * link.rate_bps, "access_delay": link.low_rtt_s / 4}
        if profile.varies:
            ends["rate_schedule"] = list(_varying(link.rate_bps, duration))
        build = (
            Scenario.build("advice", duration=duration, warm_up=warm_up, sample=0.0)
            .dumbbell(rate=link.rate_bps, delay=0.0, **ends)
            .queue("droptail", limit=buffer)
        )
        tcp: dict[str, Any] = {
            "packet_size": PACKET_BYTES, "start_spread": spread, **profile.tcp,
            "max_window": min(max(ceil(_SHARES * buffer / link.flows), 1000), _MOST_WINDOW),
        }  # fmt: skip
        for name, transport, rtt, flows in self._classes():
            build = build.group(name, transport, count=flows, access_delay=rtt / 4, **tcp)
        middle = {"access_delay": self._middle_s / 4, "start_spread": spread}
        short = {"connections": self._short_a_second, "transfer": self.short_bytes}
        build = build.group(SHORT, profile.transport, **{**tcp, **middle, **short})
        sparse = {"rate": round(8 * _SPARSE_BYTES / profile.period_s(link)), "ecn": profile.other is not None}
        build = build.group(
            profile.sparse, "cbr", packet_size=_SPARSE_BYTES, jitter=0.1, count=profile.sparse_flows, **sparse, **middle
        )
        if self.unresponsive:
            offered = round(_UNRESPONSIVE * link.rate_bps)
            build = build.group(UDP, "cbr", rate=offered, packet_size=PACKET_BYTES, jitter=0.1, start_spread=spread)
        return build.scenario()

    def _classes(self) -> Iterator[tuple[str, str, float, int]]:
        """Groups of long flows by round trip: the smallest, the middle and the largest, as far as there are flows."""
        link, profile = self.link, self.profile
        if self.mixed and profile.other and link.flows > 1:
            yield profile.transport, profile.transport, link.high_rtt_s, (link.flows + 1) // 2
            yield profile.other, profile.other, link.high_rtt_s, link.flows // 2
            return
        if link.low_rtt_s == link.high_rtt_s or link.flows == 1:
            yield "tcp", profile.transport, link.high_rtt_s, link.flows
            return
        names, rtts = ["near", "middle", "far"], [link.low_rtt_s, self._middle_s, link.high_rtt_s]
        if link.flows == 2:
            names, rtts = [names[0], names[2]], [rtts[0], rtts[2]]
        for number, (name, rtt) in enumerate(zip(names, rtts, strict=True)):
            yield name, profile.transport, rtt, (link.flows + number) // len(names)


def loads_of(link: Link, profile: Profile) -> list[Load]:
    """The loads for a choice: the requested load, a flood, and loads with other flows and round trips.

    The first two are those of the first look.
    """
    found = [
        Load("as asked", link, profile),
        Load("UDP at the link's rate", link, profile, unresponsive=True),
        Load("half the flows", link.with_flows(0.5), profile),
        Load("twice the flows", link.with_flows(2), profile),
        Load("half the round trips", link.with_rtts(0.5), profile),
        Load("twice the round trips", link.with_rtts(2), profile),
    ]
    if profile.other is not None:
        found.insert(2, Load(f"half of them {profile.other.capitalize()}", link, profile, mixed=True))
    # Half of one flow is one flow.
    different = {(load.link, load.unresponsive, load.mixed): load for load in reversed(found)}
    return [load for load in found if load in different.values()]


def _varying(rate_bps: int, duration_s: float) -> Iterator[list[Any]]:
    for number in range(1, ceil(duration_s / _STEP_S)):
        yield [round(number * _STEP_S, 6), round(_PARTS[number % len(_PARTS)] * rate_bps)]
