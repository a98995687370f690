"""Putting the page together, and writing it."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from fairdrop.document import Document, disciplines, group_names, seeds
from fairdrop.few_groups import few_groups
from fairdrop.files import write_text
from fairdrop.pages import environment, palettes
from fairdrop.plot import colours
from fairdrop.report import assets, explain, tables
from fairdrop.report.command import rerun_command
from fairdrop.report.figures import figures, lead
from fairdrop.report.judge import MOST_NAMED, Verdict, judge, order_note
from fairdrop.report.notices import notices
from fairdrop.report.ranking import is_long, ranked
from fairdrop.report.series import page_data
from fairdrop.wording.numbers import duration, rate
from fairdrop.wording.phrases import clean, count, keep_together, ranges


def render_page(document: Document) -> str:
    templates = environment("fairdrop.report")
    templates.filters["together"] = keep_together
    return templates.get_template("template.html.j2").render(_context(document))


def write_page(document: Document, path: str | PathLike[str]) -> None:
    write_text(path, render_page(document))


def _context(document: Document) -> dict[str, Any]:
    empty = not document.runs
    verdict = judge(document)
    long = is_long(document)
    whole, document = document, ranked(document, verdict.effects) if long and verdict.effects else document
    few = few_groups(document)
    data = page_data(few)
    scripts = [] if empty else assets.scripts(charts=data["queue"] is not None)
    return {
        "title": clean(document.title or document.name or "Result"),
        "setting": explain.setting(document),
        "verdict": verdict.sentence,
        "support": _support(document, verdict, long),
        "notices": notices(whole),
        "empty": empty,
        "group_columns": [] if empty else tables.group_table(few).columns,
        "group_blocks": [] if empty else tables.rows_by_discipline(few),
        "link_table": None if empty else tables.link_table(document, verdict.effects if long else None),
        "live_table": None if empty else tables.live_table(document),
        "theory_table": None if empty else tables.theory_table(document),
        "theory": explain.theory(document),
        "glossary": explain.glossary(document),
        "figures": [] if empty else figures(few, verdict.subject is not None and verdict.subject.kind == "greedy"),
        "long": long,
        "order": order_note(verdict.effects) if long and verdict.effects else None,
        "causes": tables.drop_causes(document) if long else [],
        "explained": explain.causes(document),
        "lead": lead(document) if long else None,
        "facts": _facts(document),
        "command": clean(rerun_command(document)),
        "replay": document.is_replay,
        "source": _source(document),
        "places": {name: place for place, name in enumerate(disciplines(document))},
        "data": data,
        "scripts": scripts,
        "chart_style": assets.chart_style() if data["queue"] else "",
        "policy": assets.policy(scripts),
        **palettes(),
        "hues": {name: colours.VARIABLES[hue] for name, hue in colours.groups(group_names(few.runs)).items()},
    }


def _support(document: Document, verdict: Verdict, long: bool) -> list[str]:
    """The numbers behind the verdict, the order where it names some, and the verdict of live runs beside it.

    A table in that order says so itself.
    """
    live = [f"Live: {judge(beside).sentence}"] if (beside := document.live) else []
    found = verdict.effects
    order = [order_note(found)] if found and len(found.found) > MOST_NAMED and not long else []
    return [*verdict.support[:-1], *order, *verdict.support[-1:], *live]


def _source(document: Document) -> str:
    """The scenario as written; failing that, as it was understood."""
    text = document.scenario_source
    if text:
        return clean(text).strip("\n")
    return clean(json.dumps(document.scenario, indent=2, ensure_ascii=False))


def _machine(document: Document) -> list[tuple[str, str]]:
    """Of live runs: where they were made, and how late the latest percentile of their packets was."""
    hosts = [run.live for run in (document.live or document).runs if run.live]
    if not hosts:
        return []
    where = dict.fromkeys(
        f"Linux {host.get('kernel', '?')}, {host.get('cpu') or 'unknown processor'}" for host in hosts
    )
    late = [float(host["lateness"]["p99_s"]) for host in hosts if "lateness" in host]
    found = [("Machine", clean("; ".join(where)))]
    return [*found, ("Lateness", f"99 % of the packets at most {duration(max(late))}")] if late else found


def _facts(document: Document) -> list[tuple[str, str]]:
    """Where the numbers come from."""
    facts = [("Written by", f"fairdrop {clean(document.version)}, {clean(document.schema)}")]
    found = document.runs
    if not found:
        return facts
    first = found[0]
    window = sorted({(float(run.measured_from_s), float(run.measured_to_s)) for run in found})
    measured = "; ".join(f"{start:g} s to {end:g} s ({duration(end - start)})" for start, end in window[:3])
    flows = len(first.flows)
    return [
        ("Link", f"{clean(first.link)}, {rate(first.link_rate_bps)}"),
        (
            "Flows",
            f"{count(flows, 'flow')} in {count(len(first.groups), 'group')}; fair share {rate(first.fair_share_bps)}",
        ),
        ("Seeds", ranges(seeds(document))),
        ("Measured", measured),
        ("Work", f"{count(len(found), 'run')}, {count(sum(int(run.events) for run in found), 'event')}"),
        *_machine(document),
        *facts,
    ]
