"""Kinds of links: senders, buffer, deployed disciplines, and kind of access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairdrop.advise.link import Link
from fairdrop.nearest import choices
from fairdrop.study.axes import StudyError

#: What a link is made of, as ``tc`` has it: the keyword of CAKE, and what the size table of another shaper takes.
ACCESS: Mapping[str, tuple[str, str]] = {
    "none": ("", ""),
    "cable": ("docsis", "overhead 18 mpu 64 linklayer ethernet"),
    "vdsl": ("pppoe-ptm", "overhead 30 linklayer ethernet"),
    "adsl": ("pppoe-llcsnap", "overhead 40 linklayer atm"),
    "unknown": ("conservative", "overhead 48 linklayer atm"),
    "ethernet": ("ethernet", "overhead 38 mpu 84 linklayer ethernet"),
}
# A geostationary satellite alone takes about 480 ms for a round trip; no other path is above 400 ms.
_SATELLITE_S = 0.4
# Within a building; and where it is a data centre's network, from its rate.
_DATACENTRE_S, _DATACENTRE_BPS = 0.002, 1_000_000_000
_CAMPUS_FLOWS, _CAMPUS_BPS = 50, 300_000_000
# ADSL2+ ends at 24 Mb/s.
_ADSL_BPS = 25_000_000
# A conversation: 64 kb/s in packets of 20 ms, with their headers.
_VOICE_S = 0.02


@dataclass(frozen=True)
class Profile:
    """A kind of link."""

    name: str
    title: str
    #: Candidates, those first that are deployed most: a tie goes to the first.
    order: tuple[str, ...]
    #: Of the long and the short flows.
    transport: str = "cubic"
    tcp: Mapping[str, Any] = field(default_factory=lambda: {"era": "linux"})
    #: Transport that half of the long flows have in a load of its own.
    other: str | None = None
    #: Name of the flows that send little: packets of 200 bytes, one each ``sparse_s`` or, where that is 0, round trip.
    sparse: str = "voice"
    sparse_s: float = _VOICE_S
    sparse_flows: int = 1
    #: What the shortest trial measures at least: some of the intervals and bursts that disciplines allow for.
    least_s: float = 1.0
    #: Packets that a buffer holds at least; otherwise a bandwidth-delay product.
    least_buffer: int = 50
    #: Whether the slower link is behind the device, as behind a router is a modem: a shaper is needed there.
    behind: bool = False
    #: Whether the rate changes all the time.
    varies: bool = False
    #: Key of :data:`ACCESS`; empty: by the rate.
    access: str = "none"

    def buffer_packets(self, link: Link) -> int:
        """Capacity of a FIFO: the bandwidth-delay product of the largest round trip (RFC 7928, 3.2), or the least."""
        return max(link.bdp_packets, self.least_buffer)

    def period_s(self, link: Link) -> float:
        """Time between two packets of a flow that sends little."""
        return self.sparse_s or link.high_rtt_s

    def access_of(self, link: Link) -> str:
        """The default kind of access."""
        return self.access or ("unknown" if link.rate_bps < _ADSL_BPS else "cable")


# FQ-CoDel is the default of many distributions (RFC 8290, 8), CAKE that of many home routers.
_INTERNET = ("fq_codel", "cake", "fq_pie", "sfq", "pie", "codel", "red", "choke", "droptail")
PROFILES: Mapping[str, Profile] = {
    one.name: one
    for one in (
        Profile("home", "the access line of a home", _INTERNET, behind=True, access=""),
        Profile("campus", "a link that many share", _INTERNET, sparse_flows=10, access="ethernet"),
        Profile("satellite", "a geostationary satellite", _INTERNET, behind=True, access="ethernet"),
        Profile("mobile", "a cell, whose rate varies", _INTERNET, behind=True, varies=True),
        Profile(
            "datacentre",
            "a data centre, whose senders heed marks (DCTCP; Prague beside it)",
            # Switches mark above a threshold, which is RED with a step (RFC 8257, 3.1).
            ("red", "fq_codel", "codel", "dualpi2", "pie", "droptail"),
            transport="dctcp",
            # Its connections are open already, or their SYNs are ECN-capable (RFC 8257, 3.5): none is lost at a mark.
            tcp={"min_rto": "5ms", "tick": "10us", "handshake": False},
            other="prague",
            sparse="requests",
            sparse_s=0.0,
            sparse_flows=4,
            least_s=0.1,
            least_buffer=250,
            access="ethernet",
        ),
    )
}


def profile_of(link: Link, name: str | None) -> tuple[Profile, str]:
    """The profile of that name, or the one that a link looks like; and why it is that one. Raises StudyError."""
    if name is not None:
        if name not in PROFILES:
            raise StudyError(f"profile = {name!r} is not valid{choices(name, PROFILES)}")
        return PROFILES[name], "as asked"
    if link.high_rtt_s >= _SATELLITE_S:
        return PROFILES["satellite"], "from a round trip of 400 ms or more"
    if link.high_rtt_s <= _DATACENTRE_S and link.rate_bps >= _DATACENTRE_BPS:
        return PROFILES["datacentre"], "from 1 Gb/s or more and round trips of 2 ms or less"
    if link.flows > _CAMPUS_FLOWS or link.rate_bps > _CAMPUS_BPS:
        return PROFILES["campus"], "from more than 50 flows or 300 Mb/s"
    return PROFILES["home"], "from at most 50 flows and 300 Mb/s"


def access_of(link: Link, profile: Profile, name: str | None) -> str:
    """The kind of access. Raises StudyError."""
    if name is not None and name not in ACCESS:
        raise StudyError(f"access = {name!r} is not valid{choices(name, ACCESS)}")
    return name or profile.access_of(link)
