#!/usr/bin/env python3
"""Look for the sender that gains most, or harms most, under each discipline; measure the worst found on fresh seeds.

A search begins with what is known and with random senders, and goes on by differential evolution. Each finished run is
a line of the store, kept as soon as it is there: a run that is in the file is not made again. See README.md beside this
file.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.optimize import Bounds, differential_evolution
from scipy.stats import qmc

import fairdrop
from experiments.attack.senders import GOALS, ROADS, Goal, Road, read, score, text
from fairdrop.engine import engine
from fairdrop.estimate import estimate
from fairdrop.files import write_text

DISCIPLINES = ("collar", "collar:collar.ids=1024", "choke", "afd", "sfb", "fq_codel")
#: What decides a run; another engine is another result.
KEYS = ("engine", "road", "goal", "discipline", "attack", "seed")
RATES = ("attack_bps", "tcp_bps", "victim_bps")
#: Seeds of the search, and of the check, which are others.
SEARCH_SEEDS, CHECK_SEEDS = (1, 2), tuple(range(1001, 1011))
#: Senders of a generation, and generations, the first one random but for what is known.
GENERATION, GENERATIONS = 16, 6
SUMMARY = ("road", "goal", "discipline", "kind", "name", "attack", "searched", "score", "half", "tcp", "n")
Key = tuple[str, ...]
Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One run."""

    road: Road
    goal: Goal
    discipline: str
    attack: str
    seed: int

    @property
    def key(self) -> Key:
        return (engine(), self.road.name, self.goal.name, self.discipline, self.attack, str(self.seed))


def measure(task: Task) -> tuple[Key, dict[str, float]]:
    """Rates of attackers and TCP at the queue, and of the victim at its sink, bit/s."""
    load = task.road.load(read(task.attack), task.goal.forged)
    name, _, more = task.discipline.partition(":")
    settings = [f"queue.discipline={name}", f"seed={task.seed}", *(f"queue.{one}" for one in more.split("+") if one)]
    result = fairdrop.Scenario(load.toml(), load.name, settings).run(1, threads=1)
    rates = dict.fromkeys(RATES, 0.0)
    for group in result.document["runs"][0]["groups"]:
        kind = "attack" if group["name"].startswith("attack") else group["name"]
        rates[f"{kind}_bps"] += group["goodput_bps" if kind == "victim" else "throughput_bps"]
    return task.key, rates


@dataclass
class Store:
    """Finished runs: a CSV file, a line each."""

    path: Path
    processes: int
    done: dict[Key, dict[str, float]] = field(default_factory=dict)
    made: int = 0

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        # A last line that was not written to its end is made anew.
        whole = whole[: whole.rfind("\n") + 1] or ",".join((*KEYS, *RATES)) + "\n"
        write_text(self.path, whole)
        for row in csv.DictReader(whole.splitlines()):
            self.done[tuple(row[key] for key in KEYS)] = {name: float(row[name]) for name in RATES}

    def rates(self, tasks: Sequence[Task]) -> list[dict[str, float]]:
        """What each task measures; those that are not there are run."""
        missing = list({task.key: task for task in tasks if task.key not in self.done}.values())
        if missing:
            with self.path.open("a", newline="", encoding="utf-8") as file, Pool(self.processes) as pool:
                lines = csv.writer(file, lineterminator="\n")
                for key, rates in pool.imap_unordered(measure, missing):
                    shown = [f"{rates[name]:.6g}" for name in RATES]
                    lines.writerow([*key, *shown])
                    file.flush()
                    self.done[key] = dict(zip(RATES, map(float, shown), strict=True))
                    self.made += 1
        return [self.done[task.key] for task in tasks]

    def scores(self, about: tuple[Road, Goal, str], attacks: Sequence[str], seeds: Iterable[int]) -> list[list[float]]:
        """Of each attack, seed by seed."""
        road, goal, _ = about
        each = [[Task(*about, attack, seed) for seed in seeds] for attack in attacks]
        rates = iter(self.rates([task for tasks in each for task in tasks]))
        return [[score(goal, road, read(task.attack), next(rates)) for task in tasks] for tasks in each]


def search(store: Store, about: tuple[Road, Goal, str], generations: int) -> tuple[str, float]:
    """The attack with the largest mean score over the seeds of the search.

    Source: R. Storn, K. Price, "Differential evolution", Journal of Global Optimization 11, 1997; scipy's.
    """
    road, goal, _ = about
    knobs = goal.knobs(road)
    tried: dict[str, float] = {}

    def losses(population: Any) -> list[float]:
        """A row each knob and a column each sender."""
        attacks = [text(goal.attack(knobs, tuple(parts))) for parts in zip(*np.atleast_2d(population), strict=True)]
        new = [attack for attack in dict.fromkeys(attacks) if attack not in tried]
        found = store.scores(about, new, SEARCH_SEEDS)
        tried.update((attack, fmean(scores)) for attack, scores in zip(new, found, strict=True))
        return [-tried[attack] for attack in attacks]

    known = [[knob.part(attack[knob.name]) for knob in knobs] for attack in goal.known(road).values()]
    random = qmc.Sobol(len(knobs), rng=np.random.default_rng(1)).random(GENERATION)
    first = np.vstack([known, random])[:GENERATION]
    differential_evolution(
        losses, Bounds([0.0] * len(knobs), [1.0] * len(knobs)), init=first, maxiter=generations - 1, tol=0.0, atol=0.0,
        polish=False, updating="deferred", vectorized=True, rng=np.random.default_rng(1),
    )  # fmt: skip
    return max(tried.items(), key=lambda item: (item[1], item[0]))


def campaign(
    store: Store,
    roads: Sequence[Road],
    goals: Sequence[Goal],
    disciplines: Sequence[str],
    generations: int = GENERATIONS,
) -> list[Row]:
    """Of each road, goal and discipline the known attacks and the worst found, on fresh seeds."""
    rows = []
    parts = [(road, goal, name) for road in roads for goal in goals for name in disciplines]
    for number, about in enumerate(parts, 1):
        road, goal, name = about
        print(f"{number} of {len(parts)}: {road.name}, {goal.name}, {name}; {store.made} runs", file=sys.stderr)
        attacks = [("known", label, text(attack), "") for label, attack in goal.known(road).items()]
        if goal.knobs(road):
            worst, searched = search(store, about, generations)
            attacks.append(("worst", "", worst, f"{searched:.4g}"))
        found = store.scores(about, [attack for _, _, attack, _ in attacks], CHECK_SEEDS)
        for (kind, label, attack, searched_score), scores in zip(attacks, found, strict=True):
            checked = estimate(scores)
            assert checked is not None
            spread = "" if checked.half is None else f"{checked.half:.2g}"
            tcp = fmean(rates["tcp_bps"] for rates in store.rates([Task(*about, attack, seed) for seed in CHECK_SEEDS]))
            values = (road.name, goal.name, name, kind, label, attack, searched_score, f"{checked.mean:.4g}", spread)
            part = f"{tcp / road.rate_bps:.4f}"
            rows.append(dict(zip(SUMMARY, (*values, part, str(checked.n)), strict=True)))
    return rows


def _chosen(asked: Sequence[str], known: dict[str, Any]) -> list[Any]:
    return [known[name] for name in asked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    roads = {road.name: road for road in ROADS}
    parser.add_argument("--roads", nargs="+", choices=roads, default=list(roads))
    parser.add_argument("--goals", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--disciplines", nargs="+", default=DISCIPLINES, help="a name, or name:setting+setting")
    parser.add_argument("--generations", type=int, default=GENERATIONS, help=f"of {GENERATION} senders each")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--store", type=Path, default=Path("results") / "attack.csv", help="CSV file of finished runs")
    parser.add_argument("--summary", type=Path, help="CSV file for what was found")
    args = parser.parse_args()
    store = Store(args.store, args.processes)
    asked = (_chosen(args.roads, roads), _chosen(args.goals, GOALS), args.disciplines)
    try:
        rows = campaign(store, *asked, args.generations)
    except KeyboardInterrupt:
        sys.exit(f"stopped; {store.made} runs more are in {store.path}, and the same command goes on from there")
    for row in rows:
        print(" | ".join(str(value) for value in row.values()))
    if args.summary:
        lines = [",".join(SUMMARY), *(",".join(f'"{row[name]}"' for name in SUMMARY) for row in rows)]
        write_text(args.summary, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
