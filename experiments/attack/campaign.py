"""Look for the sender that gains most, or harms most, under each discipline; measure the worst found on fresh seeds.

A search begins with what is known and with random senders, and goes on by differential evolution. Each finished run is
a line of a file, written as soon as it ends; what is in that file is not run again. See README.md beside this file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.optimize import Bounds, differential_evolution
from scipy.stats import qmc

import fairdrop
from experiments.attack.senders import GOALS, ROADS, Goal, Road, read, score, text
from experiments.digests import Row, Runs, arguments, as_csv
from experiments.digests import read as read_rows
from experiments.digests import store as store_text
from fairdrop.engine import engine
from fairdrop.estimate import estimate

DISCIPLINES = ("collar", "collar:collar.ids=1024", "choke", "afd", "sfb", "fq_codel")
#: What decides a run; another engine is another result.
KEYS = ("engine", "road", "goal", "discipline", "attack", "seed")
RATES = ("attack_bps", "tcp_bps", "victim_bps")
#: Seeds of the search, and of the check, which are others.
SEARCH_SEEDS, CHECK_SEEDS = (1, 2), tuple(range(1001, 1011))
#: Senders of a generation, and generations, the first one random but for what is known.
GENERATION, GENERATIONS = 16, 6
DIGEST = Path(__file__).with_name("attack.csv.xz")
SUMMARY = ("road", "goal", "discipline", "kind", "name", "attack", "searched", "score", "half", "tcp", "n")


@dataclass(frozen=True)
class Task:
    """One run."""

    road: Road
    goal: Goal
    discipline: str
    attack: str
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        return (engine(), self.road.name, self.goal.name, self.discipline, self.attack, str(self.seed))


def measure(task: Task) -> Row:
    """Rates of attackers and TCP at the queue, and of the victim at its sink, bit/s."""
    load = task.road.load(read(task.attack), task.goal.forged)
    name, _, more = task.discipline.partition(":")
    settings = [f"queue.discipline={name}", f"seed={task.seed}", *(f"queue.{one}" for one in more.split("+") if one)]
    result = fairdrop.Scenario(load.toml(), load.name, settings).run(1, threads=1)
    rates: Row = dict.fromkeys(RATES, 0.0)
    for group in result.document["runs"][0]["groups"]:
        kind = "attack" if group["name"].startswith("attack") else group["name"]
        if kind == "crowd":
            continue
        rates[f"{kind}_bps"] += group["goodput_bps" if kind == "victim" else "throughput_bps"]
    return dict(zip(KEYS, task.key, strict=True)) | rates


class Store(Runs):
    """Finished runs, and their scores."""

    def __init__(self, path: Path, processes: int) -> None:
        super().__init__(None, path, KEYS, RATES, digits=6)
        self.processes = processes

    def rates(self, tasks: Sequence[Task]) -> list[dict[str, float]]:
        """What each task measures; those that are missing are run."""
        self.make(((task.key, task) for task in tasks), measure, self.processes)
        return [{name: float(self.done[task.key][name]) for name in RATES} for task in tasks]

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
    parts = [(road, goal, name) for goal in goals for road in goal.roads(roads) for name in disciplines]
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


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Stored results with those of the same road, goal and discipline replaced, in the order of the definitions."""
    about = ("road", "goal", "discipline")
    made = {tuple(row[name] for name in about) for row in new}
    rows = [row for row in old if tuple(row[name] for name in about) not in made] + list(new)
    roads, goals = [road.name for road in ROADS], list(GOALS)
    order = [*DISCIPLINES, *(row["discipline"] for row in rows)]
    return sorted(rows, key=lambda row: (
        roads.index(row["road"]), goals.index(row["goal"]), order.index(row["discipline"])
    ))  # fmt: skip


def _chosen(asked: Sequence[str], known: dict[str, Any]) -> list[Any]:
    return [known[name] for name in asked]


def main() -> None:
    parser = arguments(__doc__, "attack")
    roads = {road.name: road for road in ROADS}
    parser.add_argument("--roads", nargs="+", choices=roads, default=list(roads))
    parser.add_argument("--goals", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--disciplines", nargs="+", default=DISCIPLINES, help="a name, or name:setting+setting")
    parser.add_argument("--generations", type=int, default=GENERATIONS, help=f"of {GENERATION} senders each")
    parser.add_argument("--keep", action="store_true", help="put what was found into attack.csv.xz, for the page")
    args = parser.parse_args()
    store = Store(args.store, args.processes)
    asked = (_chosen(args.roads, roads), _chosen(args.goals, GOALS), args.disciplines)
    try:
        rows = campaign(store, *asked, args.generations)
    except KeyboardInterrupt:
        sys.exit(f"stopped; {store.made} runs more are in {store.work}, and the same command goes on from there")
    for row in rows:
        print(" | ".join(str(value) for value in row.values()))
    if args.keep:
        store_text(DIGEST, as_csv(merged(read_rows(DIGEST), rows)))


if __name__ == "__main__":
    main()
