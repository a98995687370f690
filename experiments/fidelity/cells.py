"""What is compared: disciplines, congestion controls and rates of UDP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUMMARY = HERE / "summary.csv.xz"
SEEDS = (1, 2, 3, 4, 5)
SEEDS_OF_VARIANTS = SEEDS[:3]
RATES_KBPS = (100, 500, 1000, 3000, 10000)
"""The rates that the text of the CHOKe paper names for figure 5."""
CONTROLS = ("reno", "cubic")

_CHOKE = "queue.discipline=choke"
_FIGURE_3 = ("queue.red.min_th=100p", "queue.red.max_th=200p")
SCHEMES: dict[str, tuple[str, ...]] = {
    "droptail": ("queue.discipline=droptail",),
    "red": ("queue.discipline=red",),
    "choke-1": (_CHOKE, "queue.choke.candidates=1"),
    "choke-2": (_CHOKE, "queue.choke.candidates=2"),
    "choke-3": (_CHOKE, "queue.choke.candidates=3"),
    "chokew": (),
    # The buffer is the only number to choose: four packets for each flow, as in its paper.
    "ward": ("queue.discipline=ward", "queue.limit=132p"),
    "fq_codel": ("queue.discipline=fq_codel",),
}
# DropTail has no thresholds: at figure 3's rate it is run once.
FIGURE_3: dict[str, tuple[str, ...]] = {
    "droptail": SCHEMES["droptail"],
    "red": (*SCHEMES["red"], *_FIGURE_3),
    "choke-1": (*SCHEMES["choke-1"], *_FIGURE_3),
}
FIGURE_3_KBPS = 2000


@dataclass(frozen=True)
class Cell:
    """A scenario."""

    figure: str
    scheme: str
    control: str
    rate_kbps: int
    settings: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.figure}-{self.scheme}-{self.control}-{self.rate_kbps}"

    @property
    def scenario(self) -> Path:
        return HERE / ("two-classes.toml" if self.scheme == "chokew" else "one-class.toml")

    @property
    def tcp_groups(self) -> tuple[str, ...]:
        return ("low", "high") if self.scheme == "chokew" else ("tcp",)

    @property
    def all_settings(self) -> list[str]:
        controls = [f"groups.{group}.transport={self.control}" for group in self.tcp_groups]
        return [*self.settings, *controls, f"groups.udp.rate={self.rate_kbps}kbit"]


def cells() -> list[Cell]:
    """All of them: figure 5's sweep, then figure 3."""
    sweep = [
        Cell("fig5", scheme, control, rate, settings)
        for control in CONTROLS
        for scheme, settings in SCHEMES.items()
        for rate in RATES_KBPS
    ]
    bars = [
        Cell("fig3", scheme, control, FIGURE_3_KBPS, settings)
        for control in CONTROLS
        for scheme, settings in FIGURE_3.items()
    ]
    return sweep + bars


RAW = Path("results") / "fidelity"
# Runs with real hosts: as they are, and with one thing of the kernel's TCP switched off.
LIVE: dict[str, tuple[str, ...]] = {
    "live": (),
    "live without SACK": ("net.ipv4.tcp_sack=0",),
    "live without timestamps": ("net.ipv4.tcp_timestamps=0",),
    "live without tail probes": ("net.ipv4.tcp_early_retrans=0",),
    "live, smallest timeout 1 s": ("net.ipv4.tcp_rto_min_us=1000000",),
    "live without SACK, smallest timeout 1 s": ("net.ipv4.tcp_sack=0", "net.ipv4.tcp_rto_min_us=1000000"),
}
# Simulations: as the scenario says, and with something of the hosts otherwise; TCP's unless a group is named.
SIMULATED: dict[str, tuple[str, ...]] = {
    "simulated": (),
    "simulated with SACK": ("transport=sack",),
    "simulated NewReno": ("transport=newreno",),
    "simulated NewReno, smallest timeout 0.2 s": ("transport=newreno", "min_rto=200ms"),
    "simulated with SACK, delayed ACKs": ("transport=sack", "delayed_ack=true"),
    "simulated with SACK, smallest timeout 0.2 s": ("transport=sack", "min_rto=200ms"),
    "simulated with SACK, largest timeout 4 s": ("transport=sack", "max_rto=4s"),
    "simulated with SACK, ACKs of 52 bytes": ("transport=sack", "ack_size=52B"),
    "simulated with SACK, initial window 2": ("transport=sack", "initial_window=2p"),
    "simulated with SACK, UDP jittered": ("transport=sack", "groups.udp.jitter=0.5"),
    "simulated with SACK, UDP jittered, largest timeout 4 s": (
        "transport=sack",
        "groups.udp.jitter=0.5",
        "max_rto=4s",
    ),
    "simulated as of 1998": ("era=ns2-1998",),
    "simulated as Linux": ("era=linux",),
    "simulated as Linux, without RACK": ("era=linux", "rack=false"),
    "simulated as Linux, without tail probes": ("era=linux", "tlp=false"),
    "simulated as Linux, without PRR": ("era=linux", "prr=false"),
    "simulated as Linux, without F-RTO": ("era=linux", "frto=false"),
    "simulated as Linux, without timestamps": ("era=linux", "timestamps=false"),
    "simulated as Linux, without quick ACKs": ("era=linux", "quick_ack=false"),
    "simulated as Linux, every segment acknowledged": ("era=linux", "delayed_ack=false"),
    "simulated as Linux, timer wheel": ("era=linux", "timer_wheel=true"),
    "simulated as Linux, smallest timeout 1 s": ("era=linux", "min_rto=1s"),
    "simulated as Linux, ACKs of 40 bytes": ("era=linux", "ack_size=40B"),
    "simulated as Linux, UDP jittered": ("era=linux", "groups.udp.jitter=0.5"),
}
AS_LINUX = "simulated as Linux"
# Runs of all cells; the others are experiments on causes, of some.
WITH_WHEEL = f"{AS_LINUX}, timer wheel"
OF_ALL = ("live", "simulated", "simulated with SACK", AS_LINUX, WITH_WHEEL)
EXPLAINED = (("droptail", 3000), ("red", 100), *((scheme, 1000) for scheme in SCHEMES))


def explained() -> list[Cell]:
    """The cells in which causes are looked for."""
    return [cell for cell in cells() if (cell.scheme, cell.rate_kbps) in EXPLAINED and cell.control == "reno"]
