"""A network namespace of the harness's own, programs in it, and what they cost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent.parent
INSIDE = "FAIRDROP_BENCH_NAMESPACE"
EXAMPLES = ROOT / "target" / "release" / "examples"
FAIRDROPD = ROOT / "target" / "release" / "fairdropd"
PROBE = EXAMPLES / "probe"
# Against hanging for ever; nothing is measured by it.
PATIENCE_S = 60


class BenchError(Exception):
    """A measured program failed or did not report what it should."""


def enter() -> None:
    """Runs this program again in a network namespace of its own, as root of it."""
    if INSIDE in os.environ:
        sh("ip link set lo up")
        return
    ways = [["--net", "--mount"], ["--user", "--map-root-user", "--net", "--mount"]]
    for way in ways:
        if subprocess.run(["unshare", *way, "true"], capture_output=True, check=False).returncode == 0:
            os.execvpe(
                "unshare",
                ["unshare", *way, "--kill-child", "--fork", sys.executable, *sys.argv],
                os.environ | {INSIDE: "1"},
            )
    raise BenchError("this machine gives no network namespaces: run it as root, or allow user namespaces")


def sh(command: str, *, check: bool = True) -> str:
    """One command; its output."""
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if check and done.returncode != 0:
        raise BenchError(f"{command}: {done.stderr.strip()}")
    return done.stdout


def on_cpu(cpu: int | None, argv: Sequence[str | Path]) -> list[str]:
    """The command, kept on one processor."""
    words = [str(word) for word in argv]
    return words if cpu is None else ["taskset", "--cpu-list", str(cpu), *words]


def veth(near: str, far: str) -> None:
    """A pair of interfaces, both up, which says nothing by itself."""
    sh(f"ip link add {near} type veth peer name {far}")
    for name in (near, far):
        quiet(name)
        sh(f"ethtool -K {name} tx off tso off gso off gro off", check=False)
        sh(f"ip link set {name} up")


def quiet(interface: str) -> None:
    """No IPv6, which would send packets of its own."""
    setting = Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6")
    if setting.exists():
        setting.write_text("1")


def received(interface: str) -> int:
    """Packets that came in there."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == interface:
            return int(counts.split()[1])
    raise BenchError(f"there is no interface {interface}")


def process_cpu_ns(pid: int) -> int:
    """User and system time of all threads of a process so far, from its clock (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class Program:
    """A program that runs until it is stopped."""

    def __init__(self, argv: Sequence[str | Path], ready: str, cpu: int | None = None) -> None:
        """Starts it and waits until it says `ready` on standard error."""
        self.argv = [str(word) for word in argv]
        self.process = subprocess.Popen(
            on_cpu(cpu, argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        self.stderr: list[str] = []
        assert self.process.stderr is not None
        if ready:
            self._await(self.process.stderr, ready)

    def _await(self, stream: IO[str], ready: str) -> None:
        for line in stream:
            self.stderr.append(line)
            if ready in line:
                return
        raise BenchError(f"{' '.join(self.argv)}: {''.join(self.stderr)}")

    def cpu_ns(self) -> int:
        """User and system time of all its threads so far."""
        return process_cpu_ns(self.process.pid)

    def stop(self) -> str:
        """Its standard output."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        self.stderr.append(err)
        return out


@contextlib.contextmanager
def running(argv: Sequence[str | Path], ready: str, cpu: int | None = None) -> Iterator[Program]:
    """A program for as long as the block runs."""
    program = Program(argv, ready, cpu)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.stop()


def probe(*words: object, cpu: int | None = None) -> dict[str, Any]:
    """What `probe` prints."""
    argv = on_cpu(cpu, [PROBE, *map(str, words)])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(argv)}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def say(text: str) -> None:
    """Progress."""
    if sys.stderr.isatty():
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
