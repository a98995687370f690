"""Tables of docs/background/attack.md from attack.csv: ``python -m experiments.attack.page``.

What stands between ``<!-- attack: ROAD GOAL -->`` and ``<!-- end -->`` is replaced; ROAD counts from 1.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from experiments import DOCS
from experiments.attack.senders import GOALS, ROADS, read
from fairdrop.files import write_text
from fairdrop.wording.disciplines import discipline_name

HERE = Path(__file__).resolve().parent
PAGE, RESULTS = DOCS / "background" / "attack.md", HERE / "attack.csv"
_PART = re.compile(r"<!-- attack: (\d) (\w+) -->\n.*?<!-- end -->", re.DOTALL)
Row = dict[str, str]


def table(rows: list[Row], goal: str) -> list[str]:
    """Attacks by disciplines, the worst found last; what is found lists its sender."""
    names = list(dict.fromkeys(row["discipline"] for row in rows))
    head = "ids" if goal == "split" else "attack"
    lines = [f"| {head} | {' | '.join(map(_label, names))} |", "| --- |" + " ---: |" * len(names)]
    cell = {(row["discipline"], row["name"]): _cell(row, goal) for row in rows}
    for label in dict.fromkeys(row["name"] for row in rows):
        cells = [cell[name, label] for name in names]
        lines.append(f"| {label or '**worst found**'} | {' | '.join(cells)} |")
    return lines


def _label(discipline: str) -> str:
    """Its name, and what is not its default."""
    name, _, settings = discipline.partition(":")
    return ", ".join([discipline_name(name), *(one.partition(".")[2] for one in settings.split("+") if one)])


def _cell(row: Row, goal: str) -> str:
    value, half = float(row["score"]), float(row["half"])
    if goal == "split":
        return f"{100 * value:.1f} / {100 * float(row['tcp']):.1f}"
    if goal in ("harm", "forged"):
        # Without a minus sign before what is rounded to nothing.
        return f"{round(100 * value, 1) + 0.0:.1f} ± {100 * half:.1f}"
    places = 1 if abs(value) >= 10 else 2
    return f"{value:.{places}f} ± {half:.{places}f}"


def worst(rows: list[Row], goal: str) -> list[str]:
    """The worst sender of each discipline, in words."""
    several = any(knob.name == "ids" for knob in GOALS[goal].knobs(ROADS[0]))
    ids, apart = ("ids | ", "turns apart, of a period | ") if several else ("", "")
    lines = [
        f"| discipline | load, fair shares | {ids}period, ms | of it on, % | {apart}packet, B | in the search |",
        "| --- |" + " ---: |" * (7 if several else 5),
    ]
    for row in rows:
        if row["kind"] != "worst":
            continue
        one = read(row["attack"])
        cells = [_label(row["discipline"]), f"{one['load']:.3g}"]
        cells += [f"{one['ids']:.0f}"] if several else []
        cells += [f"{1e3 * one['period']:.4g}", f"{100 * one['on']:.3g}"]
        cells += [f"{one['spread']:.2g}"] if several else []
        times = 100 if goal in ("harm", "forged") else 1
        cells += [f"{one['size']:.0f}", f"{round(times * float(row['searched']), 2) + 0.0:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def made(text: str) -> str:
    """The page with its tables."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def part(place: re.Match[str]) -> str:
        road, goal = ROADS[int(place[1]) - 1].name, place[2]
        found = [row for row in rows if (row["road"], row["goal"]) == (road, goal)]
        lines = table(found, goal)
        if GOALS[goal].knobs(ROADS[0]):
            lines += ["", *worst(found, goal)]
        body = "\n".join(lines)
        return f"<!-- attack: {place[1]} {goal} -->\n\n{body}\n\n<!-- end -->"

    return _PART.sub(part, text)


if __name__ == "__main__":
    write_text(PAGE, made(PAGE.read_text(encoding="utf-8")))
