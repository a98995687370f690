"""The scorecard as tables: which columns, what is in a cell, which cells are among the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, log

from fairdrop.characterize.harm import HARM
from fairdrop.characterize.rows import Row
from fairdrop.characterize.trials import SENSITIVITY, Trial, trials
from fairdrop.estimate import Estimate
from fairdrop.wording.numbers import digits, number_and_half

_INDEX = "_index"
_SPREAD = "_spread"
_TIMES = ("ms", "s")
# Section 4.6: disciplines alone, and the schedulers that run one of them for each flow or class.
_SCHEDULED = {
    "droptail": ("drr", "fq", "sfq"), "choke": ("class_choke",),
    "cobalt": ("cake",), "codel": ("fq_codel",), "pie": ("fq_pie",),
}  # fmt: skip
# Trial and measure.
_WITH_SCHEDULER = (
    ("5.3-unresponsive", "protection"), ("6-round-trips", "two_over_one"), ("9.1-mix", "voice_wait_p99"),
    ("5.1.1-same-window", "utilisation"),
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A measure of a trial, at settings."""

    section: str
    trial: str
    at: str
    measure: str
    unit: str
    better: str

    @property
    def where(self) -> str:
        """The settings without their paths: ``count=68``."""
        return " & ".join(
            one.partition("=")[0].rpartition(".")[2] + "=" + one.partition("=")[2]
            for one in self.at.split(" & ")
            if one
        )

    @property
    def label(self) -> str:
        """In words, with the unit."""
        name, spread = self.measure.removesuffix(_SPREAD), self.measure.endswith(_SPREAD)
        label = next(one.label for one in (*trial_of(self.trial).measures, HARM) if one.name == name)
        label = f"{label}, largest / smallest" if spread else label
        return f"{label}, {self.unit}" if self.unit else label


@dataclass(frozen=True)
class Board:
    """A table: disciplines by columns."""

    title: str
    columns: Sequence[Column]
    cells: dict[tuple[str, Column], Row]
    disciplines: Sequence[str]
    #: Trial, settings and discipline, where one does harm.
    harmful: frozenset[tuple[str, str, str]] = frozenset()

    def best(self, column: Column) -> set[str]:
        """Disciplines that no other beats beyond both 95 % intervals, among those that do no harm there."""
        rows = [self.cells.get((name, column)) for name in self.disciplines]
        able = [row for row in rows if row and (row.trial, row.at, row.discipline) not in self.harmful]
        return among_best({row.discipline: row.estimate for row in able}, column.better)


def trial_of(name: str) -> Trial:
    """A trial by name."""
    return SENSITIVITY if name == SENSITIVITY.name else trials()[name]


def score_boards(rows: Sequence[Row]) -> list[Board]:
    """The scorecard in three tables."""
    chosen = [row for row in rows if row.score]
    parts: dict[str, list[Row]] = {"Fairness": [], "Delay": [], "Throughput, loss and sensitivity": []}
    for row in chosen:
        parts[_topic(row)].append(row)
    return [_board(title, some, rows) for title, some in parts.items() if some]


def trial_boards(rows: Sequence[Row]) -> list[Board]:
    """All that was measured, a table for each trial and setting; of sensitivity the spread of each measure."""
    found = []
    for name, at in dict.fromkeys((row.trial, "" if row.measure.endswith(_INDEX) else row.at) for row in rows):
        some = [row for row in rows if (row.trial, row.at) == (name, at) and not row.measure.endswith(_INDEX)]
        if some:
            where = f" ({at})" if at else ""
            found.append(_board(f"{trial_of(name).section} {trial_of(name).title}{where}", some, rows))
    return found


def scheduler_board(rows: Sequence[Row]) -> Board | None:
    """Section 4.6: each discipline alone, then under a scheduler. None where no such pair was simulated."""
    known = {row.discipline for row in rows}
    pairs = {alone: [one for one in under if one in known] for alone, under in _SCHEDULED.items() if alone in known}
    names = [name for alone, under in pairs.items() if under for name in (alone, *under)]
    some = [
        row for row in rows if row.score and row.discipline in names and (row.trial, row.measure) in _WITH_SCHEDULER
    ]
    if not some:
        return None
    board = _board("4.6 Alone and under a scheduler", some, rows)
    return Board(board.title, board.columns, board.cells, names, board.harmful)


def influence_rows(rows: Iterable[Row]) -> dict[str, dict[str, list[Row]]]:
    """Total indices by discipline and measure, the largest first."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row.measure.endswith(_INDEX):
            of = found.setdefault(row.discipline, {})
            of.setdefault(row.measure.removesuffix(_INDEX), []).append(row)
    for measures in found.values():
        for some in measures.values():
            some.sort(key=lambda row: -row.mean)
    return found


def cell_text(row: Row) -> str:
    """``93.1 ±0.4``, or the mean alone without an interval."""
    if row.half is None:
        return digits(row.mean)
    mean, half = number_and_half(row.estimate, at_most=3)
    # An interval that its digits do not show is left out.
    if half is not None and half != "0" and not half.startswith("<"):
        return f"{mean} ±{half}"
    return mean if float(mean) else digits(row.mean)


def among_best(values: dict[str, Estimate], better: str) -> set[str]:
    """Those that no other beats beyond both intervals; none where nothing beats something else."""
    if not better or not values:
        return set()
    reach = {name: _distances(value, better) for name, value in values.items()}
    first = min(reach, key=lambda name: _distance(values[name].mean, better))
    return {name for name, (nearest, _) in reach.items() if nearest <= reach[first][1]}


def _distances(value: Estimate, better: str) -> tuple[float, float]:
    """How far the ends of the interval are from what is best: the nearer one, the farther one."""
    ends = [_distance(end, better) for end in (value.low, value.high)]
    inside = better == "one" and value.low <= 1 <= value.high
    return (0.0 if inside else min(ends)), max(ends)


def _distance(value: float, better: str) -> float:
    if better == "one":
        return abs(log(value)) if value > 0 else inf
    return value if better == "less" else -value


def _topic(row: Row) -> str:
    if row.measure.endswith(_SPREAD):
        return "Throughput, loss and sensitivity"
    if row.unit in _TIMES:
        return "Delay"
    return "Fairness" if row.better == "one" or row.measure == "ledbat_share" else "Throughput, loss and sensitivity"


def _board(title: str, rows: Sequence[Row], every: Sequence[Row]) -> Board:
    cells = {(row.discipline, _column(row)): row for row in rows}
    columns = list(dict.fromkeys(column for _, column in cells))
    harmful = frozenset((row.trial, row.at, row.discipline) for row in every if row.measure == HARM.name)
    return Board(title, columns, cells, list(dict.fromkeys(row.discipline for row in rows)), harmful)


def _column(row: Row) -> Column:
    return Column(row.section, row.trial, row.at, row.measure, row.unit, row.better)
