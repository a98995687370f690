"""Live runs compared with simulated ones: the program that makes them, and the differences."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairdrop.document import (
    Document,
    Queue,
    Run,
    disciplines,
    group_names,
    of_group,
    over_seeds,
    queue_wait,
    reference_queue,
    runs_of,
)
from fairdrop.estimate import TIME_RESOLUTION, Estimate, difference

PROGRAM = "fairdropd"
VARIABLE = "FAIRDROPD"


def find_program() -> str:
    """The program that makes live runs: ``$FAIRDROPD``, or ``fairdropd`` beside this Python or on the path.

    Raises ValueError when there is none.
    """
    named = os.environ.get(VARIABLE)
    found = shutil.which(named) if named else shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    found = found or (None if named else shutil.which(PROGRAM))
    if found is None:
        what = f"{VARIABLE}={named!r}: not a program" if named else f"{PROGRAM} is not installed"
        raise ValueError(
            f"live runs: {what}; valid: {PROGRAM} (make fairdropd, or cargo install --path crates/fairdrop-live) "
            f"on the path, or the name of one in {VARIABLE}; on Linux"
        )
    return found


@dataclass(frozen=True)
class Pair:
    """A number as it was simulated and as it was live. ``difference`` is live minus simulated (Welch's interval)."""

    discipline: str
    of: str
    measure: str
    unit: str
    scale: float
    simulated: Estimate
    live: Estimate
    difference: Estimate

    @property
    def relative(self) -> float | None:
        """The difference as a fraction of the simulated value; None if that is 0."""
        return self.difference.mean / self.simulated.mean if self.simulated.mean else None


_Value = Callable[[Run], float | None]


def side_by_side(simulated: Document, live: Document) -> list[Pair]:
    """Every group, then the reference link, under each discipline that both have."""
    found = []
    for discipline in disciplines(simulated):
        for name in group_names(simulated.runs):
            found += _pairs(simulated, live, discipline, name, _of_group(name))
        links = [queue.name for run in runs_of(simulated, discipline) if (queue := reference_queue(run))]
        if links:
            found += _pairs(simulated, live, discipline, str(links[0]), _LINK)
    return found


def _of_group(name: str) -> dict[str, tuple[str, float, _Value]]:
    return {
        "share": ("%", 100.0, of_group(name, "share")),
        "goodput": ("kb/s", 1e-3, of_group(name, "goodput_bps")),
        "dropped": ("%", 100.0, of_group(name, "drop_fraction")),
    }


def _queue(value: Callable[[Queue], float | None]) -> _Value:
    def found(run: Run) -> float | None:
        queue = reference_queue(run)
        return None if queue is None else value(queue)

    return found


_LINK: dict[str, tuple[str, float, _Value]] = {
    "busy": ("%", 100.0, _queue(lambda queue: queue.utilisation)),
    "queue": ("packets", 1.0, _queue(lambda queue: queue.mean_packets)),
    "median wait": ("ms", 1e3, _queue(lambda queue: queue_wait(queue, "p50"))),
}


def _pairs(
    simulated: Document, live: Document, discipline: str, of: str, measures: dict[str, tuple[str, float, _Value]]
) -> list[Pair]:
    sides = runs_of(simulated, discipline), runs_of(live, discipline)
    found = []
    for measure, (unit, scale, value) in measures.items():
        resolution = TIME_RESOLUTION if measure == "median wait" else 0.0
        one, other = (over_seeds(side, value, resolution) for side in sides)
        between = difference(map(value, sides[0]), map(value, sides[1]), resolution)
        if one is not None and other is not None and between is not None:
            found.append(Pair(discipline, of, measure, unit, scale, one, other, between))
    return found
