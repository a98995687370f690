"""Time series of the report's charts, as JSON for its script: thinned so that no peak is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from fairdrop.document import Document, Queue, Run, disciplines, group_names
from fairdrop.plot import colours
from fairdrop.plot.queue_time import levels_of, queues_of
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import clean

#: Samples of all disciplines together, and the least that one has: about 20 bytes each.
MOST_SAMPLES = 3600
LEAST_SAMPLES = 90


@dataclass(frozen=True)
class _Chart:
    discipline: str
    run: Run
    queue: Queue


def page_data(document: Document) -> dict[str, Any]:
    """What the script of the page needs: names of disciplines, and the queue over time."""
    names = disciplines(document)
    found = [_Chart(name, run, queue) for name, (run, queue) in queues_of(document, None).items()]
    return {
        "disciplines": [discipline_name(name) for name in names],
        "queue": _queue(document, found) if found else None,
    }


def _queue(document: Document, found: Sequence[_Chart]) -> dict[str, Any]:
    hue = colours.groups(group_names(document.runs))
    first = found[0].run
    top = max(max(chart.queue.series.packets, default=0) for chart in found) or 1
    most = max(MOST_SAMPLES // len(found), LEAST_SAMPLES)
    return {
        "groups": [{"name": clean(name), "hue": colours.VARIABLES[hue[name]]} for name in hue],
        "seed": first.seed,
        "from": first.measured_from_s,
        "to": first.measured_to_s,
        "top": top,
        "thinned": any(len(chart.queue.series.t_s) > most for chart in found),
        "charts": [_chart(document, chart, list(hue), top, most) for chart in found],
    }


def _chart(document: Document, chart: _Chart, groups: Sequence[str], top: float, most: int) -> dict[str, Any]:
    series = chart.queue.series
    parts = [series.packets_by_group.get(group, ()) for group in groups]
    averaged = any(value is not None for value in series.red_avg)
    lines = [series.packets, *(part for part in parts if part)]
    kept = kept_samples([*lines, series.red_avg] if averaged else lines, most)
    levels = levels_of(document, chart.discipline, chart.queue, top)
    return {
        "d": disciplines(document).index(chart.discipline),
        "t": [_short(series.t_s[index]) for index in kept],
        "groups": [[part[index] for index in kept] if part else None for part in parts],
        "average": [_short(series.red_avg[index]) for index in kept] if averaged else None,
        "levels": [{"name": name, "at": level} for name, level in levels.items()],
    }


def kept_samples(lines: Sequence[Sequence[float | None]], most: int) -> list[int]:
    """Places of at most ``most`` samples: all of them, or of each bucket those where a line is least or greatest.

    Buckets are as narrow as the number allows. The first and the last sample are always there.
    """
    size = len(lines[0])
    if size <= most:
        return list(range(size))
    width = ceil(2 * size / most)
    while len(kept := _extremes(lines, width)) > most and width < size:
        width = ceil(width * 1.2)
    return kept


def _extremes(lines: Sequence[Sequence[float | None]], width: int) -> list[int]:
    size = len(lines[0])
    kept = {0, size - 1}
    for start in range(0, size, width):
        for line in lines:
            places = range(start, min(start + width, size))
            known = [(value, place) for place in places if (value := line[place]) is not None]
            if known:
                kept.update((min(known)[1], max(known)[1]))
    return sorted(kept)


def _short(value: float | None) -> float | None:
    """Six significant digits: finer than a pixel, and than the text under the pointer."""
    return None if value is None else float(f"{value:.6g}")
