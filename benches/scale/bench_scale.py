#!/usr/bin/env python3
"""Measure what a packet costs, and a flow, from 10 TCP flows to 1,000,000, under CHOKe and under FQ-CoDel.

The load of a flow is held constant (see scale.toml). Writes a CSV file and draws it. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from fairdrop.plot import colours

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCENARIO = HERE / "scale.toml"
DISCIPLINES = ("choke", "fq_codel")
TITLES = {"choke": "CHOKe", "fq_codel": "FQ-CoDel"}
STYLES = {"choke": (colours.BLUE, "o", "-"), "fq_codel": (colours.VERMILLION, "s", "--")}
FLOW_BPS = 100_000
PACKET_BITS = 8000
# Runs of a second are repeated with other seeds until this many packets were sent.
PACKETS = 1_000_000
MOST_QUEUES = 1_048_576

Row = dict[str, float | str]


def settings(flows: int, discipline: str) -> list[str]:
    """What depends on the number of flows."""
    rate_bps = flows * FLOW_BPS
    packets_per_s = rate_bps / PACKET_BITS
    words = {
        "groups.tcp.count": str(flows),
        "dumbbell.rate": f"{rate_bps // 1000}kbit",
        "queue.discipline": discipline,
        "queue.limit": f"{max(round(0.1 * packets_per_s), 8)}p",
        "queue.red.min_th": f"{max(round(0.025 * packets_per_s), 2)}p",
        "queue.red.max_th": f"{max(round(0.075 * packets_per_s), 6)}p",
        "queue.fq_codel.queues": str(min(flows, MOST_QUEUES)),
        "duration": "1s",
        "seeds": str(max(round(PACKETS / packets_per_s), 1)),
    }
    return [f"{name}={value}" for name, value in words.items()]


def measure(command: list[str], flows: int, discipline: str) -> Row:
    """One run."""
    argv = [*command, str(SCENARIO), *settings(flows, discipline)]
    found = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    loop_ns = found["loop_cpu_s"] * 1e9
    return {
        "discipline": discipline,
        "flows": flows,
        "loop_cpu_s": found["loop_cpu_s"],
        "events": found["events"],
        "packets_offered": found["offered"],
        "packets_sent": found["sent"],
        "utilisation": found["utilisation"],
        "events_per_packet": round(found["events"] / found["sent"], 4),
        "ns_per_event": round(loop_ns / found["events"], 2),
        "ns_per_packet": round(loop_ns / found["sent"], 2),
        "loop_memory_bytes": found["loop_memory_bytes"],
        "bytes_per_flow": round(found["loop_memory_bytes"] / flows, 1),
        "queue_packet_bytes": found["queue_packet_bytes"],
        "queue_state_bytes": found["queue_state_bytes"],
    }


def measure_all(command: list[str], counts: list[int], runs: int) -> list[Row]:
    """The fastest of some runs of each; disciplines and counts take turns."""
    best: dict[tuple[str, int], Row] = {}
    for turn in range(runs):
        for flows in counts:
            for discipline in DISCIPLINES:
                print(f"\rrun {turn + 1}/{runs}: {discipline}, {flows:,} flows      ", end="", file=sys.stderr)
                row = measure(command, flows, discipline)
                old = best.get((discipline, flows))
                if old is None or float(row["loop_cpu_s"]) < float(old["loop_cpu_s"]):
                    best[discipline, flows] = row
    print(file=sys.stderr)
    return [best[discipline, flows] for discipline in DISCIPLINES for flows in counts]


def write(rows: list[Row], path: Path) -> None:
    """As CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read(path: Path) -> list[Row]:
    """What `write` wrote."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: text if name == "discipline" else float(text) for name, text in row.items()} for row in rows]


def draw(rows: list[Row], path: Path) -> None:
    """Cost per packet, memory per flow, and the state of the queue."""
    panels = (
        ("ns_per_packet", "Processor time of the simulator\nper packet sent (ns)"),
        ("bytes_per_flow", "Memory of the whole run\nper TCP flow (bytes)"),
        ("queue_state_bytes", "State of the queue\nbeside its packets (bytes)"),
    )
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.1), layout="constrained")
    figure.set_facecolor("white")
    panel: Axes
    for panel, (column, label) in zip(axes, panels, strict=True):
        for discipline in DISCIPLINES:
            # Memory with fewer flows is that of the program, or too short-lived to be seen.
            least = 1000 if column == "bytes_per_flow" else 0
            mine = [row for row in rows if row["discipline"] == discipline and float(row["flows"]) >= least]
            colour, marker, line = STYLES[discipline]
            flows = [float(row["flows"]) for row in mine]
            values = [float(row[column]) for row in mine]
            panel.plot(
                flows, values, color=colour, marker=marker, linestyle=line, label=TITLES[discipline], clip_on=False
            )
        panel.set_xscale("log")
        if column == "queue_state_bytes":
            panel.set_yscale("symlog", linthresh=100, linscale=0.4)
            panel.set_yticks([0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8])
        if column == "bytes_per_flow":
            panel.axhline(1024, color=colours.MUTED, linewidth=0.9, linestyle=":")
            panel.annotate("1 KiB", (1e5, 1024), textcoords="offset points", xytext=(0, 4), color=colours.MUTED)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("TCP flows")
        panel.set_ylabel(label)
        panel.grid(color=colours.GRID, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def print_table(rows: list[Row]) -> None:
    """The figures that matter, and how they compare with those of 1,000 flows."""
    print(f"{'':9}{'flows':>10}{'events/packet':>15}{'ns/event':>10}{'ns/packet':>11}{'/ 1,000':>9}{'bytes/flow':>12}")
    for row in rows:
        base = next((r for r in rows if r["discipline"] == row["discipline"] and r["flows"] == 1000), row)
        ratio = float(row["ns_per_packet"]) / float(base["ns_per_packet"])
        print(
            f"{TITLES[str(row['discipline'])]:9}{float(row['flows']):10,.0f}{float(row['events_per_packet']):15.2f}"
            f"{float(row['ns_per_event']):10.1f}{float(row['ns_per_packet']):11.1f}{ratio:9.2f}"
            f"{float(row['bytes_per_flow']):12.0f}"
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--command", default="target/release/examples/cost", help="the measuring program")
    parser.add_argument("--runs", type=int, default=9, help="runs of each; the fastest counts (default 9)")
    parser.add_argument("--most", type=int, default=1_000_000, help="most flows (default 1000000)")
    parser.add_argument("--csv", type=Path, default=HERE / "scale.csv")
    parser.add_argument("--image", type=Path, default=ROOT / "docs" / "images" / "cost-against-flows.png")
    parser.add_argument("--draw-only", action="store_true", help="draw what the CSV file holds")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if not args.draw_only:
        counts = [10**power for power in range(1, 7) if 10**power <= args.most]
        write(measure_all([args.command], counts, args.runs), args.csv)
    rows = read(args.csv)
    print_table(rows)
    draw(rows, args.image)
    return 0


if __name__ == "__main__":
    sys.exit(main())
