"""Stored results: tables in CSV that are packed, a line each run, and campaigns that go on where they stopped."""

from __future__ import annotations

import argparse
import csv
import io
import lzma
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any, TypeVar

from experiments import ROOT
from fairdrop.files import write_bytes, write_text

Row = dict[str, Any]
T = TypeVar("T")


def read(path: Path) -> list[dict[str, str]]:
    """The lines of a table, packed if its name ends in .xz; none where there is no file."""
    return list(csv.DictReader(io.StringIO(text_of(path)))) if path.exists() else []


def text_of(path: Path) -> str:
    """A file's text, unpacked."""
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode()


def store(path: Path, text: str) -> None:
    """Write a file, packed if its name ends in .xz: the same text gives the same bytes."""
    if path.suffix == ".xz":
        write_bytes(path, lzma.compress(text.encode(), check=lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME))
    else:
        write_text(path, text)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table; a column that a row lacks is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


class Runs:
    """Finished runs by key: those of the digest, and those of a file of work that each new one is appended to."""

    def __init__(
        self, digest: Path | None, work: Path, keys: Sequence[str], columns: Sequence[str], digits: int = 4
    ) -> None:
        self.digest, self.work, self.digits = digest, work, digits
        self.keys, self.columns = tuple(keys), (*keys, *columns)
        self.made = 0
        work.parent.mkdir(parents=True, exist_ok=True)
        whole = work.read_text(encoding="utf-8") if work.exists() else ""
        # A last line that was not written to its end is made anew.
        write_text(work, whole[: whole.rfind("\n") + 1] or ",".join(self.columns) + "\n")
        rows = [*(read(digest) if digest else []), *read(work)]
        self.done = {self.key(row): row for row in rows}

    def key(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self.keys)

    def make(self, tasks: Iterable[tuple[tuple[str, ...], T]], measure: Callable[[T], Row], processes: int) -> None:
        """Make the runs that are missing, of tasks by key. ``measure`` gives a row with its key."""
        missing = [task for key, task in dict(tasks).items() if key not in self.done]
        if not missing:
            return
        with self.work.open("a", newline="", encoding="utf-8") as file, Pool(processes) as pool:
            writer = csv.DictWriter(file, self.columns, restval="", lineterminator="\n")
            for number, row in enumerate(pool.imap_unordered(measure, missing), 1):
                shown = {name: self._shown(row.get(name)) for name in self.columns}
                writer.writerow(shown)
                file.flush()
                self.done[self.key(shown)] = shown
                self.made += 1
                print(f"\r{number} of {len(missing)} runs", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    def keep(self, keys: Iterable[tuple[str, ...]]) -> None:
        """Add these runs to the digest."""
        assert self.digest is not None
        there = read(self.digest)
        known = {self.key(row) for row in there}
        store(self.digest, as_csv([*there, *(self.done[key] for key in keys if key not in known)]))

    def _shown(self, value: Any) -> str:
        return "" if value is None else f"{value:.{self.digits}g}" if isinstance(value, float) else str(value)


def arguments(about: str | None, work: str) -> argparse.ArgumentParser:
    """The options of every campaign; its file of work is ``results/WORK.csv``."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--processes", type=int, default=2, help="runs at once (%(default)s)")
    parser.add_argument(
        "--store", type=Path, default=ROOT / "results" / f"{work}.csv", help="file of finished runs (%(default)s)"
    )
    return parser
