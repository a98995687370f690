#!/usr/bin/env python3
"""Measure how far flows are from their max-min shares, discipline by discipline, on one of the sets of loads.py.

Each finished run is a line of a file, written as soon as it ends; what is in that file or in runs.csv.xz is not run
again. See README.md beside this file.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import fairdrop
from experiments import ROOT
from experiments.digests import Row, Runs, arguments
from experiments.pages import table
from experiments.shares.loads import SETS, Load
from fairdrop.measures import jain_index

DISCIPLINES = ("collar", "choke", "afd", "fq_codel")
#: With buckets as queues of FQ-CoDel, as many as its authors have, and as many as COLLAR has bytes for.
CODEL_AF = ("codel_af", *(f"codel_af:codel_af.buckets={buckets}" for buckets in (65_536, 67)))
#: These have one seed of the validation set beside the others.
RIVALS = (
    *(f"choke:choke.{setting}" for setting in ("candidates=2", "candidates=5", "schedule=odd")),
    *("gchoke", "mlc", "chokew", "ward", "black", "care", "sfb", "red_pd", "csfq", "fair_drop", "drr", "sfq"),
    *("afq", "ahab", "cebinae", "fair_policer", "fair_policer:fair_policer.depth=1s"),
    *CODEL_AF,
    *("a2fq", "a2fq:scaled", "afd:scaled", "afq:scaled", "csfq:scaled", "fair_drop:scaled"),
    *("pie", "codel", "dualpi2"),
)
#: So do these, which are no disciplines of the library: examples/ablations of fairdrop-sim runs them.
ABLATIONS = (
    *("csfq_from_matches", "afd_of_elephants"),
    *(
        f"collar_without_{part}"
        for part in ("table", "limit", "base", "by_share", "slack", "window", "output", "bounds", "widening", "spared")
    ),
)
PROGRAM = ROOT / "target" / "release" / "examples" / "ablations"
KEYS = ("set", "load", "discipline", "seed")
MEASURES = ("greedy", "greedy_worst", "tcp", "tcp_worst_class", "jain_tcp", "wait_p99_ms", "utilisation", "mice_part")
DIGEST = Path(__file__).with_name("runs.csv.xz")
Key = tuple[str, str, str, str]
#: Which set or table, load, discipline, seed.
Task = tuple[str, Load, str, int]


def fair_share(rate_bps: float, demands: Sequence[float], weights: Sequence[float] = ()) -> float:
    """The max-min share of a unit of weight: a flow that asks for less has that, the others share the rest alike."""
    flows = list(zip(demands, weights or [1.0] * len(demands), strict=True))
    left, weight = rate_bps, sum(own for _, own in flows)
    for demand, own in sorted(flows, key=lambda flow: flow[0] / flow[1]):
        if demand * weight >= left * own:
            return left / weight
        left, weight = left - demand, weight - own
    return left


def measure(task: Task) -> Row:
    """One run."""
    which, load, discipline, seed = task
    key = {"set": which, "load": load.name, "discipline": discipline, "seed": seed}
    if discipline in ABLATIONS:
        return key | judge(load, *ablated(load, discipline, seed))
    name, settings = settings_of(discipline, load)
    changes = [f"queue.discipline={name}", f"seed={seed}", *(f"queue.{setting}" for setting in settings)]
    scenario = fairdrop.Scenario(load.toml(), load.name, changes)
    result = scenario.run(1, threads=1)
    wait = result.queues.rows()[0]["sojourn_p99_s"]
    return key | judge(load, result.flows.rows(), wait, result.runs.rows()[0]["utilisation"])


def settings_of(discipline: str, load: Load) -> tuple[str, list[str]]:
    """Its name, and its parameters with their values on that load."""
    name, _, written = discipline.partition(":")
    if written == "scaled":
        return name, [f"{name}.{parameter}={value}" for parameter, value in SCALED[name](load).items()]
    return name, [setting for setting in written.split("+") if setting]


def _afd(load: Load) -> dict[str, str]:
    """Ten samples for each flow of a fair share, as many more as is offered beyond the link."""
    long = [group for group in load.groups if not group.short]
    offered = sum(group.count * (group.offered_bps or 0.0) for group in long) / load.rate_bps
    shadow = math.ceil(10 * sum(group.count for group in long) * max(offered, 1.0))
    return {"shadow": f"{max(shadow, 500)}p", "q_target": f"{max(load.limit // 3, 1)}p"}


def _rounds(load: Load) -> dict[str, str]:
    """32 rounds of a hundredth of the buffer: a flow may have a third of it waiting."""
    return {"bytes_per_round": f"{_hundredth(load)}B"}


def _shared(load: Load) -> dict[str, str]:
    """That on the load's buffer, with the margin of three rounds that its authors have."""
    return _rounds(load) | {"buffer": f"{load.limit * load.packet_size}B", "margin": f"{3 * _hundredth(load)}B"}


def _hundredth(load: Load) -> int:
    return max(load.limit * load.packet_size // 100, load.packet_size)


def _csfq(load: Load) -> dict[str, str]:
    """Averages no shorter than the longest round trip."""
    longest_s = max(load.rtt_s, *(4 * float(str(group.fields.get("access_delay", 0.0))) for group in load.groups))
    return dict.fromkeys(("k", "k_alpha", "k_c"), f"{max(longest_s, 0.1):g}s")


def _fair_drop(load: Load) -> dict[str, str]:
    """A third of the buffer for all flows together, and two packets for each at least."""
    flows = sum(group.count for group in load.groups)
    return {"threshold": f"{max(load.limit * load.packet_size // (3 * flows), 2 * load.packet_size)}B"}


#: Rules by which fixed constants of rivals are scaled to a load.
SCALED: dict[str, Callable[[Load], dict[str, str]]] = {
    "afd": _afd, "afq": _rounds, "a2fq": _shared, "csfq": _csfq, "fair_drop": _fair_drop,
}  # fmt: skip


def ablated(load: Load, name: str, seed: int) -> tuple[list[Row], float, float]:
    """One run of an ablation: flows, 99th percentile of the wait in s, utilisation."""
    run = program(load, name, seed)
    return run["flows"], run["queues"][0]["sojourn_s"]["p99"], run["utilisation"]


def program(load: Load, name: str, seed: int) -> Row:
    """One run by the program of the ablations."""
    words = [str(PROGRAM), name, str(seed)]
    run: Row = json.loads(
        subprocess.run(words, input=load.toml(), stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    return run


def judge(load: Load, flows: Iterable[Row], wait_p99_s: float, utilisation: float) -> Row:
    """Throughput of each flow over its max-min share. Short transfers have what they took."""
    rates: dict[str, list[float]] = {group.name: [] for group in load.groups}
    for row in flows:
        rates[row["group"]].append(row["throughput_bps"])
    mice = sum(sum(rates[group.name]) for group in load.groups if group.short)
    left = load.rate_bps - mice
    long = [group for group in load.groups if not group.short]
    demands = [group.offered_bps or load.rate_bps for group in long for _ in range(group.count)]
    fair = fair_share(left, demands)
    flood = [rate / fair for group in long if (group.offered_bps or 0.0) > fair for rate in rates[group.name]]
    classes = [[rate / fair for rate in rates[group.name]] for group in long if group.offered_bps is None]
    slow = [ratio for ratios in classes for ratio in ratios]
    return {
        "greedy": _mean(flood),
        "greedy_worst": max(flood, default=None),
        "tcp": _mean(slow),
        "tcp_worst_class": min((_mean(ratios) for ratios in classes), default=None),
        "jain_tcp": jain_index(slow),
        "wait_p99_ms": 1e3 * wait_p99_s,
        "utilisation": utilisation,
        "mice_part": mice / load.rate_bps,
    }


def _mean(values: Sequence[float]) -> Any:
    return sum(values) / len(values) if values else None


def campaign(
    which: str, disciplines: Iterable[str], runs: Runs, processes: int, only: str = "", most_seeds: int = 99
) -> dict[Key, Row]:
    """Makes the runs that are missing; returns all of them, in the order of loads."""
    tasks = [
        (which, load, discipline, seed)
        for load in SETS[which]()
        if only in load.name
        for discipline in disciplines
        for seed in range(load.first_seed, load.first_seed + min(load.seeds, most_seeds))
    ]
    return made(runs, tasks, measure, processes)


def made(runs: Runs, tasks: Iterable[Task], measure: Callable[[Task], Row], processes: int) -> dict[Key, Row]:
    """Makes the runs that are missing; returns those of the tasks, in their order."""
    by_key = {key_of(task): task for task in tasks}
    runs.make(by_key.items(), measure, processes)
    return {key: runs.done[key] for key in by_key}


def key_of(task: Task) -> Key:
    """By which the run is known in a store."""
    return task[0], task[1].name, task[2], str(task[3])


def by_load(rows: list[Row]) -> str:
    """A table of means over seeds: loads by disciplines."""
    names = list(dict.fromkeys(row["discipline"] for row in rows))
    lines = []
    for load in dict.fromkeys(row["load"] for row in rows):
        for measure_name in ("greedy", "tcp", "tcp_worst_class", "jain_tcp", "wait_p99_ms", "utilisation"):
            cells = []
            for name in names:
                found = [row[measure_name] for row in rows if (row["load"], row["discipline"]) == (load, name)]
                numbers = [float(value) for value in found if value != ""]
                cells.append(f"{sum(numbers) / len(numbers):.3g}" if numbers else "")
            if any(cells):
                lines.append([load, measure_name, *cells])
    return table(["load", "measure", *names], lines, 2)


def over_loads(rows: list[Row]) -> list[dict[str, str]]:
    """Each measure's distribution over loads: median, the tenth and the hundredth part that is worst, the worst."""
    summary = []
    for name in dict.fromkeys(row["discipline"] for row in rows):
        for measure_name in MEASURES[:-1]:
            values = sorted(
                float(row[measure_name]) for row in rows if row["discipline"] == name and row[measure_name] != ""
            )
            if not values:
                continue
            if measure_name not in ("greedy", "greedy_worst", "wait_p99_ms"):
                values.reverse()
            parts = {"loads": f"{len(values)}", "median": f"{median(values):.3g}"}
            for part in (90, 99):
                at = min(part * len(values) // 100, len(values) - 1)
                parts[f"worst_{100 - part}_percent"] = f"{values[at]:.3g}"
            summary.append({"discipline": name, "measure": measure_name} | parts | {"worst": f"{values[-1]:.3g}"})
    return summary


def main() -> None:
    parser = arguments(__doc__, "shares")
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--disciplines", nargs="+", default=DISCIPLINES, help="a name, or name:setting+setting")
    others = parser.add_mutually_exclusive_group()
    others.add_argument("--rivals", action="store_true", help="the disciplines of the table of rivals")
    others.add_argument("--ablations", action="store_true", help="those of the table of ablations")
    parser.add_argument("--only", default="", help="loads whose names hold this")
    parser.add_argument("--seeds", type=int, default=99, help="most seeds of each load")
    parser.add_argument("--keep", action="store_true", help="add the runs to runs.csv.xz, which the page is made from")
    args = parser.parse_args()
    disciplines = RIVALS if args.rivals else ABLATIONS if args.ablations else args.disciplines
    runs = Runs(DIGEST, args.store, KEYS, MEASURES)
    found = campaign(args.set, disciplines, runs, args.processes, args.only, args.seeds)
    if args.keep:
        runs.keep(found)
    rows = list(found.values())
    if args.set != "validation":
        print(by_load(rows))
    for line in over_loads(rows):
        print(" ".join(f"{value:>14}" for value in line.values()))


if __name__ == "__main__":
    main()
