"""Figures of docs/background/collar.md and collar-theory.md, and the tables of the latter: `make images`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import fairdrop
from experiments.digests import read
from experiments.leaky_buffer.page import HUES, TARGET, pair
from experiments.pages import Files, pages_with, table
from experiments.shares.campaign import DIGEST
from fairdrop.estimate import Estimate, estimate
from fairdrop.models import (
    CollarEquilibrium,
    ConstantRate,
    NoEquilibriumError,
    Responsive,
    collar_equilibrium,
    collar_map,
    collar_margin,
    collar_noise,
    collar_shares,
)
from fairdrop.plot import colours
from fairdrop.plot.frame import note, plain_log
from fairdrop.plot.style import styled

SEEDS = 5
#: Packets of 1000 bytes per second of 10 Mb/s.
C = 1250.0
#: Packets/s of the link, TCP flows, round trip in s: of the table of margins.
LOOPS = (
    (2500, 20, 0.05), (2500, 60, 0.1), (2500, 20, 0.1), (2500, 60, 0.2), (12500, 20, 0.05), (12500, 20, 0.1),
    (2500, 10, 0.2), (2500, 5, 0.2),
)  # fmt: skip


def simulated(
    groups: Sequence[dict[str, Any]], rtt_s: float = 0.02, seeds: int = SEEDS, rate: float = 8e3 * C, **top: Any
) -> list[dict[str, Any]]:
    """Runs of COLLAR on one link."""
    fields = {"duration": 60.0, "warm_up": 20.0, "sample": 0.01} | top
    tables: list[tuple[str, dict[str, Any]]] = [
        ("", fields),
        ("[dumbbell]", {"rate": rate, "delay": 0.001, "access_rate": 1e9, "access_delay": (rtt_s - 0.002) / 4}),
        ("[queue]", {"discipline": "collar", "limit": 2000}),
        *(("[[groups]]", group) for group in groups),
    ]
    lines = []
    for head, values in tables:
        lines += [head, *(f"{name} = {value!r}" for name, value in values.items())]
    runs = fairdrop.Scenario("\n".join(lines).replace("'", '"'), "collar").run(seeds).document["runs"]
    return list(runs)


def shares(runs: Sequence[dict[str, Any]], group: int) -> list[float]:
    """Of the link, of a group, run by run."""
    return [run["groups"][group]["share"] for run in runs]


def internals(runs: Sequence[dict[str, Any]], name: str) -> list[float]:
    """Means over time of what the discipline decides by, run by run."""
    return [next(one["mean"] for one in run["queues"][0]["internals"] if one["name"] == name) for run in runs]


def deviations(runs: Sequence[dict[str, Any]], settled: int) -> list[float]:
    """Of the last samples of s, relative to their mean, run by run."""
    found = [np.array(run["queues"][0]["series"]["internals"]["s"][-settled:]) for run in runs]
    return [float(s.std() / s.mean()) for s in found]


def strongest(runs: Sequence[dict[str, Any]]) -> float:
    """The frequency at which the queue swings most, rad/s: samples of 10 ms, spectra smoothed over nine frequencies."""
    spectrum: Any = 0.0
    for run in runs:
        queue = np.array(run["queues"][0]["series"]["packets"][2000:], dtype=np.float64)
        spectrum = spectrum + np.abs(np.fft.rfft((queue - queue.mean()) * np.hanning(queue.size))) ** 2
    smooth = np.convolve(spectrum, np.ones(9) / 9, mode="same")
    return float(2 * np.pi * np.fft.rfftfreq(queue.size, 0.01)[3 + int(np.argmax(smooth[3:]))])


def greedy(flows: int, senders: int, rate: float, rtt_s: float, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Runs of ``senders`` of ``rate`` packets/s each beside TCP."""
    groups = [
        {"name": "udp", "transport": "cbr", "count": senders, "rate": 8e3 * rate},
        {"name": "tcp", "transport": "newreno", "count": flows, "max_window": 2000},
    ]
    return simulated(groups, rtt_s, seeds)


#: Round trips without the wait, in s, of as many classes of flows.
TRIPS = (0.02, 0.04, 0.08, 0.16)


def several_round_trips(
    times: float, flows: int, senders: int, seeds: int = SEEDS
) -> tuple[list[dict[str, Any]], CollarEquilibrium]:
    """Runs of NewReno with several round trips, ``flows`` of each, beside senders of the link's rate; and the model.

    The link has ``times`` 10 Mb/s. The model takes the variation of TCP's shares within a class that makes the
    simulated s.
    """
    rate = times * C
    groups: list[dict[str, Any]] = [
        {
            "name": f"tcp{k}",
            "transport": "newreno",
            "count": flows,
            "max_window": 2000,
            "access_delay": (rtt - 0.002) / 4,
        }
        for k, rtt in enumerate(TRIPS)
    ]
    if senders:
        groups.append({"name": "udp", "transport": "cbr", "count": senders, "rate": 8e3 * rate})
    runs = simulated(groups, seeds=seeds, rate=8e3 * rate)
    each = [float(np.mean(shares(runs, k))) / flows for k in range(len(TRIPS))]
    flood = senders * (float(np.mean(shares(runs, len(TRIPS)))) / senders) ** 2 if senders else 0.0
    v = (float(np.mean(internals(runs, "s"))) - flood) / (flows * sum(q**2 for q in each)) - 1.0
    classes = [
        *(Responsive(flows, rtt + 1.0 / rate) for rtt in TRIPS),
        *([ConstantRate(rate, senders)] if senders else []),
    ]
    return runs, collar_equilibrium(rate, classes, variation=max(v, 0.0))


def tcp_alone(packets: float, flows: int, rtt_s: float, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Runs of TCP with SACK on a link of ``packets`` packets/s."""
    group = {"name": "tcp", "transport": "sack", "count": flows, "max_window": 20_000}
    return simulated([group], rtt_s, seeds, 8e3 * packets, duration=120.0)


def _mean(values: Sequence[float], places: int, times: float = 1.0) -> str:
    found = estimate([times * value for value in values])
    assert isinstance(found, Estimate)
    return f"{found.mean:.{places}f} ± {found.half or 0.0:.{places}f}"


def mixes() -> str:
    """Shares of six constant rates."""
    lines = []
    base, columns = (50, 100, 200, 400, 800, 1600), []
    for times in (1.0, 2.0):
        rates = [times * rate for rate in base]
        model = collar_equilibrium(C, [ConstantRate(rate) for rate in rates])
        runs = simulated(
            [{"name": f"u{k}", "transport": "poisson", "rate": 8e3 * rate} for k, rate in enumerate(rates)]
        )
        columns.append([(_mean(shares(runs, k), 2, 100), f"{100 * mu:.2f}") for k, mu in enumerate(model.mu)])
    for k, rate in enumerate(base):
        cells = [cell for column in columns for cell in column[k]]
        lines.append([f"{rate / C:.2f}", *cells])
    head = ["each sends, of the link", "share, %: simulation", "model", "share at twice the rates, %: simulation"]
    return table([*head, "model"], lines, 0)


def beside_tcp() -> str:
    """Greedy senders beside TCP."""
    lines = []
    for flows, senders, rate, rtt_s in (
        (32, 1, 2500, 0.042), (32, 5, 500, 0.042), (20, 1, 1250, 0.1), (50, 1, 1250, 0.1), (10, 1, 1250, 0.02),
    ):  # fmt: skip
        runs = greedy(flows, senders, rate, rtt_s)
        udp, s = shares(runs, 0), internals(runs, "s")
        each, tcp, fair = float(np.mean(udp)) / senders, float(np.mean(shares(runs, 1))), flows + senders
        v = (float(np.mean(s)) - senders * each**2) * flows / tcp**2 - 1.0
        classes = [ConstantRate(rate, senders), Responsive(flows, rtt_s + 0.0008)]
        model = collar_equilibrium(C, classes, variation=max(v, 0.0))
        simple = collar_shares(senders, flows, variation=max(v, 0.0))
        cells = [
            str(flows), f"{senders}, {rate / C:g} c", f"{1e3 * rtt_s:g}", _mean(udp, 2, fair / senders),
            f"{fair * model.mu[0]:.2f}", f"{simple.greed[0]:.2f}", f"{v:.2f}", _mean(s, 1, 1e3), f"{1e3 * model.s:.1f}",
            _mean(internals(runs, "root"), 3), f"{model.root:.3f}",
        ]  # fmt: skip
        lines.append(cells)
    head = ["TCP flows", "greedy senders, rate of each", "round trip, ms", "greedy over fair: simulation", "model"]
    head += ["of two classes", "v", "s, 10⁻³: simulation", "model", "root: simulation", "model"]
    return table(head, lines, 0)


def by_round_trip() -> str:
    """TCP of four round trips."""
    lines = [
        "| link, Mb/s | flows of each | greedy senders | of | "
        + " | ".join(f"{1e3 * rtt:g} ms" for rtt in TRIPS)
        + " | greedy |",
        "| ---: | ---: | ---: | --- |" + " ---: |" * (len(TRIPS) + 1),
    ]
    for times, flows, senders in ((1, 8, 0), (1, 8, 1), (10, 20, 1)):
        runs, model = several_round_trips(times, flows, senders)
        number = len(TRIPS) * flows + senders
        counts = [flows] * len(TRIPS) + [senders] * bool(senders)
        measured = [_mean(shares(runs, k), 2, number / count) for k, count in enumerate(counts)]
        of_model = [f"{number * mu:.2f}" for mu in model.mu]
        head = f"| {10 * times} | {flows} | {senders} |"
        for name, cells in (("simulation", measured), ("model", of_model)):
            lines.append(f"{head} {name} | " + " | ".join([*cells, ""][: len(TRIPS) + 1]) + " |")
    return "\n".join(lines)


def noise() -> str:
    """Deviation of s."""
    lines = []
    for name, groups in (
        ("5 equal flows", [(5, 1.2)]),
        ("30 equal flows", [(30, 1.2)]),
        ("100 equal flows", [(100, 1.2)]),
        ("one of a tenth among 20", [(1, 0.1), (20, 0.92)]),
        ("one of a tenth among 100", [(1, 0.1), (100, 0.92)]),
    ):
        sent = [
            {"name": f"u{k}", "transport": "poisson", "count": count, "rate": 8e3 * C * part / count}
            for k, (count, part) in enumerate(groups)
        ]
        runs = simulated(sent, duration=600.0, warm_up=100.0, sample=0.5)
        each = [float(np.mean(shares(runs, k))) / count for k, (count, _) in enumerate(groups)]
        model = collar_noise(each, [float(count) for count, _ in groups])
        lines.append([name, _mean(deviations(runs, 1000), 2, 100), f"{100 * model.deviation:.2f}"])
    return table(["output", "deviation of s, %: simulation", "model"], lines, 1)


def margins() -> str:
    """Margins, and how the simulated queue swings."""
    lines = []
    for packets, flows, rtt_s in sorted(LOOPS, key=lambda loop: -collar_margin(*loop).phase_margin):
        model = collar_margin(packets, flows, rtt_s)
        runs = tcp_alone(packets, flows, rtt_s)
        waits = [np.array(run["queues"][0]["series"]["packets"][2000:]) / packets for run in runs]
        cells = [
            f"{packets / 125:g}", str(flows), f"{1e3 * rtt_s:g}", f"{model.phase_margin:.0f}", f"{model.swing:.1f}",
            f"{strongest(runs):.1f}", _mean([float(w.mean()) for w in waits], 1, 1e3),
            _mean([float(w.std()) for w in waits], 1, 1e3), _mean([run["utilisation"] for run in runs], 2, 100),
            f"{model.root:.3f}", _mean(internals(runs, "root"), 3),
        ]  # fmt: skip
        lines.append(cells)
    head = ["link, Mb/s", "TCP flows", "round trip, ms", "phase margin, degrees", "swings at, rad/s: model"]
    head += ["simulation", "wait, ms", "its deviation, ms", "utilisation, %", "root: model", "simulation"]
    return table(head, lines, 0)


@styled
def maps() -> Figure:
    """Where the limit of s leads, for two classes and for two whole mixes."""
    figure, simple, whole = pair(3.7)
    s = np.geomspace(0.005, 1.0, 400)
    for index, (a, v) in enumerate(((1.0, 0.0), (0.9, 0.0), (0.9, 0.5))):
        q = np.minimum(a * s, 1.0)
        squares = q**2 + (1.0 + v) * (1.0 - q) ** 2 / 32
        simple.plot(s, squares, color=HUES[index + 1], linestyle=colours.DASHES[index], label=f"a = {a:g}, v = {v:g}")
    cases = (
        ("10 Mb/s, 32 TCP", C, [ConstantRate(C), Responsive(32, 0.042)]),
        ("1 Gb/s, 4 TCP", 100 * C, [ConstantRate(100 * C), Responsive(4, 0.042)]),
    )
    for index, (name, capacity, flows) in enumerate(cases):
        points = np.geomspace(0.02, 0.99, 120)
        squares = np.array([collar_map(float(at), capacity, flows) for at in points])
        whole.plot(points, squares, color=HUES[index + 1], linestyle=colours.DASHES[index], label=name)
        found = collar_equilibrium(capacity, flows)
        for at, slope in zip(found.fixed_points, found.slopes, strict=True):
            whole.plot(at, at, "o" if slope < 1.0 else "x", color=colours.INK, markersize=6, zorder=4)
    for axes in (simple, whole):
        axes.plot([0.02, 1.0], [0.02, 1.0], color=colours.INK, linewidth=1.0)
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_log(axes.xaxis, 50)
        plain_log(axes.yaxis, 50)
        axes.set_xlim(0.02, 1.0)
        axes.set_ylim(0.02, 1.0)
        axes.set_xlabel("s, by which the limit is set")
        axes.legend(loc="upper left" if axes is simple else "upper center")
    simple.set_title("two classes: 1 greedy sender, 32 TCP")
    whole.set_title("the whole limit; UDP at the link's rate")
    simple.set_ylabel("Σ q² of the output that follows")
    note(figure, "Where a curve crosses the line, s stays. Dots: stable points.")
    return figure


@styled
def phases() -> Figure:
    """Phase margin against the round trip."""
    figure, packets, flows = pair(3.5)
    rtts = np.geomspace(0.01, 0.4, 60)

    def curve(capacity: float, count: int) -> list[float]:
        found = []
        for rtt in rtts:
            try:
                found.append(collar_margin(capacity, count, float(rtt)).phase_margin)
            except NoEquilibriumError:
                found.append(float("nan"))
        return found

    for index, rate in enumerate((10, 100, 1000)):
        packets.plot(
            1e3 * rtts, curve(125.0 * rate, 20), color=HUES[index + 1], linestyle=colours.DASHES[index],
            label=f"{rate} Mb/s",
        )  # fmt: skip
        count = (5, 20, 80)[index]
        flows.plot(
            1e3 * rtts, curve(2500.0, count), color=HUES[index + 1], linestyle=colours.DASHES[index],
            label=f"{count} flows",
        )  # fmt: skip
    for axes in (packets, flows):
        axes.axhline(0.0, color=colours.INK, linewidth=1.0)
        axes.set_xscale("log")
        plain_log(axes.xaxis, 40)
        axes.set_xlim(10, 400)
        axes.set_ylim(-60, 120)
        axes.set_xlabel("round trip without the wait, ms")
        axes.legend(loc="lower left")
    packets.set_title("20 flows")
    flows.set_title("20 Mb/s")
    packets.set_ylabel("phase margin, degrees")
    note(figure, "Reno without greedy senders, packets of 1000 bytes. Below 0 the wait oscillates.")
    return figure


@styled
def over_loads() -> Figure:
    """How many loads of the validation set leave UDP and long TCP how much, discipline by discipline: stored runs."""
    rows = [row for row in read(DIGEST) if row["set"] == "validation"]
    figure, udp, tcp = pair(3.9)
    names = {"choke": "CHOKe", "afd": "AFD", "collar": "COLLAR", "fq_codel": "FQ-CoDel"}
    for axes, measure in ((udp, "greedy"), (tcp, "tcp")):
        for index, (name, label) in enumerate(names.items()):
            found: dict[str, list[float]] = {}
            for row in rows:
                if row["discipline"] == name and row[measure]:
                    found.setdefault(row["load"], []).append(float(row[measure]))
            values = np.sort([float(np.mean(of)) for of in found.values()])
            axes.step(
                values, 100.0 * np.arange(1, values.size + 1) / values.size, where="post", label=label,
                color=HUES[index + 1], linestyle=colours.DASHES[(2, 3, 0, 1)[index]],
            )  # fmt: skip
        axes.axvline(1.0, color=colours.INK, linewidth=1.0)
        axes.set_ylim(0, 100)
        axes.legend(loc="lower right" if axes is udp else "upper left")
    udp.set_xscale("log")
    plain_log(udp.xaxis, 200)
    udp.set_xlim(0.5, 100)
    tcp.set_xlim(0, 1.3)
    udp.set_title("UDP, 163 loads")
    tcp.set_title("long TCP, 200 loads")
    udp.set_ylabel("loads with at most that, %")
    for axes in (udp, tcp):
        axes.set_xlabel("throughput / max-min share")
    note(figure, "The validation set; each load is the mean of two seeds.")
    return figure


def files() -> Files:
    """All figures and tables; simulates for minutes."""
    made = {
        "mixes": mixes(), "greedy": beside_tcp(), "classes": by_round_trip(), "noise": noise(), "margins": margins(),
    }  # fmt: skip
    yield from pages_with("measured", made, TARGET / "collar-theory.md")
    for name, figure in (("validation", over_loads()), ("map", maps()), ("phase", phases())):
        yield TARGET / f"collar-{name}.svg", figure
