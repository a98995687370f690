"""Counts the decisions that a queue discipline of the kernel and one of the library have in common.

python -m experiments.kernel_qdiscs.campaign                every discipline, 20 loads (half a minute)
python -m experiments.kernel_qdiscs.campaign codel pie      those of the kernel's names
python -m experiments.kernel_qdiscs.campaign --fetch        first downloads the kernel that has dualpi2 (170 MB)
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from experiments.kernel_qdiscs.build import MissingError, compile_all, fetch_newer, newer, version

RESULT = Path(__file__).with_name("decisions.csv")
# Forms that the CoDel before March 2026 is compared with.
OLDER = "before 2026-03"
LOADS = range(1, 21)
EVENTS = 100_000


@dataclass
class Decisions:
    """A discipline of the kernel beside a form of the library's, over all loads."""

    kernel: str
    discipline: str
    form: str
    library: str
    settings: str
    loads: int
    events: int
    equal: int
    dropped: int
    marked: int
    #: Loads without a difference.
    agreeing: int
    #: The first difference, with its load; empty where there is none.
    first: str


def forms(program: Path) -> list[list[str]]:
    """Discipline, form, discipline of the library, its settings."""
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    return [line.split("\t") for line in done.stdout.splitlines()]


def compared(program: Path, kernel: str, form: list[str]) -> Decisions:
    """Every load, one after the other."""
    discipline, name, library, settings = form
    total = Decisions(kernel, discipline, name, library, settings.strip(), 0, 0, 0, 0, 0, 0, "")
    for load in LOADS:
        command = [str(program), discipline, name, str(load), str(EVENTS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        events, equal, dropped, marked, first, difference = done.stdout.rstrip("\n").split("\t")
        total.loads += 1
        total.events += int(events)
        total.equal += int(equal)
        total.dropped += int(dropped)
        total.marked += int(marked)
        total.agreeing += int(first) == 0
        if int(first) and not total.first:
            total.first = f"load {load}, event {first}, {difference}"
    return total


def write(rows: list[Decisions]) -> None:
    """The table, with names of columns."""
    new = RESULT.with_suffix(".new")
    with new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Decisions))
        writer.writerows(map(astuple, rows))
    os.replace(new, RESULT)


def stored() -> list[Decisions]:
    """The rows of the last run."""
    if not RESULT.exists():
        return []
    with RESULT.open(encoding="utf-8", newline="") as file:
        return [Decisions(**row) for row in csv.DictReader(file)]  # type: ignore[arg-type]


def main(names: list[str], fetch: bool = False) -> int:
    """Prints a line for each form; stores them where all were asked for. 1 where a form "linux" decides otherwise."""
    try:
        if fetch:
            fetch_newer()
        kernel, later = version(), newer()
        program, older = compile_all(kernel), compile_all(kernel, older_codel=True)
    except MissingError as reason:
        print(f"linux-qdiscs: skipped: {reason}")
        return 0
    print(f"Linux {kernel}: events, equal decisions, loads without a difference")
    rows = []
    for form in forms(program):
        if names and form[0] not in names:
            continue
        row = compared(
            older if OLDER in form[1] else program, later[0] if later and form[0] == "dualpi2" else kernel, form
        )
        rows.append(row)
        counts = f"{row.events:9} {row.equal:9} {row.agreeing:3} of {row.loads}"
        print(f"{row.discipline:9} {row.form:10} {counts}  {row.first}", flush=True)
    if not later and not names:
        print("dualpi2: skipped: no newer kernel (--fetch)")
    if not names:
        write(rows if later else [*rows, *(row for row in stored() if row.discipline == "dualpi2")])
    return int(any(row.form.startswith("linux") and row.equal < row.events for row in rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="DISCIPLINE", help="disciplines of the kernel")
    parser.add_argument("--fetch", action="store_true", help="download the kernel that has dualpi2 (170 MB)")
    options = parser.parse_args()
    sys.exit(main(options.names, options.fetch))
