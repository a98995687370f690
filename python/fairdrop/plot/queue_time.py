"""The queue's packets by group over time."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fairdrop.document import Document, Queue, Run, disciplines, group_names, reference_queue, runs_of
from fairdrop.plot import colours
from fairdrop.plot.frame import beside, legend, level_line, note, nothing, panels, spread
from fairdrop.plot.size import Size
from fairdrop.plot.strips import MOST_PANELS, draw_queues
from fairdrop.plot.style import styled
from fairdrop.plot.thresholds import thresholds
from fairdrop.wording.disciplines import discipline_name

POINTS_WIDE = 300
POINTS_NARROW = 150


@styled
def draw(document: Document, seed: int | None, size: Size) -> Figure:
    found = queues_of(document, seed)
    if not found:
        return nothing("No run with a series of samples was finished.", size)
    if len(found) > MOST_PANELS:
        return draw_queues(document, found, thin, size)
    figure, grid = panels(len(found), 1, 1.45 if size.narrow else 1.6, size, 1.2)
    top = max(max(queue.series.packets, default=0) for _, queue in found.values()) or 1
    group = 1
    for axes, (name, (run, queue)) in zip(grid, found.items(), strict=True):
        axes.set_title(discipline_name(name))
        group = max(group, _panel(axes, document, queue, size))
        _levels(axes, levels_of(document, name, queue, top), top)
        start = float(run.measured_from_s)
        if queue.series.t_s[0] < start < queue.series.t_s[-1]:
            # PostScript has no transparency.
            hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": colours.PAPER, "hatch": "////", "linewidth": 0}
            axes.axvspan(queue.series.t_s[0], start, **hatched, zorder=1.9)
        axes.set_ylim(0, top * 1.12)
        axes.set_xlim(right=max(axes.get_xlim()[1], float(run.measured_to_s)))
        axes.set_ylabel("packets")
    grid[-1].set_xlabel("time, s")
    legend(figure, *_legend(document, found))
    shown = next(iter(found.values()))[0].seed
    step = f" Each point is the mean of {group} samples." if group > 1 else ""
    note(figure, f"Waiting packets in the run with seed {shown}.{step}{_warm_up(found)}")
    return figure


def queues_of(document: Document, seed: int | None) -> dict[str, tuple[Run, Queue]]:
    """The run of one seed under each discipline, where it has a series."""
    found: dict[str, tuple[Run, Queue]] = {}
    for name in disciplines(document):
        for run in runs_of(document, name):
            queue = reference_queue(run)
            if queue is not None and queue.series.t_s and seed in (None, run.seed):
                found[name] = (run, queue)
                seed = run.seed
                break
    return found


def thin(values: Sequence[float | None], size: int) -> list[float]:
    """Means of ``size`` neighbours; NaN where no value is known."""
    out: list[float] = []
    for start in range(0, len(values), size):
        known = [value for value in values[start : start + size] if value is not None]
        out.append(sum(known) / len(known) if known else float("nan"))
    return out


def _panel(axes: Axes, document: Document, queue: Queue, size: Size) -> int:
    series = queue.series
    hue = colours.groups(group_names(document.runs))
    samples = ceil(len(series.t_s) / (POINTS_NARROW if size.narrow else POINTS_WIDE))
    times = thin(series.t_s, samples)
    parts = {name: thin(values, samples) for name, values in series.packets_by_group.items()}
    axes.stackplot(times, list(parts.values()), colors=[hue.get(name, colours.GREY) for name in parts], linewidth=0)
    average = thin(series.red_avg, samples)
    if any(value == value for value in average):
        axes.plot(times, average, color=colours.PAPER, linewidth=3.2)
        axes.plot(times, average, color=colours.INK, linewidth=1.4)
    axes.set_xlim(times[0], max(times[-1], times[0] + 1e-9))
    return samples


def levels_of(document: Document, name: str, queue: Queue, top: float) -> dict[str, float]:
    """Thresholds and buffer limit, those that lie in a panel whose highest queue is ``top``."""
    averaged = any(value is not None for value in queue.series.red_avg)
    levels = dict(thresholds(document, name)) if averaged else {}
    if queue.limit_packets and queue.limit_packets <= 1.1 * top:
        levels["limit"] = float(queue.limit_packets)
    return {label: level for label, level in levels.items() if level <= 1.12 * top}


def _levels(axes: Axes, levels: dict[str, float], top: float) -> None:
    """Thin lines, named at the right edge."""
    for (label, level), place in zip(levels.items(), spread(list(levels.values()), 0.15 * top), strict=True):
        level_line(axes, level, colours.INK)
        beside(axes, f"{label} {level:g}", place)


def _legend(document: Document, found: dict[str, tuple[Run, Queue]]) -> tuple[list[Artist], list[str]]:
    hue = colours.groups(group_names(document.runs))
    labels = list(group_names(document.runs))
    handles: list[Artist] = [Patch(color=hue[name]) for name in labels]
    if any(value is not None for _, queue in found.values() for value in queue.series.red_avg):
        handles.append(Line2D([], [], color=colours.INK, linewidth=1.4))
        labels.append("average that RED goes by")
    return handles, labels


def _warm_up(found: dict[str, tuple[Run, Queue]]) -> str:
    run, queue = next(iter(found.values()))
    if queue.series.t_s[0] < run.measured_from_s < queue.series.t_s[-1]:
        return f" Hatched: warm-up until {run.measured_from_s:g} s, not counted in the numbers."
    return ""
