"""Measure COLLAR's kin.

Weights: TCP of three classes of weights 1, 2 and 4, beside senders that slow down for nothing. Sparse flows: voice
beside TCP and such senders, and who would ride free with it. Integers: what fixed-point numbers change. Hosts: what
hosts of one flow, of many, and of greedy ones have of the link. Each finished run is a line of a file, written as soon
as it ends; what is in that file or in kin.csv.xz is not run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import fairdrop
from experiments.attack.senders import ROADS
from experiments.digests import Row, Runs, arguments
from experiments.shares.campaign import Key, Task, fair_share, made
from experiments.shares.loads import Group, Load, crowds, development, tcp, udp, web
from fairdrop.measures import jain_index

DIGEST = Path(__file__).with_name("kin.csv.xz")
WEIGHTS = (1, 2, 4)
SEEDS = range(201, 206)
KEYS = ("table", "load", "discipline", "seed")
OF_SHARES = ("w1", "w2", "w4", "udp", "tcp", "jain_tcp", "udp_part", "tcp_part", "spurious")
MEASURES = (*OF_SHARES, "voice_p99_ms", "tcp_p99_ms", "parts")
# Between the kind of a host and which of them a group is.
EACH = "-"
_BY_WEIGHT = "[" + ",".join(map(str, WEIGHTS)) + "]"


@dataclass(frozen=True)
class Table:
    """The runs, and the columns of the results: measure, heading."""

    loads: Callable[[], Iterator[Load]]
    disciplines: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    seeds: range = SEEDS


def weights() -> Iterator[Load]:
    """TCP of three classes alone, with a sender of twice the link in the lowest, in the highest, and one in each."""
    slow, middle, fast = (1e6, 0.042, 300), (1e7, 0.042, 300), (1e8, 0.04, 1000)
    for name, link, count, transport, times in (
        ("1 Mb/s, 3 x 8 NewReno", slow, 8, "newreno", (200.0, 60.0)),
        ("10 Mb/s, 3 x 10 NewReno", middle, 10, "newreno", (60.0, 20.0)),
        ("100 Mb/s, 3 x 30 CUBIC", fast, 30, "cubic", (25.0, 10.0)),
    ):
        flows = tuple(tcp(count, transport, f"w{w}", **{"class": at}) for at, w in enumerate(WEIGHTS))
        floods = {
            "": (),
            ", UDP of class 0": (udp(1, 2 * link[0]),),
            ", UDP of class 2": (udp(1, 2 * link[0], **{"class": 2}),),
            ", 3 UDP": tuple(udp(1, link[0], name=f"udp{at}", **{"class": at}) for at in range(3)),
        }
        for suffix, flood in floods.items():
            yield Load(name + suffix, *link, (*flows, *flood), duration_s=times[0], warm_up_s=times[1])


def sparse() -> Iterator[Load]:
    """Four voice flows beside TCP, short transfers, and senders that slow down for nothing."""
    middle, fast = (1e7, 0.042, 300), (1e8, 0.04, 1000)
    cubic, short = tcp(100, "cubic"), {"duration_s": 25.0, "warm_up_s": 10.0}
    yield Load("10 Mb/s, 8 NewReno", *middle, (tcp(8), _voice()))
    yield Load("10 Mb/s, 32 NewReno", *middle, (tcp(32), _voice()))
    yield Load("10 Mb/s, 32 NewReno, UDP at 2x", *middle, (tcp(32), udp(1, 2e7), _voice()))
    yield Load("100 Mb/s, 100 CUBIC, 5 UDP of 50 Mb/s", *fast, (cubic, udp(5, 5e7), _voice()), **short)
    mice = (tcp(20, "cubic"), udp(1, 1e8), web(5e7), _voice())
    yield Load("100 Mb/s, 20 CUBIC, UDP, mice 50%", *fast, mice, **short)
    yield Load("2 Mb/s, 10 NewReno, UDP, one voice flow", 2e6, 0.042, 100, (tcp(10), udp(1, 2e6), _voice(1)))


def riders() -> Iterator[Load]:
    """Who would go first without being sparse."""
    fast, short = (1e8, 0.04, 1000), {"duration_s": 25.0, "warm_up_s": 10.0}
    road = ROADS[0]
    middle = (road.rate_bps, road.rtt_s, road.limit)
    yield Load("10 Mb/s, 20 NewReno, UDP at 2x", *middle, (tcp(20), udp(1, 2e7), _voice(1)))
    at_once = {"load": 42.0, "ids": 16, "period": 0.01, "on": 1.0, "spread": 0.0, "size": 1000}
    in_turns = at_once | {"period": 1.6, "on": 1 / 16, "spread": 1.0}
    for name, attack in (("16 ids at once", at_once), ("16 ids in turns of 100 ms", in_turns)):
        load = road.load(attack, forged=False)
        groups = tuple(_as_udp(group) for group in load.groups)
        yield Load(f"10 Mb/s, 20 NewReno, {name}", *middle, (*groups, _voice(1)))
    many = udp(2000, 1e4)
    yield Load("10 Mb/s, 20 NewReno, 2000 ids of 10 kb/s", *middle, (tcp(20), many, _voice(1)))
    half = udp(20, 1.2e5)
    yield Load("10 Mb/s, 20 NewReno, 20 UDP of half a share", *middle, (tcp(20), half, _voice(1)))
    for count in (100, 200):
        floods = (tcp(100, "cubic"), udp(count, 5e6), _voice(1))
        yield Load(f"100 Mb/s, 100 CUBIC, {count} UDP of 5 Mb/s", *fast, floods, **short)


def hosts() -> Iterator[Load]:
    """Hosts that send through as many flows as they like, TCP or not; in one load they receive."""
    middle, fast = (2e7, 0.042, 300), (1e8, 0.04, 1000)
    short = {"duration_s": 30.0, "warm_up_s": 10.0}

    def three(transport: str = "newreno", most: int = 40) -> tuple[Group, ...]:
        return tuple(tcp(count, transport, f"of{count}", source_host=f"of{count}") for count in (1, 4, most))

    def flood(rate_bps: float) -> tuple[Group, ...]:
        return (tcp(4, name="beside", source_host="greedy"), udp(1, rate_bps, name="flood", source_host="greedy"))

    def each(kind: str, count: int, group: Callable[..., Group]) -> tuple[Group, ...]:
        return tuple(group(name=f"{kind}{EACH}{at}", source_host=f"{kind}-{at}") for at in range(count))

    def flows(count: int) -> Callable[..., Group]:
        return lambda **fields: tcp(count, "cubic", **fields)

    yield Load("hosts of 1, 4 and 40 flows, one of 4 and a flood", *middle, (*three(), *flood(4e7)))
    down = tuple(_received(group) for group in (*three(), *flood(4e7)))
    yield Load("the same, of those that receive", *middle, down)
    yield Load("hosts of 1, 4 and 40 flows", *middle, three())
    yield Load("a host of 1 flow, one of 40", *middle, (three()[0], three()[2]))
    ones_and_tens = (*each("of1", 10, flows(1)), *each("of10", 10, flows(10)))
    yield Load("10 hosts of 1 flow, 10 of 10", *middle, ones_and_tens)
    floods = udp(20, 2e7, name="floods", source_host="floods")
    yield Load("hosts of 4 flows, 4 and a flood, 20 floods", *middle, (three()[1], *flood(4e7), floods))
    greedy = each("floods", 2, lambda **fields: udp(20, 4e6, **fields))
    yield Load("2 hosts of 20 floods, 4 of 4 flows", *middle, (*greedy, *each("of4", 4, flows(4))))
    slow = (*three(most=20), udp(1, 2e6, name="flood", source_host="flood"))
    yield Load("1 Mb/s, hosts of 1, 4 and 20 flows, a flood", 1e6, 0.042, 100, slow, duration_s=200.0, warm_up_s=60.0)
    many = udp(200, 1e6, name="floods", source_host="floods")
    yield Load("100 Mb/s, a host of 200 floods, 10 of 2 flows", *fast, (many, *each("of2", 10, flows(2))), **short)
    greedy = each("floods", 10, lambda **fields: udp(20, 1e6, **fields))
    yield Load("100 Mb/s, 10 hosts of 20 floods, 10 of 4 flows", *fast, (*greedy, *each("of4", 10, flows(4))), **short)
    powers = sum((each(f"of{count}", 25, flows(count)) for count in (1, 2, 4, 8)), ())
    yield Load("100 Mb/s, 25 hosts each of 1, 2, 4 and 8 flows", *fast, powers, **short)
    greedy = each("floods", 16, lambda **fields: udp(5, 1e6, **fields))
    yield Load("100 Mb/s, 128 hosts of 4 flows, 16 of 5 floods", *fast, (*each("of4", 128, flows(4)), *greedy), **short)


def integers() -> Iterator[Load]:
    """Loads of the other sets, from 1 Mb/s to 1 Gb/s, for what fixed-point numbers change."""
    names = (
        "1 Mb/s, 32 Reno, UDP at 2x",
        "10 Mb/s, 280 NewReno",
        "10 Mb/s, 4 x 10 NewReno, 6 to 150 ms",
        "10 Mb/s, 32 NewReno, UDP on and off",
        "10 Mb/s, 32 SACK with ECN, UDP",
        "50 Mb/s, 10 CUBIC, 300 calls, UDP at 2x",
        "100 Mb/s, 100 CUBIC, UDP at 2x",
        "1 Gb/s, 4 CUBIC, UDP",
    )
    known = {load.name: load for load in (*development(), *crowds())}
    yield from (known[name] for name in names)


def _received(group: Group) -> Group:
    """Flows to a host in place of from one."""
    fields = {key.replace("source_host", "destination_host"): value for key, value in group.fields.items()}
    return Group(group.name, fields, group.count, group.offered_bps)


def _voice(count: int = 4) -> Group:
    """80 kb/s in packets of 200 bytes."""
    return udp(count, 8e4, name="voice", packet_size=200)


def _as_udp(group: Group) -> Group:
    """A group of an attack under a name that differs from TCP's."""
    name = group.name.replace("attack", "udp")
    seen_as = {key: str(value).replace("attack", "udp") for key, value in group.fields.items() if key == "seen_as"}
    return Group(name, group.fields | seen_as, group.count, group.offered_bps)


_PARTS = (("udp_part", "UDP, % of the link"), ("tcp_part", "TCP, % of the link"))
_SHARES = (("tcp", "TCP over its share"), ("udp", "UDP over its share"))
_WAITS = (("voice_p99_ms", "voice waits, ms"), ("tcp_p99_ms", "TCP waits, ms"))
TABLES = {
    "weights": Table(
        weights,
        tuple(f"{name}:{name}.weights={_BY_WEIGHT}" for name in ("collarw", "chokew", "fq", "class_choke")),
        (*((f"w{w}", f"TCP of weight {w}") for w in WEIGHTS), ("udp", "UDP"), ("jain_tcp", "Jain's index of TCP")),
    ),
    "sparse": Table(
        sparse,
        ("collar", "collar_sparse", "fq_codel"),
        (*_WAITS, *_SHARES, ("spurious", "sent again, %")),
    ),
    "riders": Table(riders, ("collar", "collar_sparse", "fq_codel"), (*_PARTS, *_WAITS)),
    "integers": Table(
        integers,
        ("collar", "collar_integer"),
        (*_SHARES, ("jain_tcp", "Jain's index of TCP"), ("tcp_p99_ms", "TCP waits, ms")),
    ),
    "hosts": Table(hosts, ("cake", "collar", "collar_hosts"), (), range(211, 216)),
}


def measure(task: Task) -> Row:
    """One run."""
    table, load, discipline, seed = task
    name, _, setting = discipline.partition(":")
    settings = [f"queue.discipline={name}", f"seed={seed}", *([f"queue.{setting}"] if setting else [])]
    result = fairdrop.Scenario(load.toml(), load.name, settings).run(1, threads=1)
    flows = result.flows.rows()
    waits = {row["group"]: 1e3 * row["sojourn_p99_s"] for row in result.link_groups.rows()}
    key = {"table": table, "load": load.name, "discipline": discipline, "seed": seed}
    if table == "hosts":
        return key | {"parts": parts_of(load, flows, max(waits.values()))}
    return key | judge(load, flows, table == "weights") | {
        "voice_p99_ms": waits.get("voice"), "tcp_p99_ms": waits.get("tcp"),
    }  # fmt: skip


def parts_of(load: Load, flows: Sequence[Row], wait_ms: float) -> str:
    """What a host of each kind has of the link, in per cent, and the longest wait: 99th percentile of a group, ms."""
    parts = dict.fromkeys(_kinds(load), 0.0)
    for row in flows:
        kind = str(row["group"]).partition(EACH)[0]
        parts[kind] += 100 * row["throughput_bps"] / load.rate_bps / _kinds(load)[kind]
    return " ".join(f"{kind}={part:.4g}" for kind, part in (parts | {"wait": wait_ms}).items())


def _kinds(load: Load) -> dict[str, int]:
    """Kinds of hosts, or of flows of one, and how many there are."""
    return dict(Counter(group.name.partition(EACH)[0] for group in load.groups))


def judge(load: Load, flows: Sequence[Row], weighted: bool) -> Row:
    """Throughput of kinds of flows over their max-min share and over the link; of short transfers the duration."""
    rates: dict[str, list[float]] = {group.name: [] for group in load.groups}
    for row in flows:
        rates[row["group"]].append(row["throughput_bps"])

    def weight(group: Group) -> float:
        return float(WEIGHTS[int(str(group.fields.get("class", 0)))]) if weighted else 1.0

    long = [group for group in load.groups if not group.short]
    left = load.rate_bps - sum(sum(rates[group.name]) for group in load.groups if group.short)
    each = [group for group in long for _ in range(group.count)]
    unit = fair_share(left, [group.offered_bps or load.rate_bps for group in each], [weight(group) for group in each])
    ratios = {group.name: [rate / (unit * weight(group)) for rate in rates[group.name]] for group in long}
    slow = [group.name for group in long if group.offered_bps is None]
    flood = [name for name in ratios if name.startswith("udp")]
    of_tcp = [row for row in flows if row["group"] in slow]
    again = sum(row["retransmissions"] - row["dropped"] for row in of_tcp)
    parts = {kind: 100 * sum(sum(rates[name]) for name in names) / load.rate_bps
             for kind, names in (("udp", flood), ("tcp", slow))}  # fmt: skip
    found = {name: mean(ratios[name]) for name in slow if name != "tcp"}
    return found | {
        "udp": mean(ratio for name in flood for ratio in ratios[name]) if flood else None,
        "tcp": mean(ratio for name in slow for ratio in ratios[name]),
        "jain_tcp": jain_index([ratio for name in slow for ratio in ratios[name]]),
        "udp_part": parts["udp"],
        "tcp_part": parts["tcp"],
        "spurious": 100 * again / sum(row["arrivals"] for row in of_tcp),
    }


def campaign(runs: Runs, processes: int) -> dict[Key, Row]:
    """Makes the runs that are missing; returns all."""
    tasks = [
        (name, load, discipline, seed)
        for name, table in TABLES.items()
        for load in table.loads()
        for discipline in table.disciplines
        for seed in table.seeds
    ]
    return made(runs, tasks, measure, processes)


def main() -> None:
    args = arguments(__doc__, "kin").parse_args()
    runs = Runs(DIGEST, args.store, KEYS, MEASURES)
    runs.keep(campaign(runs, args.processes))


if __name__ == "__main__":
    main()
