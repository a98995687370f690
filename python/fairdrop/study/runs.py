"""A run of a study: what decides it, and the rows that it leaves."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fairdrop import _core
from fairdrop.engine import engine
from fairdrop.extension.registry import Registered, compiled, load_file
from fairdrop.files import RESULT, json_of, read_bytes
from fairdrop.measures import loss_synchronisation
from fairdrop.scenario import ScenarioError

#: Columns with their kinds (see `_core.write_parquet`): of a group of flows, and of the link, repeated for each group.
GROUP_COLUMNS, LINK_COLUMNS = (tuple(columns) for columns in _core.row_columns())
#: Changes with the columns: rows with others are not found.
ROWS = "fairdrop/rows/3"


@cache
def measures() -> list[str]:
    """Columns that hold something measured."""
    apart = {"class", "flows", "base_rtt_s", "link_rate_bps", "fair_share_bps", "events"}
    found = [name for name, kind in (*GROUP_COLUMNS, *LINK_COLUMNS) if kind in ("number", "count")]
    return [name for name in found if name not in apart]


@dataclass(frozen=True, slots=True)
class Opened:
    """A scenario as a campaign runs it."""

    scenario: _core.Scenario
    #: Hash of all that decides its runs but the seed.
    digest: str
    first_seed: int


def open_points(
    texts: Mapping[str, str], points: Sequence[tuple[str, tuple[str, ...]]], parts: Sequence[Registered]
) -> list[Opened | ScenarioError | OSError]:
    """The scenarios of points, each the name of a file in ``texts`` and its settings, in one call; or what is wrong.

    Parameters of disciplines other than its own decide nothing, so two scenarios that differ in those have one hash.
    """
    try:
        columns = _core.read_points(points, dict(texts), compiled(parts), load_file)
    except ValueError as error:
        return [ScenarioError(str(error))] * len(points)
    digest_of = cache(_digest_of)
    found: list[Opened | ScenarioError | OSError] = []
    for (file, _), scenario, deciding, files, seed, problems in zip(points, *columns, strict=True):
        if scenario is None:
            found.append(ScenarioError(problems))
            continue
        folder = Path(file).parent
        try:
            contents = [digest_of(folder / name) for name in files]
        except OSError as error:
            found.append(error)
            continue
        text = "\n".join([ROWS, engine(), *contents, deciding])
        found.append(Opened(scenario, hashlib.sha256(text.encode()).hexdigest()[:32], seed))
    return found


def key_of(digest: str, seed: int) -> str:
    """What a run is called in the store."""
    return hashlib.sha256(f"{digest}:{seed}".encode()).hexdigest()[:32]


def packed(run: _core.Document) -> bytes:
    """The rows of a whole run, as the store keeps them."""
    since_s = run.table("runs").column("measured_from_s")[0]
    return run.rows(_synchronisation(run.table("windows"), since_s))


def all_packed(found: Sequence[bytes | _core.Document | None]) -> list[bytes | None]:
    """The same of many, of which only those that recorded windows are whole."""
    return [packed(one) if isinstance(one, _core.Document) else one for one in found]


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


def unpack(packed: bytes) -> tuple[list[Any], list[list[Any]]]:
    """Values of the link, and those of each group. Raises ValueError where it is something else, or damaged."""
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


def _digest_of(path: Path) -> str:
    return hashlib.sha256(read_bytes(path, RESULT)).hexdigest()
