"""The scorecard: every measure of every trial and discipline with its interval; files of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from fairdrop import _core, files
from fairdrop.characterize.rows import COLUMNS, Row, csv_text
from fairdrop.table import Table
from fairdrop.wording.phrases import count

SCHEMA = "fairdrop/characterization/1"
ABOUT, CSV, PARQUET = "characterization.json", "scorecard.csv", "scorecard.parquet"


class Scorecard:
    """Results of a characterization: rows, and the request."""

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
            where = f" at {places}" if found else ""
            raise KeyError(f"{trial}, {measure}, {discipline}: {count(len(found), 'row')}{where}")
        return found[0]

    def report(self, path: str | PathLike[str]) -> None:
        """Write the report, one self-contained HTML file."""
        from fairdrop.characterize.page import write_page

        write_page(self.rows, self.about, path)

    def write(self, folder: Path) -> None:
        """``scorecard.parquet``, ``scorecard.csv`` and ``characterization.json``, which comes last. Raises OSError."""
        _core.write_parquet(folder / PARQUET, self._columns())
        files.write_text(folder / CSV, csv_text(self.rows))
        files.write_text(folder / ABOUT, json.dumps(self.about, indent=1, allow_nan=False) + "\n")

    def _columns(self) -> list[tuple[str, str, list[Any]]]:
        return [(name, kind, [getattr(row, name) for row in self.rows]) for name, kind in COLUMNS]

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        disciplines, numbers = count(len(self.disciplines), "discipline"), count(len(self.rows), "number")
        return f"Scorecard of {disciplines}, {numbers}{state}"


def read_scorecard(folder: str | PathLike[str]) -> Scorecard:
    """A scorecard that ``characterize`` wrote. Raises OSError, or ValueError where it is none."""
    path = Path(folder) / ABOUT
    about = files.read_json(path, files.DOCUMENT, "what fairdrop characterize wrote")
    found = about.get("schema") if isinstance(about, dict) else None
    if found != SCHEMA:
        raise ValueError(f"{path}: schema = {found!r} is not valid; valid: {SCHEMA!r}")
    table = Table(_core.read_parquet([Path(folder) / PARQUET]))
    return Scorecard([Row(**row) for row in table.rows()], about, Path(folder))
