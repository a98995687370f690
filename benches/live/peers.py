"""Other programs that emulate a link, each with a way to send through it and an interface where packets come out."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from place import FAIRDROPD, PATIENCE_S, PROBE, BenchError, on_cpu, probe, process_cpu_ns, quiet, running, sh, veth

SENDER_CPU, FORWARDER_CPU = 0, 1
ETHERNET = 14
MTU = 1500
QUEUE_PACKETS = 100


@dataclass
class Way:
    """Where packets come out, and how they are sent: packets a second, seconds, asleep in between."""

    leaves: str
    send: Callable[[float, float, bool], dict[str, Any]]
    # Of all processes of the emulator, where that is known.
    cpu_ns: Callable[[], int] | None = None


def words(pps: float, seconds: float, asleep: bool) -> list[object]:
    return ["--size", MTU, "--seconds", seconds, "--pps", pps, *(["--sleep"] if asleep else [])]


class Fairdropd:
    """The program of this checkout, between two TUN devices."""

    name, port, overhead, delays = "fairdropd", "tun", 0, True

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        argv = [str(FAIRDROPD), "tun", "fba9", "--peer", "fbb9", "--up", str(rate_bps), "--delay", f"{delay_ms}ms"]
        with running([*argv, "--set", f"limit={QUEUE_PACKETS}p"], "are connected", FORWARDER_CPU):
            quiet("fba9")
            quiet("fbb9")
            yield Way("fbb9", lambda *how: probe("send", "fba9", *words(*how), cpu=SENDER_CPU))


class Bridge:
    """The program of this checkout, between two pairs of interfaces, over packet sockets."""

    name, port, overhead, delays = "fairdropd", "packet", ETHERNET, False

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        veth("fba9", "fbs9")
        veth("fbb9", "fbr9")
        argv = [str(FAIRDROPD), "bridge", "fba9", "fbb9", "--up", str(rate_bps), "--delay", f"{delay_ms}ms"]
        with tempfile.TemporaryDirectory() as state:
            more = ["--set", f"limit={QUEUE_PACKETS}p", "--state", state]
            with running([*argv, *more], "are bridged", FORWARDER_CPU) as bridge:
                yield Way(
                    "fbr9", lambda *how: probe("send", "fbs9", *words(*how), cpu=SENDER_CPU), cpu_ns=bridge.cpu_ns
                )
        for name in ("fbs9", "fbr9"):
            sh(f"ip link del {name}")


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


class Shell(ABC):
    """A program that runs a command behind its link, and has the other end in the namespace of the harness.

    The command waits for the words to send with, which come through a pipe, once the receiver listens.
    """

    name: str
    base: str
    devices: tuple[str, ...]
    port, overhead, delays = "", 0, True

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.probe = self.own(PROBE, 0o755)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def own(self, program: Path, mode: int) -> Path:
        """A copy that an ordinary user can reach."""
        if not program.is_file():
            raise BenchError(f"{program} is missing; see benches/live/README.md")
        copy = self.scratch / program.name
        shutil.copyfile(program, copy)
        os.chown(copy, 0, 0)
        os.chmod(copy, mode)
        return copy

    @abstractmethod
    def command(self, rate_bps: int, delay_ms: int, inside: list[str]) -> list[str]:
        """What runs ``inside`` behind such a link."""

    @contextlib.contextmanager
    def link(self, rate_bps: int, delay_ms: int) -> Iterator[Way]:
        go, done = self.scratch / "go", self.scratch / "done"
        for path in (go, done):
            path.unlink(missing_ok=True)
        os.mkfifo(go)
        done.write_text("")
        for path in (go, done):
            os.chmod(path, 0o666)
        send_there = f"taskset --cpu-list {SENDER_CPU} {self.probe} send ${self.base}:9 $words"
        script = f"read -r words < {go}; {send_there} > {done}; sleep 0.5"
        argv = on_cpu(FORWARDER_CPU, self.command(rate_bps, delay_ms, ["sh", "-c", script]))
        with (self.scratch / "output").open("w") as output:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            self.prepare(child, delay_ms)
            leaves = self.device(child)

            def send(pps: float, seconds: float, asleep: bool) -> dict[str, Any]:
                with go.open("w") as pipe:
                    pipe.write(" ".join(map(str, words(pps, seconds, asleep))) + "\n")
                end = time.monotonic() + PATIENCE_S + seconds
                while not done.read_text().strip():
                    if time.monotonic() > end or child.poll() is not None:
                        raise self.failed("its shell did not send")
                    time.sleep(0.05)
                found: dict[str, Any] = json.loads(done.read_text())
                return found

            yield Way(leaves, send, cpu_ns=lambda: process_cpu_ns(child.pid))
        finally:
            self.end(child)

    @abstractmethod
    def prepare(self, child: subprocess.Popen[bytes], delay_ms: int) -> None:
        """What has to be done once it has begun."""

    def end(self, child: subprocess.Popen[bytes]) -> None:
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.terminate()
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def device(self, child: subprocess.Popen[bytes]) -> str:
        """The interface at which packets come out, once there is one and the shell has had time to begin."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and child.poll() is None:
            for line in Path("/proc/net/dev").read_text().splitlines():
                name = line.partition(":")[0].strip()
                if name.startswith(self.devices):
                    time.sleep(1)
                    return name
            time.sleep(0.02)
        raise self.failed("it makes no interface")

    def failed(self, what: str) -> BenchError:
        return BenchError(f"{self.name}: {what}: {(self.scratch / 'output').read_text().strip()[-600:]}")


class Mahimahi(Shell):
    """mm-link, with mm-delay around it where there is a delay. It must be setuid root, and be run by somebody else."""

    name, port, base, devices = "mahimahi", "tun", "MAHIMAHI_BASE", ("link-", "delay-")

    def __init__(self, checkout: Path, user: str, scratch: Path) -> None:
        super().__init__(scratch)
        self.user = user
        self.inner = scratch / "inner"
        self.link_shell, self.delay_shell = (
            self.own(checkout / "src" / "frontend" / name, 0o4755) for name in ("mm-link", "mm-delay")
        )

    def prepare(self, child: subprocess.Popen[bytes], delay_ms: int) -> None:
        """mm-link inside of mm-delay wants to forward there, and may not allow itself to."""
        end = time.monotonic() + PATIENCE_S
        while delay_ms and not self.inner.read_text().endswith("\n"):
            if time.monotonic() > end or child.poll() is not None:
                raise self.failed("mm-delay does not begin")
            time.sleep(0.02)
        if delay_ms:
            namespace = f"--net=/proc/{int(self.inner.read_text())}/ns/net"
            sh(f"nsenter {namespace} sysctl -q -w net.ipv4.ip_forward=1")
            self.inner.write_text("")

    def trace(self, rate_bps: int) -> Path:
        """A packet of 1,500 bytes at each line, spread over a period in whole milliseconds, as its own examples are."""
        period_ms = MTU * 8
        packets = rate_bps // 1000
        path = self.scratch / f"trace-{rate_bps}"
        path.write_text("".join(f"{-(-(number + 1) * period_ms // packets)}\n" for number in range(packets)))
        return path

    def command(self, rate_bps: int, delay_ms: int, inside: list[str]) -> list[str]:
        trace = str(self.trace(rate_bps))
        queue = ["--uplink-queue=droptail", f"--uplink-queue-args=packets={QUEUE_PACKETS}"]
        shell = [str(self.link_shell), *queue, "--", trace, trace, *inside]
        if delay_ms:
            self.inner.write_text("")
            os.chmod(self.inner, 0o666)
            # Until it may forward, which it asks for and a new namespace does not: see prepare.
            wait = f'echo $$ > {self.inner}; while test -s {self.inner}; do sleep 0.05; done; exec "$@"'
            shell = [str(self.delay_shell), str(delay_ms), "sh", "-c", wait, "sh", *shell]
        return [
            "setpriv",
            f"--reuid={self.user}",
            f"--regid={pwd.getpwnam(self.user).pw_gid}",
            "--clear-groups",
            *shell,
        ]


class Rattan(Shell):
    """Rattan in its mode that is like mahimahi's, over its AF_PACKET ports."""

    name, port, base, devices = "Rattan", "veth", "RATTAN_BASE", ("vR1-R",)

    def __init__(self, program: Path, scratch: Path) -> None:
        super().__init__(scratch)
        self.program = program

    def prepare(self, child: subprocess.Popen[bytes], delay_ms: int) -> None:
        """Nothing: its program has set up all."""

    def command(self, rate_bps: int, delay_ms: int, inside: list[str]) -> list[str]:
        link = [f"--uplink-bandwidth={rate_bps // 1_000_000}Mbps", f"--downlink-bandwidth={rate_bps // 1_000_000}Mbps"]
        queue = ["--uplink-queue=droptail", f'--uplink-queue-args={{"packet_limit":{QUEUE_PACKETS}}}']
        delay = [f"--uplink-delay={delay_ms}ms", f"--downlink-delay={delay_ms}ms"] if delay_ms else []
        return [str(self.program), "link", *link, *queue, *delay, "--", *inside]


Peer = Fairdropd | Bridge | Tbf | Shell


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
        print("\nmahimahi: not given (--mahimahi)")
    if args.rattan:
        here.append(Rattan(args.rattan, scratch))
    else:
        print("\nRattan: not given (--rattan)")
    return here
