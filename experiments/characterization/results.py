"""The stored numbers: ``python -m experiments.characterization.results DIRECTORY`` takes over those of a scorecard.

The directory is that of ``fairdrop characterize --out``. Its numbers replace those of the same disciplines and
sections; the others stay.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.characterization.page import NUMBERS, numbers
from experiments.digests import store
from fairdrop.characterize import Row, read_scorecard
from fairdrop.characterize.rows import csv_text
from fairdrop.characterize.trials import SENSITIVITY, trials
from fairdrop.library import catalogue


def exchanged(kept: Sequence[Row], found: Sequence[Row]) -> list[Row]:
    """Rows that are kept, those of each trial under each discipline in ``found`` exchanged, in order."""
    order = [*trials(), SENSITIVITY.name]
    names = [str(entry["name"]) for entry in catalogue()["disciplines"]]
    new = {(row.trial, row.discipline) for row in found}
    rows = [row for row in kept if row.trial in order and (row.trial, row.discipline) not in new]
    return sorted((*rows, *found), key=lambda row: (order.index(row.trial), names.index(row.discipline)))


def main() -> None:
    card = read_scorecard(sys.argv[1])
    if not card.complete:
        raise SystemExit(f"{sys.argv[1]}: incomplete; valid: a finished fairdrop characterize")
    store(NUMBERS, csv_text(exchanged(numbers(), card.rows)))


if __name__ == "__main__":
    main()
