#!/usr/bin/env python3
"""Compare the CPU time of fairdrop with that of ns-2 on one scenario.

Every command is run N times, in turns, and its user + system CPU time is taken from the
resource usage that the kernel reports when the child ends. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DUMBBELL = HERE / "ns2" / "dumbbell.tcl"
WARM_UP_S = 60
LARGE = 1000

NS2_WHOLE = "ns-2 whole"
NS2_SETUP = "ns-2 set-up"
NS2_LONG = "ns-2 long"
NS2_LOOP = "ns-2 loop"
NS2_LONG_LOOP = "ns-2 loop, from long"
FAIRDROP_WHOLE = "fairdrop whole"
FAIRDROP_LOOP = "fairdrop loop"


class PeerError(Exception):
    """A measured command failed or did not report what it should."""


@dataclass
class Peer:
    """One command that is run repeatedly; `read` turns its report into seconds."""

    name: str
    argv: list[str]
    read: Callable[[], float] | None = None
    seconds: list[float] = field(default_factory=list)

    def run_once(self) -> None:
        cpu = child_cpu_seconds(self.argv)
        self.seconds.append(cpu if self.read is None else self.read())


@dataclass
class Timing:
    """The file written by `fairdrop run --timing FILE`."""

    path: Path
    events: int = 0
    packets: int = 0

    def read(self) -> float:
        try:
            report = json.loads(self.path.read_text())
            self.events = int(report["events"])
            self.packets = int(report["bottleneck_packets"])
            return float(report["loop_cpu_s"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PeerError(f"no usable timing report in {self.path}: {error!r}") from error


def child_cpu_seconds(argv: list[str]) -> float:
    """User + system CPU seconds of one run, its own waited-for children included."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            tail = errors.read().decode(errors="replace").strip()[-600:]
            raise PeerError(f"exit status {child.returncode} from: {shlex.join(argv)}\n{tail}")
    return usage.ru_utime + usage.ru_stime


def find_ns2(override: str | None) -> list[str] | None:
    """The ns-2 command; a binary called `ns` counts only if it runs the set-up of the scenario."""
    if override:
        return shlex.split(override)
    for name in ("ns2", "ns"):
        path = shutil.which(name)
        if path is None:
            continue
        probe = subprocess.run(
            [path, str(DUMBBELL), "-setup_only", "1"], capture_output=True, text=True, timeout=60, check=False
        )
        if probe.returncode == 0 and '"tool": "ns-2"' in probe.stdout:
            return [path]
    return None


def find_fairdrop(override: str | None) -> list[str] | None:
    if override:
        return shlex.split(override)
    local = ROOT / ".venv" / "bin" / "fairdrop"
    if local.is_file():
        return [str(local)]
    path = shutil.which("fairdrop")
    return [path] if path else None


def ns2_peers(ns2: list[str], args: argparse.Namespace) -> list[Peer]:
    base = [*ns2, str(DUMBBELL), "-queue", args.queue, "-seed", str(args.seed), "-measure", "0"]
    base += ["-scheduler", args.scheduler]
    long = args.duration * args.long_factor
    peers = [
        Peer(NS2_WHOLE, [*base, "-duration", f"{args.duration:g}"]),
        Peer(NS2_SETUP, [*base, "-setup_only", "1"]),
    ]
    if args.long_factor > 1:
        peers.append(Peer(NS2_LONG, [*base, "-duration", f"{long:g}"]))
    return peers


def fairdrop_peers(fairdrop: list[str], args: argparse.Namespace, scratch: Path) -> tuple[list[Peer], Timing]:
    timing = Timing(scratch / "timing.json")
    base = [*fairdrop, "run", str(args.scenario), "--quiet", "--out"]
    peers = [
        Peer(FAIRDROP_WHOLE, [*base, str(scratch / "whole")]),
        Peer(FAIRDROP_LOOP, [*base, str(scratch / "loop"), "--timing", str(timing.path)], read=timing.read),
    ]
    return peers, timing


def run_in_turns(peers: list[Peer], runs: int) -> None:
    """One run of every command per round, so that a slow spell of the machine hits all of them."""
    for round_number in range(1, runs + 1):
        for peer in peers:
            print(f"\rround {round_number}/{runs}: {peer.name:<24}", end="", file=sys.stderr, flush=True)
            peer.run_once()
    print("\r" + " " * 48 + "\r", end="", file=sys.stderr, flush=True)


def loop_rows(rows: dict[str, list[float]], long_factor: float) -> None:
    """Add whole minus set-up, and the same from the long run scaled down to the nominal duration."""
    if NS2_SETUP not in rows:
        return
    setup = rows[NS2_SETUP]
    rows[NS2_LOOP] = [whole - s for whole, s in zip(rows[NS2_WHOLE], setup, strict=True)]
    if NS2_LONG in rows:
        rows[NS2_LONG_LOOP] = [
            (long - s) / long_factor for long, s in zip(rows[NS2_LONG], setup, strict=True)
        ]


def summary(rows: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"median": statistics.median(values), "min": min(values), "max": max(values)}
        for name, values in rows.items()
    }


def ratios(medians: dict[str, float]) -> dict[str, float]:
    """How many times the CPU of fairdrop ns-2 takes, from the medians."""
    pairs = [
        ("whole: ns-2 / fairdrop", NS2_WHOLE, FAIRDROP_WHOLE),
        ("loop: ns-2 / fairdrop", NS2_LOOP, FAIRDROP_LOOP),
        ("loop from long: ns-2 / fairdrop", NS2_LONG_LOOP, FAIRDROP_LOOP),
    ]
    return {
        label: medians[top] / medians[bottom]
        for label, top, bottom in pairs
        if top in medians and medians.get(bottom, 0.0) > 0.0
    }


def rates(timing: Timing | None, medians: dict[str, float]) -> dict[str, float]:
    if timing is None or medians.get(FAIRDROP_LOOP, 0.0) <= 0.0:
        return {}
    found = {
        "fairdrop events": float(timing.events),
        "fairdrop events per loop CPU second": timing.events / medians[FAIRDROP_LOOP],
    }
    if timing.packets > 0:
        found["fairdrop events per bottleneck packet"] = timing.events / timing.packets
    return found


def print_table(stats: dict[str, dict[str, float]], extra: dict[str, float], runs: int) -> None:
    print(f"{'CPU seconds, user + system':<38}{'median':>12}{'min':>12}{'max':>12}   ({runs} runs)")
    for name, values in stats.items():
        print(f"{name:<38}{values['median']:>12.4f}{values['min']:>12.4f}{values['max']:>12.4f}")
    for name, value in extra.items():
        text = f"{value:.3g}" if value < LARGE else f"{value:,.0f}"
        print(f"{name:<38}{text:>12}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of every command (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    parser.add_argument(
        "--duration", type=float, default=500.0, help="seconds simulated by ns-2 (default 500)"
    )
    parser.add_argument(
        "--long-factor",
        type=float,
        default=10.0,
        metavar="F",
        help="also run ns-2 for F times the duration, 1 to skip (default 10)",
    )
    parser.add_argument("--queue", choices=("red", "droptail"), default="red", help="queue of the ns-2 run")
    parser.add_argument(
        "--scheduler",
        choices=("List", "Splay", "Heap", "Calendar"),
        default="List",
        help="event queue of ns-2 (default List, the fastest on this scenario)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the ns-2 run")
    parser.add_argument(
        "--scenario",
        type=Path,
        default=Path("scenarios/bench-choke-fig3.toml"),
        help="scenario of fairdrop, relative to the checkout",
    )
    parser.add_argument("--ns2", metavar="COMMAND", help="ns-2 command instead of ns2 or ns on PATH")
    parser.add_argument(
        "--fairdrop", metavar="COMMAND", help="fairdrop command instead of .venv/bin/fairdrop or PATH"
    )
    args = parser.parse_args()
    if args.runs < 1 or args.duration <= WARM_UP_S or args.long_factor < 1:
        parser.error("--runs and --long-factor must be at least 1, --duration above the warm-up of 60 s")
    return args


def measure(args: argparse.Namespace, scratch: Path) -> tuple[dict[str, list[float]], Timing | None]:
    """Run everything that is installed; say in one line what is not."""
    peers: list[Peer] = []
    timing: Timing | None = None
    ns2 = find_ns2(args.ns2)
    if ns2 is None:
        print("ns-2 not found: install Debian's package ns2 to get its rows", flush=True)
    else:
        peers += ns2_peers(ns2, args)
    fairdrop = find_fairdrop(args.fairdrop)
    if fairdrop is None:
        print("fairdrop not found: neither .venv/bin/fairdrop nor PATH has it", flush=True)
    else:
        own, timing = fairdrop_peers(fairdrop, args, scratch)
        peers += own
    run_in_turns(peers, args.runs)
    rows = {peer.name: peer.seconds for peer in peers}
    loop_rows(rows, args.long_factor)
    return rows, timing


def report(args: argparse.Namespace, rows: dict[str, list[float]], timing: Timing | None) -> None:
    stats = summary(rows)
    medians = {name: values["median"] for name, values in stats.items()}
    quotients, speeds = ratios(medians), rates(timing, medians)
    print_table(stats, {**quotients, **speeds}, args.runs)
    if args.json is None:
        return
    document = {
        "runs": args.runs,
        "ns2_duration_s": args.duration,
        "long_factor": args.long_factor,
        "queue": args.queue,
        "scheduler": args.scheduler,
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "cpu_seconds": {name: {"runs": rows[name], **values} for name, values in stats.items()},
        "ratios": quotients,
        "rates": speeds,
    }
    args.json.write_text(json.dumps(document, indent=2) + "\n")


def main() -> int:
    args = arguments()
    try:
        with tempfile.TemporaryDirectory(prefix="fairdrop-peers-") as scratch:
            rows, timing = measure(args, Path(scratch))
        if rows:
            report(args, rows, timing)
    except PeerError as error:
        print(f"\ntime_peers: {error}", file=sys.stderr)
        return 1
    return 0 if timing is not None else 1


if __name__ == "__main__":
    sys.exit(main())
