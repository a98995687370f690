"""Many disciplines in the order of the verdict, and the figure beside their table."""

from __future__ import annotations

from dataclasses import replace

from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.document import Document, disciplines, over_seeds, reference_wait, runs_of
from fairdrop.estimate import Estimate
from fairdrop.plot.size import Width
from fairdrop.plot.strips import MOST_PANELS
from fairdrop.report.effects import Effects
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import waiting_unit
from fairdrop.wording.phrases import joined


def is_long(document: Document) -> bool:
    """Whether the page leads with a table of the disciplines."""
    return len(disciplines(document)) > MOST_PANELS


def ranked(document: Document, found: Effects) -> Document:
    """The document with its runs in the order of the effects."""
    place = {effect.discipline: number for number, effect in enumerate(found.found)}
    return replace(document, runs=tuple(sorted(document.runs, key=lambda run: place[run.discipline])))


def trade_off(document: Document, width: Width) -> Figure:
    """Delay against fairness, a mark for each discipline."""
    points: list[tuple[str, Estimate, Estimate]] = []
    absent: list[str] = []
    for name in disciplines(document):
        delay = over_seeds(runs_of(document, name), reference_wait("p99"))
        fairness = over_seeds(runs_of(document, name), lambda run: run.jain_index)
        if delay is not None and fairness is not None:
            points.append((discipline_name(name), delay, fairness))
        else:
            absent.append(discipline_name(name))
    divisor, unit = waiting_unit(max((delay.mean for _, delay, _ in points), default=1e-3))
    points = [(name, _scaled(delay, 1 / divisor), fairness) for name, delay, fairness in points]
    note = "Means over seeds with their 95 % intervals. The line joins disciplines that no other beats in both. "
    note += "Marks that are near share a name, or have none where there is no room."
    note += f" Not drawn, as no packet was sent: {joined(absent)}." if absent else ""
    labels = f"99th percentile of the wait, {unit} (less is better)", "Jain's index of all flows (more is better)"
    return plot.trade_off(points, *labels, note, width=width, most=1.0)


def _scaled(value: Estimate, factor: float) -> Estimate:
    return Estimate(value.mean * factor, None if value.half is None else value.half * factor, value.n)
