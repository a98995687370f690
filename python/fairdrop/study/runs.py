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

#: Columns with their kinds (see `_core.write_parquet`): of a group of flows, and of the link, repeated for each group.
GROUP_COLUMNS, LINK_COLUMNS = (tuple(columns) for columns in _core.row_columns())
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


def packed(found: str | _core.Document) -> bytes:
    """The rows of a run, as the store keeps them: of a whole run where its windows are recorded."""
    if not isinstance(found, str):
        since_s = found.table("runs").column("measured_from_s")[0]
        found = found.rows(_synchronisation(found.table("windows"), since_s))
    return zlib.compress(found.encode(), 1)


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


def text_of(packed: bytes) -> str:
    """The rows of a run as JSON text. Raises ValueError where they are damaged."""
    try:
        return zlib.decompress(packed).decode()
    except (zlib.error, ValueError, TypeError) as error:
        raise ValueError(f"not the rows of a run ({error})") from None


def unpack(packed: bytes) -> tuple[list[Any], list[list[Any]]]:
    """Values of the link, and those of each group. Raises ValueError where it is something else, or damaged."""
    text = text_of(packed)
    try:
        link, groups = json_of(text)
        if not (_are(link, LINK_COLUMNS) and all(_are(group, GROUP_COLUMNS) for group in groups)):
            raise ValueError("its columns are others")
    except (ValueError, TypeError) as error:
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
