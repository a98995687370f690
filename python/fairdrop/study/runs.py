"""A run of a study: what decides it, and the rows that it leaves."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fairdrop import _core
from fairdrop.engine import engine
from fairdrop.files import RESULT, json_of, read_bytes
from fairdrop.measures import loss_synchronisation
from fairdrop.scenario import Scenario
from fairdrop.study.reads import only_read

# Columns with their kinds (see `_core.write_parquet`), as in the tables `groups`, `runs` and `queues` of a result.
_OF_GROUP = (
    ("discipline", "text"),
    ("group", "text"),
    ("transport", "text"),
    ("class", "count"),
    ("flows", "count"),
    ("starved_flows", "count"),
    ("jain_index", "number"),
    ("offered_bps", "number"),
    ("throughput_bps", "number"),
    ("goodput_bps", "number"),
    ("share", "number"),
    ("arrivals", "count"),
    ("dropped", "count"),
    ("drop_fraction", "number"),
    ("retransmissions", "count"),
    ("timeouts", "count"),
    ("fast_retransmits", "count"),
    ("completed", "number"),
    ("base_rtt_s", "number"),
    ("mean_cwnd_packets", "number"),
    ("srtt_s", "number"),
)
# Of its packets at the queue that shares refer to.
_OF_LINK_GROUP = (("sojourn_mean_s", "number"), ("sojourn_p99_s", "number"))
# Mean completion time of its transfers; of its congestion windows, where the scenario records them.
GROUP_COLUMNS = (*_OF_GROUP, *_OF_LINK_GROUP, ("fct_mean_s", "number"), ("loss_synchronisation", "number"))
# Of the whole run, and of the queue that shares refer to; repeated in the row of each group.
_OF_RUN = (
    ("link_rate_bps", "number"),
    ("fair_share_bps", "number"),
    ("jain_index", "number"),
    ("largest_over_fair_share", "number"),
    ("utilisation", "number"),
    ("events", "count"),
    ("valid", "switch"),
)
_OF_QUEUE = (
    ("mean_packets", "number"),
    ("max_packets", "count"),
    ("drop_fraction", "number"),
    ("marked", "count"),
    ("sojourn_mean_s", "number"),
    ("sojourn_p50_s", "number"),
    ("sojourn_p90_s", "number"),
    ("sojourn_p99_s", "number"),
    ("sojourn_p999_s", "number"),
    ("sojourn_max_s", "number"),
)
_RUN_NAMES = {"jain_index": "run_jain_index", "utilisation": "link_utilisation"}
LINK_COLUMNS = (
    *((_RUN_NAMES.get(name, name), kind) for name, kind in _OF_RUN),
    *((f"queue_{name}", kind) for name, kind in _OF_QUEUE),
)
_NO_WAITS = (None,) * len(_OF_LINK_GROUP)
#: Changes with the columns: rows with others are not found.
ROWS = "fairdrop/rows/3"
# Of a scenario: what does not decide its runs, beside the seed.
_NAMES = ("name", "title", "seed")


@cache
def measures() -> list[str]:
    """Columns that hold something measured."""
    apart = {"class", "flows", "base_rtt_s", "link_rate_bps", "fair_share_bps", "events"}
    found = [name for name, kind in (*GROUP_COLUMNS, *LINK_COLUMNS) if kind in ("number", "count")]
    return [name for name in found if name not in apart]


def digest(scenario: Scenario) -> tuple[str, int]:
    """Hash of all that decides the runs of a scenario but the seed, and its first seed.

    Parameters of disciplines other than its own decide nothing, so two scenarios that differ in those have one hash.
    """
    content = scenario.to_dict()
    content["queue"] = only_read(content["queue"])
    seed = int(content["seed"])
    for name in _NAMES:
        content.pop(name, None)
    folder = Path(scenario.file).parent
    files = {name: _digest_of(folder / name) for group in content["groups"] for name in _files(group["settings"])}
    text = json.dumps([ROWS, engine(), content, files], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32], seed


def key_of(digest: str, seed: int) -> str:
    """What a run is called in the store."""
    return hashlib.sha256(f"{digest}:{seed}".encode()).hexdigest()[:32]


def rows_of(document: _core.Document) -> bytes:
    """The rows of a run, packed: values of the link once, then those of each group."""
    runs, queues, groups = (document.table(name) for name in ("runs", "queues", "groups"))
    # The first queue with a name, where the link has none of its own.
    at = max(queues.column("queue").index(runs.column("link")[0]) if runs.column("link")[0] in queues.column("queue")
             else 0, 0)  # fmt: skip
    link = [runs.column(name)[0] for name, _ in _OF_RUN] + [queues.column(name)[at] for name, _ in _OF_QUEUE]
    rows = zip(*(groups.column(name) for name, _ in _OF_GROUP), strict=True)
    waits = _waits(document.table("link_groups"), queues.column("queue")[at])
    times = _completion_times(document.table("transfers"))
    together = _synchronisation(document.table("windows"), runs.column("measured_from_s")[0])
    names = groups.column("group")
    whole = [
        (*row, *waits.get(name, _NO_WAITS), times.get(name), together.get(name))
        for name, row in zip(names, rows, strict=True)
    ]
    return pack(link, whole)


def _waits(table: _core.Table, queue: str) -> dict[str, tuple[float, ...]]:
    """How long packets of each group waited in a queue; of groups that sent none through it nothing."""
    columns = [table.column(name) for name in ("queue", "group", "departures", *(name for name, _ in _OF_LINK_GROUP))]
    return {group: tuple(waits) for at, group, sent, *waits in zip(*columns, strict=True) if at == queue and sent}


def _completion_times(table: _core.Table) -> dict[str, float]:
    """Mean completion time of the transfers of each group, over all classes of size."""
    sums: dict[str, tuple[int, float]] = {}
    columns = (table.column(name) for name in ("group", "completed", "fct_mean_s"))
    for group, completed, mean in zip(*columns, strict=True):
        if completed:
            number, total = sums.get(group, (0, 0.0))
            sums[group] = number + completed, total + completed * mean
    return {group: total / number for group, (number, total) in sums.items()}


def _synchronisation(table: _core.Table, since_s: float) -> dict[str, float | None]:
    """Of each group whose windows are recorded, in the measuring window."""
    windows: dict[str, dict[str, list[float]]] = {}
    for flow, at, cwnd in zip(*(table.column(name) for name in ("flow", "t_s", "cwnd_packets")), strict=True):
        if at >= since_s:
            windows.setdefault(flow.partition("[")[0], {}).setdefault(flow, []).append(cwnd)
    if not windows:
        return {}
    import numpy

    return {group: loss_synchronisation(numpy.array(list(of.values()))) for group, of in windows.items()}


def pack(link: Sequence[Any], groups: Sequence[Sequence[Any]]) -> bytes:
    """Every digit is kept: JSON writes the shortest text that reads as the same number."""
    return zlib.compress(json.dumps([list(link), [list(row) for row in groups]], separators=(",", ":")).encode(), 1)


def unpack(packed: bytes) -> tuple[list[Any], list[list[Any]]]:
    """What :func:`pack` packed. Raises ValueError where it is something else, or damaged."""
    try:
        link, groups = json_of(zlib.decompress(packed).decode())
        if not (_are(link, LINK_COLUMNS) and all(_are(group, GROUP_COLUMNS) for group in groups)):
            raise ValueError("its columns are others")
    except (zlib.error, ValueError, TypeError) as error:
        raise ValueError(f"not the rows of a run ({error})") from None
    return link, groups


def _are(row: Any, columns: Sequence[tuple[str, str]]) -> bool:
    return isinstance(row, list) and len(row) == len(columns)


def value_of(packed: bytes, measure: str, group: str | None) -> float | None:
    """A measure of a run; None where it has none."""
    link, groups = unpack(packed)
    if group is None:
        found = link[[name for name, _ in LINK_COLUMNS].index(measure)]
    else:
        names = [name for name, _ in GROUP_COLUMNS]
        rows = [row for row in groups if row[names.index("group")] == group]
        found = rows[0][names.index(measure)] if rows else None
    return None if found is None else float(found)


def _files(settings: Any) -> list[str]:
    """Files that a transport reads."""
    if isinstance(settings, dict):
        own = [settings["file"]] if isinstance(settings.get("file"), str) else []
        return own + [name for value in settings.values() if isinstance(value, dict) for name in _files(value)]
    return []


def _digest_of(path: Path) -> str:
    return hashlib.sha256(read_bytes(path, RESULT)).hexdigest()
