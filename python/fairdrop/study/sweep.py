"""Sweeps from Python: running one, and using a finished one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from errno import ENOTDIR
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdrop import _core, files
from fairdrop.engine import engine
from fairdrop.lock import FILE as LOCK
from fairdrop.progress import Progress
from fairdrop.scenario import Scenario, check_seed, limit_s, listed
from fairdrop.study import dataset, local
from fairdrop.study.axes import StudyError
from fairdrop.study.campaign import Campaign
from fairdrop.study.definition import SCHEMA, Study, from_dict, make_study, read_study
from fairdrop.study.fronts import environments, remarks, set_ups
from fairdrop.study.store import FILE, Store
from fairdrop.table import Table
from fairdrop.wording.phrases import count

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray

    from fairdrop.plot.size import Width
    from fairdrop.sensitivity import Sensitivity

__all__ = ["Sweep", "merge", "read_sweep", "sweep"]

ABOUT = "study.json"
_STUDY = "what fairdrop sweep wrote"
# What a sweep needs to know of itself.
_ABOUT: dict[str, Any] = {
    "name": str, "engine": str, "digest": str, "complete": bool, "points": int, "runs": int, "computed": int,
    "problems": list, "axes": list, "columns": list, "kept": dict, "command": list | None,
}  # fmt: skip
_SHARDS = "shard-*-of-*"
# Jobs that are looked at together.
_AT_ONCE = 1000

Work = Callable[[Campaign], bool]


class Sweep:
    """A finished or interrupted sweep in its folder: the data set, plots of it, a report."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder = folder
        self._about = about

    @property
    def data(self) -> str:
        """Folder of the Parquet files: ``polars.read_parquet(sweep.data)``, ``pandas.read_parquet(sweep.data)``."""
        return fspath(self.folder / dataset.DATA)

    @property
    def complete(self) -> bool:
        """False when the work was interrupted, or when a run failed."""
        return bool(self._about["complete"])

    @property
    def runs(self) -> int:
        """Runs in the data set."""
        return int(self._about["runs"])

    @property
    def computed(self) -> int:
        """Of these, simulated by the last command; the others were in the store."""
        return int(self._about["computed"])

    @property
    def problems(self) -> list[str]:
        """Runs that failed, and why."""
        return list(self._about["problems"])

    @property
    def remarks(self) -> list[str]:
        """Remarks on points that are the same set-up."""
        return remarks(self._about)

    @property
    def about(self) -> Mapping[str, Any]:
        """``study.json``: the study with its scenarios, axes and columns, and the versions that made it."""
        return self._about

    @cached_property
    def table(self) -> Table:
        """Every row: one per run and group of flows."""
        return self.columns()

    def columns(self, *names: str) -> Table:
        """Only these columns, or all: other ones are not read. Raises KeyError for one that is not there."""
        known = [column["name"] for column in self._about["columns"]]
        for name in names:
            if name not in known:
                raise KeyError(f"no column {name!r}; there are {', '.join(known)}")
        return Table(_core.read_parquet(dataset.files(self.folder), list(names) or None))

    def to_pandas(self) -> pandas.DataFrame:
        """The data set as a pandas frame (needs pandas)."""
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The data set as a Polars frame (needs polars)."""
        return self.table.to_polars()

    def to_xarray(self) -> xarray.Dataset:
        """Measures over the axes, ``group`` and ``seed`` (needs xarray)."""
        return self.table.to_xarray(*self.axes, "group", "seed")

    @property
    def axes(self) -> dict[str, list[Any]]:
        """Columns of the axes, with the values that they take."""
        return {axis["column"]: list(axis["values"]) for axis in self._about["axes"]}

    def sensitivity(self, measure: str, group: str | None = None) -> Sensitivity:
        """Partial rank correlations of a measure, mean over seeds, with the axes that are numbers; for drawn points.

        Points at which the measure is missing are left out. Raises KeyError for a column that is not there, and
        ValueError where there are too few points, or an axis has one value only.
        """
        from fairdrop.sensitivity import rank_sensitivity

        axes = [axis["column"] for axis in self._about["axes"] if axis["kind"] in ("number", "count")]
        table = self.columns(*axes, measure, "group")
        points: dict[tuple[Any, ...], list[float]] = {}
        for row in table.rows():
            value = row[measure]
            if value is not None and value == value and (group is None or row["group"] == group):
                points.setdefault(tuple(row[axis] for axis in axes), []).append(float(value))
        parameters = {axis: [point[index] for point in points] for index, axis in enumerate(axes)}
        return rank_sensitivity(parameters, [sum(values) / len(values) for values in points.values()])

    @property
    def plot(self) -> SweepPlots:
        """The figures, one method each."""
        return SweepPlots(self)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the report, one self-contained HTML file."""
        from fairdrop.study.page import write_page

        write_page(self._about, self.columns, path)

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        return f"Sweep {self._about['name']!r} over {', '.join(self.axes)}: {count(self.runs, 'run')}{state}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Sweep, (self.folder, dict(self._about))


class SweepPlots:
    """Figures of a sweep, as Matplotlib ``Figure`` objects.

    Measures are columns of the data set; ``group`` says of which flows, and is left out for measures of the link. Axes
    that a figure does not show must be held with ``where``, such as ``where={"max_p": 0.1}``. ``width`` is as in
    :class:`fairdrop.Plots`.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    def lines(
        self,
        measure: str,
        over: str,
        *,
        by: str | None = None,
        group: str | None = None,
        where: Mapping[str, Any] | None = None,
        width: Width = "screen",
    ) -> Any:
        """A measure over one axis with 95 % intervals, a line for each value of the axis ``by``."""
        from fairdrop import plot

        return plot.sweep_lines(self._cells(measure, group, where, [over, by]), over, by=by, width=width)

    def multiples(
        self,
        measure: str,
        over: str,
        panels: str,
        *,
        by: str | None = None,
        group: str | None = None,
        where: Mapping[str, Any] | None = None,
        width: Width = "screen",
    ) -> Any:
        """The same in small multiples: a panel for each value of the axis ``panels``."""
        from fairdrop import plot

        cells = self._cells(measure, group, where, [over, by, panels])
        return plot.sweep_lines(cells, over, by=by, panels=panels, width=width)

    def heat_map(
        self,
        measure: str,
        over: str,
        against: str,
        *,
        group: str | None = None,
        where: Mapping[str, Any] | None = None,
        width: Width = "screen",
    ) -> Any:
        """Means of a measure over two axes: ``over`` from left to right, ``against`` upwards."""
        from fairdrop import plot

        return plot.sweep_heat_map(self._cells(measure, group, where, [over, against]), over, against, width=width)

    def pareto(
        self,
        delay: str = "queue_sojourn_p99_s",
        fairness: str = "run_jain_index",
        *,
        by: str | None = None,
        where: Mapping[str, Any] | None = None,
        width: Width = "screen",
    ) -> Any:
        """Delay against fairness, a mark for each set-up, a panel for each environment.

        The set-ups of an environment that no other there beats in both are joined by a line. Parameters that a
        discipline does not read make no set-ups of their own.
        """
        from fairdrop import plot

        about = self._sweep.about
        cells = [set_ups(about, self._sweep.columns, measure, where or {}) for measure in (delay, fairness)]
        return plot.sweep_pareto(cells[0], cells[1], by=by, across=environments(about), width=width)

    def _cells(
        self, measure: str, group: str | None, where: Mapping[str, Any] | None, shown: Sequence[str | None]
    ) -> Any:
        from fairdrop.study.cells import cells

        return cells(self._sweep.about, self._sweep.columns, measure, group, where or {}, shown)


def sweep(
    study: str | PathLike[str] | Scenario,
    *,
    out: str | PathLike[str],
    axes: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    design: str | Mapping[str, Any] | None = None,
    stop: Mapping[str, Any] | None = None,
    resume: bool = False,
    shard: str | None = None,
    threads: int | None = None,
    dask: Any = None,
    progress: bool = False,
    command: Sequence[str] | None = None,
    run_timeout: str | float | None = None,
) -> Sweep:
    """Simulate a scenario over the points of a study, times seeds, into one data set in the folder ``out``.

    ``study`` is a study file, or a scenario (or its file) with ``axes`` as in a study's ``[axes]``:
    ``{"queue.red.max_p": [0.02, 0.1]}``. ``seeds``, ``design`` and ``stop`` are as in the file, and go before what it
    says; ``seed`` is the first seed, in place of the scenario's.

    Runs are kept in ``out`` as they finish, under a key of their inputs: stored runs are not simulated again,
    whichever study they came from. ``resume`` only requires that there are some. Ctrl-C makes the data set of the
    finished runs.
    ``dask`` is the address of a scheduler, or a ``distributed.Client``; the runs then go there. ``shard`` is ``"2/8"``
    for the second of eight parts, which :func:`merge` puts together. A run that takes longer than ``run_timeout``, in
    seconds or as ``"60s"``, is ended and listed among ``problems``.

    Raises StudyError, ScenarioError or OSError before anything is simulated where that is possible.
    """
    asked, limit = _asked(study, axes, seeds, design, stop), limit_s(run_timeout)
    if seed is not None:
        check_seed(seed)
        asked = replace(asked, settings=(*asked.settings, f"seed={seed}"))
    if dask is not None and limit is not None:
        raise StudyError("run_timeout is given together with dask; valid: one of them")
    folder = Path(out)
    if resume and not (folder / FILE).exists():
        raise StudyError(f"{folder}: there is nothing to resume; valid: the folder of an earlier sweep")
    part = (1, 1) if shard is None else read_shard(shard)
    own = folder if shard is None else folder / shard_folder(shard)

    def work(campaign: Campaign) -> bool:
        if dask is None:
            return local.work(campaign, threads, limit)
        from fairdrop.study.cluster import work as on_cluster

        return on_cluster(campaign, dask)

    return _done(asked, own, part, work, Progress(name=asked.name, shown=progress), command)


def read_sweep(folder: str | PathLike[str]) -> Sweep:
    """A sweep that was made before. Raises OSError, or ValueError where it is none."""
    path = Path(folder) / ABOUT
    if path.parent.is_file():
        raise NotADirectoryError(ENOTDIR, f"is no folder; valid: {_STUDY}", fspath(folder))
    about = files.read_json(path, files.DOCUMENT, _STUDY)
    found = about.get("schema") if isinstance(about, dict) else None
    if found != SCHEMA:
        raise ValueError(f"{path}: schema = {found!r} is not valid; valid: {SCHEMA!r}")
    if missing := [name for name, kind in _ABOUT.items() if not isinstance(about.get(name), kind)]:
        raise ValueError(f"{path}: {missing[0]} is missing or is something else; valid: {_STUDY}")
    return Sweep(Path(folder), about)


def merge(out: str | PathLike[str], shards: Sequence[str | PathLike[str]] = ()) -> Sweep:
    """Put the parts of a sweep together: those in ``out``, or those of the folders ``shards``.

    Nothing is simulated. Raises OSError, and ValueError where parts are of different studies or engines; a part that is
    missing leaves the sweep incomplete.
    """
    folder = Path(out)
    found = [Path(shard) for shard in shards] or sorted(folder.glob(_SHARDS))
    if not found:
        raise ValueError(f"{folder}: there are no parts to merge; valid: a folder in which fairdrop sweep --shard ran")
    parts = [read_sweep(shard) for shard in found]
    first = parts[0].about
    for part in parts:
        for name in ("digest", "engine"):
            if part.about[name] != first[name]:
                raise ValueError(
                    f"{part.folder}: {name} = {part.about[name]} is another than in {parts[0].folder}; "
                    "valid: parts of one study by one version of fairdrop"
                )
    if first["engine"] != engine():
        raise ValueError(f"{parts[0].folder}: made by {first['engine']}; valid: merged by the same, not by {engine()}")
    try:
        study = from_dict(first["kept"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{parts[0].folder / ABOUT}: kept is no study ({what}); valid: {_STUDY}") from None

    def nothing(campaign: Campaign) -> bool:
        while campaign.next(_AT_ONCE):
            pass
        return campaign.finished_all

    with Store(folder) as store:
        for part in parts:
            store.take_in(part.folder / FILE)
    return _done(study, folder, (1, 1), nothing, Progress(name=study.name), first["command"])


def shard_folder(shard: str) -> str:
    """Folder of a part in that of its sweep. Raises StudyError."""
    part, parts = read_shard(shard)
    return f"shard-{part}-of-{parts}"


def read_shard(text: str) -> tuple[int, int]:
    """``"2/8"`` as two numbers. Raises StudyError."""
    words = text.split("/")
    numbers = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(words) != 2 or len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= 1_000_000:
        raise StudyError(f"shard = {text!r} is not valid; valid: i/n with i from 1 to n, such as 2/8")
    return numbers[0], numbers[1]


def _asked(
    study: str | PathLike[str] | Scenario,
    axes: Mapping[str, Any] | None,
    seeds: int | None,
    design: str | Mapping[str, Any] | None,
    stop: Mapping[str, Any] | None,
) -> Study:
    given = {name: value for name, value in (("seeds", seeds), ("design", design), ("stop", stop)) if value is not None}
    if axes is None:
        if isinstance(study, Scenario):
            raise StudyError('axes are missing; valid: beside a scenario, such as {"queue.red.max_p": [0.02, 0.1]}')
        read = read_study(study)
        return read if not given else read.changed(given)
    scenario = study if isinstance(study, Scenario) else None
    name = scenario.to_dict()["name"] if scenario is not None else Path(str(study)).stem
    named = {} if scenario is not None else {"base": fspath(study)}  # type: ignore[arg-type]
    return make_study({**named, "axes": axes, **given}, name or "sweep", Path(), scenario)


def _done(
    study: Study, folder: Path, part: tuple[int, int], work: Work, progress: Progress, command: Sequence[str] | None
) -> Sweep:
    made = not folder.exists() or not set(os.listdir(folder)) - {LOCK}
    with Store(folder) as store:
        campaign = Campaign(study, store, progress, part)
        try:
            campaign.check()
            finished = work(campaign)
        except (ValueError, OSError):
            if made and not campaign.computed:
                store.remove()
            raise
        progress.clear()
        runs = dataset.write(campaign, folder)
        about = _about(campaign, part, finished and campaign.complete, runs, command)
        files.write_text(folder / ABOUT, json.dumps(about, indent=1, allow_nan=False) + "\n")
    return Sweep(folder, about)


def _about(
    campaign: Campaign, part: tuple[int, int], complete: bool, runs: int, command: Sequence[str] | None
) -> dict[str, Any]:
    study = campaign.study
    values = [list(dict.fromkeys(levels)) for levels in zip(*(point.levels for point in study.points), strict=True)]
    axes = [
        {
            "name": axis.name, "column": axis.column, "field": axis.field, "role": axis.role,
            "unit": axis.unit, "kind": axis.kind, "drawn": axis.span is not None,
            "values": [axis.value(level) for level in levels],
        }
        for axis, levels in zip(study.axes, values, strict=True)
    ]  # fmt: skip
    return {
        "schema": SCHEMA,
        "name": study.name,
        "version": _core.__version__,
        "engine": engine(),
        "digest": study.digest,
        "complete": complete,
        "shard": list(part),
        "points": campaign.size,
        "runs": runs,
        "computed": campaign.computed,
        "repeated": campaign.repeated,
        "problems": campaign.problems[:100],
        "axes": axes,
        "columns": [{"name": name, "kind": kind} for name, kind in dataset.columns(study)],
        "folders": [axis.column for axis in dataset.folder_axes(study)],
        "command": None if command is None else listed("command", command, "fairdrop"),
        "kept": study.to_dict(),
    }
