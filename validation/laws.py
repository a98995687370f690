"""Throughput of one TCP under independent random loss against the laws of Mathis and of Padhye."""

from __future__ import annotations

import math

import fairdrop
from matplotlib.figure import Figure

from checks import Check, Interval, Section, interval
from fairdrop.plot.colours import BLUE, GREEN, INK, MUTED, VERMILLION
from fairdrop.plot.style import svg_bytes, styled

LOSSES = (0.0005, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
RTT_S = 0.1
MIN_RTO_S = 0.2
# Below this loss nearly every recovery is a fast one, and the square-root law is a law of the same thing.
SQUARE_ROOT_UP_TO = 0.005
TOLERANCE = 0.15
TRANSPORTS = {"reno": VERMILLION, "newreno": BLUE, "sack": GREEN}

SCENARIO = """
name = "law"
duration = "{duration}s"
warm_up = "{warm_up}s"
sample = "0s"

[[links]]
name = "lossy"
from = "a"
to = "b"
rate = "1gbit"
delay = "50ms"
loss = {loss}

[[links]]
name = "back"
from = "b"
to = "a"
rate = "1gbit"
delay = "50ms"

[queue]
discipline = "droptail"
limit = "100000p"

[[groups]]
name = "tcp"
transport = "{transport}"
count = 20
packet_size = "1000B"
max_window = "100000p"
era = "modern"
delayed_ack = false
tick = "1ms"
min_rto = "{min_rto}s"
from = "a"
to = "b"
access_rate = "unlimited"
access_delay = "0s"
"""


def square_root(loss: float, rtt_s: float) -> float:
    """Mathis, Semke, Mahdavi, Ott 1997, equation 3 with an ACK for every segment: segments per second."""
    return math.sqrt(1.5 / loss) / rtt_s


def padhye(loss: float, rtt_s: float, rto_s: float) -> float:
    """Padhye, Firoiu, Towsley, Kurose 1998, equation 30 with b = 1 and no window limit: segments per second."""
    timeouts = rto_s * min(1.0, 3.0 * math.sqrt(3.0 * loss / 8.0)) * loss * (1.0 + 32.0 * loss**2)
    return 1.0 / (rtt_s * math.sqrt(2.0 * loss / 3.0) + timeouts)


def sent_per_s(transport: str, loss: float, seeds: int, duration: float) -> Interval:
    """Segments per second that one flow sends, retransmissions too: what both laws predict."""
    text = SCENARIO.format(
        duration=duration, warm_up=duration / 10, loss=loss, transport=transport, min_rto=MIN_RTO_S
    )
    result = fairdrop.Scenario(text, "validation").run(seeds=seeds)
    by_seed: dict[int, list[float]] = {}
    for row in result.flows.rows():
        delivered = row["throughput_bps"] / 8000.0
        by_seed.setdefault(row["seed"], []).append(delivered / (1.0 - loss))
    return interval([sum(flows) / len(flows) for flows in by_seed.values()])


def section(seeds: int, scale: float) -> Section:
    checks: list[Check] = []
    found: dict[str, list[tuple[float, Interval]]] = {}
    for transport in TRANSPORTS:
        for loss in LOSSES:
            rate = sent_per_s(transport, loss, seeds, 2000 * scale)
            found.setdefault(transport, []).append((loss, rate))
            law = square_root if loss <= SQUARE_ROOT_UP_TO else padhye
            expected = square_root(loss, RTT_S) if law is square_root else padhye(loss, RTT_S, MIN_RTO_S + RTT_S)
            name = f"{transport}, loss {loss:.2%}: segments/s ({'square root' if law is square_root else 'PFTK'})"
            checks.append(Check(name, f"{expected:.4g}", str(rate), rate.near(expected, TOLERANCE)))
    text = (
        "Twenty flows, each alone as far as it can tell, on a link of 1 Gb/s and 100 ms round trip that loses packets "
        "independently of each other. Up to 0.5 % loss the rate is compared with the square-root law, above with the "
        "formula of Padhye et al., whose time-out is taken as the floor of the timer plus one round trip. Both are "
        f"approximations (deterministic or averaged windows): a check holds within {TOLERANCE:.0%}. Losses hit single "
        "packets here, where the formula assumes that the rest of the round is lost too: measured rates above it at high "
        "loss are expected, most of all with SACK."
    )
    return Section("Throughput laws of TCP", text, checks, [svg_bytes(draw(found))])


@styled
def draw(found: dict[str, list[tuple[float, Interval]]]) -> Figure:
    figure = Figure(figsize=(6.0, 3.6))
    axes = figure.subplots()
    grid = [LOSSES[0] * (LOSSES[-1] / LOSSES[0]) ** (step / 60) for step in range(61)]
    axes.plot(grid, [square_root(p, RTT_S) for p in grid], color=MUTED, lw=1, ls="--", label="square-root law")
    axes.plot(grid, [padhye(p, RTT_S, MIN_RTO_S + RTT_S) for p in grid], color=INK, lw=1, label="Padhye et al.")
    for marker, (transport, rows) in zip("osD", found.items(), strict=True):
        axes.errorbar(
            [loss for loss, _ in rows],
            [rate.mean for _, rate in rows],
            [rate.half for _, rate in rows],
            fmt=marker,
            ms=4,
            color=TRANSPORTS[transport],
            label=transport,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("probability that a packet is lost")
    axes.set_ylabel("segments sent, 1/s")
    axes.set_title("One TCP under random loss")
    axes.legend()
    return figure
