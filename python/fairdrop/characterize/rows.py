"""Rows of a scorecard: numbers with their intervals, and where they come from; as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from fairdrop import files
from fairdrop.estimate import Estimate

COLUMNS = (
    ("section", "text"),
    ("trial", "text"),
    ("at", "text"),
    ("discipline", "text"),
    ("measure", "text"),
    ("unit", "text"),
    ("better", "text"),
    ("score", "switch"),
    ("mean", "number"),
    ("half", "number"),
    ("seeds", "count"),
)
# Digits of a number in the CSV file; the Parquet file has all.
_DIGITS = 5


@dataclass(frozen=True)
class Row:
    """A measure of a discipline in a trial: mean over seeds, half the 95 % interval (None with a single seed)."""

    section: str
    trial: str
    #: Settings beside the scenario, such as ``groups.udp.rate=48mbit``; empty where there are none.
    at: str
    discipline: str
    measure: str
    unit: str
    better: str
    score: bool
    mean: float
    half: float | None
    seeds: int

    @property
    def estimate(self) -> Estimate:
        """Mean and interval."""
        return Estimate(self.mean, self.half, self.seeds)

    @property
    def command(self) -> str:
        """What simulates it again, in the folder of the scorecard."""
        if self.trial == "8.3-parameters":
            return f"fairdrop sweep studies/{self.trial}-{self.discipline}.toml"
        settings = "".join(f" --set '{setting}'" for setting in self.at.split(" & ") if setting)
        scenario = f"scenarios/{self.trial}.toml --set queue.discipline={self.discipline}{settings}"
        return f"fairdrop run {scenario} --seeds {self.seeds}"


def csv_text(rows: Iterable[Row]) -> str:
    """The scorecard as CSV, numbers in five digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in COLUMNS])
    for row in rows:
        values = [getattr(row, name) for name, _ in COLUMNS]
        writer.writerow([_written(value) for value in values])
    return text.getvalue()


def read_csv(path: str | PathLike[str]) -> list[Row]:
    """Rows of a CSV file. Raises OSError, or ValueError where it is none."""
    rows = list(csv.DictReader(io.StringIO(files.read_text(path, files.DOCUMENT))))
    if not rows or list(rows[0]) != [name for name, _ in COLUMNS]:
        raise ValueError(f"{path}: its columns are others; valid: {', '.join(name for name, _ in COLUMNS)}")
    return [_read(row) for row in rows]


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def _read(row: Mapping[str, str]) -> Row:
    texts = {name: row[name] for name, kind in COLUMNS if kind == "text"}
    half = float(row["half"]) if row["half"] else None
    return Row(**texts, score=row["score"] == "1", mean=float(row["mean"]), half=half, seeds=int(row["seeds"]))
