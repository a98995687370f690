"""Figures of docs/background, and the tables of its chapter on the leaky buffer: `make images`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import fairdrop
from experiments import DOCS, ROOT
from experiments.pages import Files, pages_with, table
from fairdrop.estimate import Estimate, estimate
from fairdrop.models import (
    ChokeLink,
    ConstantRate,
    NoEquilibriumError,
    Red,
    Responsive,
    asymptote,
    limit_profile,
    peak,
    peak_share,
    profile,
    share_curve,
    solve,
    tcp_equilibrium,
    tcp_sweep,
)
from fairdrop.plot import colours
from fairdrop.plot.frame import legend, note, plain_log
from fairdrop.plot.style import SMALL, styled

TARGET = DOCS / "background"
SCENARIO = ROOT / "scenarios" / "understanding-choke.toml"
C = 125.0
LINK: dict[str, Any] = {"capacity": C, "delay": 0.1, "min_th": 20.0, "max_th": 520.0, "max_p": 0.5}
RATIOS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
SEEDS = 5
HUES = (colours.SKY, colours.BLUE, colours.PURPLE, colours.VERMILLION, colours.OLIVE)


def pair(height: float) -> tuple[Figure, Axes, Axes]:
    """Two panels side by side."""
    figure = Figure(figsize=(9.0, height))
    left, right = figure.subplots(1, 2)
    return figure, left, right


def over_rates(axes: Axes, low: float, high: float) -> None:
    """A horizontal axis for the rate of UDP, on a logarithmic scale."""
    axes.set_xscale("log")
    plain_log(axes.xaxis, high / low)
    axes.set_xlim(low, high)
    axes.set_xlabel("rate of the UDP flow / capacity")
    axes.set_ylim(bottom=0)


@styled
def profiles() -> Figure:
    """Who is where in the queue for three UDP rates, and the limit of theorem 8."""
    figure, whose, speed = pair(3.7)
    handles: list[Artist] = []
    for index, ratio in enumerate((1.0, 10.0, 100.0)):
        found = profile(tcp_equilibrium(tcp_flows=32, udp_rate=ratio * C, **LINK))
        style: Any = {"color": HUES[index + 1], "linestyle": colours.DASHES[index]}
        whose.plot(found.y / found.length, 100 * found.rho[0], **style)
        speed.plot(found.y / found.length, found.v / C, **style)
        handles.append(Line2D([], [], **style))
    limit = asymptote(tcp_flows=32, **LINK)
    y = np.linspace(0.0, limit.b, 801)
    step = limit_profile(limit, y)
    whose.plot(y / limit.b, 100 * step.rho[0], color=colours.INK, linewidth=1.0)
    after = y >= limit.y_star
    speed.plot(y[after] / limit.b, step.v[after] / C, color=colours.INK, linewidth=1.0)
    handles.append(Line2D([], [], color=colours.INK, linewidth=1.0))
    whose.set_ylabel("% of packets at the position that are UDP")
    whose.set_ylim(0, 101)
    speed.set_yscale("log")
    plain_log(speed.yaxis, 60)
    speed.set_ylim(0.9, 60)
    speed.set_ylabel("speed / capacity")
    for axes in (whose, speed):
        axes.set_xlim(0, 1)
        axes.set_xlabel("position / length of the queue (0 tail, 1 head)")
    legend(figure, handles, ["UDP at c", "10 c", "100 c", "limit of an infinite rate"])
    note(figure, "N = 32 TCP flows. Right: what leaves at the head moves at c.")
    return figure


@styled
def shares() -> Figure:
    """UDP's share of the link and of the queue against its rate."""
    figure, link, queue = pair(3.7)
    rates = C * np.geomspace(0.1, 30.0, 70)
    handles: list[Artist] = []
    for index, flows in enumerate((12, 32, 100)):
        found = tcp_sweep(tcp_flows=flows, udp_rate=rates, **LINK)
        style: Any = {"color": HUES[index + 1], "linestyle": colours.DASHES[index]}
        link.plot(rates / C, 100 * found.mu[:, 0], **style)
        queue.plot(rates / C, 100 * found.h[:, 0], **style)
        handles.append(Line2D([], [], **style))
    curve = share_curve(np.geomspace(0.05, 12.0, 300))
    for axes, values in ((link, curve.mu), (queue, curve.h)):
        axes.plot(curve.load, 100 * values, color=colours.INK, linewidth=1.0)
        over_rates(axes, 0.1, 30.0)
    handles.append(Line2D([], [], color=colours.INK, linewidth=1.0))
    link.set_ylabel("UDP's share of the link, %")
    queue.set_ylabel("UDP's share of the queue, %")
    queue.set_ylim(0, 52)
    names = ["N = 12", "N = 32", "N = 100", "approximate curve, (18) to (22), against x0 (1 - r) / c"]
    legend(figure, handles, names)
    note(figure, "N TCP flows; full equations (3) to (9).")
    return figure


@styled
def peaks() -> Figure:
    """The largest share of UDP against the number of TCP flows, at two slopes of RED."""
    figure, share, drop = pair(3.5)
    counts = np.geomspace(10, 1000, 13)
    handles: list[Artist] = []
    for index, slope in enumerate((1e-3, 1e-4)):
        link = {**LINK, "max_th": 20.0 + 1.0 / slope, "max_p": 1.0}
        found = [peak(tcp_flows=float(flows), **link) for flows in counts]
        r = np.array([each.r for each in found])
        style: Any = {"color": HUES[index + 1], "linestyle": colours.DASHES[index]}
        share.plot(counts, [100 * each.mu[0] for each in found], **style)
        share.plot(counts, 100 * peak_share(r)[0], "o", color=HUES[index + 1], markersize=4)
        drop.plot(counts, 100 * r, **style)
        handles.append(Line2D([], [], **style))
    share.axhline(100 / (np.e + 1), color=colours.INK, linewidth=1.0)
    share.annotate(
        "1/(e+1) = 26.9 %", (1000, 26.9), xytext=(0, 5), textcoords="offset points", ha="right", fontsize=SMALL
    )
    share.set_ylim(10, 30)
    share.set_ylabel("peak share of UDP, %")
    drop.set_ylim(bottom=0)
    drop.set_ylabel("RED's drop probability there, %")
    for axes in (share, drop):
        axes.set_xscale("log")
        plain_log(axes.xaxis, 100)
        axes.set_xlim(9, 1100)
        axes.set_xlabel("number of TCP flows")
    dots = Line2D([], [], marker="o", color=colours.MUTED, linestyle="none", markersize=4)
    names = ["RED rises by 0.001 per packet", "0.0001 per packet", "(1 - r)/(e + 1 - r) at that r"]
    legend(figure, [*handles, dots], names)
    note(figure, "Each point at the UDP rate that takes most.")
    return figure


def several_share(count: int, candidates: int, ratio: float) -> float:
    """Share of ``count`` equal UDP flows together in the full model, %; NaN where there is no equilibrium."""
    red = Red(LINK["min_th"], LINK["max_th"], LINK["max_p"])
    flows = (ConstantRate(ratio * C, count), Responsive(32.0, LINK["delay"]))
    try:
        found = solve(ChokeLink(C, red, candidates), flows)
    except NoEquilibriumError:
        return float("nan")
    return float(100 * count * found.mu[0])


@styled
def several() -> Figure:
    """Several UDP flows: the total share for one candidate, and five flows against several candidates."""
    figure, number, drawn = pair(3.7)
    ratios = np.geomspace(0.05, 10.0, 40)
    panels: tuple[tuple[Axes, tuple[int, ...], Callable[[int], tuple[int, int]], str], ...] = (
        (number, (1, 2, 3, 5), lambda value: (value, 1), "UDP"),
        (drawn, (1, 2, 3, 4), lambda value: (5, value), "drawn"),
    )
    for axes, values, case, word in panels:
        for index, value in enumerate(values):
            found = [several_share(*case(value), float(ratio)) for ratio in ratios]
            axes.plot(ratios, found, color=HUES[index], linestyle=colours.DASHES[index], label=f"{value} {word}")
        over_rates(axes, 0.05, 10.0)
        axes.set_xlabel("rate of each UDP flow / capacity")
        axes.set_ylim(0, 100)
        axes.legend(loc="upper left")
    number.set_title("one candidate")
    drawn.set_title("five UDP flows")
    number.set_ylabel("share of all UDP flows together, %")
    note(figure, "32 TCP flows; matching alone holds five flows of any rate from three candidates on.")
    return figure


@dataclass(frozen=True)
class Measured:
    """One UDP rate: estimates over seeds, and what the model says."""

    ratio: float
    values: dict[str, Estimate]
    model: dict[str, float]
    queue_only: dict[str, float]


def measure(ratio: float) -> Measured:
    """Simulate and solve the scenario at one UDP rate."""
    scenario = fairdrop.load(SCENARIO, [f"groups.udp.rate={round(ratio * 1e6)}"])
    document = scenario.run(SEEDS).document
    rows: dict[str, list[float]] = {}
    for run in document["runs"]:
        tcp, udp = run["groups"]
        queue = run["queues"][0]
        seconds = run["measured_to_s"] - run["measured_from_s"]
        packets = 8e3 * tcp["flows"]
        found = {
            "share": 100 * udp["share"],
            "queue": queue["mean_packets"],
            "wait": 1e3 * queue["sojourn_s"]["mean"],
            "tcp": tcp["throughput_bps"] / 1e3,
            "loss": 100 * tcp["drop_fraction"],
            "rate": tcp["offered_bps"] / packets,
            "timeouts": tcp["timeouts"] / tcp["flows"] / seconds,
            "matched": 100 * tcp["drops"]["match_arriving"] / tcp["arrivals"],
            "own": 100 * queue["mean_packets_by_group"]["tcp"] / tcp["flows"] / queue["mean_packets"],
            "red": 100 * tcp["drops"]["red_early"] / (tcp["arrivals"] - tcp["drops"]["match_arriving"]),
            "udp_queue": 100 * queue["mean_packets_by_group"]["udp"] / queue["mean_packets"],
        }
        for name, value in found.items():
            rows.setdefault(name, []).append(value)
    values = {name: value for name, found in rows.items() if (value := estimate(found)) is not None}
    model = scenario.model()
    return Measured(ratio, values, summary(model), queue_only(model, values["rate"].mean))


def summary(model: dict[str, Any]) -> dict[str, float]:
    """The numbers of a model's document that the tables show."""
    tcp, udp = model["groups"]
    return {
        "share": 100 * udp["share"],
        "queue": model["b"],
        "wait": 1e3 * model["tau"],
        "tcp": tcp["throughput_bps"] / 1e3,
        "loss": 100 * tcp["drop_fraction"],
        "rate": model["x"][0],
        "udp_queue": 100 * model["h"][1],
    }


def queue_only(model: dict[str, Any], tcp_rate: float) -> dict[str, float]:
    """The same equations without the rate law (8): TCP sends what it was measured to send."""
    asked = model["parameters"]
    red = Red(asked["min_th"], asked["max_th"], asked["max_p"])
    tcp, udp = asked["flows"]
    found = solve(
        ChokeLink(asked["capacity"], red),
        [ConstantRate(tcp_rate, tcp["count"]), ConstantRate(udp["rate"])],
    )
    return {"share": 100 * float(found.mu[1]), "queue": found.b, "loss": 100 * float(found.p[0])}


@styled
def comparison(found: list[Measured]) -> Figure:
    """Model and simulation: share of UDP, and length of the queue."""
    figure, share, queue = pair(3.7)
    rates = C * np.geomspace(0.1, 12.0, 60)
    delay = fairdrop.load(SCENARIO).model()["parameters"]["flows"][0]["delay"]
    full = tcp_sweep(tcp_flows=32, udp_rate=rates, **{**LINK, "delay": delay})
    share.plot(rates / C, 100 * full.mu[:, 0], color=colours.BLUE)
    queue.plot(rates / C, full.b, color=colours.BLUE)
    for axes, name in ((share, "share"), (queue, "queue")):
        for each in found:
            value = each.values[name]
            axes.plot([each.ratio] * 2, [value.low, value.high], color=colours.INK, linewidth=1.4, zorder=3)
            axes.plot(each.ratio, value.mean, "o", color=colours.INK, markersize=4.5, zorder=4)
            axes.plot(
                each.ratio, each.queue_only[name], "x", color=colours.VERMILLION, markersize=7, markeredgewidth=1.8
            )
        over_rates(axes, 0.08, 12.0)
    share.set_ylabel("UDP's share of the link, %")
    queue.set_ylabel("mean queue, packets")
    handles: list[Artist] = [
        Line2D([], [], color=colours.BLUE),
        Line2D([], [], marker="x", linestyle="none", color=colours.VERMILLION, markeredgewidth=1.8),
        Line2D([], [], marker="o", linestyle="none", color=colours.INK, markersize=4.5),
    ]
    names = ["model", "the same without (8): TCP rate as measured", "simulation"]
    legend(figure, handles, names)
    note(
        figure,
        f"Simulation: mean of {SEEDS} seeds, 240 s each; bars: 95 % interval of the mean, often within the dot.",
    )
    return figure


def tables(found: list[Measured]) -> tuple[str, str, str]:
    """The chapter's tables over the load, in Markdown: shares, losses, waits."""
    lines = []
    for each in found:
        cells = [f"{each.ratio:g}"]
        for name, places in (("share", 2), ("queue", 1), ("tcp", 1)):
            value = each.values[name]
            cells += [f"{value.mean:.{places}f} ± {value.half or 0:.{places}f}", f"{each.model[name]:.{places}f}"]
        lines.append(cells)
    head = ["x₀/c", "UDP share, %: simulation", "model", "queue, packets: simulation", "model"]
    shares = table([*head, "TCP, kb/s: simulation", "model"], lines)
    lines = []
    for each in found:
        v, m = each.values, each.model
        cells = [
            f"{each.ratio:g}",
            f"{v['loss'].mean:.2f} ± {v['loss'].half or 0:.2f}", f"{m['loss']:.2f}",
            f"{v['rate'].mean:.2f} ± {v['rate'].half or 0:.2f}", f"{m['rate']:.2f}",
            f"{v['timeouts'].mean:.3f}", f"{v['matched'].mean:.2f}", f"{v['own'].mean:.2f}",
            f"{v['red'].mean:.2f}", f"{0.1 * (v['queue'].mean - 20):.2f}",
        ]  # fmt: skip
        lines.append(cells)
    head = ["x₀/c", "TCP loss, %: simulation", "model", "packets/s per TCP flow: simulation", "model"]
    head += ["timeouts/s per flow", "TCP arrivals matched, %", "a flow's part of the queue, %", "RED drops, %"]
    losses = table([*head, "0.1 (queue - 20)"], lines)
    lines = []
    for each in found:
        v, m, q = each.values, each.model, each.queue_only
        cells = [
            f"{each.ratio:g}", f"{v['wait'].mean:.0f}", f"{m['wait']:.0f}",
            f"{v['udp_queue'].mean:.1f}", f"{m['udp_queue']:.1f}",
            f"{q['share']:.2f}", f"{q['queue']:.1f}", f"{q['loss']:.2f}",
        ]  # fmt: skip
        lines.append(cells)
    head = ["x₀/c", "wait, ms: simulation", "model", "UDP's part of the queue, %: simulation", "model"]
    return shares, losses, table([*head, "without (8): UDP share, %", "queue", "TCP loss, %"], lines)


def places(load: float) -> tuple[list[float], list[float]]:
    """Where in the queue (0 tail, 1 the mean length), and UDP's part of the snapshots that have a packet there."""
    settings = [f"groups.udp.rate={round(load * 1e6)}", "positions=100ms"]
    result = fairdrop.load(SCENARIO, settings).run(SEEDS)
    length = float(np.mean(result.queues.column("mean_packets")))
    occupied, packets = np.zeros(int(length)), np.zeros(int(length))
    for row in result.positions.rows():
        if row["group"] == "udp" and row["position"] < len(occupied):
            occupied[row["position"]] += row["occupied"]
            packets[row["position"]] += row["packets"]
    return list((np.arange(len(occupied)) + 0.5) / length), list(packets / occupied)


@styled
def spatial(loads: tuple[float, ...] = (0.1, 1.0, 5.0, 10.0)) -> Figure:
    """UDP's part at each place of the queue, model and simulation (figure 6 of the paper)."""
    figure = Figure(figsize=(9.0, 2.9))
    panels = figure.subplots(1, len(loads), sharey=True)
    delay = fairdrop.load(SCENARIO).model()["parameters"]["flows"][0]["delay"]
    for axes, load in zip(panels, loads, strict=True):
        equilibrium = tcp_equilibrium(tcp_flows=32, udp_rate=load * C, **{**LINK, "delay": delay})
        model = profile(equilibrium)
        axes.plot(model.y / model.length, model.rho[0], color=colours.BLUE)
        place, part = places(load)
        axes.plot(place[::3], part[::3], "o", color=colours.INK, markersize=2.5)
        axes.set_title(f"x0 = {load:g} c")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["tail", "", "head"])
    panels[0].set_ylabel("part of UDP at this place")
    handles: list[Artist] = [
        Line2D([], [], color=colours.BLUE),
        Line2D([], [], marker="o", linestyle="none", color=colours.INK, markersize=4.5),
    ]
    legend(figure, handles, ["model", "simulation"])
    note(figure, f"Simulation: {SEEDS} seeds, a snapshot every 100 ms for 240 s; every third place.")
    return figure


def by_flows(counts: tuple[int, ...] = (12, 16, 24, 32, 48, 64)) -> str:
    """Queue and TCP throughput by number of TCP flows at 10 c, in Markdown (figure 5 of the paper)."""
    lines = []
    for count in counts:
        scenario = fairdrop.load(SCENARIO, [f"groups.tcp.count={count}"])
        runs = scenario.run(SEEDS).document["runs"]
        queue = estimate([run["queues"][0]["mean_packets"] for run in runs])
        rate = estimate([run["groups"][0]["throughput_bps"] / 8e3 / count for run in runs])
        model = scenario.model()
        expected = model["groups"][0]["throughput_bps"] / 8e3 / count
        assert queue is not None and rate is not None
        simulated = [f"{queue.mean:.1f} ± {queue.half:.1f}", f"{rate.mean:.3f} ± {rate.half:.3f}"]
        lines.append([str(count), simulated[0], f"{model['b']:.1f}", simulated[1], f"{expected:.3f}"])
    head = ["N", "queue, packets: simulation", "model", "packets/s per TCP flow: simulation", "model"]
    return table(head, lines)


def files() -> Files:
    """All figures and tables; simulates for minutes."""
    found = [measure(ratio) for ratio in RATIOS]
    measured = dict(zip(("shares", "losses", "waits"), tables(found), strict=True)) | {"flows": by_flows()}
    yield from pages_with("measured", measured, TARGET / "leaky-buffer.md")
    drawings = {
        "profiles": profiles(), "shares": shares(), "peaks": peaks(), "several": several(),
        "comparison": comparison(found), "spatial": spatial(),
    }  # fmt: skip
    yield from ((TARGET / f"{name}.svg", figure) for name, figure in drawings.items())
