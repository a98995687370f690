"""The same dumbbell in ns-2 and here: laws of the results over seeds, load by load."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from matplotlib.figure import Figure

import fairdrop
from experiments import ROOT
from experiments.validation.checks import Check, Section, interval, same_law
from fairdrop.plot.colours import BLUE, VERMILLION
from fairdrop.plot.style import styled, svg_bytes

SCRIPT = ROOT / "benches" / "peers" / "ns2" / "dumbbell.tcl"
QUEUES = ("red", "droptail")
# TCP flows and the rate of the one UDP flow, bit/s; 0 for none.
LOADS = ((8, 0), (32, 0), (32, 500_000), (32, 2_000_000))
DURATION_S, WARM_UP_S = 200, 40
# A Kolmogorov-Smirnov test rejects equal laws with this probability; means may differ by this much of the link.
LEVEL = 0.001
PRACTICAL = 0.01

SCENARIO = """
name = "peer"
duration = "{duration}s"
warm_up = "{warm_up}s"
sample = "0s"

[dumbbell]
rate = "1mbit"
delay = "1ms"
access_rate = "10mbit"
access_delay = "1ms"

[queue]
discipline = "{queue}"
limit = "300p"

[queue.red]
min_th = "30p"
max_th = "60p"
ns2_compat = true

[[groups]]
name = "tcp"
transport = "reno"
count = {tcp}
packet_size = "1000B"
max_window = "300p"
era = "ns2-1998"
"""

UDP = """
[[groups]]
name = "udp"
transport = "cbr"
rate = "{rate}bit"
jitter = 0.5
packet_size = "1000B"
access_rate = "10mbit"
"""

Sample = dict[str, list[float]]


def ours(queue: str, tcp: int, udp_bps: int, seeds: int) -> Sample:
    text = SCENARIO.format(duration=DURATION_S, warm_up=WARM_UP_S, queue=queue, tcp=tcp)
    text += UDP.format(rate=udp_bps) if udp_bps else ""
    result = fairdrop.Scenario(text, "validation").run(seeds=seeds)
    sample: Sample = {"utilisation": [row["utilisation"] for row in result.queues.rows()]}
    by_seed: dict[int, list[float]] = {}
    for row in result.flows.rows():
        by_seed.setdefault(row["seed"], []).append(row["throughput_bps"])
    for flows in by_seed.values():
        add_flows(sample, flows[:tcp], flows[tcp:])
    return sample


def theirs(command: str, queue: str, tcp: int, udp_bps: int, seeds: int) -> Sample:
    options = {
        "queue": queue,
        "tcp_flows": tcp,
        "udp_flows": int(udp_bps > 0),
        "udp_rate": max(udp_bps, 1),
        "udp_random": 1,
        "min_th": 30,
        "max_th": 60,
        "use_mark_p": 0,
        "timerfix": 0,
        "duration": DURATION_S,
        "warm_up": WARM_UP_S,
        "measure": 2,
        "scheduler": "List",
    }
    words = [word for name, value in options.items() for word in (f"-{name}", str(value))]

    def run(seed: int) -> dict[str, Any]:
        argv = [command, str(SCRIPT), *words, "-seed", str(seed)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=600)
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    sample: Sample = {"utilisation": []}
    with ThreadPoolExecutor(2) as pool:
        for report in pool.map(run, range(1, seeds + 1)):
            if report["access_drops"] != 0:
                raise RuntimeError(f"ns-2 lost {report['access_drops']} packets on access links")
            scale = 8.0 / (DURATION_S - WARM_UP_S)
            flows = report["flows"]
            rates = {kind: [f["bytes"] * scale for f in flows if f["kind"] == kind] for kind in ("tcp", "udp")}
            sample["utilisation"].append(report["utilisation"])
            add_flows(sample, rates["tcp"], rates["udp"])
    return sample


def add_flows(sample: Sample, tcp: list[float], udp: list[float]) -> None:
    """Adds one run: totals as shares of the link, and the spread among TCP flows (standard deviation / mean)."""
    mean = sum(tcp) / len(tcp)
    spread = (sum((rate - mean) ** 2 for rate in tcp) / len(tcp)) ** 0.5 / mean if mean > 0 else 0.0
    sample.setdefault("tcp share", []).append(sum(tcp) / 1e6)
    sample.setdefault("udp share", []).append(sum(udp) / 1e6)
    sample.setdefault("spread among tcp", []).append(spread)


def installed() -> str | None:
    """The command of ns-2."""
    return shutil.which("ns2") or shutil.which("ns")


def section(seeds: int) -> Section | None:
    """None when ns-2 is not installed."""
    command = installed()
    if command is None:
        return None
    checks: list[Check] = []
    figures: dict[str, tuple[Sample, Sample]] = {}
    for queue in QUEUES:
        for tcp, udp_bps in LOADS:
            label = f"{queue}, {tcp} TCP" + (f", UDP {udp_bps / 1e6:g} Mb/s" if udp_bps else "")
            pair = ours(queue, tcp, udp_bps, seeds), theirs(command, queue, tcp, udp_bps, seeds)
            figures[label] = pair
            measures = ["utilisation", "tcp share", "spread among tcp"] + (["udp share"] if udp_bps else [])
            checks += [compare(f"{label}: {measure}", pair[0][measure], pair[1][measure]) for measure in measures]
    text = (
        "The dumbbell of the peers (1 Mb/s, 6 ms, TCP Reno, RED 30/60 in its form of 1993 with ns-2's exceptions, or "
        f"DropTail), {seeds} seeds each, in Debian's ns-2 and here. Generators differ, so laws over seeds are "
        "compared, not runs. A check holds when a two-sample Kolmogorov-Smirnov test does not reject equal laws at "
        f"{LEVEL}, or when the means differ by less than {PRACTICAL:.0%} of the link (which a test with enough seeds "
        "would still distinguish). Times between UDP packets vary by half either way in both, so that no phase locks."
    )
    return Section("Beside ns-2", text, checks, [svg_bytes(draw(figures))])


def compare(name: str, mine: list[float], peers: list[float]) -> Check:
    statistic, p_value = same_law(mine, peers)
    # The spread is no share of anything: there only the test speaks.
    is_share = not name.endswith("spread among tcp")
    close = is_share and abs(sum(mine) / len(mine) - sum(peers) / len(peers)) < PRACTICAL
    why = f"KS {statistic:.2f}, p = {p_value:.2g}" + (f"; means within {PRACTICAL:.0%} of the link" if close else "")
    return Check(name, f"ns-2 {interval(peers)}", str(interval(mine)), p_value > LEVEL or close, why)


@styled
def draw(figures: dict[str, tuple[Sample, Sample]]) -> Figure:
    figure = Figure(figsize=(9.0, 4.2))
    grid = figure.subplots(2, len(LOADS), sharey=True)
    for axes, (label, (mine, peers)) in zip(grid.flat, figures.items(), strict=True):
        for sample, colour, style, name in ((peers, VERMILLION, "--", "ns-2"), (mine, BLUE, "-", "fairdrop")):
            values = sorted(sample["tcp share"])
            heights = [(index + 1) / len(values) for index in range(len(values))]
            axes.step(values, heights, where="post", color=colour, ls=style, label=name)
        axes.set_title(label, fontsize=8)
        axes.set_xlim(-0.02, 1.02)
    for axes in grid[:, 0]:
        axes.set_ylabel("fraction of seeds")
    for axes in grid[-1, :]:
        axes.set_xlabel("TCP's share of the link")
    grid[0, 0].legend()
    return figure
