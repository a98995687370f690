#!/usr/bin/env python3
"""Compare the CPU time of fairdrop with that of ns-2, ns-3 and htsim on three scenarios.

Every command is run N times, in turns; its user + system CPU time is what the kernel reports
when the child ends. See README.md beside this file for what each peer is given.
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
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NS2_SCRIPT = HERE / "ns2" / "dumbbell.tcl"
NS3_SCRIPT = HERE / "ns3" / "dumbbell.py"
HTSIM_SOURCE = HERE / "htsim" / "dumbbell.cpp"
PEERS = ("fairdrop", "ns-2", "ns-3", "htsim")


@dataclass(frozen=True)
class Setting:
    """One scenario, as the peers get it; fairdrop reads the TOML file of the same name."""

    name: str
    tcp_flows: int
    udp_flows: int
    udp_bps: float
    rate_bps: float
    delay_s: float
    access_bps: float
    access_delay_s: float
    limit: int
    min_th: int
    max_th: int
    duration_s: float
    start_spread_s: float
    # Durations over which loops are measured, to divide by: some milliseconds are lost in the noise of a process.
    stretch: int = 1


SETTINGS = (
    Setting("s1", 32, 1, 2e6, 1e6, 0.001, 1e7, 0.001, 300, 30, 60, 500.0, 1.0, 20),
    Setting("s2", 500, 10, 2e7, 1e8, 0.010, 1e9, 0.005, 1000, 100, 300, 200.0, 1.0),
    Setting("s3", 10_000, 0, 0.0, 1e10, 0.010, 1e10, 0.005, 10_000, 1000, 3000, 1.0, 0.1),
)


# With more TCP flows than this ns-2 has no hosts for each of them.
HOSTS_FROM = 1000


class PeerError(Exception):
    """A measured command failed or did not report what it should."""


@dataclass
class Usage:
    """What one run took."""

    cpu_s: float
    max_rss_kb: int
    stdout: str


def run_child(argv: list[str]) -> Usage:
    """User + system CPU seconds and the peak of memory of one run."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=ROOT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            tail = errors.read().decode(errors="replace").strip()[-600:]
            raise PeerError(f"exit status {child.returncode} from: {shlex.join(argv)}\n{tail}")
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, text)


@dataclass
class Row:
    """Runs of one tool on one scenario."""

    tool: str
    scenario: str
    whole_s: list[float] = field(default_factory=list)
    loop_s: list[float] = field(default_factory=list)
    max_rss_kb: int = 0
    instructions: int | None = None
    extra: dict[str, float] = field(default_factory=dict)

    def add(self, usage: Usage, loop_s: float) -> None:
        self.whole_s.append(usage.cpu_s)
        self.loop_s.append(loop_s)
        self.max_rss_kb = max(self.max_rss_kb, usage.max_rss_kb)


class Fairdrop:
    """The command of this checkout; its loop is timed inside."""

    name = "fairdrop"

    def __init__(self, command: list[str], scratch: Path) -> None:
        self.command = command
        self.scratch = scratch

    def run(self, setting: Setting, row: Row) -> None:
        timing = self.scratch / "timing.json"
        base = [*self.command, "run", str(HERE / f"{setting.name}.toml"), "--quiet"]
        usage = run_child([*base, "--out", str(self.scratch / setting.name)])
        long = f"duration={setting.duration_s * setting.stretch}s"
        run_child([*base, "--out", str(self.scratch / "loop"), "--timing", str(timing), "--set", long])
        report = json.loads(timing.read_text())
        row.add(usage, float(report["loop_cpu_s"]) / setting.stretch)
        row.extra = {
            "events": report["events"] / setting.stretch,
            "events_per_packet": report["events"] / max(report["bottleneck_packets"], 1),
            "ns_per_event": report["loop_cpu_s"] / report["events"] * 1e9,
        }

    def count(self, setting: Setting) -> int:
        """Of the run itself, with what it needs before the first event and its tables of results."""
        example = ROOT / "target" / "release" / "examples" / "cost"
        build = ["cargo", "build", "--quiet", "--release", "--package", "fairdrop-sim", "--example", "cost"]
        subprocess.run(build, cwd=ROOT, check=True)
        argv = [str(example), str(HERE / f"{setting.name}.toml")]
        return instructions(argv, self.scratch, "--toggle-collect=*fairdrop_sim::run::simulate*")


class Ns2:
    """Debian's ns-2; its loop is a run less a run that only builds the scenario."""

    name = "ns-2"

    def __init__(self, command: list[str], scratch: Path, exact_red: bool) -> None:
        self.command = command
        self.scratch = scratch
        self.exact_red = exact_red

    def argv(self, setting: Setting, durations: int = 1) -> list[str]:
        # The sorted list is ns-2's fastest event queue with few events pending, the heap with many.
        scheduler = "List" if setting.tcp_flows < 100 else "Heap"
        options = {
            "queue": "red",
            "tcp_flows": setting.tcp_flows,
            "udp_flows": setting.udp_flows,
            "udp_rate": setting.udp_bps,
            "rate": setting.rate_bps,
            "delay": setting.delay_s,
            "access_rate": setting.access_bps,
            "access_delay": setting.access_delay_s,
            "limit": setting.limit,
            "min_th": setting.min_th,
            "max_th": setting.max_th,
            "start_spread": setting.start_spread_s,
            "duration": setting.duration_s * durations,
            "warm_up": 0,
            "measure": 0,
            "scheduler": scheduler,
            "use_mark_p": 0 if self.exact_red else 1,
        }
        if setting.tcp_flows > HOSTS_FROM:
            # ns-2 computes routes between all nodes, so flows share hosts, as in ns-3; their queues never fill.
            options |= {"hosts": 64, "access_limit": 100_000}
        words = [f"-{name}={value}".split("=", 1) for name, value in options.items()]
        return [*self.command, str(NS2_SCRIPT), *(word for pair in words for word in pair)]

    def run(self, setting: Setting, row: Row) -> None:
        set_up = run_child([*self.argv(setting), "-setup_only", "1"])
        usage = run_child(self.argv(setting))
        long = run_child(self.argv(setting, setting.stretch)) if setting.stretch > 1 else usage
        row.add(usage, (long.cpu_s - set_up.cpu_s) / setting.stretch)

    def count(self, setting: Setting) -> int:
        """Of a run less one that only builds the scenario."""
        whole = instructions(self.argv(setting), self.scratch)
        return whole - instructions([*self.argv(setting), "-setup_only", "1"], self.scratch)


class Ns3:
    """ns-3 from PyPI; its loop is timed around Simulator::Run."""

    name = "ns-3"

    def __init__(self, command: list[str]) -> None:
        self.command = command

    def run(self, setting: Setting, row: Row) -> None:
        options = {
            "tcp-flows": setting.tcp_flows,
            "udp-flows": setting.udp_flows,
            "udp-rate": setting.udp_bps,
            "rate": setting.rate_bps,
            "delay": setting.delay_s,
            "access-rate": setting.access_bps,
            "access-delay": setting.access_delay_s,
            "limit": setting.limit,
            "min-th": setting.min_th,
            "max-th": setting.max_th,
            "duration": setting.duration_s,
            "start-spread": setting.start_spread_s,
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        usage = run_child([*self.command, str(NS3_SCRIPT), *words])
        row.add(usage, reported_loop(usage.stdout))

    def count(self, setting: Setting) -> int | None:
        """Not counted: its scripts are compiled as they run, which takes hours under valgrind."""
        del setting
        return None


class Htsim:
    """htsim, with TCP over a DropTail queue; its loop is timed inside."""

    name = "htsim"

    def __init__(self, command: list[str], scratch: Path) -> None:
        self.command = command
        self.scratch = scratch

    def argv(self, setting: Setting, durations: float = 1) -> list[str]:
        one_way_us = round((setting.delay_s + 2 * setting.access_delay_s) * 1e6)
        numbers = (
            setting.tcp_flows,
            setting.udp_flows,
            setting.udp_bps,
            setting.rate_bps,
            setting.access_bps,
            one_way_us,
            setting.limit,
            max(round(setting.duration_s * durations * 1000), 1),
        )
        return [*self.command, *map(str, numbers)]

    def run(self, setting: Setting, row: Row) -> None:
        usage = run_child(self.argv(setting))
        long = run_child(self.argv(setting, setting.stretch)) if setting.stretch > 1 else usage
        row.add(usage, reported_loop(long.stdout) / setting.stretch)

    def count(self, setting: Setting) -> int:
        """Of a run less one of a millisecond."""
        return instructions(self.argv(setting), self.scratch) - instructions(self.argv(setting, 0), self.scratch)


Peer = Fairdrop | Ns2 | Ns3 | Htsim


def instructions(argv: list[str], scratch: Path, *options: str) -> int:
    """What callgrind counts in one run, of all threads."""
    profile = scratch / "callgrind.out"
    run_child(["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *options, *argv])
    for line in profile.read_text(errors="replace").splitlines():
        if line.startswith(("summary:", "totals:")):
            return int(line.split()[1])
    raise PeerError(f"callgrind counted nothing in: {shlex.join(argv)}")


def reported_loop(stdout: str) -> float:
    lines = [line for line in stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise PeerError(f"no report in: {stdout[-300:]}")
    return float(json.loads(lines[-1])["loop_cpu_s"])


def find_peers(args: argparse.Namespace, scratch: Path) -> list[Peer]:
    """The tools that are there; a line on stdout for each that is not."""
    wanted = args.peers
    found: list[Peer] = []
    if "fairdrop" in wanted:
        local = ROOT / ".venv" / "bin" / "fairdrop"
        command = shlex.split(args.fairdrop) if args.fairdrop else [str(local)]
        found.append(Fairdrop(command, scratch))
    if "ns-2" in wanted:
        command = shlex.split(args.ns2) if args.ns2 else [shutil.which("ns2") or shutil.which("ns") or ""]
        if command[0]:
            found.append(Ns2(command, scratch, args.exact_red))
        else:
            print("ns-2 not found: install Debian's package ns2")
    if "ns-3" in wanted:
        command = shlex.split(args.ns3_python)
        probe = subprocess.run([*command, "-c", "import ns"], capture_output=True, check=False)
        if probe.returncode == 0:
            found.append(Ns3(command))
        else:
            print(f"ns-3 not found: {args.ns3_python} cannot import it (pip install ns3)")
    if "htsim" in wanted:
        if args.htsim:
            found.append(Htsim([build_htsim(Path(args.htsim), scratch)], scratch))
        else:
            print("htsim not given: --htsim DIR, a checkout of github.com/Broadcom/csg-htsim with sim/libhtsim.a made")
    return found


def build_htsim(checkout: Path, scratch: Path) -> str:
    library, program = checkout / "sim" / "libhtsim.a", scratch / "htsim_dumbbell"
    if not library.is_file():
        raise PeerError(f"{library} is missing: run `make libhtsim.a` in {checkout / 'sim'}")
    include = f"-I{checkout / 'sim'}"
    argv = ["g++", "-O3", "-std=c++11", include, str(HTSIM_SOURCE), str(library), "-o", str(program)]
    built = subprocess.run(argv, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise PeerError(f"cannot compile {HTSIM_SOURCE.name}:\n{built.stderr[-600:]}")
    return str(program)


def measure(args: argparse.Namespace) -> list[Row]:
    """One run of every command a round, so that a slow spell of the machine hits all of them."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="fairdrop-peers-") as scratch:
        peers = find_peers(args, Path(scratch))
        for setting in (s for s in SETTINGS if s.name in args.scenarios):
            mine = [(peer, Row(peer.name, setting.name)) for peer in peers]
            for turn in range(args.runs):
                for peer, row in mine:
                    print(f"\r{setting.name} {turn + 1}/{args.runs} {peer.name:<12}", end="", file=sys.stderr)
                    peer.run(setting, row)
            if setting.name in args.instructions:
                for peer, row in mine:
                    print(f"\r{setting.name} instructions {peer.name:<12}", end="", file=sys.stderr)
                    row.instructions = peer.count(setting)
            rows += [row for _, row in mine]
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return rows


def print_table(rows: list[Row]) -> None:
    print(
        f"{'':4} {'':9} {'loop, CPU s':>12} {'min':>9} {'max':>9} {'/ fairdrop':>10}"
        f" {'whole':>9} {'/ fairdrop':>10} {'peak MB':>8}"
    )
    for row in rows:
        own = next((r for r in rows if r.scenario == row.scenario and r.tool == "fairdrop"), row)
        loop, whole = statistics.median(row.loop_s), statistics.median(row.whole_s)
        print(
            f"{row.scenario:4} {row.tool:9} {loop:12.4f} {min(row.loop_s):9.4f} {max(row.loop_s):9.4f}"
            f" {loop / statistics.median(own.loop_s):10.2f} {whole:9.3f}"
            f" {whole / statistics.median(own.whole_s):10.2f} {row.max_rss_kb / 1024:8.0f}"
        )
    for row in rows:
        if row.instructions is not None:
            own = next((r for r in rows if r.scenario == row.scenario and r.tool == "fairdrop"), row)
            ratio = row.instructions / own.instructions if own.instructions else float("nan")
            print(f"{row.scenario} {row.tool}: {row.instructions:,} instructions, {ratio:.2f} of fairdrop's")
    for row in rows:
        if row.extra:
            facts = ", ".join(f"{name.replace('_', ' ')} {value:,.2f}" for name, value in row.extra.items())
            print(f"{row.scenario} {row.tool}: {facts}")


def document(args: argparse.Namespace, rows: list[Row]) -> dict[str, object]:
    return {
        "runs": args.runs,
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "rows": [vars(row) for row in rows],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = tuple(setting.name for setting in SETTINGS)
    parser.add_argument("--runs", type=int, default=5, help="runs of every command (default 5)")
    parser.add_argument("--scenarios", nargs="+", choices=names, default=names)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    counted = "scenarios whose instructions valgrind counts as well, in one run of every command, 50 times as slow"
    parser.add_argument("--instructions", nargs="+", choices=names, default=(), help=counted)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    parser.add_argument("--fairdrop", metavar="COMMAND", help="instead of .venv/bin/fairdrop")
    parser.add_argument("--exact-red", action="store_true", help="the slower RED of ns-2, whose results equal ours")
    parser.add_argument("--ns2", metavar="COMMAND", help="instead of ns2 or ns on PATH")
    parser.add_argument("--ns3-python", metavar="PYTHON", default=sys.executable, help="a Python that has ns3")
    parser.add_argument("--htsim", metavar="DIR", help="checkout of htsim, its library built")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error("--runs must be at least 1")
    return args


def main() -> int:
    args = arguments()
    try:
        rows = measure(args)
    except (PeerError, OSError, KeyError, ValueError) as error:
        print(f"\nbench_peers: {error}", file=sys.stderr)
        return 1
    print_table(rows)
    if args.json is not None:
        args.json.write_text(json.dumps(document(args, rows), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
