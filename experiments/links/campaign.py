"""Runs that the sets of experiments/shares do not have.

Links of 10 Gb/s; how long a slow link takes to settle; TCP Prague over one queue; utilisation where round trips are
long; the delay of L4S packets beside a sender that builds their queue. Each finished run is a line of a file, written
as soon as it ends; what is in that file or in links.csv.xz is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fairdrop
from experiments.digests import Row, Runs, arguments
from experiments.shares.campaign import Key, Task, judge, made
from experiments.shares.loads import Load, tcp, udp

DIGEST = Path(__file__).with_name("links.csv.xz")
KEYS = ("table", "load", "discipline", "seed")
MEASURES = (
    "greedy", "tcp", "jain_tcp", "wait_mean_ms", "utilisation", "first_bps", "second_bps", "first_wait_ms",
    "second_wait_ms", "first_p99_ms", "first_p999_ms",
)  # fmt: skip
#: With DOCSIS queue protection.
PROTECTED = "dualpi2:dualpi2.protection=true"
#: Windows of settling, and the length of each. A fair share of 101 flows is 1.2 packets/s at 1 Mb/s.
WINDOW_S, WINDOWS = 2.5, 16


@dataclass(frozen=True)
class Table:
    """What is run."""

    loads: Callable[[], Iterator[Load]]
    disciplines: tuple[str, ...]
    seeds: int


def fast() -> Iterator[Load]:
    """1 Gb/s once it has settled; 10 Gb/s with few flows, near and far, and with many. A buffer of one product."""
    for rate, count, rtt_s, size, duration_s, warm_up_s in (
        (1e9, 4, 0.04, 1000, 60.0, 30.0),
        (1e10, 4, 0.005, 1500, 20.0, 10.0),
        (1e10, 4, 0.04, 9000, 60.0, 30.0),
        (1e10, 100, 0.02, 9000, 20.0, 10.0),
    ):
        groups = (tcp(count, "cubic", max_window=100_000), udp(1, rate))
        name = f"{rate / 1e9:g} Gb/s, {count} CUBIC, UDP, {1e3 * rtt_s:g} ms, {size} B"
        yield Load(name, rate, rtt_s, int(rate * rtt_s / (8 * size)), groups, size, duration_s, warm_up_s)


def settling() -> Iterator[Load]:
    """1 Mb/s with 100 NewReno flows and UDP, window by window: from the beginning, and with UDP a minute later."""
    for start in (0.0, 60.0):
        groups = (tcp(100), udp(1, 1e6, start=start) if start else udp(1, 1e6))
        for window in range(WINDOWS):
            begin = start + WINDOW_S * window
            times = {"duration_s": begin + WINDOW_S, "warm_up_s": begin}
            yield Load(window_name(start, window), 1e6, 0.042, 300, groups, **times)


def window_name(start: float, window: int) -> str:
    return f"UDP from {start:.0f} s on, window {window}"


def l4s() -> Iterator[Load]:
    """TCP Prague beside others on 20 Mb/s, about 11 ms without queues: the path of transports.md."""
    linux = {"era": "linux", "max_window": 10_000}
    one, four = tcp(1, "prague", "l4s", max_window=10_000), tcp(4, "prague", "l4s", max_window=10_000)
    for name, groups in (
        ("Prague", (one,)),
        ("Prague, CUBIC", (one, tcp(1, "cubic", "other", **linux))),
        ("Prague, CUBIC with ECN", (one, tcp(1, "cubic", "other", ecn=True, **linux))),
        ("4 Prague, 4 CUBIC", (four, tcp(4, "cubic", "other", **linux))),
        ("Prague, 9 CUBIC", (one, tcp(9, "cubic", "other", **linux))),
        ("Prague, DCTCP", (one, tcp(1, "dctcp", "other", max_window=10_000))),
    ):
        yield Load(name, 2e7, 0.011, 1000, groups, 1500, 40.0, 15.0)


def trips() -> Iterator[Load]:
    """TCP with SACK alone, the loops of the table of phase margins."""
    for rate, flows, rtt_ms in (
        (2e7, 20, 50), (2e7, 60, 100), (2e7, 20, 100), (1e8, 20, 50), (1e8, 20, 100), (2e7, 60, 200), (2e7, 10, 200),
        (2e7, 5, 200),
    ):  # fmt: skip
        name = f"{rate / 1e6:g} Mb/s, {flows} flows, {rtt_ms} ms"
        yield Load(name, rate, rtt_ms / 1e3, 2000, (tcp(flows, "sack"),), duration_s=120.0, warm_up_s=20.0)


def builders() -> Iterator[Load]:
    """Voice on that path in L4S packets, beside an unresponsive sender of L4S packets, TCP Prague and CUBIC."""
    voice = udp(1, 1e5, name="voice", packet_size=200, l4s=True)
    prague, cubic = tcp(1, "prague", "l4s", max_window=10_000), tcp(1, "cubic", "other", era="linux", max_window=10_000)
    for rate_bps in (2e6, 8e6, 1.6e7, 4e7):
        flood = udp(1, rate_bps, l4s=True)
        yield Load(f"{rate_bps / 1e6:g} Mb/s", 2e7, 0.011, 1000, (voice, flood, prague, cubic), 1500, 40.0, 15.0)


def measure(task: Task) -> Row:
    """One run."""
    table, load, discipline, seed = task
    name, _, setting = discipline.partition(":")
    changes = [f"queue.discipline={name}", f"seed={seed}", *([f"queue.{setting}"] if setting else [])]
    scenario = fairdrop.Scenario(load.toml(), load.name, changes)
    run = scenario.run(1, threads=1).document["runs"][0]
    queue = run["queues"][0]
    judged = judge(load, run["flows"], queue["sojourn_s"]["p99"], run["utilisation"])
    row: Row = {"table": table, "load": load.name, "discipline": discipline, "seed": seed}
    row |= {name: judged[name] for name in ("greedy", "tcp", "jain_tcp", "utilisation")}
    row["wait_mean_ms"] = 1e3 * queue["sojourn_s"]["mean"]
    for place, group, waits in zip(("first", "second"), run["groups"], queue["groups"], strict=False):
        row |= {f"{place}_bps": group["throughput_bps"] / group["flows"]}
        row |= {f"{place}_wait_ms": 1e3 * waits["sojourn_s"]["mean"]}
    first = queue["groups"][0]["sojourn_s"]
    row |= {"first_p99_ms": 1e3 * first["p99"], "first_p999_ms": 1e3 * first["p999"]}
    return row


TABLES = {
    "l4s": Table(l4s, ("collar", "dualpi2"), 5),
    "builders": Table(builders, ("dualpi2", PROTECTED), 5),
    "trips": Table(trips, ("collar", "dualpi2", "fq_codel"), 5),
    "settling": Table(settling, ("collar", "fq_codel"), 20),
    "fast": Table(fast, ("collar", "fq_codel"), 5),
}


def campaign(runs: Runs, processes: int, only: str = "") -> dict[Key, Row]:
    """Makes the runs that are missing; returns all."""
    tasks = [
        (name, load, discipline, seed)
        for name, table in TABLES.items()
        for seed in range(1, table.seeds + 1)
        for load in table.loads()
        for discipline in table.disciplines
        if only in name
    ]
    return made(runs, tasks, measure, processes)


def main() -> None:
    parser = arguments(__doc__, "links")
    parser.add_argument("--only", default="", help="tables whose names hold this")
    args = parser.parse_args()
    runs = Runs(DIGEST, args.store, KEYS, MEASURES)
    runs.keep(campaign(runs, args.processes, args.only))


if __name__ == "__main__":
    main()
