"""The loads on which shares are compared: a development set to tune on, and a validation set to report on.

The validation set is drawn from wide ranges by a seeded generator. Nothing of it may guide a choice: who changes a
parameter after having seen results of it takes another seed before reporting any.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

VALIDATION = 200
VALIDATION_SEED = 20_261_127
# What a run of the validation set sends at most, but for the shortest run, so that 200 of them take minutes.
_MOST_PACKETS = 100_000
_SHORTEST_S, _LONGEST_S = 12.0, 60.0
# On a fast link, where a run has many packets.
_SHORT = {"duration_s": 15.0, "warm_up_s": 7.0}
_DATA_TRANSPORTS = ("newreno", "sack", "cubic")


@dataclass(frozen=True)
class Group:
    """Flows that are alike. ``offered_bps`` is what each sends whatever is lost; None for TCP."""

    name: str
    fields: dict[str, object]
    count: int = 1
    offered_bps: float | None = None
    short: bool = False


@dataclass(frozen=True)
class Load:
    """One dumbbell with its flows. ``rtt_s`` is the round trip of groups that do not say otherwise."""

    name: str
    rate_bps: float
    rtt_s: float
    limit: int
    groups: tuple[Group, ...]
    packet_size: int = 1000
    duration_s: float = 60.0
    warm_up_s: float = 20.0
    seeds: int = 3
    first_seed: int = 1

    def toml(self) -> str:
        """The scenario. Thresholds of RED are a third and two thirds of the buffer."""
        access_bps = max(10 * self.rate_bps, 1e8)
        lines = [
            'schema = "fairdrop/scenario/1"',
            f"name = {json.dumps(self.name)}",
            f"duration = {self.duration_s}",
            f"warm_up = {self.warm_up_s}",
            "sample = 0.0",
            "[dumbbell]",
            f"rate = {self.rate_bps}",
            "delay = 0.001",
            f"access_rate = {access_bps}",
            f"access_delay = {_access_delay(self.rtt_s)}",
            "[queue]",
            f"limit = {self.limit}",
            "[queue.red]",
            f"min_th = {max(self.limit // 3, 1)}",
            f"max_th = {max(2 * self.limit // 3, 2)}",
        ]
        for group in self.groups:
            fields = {"name": group.name, "count": group.count, "packet_size": self.packet_size} | group.fields
            lines += ["[[groups]]", *(f"{name} = {json.dumps(value)}" for name, value in fields.items())]
        return "\n".join(lines) + "\n"


def _access_delay(rtt_s: float) -> float:
    """Delay of each of the four access links of a round trip; the bottleneck takes 2 ms."""
    return max(rtt_s - 0.002, 0.0) / 4


def tcp(count: int, transport: str = "newreno", name: str = "tcp", **fields: object) -> Group:
    """Long TCP flows."""
    return Group(name, {"transport": transport, "max_window": 20_000} | fields, count)


def udp(count: int, rate_bps: float, transport: str = "cbr", name: str = "udp", **fields: object) -> Group:
    """Senders that slow down for nothing."""
    return Group(name, {"transport": transport, "rate": rate_bps} | fields, count, rate_bps)


def web(load_bps: float, transfer: int = 30_000, transport: str = "newreno", **fields: object) -> Group:
    """Short transfers of ``transfer`` bytes on average that offer ``load_bps`` together."""
    connections = load_bps / (8 * transfer)
    sizes = {"connections": connections, "transfer": transfer, "sizes": "pareto", "max_transfer": 50 * transfer}
    return Group("web", {"transport": transport} | sizes | fields, 1, short=True)


def development() -> Iterator[Load]:
    """The loads of the prototype's table, and one for each of its known weaknesses."""
    reno = {"era": "ns2-1998"}
    headline = (Group("tcp", {"transport": "reno", "max_window": 300} | reno, 32), udp(1, 2e6))
    yield Load("1 Mb/s, 32 Reno, UDP at 2x", 1e6, 0.006, 300, headline, duration_s=200, warm_up_s=60)
    fast, cubic = (1e8, 0.04, 1000), tcp(100, "cubic")
    for name, flood in (
        ("UDP at 2x", udp(1, 2e8)),
        ("5 UDP of 50 Mb/s", udp(5, 5e7)),
        ("20 UDP of 50 Mb/s", udp(20, 5e7)),
        ("200 UDP of 5 Mb/s", udp(200, 5e6)),
    ):
        yield Load(f"100 Mb/s, 100 CUBIC, {name}", *fast, (cubic, flood), duration_s=25, warm_up_s=10)
    yield Load("10 Mb/s, 280 NewReno", 1e7, 0.042, 300, (tcp(280),))
    yield Load("10 Mb/s, 32 NewReno", 1e7, 0.042, 300, (tcp(32),))
    times = (0.006, 0.042, 0.08, 0.15)
    several = (tcp(10, name=f"rtt{t * 1e3:.0f}", access_delay=_access_delay(t)) for t in times)
    yield Load("10 Mb/s, 4 x 10 NewReno, 6 to 150 ms", 1e7, 0.042, 300, tuple(several))
    sizes = tuple(tcp(10, name=f"{size} B", packet_size=size) for size in (100, 500, 1500))
    yield Load("10 Mb/s, 3 x 10 NewReno, 100 to 1500 B", 1e7, 0.042, 300, sizes)
    on_off = {"transport": "on_off", "peak_rate": 1e7, "mean_on": 0.5, "mean_off": 0.5}
    yield Load(
        "10 Mb/s, 32 NewReno, UDP on and off", 1e7, 0.042, 300, (tcp(32), Group("udp", on_off, 1, 5e6)), duration_s=80
    )
    for part in (0.3, 0.5, 0.7):
        mice = (tcp(20, "cubic"), udp(1, 1e8), web(part * 1e8))
        yield Load(f"100 Mb/s, 20 CUBIC, UDP, mice {part:.0%}", *fast, mice, duration_s=25, warm_up_s=10)
    few = (tcp(4, "cubic"), udp(1, 1e9))
    yield Load("1 Gb/s, 4 CUBIC, UDP", 1e9, 0.04, 5000, few, duration_s=25, warm_up_s=10)
    short = (tcp(50, "cubic"), udp(5, 5e7))
    yield Load("200 Mb/s, 50 CUBIC, 5 UDP, a buffer of 4 ms", 2e8, 0.02, 100, short, duration_s=15, warm_up_s=5)
    yield Load("1 Mb/s, 100 NewReno, UDP", 1e6, 0.042, 300, (tcp(100), udp(1, 1e6)))
    yield Load("10 Mb/s, 4 NewReno, UDP", 1e7, 0.042, 300, (tcp(4), udp(1, 1e7)))
    capable = (tcp(32, "sack", ecn=True), udp(1, 2e7))
    yield Load("10 Mb/s, 32 SACK with ECN, UDP", 1e7, 0.042, 300, capable)
    many = udp(400, 1e6)
    yield Load("100 Mb/s, 100 CUBIC, 400 UDP of 1 Mb/s", *fast, (cubic, many), duration_s=25, warm_up_s=10)
    late = (tcp(32), udp(1, 2e7, start=30.0))
    yield Load("10 Mb/s, 32 NewReno, UDP from 30 s on", 1e7, 0.042, 300, late, duration_s=60, warm_up_s=30)
    # Two that send in strict turns beside one that is slower.
    turns = (udp(2, 1e7, start_spread=0.0), tcp(8))
    yield Load("10 Mb/s, 2 UDP in turns, 8 NewReno", 1e7, 0.042, 300, turns)


def validation(count: int = VALIDATION, seed: int = VALIDATION_SEED) -> Iterator[Load]:
    """Random loads: 1 to 300 Mb/s, 5 to 200 ms, 2 to 300 TCP flows, none to 40 senders that slow down for nothing."""
    for number in range(count):
        # Each has its own numbers, so that a change of one leaves the others as they were.
        yield _drawn(f"v{number:03d}", random.Random(f"{seed}/{number}"))


def _drawn(name: str, dice: random.Random) -> Load:
    def spread(low: float, high: float) -> float:
        """Uniform in the logarithm."""
        return math.exp(math.log(low) + dice.random() * math.log(high / low))

    def one_of(*choices: object) -> object:
        return choices[int(dice.random() * len(choices))]

    rate = float(f"{spread(1e6, 3e8):.3g}")
    rtt = round(spread(0.005, 0.2), 4)
    size = int(str(one_of(500, 1000, 1500)))
    # At least 20 kb/s for each flow.
    flows = round(spread(2, min(300, max(rate / 2e4, 3))))
    bdp = rate * rtt / (8 * size)
    limit = int(min(max(spread(0.5, 4) * bdp, 40 + flows), 20_000))
    transport, ecn = str(one_of(*_DATA_TRANSPORTS)), dice.random() < 0.2
    groups = list(_long(dice, flows, rtt, transport, ecn, spread))
    if dice.random() < 0.8:
        groups.append(_greedy(dice, rate, flows, spread))
    if dice.random() < 1 / 3:
        groups.append(web(round(rate * (0.1 + 0.5 * dice.random())), round(spread(5_000, 100_000)), transport))
    duration = min(max(_MOST_PACKETS * 8 * size / rate, _SHORTEST_S), _LONGEST_S)
    return Load(name, rate, rtt, limit, tuple(groups), size, round(duration, 1), round(0.4 * duration, 1), seeds=2)


def _long(
    dice: random.Random,
    flows: int,
    rtt: float,
    transport: str,
    ecn: bool,
    spread: Callable[[float, float], float],
) -> Iterator[Group]:
    """One class of TCP flows, or two with different round trips."""
    if flows < 4 or dice.random() < 0.5:
        yield tcp(flows, transport, ecn=ecn)
        return
    near = round(flows * (0.2 + 0.6 * dice.random()))
    other = round(rtt * spread(1.5, 5), 4)
    yield tcp(near, transport, "near", ecn=ecn)
    yield tcp(flows - near, transport, "far", ecn=ecn, access_delay=round(_access_delay(other), 6))


def _greedy(dice: random.Random, rate: float, flows: int, spread: Callable[[float, float], float]) -> Group:
    """Senders of at least twice their fair share, at most twice the link."""
    count = 1 if dice.random() < 0.4 else round(spread(1, 40))
    fair = rate / (flows + count)
    each = round(spread(2 * fair, max(2 * rate / math.sqrt(count), 2.5 * fair)))
    return udp(count, each, "poisson" if dice.random() < 0.3 else "cbr")


def fresh() -> Iterator[Load]:
    """The development set under ten seeds that nothing was chosen by."""
    for load in development():
        yield replace(load, seeds=10, first_seed=101)


def crowds() -> Iterator[Load]:
    """Long flows beside 10 to 10,000 small senders with 5 to 90 % of the link, or short transfers, or a flood too."""
    calls = udp(300, 64e3, name="calls", packet_size=200)
    slow = (5e7, 0.02, 500)
    long = {"packet_size": 1500, "duration_s": 30.0, "warm_up_s": 10.0, "seeds": 5, "first_seed": 201}
    yield Load("50 Mb/s, 10 CUBIC, 300 calls", *slow, (tcp(10, "cubic"), calls), **long)
    ids = udp(2000, 1e4, name="ids")
    yield Load("50 Mb/s, 10 CUBIC of Linux, 2,000 ids of 10 kb/s", *slow, (tcp(10, "cubic", era="linux"), ids), **long)
    for part, count in ((0.05, 10), (0.2, 30), (0.4, 100), (0.6, 37), (0.6, 1000), (0.9, 10_000)):
        crowd = udp(count, part * 1e8 / count, "poisson", name="crowd")
        name = f"100 Mb/s, 20 CUBIC, {part:.0%} in {count:,} flows"
        yield Load(name, 1e8, 0.04, 1000, (tcp(20, "cubic"), crowd), **long)
    thousands = udp(2000, 2e5, name="crowd")
    yield Load("1 Gb/s, 10 CUBIC, 2,000 x 200 kb/s", 1e9, 0.02, 2000, (tcp(10, "cubic"), thousands), **long | _SHORT)
    yield Load("200 Mb/s, 80 ms, 4 CUBIC, web 40%", 2e8, 0.08, 2000, (tcp(4, "cubic"), web(8e7)), **long)
    yield Load("50 Mb/s, 10 CUBIC, 300 calls, UDP at 2x", *slow, (tcp(10, "cubic"), calls, udp(1, 1e8)), **long)
    crowd = udp(1000, 6e4, "poisson", name="crowd")
    flood = (tcp(20, "cubic"), crowd, udp(1, 1e8))
    yield Load("100 Mb/s, 20 CUBIC, 60% in 1,000 flows, UDP", 1e8, 0.04, 1000, flood, **long)
    yield Load("100 Mb/s, 200 ms, 20 CUBIC, UDP", 1e8, 0.2, 2500, (tcp(20, "cubic"), udp(1, 1e8)), **long)


SETS: dict[str, Callable[[], Iterator[Load]]] = {
    "development": development,
    "fresh": fresh,
    "crowds": crowds,
    "validation": validation,
}
