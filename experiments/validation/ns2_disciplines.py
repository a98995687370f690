#!/usr/bin/env python3
"""CHOKe, CHOKeW and WARD once more, as modules of ns-2, and fairdrop's: arrival by arrival.

    make ns2-disciplines                             # builds the modules, compares, stores what docs/ shows
    python -m experiments.validation.ns2_disciplines --quick # 20 s instead of 100 s; stores nothing

Both draw the same random numbers, from which a module makes its own decisions. Compared is what becomes of each packet
that comes to the congested queue: queued, or dropped and why, and which waiting packets leave because of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

import fairdrop
from experiments.digests import as_csv, read, store
from experiments.validation.beside_ns2 import SCRIPT, installed
from experiments.validation.ns2_modules.build import MODULE
from experiments.validation.packet_by_packet import (
    ACCESS_BPS,
    ACCESS_DELAY_S,
    AGENTS,
    ERAS,
    PACKET_BYTES,
    SAME_TIME_NS,
    TRANSPORTS,
)  # fmt: skip

TARGET = Path(__file__).with_name("ns2_arrivals.csv.xz")
LINK_BPS = 1_000_000
# UDP's packets take another time on the link than TCP's, and the gaps between them have no common measure with either.
UDP_BYTES = 997
DURATION_S, QUICK_S = 100, 20
SEEDS = (1, 2, 3)

SCENARIO = """
name = "peer"
duration = "{duration}s"
warm_up = "0s"
sample = "0s"
seed = {seed}

[dumbbell]
rate = "1mbit"
delay = "1ms"
access_rate = {access}

[queue]
discipline = "{discipline}"
limit = "{limit}p"
"""

TCP = """
[[groups]]
name = "flow{number}"
transport = "{transport}"
packet_size = "{size}B"
max_window = "300p"
era = "{era}"
start = "{start:.9f}s"
start_spread = "0s"
tick_phase = {tick:.9f}
class = {priority}
access_delay = "{delay:.9f}s"
"""

UDP = """
[[groups]]
name = "flow{number}"
transport = "cbr"
rate = "{rate}bit"
packet_size = "{size}B"
start = "{start}s"
start_spread = "0s"
access_delay = "{delay:.9f}s"
"""

Settings = dict[str, float]


class Discipline(NamedTuple):
    """A discipline under settings of ours, and the same in the words of its module."""

    name: str
    kind: str
    limit: int
    ours: str
    theirs: Settings


def choke(
    label: str, ours: str = "", red: str = "", thresholds: tuple[int, int] = (30, 60), **theirs: float
) -> Discipline:
    """CHOKe with RED's details as ns-2 has them."""
    low, high = thresholds
    text = (
        f'\n[queue.red]\nmin_th = "{low}p"\nmax_th = "{high}p"\nns2_compat = true\n'
        f'mean_packet_size = "{PACKET_BYTES}B"\n{red}\n[queue.choke]\n{ours}\n'
    )
    if "count_on_match" not in ours:
        text += "count_on_match = true\n"
    base = {"thresh_": low, "maxthresh_": high, "packets_per_s_": LINK_BPS / 8 / PACKET_BYTES, "count_matches_": 1}
    return Discipline(f"CHOKe, {label}", "CHOKe", 300, text, {**base, **theirs})


def chokew(label: str, limit: int, lengths: tuple[int, int, int], steps: tuple[float, float]) -> Discipline:
    """CHOKeW with these thresholds and steps, weights 1 and 2, and as many draws as the paper says."""
    (l_th, l_minus, l_plus), (p_plus, p_minus) = lengths, steps
    text = (
        f'\n[queue.chokew]\nl_th = "{l_th}p"\nl_minus = "{l_minus}p"\nl_plus = "{l_plus}p"\np_plus = {p_plus}\n'
        f"p_minus = {p_minus}\nweights = [1, 2]\nuncapped = true\n"
    )
    theirs = {"l_th_": l_th, "l_minus_": l_minus, "l_plus_": l_plus, "p_plus_": p_plus, "p_minus_": p_minus}
    return Discipline(f"CHOKeW, {label}", "CHOKeW", limit, text, theirs)


DISCIPLINES = (
    choke("one candidate"),
    choke("two candidates", "candidates = 2", candidates_=2),
    choke("four with replacement", "candidates = 4\nreplacement = true", candidates_=4, replacement_=1),
    choke("three regions", 'schedule = "odd"\nregions = 3', regions_=3),
    choke("matches not counted", "count_on_match = false", count_matches_=0),
    choke("wait and gentle", red="wait = true\ngentle = true\nmax_p = 0.02", wait_=1, gentle_=1, max_p_=0.02),
    # The queue empties while the average is above max_th, so that forced drops come before the packet that passes.
    choke("thresholds 5 and 15", thresholds=(5, 15)),
    chokew("as in the paper", 500, (100, 125, 175), (0.002, 0.001)),
    chokew("a short queue", 60, (20, 25, 35), (0.02, 0.01)),
    Discipline("WARD, 200 packets", "WARD", 200, "", {}),
    Discipline("WARD, 120 packets", "WARD", 120, "", {}),
    Discipline("WARD, 32 packets", "WARD", 32, "", {}),
)


class Load(NamedTuple):
    """TCP flows of one kind, and one UDP flow."""

    transport: str
    flows: int
    udp_bps: int

    @property
    def high(self) -> int:
        """How many flows, the first ones, have the higher priority; CHOKeW alone looks at it."""
        return self.flows // 2

    def __str__(self) -> str:
        return f"{self.flows} {self.transport}, UDP {self.udp_bps / 1e6:.3g} Mb/s"


LOADS = (Load("reno", 32, 1_970_003), Load("sack", 32, 509_989), Load("sack", 8, 3_930_007))
ERA = "ns2-1998"
OUTCOMES = ("queued", "match_arriving", "red_early", "red_forced", "overflow")
# Hosts that are moved at most, and by how much.
MOST_MOVED = 8
MOVES_NS = (20, 100)


class Arrival(NamedTuple):
    """A packet that came to the queue, what became of it, and which arrivals were dropped from the queue for it."""

    time_ns: int
    flow: int
    segment: int
    outcome: str
    discarded: tuple[int, ...]


class Drawn(NamedTuple):
    """What ns-2 drew at random for the senders."""

    starts_s: list[float]
    ticks: list[float]


def theirs(command: str, discipline: Discipline, load: Load, seed: int, duration_s: int) -> tuple[Drawn, list[Arrival]]:
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        settings = {**discipline.theirs, "seed_": seed}
        options = {
            "module": MODULE,
            "queue": discipline.kind,
            "settings": " ".join(f"{name} {value!r}" for name, value in settings.items()),
            "log": log.name,
            "tcp": TRANSPORTS[load.transport],
            "tcp_flows": load.flows,
            "udp_flows": 1,
            "udp_rate": load.udp_bps,
            "udp_packet_size": UDP_BYTES,
            "high": load.high,
            "limit": discipline.limit,
            "packet_size": PACKET_BYTES,
            "access_rate": ACCESS_BPS,
            "access_delay": ACCESS_DELAY_S,
            "duration": duration_s,
            "warm_up": 0,
            "measure": 2,
            "scheduler": "List",
            "seed": seed,
            **ERAS[ERA],
        }
        words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        done = subprocess.run([command, str(SCRIPT), *words], capture_output=True, text=True, check=True, timeout=600)
        report: dict[str, Any] = json.loads(done.stdout)
        if report["access_drops"] != 0:
            raise RuntimeError(f"ns-2 lost {report['access_drops']} packets on access links")
        arrivals = [arrival_of(line) for line in Path(log.name).read_text(encoding="utf-8").splitlines()]
        return Drawn(report["starts_s"], report["ticks"]), arrivals


def arrival_of(line: str) -> Arrival:
    """A line of a module's log: seconds, flow, segment, outcome, arrivals that were dropped from the queue."""
    time, flow, segment, outcome, *discarded = line.split()
    places = tuple(sorted(int(place) for place in discarded))
    return Arrival(round(float(time) * 1e9), int(flow), int(segment), outcome, places)


class Setup(NamedTuple):
    """A run here, with the random numbers of ns-2's senders, UDP's first packet at that time, and hosts moved."""

    discipline: Discipline
    load: Load
    seed: int
    duration_s: int
    drawn: Drawn
    first_udp_ns: int
    # By flow, how much nearer its hosts are, ns.
    nearer_ns: dict[int, int]

    def arrivals(self) -> list[Arrival]:
        """What comes to the congested queue."""
        kind, load = self.discipline.kind.lower(), self.load
        head = SCENARIO.format(
            seed=self.seed, access=ACCESS_BPS, discipline=kind, limit=self.discipline.limit, duration="{}"
        )
        head += self.discipline.ours
        *starts_s, udp_s = self.drawn.starts_s
        # A constant rate has a random phase here, which a run of that flow alone shows: it is always the first one.
        number = len(self.drawn.starts_s)
        udp = UDP.format(
            number=number, rate=load.udp_bps, size=UDP_BYTES, delay=self.delay_s(number), start="{}"
        )  # fmt: skip
        alone = traced(head.format(2) + udp.format(f"{udp_s:.9f}"))
        udp_s += (self.first_udp_ns - alone[0].time_ns) * 1e-9
        text = head.format(self.duration_s) + udp.format(f"{udp_s:.9f}")
        for number, (start, tick) in enumerate(zip(starts_s, self.drawn.ticks, strict=True), 1):
            text += TCP.format(
                number=number, transport=load.transport, size=PACKET_BYTES, era=ERA, start=start, tick=tick,
                priority=int(number <= load.high), delay=self.delay_s(number),
            ) + AGENTS.get(load.transport, "")  # fmt: skip
        return traced(text)

    def delay_s(self, flow: int) -> float:
        return ACCESS_DELAY_S - self.nearer_ns.get(flow, 0) * 1e-9


def traced(scenario: str) -> list[Arrival]:
    """Arrivals at the congested queue of a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        fairdrop.Scenario(scenario, "validation").run(trace=folder)
        (file,) = Path(folder).glob("*/*.parquet")
        columns = ["time_ns", "event", "cause", "flow", "seq", "packet"]
        return arrivals_of(pq.read_table(file, columns=columns).to_pylist())


def arrivals_of(events: list[dict[str, Any]]) -> list[Arrival]:
    """Arrivals of a trace; packets that leave the queue for an arrival stand between it and what becomes of it."""
    found: list[Arrival] = []
    places: dict[int, int] = {}
    discarded: list[int] = []
    for event in events:
        if event["event"] == "arrive":
            places[event["packet"]] = len(found)
            flow = int(event["flow"].removeprefix("flow").partition("[")[0])
            found.append(Arrival(event["time_ns"], flow, event["seq"], "", ()))
            discarded = []
        elif event["event"] == "drop" and places[event["packet"]] != len(found) - 1:
            discarded.append(places[event["packet"]])
        elif event["event"] in ("drop", "enqueue"):
            outcome = event["cause"] if event["event"] == "drop" else "queued"
            found[-1] = found[-1]._replace(outcome=outcome, discarded=tuple(sorted(discarded)))
    return found


def same(mine: Arrival, peers: Arrival) -> bool:
    return mine[1:] == peers[1:] and abs(mine.time_ns - peers.time_ns) < SAME_TIME_NS


def common(mine: list[Arrival], peers: list[Arrival]) -> int:
    """How many arrivals are the same from the beginning."""
    for index, (own, other) in enumerate(zip(mine, peers, strict=False)):
        if not same(own, other):
            return index
    return min(len(mine), len(peers))


def decided_as_ns2(setup: Setup, mine: list[Arrival], peers: list[Arrival]) -> tuple[list[int], list[Arrival]]:
    """Flows whose hosts are moved by some nanoseconds for ns-2's order of all arrivals, and the comparison after that.

    Only where two flows' packets come in another order, within the resolution of the clocks, is anything moved.
    """
    moved: list[int] = []
    while (place := common(mine, peers)) < min(len(mine), len(peers)) and len(moved) < MOST_MOVED:
        own, other = mine[place], peers[place]
        if own.flow == other.flow or abs(own.time_ns - other.time_ns) > SAME_TIME_NS:
            break
        tries = []
        for flow, sign in ((own.flow, -1), (other.flow, 1)):
            for distance_ns in MOVES_NS:
                nearer = {**setup.nearer_ns, flow: setup.nearer_ns.get(flow, 0) + sign * distance_ns}
                changed = setup._replace(nearer_ns=nearer)
                found = changed.arrivals()
                tries.append((common(found, peers), flow, changed, found))
        best, flow, setup, mine = max(tries, key=lambda one: one[0])
        if best <= place:
            break
        moved.append(flow)
    return moved, mine


def row(setup: Setup, mine: list[Arrival], peers: list[Arrival]) -> dict[str, Any]:
    """A run in the digest: how many arrivals came and are the same from the beginning, and what became of them."""
    counts = {outcome: sum(arrival.outcome == outcome for arrival in peers) for outcome in OUTCOMES}
    moved, decided = decided_as_ns2(setup, mine, peers)
    return {
        "discipline": setup.discipline.name, "load": str(setup.load), "seed": setup.seed, "arrivals": len(peers),
        "same": agreeing(mine, peers), "moved": " ".join(map(str, moved)), "same_moved": agreeing(decided, peers),
        **counts, "discarded": sum(len(arrival.discarded) for arrival in peers),
    }  # fmt: skip


def agreeing(mine: list[Arrival], peers: list[Arrival]) -> int:
    """How many arrivals are the same from the beginning; one less than all where one side has more."""
    same_ones = common(mine, peers)
    return same_ones if len(mine) == len(peers) else min(same_ones, len(peers) - 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"one seed and {QUICK_S} s; nothing is stored")
    parser.add_argument("--only", metavar="NAME", help="one discipline of the table; the other rows stay as stored")
    args = parser.parse_args()
    quick = args.quick
    if args.only and args.only not in (discipline.name for discipline in DISCIPLINES):
        parser.error(f"--only {args.only!r}: valid: {', '.join(discipline.name for discipline in DISCIPLINES)}")
    command = installed()
    if command is None or not MODULE.exists():
        parser.error("needs ns-2 (Debian's package ns2) and `make ns2-modules`")
    duration_s = QUICK_S if quick else DURATION_S
    rows: list[dict[str, Any]] = []
    for discipline in DISCIPLINES:
        if args.only not in (None, discipline.name):
            rows += [one for one in read(TARGET) if one["discipline"] == discipline.name and not quick]
            continue
        for load in LOADS:
            for seed in SEEDS[:1] if quick else SEEDS:
                drawn, peers = theirs(command, discipline, load, seed, duration_s)
                first_ns = next(arrival.time_ns for arrival in peers if arrival.flow == load.flows + 1)
                setup = Setup(discipline, load, seed, duration_s, drawn, first_ns, {})
                rows.append(row(setup, setup.arrivals(), peers))
                print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), file=sys.stderr)
    if not quick:
        store(TARGET, as_csv(rows))
    return 1 if any(int(one["same_moved"]) < int(one["arrivals"]) for one in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
