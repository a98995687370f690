"""Other programs that emulate a link, each with a way to send through it and an interface where packets come out."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from place import FAIRDROPD, PATIENCE_S, PROBE, BenchError, probe, quiet, running, sh, veth

SENDER_CPU, FORWARDER_CPU = 0, 1
ETHERNET = 14
MTU = 1500
QUEUE_PACKETS = 100


@dataclass
class Way:
    """Where packets come out, and how they are sent: packets a second, seconds, asleep in between."""

    leaves: str
    send: Callable[[float, float, bool], dict[str, Any]]


def words(pps: float, seconds: float, asleep: bool) -> list[object]:
    return ["--size", MTU, "--seconds", seconds, "--pps", pps, *(["--sleep"] if asleep else [])]


class Fairdropd:
    """The program of this checkout, between two TUN devices."""

    name, port, overhead, delays = "fairdropd", "tun", 0, True

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        argv = [FAIRDROPD, "tun", "fba9", "--peer", "fbb9", "--up", str(rate_bps), "--delay", f"{delay_ms}ms"]
        with running([*argv, "--set", f"limit={QUEUE_PACKETS}p"], "are connected", FORWARDER_CPU):
            quiet("fba9")
            quiet("fbb9")
            yield Way("fbb9", lambda *how: probe("send", "fba9", *words(*how), cpu=SENDER_CPU))


class Tbf:
    """The kernel's token bucket filter on one end of a pair of interfaces."""

    name, port, overhead, delays = "tc tbf", "veth", ETHERNET, False

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        del delay_ms
        veth("fbs9", "fbr9")
        limit = QUEUE_PACKETS * (MTU + ETHERNET)
        sh(f"tc qdisc add dev fbs9 root tbf rate {rate_bps}bit burst {2 * (MTU + ETHERNET)} limit {limit}")
        try:
            yield Way("fbr9", lambda *how: probe("send", "fbs9", *words(*how), "--qdisc", cpu=SENDER_CPU))
        finally:
            sh("ip link del fbs9")


class Netem(Tbf):
    """The kernel's network emulator on one end of a pair of interfaces."""

    name, delays = "tc netem", True

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        veth("fbs9", "fbr9")
        sh(f"tc qdisc add dev fbs9 root netem rate {rate_bps}bit delay {delay_ms}ms limit {QUEUE_PACKETS + 1000}")
        try:
            yield Way("fbr9", lambda *how: probe("send", "fbs9", *words(*how), "--qdisc", cpu=SENDER_CPU))
        finally:
            sh("ip link del fbs9")


class Mahimahi:
    """mm-link, with mm-delay around it where there is a delay. It must be setuid root, and be run by somebody else."""

    name, port, overhead, delays = "mahimahi", "tun", 0, True

    def __init__(self, checkout: Path, user: str, scratch: Path) -> None:
        self.user = user
        self.scratch = scratch
        self.programs = {}
        for name in ("mm-link", "mm-delay"):
            built = checkout / "src" / "frontend" / name
            if not built.is_file():
                raise BenchError(f"{built} is missing; see benches/live/README.md")
            mine = scratch / name
            shutil.copyfile(built, mine)
            os.chown(mine, 0, 0)
            os.chmod(mine, 0o4755)
            self.programs[name] = mine
        self.probe = scratch / "probe"
        shutil.copyfile(PROBE, self.probe)
        os.chmod(self.probe, 0o755)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def trace(self, rate_bps: int) -> Path:
        """A packet of 1,500 bytes at each line, spread over a period in whole milliseconds, as its own examples are."""
        period_ms = MTU * 8
        packets = rate_bps * period_ms // (MTU * 8 * 1000)
        path = self.scratch / f"trace-{rate_bps}"
        path.write_text("".join(f"{-(-(number + 1) * period_ms // packets)}\n" for number in range(packets)))
        return path

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        trace = self.trace(rate_bps)
        queue = [f"--uplink-queue-args=packets={QUEUE_PACKETS}", "--uplink-queue=droptail"]
        go, done = self.scratch / "go", self.scratch / "done"
        for path in (go, done):
            path.unlink(missing_ok=True)
        os.mkfifo(go)
        os.chmod(go, 0o666)
        done.write_text("")
        os.chmod(done, 0o666)
        # Its inside is entered once; the words to send with come through a pipe.
        inside = f"read -r words < {go}; {self.probe} send $MAHIMAHI_BASE:9 $words > {done}; sleep 1"
        delay = [str(self.programs["mm-delay"]), str(delay_ms)] if delay_ms else []
        shell = [*delay, str(self.programs["mm-link"]), str(trace), str(trace), *queue, "--", "sh", "-c", inside]
        argv = ["setpriv", f"--reuid={self.user}", "--clear-groups", "env", "-u", "LD_LIBRARY_PATH", *shell]
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            outer = self.wait_for_device(child)

            def send(pps: float, seconds: float, asleep: bool) -> dict[str, Any]:
                with go.open("w") as pipe:
                    pipe.write(" ".join(map(str, words(pps, seconds, asleep))) + "\n")
                end = time.monotonic() + PATIENCE_S + seconds
                while not done.read_text().strip():
                    if time.monotonic() > end or child.poll() is not None:
                        raise BenchError("mahimahi: its shell did not send")
                    time.sleep(0.05)
                found: dict[str, Any] = json.loads(done.read_text())
                return found

            yield Way(outer, send)
        finally:
            try:
                child.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()

    def wait_for_device(self, child: subprocess.Popen[str]) -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and child.poll() is None:
            for line in Path("/proc/net/dev").read_text().splitlines():
                name = line.partition(":")[0].strip()
                if name.startswith(("link-", "delay-")):
                    time.sleep(0.3)
                    return name
            time.sleep(0.02)
        said = child.stderr.read() if child.stderr and child.poll() is not None else "it makes no device"
        raise BenchError(f"mahimahi: {said.strip()}")


Peer = Fairdropd | Tbf | Netem | Mahimahi


def found(args: argparse.Namespace, scratch: Path) -> list[Peer]:
    """The programs that are there; a line on standard error for each that is not."""
    here: list[Peer] = [Fairdropd()]
    for peer, kind in ((Tbf(), "tbf rate 1mbit burst 3028 limit 10000"), (Netem(), "netem rate 1mbit")):
        veth("fbs9", "fbr9")
        tried = subprocess.run(f"tc qdisc add dev fbs9 root {kind}".split(), capture_output=True, check=False)
        sh("ip link del fbs9")
        if tried.returncode == 0:
            here.append(peer)
        else:
            print(f"\n{peer.name}: not in this kernel")
    if args.mahimahi:
        here.append(Mahimahi(args.mahimahi, args.user, scratch))
    else:
        print("mahimahi not given: --mahimahi DIR")
    return here
