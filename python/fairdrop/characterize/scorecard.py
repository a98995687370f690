"""The scorecard: every measure of every trial and discipline with its interval; files of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from fairdrop import _core, files
from fairdrop.estimate import Estimate
from fairdrop.table import Table

SCHEMA = "fairdrop/characterization/1"
ABOUT, CSV, PARQUET = "characterization.json", "scorecard.csv", "scorecard.parquet"
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
        return f"fairdrop run scenarios/{self.trial}.toml --set queue.discipline={self.discipline}{settings} --seeds {self.seeds}"


class Scorecard:
    """What a characterization found: rows, and what was asked."""

    def __init__(self, rows: Sequence[Row], about: Mapping[str, Any], folder: Path | None = None) -> None:
        self.rows = list(rows)
        self.about = about
        self.folder = folder

    @property
    def disciplines(self) -> list[str]:
        """In the order asked."""
        return list(self.about["disciplines"])

    @property
    def complete(self) -> bool:
        """False when the work was interrupted, or when a run failed."""
        return bool(self.about["complete"])

    @property
    def problems(self) -> list[str]:
        """Runs that failed, and why."""
        return list(self.about["problems"])

    @property
    def table(self) -> Table:
        """Every row."""
        return Table(_core.table_of(self._columns()))

    def find(self, trial: str, measure: str, discipline: str, at: str | None = None) -> Row:
        """One row; ``at`` may be left out where there is one. Raises KeyError."""
        found = [
            row
            for row in self.rows
            if (row.trial, row.measure, row.discipline) == (trial, measure, discipline) and at in (None, row.at)
        ]
        if len(found) != 1:
            places = ", ".join(row.at or "''" for row in found)
            raise KeyError(f"{trial}, {measure}, {discipline}: {len(found)} rows{f' at {places}' if found else ''}")
        return found[0]

    def report(self, path: str | PathLike[str]) -> None:
        """Write the report, one self-contained HTML file."""
        from fairdrop.characterize.page import write_page

        write_page(self, path)

    def write(self, folder: Path) -> None:
        """``scorecard.parquet``, ``scorecard.csv`` and ``characterization.json``, which comes last. Raises OSError."""
        _core.write_parquet(folder / PARQUET, self._columns())
        files.write_text(folder / CSV, csv_text(self.rows))
        files.write_text(folder / ABOUT, json.dumps(self.about, indent=1, allow_nan=False) + "\n")

    def _columns(self) -> list[tuple[str, str, list[Any]]]:
        return [(name, kind, [getattr(row, name) for row in self.rows]) for name, kind in COLUMNS]

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        return f"Scorecard of {len(self.disciplines)} disciplines, {len(self.rows)} numbers{state}"


def read_scorecard(folder: str | PathLike[str]) -> Scorecard:
    """A scorecard that ``characterize`` wrote. Raises OSError, or ValueError where it is none."""
    path = Path(folder) / ABOUT
    try:
        about = json.loads(files.read_text(path, files.DOCUMENT))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error}); valid: what fairdrop characterize wrote") from None
    found = about.get("schema") if isinstance(about, dict) else None
    if found != SCHEMA:
        raise ValueError(f"{path}: schema = {found!r} is not valid; valid: {SCHEMA!r}")
    table = Table(_core.read_parquet([Path(folder) / PARQUET]))
    return Scorecard([Row(**row) for row in table.rows()], about, Path(folder))


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
