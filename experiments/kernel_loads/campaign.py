"""Measure queue disciplines of a Linux kernel in a guest, and those of the library in the simulator, on many loads.

The kernel runs in a virtual machine whose time is counted in instructions, so the load of this machine changes no
result. A boot takes one discipline through several loads, with fresh instances on each: deleted and added again, so
that a hash is drawn anew. Its rows are stored when it ends; what is stored is not run again. Boots are in an order in
which a campaign that ends early has every discipline on fewer loads.
"""

from __future__ import annotations

import csv
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairdrop
from experiments import ROOT
from experiments.digests import Row, arguments, as_csv, read, store

# The virtual machine is that of `make qdisc-smoke`.
sys.path.append(str(ROOT / "scripts"))

import qdisc_smoke
import qdisc_vm
from qdisc_vm import Missing

DIGEST = Path(__file__).with_name("loads.csv.xz")
GUEST = ROOT / "tests" / "bpf" / "guest_loads.sh"
NETWORK = GUEST.with_name("guest_network.sh")
FLOWS = GUEST.with_name("guest_flows.c")
MODULES = ("sch_pie", "sch_fq_pie", "sch_codel", "sch_cake")
KEYS = ("place", "discipline", "load", "instance")
COLUMNS = (*KEYS, "udp", "udp_lost", "tcp", "delay_ms", "kernel")
PACKET = 1000  # bytes of IP; a frame has 14 more
FRAME = PACKET + 14
# Of a segment: 12 of the packet's bytes are options.
SEGMENT = PACKET - 52
SECONDS = 3600.0


@dataclass(frozen=True)
class Load:
    """TCP flows and one UDP flow over a link."""

    link_kbps: int
    flows: int
    rtt_ms: int
    udp_kbps: int

    def __str__(self) -> str:
        return f"{self.link_kbps}:{self.flows}:{self.rtt_ms}:{self.udp_kbps}"


@dataclass(frozen=True)
class Discipline:
    """A discipline in the words of the simulator and of the guest; `bpf`: a program of this project."""

    library: str
    settings: str
    words: str
    bpf: bool = False


@dataclass(frozen=True)
class Part:
    """Loads that one boot measures in turn."""

    loads: tuple[Load, ...]
    discipline: str
    instances: int
    warm_up_s: int
    measured_s: int


# burst 150 is w_q = 2^-9 in tc's rule.
_BURST = "probability 0.02 burst 150 bandwidth 1mbit"
_CHOKE = f"limit 300 min 30 max 90 avpkt {FRAME} {_BURST}"


def _tables(discipline: str, *settings: str) -> str:
    return "\n".join([f"[queue.{discipline}]", *settings])


_LINUX = 'linux = "6.12"'
_RED = ('min_th = "30p"', 'max_th = "90p"', "max_p = 0.02", f"w_q = {2**-9}", f'mean_packet_size = "{FRAME}B"')
_RING = ("[queue.choke_hardware]", 'addresses = "linux_6.12"', "list_limit = 512")
_SFB = ("levels = 8", "bins = 16", 'full = "all"', "increment = 0.00050355", "decrement = 0.0000457771")
# Linux limits CAKE by memory, 4 MB of it, of which a packet has 2304 bytes.
CAKE_LIMIT = 1820
KERNEL = {
    "sfb": Discipline("sfb", _tables("sfb", *_SFB, _LINUX), "limit 300"),
    "choke": Discipline(
        "choke_hardware",
        "\n".join([*_RING, _tables("red", *_RED)]),
        _CHOKE,
    ),
    "red": Discipline(
        "red",
        _tables("red", *_RED, _LINUX),
        f"limit {300 * FRAME} min {30 * FRAME} max {90 * FRAME} avpkt {FRAME} {_BURST}",
    ),
    "codel": Discipline("codel", _tables("codel", 'mtu = "1514B"', _LINUX), "limit 300"),
    "fq_codel": Discipline("fq_codel", _tables("codel", 'mtu = "1514B"', _LINUX), "limit 300"),
    "pie": Discipline("pie", _tables("pie", 'mean_packet_size = "1514B"', _LINUX), "limit 300"),
    "fq_pie": Discipline("fq_pie", _tables("pie", 'mean_packet_size = "1514B"', _LINUX), "limit 300"),
    "cake": Discipline("cake", _tables("cake", _LINUX), "besteffort"),
}
# This project's, whose limits are of packets.
PROGRAMS = {
    "bpf_red": Discipline("red", _tables("red", *_RED), f"limit 300p min 30p max 90p avpkt {FRAME} {_BURST}", True),
    "bpf_choke": Discipline("choke", _tables("red", *_RED), _CHOKE, True),
    "bpf_chokew": Discipline("chokew", "[queue.chokew]\nweights = [1.0]", "limit 300 weights 1", True),
    "bpf_ward": Discipline("ward", "", "limit 300", True),
    "bpf_collar": Discipline("collar_integer", "", "limit 300", True),
}
DISCIPLINES = KERNEL | PROGRAMS
# Rows of five, each of which is a boot.
LOADS = (
    tuple(Load(1000, 32, 6, rate) for rate in (100, 300, 1100, 3000, 10_000)),
    tuple(Load(1000, 8, 40, rate) for rate in (50, 150, 500, 1300, 3500)),
    tuple(Load(1500, 4, 100, rate) for rate in (50, 200, 500, 1200, 4000)),
    tuple(Load(2000, 16, 40, rate) for rate in (100, 400, 1500, 2500, 6000)),
)
RATES = tuple(Load(1000, 32, 6, rate) for rate in (100, 300, 1000, 3000, 10_000))
INSTANCES = 10
WARM_UP_S, MEASURED_S = 5, 12
# The lengths of experiments/kernel_shares, for what it has not measured.
LONG = (40, 100)


def parts() -> Iterator[Part]:
    """Boots in the order in which they are made: every discipline of the kernel has ten loads before one has more."""
    for number, loads in enumerate(LOADS):
        for name in KERNEL:
            yield Part(loads, name, INSTANCES, WARM_UP_S, MEASURED_S)
        if number == 1:
            for name, instances in (("bpf_ward", 3), ("bpf_chokew", 3), ("sfb", 1), ("fq_codel", 1)):
                yield Part(RATES, name, instances, *LONG)
    for name in PROGRAMS:
        yield Part(LOADS[0], name, INSTANCES, WARM_UP_S, MEASURED_S)


def keys(part: Part, place: str) -> list[tuple[str, ...]]:
    """Of the rows of a part; loads of another length have their length in their name."""
    return [
        (place, part.discipline, named(part, load), str(instance))
        for load in part.loads
        for instance in range(1, part.instances + 1)
    ]


def named(part: Part, load: Load) -> str:
    """The load, with the seconds that are measured."""
    return f"{load}:{part.warm_up_s}+{part.measured_s}"


def scenario(part: Part, discipline: Discipline, load: Load, seed: int) -> str:
    """The scenario that the guest is set up as."""
    # tc's shaper saves a packet's tokens. A program is its own shaper, and asks an empty queue, as a transmitter does.
    bucket = "" if discipline.bpf else 'token_bucket = "1514B"'
    limit = CAKE_LIMIT if discipline.library == "cake" else 300
    return f"""
schema = "fairdrop/scenario/1"
name = "kernel"
duration = "{part.warm_up_s + part.measured_s}s"
warm_up = "{part.warm_up_s}s"
seed = {seed}

[dumbbell]
rate = "{load.link_kbps}kbit"
delay = "{load.rtt_ms / 2}ms"
access_delay = "0s"
access_rate = "10gbit"
{bucket}

[queue]
discipline = "{discipline.library}"
limit = "{limit}p"
{discipline.settings}

[[groups]]
name = "tcp"
transport = "reno"
era = "linux"
timer_wheel = true
retrans_leak = true
count = {load.flows}
packet_size = "{FRAME}B"
start_spread = "0s"
source_host = "src"
destination_host = "dst"

[[groups]]
name = "udp"
transport = "cbr"
rate = "{round(load.udp_kbps * FRAME)}bit"
packet_size = "{FRAME}B"
start_spread = "0s"
source_host = "src"
destination_host = "dst"
"""


def simulated(part: Part) -> Iterator[Row]:
    """In the simulator, whose packets are frames."""
    for key in keys(part, "simulator"):
        _, name, load, instance = key
        [where] = [one for one in part.loads if named(part, one) == load]
        text = scenario(part, DISCIPLINES[name], where, int(instance))
        result = fairdrop.Scenario(text, "kernel", []).run(1, threads=1)
        groups = {row["group"]: row for row in result.groups.rows()}
        waits = {
            group["name"]: group["sojourn_s"]["mean"] for group in result.document["runs"][0]["queues"][0]["groups"]
        }
        kbps = {group: row["throughput_bps"] / 1000 * PACKET / FRAME for group, row in groups.items()}
        yield dict(zip(KEYS, key, strict=True)) | {
            "udp": kbps["udp"],
            # As in the guest: of the packets sent, those that did not arrive in the same time.
            "udp_lost": 1 - kbps["udp"] / where.udp_kbps,
            "tcp": kbps["tcp"],
            "delay_ms": 1000 * waits["udp"] + on_the_way_ms(DISCIPLINES[name], where) if kbps["udp"] else None,
        }


def on_the_way_ms(discipline: Discipline, load: Load) -> float:
    """What a packet takes beside its wait: half a round trip, and behind a transmitter its transmission."""
    return load.rtt_ms / 2 + (8 * FRAME / load.link_kbps if discipline.bpf else 0)


def sender() -> Path:
    """The program that sends and counts in the guest, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Missing("there is no C compiler (Debian package gcc)")
    program = qdisc_vm.CACHE / "flows"
    subprocess.run([compiler, "-O2", "-o", program, FLOWS], check=True)
    return program


def in_a_guest(part: Part) -> list[Row]:
    """In the kernel: every load of a part, in one boot."""
    name, discipline = part.discipline, DISCIPLINES[part.discipline]
    variables = {
        "KIND": "bpf" if discipline.bpf else "kernel",
        "NAME": name.removeprefix("bpf_"),
        "OPTIONS": discipline.words,
        "INSTANCES": part.instances,
        "WARM": part.warm_up_s,
        "MEASURED": part.measured_s,
        "LOADS": " ".join(map(str, part.loads)),
    }
    begin = "".join(f"{variable}='{value}'\n" for variable, value in variables.items())
    script = begin + NETWORK.read_text() + GUEST.read_text()
    files = {"bin/flows": sender()} | (qdisc_smoke.files() if discipline.bpf else {})
    kernel = qdisc_vm.fetch()
    qdisc_vm.MODULES = tuple(dict.fromkeys((*qdisc_vm.MODULES, *MODULES)))
    ended = qdisc_vm.boot(kernel, script, files, seconds=SECONDS, counted=True)
    log = qdisc_vm.CACHE / "lab" / f"loads-{name}-{named(part, part.loads[0])}.log".replace(":", "-")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(ended.lines) + "\n")
    if ended.status != 0 or any("FAILED" in line for line in ended.lines):
        raise RuntimeError(f"the guest did not come to its end; its lines are in {log}")
    return [row | {"kernel": kernel.version} for row in found(part, ended.lines)]


def found(part: Part, lines: list[str]) -> Iterator[Row]:
    """Rows of a guest's lines."""
    names = {str(load): named(part, load) for load in part.loads}
    load = instance = ""
    for line in lines:
        word, *rest = line.split()[:5] or [""]
        if word == "LOAD":
            load, instance = rest
        elif word == "RUN":
            sent, received, octets, delay_us = (float(number) for number in rest)
            yield {
                "place": "guest",
                "discipline": part.discipline,
                "load": names[load],
                "instance": instance,
                "udp": received * PACKET * 8 / part.measured_s / 1000,
                "udp_lost": 1 - received / sent,
                "tcp": octets * PACKET / SEGMENT * 8 / part.measured_s / 1000,
                "delay_ms": delay_us / 1000 if received else None,
            }


class Store:
    """Finished rows: those of the digest, and those of a file that new ones are appended to."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.rows = {self.key(row): row for row in [*read(DIGEST), *read(work)]}

    @staticmethod
    def key(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in KEYS)

    def lacks(self, wanted: list[tuple[str, ...]]) -> bool:
        return any(key not in self.rows for key in wanted)

    def add(self, rows: list[Row]) -> None:
        self.work.parent.mkdir(parents=True, exist_ok=True)
        new = not self.work.exists()
        with self.work.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            if new:
                writer.writeheader()
            for row in rows:
                text = {
                    name: f"{value:.4g}" if isinstance(value, float) else str(value)
                    for name, value in row.items()
                    if value is not None
                }
                if self.key(text) not in self.rows:
                    writer.writerow(text)
                    self.rows[self.key(text)] = text


def main() -> None:
    parser = arguments((__doc__ or "").splitlines()[0], "kernel_loads")
    parser.add_argument("--keep", action="store_true", help=f"write all rows to {DIGEST.name}")
    parser.add_argument("--place", choices=("simulator", "guest"), help="one place alone")
    parser.add_argument("--only", nargs="*", metavar="DISCIPLINE", help="these disciplines alone")
    options = parser.parse_args()
    # The guest ends with the campaign.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rows = Store(options.store)
    if options.place != "guest":
        for part in parts():
            if not options.only or part.discipline in options.only:
                rows.add(list(simulated(part)) if rows.lacks(keys(part, "simulator")) else [])
    try:
        qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
        for part in parts() if options.place != "simulator" else ():
            if options.only and part.discipline not in options.only:
                continue
            if rows.lacks(keys(part, "guest")):
                rows.add(in_a_guest(part))
                print(part.discipline, named(part, part.loads[0]), flush=True)
    except Missing as reason:
        print(f"qdisc-loads: skipped: {reason}")
    if options.keep:
        store(DIGEST, as_csv(sorted(rows.rows.values(), key=Store.key)))


if __name__ == "__main__":
    main()
