"""Results: tidy tables, plots, a report, and the document that all of them come from."""

from __future__ import annotations

import json
from errno import ENOENT
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import compress, decompress
from zlib import error as zlib_error

from fairdrop import _core
from fairdrop.document import Document, document_of
from fairdrop.files import RESULT, json_of, read_json
from fairdrop.lock import held
from fairdrop.table import Table
from fairdrop.wording.phrases import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fairdrop.measures import By, FlowClass, Frequency
    from fairdrop.plot.size import Width
    from fairdrop.warmup import Unsettled

__all__ = ["Plots", "Result", "read_document", "read_result"]

MODEL_FILE = "model.json"
# The live runs, in the folder of the simulated ones.
LIVE_FOLDER = "live"


class _Rows(property):
    """A table of a result, under its own name."""

    def __init__(self, doc: str) -> None:
        super().__init__(lambda result: Table(result._inner.table(self._name)), doc=doc)

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: Any, owner: type | None = None) -> Table:  # type: ignore[override]
        found: Table = super().__get__(result, owner)
        return found


class Result:
    """Results of runs. Every table has the columns ``discipline`` and ``seed``.

    A result can be pickled, and is small then: the document, compressed.
    """

    def __init__(self, inner: _core.Document, model: dict[str, Any] | None = None, live: Result | None = None) -> None:
        self._inner = inner
        self._model = model
        self._live = live

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (compress(self.to_json().encode()),)

    def beside(self, live: Result) -> Result:
        """The same with what was run live beside it."""
        return Result(self._inner, self._model, live)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The result document (see ``docs/reference/result.md``)."""
        document: dict[str, Any] = json.loads(self._inner.to_json())
        beside = {"model": self._model, "live": self._live and self._live.document}
        return document | {name: value for name, value in beside.items() if value is not None}

    @cached_property
    def typed(self) -> Document:
        """The same as typed values, for reports and figures."""
        return document_of(self.document)

    @property
    def model(self) -> dict[str, Any] | None:
        """The model of CHOKe for the scenario, when requested (see ``docs/reference/model.md``)."""
        return self._model

    @property
    def live(self) -> Result | None:
        """The same scenario with real hosts, when it was compared with that."""
        return self._live

    @property
    def complete(self) -> bool:
        """False when the work was interrupted, or runs have failed: the result holds what was finished."""
        return self._inner.complete

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Runs that a user-defined discipline has ended: ``discipline``, ``seed`` and ``error``."""
        failed: list[dict[str, Any]] = self.document.get("failed", [])
        return failed

    runs = _Rows("One row per discipline and seed.")
    groups = _Rows("One row per run and group of flows.")
    flows = _Rows("One row per run and flow.")
    queues = _Rows("One row per run and queue.")
    drops = _Rows("One row per run, flow and cause that occurred.")
    series = _Rows("Queues on the sampling grid: ``total``, ``red_avg``, and ``group:NAME`` for each group.")
    queue_lengths = _Rows("Fraction of time at each queue length.")
    sojourns = _Rows("Packets by waiting time, up to and including ``upper_s``.")
    positions = _Rows(
        "Who is where, from the end that ``positions_from`` says: ``packets`` of ``occupied`` had the group."
    )
    transfers = _Rows("Completion times of finite transfers, by group and class of size.")
    link_flows = _Rows("One row per run, queue and flow that was there: packets and bytes in, out, dropped and held.")
    link_groups = _Rows("One row per run, queue and group: the same, and the waiting times of packets that were sent.")
    link_drops = _Rows("One row per run, queue, flow and cause that occurred.")
    link_marks = _Rows("One row per run, queue and cause for which packets were marked instead of dropped.")
    internals = _Rows(
        "Mean over time and maximum of the values that each queue's discipline decides by (``avg``, ``p0``, ...)."
    )
    internals_series = _Rows("The same values on the sampling grid.")
    velocity = _Rows(
        "How fast packets move at each position of the queue; empty unless the scenario measures positions."
    )
    link_losses = _Rows(
        "Random losses of each link with ``loss``, by group; ``offered`` and ``carried`` are of all groups."
    )
    windows = _Rows("Congestion windows on the sampling grid, of the groups that the scenario names in ``windows``.")

    def frequencies(self, value: str = "goodput_bps", by: By = "group") -> list[Frequency]:
        """Relative cumulative frequency of a column of ``flows``, by discipline and class of flows."""
        from fairdrop.measures import frequencies

        return frequencies(self.flows.rows(), value, by)

    def classes(self, by: By = "group") -> list[FlowClass]:
        """Means by discipline and group, ``transport`` (the TCP version), ``base_rtt_s`` or ``class``."""
        from fairdrop.measures import classes

        return classes(self.flows.rows(), by)

    @property
    def plot(self) -> Plots:
        """The figures of the report, one method each."""
        return Plots(self.typed)

    @property
    def verdict(self) -> str:
        """The outcome in a sentence or two."""
        from fairdrop.report import verdict

        return verdict(self.typed)

    @property
    def unsettled(self) -> list[Unsettled]:
        """Queues that still moved in the measuring window, as the warm-up was too short: see ``fairdrop.warmup``.

        Runs without a sampling grid, or with intended changes in the measuring window, are not checked.
        """
        from fairdrop.warmup import unsettled

        return unsettled(self.document)

    def to_json(self) -> str:
        """The result document as JSON text, ending in a newline."""
        text = self._inner.to_json()
        if self._model is not None:
            text = _with(text, "model", json.dumps(self._model, allow_nan=False, separators=(",", ":")))
        return text if self._live is None else _with(text, "live", self._live.to_json().rstrip())

    def write(self, directory: str | PathLike[str]) -> None:
        """Write ``result.json`` and one Parquet file per table into ``directory``, and ``model.json`` with a model.

        All of them or none: they are written aside, and moved to their place together, ``result.json`` last. Raises
        OSError, with the name of the file. What was run live comes after them, in the folder ``live``.
        """
        model = None if self._model is None else json.dumps(self._model, allow_nan=False, indent=2) + "\n"
        with held(directory):
            self._inner.write(directory, model)
            if self._live is not None:
                self._live.write(Path(directory) / LIVE_FOLDER)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the report, one self-contained HTML file."""
        from fairdrop.report import write

        write(self.typed, path)

    def flent(self, folder: str | PathLike[str]) -> list[Path]:
        """Write each run, those beside it that were live included, as a data file of Flent. Returns the files."""
        from fairdrop.flent import write

        return write(self.typed, folder)

    def timing(self) -> dict[str, float]:
        """Processor time of the event loops in seconds, events, packets sent by the first queue; all runs together."""
        return self._inner.timing()

    def __repr__(self) -> str:
        state = "" if self.complete else ", interrupted"
        return f"Result of {self.document['name']!r}: {count(len(self._inner), 'run')}{state}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.verdict)}</p>{self.groups._repr_html_()}"


class Plots:
    """Figures of a result, as Matplotlib ``Figure`` objects.

    ``width`` is ``"screen"``, ``"phone"``, or in print ``"column"`` (3.5 in) or ``"page"`` (7.16 in: both columns).
    """

    def __init__(self, document: Document) -> None:
        self._document = document

    def throughput_per_flow(self, *, width: Width = "screen") -> Figure:
        """Throughput of each flow against the fair share, a panel per discipline."""
        from fairdrop import plot

        return plot.throughput_per_flow(self._document, width=width)

    def shares(self, *, width: Width = "screen") -> Figure:
        """Share of the link that each group takes under each discipline."""
        from fairdrop import plot

        return plot.shares(self._document, width=width)

    def queue_over_time(self, seed: int | None = None, *, width: Width = "screen") -> Figure:
        """The queue's packets by group over time, for one seed: the first when none is given."""
        from fairdrop import plot

        return plot.queue_over_time(self._document, seed, width=width)

    def queue_length(self, *, width: Width = "screen") -> Figure:
        """Distribution of the queue's length over time."""
        from fairdrop import plot

        return plot.queue_length(self._document, width=width)

    def drops(self, *, width: Width = "screen") -> Figure:
        """Packets dropped, by cause, group and discipline."""
        from fairdrop import plot

        return plot.drops(self._document, width=width)

    def sojourn(self, *, width: Width = "screen") -> Figure:
        """Distribution of the time that packets waited."""
        from fairdrop import plot

        return plot.sojourn(self._document, width=width)


def _with(text: str, name: str, value: str) -> str:
    """A document with one more field."""
    return f'{text.rstrip().removesuffix("}")},"{name}":{value}}}\n'


def read_result(path: str | PathLike[str]) -> Result:
    """Read a result: a directory that ``--out`` wrote, or its ``result.json``.

    What ``compare --with-model`` and ``compare --live`` wrote beside it is read as well. Raises OSError when a file
    cannot be read, ValueError when it is not a result document, or one of another version of fairdrop: the document
    alone is then what ``json`` reads from ``result.json``.
    """
    document = read_document(path)
    try:
        return result_of(document)
    except ValueError as error:
        raise ValueError(f"{path}: {error}; valid: a result of this version of fairdrop") from None


def result_of(document: dict[str, Any]) -> Result:
    """The result of a document. Raises ValueError where its runs are not those of this version."""
    head = {name: value for name, value in document.items() if name not in ("model", "live")}
    live = document.get("live")
    return Result(_core.Document.from_json(json.dumps(head)), document.get("model"), live and result_of(live))


def _unpacked(packed: bytes) -> Result:
    try:
        return result_of(json_of(decompress(packed).decode()))
    except (zlib_error, ValueError) as error:
        problem = f"a pickled result is damaged ({error}); valid: what this version of fairdrop pickled"
        raise ValueError(problem) from None


def read_document(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the result document of ``path``: a directory that ``--out`` wrote, or its ``result.json``.

    A ``model.json`` beside ``result.json`` becomes the field ``model``, the result in a folder ``live`` the field
    ``live``. Raises OSError when a file cannot be read, ValueError when it is not a result document.
    """
    file = Path(path)
    if file.is_dir():
        folder, file = file, file / "result.json"
        if not file.exists():
            missing = "holds no result.json, so that no complete result was written there; valid: what --out wrote"
            raise FileNotFoundError(ENOENT, missing, str(folder))
    document = _read_document(file, "fairdrop/result/1", "a result document, as --out or --json write it")
    beside = file.with_name(MODEL_FILE)
    if file.name == "result.json" and "model" not in document and beside.exists():
        what = "a model's document, as --out of compare --with-model writes it"
        document["model"] = _read_document(beside, "fairdrop/model/1", what)
    live = file.parent / LIVE_FOLDER / "result.json"
    if file.name == "result.json" and document.get("kind") == "simulation" and "live" not in document and live.exists():
        document["live"] = _read_document(live, "fairdrop/result/1", "a result document, as compare --live writes it")
    return document


def _read_document(file: Path, schema: str, what: str) -> dict[str, Any]:
    document = read_json(file, RESULT, what)
    found = document.get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise ValueError(f"{file}: schema = {found!r} is not valid; valid: {schema!r}")
    return dict(document)
