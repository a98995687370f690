#!/usr/bin/env python3
"""The same dumbbell in ns-2 and here, packet by packet: which packet comes to the congested queue when, and is it lost?

make validate                                    # with the other comparisons
python -m experiments.validation.packet_by_packet --record tests/ns2  # what ns-2 sent, for tests that run without it
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

import fairdrop
from experiments.digests import as_csv, store, text_of
from experiments.validation.beside_ns2 import SCRIPT, installed
from experiments.validation.checks import Check, Section

TRANSPORTS = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "Newreno", "sack": "Sack1", "vegas": "Vegas"}
# Each era as settings of today's ns-2.
ERAS: dict[str, dict[str, float]] = {
    "ns2-1998": {"timerfix": 0},
    "ns2-2005": {"initial_window": 2, "tick": 0.01, "initial_rto": 3, "rfc2988": 1, "singledup": 1, "syn": 1},
    "ns2-2.35": {
        "initial_window": 2, "tick": 0.01, "initial_rto": 3, "max_rto": 60, "rfc2988": 1, "singledup": 1, "syn": 1,
        "precision": 1,
    },
}  # fmt: skip
# ns-2 writes times in microseconds; the two clocks round differently.
SAME_TIME_NS = 2_000
# 8.104 ms on the link, and 0.8354... on those of the hosts: timers, in tenths of a second, and packets do not meet in
# the same nanosecond.
PACKET_BYTES = 1013
ACCESS_BPS = 9_700_000
ACCESS_DELAY_S = 0.001

SCENARIO = """
name = "peer"
duration = "{duration}s"
warm_up = "0s"
sample = "0s"

[dumbbell]
rate = "1mbit"
delay = "1ms"
access_rate = {access}

[queue]
discipline = "{queue}"
limit = "{limit}p"
"""

GROUP = """
[[groups]]
name = "tcp{number}"
transport = "{transport}"
packet_size = "{size}B"
max_window = "300p"
era = "{era}"
start = "{start:.9f}s"
start_spread = "0s"
tick_phase = {tick:.9f}
access_delay = "{delay:.9f}s"
"""

# In the earlier eras these are not as ns-2 has them unless asked.
AGENTS = {"sack": "ns2_sack1 = true\n", "vegas": "ns2_vegas = true\n"}

# Without early drops, for which the two draw different random numbers.
RED = """
[queue.red]
min_th = "{min_th}p"
max_th = "{max_th}p"
max_p = 0
ns2_compat = true
mean_packet_size = "{size}B"
"""


class Sender(NamedTuple):
    """A TCP, and the era of ns-2 whose defaults it has."""

    transport: str
    era: str = "ns2-1998"

    @property
    def counts_syn(self) -> bool:
        """Whether segment 0 is the SYN. (ns-2's Vegas knows none: what it sends first is data.)"""
        return bool(ERAS[self.era].get("syn")) and self.transport != "vegas"

    @property
    def size_step(self) -> int:
        """How much larger packets are from flow to flow, bytes.

        Vegas rounds what it has in queues. Where all packets take the same time, round trips are whole numbers of
        them, and what is to be rounded often is a whole number and a half: there ns-2 lets the rounding of its clock
        decide.
        """
        return 1 if self.transport == "vegas" else 0

    def __str__(self) -> str:
        return f"{self.transport} of {self.era}"


class Load(NamedTuple):
    """TCP flows, the buffer in packets, and RED's thresholds, where the queue is no DropTail."""

    flows: int
    limit: int
    thresholds: tuple[int, int] | None = None

    @property
    def queue(self) -> str:
        return "red" if self.thresholds else "droptail"

    def __str__(self) -> str:
        queue = f"DropTail {self.limit}"
        if self.thresholds:
            queue = f"RED {self.thresholds[0]}/{self.thresholds[1]}"
        return f"{self.flows} flows, {queue}"


class Tie(NamedTuple):
    """A run that differs because of two events at one instant: whose packet it is, and how many are the same before."""

    flow: int
    packets: int
    at_s: float


# With short and long queues, and with time-outs in long rows.
LOADS = (Load(8, 300), Load(8, 30), Load(32, 300), Load(8, 300, (5, 15)), Load(32, 300, (30, 60)))
# What is recorded, for 15 s: each transport and each era over DropTail, and one over RED.
RECORDED = {
    "tahoe": (Sender("tahoe"), Load(8, 30)),
    "reno": (Sender("reno"), Load(8, 30)),
    "newreno": (Sender("newreno"), Load(8, 30)),
    "sack": (Sender("sack"), Load(8, 30)),
    "vegas": (Sender("vegas"), Load(8, 30)),
    "reno-red": (Sender("reno"), Load(8, 300, (5, 15))),
    "reno-2005": (Sender("reno", "ns2-2005"), Load(8, 30)),
    "newreno-2.35": (Sender("newreno", "ns2-2.35"), Load(8, 30)),
    "sack-2.35": (Sender("sack", "ns2-2.35"), Load(8, 30)),
    "vegas-2.35": (Sender("vegas", "ns2-2.35"), Load(8, 30)),
}
RECORDED_S = 15
# Two timers of the same length, begun whole packets apart: what the second sends again comes in the nanosecond in
# which a packet leaves that followed the first. ns-2 decides by the rounding of its clock; here the packet leaves
# first. With the host of this flow a nanosecond nearer the other one comes first, as in ns-2.
TIES = {(Sender("reno"), Load(8, 300, (5, 15)), 1): Tie(flow=8, packets=4402, at_s=35)}


class Arrival(NamedTuple):
    """A packet that came to the queue."""

    time_ns: int
    flow: int
    segment: int
    lost: bool


class Drawn(NamedTuple):
    """What ns-2 drew at random: when each flow starts, and how old the tick of its clock is at time 0."""

    starts_s: list[float]
    ticks: list[float]


def theirs(command: str, sender: Sender, load: Load, duration_s: int, seed: int) -> tuple[Drawn, list[Arrival]]:
    min_th, max_th = load.thresholds or (0, 0)
    with tempfile.NamedTemporaryFile(suffix=".tr") as trace:
        options = {
            "queue": load.queue,
            "tcp": TRANSPORTS[sender.transport],
            "tcp_flows": load.flows,
            "udp_flows": 0,
            "limit": load.limit,
            "min_th": min_th,
            "max_th": max_th,
            "max_p": 0,
            "use_mark_p": 0,
            "packet_size": PACKET_BYTES,
            "access_rate": ACCESS_BPS,
            "duration": duration_s,
            "warm_up": 0,
            "measure": 2,
            "scheduler": "List",
            "seed": seed,
            "trace": trace.name,
            "size_step": sender.size_step,
            **ERAS[sender.era],
        }
        words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        done = subprocess.run([command, str(SCRIPT), *words], capture_output=True, text=True, check=True, timeout=600)
        report: dict[str, Any] = json.loads(done.stdout)
        return Drawn(report["starts_s"], report["ticks"]), arrivals_of_ns2(Path(trace.name))


def arrivals_of_ns2(trace: Path) -> list[Arrival]:
    """Lines of ns-2's trace: event, time, two nodes, kind, bytes, flags, flow, two ends, segment, packet."""
    found: list[Arrival] = []
    for line in trace.read_text(encoding="utf-8").splitlines():
        event, time, *_, flow, _, _, segment, _ = line.split()
        if event in "+d":
            arrival = Arrival(round(float(time) * 1e9), int(flow), int(segment), event == "d")
            # A packet that is refused is written twice: it comes, and it is dropped.
            if arrival.lost and found and found[-1] == arrival._replace(lost=False):
                found.pop()
            found.append(arrival)
    return found


def ours(sender: Sender, load: Load, duration_s: int, drawn: Drawn, nearer: int | None = None) -> list[Arrival]:
    """What is sent here; ``nearer`` is a flow whose host is a nanosecond nearer than the others."""
    text = SCENARIO.format(duration=duration_s, queue=load.queue, limit=load.limit, access=ACCESS_BPS)
    if load.thresholds:
        min_th, max_th = load.thresholds
        text += RED.format(min_th=min_th, max_th=max_th, size=PACKET_BYTES)
    for number, (start, tick) in enumerate(zip(*drawn, strict=True), 1):
        size = PACKET_BYTES + number * sender.size_step
        delay = ACCESS_DELAY_S - (1e-9 if number == nearer else 0)
        values = {"transport": sender.transport, "era": sender.era, "size": size, "delay": delay}
        text += GROUP.format(number=number, start=start, tick=tick, **values) + AGENTS.get(sender.transport, "")
    with tempfile.TemporaryDirectory() as folder:
        fairdrop.Scenario(text, "validation").run(trace=folder)
        (file,) = Path(folder).glob("*/*.parquet")
        events = pq.read_table(file, columns=["time_ns", "event", "flow", "seq", "kind"]).to_pylist()
    found: list[Arrival] = []
    for event in events:
        if event["event"] == "arrive":
            flow = int(event["flow"].removeprefix("tcp").partition("[")[0])
            segment = 0 if event["kind"] == "syn" else event["seq"] + sender.counts_syn
            found.append(Arrival(event["time_ns"], flow, segment, lost=False))
        elif event["event"] == "drop":
            found[-1] = found[-1]._replace(lost=True)
    return found


def same(mine: Arrival, peers: Arrival) -> bool:
    return mine[1:] == peers[1:] and abs(mine.time_ns - peers.time_ns) < SAME_TIME_NS


def common(mine: list[Arrival], peers: list[Arrival]) -> int:
    """How many packets are the same from the beginning."""
    for index, (own, other) in enumerate(zip(mine, peers, strict=False)):
        if not same(own, other):
            return index
    return min(len(mine), len(peers))


def compare(name: str, mine: list[Arrival], peers: list[Arrival]) -> Check:
    agreeing = common(mine, peers)
    holds = agreeing == len(mine) == len(peers)
    lost = sum(arrival.lost for arrival in peers)
    if holds:
        why = f"all the same, {lost:,} lost"
    else:
        here = mine[agreeing] if agreeing < len(mine) else None
        there = peers[agreeing] if agreeing < len(peers) else None
        why = f"then {here} here and {there} there"
    return Check(name, f"{len(peers):,} packets", f"the first {agreeing:,}", holds, why)


def compare_run(sender: Sender, load: Load, seed: int, duration_s: int, drawn: Drawn, peers: list[Arrival]) -> Check:
    """A run, and where it is known to differ, whether it still does so and because of the tie alone."""
    name = f"{sender}, {load}, seed {seed}"
    mine = ours(sender, load, duration_s, drawn)
    check = compare(name, mine, peers)
    tie = TIES.get((sender, load, seed))
    if tie is None or duration_s < tie.at_s:
        return check
    known = not check.holds and common(mine, peers) == tie.packets
    decided = compare(name, ours(sender, load, duration_s, drawn, tie.flow), peers)
    measured = f"{check.measured}; with the host of flow {tie.flow} a nanosecond nearer {decided.measured}"
    why = f"a packet comes in the nanosecond in which another leaves; decided as in ns-2: {decided.why}"
    return Check(name, check.expected, measured, known and decided.holds, why)


def section(seeds: int, duration_s: int) -> Section | None:
    """None when ns-2 is not installed."""
    command = installed()
    if command is None:
        return None
    checks: list[Check] = []
    cases = itertools.product(TRANSPORTS, ERAS, LOADS, range(1, seeds + 1))
    for transport, era, load, seed in cases:
        sender = Sender(transport, era)
        drawn, peers = theirs(command, sender, load, duration_s, seed)
        checks.append(compare_run(sender, load, seed, duration_s, drawn, peers))
    text = (
        f"{duration_s} s at 1 Mb/s in Debian's ns-2 and here, with DropTail, and with RED that drops nothing early and "
        "everything from max_th on. Each flow begins at the time that ns-2 drew, and its clock has the phase that "
        "ns-2 drew; nothing else is random. Compared are all packets that come to the congested queue: whose, which "
        "segment, when (to 2 µs; ns-2 writes microseconds), and whether the queue refuses it. Packets of 1,013 "
        "bytes (with Vegas one more from flow to flow), and hosts' links of 9.7 Mb/s, keep packets and timers from "
        "meeting in the same nanosecond, where "
        "ns-2 lets the rounding of its clock decide. Where two meet all the same, the run is known to differ from "
        "there on (TIES in experiments/validation/packet_by_packet.py), and is compared again with the host of that "
        "flow a nanosecond nearer, which decides as ns-2 does: then all has to be the same."
    )
    return Section("Packet by packet beside ns-2", text, checks, [])


def write_recording(file: Path, drawn: Drawn, arrivals: list[Arrival]) -> None:
    """A line with the random numbers, then a row for each packet that came."""
    rows = [
        {"time_us": time_ns // 1000, "flow": flow, "segment": segment, "lost": int(lost)}
        for time_ns, flow, segment, lost in arrivals
    ]
    store(file, f"# {json.dumps(drawn._asdict())}\n{as_csv(rows)}")


def read_recording(file: Path) -> tuple[Drawn, list[Arrival]]:
    head, *lines = text_of(file).splitlines()
    rows = csv.DictReader(lines)
    arrivals = [
        Arrival(int(row["time_us"]) * 1000, int(row["flow"]), int(row["segment"]), row["lost"] == "1") for row in rows
    ]
    return Drawn(**json.loads(head.removeprefix("# "))), arrivals


def main() -> None:
    parser = argparse.ArgumentParser(description="Record what ns-2 sends.")
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    folder: Path = parser.parse_args().record
    command = installed()
    if command is None:
        parser.error("ns-2 is not installed (Debian's package ns2)")
    folder.mkdir(parents=True, exist_ok=True)
    for name, (sender, load) in RECORDED.items():
        write_recording(folder / f"{name}.csv.xz", *theirs(command, sender, load, RECORDED_S, seed=1))


if __name__ == "__main__":
    main()
