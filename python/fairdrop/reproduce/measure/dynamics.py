"""What runs do over time: windows that move together, thresholds that are crossed, values that settle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdrop import measures
from fairdrop.reproduce.measure.errors import MeasureError

Run = Mapping[str, Any]
Floats = NDArray[np.float64]


def window_correlation(run: Run, group: str) -> float | None:
    """Mean correlation of the congestion windows of two flows of a group, over all pairs.

    1 when all rise and fall together, 0 when each goes its own way, and -1/(n - 1) when n windows have a constant sum.
    Flows whose window never changes are left out; None with fewer than two others.
    """
    windows = _windows(run, group)
    moving = windows[windows.std(axis=1) > 0.0]
    flows = len(moving)
    if flows < 2:
        return None
    standard = (moving - moving.mean(axis=1, keepdims=True)) / moving.std(axis=1, keepdims=True)
    together = float(np.mean(standard.sum(axis=0) ** 2))
    return (together - flows) / (flows * (flows - 1))


def loss_synchronisation(run: Run, group: str) -> float | None:
    """How much likelier a flow of a group backs off in an interval of the grid when another does; see `measures`."""
    return measures.loss_synchronisation(_windows(run, group))


def largest_back_off(run: Run, group: str, part: float = 0.99) -> float:
    """Part of a group that backs off in one interval of the grid, in the worst of them: a quantile over intervals."""
    return float(np.quantile(measures.back_offs(_windows(run, group)).mean(axis=0), part))


def switchings(run: Run, packets: float, link: str | None = None) -> float:
    """How often in 100 s the average of RED falls from a threshold or above to below it."""
    times, average = _series(run, "red_avg", link)
    below = average < packets
    falls = int(np.sum(~below[:-1] & below[1:]))
    return 100.0 * falls / float(times[-1] - times[0])


def average_below(run: Run, packets: float, link: str | None = None) -> float:
    """Part of the time in which the average of RED is below a threshold."""
    return float(np.mean(_series(run, "red_avg", link)[1] < packets))


def internal_variation(run: Run, internal: str, link: str | None = None) -> float | None:
    """Standard deviation over time of a value that the discipline decides by, over its mean; None when that is 0."""
    values = _series(run, internal, link)[1]
    mean = float(np.mean(values))
    return float(np.std(values)) / mean if mean else None


def settling_time(run: Run, internal: str, part: float = 0.9, link: str | None = None) -> float:
    """Seconds from the start of the run until such a value first is at a part of its mean over the last half."""
    times, values = _series(run, internal, link, warm_up=True)
    level = part * float(np.mean(values[len(values) // 2 :]))
    return float(times[np.argmax(values >= level)])


def _windows(run: Run, group: str) -> Floats:
    """Congestion windows in the measuring window, a row per flow of a group."""
    recorded = run.get("windows") or {"t_s": [], "cwnd_packets": {}}
    times = np.asarray(recorded["t_s"], dtype=np.float64)
    names = [name for name in recorded["cwnd_packets"] if str(name).partition("[")[0] == group]
    if not names:
        raise MeasureError(f"group {group!r} has no windows in the run; valid: a group of the scenario's windows")
    rows = np.asarray([recorded["cwnd_packets"][name] for name in names], dtype=np.float64)
    kept: Floats = rows[:, times >= float(run["measured_from_s"])]
    return kept


def _series(run: Run, name: str, link: str | None, warm_up: bool = False) -> tuple[Floats, Floats]:
    """Times and values of a series of a queue, by default of the measuring window only."""
    wanted = link or run["link"]
    queue = next(row for row in run["queues"] if row["name"] == wanted)
    series = queue["series"]
    found: Sequence[Any] | None = series["red_avg"] if name == "red_avg" else series["internals"].get(name)
    if not found or found[0] is None:
        raise MeasureError(f"{queue['discipline']} has no series {name!r}; valid: {', '.join(series['internals'])}")
    times, values = np.asarray(series["t_s"], dtype=np.float64), np.asarray(found, dtype=np.float64)
    kept = times >= (0.0 if warm_up else float(run["measured_from_s"]))
    return times[kept], values[kept]
