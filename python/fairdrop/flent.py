"""Runs as data files of Flent, which plots, compares and tabulates network tests.

The format is that of Flent's ``resultset.py`` (version 4). A file is of Flent's test ``qdisc-stats``, whose plots show
the queue.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from fairdrop.document import Document, Json, Queue, Run, document_of, reference_queue
from fairdrop.files import write_bytes

__all__ = ["write"]

FORMAT_VERSION = 4
SUFFIX = ".flent.gz"
TEST = "qdisc-stats"
# What Flent's own files say; their readers look for each.
_UNUSED = (
    *("BATCH_NAME", "BATCH_TIME", "BATCH_TITLE", "BATCH_UUID"),
    *("HTTP_GETTER_DNS", "HTTP_GETTER_URLLIST", "HTTP_GETTER_WORKERS"),
)
# Runs begin at time 0 and not at an hour of a day: the same run makes the same file.
_BEGINNING = "1970-01-01T00:00:00.000000Z"
# Of a run, what is not among the series.
_KEPT = ("discipline", "seed", "measured_from_s", "measured_to_s", "link", "link_rate_bps", "valid", "problems", "live")
_IN_NAMES = re.compile("[^A-Za-z0-9-]")


@dataclass(frozen=True)
class _Series:
    """Values by time. What was measured over the whole window has one, at its end."""

    unit: str
    values: dict[float, float]


def write(document: Json | Document, folder: str | PathLike[str]) -> list[Path]:
    """Write each run of a result document, and of the live one beside it, to a file of its own in ``folder``.

    The folder is made if need be. Returns the files. Raises OSError.
    """
    document, folder = document_of(document), Path(folder)
    made: dict[Path, bytes] = {}
    for each in filter(None, (document, document.live)):
        for run in each.runs:
            parts = (each.name, run.discipline, each.kind, run.seed)
            path = folder / ("-".join(_IN_NAMES.sub("_", str(part)) for part in parts) + SUFFIX)
            text = json.dumps(_data_file(each, run, path.name), indent=2, sort_keys=True, allow_nan=False)
            made[path] = gzip.compress(text.encode(), mtime=0)
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in made.items():
        write_bytes(path, content)
    return list(made)


def _data_file(document: Document, run: Run, name: str) -> dict[str, Any]:
    found = {name: series for name, series in _series(run) if series.values}
    times = sorted({time for series in found.values() for time in series.values})
    raw = {name: [{"t": time, "val": value} for time, value in series.values.items()] for name, series in found.items()}
    backlog = found.get(f"{TEST}::backlog_pkts")
    raw[TEST] = [{"t": time, "backlog_pkts": value} for time, value in backlog.values.items()] if backlog else []
    return {
        "version": FORMAT_VERSION,
        "metadata": _metadata(document, run, name)
        | {"SERIES_META": {name: {"UNITS": series.unit} for name, series in found.items()}},
        "x_values": times,
        "results": {name: [series.values.get(time) for time in times] for name, series in found.items()},
        "raw_values": raw,
    }


def _series(run: Run) -> Iterator[tuple[str, _Series]]:
    """All of a run, by the name that it has in Flent."""
    end = run.measured_to_s

    def once(unit: str, value: float | None, scale: float) -> _Series:
        return _Series(unit, {} if value is None else {end: value * scale})

    for group in run.groups:
        name = group.name
        yield f"throughput {name}", once("Mbits/s", group.throughput_bps, 1e-6)
        yield f"goodput {name}", once("Mbits/s", group.goodput_bps, 1e-6)
        yield f"dropped {name}", once("%", group.drop_fraction, 100.0)
    reference = reference_queue(run)
    for queue in run.queues:
        of = "" if queue is reference else f"{queue.name} "
        for what in ("mean", "p50", "p99"):
            yield f"{of}wait {what}", once("ms", getattr(queue.sojourn_s, what), 1e3)
        yield from _samples(queue, of)
    for flow, values in run.windows.cwnd_packets.items():
        yield f"cwnd {flow}", _sampled("packets", run.windows.t_s, values)


def _samples(queue: Queue, of: str) -> Iterator[tuple[str, _Series]]:
    series = queue.series
    times = series.t_s
    yield of + f"{TEST}::backlog_pkts", _sampled("packets", times, series.packets)
    for group, values in series.packets_by_group.items():
        yield f"{of}backlog {group}", _sampled("packets", times, values)
    for name, internal in series.internals.items():
        yield of + name, _sampled("", times, internal)


def _sampled(unit: str, times: Sequence[float], values: Sequence[float | None]) -> _Series:
    return _Series(unit, {time: value for time, value in zip(times, values, strict=False) if value is not None})


def _metadata(document: Document, run: Run, name: str) -> dict[str, Any]:
    scenario = document.scenario
    title = f"{document.name}, {run.discipline}, seed {run.seed} ({document.kind})"
    length = scenario.get("duration_s") or run.measured_to_s
    return dict.fromkeys(_UNUSED) | {
        "NAME": TEST,
        "TITLE": title,
        "NOTE": "; ".join(run.problems) or None,
        "DATA_FILENAME": name,
        "FLENT_VERSION": f"fairdrop-{document.version}",
        "HOST": None,
        "HOSTS": [],
        "LOCAL_HOST": "fairdrop",
        "IP_VERSION": 4,
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": scenario.get("sample_s") or length,
        "T0": _BEGINNING,
        "TIME": _BEGINNING,
        "TEST_PARAMETERS": {},
        "FAIRDROP": {"kind": document.kind, "scenario": document.source.get("scenario_source")}
        | {field: value for field in _KEPT if (value := getattr(run, field)) is not None},
    }
