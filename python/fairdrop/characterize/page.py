"""The report of a characterization, one page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from fairdrop import plot
from fairdrop.characterize.layout import (
    Board,
    cell_text,
    influence_rows,
    scheduler_board,
    score_boards,
    trial_boards,
    trial_of,
)
from fairdrop.characterize.rows import Row
from fairdrop.characterize.trials import scenario_of
from fairdrop.files import write_text
from fairdrop.pages import environment, palettes
from fairdrop.plot.inline import inline
from fairdrop.plot.size import Width
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import clean, count, keep_together

# Trials whose trade-off between delay and throughput is drawn (RFC 7928, 2.7), with what is held.
_TRADE_OFFS = (("5.1.1-same-window", ""), ("8.2.6-fast-capacity", ""), ("9.2-both-ways", ""))


def write_page(rows: Sequence[Row], about: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Render the report and put it at ``path``. Raises OSError."""
    write_text(path, render_page(rows, about))


def render_page(rows: Sequence[Row], about: Mapping[str, Any]) -> str:
    """The page as text."""
    templates = environment("fairdrop.characterize")
    templates.filters["together"] = keep_together
    return templates.get_template("template.html.j2").render(
        title=f"RFC 7928 under {count(len(about['disciplines']), 'discipline')}",
        setting=f"Profile {about['profile']}: {count(about['runs'], 'run')}, {count(about['seeds'], 'seed')} each",
        notices=_notices(about),
        scores=[_table(board) for board in (*score_boards(rows), scheduler_board(rows)) if board],
        figures=[_figure(rows, name, at) for name, at in _TRADE_OFFS if any(_is_at(row, name, at) for row in rows)],
        details=[_table(board) for board in trial_boards(rows)],
        influences=_influences(rows),
        unanswered=about["unanswered"],
        scenarios=[(name, _source(name, about["profile"])) for name in about["trials"]],
        command=clean(shlex.join(about["command"] or ["fairdrop", "characterize", *about["disciplines"]])),
        version=clean(about["version"]),
        **palettes(),
    )


def _notices(about: Mapping[str, Any]) -> list[str]:
    incomplete = ["Incomplete: the work was interrupted, or runs failed. What follows is what there is."]
    return ([] if about["complete"] else incomplete) + [clean(problem) for problem in about["problems"][:5]]


def _source(name: str, profile: str) -> str:
    return clean(scenario_of(trial_of(name), profile == "full").source).strip("\n")


def _table(board: Board) -> dict[str, Any]:
    best = {column: board.best(column) for column in board.columns}
    return {
        "title": board.title,
        "columns": [
            {"section": column.section, "title": trial_of(column.trial).title, "label": column.label,
             "at": column.where, "trial": column.trial,
             "better": {"less": "less is better", "more": "more is better", "one": "1 is best", "": ""}[column.better]}
            for column in board.columns
        ],
        "rows": [
            {
                "name": discipline_name(name),
                "cells": [
                    {"text": cell_text(row), "best": name in best[column], "command": row.command}
                    if (row := board.cells.get((name, column))) else None
                    for column in board.columns
                ],
            }
            for name in board.disciplines
        ],
    }  # fmt: skip


def _influences(rows: Sequence[Row]) -> list[dict[str, str]]:
    found = influence_rows(rows)
    return [
        {
            "name": discipline_name(name),
            **{
                measure: ", ".join(_index(row) for row in measures.get(measure, ())[:3])
                for measure in ("wait_p99", "protection")
            },
        }
        for name, measures in found.items()
    ]


def _index(row: Row) -> str:
    return f"{row.at.removeprefix('queue.')} {cell_text(row)}"


def _is_at(row: Row, trial: str, at: str) -> bool:
    return row.trial == trial and row.at == at


def _figure(rows: Sequence[Row], trial: str, at: str) -> dict[str, Any]:
    title = f"{trial_of(trial).section} {trial_of(trial).title}: throughput against delay"
    draw = partial(trade_off, rows, trial, at)
    return {"key": f"trade-{trial}", "title": title, "at": at, **_both(f"trade-{trial.replace('.', '-')}", title, draw)}


def _both(key: str, title: str, draw: Callable[..., Figure]) -> dict[str, Markup]:
    wide, narrow = inline(draw(width="screen"), f"{key}-w", title), inline(draw(width="phone"), f"{key}-n", title)
    return {"wide": wide, "narrow": narrow}


def trade_off(rows: Sequence[Row], trial: str, at: str, *, width: Width = "screen") -> Figure:
    """The graph of RFC 7928, 2.7: link used against the 99th percentile of the wait, a mark for each discipline."""
    some = {(row.discipline, row.measure): row for row in rows if _is_at(row, trial, at)}
    names = [name for name, measure in some if measure == "wait_p99" and (name, "utilisation") in some]
    points = [(discipline_name(n), some[n, "wait_p99"].estimate, some[n, "utilisation"].estimate) for n in names]
    seeds = count(max((row.seeds for row in some.values()), default=0), "seed")
    note = (
        f"{trial_of(trial).section}{f', {at}' if at else ''}: mean of {seeds}; whiskers: 95 % interval of the mean "
        "(Student's t). The line joins points that no other beats in both."
    )
    labels = "99th percentile of the wait, ms (less is better)", "link used, % (more is better)"
    return plot.trade_off(points, *labels, note, width=width)
