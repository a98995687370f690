"""Means over seeds of a measure at points of a sweep, for figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairdrop.estimate import estimate, resolution_of
from fairdrop.nearest import choices
from fairdrop.plot.cells import Cells, Shown
from fairdrop.plot.sweeps import named
from fairdrop.study.axes import StudyError
from fairdrop.study.runs import LINK_COLUMNS, measures
from fairdrop.table import Table
from fairdrop.wording.numbers import rate_unit, waiting_unit
from fairdrop.wording.phrases import count, joined

Read = Callable[..., Table]

_WORDS = {
    "share": "share of the link",
    "jain_index": "Jain's index of the group",
    "run_jain_index": "Jain's index",
    "drop_fraction": "part of the packets dropped",
    "queue_drop_fraction": "part of the packets dropped",
    "link_utilisation": "utilisation",
    "largest_over_fair_share": "largest flow / fair share",
    "throughput_bps": "throughput",
    "goodput_bps": "goodput",
    "offered_bps": "offered",
    "queue_mean_packets": "mean queue, packets",
    "queue_max_packets": "longest queue, packets",
    "queue_sojourn_mean_s": "mean wait",
    "queue_sojourn_p50_s": "median wait",
    "queue_sojourn_p90_s": "90th percentile of the wait",
    "queue_sojourn_p99_s": "99th percentile of the wait",
    "queue_sojourn_p999_s": "99.9th percentile of the wait",
    "queue_sojourn_max_s": "longest wait",
    "srtt_s": "smoothed round-trip time",
    "mean_cwnd_packets": "mean congestion window, packets",
}
_UNITS = {"bps": rate_unit, "s": waiting_unit}
# Parts of a whole, and Jain's index: at most 1.
_PARTS = ("share", "drop_fraction", "queue_drop_fraction", "link_utilisation")
_AT_MOST_ONE = (*_PARTS, "jain_index", "run_jain_index")


def cells(
    about: Mapping[str, Any],
    read: Read,
    measure: str,
    group: str | None,
    where: Mapping[str, Any],
    shown: Sequence[str | None],
) -> Cells:
    """A measure at the points that ``where`` leaves, by the axes that are shown. Raises StudyError."""
    axes = {axis["column"]: axis for axis in about["axes"]}
    wanted = [name for name in shown if name is not None]
    _check(axes, measure, wanted, where)
    _check_group(about, read, measure, group)
    # Drawn points differ on every axis; there a figure shows all of them.
    free = [name for name in axes if name not in wanted and name not in where and len(axes[name]["values"]) > 1]
    if free and not any(axis["drawn"] for axis in axes.values()):
        listed = "; ".join(f"{name}: {', '.join(map(str, axes[name]['values'][:8]))}" for name in free)
        raise StudyError(f"axes that the figure does not show are open; valid: one value each in where ({listed})")
    table = read(*dict.fromkeys([*axes, "seed", "group", measure]))
    gathered = _gathered(table, list(axes), measure, group, where)
    points = tuple(
        (dict(zip(axes, at, strict=True)), found)
        for at, values in gathered.items()
        if (found := estimate(values, resolution=resolution_of(measure))) is not None
    )
    seeds = sorted({found.n for _, found in points}) or [0]
    return Cells(
        _measure(measure, [abs(found.mean) for _, found in points]),
        {name: _shown(axis) for name, axis in axes.items()},
        points,
        _note(measure, group, where, axes, seeds),
        "; whiskers: 95 % interval of the mean (Student's t)" if seeds[-1] > 1 else ", so no interval",
        1.0 if measure in _AT_MOST_ONE else math.inf,
    )


def _check(axes: Mapping[str, Any], measure: str, wanted: Sequence[str], where: Mapping[str, Any]) -> None:
    if measure not in measures():
        raise StudyError(f"measure = {measure!r} is not valid{choices(measure, measures())}")
    for name in [*wanted, *where]:
        if name not in axes:
            raise StudyError(f"{name!r} is no axis{choices(name, axes)}")
    for name, value in where.items():
        if value not in axes[name]["values"]:
            valid = ", ".join(map(str, axes[name]["values"]))
            raise StudyError(f"where: {name} = {value!r} is not there; valid: {valid}")


def _check_group(about: Mapping[str, Any], read: Read, measure: str, group: str | None) -> None:
    names = group_names(read)
    if measure in dict(LINK_COLUMNS):
        if group is not None:
            raise StudyError(f"group = {group!r} is not valid with {measure}, which is of the link; valid: none")
    elif group not in names and (group is not None or len(names) != 1):
        raise StudyError(f"group = {group!r} is not valid with {measure}{choices(group, names)}")


def group_names(read: Read) -> list[str]:
    """Groups of flows, in the order of the scenario."""
    return list(dict.fromkeys(read("group").column("group")))


def _gathered(
    table: Table, axes: Sequence[str], measure: str, group: str | None, where: Mapping[str, Any]
) -> dict[tuple[Any, ...], list[float | None]]:
    """Values by point; of a measure of the link one per run, whichever group's row it is in."""
    gathered: dict[tuple[Any, ...], list[float | None]] = {}
    seen: set[tuple[Any, ...]] = set()
    columns = [table.column(name) for name in (*axes, "seed", "group", measure)]
    for *at, seed, of, value in zip(*columns, strict=True):
        place = tuple(at)
        if (group is not None and of != group) or (group is None and (*place, seed) in seen):
            continue
        if any(place[axes.index(name)] != wanted for name, wanted in where.items()):
            continue
        seen.add((*place, seed))
        gathered.setdefault(place, []).append(value)
    return gathered


def _measure(name: str, sizes: Sequence[float]) -> Shown:
    label = _WORDS.get(name, name.replace("_", " "))
    unit = name.rpartition("_")[2]
    if unit in _UNITS:
        divisor, written = _UNITS[unit](max(sizes, default=1.0) or 1.0)
        return Shown(f"{label}, {written}", (), divisor)
    if name in _PARTS:
        return Shown(f"{label}, %", (), 0.01)
    return Shown(label, ())


def spoken(axis: Mapping[str, Any], value: Any) -> str:
    """A value of an axis in words: ``CHOKe``, ``udp_rate 2 Mb/s``."""
    return named(axis["column"], value, _shown(axis))


def _shown(axis: Mapping[str, Any]) -> Shown:
    values, label = tuple(axis["values"]), str(axis["name"])
    if axis["unit"] in _UNITS:
        divisor, unit = _UNITS[axis["unit"]](max(values) or 1.0)
        return Shown(f"{label}, {unit}", values, divisor, axis["drawn"])
    return Shown(f"{label}, packets" if axis["unit"] else label, values, 1.0, axis["drawn"])


def _note(
    measure: str, group: str | None, where: Mapping[str, Any], axes: Mapping[str, Any], seeds: Sequence[int]
) -> str:
    of = "" if group is None else f" of {group}"
    held = f" with {joined([spoken(axes[name], value) for name, value in where.items()])}" if where else ""
    number = count(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {count(seeds[-1], 'seed')}"
    words = _WORDS.get(measure, measure)
    return f"{words[:1].upper()}{words[1:]}{of}{held}: mean of {number}"
