"""An id reproduced, and what a person does with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.files import DOCUMENT, read_json
from fairdrop.models import ModelError
from fairdrop.optional import needed
from fairdrop.progress import Progress
from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.execute.plan import (
    BASE,
    YARDSTICKS,
    Order,
    Part,
    SettingError,
    check_readings,
    is_blamed,
    looks,
    readings,
)
from fairdrop.reproduce.execute.store import Store, write_text
from fairdrop.reproduce.execute.work import Measured, measure, part_weight
from fairdrop.reproduce.judge.document import SCHEMA, Found, finished, pending
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.mutants import judge_mutant, mutate
from fairdrop.reproduce.judge.settled import compared, lengthen, plain
from fairdrop.reproduce.judge.verdict import SHORT, judge, may_hold
from fairdrop.reproduce.judge.whole import settle
from fairdrop.reproduce.measure.looks import ERROR, Look
from fairdrop.reproduce.measure.runs import MeasureError
from fairdrop.reproduce.show.figures import draw
from fairdrop.reproduce.show.page import notebook
from fairdrop.scenario import ScenarioError

if TYPE_CHECKING:
    import pandas


class Reproduction(Findings):
    """What was found for one id, to look at and to save: ``document`` holds all of it, in plain values."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame (needs pandas)."""
        return needed("pandas").DataFrame(self.rows)

    def plot(self) -> Figure:
        """The figure as the paper draws it, with its published points. Raises ValueError when there is none."""
        return draw(self)

    def _repr_html_(self) -> str:
        """What a notebook shows for the object: verdict, figure, claims."""
        return notebook(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Draw into a file: PDF, SVG or PNG by its name."""
        plot.save(self.plot(), path)

    def __repr__(self) -> str:
        return f"Reproduction of {self.definition.name}: {self.verdict}"


def reproduce(
    definition: Definition, order: Order, store: Store, threads: int | None = None, progress: Progress | None = None
) -> Reproduction:
    """Run (or take from the store) what an id needs, and judge its claims.

    A feature that the engine lacks leaves the verdict "pending", with the reason. Raises SettingError where the
    settings of the order are what cannot be simulated.
    """
    try:
        found = _Runs(definition, order, store, threads, progress or Progress()).judged()
    except (ScenarioError, MeasureError, ModelError) as error:
        if isinstance(error, ScenarioError) and is_blamed(definition, order):
            raise SettingError(order, f"{definition.name}: {error}") from None
        return Reproduction(definition, pending(definition, order, str(error)))
    return Reproduction(definition, settle(definition, finished(definition, order, found)))


@dataclass
class _Runs:
    """What is run for one id, as far as its verdicts ask for it."""

    definition: Definition
    order: Order
    store: Store
    threads: int | None
    progress: Progress

    def judged(self) -> Found:
        """Seeds until every claim is decided, then other readings, then other disciplines in the scheme's place."""
        check_readings(self.definition, self.order)
        numbers = looks(self.definition, self.order)
        for number, seeds in enumerate(numbers, start=1):
            look = Look(number, len(numbers))
            found = self._measure(Part(seeds), look.error)
            judged, bearing = judge(self.definition, found.data, (BASE,))
            if look.is_last or not any(item.is_open for item in judged):
                break
        if self.definition.readings and any(item.verdict in SHORT for item in judged):
            found = self._readings(found, look, seeds, numbers[-1])
            judged, bearing = judge(self.definition, found.data, readings(self.definition))
        mutants = self._mutants(found, numbers[0]) if self.definition.simulation and not self.definition.is_own else {}
        return Found(found, judged, bearing, look, mutants, self._settled(found, bearing, look, seeds))

    def _settled(self, found: Measured, bearing: str | None, look: Look, seeds: int) -> dict[str, Any]:
        """Series that had not settled under the reading that decides, and the claims after a longer warm-up."""
        deciding = next(one for one in readings(self.definition) if one.name == (bearing or BASE.name))
        slow = [one for one in found.moved if one.reading == deciding.name]
        document: dict[str, Any] = {"asked": found.settling, "unsettled": plain(found.moved), "longer": None}
        if not slow:
            return document
        places = frozenset(one.place for one in slow)
        data = found.data[deciding.name]
        runs = max(one.series.runs for one in slow)
        again = self._measure(Part(runs, (deciding,), longer=places), look.error)
        lengthened = lengthen(data, again.data[deciding.name], places)
        changed = compared(self.definition, data, lengthened)
        document["longer"] = {"reading": deciding.name, "set_ups": len(places), **changed, "still": plain(again.moved)}
        return document

    def _readings(self, found: Measured, look: Look, seeds: int, most: int) -> Measured:
        """The other readings with the seeds of the verdict, and those that may bear all claims out with the most seeds.

        Each reading is another chance to find what one looks for, so they share the error of the look.
        """
        others = self.definition.readings
        error = look.error / (2 * len(others))
        first = self._measure(Part(seeds, others), error)
        found = _with(found, first)
        hopeful = tuple(one for one in others if one.admitted and may_hold(self.definition, first.data[one.name]))
        if not hopeful or seeds == most:
            return found
        second = self._measure(Part(most, hopeful), error)
        return _with(found, second)

    def _mutants(self, found: Measured, seeds: int) -> dict[str, list[str | None]]:
        """Each claim again with a yardstick in the place of the schemes that a paper proposes."""
        states = {}
        for name in YARDSTICKS:
            replaced = self._measure(Part(seeds, mutant=name), ERROR).data[BASE.name]
            data = mutate(found.data[BASE.name], replaced.rows)
            schemes = {row.scheme for row in replaced.rows if not row.exact}
            states[name] = [judge_mutant(claim, data, schemes) for claim in self.definition.claims]
        return states

    def _measure(self, part: Part, error: float) -> Measured:
        if part != Part(looks(self.definition, self.order)[0]):
            self.progress.total += part_weight(self.definition, self.order, part)
        return measure(self.definition, self.order, self.store, self.threads, self.progress, part, error)


def _with(found: Measured, more: Measured) -> Measured:
    """Other readings beside what was measured, or again with more seeds."""
    moved = (*(one for one in found.moved if one.reading not in more.data), *more.moved)
    return replace(found, data={**found.data, **more.data}, runs=found.runs + more.runs, moved=moved)


def read(path: Path, definition: Definition) -> Reproduction | None:
    """A stored document, or None when there is none that can be read."""
    try:
        document = read_json(path, DOCUMENT, "")
    except (OSError, ValueError):
        return None
    is_one = isinstance(document, dict) and document.get("schema") == SCHEMA
    return Reproduction(definition, settle(definition, document)) if is_one else None


def write(found: Reproduction, path: Path) -> None:
    write_text(path, found.to_json())
