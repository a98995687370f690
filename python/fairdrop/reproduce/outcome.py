"""An id reproduced, and what a person does with it."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.files import DOCUMENT, read_text
from fairdrop.models import ModelError
from fairdrop.progress import Progress
from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.execute.plan import Order, SettingError, is_blamed, readings
from fairdrop.reproduce.execute.store import Store, write_text
from fairdrop.reproduce.execute.work import measure
from fairdrop.reproduce.judge.document import SCHEMA, finished, pending
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.verdict import judge
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
        import pandas

        return pandas.DataFrame(self.rows)

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
        found = measure(definition, order, store, threads, progress or Progress())
        judged = [judge(claim, found.data, readings(definition)) for claim in definition.claims]
    except (ScenarioError, MeasureError, ModelError) as error:
        if isinstance(error, ScenarioError) and is_blamed(definition, order):
            raise SettingError(order, f"{definition.name}: {error}") from None
        return Reproduction(definition, pending(definition, order, str(error)))
    return Reproduction(definition, finished(definition, order, found, judged))


def read(path: Path, definition: Definition) -> Reproduction | None:
    """A stored document, or None when there is none that can be read."""
    try:
        document = json.loads(read_text(path, DOCUMENT))
    except (OSError, ValueError):
        return None
    return Reproduction(definition, document) if document.get("schema") == SCHEMA else None


def write(found: Reproduction, path: Path) -> None:
    write_text(path, found.to_json())
