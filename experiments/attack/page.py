"""Tables of docs/background/attack.md from attack.csv.xz. A section is named ``ROAD GOAL``; ROAD counts from 1."""

from __future__ import annotations

from experiments import DOCS
from experiments.attack.campaign import DIGEST
from experiments.attack.senders import GOALS, ROADS
from experiments.attack.senders import read as attack_of
from experiments.digests import Row, read
from experiments.pages import Files, pages_with, table
from fairdrop.wording.disciplines import discipline_name

PAGE = DOCS / "background" / "attack.md"


def by_attack(rows: list[Row], goal: str) -> str:
    """Attacks by disciplines, the worst found last; what is found lists its sender."""
    names = list(dict.fromkeys(row["discipline"] for row in rows))
    lines = []
    cell = {(row["discipline"], row["name"]): _cell(row, goal) for row in rows}
    for label in dict.fromkeys(row["name"] for row in rows):
        lines.append([label or "**worst found**", *(cell[name, label] for name in names)])
    return table(["ids" if goal == "split" else "attack", *map(_label, names)], lines, 1)


def _label(discipline: str) -> str:
    """Its name, and what is not its default."""
    name, _, settings = discipline.partition(":")
    return ", ".join([discipline_name(name), *(one.partition(".")[2] for one in settings.split("+") if one)])


def _cell(row: Row, goal: str) -> str:
    value, half = float(row["score"]), float(row["half"])
    if goal == "split":
        return f"{100 * value:.1f} / {100 * float(row['tcp']):.1f}"
    if goal in ("harm", "forged", "crowd"):
        # Without a minus sign before what is rounded to nothing.
        return f"{round(100 * value, 1) + 0.0:.1f} ± {100 * half:.1f}"
    places = 1 if abs(value) >= 10 else 2
    return f"{value:.{places}f} ± {half:.{places}f}"


def worst(rows: list[Row], goal: str) -> str:
    """The worst sender of each discipline, in words."""
    several = any(knob.name == "ids" for knob in GOALS[goal].knobs(ROADS[0]))
    ids, apart = (["ids"], ["turns apart, of a period"]) if several else ([], [])
    head = ["discipline", "load, fair shares", *ids, "period, ms", "of it on, %", *apart, "packet, B", "in the search"]
    lines = []
    for row in rows:
        if row["kind"] != "worst":
            continue
        one = attack_of(row["attack"])
        cells = [_label(row["discipline"]), f"{one['load']:.3g}"]
        cells += [f"{one['ids']:.0f}"] if several else []
        cells += [f"{1e3 * one['period']:.4g}", f"{100 * one['on']:.3g}"]
        cells += [f"{one['spread']:.2g}"] if several else []
        times = 100 if goal in ("harm", "forged", "crowd") else 1
        cells += [f"{one['size']:.0f}", f"{round(times * float(row['searched']), 2) + 0.0:.2f}"]
        lines.append(cells)
    return table(head, lines, 1)


def files() -> Files:
    rows = read(DIGEST)
    sections = {}
    for number, road in enumerate(ROADS, 1):
        for goal in GOALS.values():
            if road not in goal.roads(ROADS):
                continue
            found = [row for row in rows if (row["road"], row["goal"]) == (road.name, goal.name)]
            tables = [by_attack(found, goal.name)]
            tables += [worst(found, goal.name)] if goal.knobs(road) else []
            sections[f"{number} {goal.name}"] = "\n\n".join(tables)
    yield from pages_with("attack", sections, PAGE)
