"""The numbers of the page: groups under each discipline, and the link under each discipline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fairdrop.document import (
    Document,
    Run,
    disciplines,
    group_estimate,
    group_names,
    group_of,
    mean_queue,
    over_seeds,
    reference_wait,
    runs_of,
)
from fairdrop.estimate import TIME_RESOLUTION, Estimate
from fairdrop.live import Pair, side_by_side
from fairdrop.report.clauses import Clauses
from fairdrop.report.effects import Effects
from fairdrop.report.greedy import Subject
from fairdrop.wording.causes import cause_name
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import number_and_half, percent_number, places_for, rate_unit, waiting_unit
from fairdrop.wording.phrases import clean, count


@dataclass(frozen=True)
class Cell:
    label: str
    mean: str
    half: str | None
    #: What a column is sorted by: the mean in SI units.
    raw: float | None = None


@dataclass(frozen=True)
class Row:
    head: str
    note: str
    group: str | None
    cells: list[Cell]
    discipline: str = ""


@dataclass(frozen=True)
class Table:
    columns: list[str]
    rows: list[Row]


Values = Callable[[str, str], Estimate | None]


@dataclass(frozen=True)
class Column:
    label: str
    scale: float
    decimals: int
    values: Values


def group_table(document: Document) -> Table:
    """A row for each group under each discipline."""
    columns = _group_columns(document)
    rows = [
        Row(clean(group), _members(document, discipline, group), group, _cells(columns, discipline, group), discipline)
        for discipline in disciplines(document)
        for group in group_names(document.runs)
    ]
    return Table([column.label for column in columns], rows)


def rows_by_discipline(document: Document) -> list[tuple[str, list[Row]]]:
    """The group rows under the heading of their discipline."""
    rows = group_table(document).rows
    size = len(group_names(document.runs))
    names = disciplines(document)
    return [(discipline_name(name), rows[index * size : (index + 1) * size]) for index, name in enumerate(names)]


def live_table(document: Document) -> Table | None:
    """Simulated beside live values; None without live runs."""
    live = document.live
    if live is None:
        return None

    def cell(label: str, value: Estimate, scale: float) -> Cell:
        return Cell(label, *number_and_half(value, scale), value.mean)

    def row(pair: Pair) -> Row:
        relative = "-" if pair.relative is None else f"{100 * pair.relative:+.1f} %"
        cells = [
            cell("Simulated", pair.simulated, pair.scale),
            cell("Live", pair.live, pair.scale),
            cell("Difference", pair.difference, pair.scale),
            Cell("Relative", relative, None, pair.relative),
        ]
        return Row(
            f"{clean(pair.of)}: {pair.measure}, {pair.unit}",
            discipline_name(pair.discipline),
            None,
            cells,
            pair.discipline,
        )

    rows = [row(pair) for pair in side_by_side(document, live)]
    return Table(["Simulated", "Live", "Difference", "Relative"], rows)


def link_table(document: Document, found: Effects | None = None) -> Table:
    """A row for each discipline, about all flows and the queue; with effects, what it does, and the sender's share."""
    columns = _link_columns(document)
    words = Clauses(found) if found else None
    if found is not None and (subject := found.subject) is not None:
        rows_of = [(name, "") for name in disciplines(document)]
        whose = "Greedy senders" if subject.kind == "greedy" else "Largest flow"
        share = _column(f"{whose}, % of the link", 100, 2, _share_of(document, subject), rows_of)
        columns = [*([share] if share else []), *columns]
    rows = [
        Row(
            discipline_name(name),
            words.short(found.of(name)) if words and found else count(len(runs_of(document, name)), "run"),
            None,
            _cells(columns, name, ""),
            name,
        )
        for name in disciplines(document)
    ]
    return Table([column.label for column in columns], rows)


def drop_causes(document: Document) -> list[tuple[str, str, str]]:
    """Of each discipline its name as shown, and what part of all drops each cause has, the commonest first."""
    found = []
    for name in disciplines(document):
        total: Counter[str] = Counter()
        for run in runs_of(document, name):
            for group in run.groups:
                total.update(group.drops)
        dropped = sum(total.values())
        parts = [f"{cause_name(cause)} {percent_number(n / dropped)}" for cause, n in total.most_common() if n]
        found.append((name, discipline_name(name), "; ".join(parts) or "nothing dropped"))
    return found


MODELLED = "choke"


def theory_table(document: Document) -> Table | None:
    """The model of CHOKe beside the measurement; None without a model or without such runs."""
    model, measured = document.model, runs_of(document, MODELLED)
    if not model or not measured:
        return None
    rates = [group["throughput_bps"] for group in model["groups"]]
    divisor, unit = rate_unit(max(rates, default=0.0))
    fields = (
        ("share", "share of link, %", 100.0),
        ("throughput_bps", f"throughput, {unit}", 1 / divisor),
        ("drop_fraction", "dropped, %", 100.0),
    )
    rows = [
        _beside(f"{clean(group['name'])}: {label}", scale, group_estimate(measured, group["name"], field), group[field])
        for group in model["groups"]
        for field, label, scale in fields
    ]
    divisor, unit = waiting_unit(model["link"]["wait_s"])
    queue = over_seeds(measured, mean_queue)
    wait = over_seeds(measured, reference_wait("mean"))
    rows.append(_beside("Mean queue, packets", 1.0, queue, model["link"]["mean_packets"]))
    rows.append(_beside(f"Mean wait, {unit}", 1 / divisor, wait, model["link"]["wait_s"]))
    return Table(["Measured", "Model", "Model / measured"], rows)


def _beside(head: str, scale: float, measured: Estimate | None, model: float) -> Row:
    """Both numbers with the decimals of the measured one; the ratio where there is something to divide by."""
    shown = measured or Estimate(model, None, 1)
    places = max(places_for(shown, scale, 2), 1)
    mean, half = ("–", None) if measured is None else number_and_half(measured, scale, places=places)
    ratio = None if measured is None or measured.mean == 0 else model / measured.mean
    cells = [
        Cell("Measured", mean, half, measured.mean if measured else None),
        Cell("Model", f"{model * scale:.{places}f}", None, model),
        Cell("Model / measured", "–" if ratio is None else f"{ratio:.2f}", None, ratio),
    ]
    return Row(head, "", None, cells, MODELLED)


def _cells(columns: list[Column], discipline: str, group: str) -> list[Cell]:
    cells: list[Cell] = []
    for column in columns:
        value = column.values(discipline, group)
        mean, half = ("–", None) if value is None else number_and_half(value, column.scale, places=column.decimals)
        cells.append(Cell(column.label, mean, half, None if value is None else value.mean))
    return cells


def _column(label: str, scale: float, at_most: int, values: Values, rows: Iterable[tuple[str, str]]) -> Column | None:
    """A column with as many decimals as its most exact number deserves; None when no row has a number."""
    known = [value for row in rows if (value := values(*row)) is not None]
    if not known:
        return None
    return Column(label, scale, max(places_for(value, scale, at_most) for value in known), values)


def _members(document: Document, discipline: str, group: str) -> str:
    found = [row for run in runs_of(document, discipline) if (row := group_of(run, group)) is not None]
    if not found:
        return "no flows"
    transport = clean(found[0].transport) if found[0].transport else ""
    shown = f", {transport}" if transport and transport != clean(group) else ""
    return count(int(found[0].flows), "flow") + shown


def _group_columns(document: Document) -> list[Column]:
    def of(field: str) -> Values:
        return lambda discipline, group: group_estimate(runs_of(document, discipline), group, field)

    rates = [row.throughput_bps for run in document.runs for row in run.groups]
    divisor, unit = rate_unit(max(rates, default=0.0))
    wanted: list[tuple[str, float, int, Values]] = [
        (f"Throughput, {unit}", 1 / divisor, 3 if divisor >= 1e6 else 1, of("throughput_bps")),
        (f"Goodput, {unit}", 1 / divisor, 3 if divisor >= 1e6 else 1, of("goodput_bps")),
        ("Share of link, %", 100, 2, of("share")),
        ("Dropped, %", 100, 2, of("drop_fraction")),
        ("Retrans\u00admissions", 1, 0, of("retransmissions")),
        ("Timeouts", 1, 0, of("timeouts")),
        ("Jain index in group", 1, 3, _jain_inside(document)),
    ]
    if document.is_replay:
        wanted = [column for column in wanted if column[2] != 0]
    rows = [(name, group) for name in disciplines(document) for group in group_names(document.runs)]
    return [column for each in wanted if (column := _column(*each, rows)) is not None]


def _jain_inside(document: Document) -> Values:
    """Jain's index inside a group; a group of one flow has nothing to compare."""

    def value(run: Run, group: str) -> float | None:
        row = group_of(run, group)
        return row.jain_index if row is not None and row.flows > 1 else None

    return lambda discipline, group: over_seeds(runs_of(document, discipline), lambda run: value(run, group))


def _share_of(document: Document, subject: Subject) -> Values:
    return lambda discipline, _: over_seeds(runs_of(document, discipline), subject.share)


def _link_columns(document: Document) -> list[Column]:
    def of(value: Callable[[Run], float | None], resolution: float = 0.0) -> Values:
        return lambda discipline, _: over_seeds(runs_of(document, discipline), value, resolution)

    waits = [wait for run in document.runs if (wait := reference_wait("p99")(run)) is not None]
    divisor, unit = waiting_unit(max(waits, default=1e-3))
    digits = 3 if unit == "s" else 0 if max(waits, default=0.0) / divisor >= 1000 else 2
    wanted: list[tuple[str, float, int, Values]] = [
        ("Largest flow / fair share", 1, 2, of(lambda run: run.largest_over_fair_share)),
        ("Jain index of all flows", 1, 3, of(lambda run: run.jain_index)),
        ("Link used, %", 100, 2, of(lambda run: run.utilisation)),
        ("Mean queue, packets", 1, 1, of(mean_queue)),
        (f"Median delay, {unit}", 1 / divisor, digits, of(reference_wait("p50"), TIME_RESOLUTION)),
        (f"99th-percentile delay, {unit}", 1 / divisor, digits, of(reference_wait("p99"), TIME_RESOLUTION)),
    ]
    rows = [(name, "") for name in disciplines(document)]
    return [column for each in wanted if (column := _column(*each, rows)) is not None]
