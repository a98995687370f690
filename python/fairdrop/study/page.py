"""The report of a sweep, one page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.files import write_text
from fairdrop.pages import environment, palettes
from fairdrop.plot.cells import Cells
from fairdrop.plot.inline import inline
from fairdrop.plot.size import Width
from fairdrop.plot.sweeps import MOST_LINES, by_environment, front
from fairdrop.study.cells import Read, cells, group_names, spoken
from fairdrop.study.fronts import environments, remarks, role_of, set_ups
from fairdrop.wording.numbers import number_and_half
from fairdrop.wording.phrases import clean, count, joined, keep_together

DELAY, FAIRNESS = "queue_sojourn_p99_s", "run_jain_index"
# Of points in the table: the first of the front.
_MOST_ROWS = 40
_MOST_PANELS = 9


@dataclass(frozen=True)
class Best:
    """The table of set-ups that no other beats."""

    columns: list[str]
    rows: list[dict[str, Any]]
    #: Rows that are left out.
    left_out: int
    #: Whether there are several environments, each with its own rows.
    by_environment: bool


@dataclass(frozen=True)
class Drawn:
    """A figure in both widths."""

    key: str
    title: str
    text: str
    wide: Markup
    narrow: Markup


def write_page(about: Mapping[str, Any], read: Read, path: str | PathLike[str]) -> None:
    """Render the report and put it at ``path``. Raises OSError."""
    write_text(path, render_page(about, read))


def render_page(about: Mapping[str, Any], read: Read) -> str:
    """The page as text."""
    templates = environment("fairdrop.study")
    templates.filters["together"] = keep_together
    empty = not about["runs"]
    return templates.get_template("template.html.j2").render(
        title=clean(about["name"]),
        setting=_setting(about),
        notices=_notices(about),
        figures=[] if empty else _figures(about, read),
        axes=[_axis(axis) for axis in about["axes"]],
        best=None if empty else _best(about, read),
        facts=_facts(about),
        command=clean(shlex.join(about["command"] or ["fairdrop", "sweep", "STUDY.toml"])),
        sources=[(clean(file), clean(text).strip("\n")) for file, text in about["kept"]["texts"].items()],
        **palettes(),
    )


def _setting(about: Mapping[str, Any]) -> str:
    names = joined([str(axis["name"]) for axis in about["axes"]])
    return f"{count(about['points'], 'point')} over {clean(names)}; {count(about['runs'], 'run')}"


def _notices(about: Mapping[str, Any]) -> list[str]:
    incomplete = ["Incomplete: the work was interrupted, or runs failed. What follows is what there is."]
    return ([] if about["complete"] else incomplete) + [clean(one) for one in [*about["problems"][:5], *remarks(about)]]


def _axis(axis: Mapping[str, Any]) -> dict[str, str]:
    values = axis["values"]
    some = [clean(spoken(axis, value)).removeprefix(f"{axis['name']} ") for value in [*values[:10], values[-1]]]
    shown = [*some[:10], "…", some[-1]] if len(values) > 11 else some[: len(values)]
    return {
        "name": clean(axis["name"]), "field": clean(axis["field"]), "role": role_of(axis), "values": ", ".join(shown),
    }  # fmt: skip


def _facts(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    written = about["kept"]["study"]
    stop = written.get("stop")
    facts = [("Simulated", f"{count(about['computed'], 'run')} by the last command; the others were in the store")]
    if stop:
        narrow = f"at most {stop['half_width']}" if "half_width" in stop else f"at most {stop['relative']} of the mean"
        facts.append(("Seeds", f"added until half the 95 % interval of {stop['measure']} is {narrow}"))
    return [*facts, ("Written by", f"fairdrop {clean(about['version'])}, {clean(about['schema'])}")]


def _figures(about: Mapping[str, Any], read: Read) -> list[Drawn]:
    """Delay against fairness, then each measure over the axes with the most values."""
    axes = {axis["column"]: axis for axis in about["axes"] if len(axis["values"]) > 1}
    pareto = partial(_pareto, about, read, _by(axes))
    text = "Each mark is a set-up of the study. Up and to the left is better."
    found = [_drawn("pareto", "Delay against fairness", text, pareto)]
    numbers = [name for name, axis in axes.items() if axis["kind"] in ("number", "count")]
    over = max(numbers, key=lambda name: len(axes[name]["values"]), default=next(iter(axes), None))
    if over is None:
        return found
    drawn = any(axis["drawn"] for axis in axes.values())
    rest = [name for name in axes if name != over]
    by = next((name for name in [_by(axes), *([] if drawn else rest)] if name is not None and name != over), None)
    few = [name for name in rest if name != by and len(axes[name]["values"]) <= _MOST_PANELS and not drawn]
    # Lines in separate panels leave no room for others.
    across = few[0] if few and (by is None or len(axes[by]["values"]) <= MOST_LINES) else None
    held = [name for name in rest if name not in (by, across)]
    where = {} if drawn else {name: axes[name]["values"][len(axes[name]["values"]) // 2] for name in held}
    note = f"Held: {joined([spoken(axes[name], value) for name, value in where.items()])}." if where else ""
    last = group_names(read)[-1]
    for measure, group in [("share", last), (DELAY, None), (FAIRNESS, None), ("link_utilisation", None)]:
        some = cells(about, read, measure, group, where, [over, by, across])
        title = _capital(some.measure.label.partition(",")[0] + (f" of {group}" if group else ""))
        if by is not None and axes[by]["kind"] != "text" and not drawn:
            first = where if across is None else {**where, across: axes[across]["values"][0]}
            flat = cells(about, read, measure, group, first, [over, by])
            found.append(_drawn(f"{measure}-map", title, note, partial(plot.sweep_heat_map, flat, over, by)))
        else:
            found.append(_drawn(measure, title, note, partial(plot.sweep_lines, some, over, by=by, panels=across)))
    return found


def _by(axes: Mapping[str, Any]) -> str | None:
    """The axis shown by colours: the first whose values are names."""
    return next((name for name, axis in axes.items() if axis["kind"] in ("text", "switch")), None)


def _pareto(about: Mapping[str, Any], read: Read, by: str | None, *, width: Width) -> Figure:
    delay, fairness = _both(about, read)
    return plot.sweep_pareto(delay, fairness, by=by, across=environments(about), width=width)


def _both(about: Mapping[str, Any], read: Read) -> tuple[Cells, Cells]:
    return set_ups(about, read, DELAY, {}), set_ups(about, read, FAIRNESS, {})


def _best(about: Mapping[str, Any], read: Read) -> Best | None:
    """The set-ups of each environment's front, from the least delay on; none where each has its own environment."""
    delay, fairness = _both(about, read)
    across = environments(about)
    if any(delay.axes[name].drawn for name in across):
        return None
    axes = [*(axis for axis in about["axes"] if axis["column"] in across),
            *(axis for axis in about["axes"] if axis["column"] not in across)]  # fmt: skip
    rows = []
    for _, points in by_environment(delay, fairness, across):
        best = set(front((one.mean, other.mean) for _, one, other in points))
        some = [point for point in points if (point[1].mean, point[2].mean) in best]
        rows += [
            {
                "at": [_at(axis, at[axis["column"]]) for axis in axes],
                "delay": number_and_half(one, 1 / delay.measure.divisor),
                "fairness": number_and_half(other, 1.0, 3),
                "unit": delay.measure.label.rpartition(", ")[2],
            }
            for at, one, other in sorted(some, key=lambda row: row[1].mean)
        ]
    return Best([axis["name"] for axis in axes], rows[:_MOST_ROWS], max(0, len(rows) - _MOST_ROWS), bool(across))


def _at(axis: Mapping[str, Any], value: Any) -> str:
    return "not read" if value is None else spoken(axis, value).removeprefix(f"{axis['name']} ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _drawn(key: str, title: str, text: str, draw: Callable[..., Figure]) -> Drawn:
    label = f"{title}. The data set holds the numbers."
    wide, narrow = inline(draw(width="screen"), f"{key}-w", label), inline(draw(width="phone"), f"{key}-n", label)
    return Drawn(key, title, text, wide, narrow)
