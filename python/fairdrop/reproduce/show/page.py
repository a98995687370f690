"""The page of a reproduction: every id with its figure, claims, published and measured numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from fairdrop._core import __version__
from fairdrop.pages import environment, palettes
from fairdrop.plot.inline import inline
from fairdrop.reproduce.define.definition import BASE_READING
from fairdrop.reproduce.define.papers import PAPERS, names
from fairdrop.reproduce.define.reading import paper, unexplained
from fairdrop.reproduce.execute.store import write_text
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.headlines import errata, proven_findings
from fairdrop.reproduce.judge.mutants import HELD as STILL_HOLDS
from fairdrop.reproduce.judge.peers import PEERS, beside
from fairdrop.reproduce.judge.verdict import tally
from fairdrop.reproduce.show.figures import draw
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import count

SIGNS = {
    "holds": "✓", "holds with another reading": "≈", "inconclusive": "~",
    "holds with a reading that breaks others": "≉", "number off": "Δ", "contradicted": "✗",
    "own hypothesis, refuted": "○", "cannot be decided from the text": "?", "pending": "…",
}  # fmt: skip
RELATIONS = {"=": "", ">=": "at least ", "<=": "at most "}
MUTANTS = {"red": "RED", "droptail": "DropTail"}


def render(found: Sequence[Findings]) -> str:
    templates = environment("fairdrop.reproduce.show")
    templates.filters["digits"] = lambda value: digits(float(value))
    papers = [
        {"paper": paper(name), "ids": [_entry(one) for one in members]}
        for name, members in ((name, list(some)) for name, some in groupby(found, lambda one: one.definition.paper))
    ]
    return templates.get_template("template.html.j2").render(
        papers=papers,
        counts=counted(found),
        findings=proven_findings(found),
        errata=errata(found),
        unexplained=unexplained() if any(one.definition.paper in PAPERS for one in found) else (),
        empty=says_nothing(found),
        missing=[name for name in names() if name not in {one.definition.name for one in found}],
        signs=SIGNS,
        mutants=MUTANTS,
        peers=PEERS,
        version=__version__,
        total=count(len(found), "figure, table or claim", "figures, tables and claims"),
        settings=sorted({text for one in found for text in one.document["settings"]}),
        **palettes(),
    )


def counted(found: Sequence[Findings]) -> str:
    """How many claims, and how many printed numbers, have which verdict; hypotheses of our own apart."""
    papers: list[str] = []
    own: list[str] = []
    for one in found:
        for claim in one.document["claims"]:
            (own if one.definition.is_own and "claimed" not in claim else papers).append(claim["verdict"])
    numbers = [point["verdict"] for one in found for point in one.document["published"] if point["source"] == "paper"]
    parts = (("Claims of the papers", papers), ("printed numbers", numbers), ("own hypotheses", own))
    return "; ".join(f"{name}: {tally(verdicts)}" for name, verdicts in parts if verdicts)


def says_nothing(found: Sequence[Findings]) -> list[dict[str, str]]:
    """Claims that still hold with a yardstick in the place of the scheme that they are about."""
    return [
        {
            "id": one.definition.name,
            "claim": claim["text"],
            "with": " and ".join(MUTANTS[name] for name, state in claim["mutants"].items() if state == STILL_HOLDS),
        }
        for one in found
        for claim in one.document["claims"]
        if claim["verdict"] == "holds" and STILL_HOLDS in claim["mutants"].values()
    ]


def unsettled(found: Findings) -> list[dict[str, Any]]:
    """Set-ups that had not settled when measuring began, under the reading that decides, each with what moved most."""
    settled = found.document["warm_up"]
    if settled["longer"] is None:
        return []
    still = {place(one) for one in settled["longer"]["still"]}
    most: dict[str, dict[str, Any]] = {}
    for one in settled["unsettled"]:
        where, size = place(one), max(abs(one["first"]), abs(one["last"]))
        by = (one["last"] - one["first"]) / size
        if one["reading"] == settled["longer"]["reading"] and abs(by) > abs(most.get(where, {"by": 0.0})["by"]):
            most[where] = {**one, "where": where, "by": by, "still": where in still}
    return list(most.values())


def after_longer(found: Findings) -> str:
    """What the claims and numbers of an id come to after a longer warm-up, in words."""
    if (longer := found.document["warm_up"]["longer"]) is None:
        return ""
    changed = [f"{one['text']}: {one['before']}, then {one['after']}" for one in longer["claims"]]
    changed += [
        f"{one['label']} ({place(one)}) {digits(one['published'])}: {one['before']}, then {one['after']}"
        for one in longer["numbers"]
    ]
    return "; ".join(changed) if changed else "no verdict changes"


def place(point: Mapping[str, Any]) -> str:
    """Where something was measured, in words."""
    scheme = "" if point["scheme"] == "all" else point["scheme"]
    return ", ".join(filter(None, [scheme, *(f"{axis} {value}" for axis, value in point["at"].items())]))


def write_page(found: Sequence[Findings], path: Path) -> None:
    write_text(path, render(found))


def notebook(found: Findings) -> str:
    """Verdict, figure and claims of one id as HTML, for a notebook."""
    try:
        picture = str(inline(draw(found), found.definition.name, found.definition.title))
    except ValueError:
        picture = ""
    name, title, verdict = (escape(text) for text in (found.definition.name, found.definition.title, found.verdict))
    rows = "".join(
        f"<tr><td>{escape(claim['text'])}</td><td>{escape(claim['measured'])}</td><td>{escape(claim['verdict'])}</td></tr>"
        for claim in found.document["claims"]
    )
    head = "<tr><th>claim</th><th>measured</th><th>verdict</th></tr>"
    return f"<p><code>{name}</code> {title}: <strong>{verdict}</strong></p>{picture}<table>{head}{rows}</table>"


def _entry(found: Findings) -> dict[str, Any]:
    one, document = found.definition, found.document
    try:
        picture = inline(draw(found), one.name, one.title)
    except ValueError:
        picture = None
    return {
        "one": one,
        "document": document,
        "verdict": found.verdict,
        "picture": picture,
        "published": _published(found),
        "silent": {**paper(one.paper).silent, **one.silent} if one.simulation else one.silent,
        "others": {reading.name: reading.text for reading in one.readings},
        "tried": tried_table(found),
        "unsettled": unsettled(found),
        "after_longer": after_longer(found),
        "work": _work(document),
    }


def _published(found: Findings) -> list[dict[str, Any]]:
    main = found.data[BASE_READING].schemes()[0] if found.document["published"] else ""
    return [_compared(found.definition.name, point, main) for point in found.document["published"]]


def _compared(name: str, point: Mapping[str, Any], main: str) -> dict[str, Any]:
    """A published value beside the measured ones, and how far apart they are."""
    measured = point["measured"]
    where = ", ".join([*([point["scheme"]] if point["scheme"] else []), *(f"{k} {v}" for k, v in point["at"].items())])
    readings = {name: digits(value["mean"]) for name, value in point["readings"].items() if name != "base"}
    printed = f"{RELATIONS[point['relation']]}{digits(point['published'])} {point['unit']}".strip()
    return {
        **point, "where": where, "shown": _interval(measured), "apart": apart_of(point), "readings": readings,
        "printed": printed, "peers": beside(name, point, main),
    }  # fmt: skip


def apart_of(point: Mapping[str, Any]) -> str:
    """How far the measured mean is from a printed number: as a part of it, or in points where it is in per cent."""
    if point["apart"] is None:
        return ""
    if point["unit"] == "%":
        return f"{point['apart']:+.1f} points"
    return f"{100 * point['apart'] / point['published']:+.0f} %" if point["published"] else ""


def tried_table(found: Findings) -> list[dict[str, Any]]:
    """A row per reading that was run: its change, whether the text admits it, and the verdict on each claim."""
    claims = [claim for claim in found.document["claims"] if claim["tried"]]
    rows = []
    for reading in found.definition.readings:
        cells = [
            {**claim["tried"][reading.name], "text": claim["text"]}
            for claim in claims
            if reading.name in claim["tried"]
        ]
        if cells:
            rows.append({"reading": reading, "cells": cells})
    return rows


def _interval(value: Mapping[str, float] | None) -> str:
    if value is None:
        return "–"
    if value["low"] == value["high"]:
        return digits(value["mean"])
    return f"{digits(value['mean'])} [{digits(value['low'])}, {digits(value['high'])}]"


def _work(document: Mapping[str, Any]) -> str:
    if not document["runs"]:
        return "computed, no simulation"
    seconds = document["duration_s"]
    spans = f" of {' or '.join(f'{value:g} s' for value in seconds)}" if seconds else ""
    return f"{count(document['runs'], 'run')}{spans}, {count(document['seeds'], 'seed')}, profile {document['profile']}"
