"""Doing the runs on all cores, with progress, and taking the measurements from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from fairdrop import _core, host, warmup
from fairdrop.progress import Progress
from fairdrop.reproduce.define.definition import Definition, Measure, axis_name, located
from fairdrop.reproduce.execute.plan import Cell, HostCell, Order, Part, Place, cells, host_cells
from fairdrop.reproduce.execute.store import Store
from fairdrop.reproduce.measure.data import Data, Row
from fairdrop.reproduce.measure.looks import ERROR
from fairdrop.reproduce.measure.models import MODELS
from fairdrop.reproduce.measure.runs import CURVES, HOST_MEASURES, MEASURES, MeasureError, of_data
from fairdrop.result import Result
from fairdrop.warmup import Trend, Trends, Unsettled

_LEFT_OUT = {"sojourn_histogram"}


@dataclass(frozen=True)
class Moved:
    """A series that still moved after the warm-up of a set-up."""

    reading: str
    place: Place
    series: Unsettled


@dataclass(frozen=True)
class Measured:
    """Data by reading, the problems that runs reported, and how many runs there were."""

    data: Mapping[str, Data]
    problems: tuple[str, ...]
    runs: int
    seeds: int
    duration_s: tuple[float, ...]
    #: Set-ups that were asked whether they had settled, and what had not.
    settling: int = 0
    moved: tuple[Moved, ...] = ()


class Interrupted(Exception):
    """Ctrl-C: what was finished is in the store."""


def part_weight(definition: Definition, order: Order, part: Part) -> float:
    """Work that a part of a definition asks for."""
    simulated = sum(cell.weight * len(cell.seeds) for cell in cells(definition, order, part))
    hosted = sum(cell.arguments["arrivals"] * 1e4 * len(cell.seeds) for cell in host_cells(definition, order, part))
    return float(simulated + hosted)


def measure(
    definition: Definition,
    order: Order,
    store: Store,
    threads: int | None,
    progress: Progress,
    part: Part,
    error: float = ERROR,
) -> Measured:
    """Every measurement of a part of a definition, from the store where it is there.

    Intervals of what was measured miss their means with probability ``error``.
    """
    simulated = list(cells(definition, order, part))
    hosted = list(host_cells(definition, order, part))
    everything: list[Cell | HostCell] = [*simulated, *hosted]
    collected: dict[tuple[Any, ...], dict[int, Any]] = {}
    problems: dict[str, None] = {}
    settling: dict[tuple[str, Place], dict[int, Trends]] = {}
    jobs: list[tuple[Cell | HostCell, int]] = [(cell, seed) for cell in everything for seed in cell.seeds]

    def finished(cell: Cell | HostCell, seed: int, found: Mapping[str, Any]) -> None:
        if isinstance(cell, Cell):
            problems.update(dict.fromkeys(f"{cell.scheme}: {text}" for text in found["problems"]))
            if cell.is_to_settle:
                settling.setdefault((cell.reading, cell.place), {})[seed] = _trends(found)
            _collect_run(collected, definition, cell, seed, found, lenient=part.mutant is not None)
        else:
            _collect_host(collected, definition, cell, seed, found)

    _work_through(jobs, store, threads or os.cpu_count() or 1, progress, finished)
    data = {reading.name: _data(definition, collected, reading.name, error) for reading in part.readings}
    seeds = max((len(cell.seeds) for cell in everything), default=0)
    durations = sorted({float(cell.content["duration_s"]) for cell in simulated if "duration_s" in cell.content})
    moved = _moved(simulated, settling)
    return Measured(data, tuple(problems), len(jobs), seeds, tuple(durations), len(settling), moved)


def _moved(cells: Sequence[Cell], settling: Mapping[tuple[str, Place], Mapping[int, Trends]]) -> tuple[Moved, ...]:
    """What had not settled, in the order of the definition, whatever the order in which the runs ended."""
    found = []
    for cell in cells:
        runs = settling.get((cell.reading, cell.place), {})
        seeds = [runs[seed] for seed in sorted(runs)]
        warm_up = float(cell.content["warm_up_s"])
        found += [Moved(cell.reading, cell.place, series) for series in warmup.moved(cell.scheme, seeds, warm_up)]
    return tuple(found)


def _work_through(
    jobs: Sequence[tuple[Cell | HostCell, int]],
    store: Store,
    threads: int,
    progress: Progress,
    finished: Callable[[Cell | HostCell, int, Mapping[str, Any]], None],
) -> None:
    """Take runs from the store or simulate them; a run that two cells share is simulated once."""
    waiting: dict[str, list[tuple[Cell | HostCell, int]]] = {}
    for cell, seed in jobs:
        waiting.setdefault(cell.key(seed), []).append((cell, seed))
    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        futures: dict[Future[Mapping[str, Any]], str] = {}
        for key, users in waiting.items():
            found = store.get(key)
            if found is None:
                futures[pool.submit(_run, *users[0])] = key
                continue
            for cell, seed in users:
                finished(cell, seed, found)
                progress.advance(_weight(cell), computed=False)
        for future in as_completed(futures):
            key = futures[future]
            computed = future.result()
            store.put(key, computed)
            for cell, seed in waiting[key]:
                finished(cell, seed, computed)
                progress.advance(_weight(cell), computed=True)
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _weight(cell: Cell | HostCell) -> float:
    return cell.weight if isinstance(cell, Cell) else float(cell.arguments["arrivals"]) * 1e4


def _run(cell: Cell | HostCell, seed: int) -> Mapping[str, Any]:
    if isinstance(cell, HostCell):
        arguments = dict(cell.arguments)
        poisson, constant = arguments.pop("poisson"), arguments.pop("constant")
        return host.queue_host(poisson, constant, seed=seed, **arguments)
    return simulated(cell, seed)


def simulated(cell: Cell, seed: int) -> Mapping[str, Any]:
    """One run of a set-up: what measures look at, and its trace where the definition asks for one."""
    sampled = bool(cell.content["sample_s"])
    grid = () if sampled or not cell.is_to_settle else (f"sample={cell.grid_us}us",)
    scenario = cell.scenario.with_settings(f"seed={seed}", *grid)
    if not cell.is_traced:
        return _slim(_only_run(scenario.run(1, threads=1)), keep_series=sampled)
    with TemporaryDirectory() as folder:
        run = _only_run(scenario.run(1, threads=1, trace=folder))
        return {**_slim(run, keep_series=sampled), "trace": _events(Path(folder))}


def _only_run(result: Result) -> Mapping[str, Any]:
    if not result.document["runs"]:
        raise KeyboardInterrupt
    return cast(Mapping[str, Any], result.document["runs"][0])


def _events(folder: Path) -> dict[str, dict[str, list[Any]]]:
    """The columns of a run's trace, link by link."""
    found = {}
    for path in sorted(folder.glob("*/*.parquet")):
        table = _core.read_parquet([path])
        found[path.stem] = {name: table.column(name) for name in table.columns}
    return found


def _slim(run: Mapping[str, Any], keep_series: bool) -> dict[str, Any]:
    """A run without what no measure looks at, and how its series moved over the measuring window."""
    left_out = _LEFT_OUT if keep_series else _LEFT_OUT | {"series"}
    queues = [{name: value for name, value in queue.items() if name not in left_out} for queue in run["queues"]]
    trends = [[*place, *astuple(trend)] for place, trend in warmup.trends(run).items()]
    return {**run, "queues": queues, "trends": trends}


def _trends(run: Mapping[str, Any]) -> Trends:
    return {(queue, name): Trend(*values) for queue, name, *values in run["trends"]}


def _scaled(measure: Measure, value: float) -> float:
    return value * measure.scale


def _collect_run(
    collected: dict[tuple[Any, ...], dict[int, Any]],
    definition: Definition,
    cell: Cell,
    seed: int,
    run: Mapping[str, Any],
    lenient: bool,
) -> None:
    """``lenient``: another discipline stands in a scheme's place, and need not have all that is measured."""
    groups = cell.content.get("groups", ())
    run = of_data(run, {one["name"]: one.get("header_bytes", 0) / one["packet_size_bytes"] for one in groups})
    for one in definition.measures:
        if one.of not in MEASURES or not one.taken(cell.at):
            continue
        try:
            found = MEASURES[one.of](run, **one.arguments)
        except (KeyError, MeasureError):
            if not lenient:
                raise
            continue
        at = located(cell.at)
        place = (cell.reading, cell.scheme, one.name)
        if found is None:
            continue
        if isinstance(found, list):
            axis = one.axis or CURVES[one.of]
            for x, y in found:
                collected.setdefault((*place, (*at, (axis, x))), {})[seed] = _scaled(one, y)
        else:
            collected.setdefault((*place, at), {})[seed] = _scaled(one, found)


def _collect_host(
    collected: dict[tuple[Any, ...], dict[int, Any]],
    definition: Definition,
    cell: HostCell,
    seed: int,
    found: Mapping[str, Any],
) -> None:
    for one in definition.measures:
        if one.of not in HOST_MEASURES or one.arguments.get("flow", 1) > len(found["served"]):
            continue
        value = HOST_MEASURES[one.of](found, **one.arguments)
        place = (None, "simulation", one.name, (("case", cell.name),))
        collected.setdefault(place, {})[seed] = _scaled(one, value)


def _data(
    definition: Definition, collected: Mapping[tuple[Any, ...], Mapping[int, Any]], reading: str, error: float
) -> Data:
    """Rows in the order of the definition, whatever the order in which the runs ended."""
    schemes = {scheme.name: index for index, scheme in enumerate(definition.schemes)}
    measures = {measure.name: index for index, measure in enumerate(definition.measures)}
    axes = definition.simulation.vary if definition.simulation else ()
    places = {axis.name: {axis_name(value): n for n, value in enumerate(axis.values)} for axis in axes}
    cases = {
        str(case["name"]): n for n, case in enumerate(definition.queue_host.cases if definition.queue_host else ())
    }

    def order(row: Row) -> tuple[Any, ...]:
        where = [places.get(axis, cases).get(value, value) for axis, value in row.at.items()]
        return schemes.get(row.scheme, len(schemes)), measures[row.measure], where

    rows = [
        Row(scheme, dict(at), name, tuple(values[seed] for seed in sorted(values)), error)
        for (where, scheme, name, at), values in collected.items()
        if where in (reading, None)
    ]
    return Data([*sorted(rows, key=order), *_model_rows(definition)], definition.published)


def _model_rows(definition: Definition) -> Iterable[Row]:
    if definition.model is None:
        return []
    return MODELS[definition.model.function](definition, **definition.model.arguments)
