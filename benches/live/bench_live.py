#!/usr/bin/env python3
"""Measure fairdropd: CPU per packet beside bare forwarders, rate and delay beside other emulators.

Everything happens in a network namespace that the program makes for itself. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import itertools
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import analysis
import numpy as np
import peers
from place import (
    EXAMPLES,
    FAIRDROPD,
    PROBE,
    BenchError,
    Program,
    enter,
    probe,
    quiet,
    received,
    running,
    say,
    sh,
    veth,
)

HERE = Path(__file__).resolve().parent
PARTS = ("cpu", "rate", "delay", "peers")
PORTS = ("tun", "packet", "packet, blocks", "xdp")
SENDER_CPU, FORWARDER_CPU = 0, 1
SIZES = (64, 576, 1500)
ETHERNET = 14
MTU = 1500
# Offered: as fast as the sender can, and so that the forwarder sleeps between packets.
LOADS = {"flood": 0, "paced": 50_000}
FLOWS = 16
RATES_BPS = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
WINDOWS_S = (1.0, 0.1)
OFFERED = 1.33
# Packets that may wait where a rate is measured: at 1 Gb/s the sender may pause for 12 ms.
RATE_LIMIT = 1000
DELAY_S = 0.010
DELAY_RATE_BPS = 100_000_000
SPIN = "100us"

Row = dict[str, object]


@dataclass(frozen=True)
class Port:
    """A kind of port: its bare forwarder, and fairdropd over it."""

    name: str
    bare: tuple[str, ...]
    own: tuple[str, ...]
    ethernet: bool = True
    # Its sockets have timers of the kernel that run while nothing comes, in the time of whoever has the processor then:
    # nobody else may be there.
    by_itself: bool = False
    # What the bare forwarder says when it is ready, and fairdropd over TUN devices.
    ready: str = "are connected"

    @property
    def overhead(self) -> int:
        """Bytes of a frame beyond the IP packet, which the link counts."""
        return ETHERNET if self.ethernet else 0


def ports(args: argparse.Namespace) -> list[Port]:
    """Those that are measured, of those that were built."""
    known = [
        Port("tun", ("bare", "tun"), ("tun",), ethernet=False),
        Port("packet", ("bare", "frames"), ("bridge",)),
        Port("packet, blocks", ("bare", "blocks"), ("bridge", "--blocks"), by_itself=True),
    ]
    if (EXAMPLES / "bare_xdp").exists():
        known.append(Port("xdp", ("bare_xdp",), ("bridge", "--port", "xdp"), ready="forwarding"))
    return [port for port in known if port.name in args.ports]


PROGRAMS: dict[str, tuple[str, ...] | None] = {
    "bare": None,
    "droptail": ("--queue", "droptail"),
    "droptail, 10 Gb/s": ("--queue", "droptail", "--up", "10gbit"),
    "droptail, 100 Gb/s": ("--queue", "droptail", "--up", "100gbit"),
    "choke": ("--queue", "choke"),
    "choke, 10 Gb/s": ("--queue", "choke", "--up", "10gbit"),
}


class Forwarder:
    """A forwarder with the interface at which packets are sent to it, and the one at which they come out."""

    def __init__(self, port: Port, number: int, options: Sequence[str] | None, state: Path) -> None:
        near, far = f"fba{number}", f"fbb{number}"
        if port.ethernet:
            self.enters, self.leaves = f"fbs{number}", f"fbr{number}"
            veth(near, self.enters)
            veth(far, self.leaves)
        else:
            self.enters, self.leaves = near, far
        if options is None:
            argv: list[str | Path] = [EXAMPLES / port.bare[0], *port.bare[1:], near, far]
        elif port.ethernet:
            argv = [FAIRDROPD, *port.own, near, far, "--state", state, *options]
        else:
            argv = [FAIRDROPD, *port.own, near, "--peer", far, *options]
        self.control = None if options is None else state / f"control{number}"
        if self.control is not None:
            argv += ["--control", self.control]
        ready = "are bridged" if options is not None and port.ethernet else port.ready
        self.program = Program(argv, ready, FORWARDER_CPU)
        if not port.ethernet:
            quiet(near)
            quiet(far)

    def read(self) -> int:
        """Packets that it has read, dropped ones included; of a bare one those that left."""
        if self.control is None:
            return received(self.leaves)
        shown = json.loads(sh(f"{FAIRDROPD} ctl --socket {self.control} --json show"))
        return int(shown["directions"]["up"]["arrived"]["packets"])

    def stop(self) -> None:
        if self.program.process.poll() is None:
            self.program.stop()
        for name in (self.enters, self.leaves):
            subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)


@contextlib.contextmanager
def forwarder(port: Port, number: int, name: str, state: Path) -> Iterator[Forwarder]:
    """A forwarder, until it is no longer needed."""
    path = Forwarder(port, number, PROGRAMS[name], state)
    try:
        yield path
    finally:
        path.stop()


def lend(path: Forwarder) -> contextlib.AbstractContextManager[Forwarder]:
    """One that stays."""
    return contextlib.nullcontext(path)


# What gives a forwarder for one turn.
Lent = Callable[[], contextlib.AbstractContextManager[Forwarder]]


def measure_cpu(args: argparse.Namespace, scratch: Path) -> list[Row]:
    """CPU time per packet of each program over each kind of port; programs take turns."""
    rows: list[Row] = []
    for port in ports(args):
        with contextlib.ExitStack() as all_of_them:
            paths: dict[str, Lent] = {}
            for number, name in enumerate(("bare", *args.programs)):
                start = partial(forwarder, port, number, name, scratch)
                if port.by_itself:
                    paths[name] = start
                else:
                    paths[name] = partial(lend, all_of_them.enter_context(start()))
            for load in args.loads:
                for size in args.sizes:
                    rows += measure_load(args, port, paths, load, LOADS[load], size)
    return rows


@dataclass(frozen=True)
class Turn:
    """What a forwarder took in one turn."""

    # Processor time per packet that came out, and per packet that it read.
    ns: float
    ns_read: float
    pps: float
    # The part of its processor that it had.
    share: float


def measure_turn(path: Forwarder, pps: int, size: int, seconds: float) -> Turn:
    """Sends through it for a while."""
    for _ in range(3):
        read = path.read()
        packets, cpu = received(path.leaves), path.program.cpu_ns()
        words = ["--size", size, "--seconds", seconds, "--flows", FLOWS]
        sent = probe("send", path.enters, *words, *(["--pps", pps] if pps else []), cpu=SENDER_CPU)
        # What is still in the forwarder's ring.
        time.sleep(0.02)
        packets, cpu = received(path.leaves) - packets, path.program.cpu_ns() - cpu
        # On a busy machine it may not have run at all.
        if packets > 0 and cpu > 0:
            read = max(path.read() - read, packets)
            return Turn(cpu / packets, cpu / read, packets / sent["seconds"], cpu / 1e9 / sent["seconds"])
    raise BenchError(f"{' '.join(path.program.argv)}: nothing passes")


def measure_load(
    args: argparse.Namespace, port: Port, paths: dict[str, Lent], load: str, pps: int, size: int
) -> list[Row]:
    """One offered load, each program in turn, a turn to warm up first."""
    found: dict[str, list[Turn]] = {name: [] for name in paths}
    for turn in range(args.runs + 1):
        for name, lent in paths.items():
            say(f"cpu: {port.name}, {load}, {size} B, {name}, {turn}/{args.runs}")
            with lent() as path:
                if turn == 0 or port.by_itself:
                    measure_turn(path, pps, size, 0.1)
                if turn:
                    found[name].append(measure_turn(path, pps, size, args.seconds))
    rows: list[Row] = []
    for name, runs in found.items():
        ns = [run.ns for run in runs]
        ratios = [mine.ns / bare.ns for mine, bare in zip(runs, found["bare"], strict=True)]
        of_read = [mine.ns_read / bare.ns for mine, bare in zip(runs, found["bare"], strict=True)]
        rows.append(
            {
                "port": port.name,
                "load": load,
                "bytes": size,
                "program": name,
                "runs": len(runs),
                "ns_per_packet": round(statistics.median(ns)),
                "ns_least": round(min(ns)),
                "ns_most": round(max(ns)),
                "ratio": round(statistics.median(ratios), 3),
                "ratio_least": round(min(ratios), 3),
                "ratio_most": round(max(ratios), 3),
                "ratio_read": round(statistics.median(of_read), 3),
                "kpps": round(statistics.median(run.pps for run in runs) / 1e3, 1),
                "gbit_per_s": round(statistics.median(run.pps for run in runs) * (size + port.overhead) * 8 / 1e9, 3),
                "cpu_share": round(statistics.median(run.share for run in runs), 2),
            }
        )
    return rows


def watched(interface: str, scratch: Path, send: Callable[[], dict[str, float]]) -> tuple[analysis.Packets, float]:
    """What came in at an interface while `send` ran, and the packets that it sent in a second."""
    file = scratch / "packets"
    with running([PROBE, "receive", interface, "--file", file], "receives", SENDER_CPU) as receiver:
        sent = send()
        time.sleep(0.1)
        receiver.stop()
    packets = analysis.read(file)
    file.unlink()
    return packets, (sent["packets"] + sent["refused"]) / sent["seconds"]


@contextlib.contextmanager
def pauses_of(program: Program, scratch: Path) -> Iterator[Path]:
    """Notes when a program could not run, from beside it: with the priority of real time where that is allowed."""
    file = scratch / "pauses"
    first = ["chrt", "--fifo", "1"]
    allowed = subprocess.run([*first, "true"], capture_output=True, check=False).returncode == 0
    argv = [*(first if allowed else []), str(PROBE), "watch", str(program.process.pid), "--file", str(file)]
    with running(argv, "watches", FORWARDER_CPU):
        yield file


def rate_rows(
    program: str,
    port: str,
    rate_bps: int,
    seen: tuple[analysis.Packets, float],
    overhead: int,
    pauses: analysis.Packets | None = None,
) -> list[Row]:
    """How well a rate was held; with the pauses of the machine, also in the windows without any."""
    rows: list[Row] = []
    packets, sent_pps = seen
    for window_s in WINDOWS_S:
        found = analysis.rate_errors(packets, rate_bps, overhead, window_s, skip_s=0.5)
        if found.total == 0:
            raise BenchError(f"{program}, {port}, {rate_bps} bit/s: no packets for a window of {window_s} s")
        errors = np.abs(found.errors)
        quantiles = np.quantile(errors, [0.5, 0.99, 1.0]) if len(errors) else None
        p50, p99, most = ("", "", "") if quantiles is None else (round(float(error), 7) for error in quantiles)
        rows.append(
            {
                "program": program,
                "port": port,
                "rate_bps": rate_bps,
                "offered": round(sent_pps * (MTU + overhead) * 8 / rate_bps, 2),
                "window_s": window_s,
                "windows": found.total,
                "counted": len(errors),
                "error_p50": p50,
                "error_p99": p99,
                "error_max": most,
            }
        )
        if pauses is not None:
            paused = found.paused(pauses)
            undisturbed = errors[paused == 0]
            rows[-1]["undisturbed"] = len(undisturbed)
            rows[-1]["undisturbed_max"] = round(float(undisturbed.max()), 7) if len(undisturbed) else ""
            # A pause at one end of a window makes it longer by that, or shorter; over a TUN device each in it does.
            rows[-1]["beyond_max"] = round(float(np.maximum(errors - paused, 0.0).max()), 7) if len(errors) else ""
    return rows


def offer(to: str, rate_bps: int, seconds: float) -> dict[str, float]:
    """A third more than a rate of full packets."""
    pps = rate_bps / (MTU * 8) * OFFERED
    return probe("send", to, "--size", MTU, "--seconds", seconds, "--pps", pps, cpu=SENDER_CPU)


def measure_rate(args: argparse.Namespace, scratch: Path) -> list[Row]:
    """Each rate over each kind of port under more than it can carry."""
    rows: list[Row] = []
    for port in ports(args):
        # Blocks come a millisecond late, which spinning does not change.
        for spin in ((),) if port.name == "packet, blocks" else ((), ("--spin", SPIN)):
            for rate_bps in args.rates:
                program = "fairdropd, spinning" if spin else "fairdropd"
                say(f"rate: {port.name}, {program}, {rate_bps // 1_000_000} Mb/s")
                link = ("--up", str(rate_bps), "--queue", "droptail", "--set", f"limit={RATE_LIMIT}p", *spin)
                path = Forwarder(port, 0, link, scratch)
                try:
                    with pauses_of(path.program, scratch) as pauses:
                        seen = watched(path.leaves, scratch, partial(offer, path.enters, rate_bps, args.long))
                finally:
                    path.stop()
                paused = analysis.read_pauses(pauses)
                rows += rate_rows(program, port.name, rate_bps, seen, port.overhead, paused)
    return rows


class Delays(NamedTuple):
    """How late packets came in one turn, us."""

    packets: int
    p50: float
    p99: float
    most: float
    # How long a thread of the forwarder waited for a processor.
    runnable: float = math.nan


def delays(errors: analysis.Errors, runnable: float = math.nan) -> Delays:
    """Of one turn."""
    p50, p99 = np.quantile(errors, [0.5, 0.99])
    return Delays(len(errors), float(p50), float(p99), float(errors.max()), runnable)


def delay_row(program: str, port: str, load: str, turns: Sequence[Delays]) -> Row:
    """How late packets came: of the quantiles of each turn the median, and the range of the higher one."""
    p99 = [turn.p99 for turn in turns]
    runnable = statistics.median(turn.runnable for turn in turns)
    return {
        "program": program,
        "port": port,
        "load": load,
        "turns": len(turns),
        "packets": sum(turn.packets for turn in turns),
        "p50_us": round(statistics.median(turn.p50 for turn in turns), 1),
        "p99_us": round(statistics.median(p99), 1),
        "p99_least_us": round(min(p99), 1),
        "p99_most_us": round(max(p99), 1),
        "max_us": round(max(turn.most for turn in turns), 1),
        "runnable_us": "" if math.isnan(runnable) else round(runnable, 1),
    }


def run_delay_ns(program: Program) -> tuple[int, int]:
    """How long the threads of a program could have run and did not, and how often they ran (schedstat)."""
    tasks = Path(f"/proc/{program.process.pid}/task").iterdir()
    found = [(task / "schedstat").read_text().split() for task in tasks]
    return sum(int(words[1]) for words in found), sum(int(words[2]) for words in found)


DELAY_LOADS = {"idle": 200.0, "half": DELAY_RATE_BPS / 2 / ((MTU + ETHERNET) * 8)}


def delay_turn(port: Port, options: tuple[str, ...] | None, pps: float, seconds: float, scratch: Path) -> Delays:
    """How late packets came in one turn, against an exact link."""
    path = Forwarder(port, 0, options, scratch)
    words = ["--size", MTU, "--seconds", seconds, "--pps", pps, "--sleep"]
    try:
        before = run_delay_ns(path.program)
        packets, _ = watched(path.leaves, scratch, partial(probe, "send", path.enters, *words, cpu=SENDER_CPU))
        after = run_delay_ns(path.program)
    finally:
        path.stop()
    exact = (0.0, 0.0) if options is None else (float(DELAY_RATE_BPS), DELAY_S)
    errors = analysis.delay_errors_us(packets, exact[0], port.overhead, exact[1])
    return delays(errors, (after[0] - before[0]) / max(after[1] - before[1], 1) / 1e3)


def sleep_turn(spin_us: int, seconds: float) -> Delays:
    """How late a program woke that sleeps every millisecond and does nothing else."""
    found = probe("sleep", "--seconds", seconds, "--every", 1000, "--spin", spin_us, cpu=FORWARDER_CPU)
    return Delays(int(seconds * 1000), found["p50_us"], found["p99_us"], found["max_us"])


def measure_delay(args: argparse.Namespace, scratch: Path) -> list[Row]:
    """One-way delay over a link of 10 ms, idle and half loaded; the path alone; one that only sleeps: in turns."""
    link = ("--up", str(DELAY_RATE_BPS), "--delay", f"{DELAY_S * 1e3:g}ms")
    kinds: dict[str, tuple[str, ...] | None] = {
        "bare": None,
        "fairdropd": link,
        "fairdropd, spinning": (*link, "--spin", SPIN),
    }
    seconds = args.long / 2
    what: dict[tuple[str, str, str], Callable[[], Delays]] = {}
    for port in ports(args):
        # Blocks come a millisecond late by design.
        if port.name != "packet, blocks":
            for (name, options), (load, pps) in itertools.product(kinds.items(), DELAY_LOADS.items()):
                what[name, port.name, load] = partial(delay_turn, port, options, pps, seconds, scratch)
    what["sleep", "timer", "idle"] = partial(sleep_turn, 0, seconds)
    what["sleep, spinning", "timer", "idle"] = partial(sleep_turn, 100, seconds)
    found: dict[tuple[str, str, str], list[Delays]] = {key: [] for key in what}
    for turn in range(args.runs):
        for key, measure in what.items():
            say(f"delay: {', '.join(key)}, {turn + 1}/{args.runs}")
            found[key].append(measure())
    return [delay_row(*key, turns) for key, turns in found.items()]


# Above what any of them passes.
NO_LIMIT_BPS = 10_000_000_000


def measure_throughput(args: argparse.Namespace, here: list[peers.Peer]) -> list[Row]:
    """The part of a flood of full packets that passes over packet sockets, in turns, and its processor time."""
    rivals: list[peers.Peer] = [peers.Bridge(), *(peer for peer in here if isinstance(peer, peers.Rattan))]
    found: dict[str, list[tuple[float, float]]] = {rival.name: [] for rival in rivals}
    for turn in range(3):
        for rival in rivals:
            say(f"peers: {rival.name}, flood, {turn + 1}/3")
            with rival.link(NO_LIMIT_BPS, delay_ms=0) as way:
                assert way.cpu_ns is not None
                packets, cpu = received(way.leaves), way.cpu_ns()
                sent = way.send(0, args.long / 3, False)
                packets, cpu = received(way.leaves) - packets, way.cpu_ns() - cpu
            found[rival.name].append((packets / sent["seconds"], cpu / max(packets, 1)))
    return [
        {
            "program": rival.name,
            "port": rival.port,
            "runs": len(found[rival.name]),
            "kpps": round(statistics.median(run[0] for run in found[rival.name]) / 1e3, 1),
            "gbit_per_s": round(statistics.median(run[0] for run in found[rival.name]) * MTU * 8 / 1e9, 3),
            "ns_per_packet": round(statistics.median(run[1] for run in found[rival.name])),
        }
        for rival in rivals
    ]


def measure_peers(args: argparse.Namespace, scratch: Path) -> dict[str, list[Row]]:
    """Other emulators at 10 and 100 Mb/s, and fairdropd beside them, in turns."""
    here = peers.found(args, scratch)
    rows: dict[str, list[Row]] = {"peers-rate": [], "peers-delay": []}
    rows["peers-throughput"] = measure_throughput(args, here)
    for peer in here:
        for rate_bps in (10_000_000, 100_000_000):
            say(f"peers: {peer.name}, {rate_bps // 1_000_000} Mb/s")
            with peer.link(rate_bps, delay_ms=0) as way:
                send = partial(way.send, rate_bps / (MTU * 8) * OFFERED, args.long, False)
                seen = watched(way.leaves, scratch, send)
            rows["peers-rate"] += rate_rows(peer.name, peer.port, rate_bps, seen, peer.overhead)
        if not peer.delays:
            continue
        for load, pps in DELAY_LOADS.items():
            say(f"peers: {peer.name}, delay, {load}")
            with peer.link(DELAY_RATE_BPS, delay_ms=int(DELAY_S * 1e3)) as way:
                packets, _ = watched(way.leaves, scratch, partial(way.send, pps, args.long, True))
            errors = analysis.delay_errors_us(packets, DELAY_RATE_BPS, peer.overhead, DELAY_S)
            rows["peers-delay"].append(delay_row(peer.name, peer.port, load, [delays(errors)]))
    return rows


# What a stored result is of. One that is measured again takes the place of the one before; the others stay.
SUBJECT = ("program", "port", "load", "bytes", "rate_bps", "window_s")


def subject(row: Mapping[str, object]) -> tuple[str, ...]:
    """Which one it is."""
    return tuple(str(row[name]) for name in SUBJECT if name in row)


def stored(path: Path, columns: Sequence[str]) -> list[Row]:
    """Results of before; those with other columns are of another benchmark."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        table = csv.DictReader(file)
        return [dict(row) for row in table] if table.fieldnames == list(columns) else []


def write(rows: Sequence[Row], path: Path) -> None:
    """As CSV, whole or not at all."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    new.replace(path)


def replace(rows: Sequence[Row], path: Path) -> None:
    """Puts results in the place of those of the same subjects."""
    all_rows = {subject(row): row for row in stored(path, list(rows[0]))}
    write(list((all_rows | {subject(row): row for row in rows}).values()), path)


def stolen() -> tuple[int, int]:
    """Ticks of all processors, and those that the hypervisor took."""
    words = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(words), words[7]


@dataclass(frozen=True)
class Moment:
    """When a measurement began, and how busy the machine was."""

    at: float
    ticks: int
    stolen: int
    load: float

    @classmethod
    def now(cls) -> Moment:
        ticks, gone = stolen()
        return cls(time.monotonic(), ticks, gone, os.getloadavg()[0])


def selection(args: argparse.Namespace, part: str) -> str:
    """What of a part was measured."""
    every = {"ports": PORTS, "programs": tuple(PROGRAMS)[1:], "sizes": SIZES, "loads": tuple(LOADS), "rates": RATES_BPS}
    asked = {
        "cpu": ("ports", "programs", "sizes", "loads"),
        "rate": ("ports", "rates"),
        "delay": ("ports",),
        "peers": (),
    }
    chosen = [
        "; ".join(str(one) for one in getattr(args, name))
        for name in asked[part]
        if set(getattr(args, name)) != set(every[name])
    ]
    return ", ".join(chosen) or "all"


def write_machine(args: argparse.Namespace, part: str, began: Moment) -> None:
    """What a part was measured on. A selection stands beside the whole, until that is measured again."""
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    now, of = Moment.now(), selection(args, part)
    row: Row = {
        "part": part,
        "of": of,
        "processors": f"{os.cpu_count()} x {names[0] if names else platform.machine()}",
        "kernel": platform.release(),
        "clock": Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip(),
        "load_at_start": round(began.load, 2),
        "steal": round((now.stolen - began.stolen) / max(now.ticks - began.ticks, 1), 4),
        "took_s": round(now.at - began.at),
    }
    path = args.out / "machine.csv"
    before = stored(path, list(row))
    write([one for one in before if one["part"] != part or of not in ("all", one["of"])] + [row], path)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--ports", nargs="+", choices=PORTS, default=PORTS, help="all but peers (default all)")
    own = [name for name in PROGRAMS if name != "bare"]
    parser.add_argument("--programs", nargs="+", choices=own, default=own, help="for cpu, beside bare (default all)")
    parser.add_argument("--sizes", nargs="+", type=int, choices=SIZES, default=SIZES, help="for cpu (default all)")
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS), help="for cpu (default all)")
    parser.add_argument("--rates", nargs="+", type=int, choices=RATES_BPS, default=RATES_BPS, help="for rate")
    parser.add_argument("--runs", type=int, default=5, help="turns of each program for cpu and delay (default 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of each of them (default 0.5)")
    parser.add_argument(
        "--long", type=float, default=10.0, help="seconds of a run for rate, of two for delay (default 10)"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the CSV files (default: this one)")
    parser.add_argument("--mahimahi", type=Path, metavar="DIR", help="a checkout of mahimahi in which mm-link is built")
    parser.add_argument("--user", default="nobody", help="an ordinary user, for mahimahi (default nobody)")
    parser.add_argument("--rattan", type=Path, metavar="PROGRAM", help="the program rattan")
    args = parser.parse_args()
    if args.runs < 1 or args.seconds <= 0 or args.long < 2:
        parser.error("valid: --runs from 1, --seconds above 0, --long from 2")
    return args


def main() -> int:
    args = arguments()
    for tool in ("unshare", "ip", "ethtool", "taskset", "chrt"):
        if shutil.which(tool) is None:
            print(f"bench_live: {tool} is missing (Debian: util-linux, iproute2, ethtool)", file=sys.stderr)
            return 1
    measures: dict[str, Callable[[argparse.Namespace, Path], dict[str, list[Row]]]] = {
        "cpu": lambda *how: {"cpu": measure_cpu(*how)},
        "rate": lambda *how: {"rate": measure_rate(*how)},
        "delay": lambda *how: {"delay": measure_delay(*how)},
        "peers": measure_peers,
    }
    try:
        enter()
        with tempfile.TemporaryDirectory(prefix="fairdrop-live-") as folder:
            scratch = Path(folder)
            os.chmod(scratch, 0o755)
            for part in args.parts:
                began = Moment.now()
                for name, rows in measures[part](args, scratch).items():
                    if rows:
                        replace(rows, args.out / f"{name}.csv")
                write_machine(args, part, began)
    except (BenchError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        print(f"\nbench_live: {error}", file=sys.stderr)
        return 1
    print(file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
