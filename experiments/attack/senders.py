"""Senders that want more than their share: their parameters, their aims, and the loads that they meet.

Each id of an attack sends bursts, evenly through a part ``on`` of each period: with ``on`` = 1 at a constant rate.
Turns of the ids begin ``spread`` of a period apart in all: 0 is at once, 1 one after another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.shares.loads import Group, Load, tcp, udp

Attack = Mapping[str, float]
#: A host's own link holds a thousand packets.
_MOST_PACKETS = 900
_PLAIN: Attack = {"load": 1.0, "ids": 1, "period": 0.01, "on": 1.0, "spread": 0.0, "size": 1000}


@dataclass(frozen=True)
class Knob:
    """What a search may turn: evenly in its logarithm, or, where it may be 0, in itself."""

    name: str
    low: float
    high: float
    whole: bool = False

    def at(self, part: float) -> float:
        """The value at ``part`` (0 to 1) of the way, of three digits, so that it is the same wherever it is stored."""
        if self.low > 0.0:
            value = self.low * (self.high / self.low) ** part
        else:
            value = self.low + (self.high - self.low) * part
        return float(round(value)) if self.whole else float(f"{value:.3g}")

    def part(self, value: float) -> float:
        """Where a value is on the way."""
        if self.low > 0.0:
            found = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            found = (value - self.low) / (self.high - self.low)
        return min(max(found, 0.0), 1.0)


@dataclass(frozen=True)
class Road:
    """A congested link, and the long TCP flows on it, if need be beside a crowd of small flows."""

    name: str
    rate_bps: float
    rtt_s: float
    limit: int
    flows: int
    transport: str
    duration_s: float
    warm_up_s: float
    crowd: tuple[Group, ...] = ()

    def load(self, attack: Attack, forged: bool) -> Load:
        """The scenario of an attack; ``forged`` under the id of a flow of TCP's, which is a group of its own then."""
        name = f"{self.name}, {text(attack)}"
        count = self.flows - 1 if forged else self.flows
        victim = [tcp(1, self.transport, "victim")] if forged else []
        groups = (*victim, tcp(count, self.transport), *self.crowd, *self._attackers(attack, forged))
        timing = {"duration_s": self.duration_s, "warm_up_s": self.warm_up_s}
        return Load(name, self.rate_bps, self.rtt_s, self.limit, groups, **timing)

    @property
    def shared_bps(self) -> float:
        """The part of the link that the crowd leaves; each of its flows sends less than a fair share."""
        return self.rate_bps - sum(group.count * (group.offered_bps or 0.0) for group in self.crowd)

    def fair(self, ids: float) -> float:
        """Throughput of each flow where TCP and ``ids`` more have the same, bit/s."""
        return self.shared_bps / (self.flows + ids)

    def left_to_tcp(self, attack: Attack) -> float:
        """TCP's max-min share beside an attack, bit/s: ids that send less than a flow of TCP have what they send."""
        sent = attack["load"] * self.fair(1)
        left = (self.shared_bps - sent) / self.flows
        return self.flows * (left if sent / attack["ids"] <= left else self.fair(attack["ids"]))

    def _attackers(self, attack: Attack, forged: bool) -> list[Group]:
        ids, size = round(attack["ids"]), round(attack["size"])
        rate = attack["load"] * self.fair(0 if forged else 1) / ids
        if ids > 64 and attack["on"] == 1.0:
            return [Group("attack", {"transport": "cbr", "rate": rate, "packet_size": size}, ids, rate)]
        packets = max(round(rate * attack["period"] / (8 * size)), 1)
        period = packets * 8 * size / rate
        if ids > 64:
            # A crowd: one host each, whose turns begin at random within ``spread`` of a period.
            fields = {
                "transport": "burst", "burst_packets": min(packets, _MOST_PACKETS), "period": period,
                "access_rate": rate / attack["on"], "packet_size": size, "start_spread": attack["spread"] * period,
            }  # fmt: skip
            return [Group("attack", fields, ids, rate)]
        turns = [attack["spread"] * period * turn / ids for turn in range(ids)]
        seen_as, on = "victim" if forged else None, attack["on"]
        return [
            group
            for turn, phase in enumerate(turns)
            for group in _bursts(f"attack{turn}", rate, size, packets, on, phase, seen_as)
        ]


def _bursts(
    name: str, rate: float, size: int, packets: int, on: float, phase: float, seen_as: str | None
) -> Iterator[Group]:
    """The sender of one id. A long burst is that of several hosts, one after another, under the id of the first."""
    period, hosts = packets * 8 * size / rate, math.ceil(packets / _MOST_PACKETS)
    sent = 0
    for host in range(hosts):
        part = (packets + host) // hosts
        fields: dict[str, object] = {
            "transport": "burst", "burst_packets": part, "period": period, "access_rate": rate / on,
            "packet_size": size, "start_spread": 0.0, "phase": phase + on * period * sent / packets,
        }  # fmt: skip
        passes_as = seen_as or (name if host else None)
        more = {} if passes_as is None else {"seen_as": passes_as}
        yield Group(f"{name}.{host}" if host else name, fields | more, 1, rate * part / packets)
        sent += part


ROADS = (
    Road("10 Mb/s, 20 NewReno", 1e7, 0.042, 300, 20, "newreno", 30.0, 10.0),
    Road("50 Mb/s, 50 CUBIC", 5e7, 0.04, 500, 50, "cubic", 12.0, 4.0),
    Road(
        "50 Mb/s, 10 CUBIC, 300 of 64 kb/s", 5e7, 0.02, 500, 10, "cubic", 12.0, 4.0,
        (udp(300, 64e3, name="crowd", packet_size=200),),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Goal:
    """What an attack is after. ``known`` are those that somebody who has read the sources would begin with."""

    name: str
    title: str
    knobs: Callable[[Road], tuple[Knob, ...]]
    known: Callable[[Road], dict[str, Attack]]
    forged: bool = False
    beside_crowd: bool = True

    def roads(self, roads: Sequence[Road]) -> list[Road]:
        """The roads on which it is tried."""
        return [road for road in roads if self.beside_crowd or not road.crowd]

    def attack(self, knobs: tuple[Knob, ...], parts: tuple[float, ...]) -> Attack:
        """The attack at these parts of the way of each knob."""
        return _PLAIN | {knob.name: knob.at(part) for knob, part in zip(knobs, parts, strict=True)}


def text(attack: Attack) -> str:
    """An attack in words that are the same wherever it is stored."""
    return " ".join(f"{name}={attack[name]:g}" for name in _PLAIN)


def read(words: str) -> Attack:
    """What :func:`text` has written."""
    return {name: float(value) for name, value in (word.split("=") for word in words.split())}


def score(goal: Goal, road: Road, attack: Attack, rates: Mapping[str, float]) -> float:
    """How far an attack has come; ``rates`` of all attackers, of TCP, and of the victim at its sink."""
    if goal.name == "crowd":
        return 1.0 - rates["tcp_bps"] / road.left_to_tcp(attack)
    if goal.name == "harm":
        return 1.0 - rates["tcp_bps"] / (road.flows * road.fair(1))
    if goal.forged:
        return 1.0 - rates["victim_bps"] / road.fair(0)
    if goal.name == "split":
        return rates["attack_bps"] / road.rate_bps
    return rates["attack_bps"] / (attack["ids"] * road.fair(attack["ids"]))


def _flood(road: Road) -> Attack:
    return _PLAIN | {"load": 2.0 * (road.flows + 1)}


def _gain_knobs(road: Road) -> tuple[Knob, ...]:
    most = 2.0 * (road.flows + 1)
    return (Knob("load", 0.5, most), Knob("period", 0.002, 4.0), Knob("on", 0.02, 1.0), Knob("size", 100, 1500, True))


def _gain_known(road: Road) -> dict[str, Attack]:
    flood = _flood(road)
    return {
        "flood at twice the link": flood,
        "at the rate of the link": flood | {"load": road.flows + 1},
        "just above the limit": _PLAIN | {"load": 1.3},
        "flood of packets of 100 bytes": flood | {"size": 100},
        "pauses of 200 ms": flood | {"period": 0.3, "on": 1 / 3},
        "pauses of 2 s": flood | {"period": 3.0, "on": 1 / 3},
        "in step with the controller, 16 ms": flood | {"load": road.flows + 1, "period": 0.016, "on": 0.25},
    }


def _ids_knobs(road: Road) -> tuple[Knob, ...]:
    return (*_gain_knobs(road), Knob("ids", 2, 32, True), Knob("spread", 0.0, 1.0))


def _ids_known(road: Road) -> dict[str, Attack]:
    many = _flood(road) | {"ids": 16}
    return {
        "16 floods": many,
        "16 in turns of 100 ms": many | {"period": 1.6, "on": 1 / 16, "spread": 1.0},
        "16 at once, 100 ms of 1.6 s": many | {"period": 1.6, "on": 1 / 16},
        "2 in strict turns": _flood(road) | {"ids": 2, "spread": 1.0},
    }


def _harm_knobs(road: Road) -> tuple[Knob, ...]:
    low = (Knob("load", 0.25, 1.0), Knob("period", 0.002, 4.0), Knob("on", 0.01, 1.0), Knob("size", 100, 1500, True))
    return (*low, Knob("ids", 1, 8, True), Knob("spread", 0.0, 1.0))


def _harm_known(road: Road) -> dict[str, Attack]:
    return {
        "its fair share, evenly": _PLAIN,
        "its fair share in a burst each second": _PLAIN | {"period": 1.0, "on": 0.02},
        "the same from 8 ids at once": _PLAIN | {"period": 1.0, "on": 0.02, "ids": 8},
    }


def _crowd_knobs(road: Road) -> tuple[Knob, ...]:
    most = 0.9 * (road.flows + 1)
    return (
        Knob("load", most / 18, most), Knob("ids", 65, 3000, True), Knob("size", 100, 1500, True),
        Knob("period", 0.002, 4.0), Knob("on", 0.02, 1.0), Knob("spread", 0.0, 1.0),
    )  # fmt: skip


def _crowd_known(road: Road) -> dict[str, Attack]:
    def crowd(part: float, ids: int, **more: float) -> Attack:
        return _PLAIN | {"load": part * (road.flows + 1), "ids": ids, "size": 200} | more

    return {
        "100 ids, 20 % of the link": crowd(0.2, 100),
        "300 ids, 40 %": crowd(0.4, 300),
        "300 ids, 40 %, in bursts": crowd(0.4, 300, period=1.0, on=0.05, spread=1.0),
        "3000 ids, 40 %": crowd(0.4, 3000),
        "3000 ids, 80 %": crowd(0.8, 3000),
    }


def _forged_knobs(road: Road) -> tuple[Knob, ...]:
    return (Knob("load", 0.1, 1.0), Knob("period", 0.002, 4.0), Knob("on", 0.02, 1.0), Knob("size", 100, 1500, True))


def _forged_known(road: Road) -> dict[str, Attack]:
    half = _PLAIN | {"load": 0.5}
    return {
        "half of the victim's share": half,
        "as much as the victim's share": _PLAIN,
        "half of it in packets of 100 bytes": half | {"size": 100},
        "half of it in a burst each second": half | {"period": 1.0, "on": 0.05},
    }


def _no_knobs(road: Road) -> tuple[Knob, ...]:
    return ()


def _split_known(road: Road) -> dict[str, Attack]:
    flood = _flood(road)

    def in_turns(ids: int, length: float) -> Attack:
        return flood | {"ids": ids, "period": ids * length, "on": 1 / ids, "spread": 1.0}

    return {
        "1": flood,
        "4": flood | {"ids": 4},
        "16": flood | {"ids": 16},
        "64": flood | {"ids": 64},
        "256": flood | {"ids": 256},
        "20,000": flood | {"ids": 20_000},
        "4 in turns of 100 ms": in_turns(4, 0.1),
        "8 in turns of 100 ms": in_turns(8, 0.1),
        "16 in turns of 100 ms": in_turns(16, 0.1),
    }


GOALS = {
    one.name: one
    for one in (
        Goal("gain", "one id, throughput over the fair share", _gain_knobs, _gain_known),
        Goal("ids", "2 to 32 ids, throughput over the fair share of as many flows", _ids_knobs, _ids_known),
        Goal("harm", "at most a fair share from 1 to 8 ids, what TCP loses", _harm_knobs, _harm_known),
        Goal(
            "forged",
            "at most a fair share under the id of a victim, what it loses",
            _forged_knobs,
            _forged_known,
            forged=True,
            beside_crowd=False,
        ),
        Goal(
            "split",
            "a flood of twice the link, split over ids: part of the link",
            _no_knobs,
            _split_known,
            beside_crowd=False,
        ),
        Goal(
            "crowd",
            "65 to 3000 ids, what TCP loses of its max-min share",
            _crowd_knobs,
            _crowd_known,
            beside_crowd=False,
        ),
    )
}


def small(road: Road) -> Road:
    """The same for tests: seconds in place of half a minute."""
    return replace(road, duration_s=6.0, warm_up_s=2.0)
