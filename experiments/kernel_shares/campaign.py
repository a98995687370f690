"""Measure shares in a Linux kernel and in the simulator: 32 TCP flows and one UDP flow over a link of 1 Mb/s.

The kernel runs in a virtual machine whose time is counted in instructions, so the load of this machine changes no
result. There a discipline is one of the BPF programs, with a rate of its own, or the kernel's, below htb. A run is one
boot: instances differ by the random numbers of the kernel. Each finished run is a line of a file, written as soon as it
ends; what is in that file or in shares.csv is not run again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import fairdrop
from experiments import ROOT
from experiments.digests import Row, Runs, arguments

# The virtual machine is that of `make qdisc-smoke`.
sys.path.append(str(ROOT / "scripts"))

import qdisc_smoke
import qdisc_vm
from qdisc_vm import Missing

DIGEST = Path(__file__).with_name("shares.csv")
GUEST = ROOT / "tests" / "bpf" / "guest_shares.sh"
NETWORK = GUEST.with_name("guest_network.sh")
KEYS = ("place", "discipline", "udp_kbps", "seed")
MEASURES = ("udp", "udp_lost", "tcp", "kernel")
# `linux` is the simulator with the rules of the kernel.
PLACES = ("simulator", "linux", "bpf", "kernel")
SIMULATED = ("simulator", "linux")
RATES_KBPS = (100, 300, 1000, 3000, 10_000)
SEEDS = range(1, 4)
WARM_UP_S, MEASURED_S = 40, 100
PACKET = 1000  # bytes of IP; a frame has 14 more
FRAME = PACKET + 14
FRAME_OF_TC = 1514  # burst of the shaper, bytes
FLOWS = 32
SECONDS = 1800.0


@dataclass(frozen=True)
class Settings:
    """A discipline in the words of each place; none where it is not there."""

    simulator: str
    bpf: str | None = None
    kernel: str | None = None
    #: Parameters of the kernel's rules, below the name of the discipline that has them.
    linux: tuple[str, str] | None = None


# burst 300 is w_q = 2^-9 in both tc's rule and that of fairdropd.
_RED = "probability 0.1 burst 300 bandwidth 1mbit"
_PACKETS = f"limit 300p min 100p max 200p avpkt {FRAME} {_RED}"
_BYTES = f"limit {300 * FRAME} min {100 * FRAME} max {200 * FRAME} avpkt {FRAME} {_RED}"
_CHOKE = f"limit 300 min 100 max 200 avpkt {FRAME} {_RED}"
_SIMULATED_RED = f"""
[queue.red]
min_th = "100p"
max_th = "200p"
max_p = 0.1
w_q = {2**-9}
mean_packet_size = "{FRAME}B"
"""
_RULES = 'linux = "6.12"\n'
_RING = """
[queue.choke_hardware]
addresses = "linux_6.12"
list_limit = 512
"""
# tc's defaults.
_SFB = """
[queue.sfb]
levels = 8
bins = 16
full = "all"
increment = 0.00050355
decrement = 0.0000457771
"""
DISCIPLINES = {
    "droptail": Settings("", None, "pfifo limit 300", ("droptail", "")),
    "red": Settings(_SIMULATED_RED, _PACKETS, f"red {_BYTES}", ("red", f"{_SIMULATED_RED}{_RULES}")),
    "choke": Settings(_SIMULATED_RED, _CHOKE, f"choke {_CHOKE}", ("choke_hardware", f"{_RING}{_SIMULATED_RED}")),
    "chokew": Settings("[queue.chokew]\nweights = [1.0]\n", "limit 300 weights 1"),
    "ward": Settings("", "limit 300"),
    "collar_integer": Settings("", "limit 300"),
    "sfb": Settings("", None, "sfb limit 300", ("sfb", f"{_SFB}{_RULES}")),
    "fq_codel": Settings("", None, "fq_codel limit 300", ("fq_codel", f'[queue.codel]\nmtu = "1514B"\n{_RULES}')),
}


@dataclass(frozen=True)
class Task:
    """A run."""

    place: str
    discipline: str
    udp_kbps: int
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        return self.place, self.discipline, str(self.udp_kbps), str(self.seed)


def tasks() -> Iterator[Task]:
    """All runs; by replication: whenever the campaign ends, each set-up has as many."""
    for seed in SEEDS:
        for name, settings in DISCIPLINES.items():
            for place in PLACES:
                if getattr(settings, place) is not None:
                    for rate in RATES_KBPS:
                        yield Task(place, name, rate, seed)


def measure(task: Task) -> Row:
    """One run: kb/s of IP that arrive, of UDP and of all TCP flows, and the part of UDP that is lost."""
    key = dict(zip(KEYS, task.key, strict=True))
    return key | (simulated(task) if task.place in SIMULATED else in_a_guest(task))


def scenario(task: Task) -> str:
    """The scenario that the guest is set up as: its hosts have no links of their own, and its shapers send at once."""
    settings = DISCIPLINES[task.discipline]
    discipline, parameters = task.discipline, settings.simulator
    # tc's shaper saves a packet's tokens. A program is its own shaper, and asks an empty queue, as a transmitter does.
    bucket = "" if settings.bpf is not None else f'token_bucket = "{FRAME_OF_TC}B"'
    if task.place == "linux":
        assert settings.linux is not None
        discipline, parameters = settings.linux
        bucket = f'token_bucket = "{FRAME_OF_TC}B"'
    return f"""
schema = "fairdrop/scenario/1"
name = "kernel"
duration = "{WARM_UP_S + MEASURED_S}s"
warm_up = "{WARM_UP_S}s"
seed = {task.seed}

[dumbbell]
rate = "1mbit"
delay = "3ms"
access_delay = "0s"
access_rate = "10gbit"
{bucket}

[queue]
discipline = "{discipline}"
limit = "300p"
{parameters}
[[groups]]
name = "tcp"
transport = "reno"
era = "linux"
timer_wheel = true
retrans_leak = true
count = {FLOWS}
packet_size = "{FRAME}B"

[[groups]]
name = "udp"
transport = "cbr"
rate = "{round(task.udp_kbps * FRAME)}bit"
packet_size = "{FRAME}B"
"""


def simulated(task: Task) -> Row:
    """In the simulator, whose packets are frames."""
    result = fairdrop.Scenario(scenario(task), "kernel", []).run(1, threads=1)
    groups = {row["group"]: row for row in result.groups.rows()}
    kbps = {name: row["throughput_bps"] / 1000 * PACKET / FRAME for name, row in groups.items()}
    return {"udp": kbps["udp"], "tcp": kbps["tcp"], "udp_lost": groups["udp"]["drop_fraction"]}


def in_a_guest(task: Task) -> Row:
    """In the kernel."""
    words = getattr(DISCIPLINES[task.discipline], task.place)
    name = {"collar_integer": "collar"}.get(task.discipline, task.discipline)
    if task.place == "kernel":
        name, _, words = words.partition(" ")
    times = {"WARM": WARM_UP_S, "MEASURED": MEASURED_S}
    variables = {"KIND": task.place, "NAME": name, "OPTIONS": words, "RATES": task.udp_kbps, **times}
    begin = "".join(f"{variable}='{value}'\n" for variable, value in variables.items())
    kernel = qdisc_vm.fetch()
    script = begin + NETWORK.read_text() + GUEST.read_text()
    ended = qdisc_vm.boot(kernel, script, qdisc_smoke.files(), seconds=SECONDS, counted=True)
    log = qdisc_vm.CACHE / "lab" / f"shares-{'-'.join(task.key)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(ended.lines) + "\n")
    if ended.status != 0 or any(line.startswith("FAILED") for line in ended.lines):
        raise RuntimeError(f"the guest did not come to its end; its lines are in {log}")
    return found(ended.lines) | {"kernel": kernel.version}


def found(lines: list[str]) -> Row:
    """Rates between the two samples of a guest."""
    samples = [[part.split() for part in line.split("|")] for line in lines if line.startswith("SAMPLE ")]
    (sent, received, octets), (sent_later, received_later, octets_later) = (
        # Of the lines of proc_net_snmp(5): OutDatagrams, InDatagrams, InOctets.
        (int(source[3 + 4]), int(sink[1]), int(ip[7])) for source, sink, ip in samples
    )  # fmt: skip
    datagrams = received_later - received
    udp = datagrams * PACKET
    return {
        "udp": udp * 8 / MEASURED_S / 1000,
        "tcp": (octets_later - octets - udp) * 8 / MEASURED_S / 1000,
        "udp_lost": 1 - datagrams / (sent_later - sent),
    }


def main() -> None:
    parser = arguments((__doc__ or "").splitlines()[0], "kernel")
    parser.add_argument("--keep", action="store_true", help=f"add the runs to {DIGEST.name}")
    parser.add_argument("--only", default="", metavar="TEXT", help="runs whose key has this in it, such as bpf,choke")
    options = parser.parse_args()
    wanted = [task for task in tasks() if options.only in ",".join(task.key)]
    try:
        if any(task.place not in SIMULATED for task in wanted):
            qdisc_smoke.files()
            qdisc_vm.fetch()
            qdisc_vm.require("qemu-system-x86_64", "qemu-system-x86")
    except Missing as reason:
        sys.exit(f"qdisc-lab: {reason}")
    runs = Runs(DIGEST, options.store, KEYS, MEASURES)
    runs.make([(task.key, task) for task in wanted], measure, options.processes)
    if options.keep:
        runs.keep([task.key for task in wanted])
    for task in wanted:
        print(json.dumps(runs.done[task.key]))


if __name__ == "__main__":
    main()
