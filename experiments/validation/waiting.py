"""Waiting times of M/M/1, M/D/1 and M/G/1 queues against Pollaczek and Khinchine."""

from __future__ import annotations

from matplotlib.figure import Figure

import fairdrop
from experiments.validation.checks import Check, Interval, Section, interval
from experiments.validation.drawing import logarithmic
from fairdrop.plot.colours import BLUE, INK, VERMILLION
from fairdrop.plot.style import styled, svg_bytes

LOADS = (0.3, 0.5, 0.7, 0.9)
# The interval is that of the replications; this much is left for the bias of starting with an empty queue.
BIAS = 0.005
RATE_BPS = 1_000_000.0
SMALL_B, LARGE_B = 200, 1500

SCENARIO = """
name = "waiting"
duration = "{duration}s"
warm_up = "{warm_up}s"
sample = "0s"

[dumbbell]
rate = "1mbit"
delay = "1ms"
access_delay = "0ms"

[queue]
discipline = "droptail"
limit = "100000p"
"""

GROUP = """
[[groups]]
name = "{name}"
transport = "poisson"
rate = "{rate}bit"
packet_size = "{size}B"
access_rate = "1tbit"
"""


def pollaczek_khinchine(load: float, mean_s: float, second_moment_s2: float) -> float:
    """Mean wait before service of M/G/1 in seconds; ``second_moment_s2`` is that of the service time."""
    return load / mean_s * second_moment_s2 / (2.0 * (1.0 - load))


def mean_wait(groups: dict[int, float], seeds: int, duration: float) -> Interval:
    """Mean wait in s at a 1 Mb/s link with Poisson arrivals: ``groups`` maps packet size to load."""
    text = SCENARIO.format(duration=duration, warm_up=duration / 100)
    for size, load in groups.items():
        text += GROUP.format(name=f"size_{size}", rate=int(load * RATE_BPS), size=size)
    result = fairdrop.Scenario(text, "validation").run(seeds=seeds)
    return interval([row["sojourn_mean_s"] for row in result.queues.rows()])


def markov(load: float, seeds: int, arrivals: int) -> Interval:
    """M/M/1 in the queue host: mean number in the system."""
    settings = ["queue.discipline=droptail", "queue.limit=1000000p"]
    runs = [
        fairdrop.queue_host([load], arrivals=arrivals, seed=seed, settings=settings) for seed in range(1, seeds + 1)
    ]
    return interval([run["mean_packets"] for run in runs])


def section(seeds: int, scale: float) -> Section:
    checks: list[Check] = []
    points: dict[str, list[tuple[float, Interval, float]]] = {"M/D/1": [], "M/G/1": []}
    for load in LOADS:
        found = markov(load, seeds, int(2_000_000 * scale))
        expected = load / (1.0 - load)
        name = f"M/M/1, load {load}: packets in the system"
        checks.append(Check(name, f"{expected:.5g}", str(found), found.near(expected, BIAS)))
    duration = 20_000 * scale
    for load in LOADS:
        service = SMALL_B * 8 / RATE_BPS
        expected = pollaczek_khinchine(load, service, service**2)
        found = mean_wait({SMALL_B: load}, seeds, duration / 4)
        points["M/D/1"].append((load, found, expected))
    for load in LOADS:
        times = [size * 8 / RATE_BPS for size in (SMALL_B, LARGE_B)]
        rates = [load / 2 / time for time in times]
        mean = load / sum(rates)
        second = sum(rate * time**2 for rate, time in zip(rates, times, strict=True)) / sum(rates)
        expected = pollaczek_khinchine(load, mean, second)
        found = mean_wait({SMALL_B: load / 2, LARGE_B: load / 2}, seeds, duration)
        points["M/G/1"].append((load, found, expected))
    for law, rows in points.items():
        for load, found, expected in rows:
            name = f"{law}, load {load}: mean wait, s"
            checks.append(Check(name, f"{expected:.5g}", str(found), found.near(expected, BIAS)))
    text = (
        "Poisson arrivals at one queue. M/M/1 runs in the queue host (exponential service); M/D/1 (200-byte packets) "
        "and M/G/1 (half of the load in 200-byte, half in 1500-byte packets) run through the simulator's own link. "
        "The mean wait of M/G/1 is λ E[S²] / (2 (1 - ρ)) (Pollaczek, Khinchine). A check holds when the 95 % interval "
        f"over seeds, widened by {BIAS:.1%} for the empty start, holds the exact value."
    )
    return Section("Waiting times", text, checks, [svg_bytes(draw(points))])


@styled
def draw(points: dict[str, list[tuple[float, Interval, float]]]) -> Figure:
    figure = Figure(figsize=(6.0, 3.2))
    axes = figure.subplots()
    for number, (law, rows) in enumerate(points.items()):
        colour = (BLUE, VERMILLION)[number]
        axes.plot([load for load, _, _ in rows], [1e3 * exact for _, _, exact in rows], color=INK, lw=1, zorder=1)
        axes.errorbar(
            [load for load, _, _ in rows],
            [1e3 * found.mean for _, found, _ in rows],
            [1e3 * found.half for _, found, _ in rows],
            fmt="o" if number == 0 else "s",
            color=colour,
            label=law,
        )
    axes.set_xlabel("load")
    axes.set_ylabel("mean wait, ms")
    logarithmic(axes.yaxis, [0.5, 1, 2, 5, 10, 20])
    axes.set_title("Mean wait: simulated (marks) and exact (lines)")
    axes.legend()
    return figure
