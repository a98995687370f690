"""Pages of docs/reproduction from stored results. No number in the tables is typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import fill
from typing import Any

from experiments import DOCS
from experiments.pages import WIDTH, Files, item, paragraph, table
from experiments.readings.reconstruction import section as reconstruction
from experiments.reproduction.results import FIGURES, IN_FULL, RANGES, stored
from fairdrop.reproduce.define.definition import BASE_READING
from fairdrop.reproduce.define.papers import PAPERS
from fairdrop.reproduce.define.reading import paper, unexplained
from fairdrop.reproduce.judge.checks import grid_distances
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.headlines import errata, proven_findings
from fairdrop.reproduce.judge.peers import PEERS, beside
from fairdrop.reproduce.judge.verdict import HELD, tally
from fairdrop.reproduce.show.page import (
    MUTANTS,
    RELATIONS,
    after_longer,
    apart_of,
    counted,
    place,
    says_nothing,
    tried_table,
    unsettled,
)  # fmt: skip
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import count

TARGET = DOCS / "reproduction"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def listed(head: str, rows: Iterable[Iterable[str]]) -> list[str]:
    """A table with these columns, separated by commas in ``head``."""
    return [table(head.split(", "), ([cell(text) for text in row] for row in rows))]


def profiles(found: list[Findings]) -> str:
    """The profiles that ids were run with."""
    return " and ".join(sorted({str(one.document["profile"]) for one in found}))


def claims(found: list[Findings]) -> list[str]:
    """The table of all claims."""
    rows = []
    for one in found:
        name, document = one.definition.name, one.document
        if not document["claims"]:
            rows.append((name, one.definition.title, "", document["reason"].splitlines()[0], one.verdict, ""))
        for claim in document["claims"]:
            empty = [MUTANTS[mutant] for mutant, state in claim["mutants"].items() if state == "still holds"]
            row = (name, claim["text"], claim["tolerance"], claim["measured"], claim["verdict"], ", ".join(empty))
            rows.append(row)
    return listed("id, claim, tolerance, measured, verdict, holds also with", rows)


def numbers(found: list[Findings]) -> list[str]:
    """Every number that the paper prints, with its verdict, and what ns-2 and Linux have."""
    rows = []
    for one in found:
        main = one.document["main"]
        for point in one.document["published"]:
            where = place(point)
            value, peers = point["measured"], beside(one.definition.name, point, main)
            shown = f"{digits(value['mean'])} [{digits(value['low'])}, {digits(value['high'])}]" if value else ""
            printed = f"{RELATIONS[point['relation']]}{digits(point['published'])} {point['unit']}".strip()
            printed += " (derived)" if point["source"] == "derived" else ""
            apart = apart_of(point)
            verdict = point["verdict"] + (f" ({point['why']})" if point["why"].startswith("reading") else "")
            room = f"± {digits(point['tolerance'])}" if point["relation"] == "=" else ""
            what = f"{point['label']}{f', {where}' if where else ''}"
            parts = (one.definition.name, what, printed, room, shown, apart)
            rows.append((*parts, verdict, *(peers.get(peer, "") for peer in PEERS)))
    return listed(f"id, what, printed, tolerance, measured, apart, verdict, {', '.join(PEERS)}", rows)


def searched(one: Findings) -> list[str]:
    """Why claims of an id do not hold, and what became of them under other readings."""
    lines = [f"### {one.definition.name}", ""]
    if (FIGURES / f"{one.definition.name}.svg").exists():
        lines += [f"![{cell(one.definition.title)}](figures/{one.definition.name}.svg)", ""]
    if one.definition.cause:
        lines += [paragraph(one.definition.cause), ""]
    open_claims = [claim for claim in one.document["claims"] if claim["verdict"] != HELD]
    rows = []
    for row in tried_table(one):
        wanted = [cells for cells in row["cells"] if cells["text"] in {claim["text"] for claim in open_claims}]
        failing = [cells["text"] for cells in row["cells"] if cells["state"] == "fails"]
        admitted = "" if row["reading"].admitted else " (not of the text)"
        found = "; ".join(f"{cells['measured']} ({cells['state']})" for cells in wanted)
        rows.append((f"{row['reading'].text}{admitted}", found, str(len(failing)) if failing else ""))
    if rows:
        asked = "; ".join(claim["text"] for claim in open_claims)
        lines += [paragraph(f"Run for: {asked}."), "", *listed("reading, found, claims contradicted", rows), ""]
    lines += in_full(one)
    for state in one.document["states"][:4]:
        where = place(state)
        low, high = state["low"], state["high"]
        text = (
            f"Two states: {state['measure']} ({where}): {low['runs']} runs near {digits(low['mean'])}, {high['runs']} "
            f"near {digits(high['mean'])}{'; locked' if state['locked'] else ''}."
        )
        lines += [paragraph(text), ""]
    return lines


def warm_ups(found: list[Findings]) -> list[str]:
    """Ids with set-ups that had not settled when measuring began, and what a longer warm-up makes of their verdicts."""
    asked = sum(one.document["warm_up"]["asked"] for one in found)
    rows, claims, numbers, set_ups = [], 0, 0, 0
    for one in found:
        if not (slow := unsettled(one)):
            continue
        longer = one.document["warm_up"]["longer"]
        claims, numbers = claims + len(longer["claims"]), numbers + len(longer["numbers"])
        set_ups += len(slow)
        most = max(slow, key=lambda row: abs(row["by"]))
        series = "the queue" if most["series"] == "packets" else most["series"]
        moved = f"{series} ({most['where']}): {digits(most['first'])} to {digits(most['last'])}"
        still = sum(row["still"] for row in slow)
        rows.append((one.definition.name, f"{len(slow)}", moved, f"{still}" if still else "", after_longer(one)))
    text = (
        f"Geweke's test asks of each of {asked:,} set-ups, over its seeds, whether the queue and what the discipline "
        f"decides by were the same in the first tenth of the measuring window as in the last half. In {set_ups} they "
        "were not, by a twentieth or more. These were run again: the whole run as it was is then the warm-up, and "
        f"another window as long is measured. That changes {count(claims, 'verdict')} on claims and {numbers} on "
        "printed numbers. The verdicts of these pages are those of the warm-up that the papers' set-ups have. Models, "
        "queue hosts, runs that are measured from their start, and those in which sources come and go are not asked."
    )
    head = "id, set-ups, what moved most, still moving, verdicts after the longer warm-up"
    return ["## Was the warm-up long enough?", "", paragraph(text), "", *listed(head, rows)]


def peers(found: list[Findings]) -> list[str]:
    """Which printed numbers stand beside those of ns-2 and Linux, and why others do not."""
    beside_one, alone, computed, numbers = [], [], [], 0
    for one in found:
        points = [point for point in one.document["published"] if point["measured"]]
        shown = sum(bool(beside(one.definition.name, point, one.document["main"])) for point in points)
        numbers += shown
        schemes = {scheme.name for scheme in one.definition.schemes}
        if points:
            simulated = any((point["scheme"] or one.document["main"]) in schemes for point in points)
            kind = beside_one if shown else alone if simulated else computed
            kind.append(one.definition.name)
    without = (
        f"{', '.join(alone)} have none: their numbers are of set-ups that were run neither there nor live. "
        if alone
        else "Every id with a simulated number is among them. "
    )
    text = (
        f"{numbers} printed numbers of {', '.join(beside_one)} have beside them what ns-2 2.35 (`make validate`; "
        "CHOKe and WARD as modules of ours, `make ns2-disciplines`) or "
        "hosts of Linux, with the kernel's Reno (`make fidelity`: figures 3 and 5 of the CHOKe paper, live), gave in "
        f"the same set-up. {without}{', '.join(computed)} are models and queues without a network."
    )
    return ["## Beside ns-2 and Linux", "", paragraph(text), ""]


def in_full(one: Findings) -> list[str]:
    """A measure at every point, scheme by scheme."""
    if one.definition.name not in IN_FULL:
        return []
    measure, axis = IN_FULL[one.definition.name]
    (label,) = (f"{found.label}, {found.unit}" for found in one.definition.measures if found.name == measure)
    data = one.data[BASE_READING]
    points = data.axis(axis)
    rows = []
    for scheme in one.definition.schemes:
        values = [data.select(measure, scheme.name, {axis: point})[0].estimate for point in points]
        shown = (f"{digits(value.mean)} [{digits(value.low)}, {digits(value.high)}]" for value in values)
        rows.append((scheme.label, *shown))
    for row, names in RANGES.get(one.definition.name, {}).items():
        there = [data.select(measure, names, {axis: point}) for point in points]
        runs = [[value for found in some for value in found.values] for some in there]
        rows.append((row, *(f"{digits(min(some))} to {digits(max(some))}" for some in runs)))
    head = ", ".join([f"{label} at {axis}".replace(", ", " in "), *map(str, points)])
    return [*listed(head, rows), ""]


def calibration(found: Findings) -> str:
    """The whole grid of X1, nearest cell first."""
    one, data = found.definition, found.data[BASE_READING]
    frozen = one.figure.highlight if one.figure else {}
    points = [(float(point.at["rate"]), point.value) for point in one.published]
    distances = grid_distances(data, "drop", "rate", points)
    axes = [*frozen, "distance", *(f"{rate:g} kb/s" for rate, _ in points)]
    lines = [f"# {one.title}", "", paragraph(one.about), "", paragraph(one.cause), ""]
    lines += [
        paragraph(
            f"UDP packets dropped in per cent at five rates, mean of {found.document['seeds']} seeds, profile "
            f"{found.document['profile']}; distance is the root mean square from the printed "
            f"{', '.join(f'{value:g}' for _, value in points)} %. The frozen set-up is in bold."
        ),
        "",
        "| " + " | ".join(name.replace("_", " ") for name in axes) + " |",
        "| --- |" + " --- |" * (len(axes) - 1),
    ]
    for where in sorted(distances, key=lambda one: distances[one]):
        at = dict(where)
        rates = [data.select("drop", None, {**at, "rate": rate})[0].estimate.mean for rate, _ in points]
        cells = [*(str(at[name]) for name in frozen), f"{distances[where]:.2f}", *(f"{value:.1f}" for value in rates)]
        bold = [f"**{text}**" for text in cells] if at == dict(frozen) else cells
        lines.append("| " + " | ".join(bold) + " |")
    return "\n".join(lines) + "\n"


def page(name: str, found: list[Findings]) -> str:
    """The page of one paper."""
    about = paper(name)
    lines = [f"# {about.title}", ""]
    if about.authors or about.venue:
        lines += [f"{about.authors}{'. ' if about.authors else ''}{about.venue}.", ""]
    lines += ["## What it claims", "", paragraph(about.claimed), "", "## What we found", ""]
    lines += [paragraph(f"{len(found)} ids, profile {profiles(found)}. {counted(found)}."), "", *claims(found)]
    if any(one.document["published"] for one in found):
        lines += ["", "## Every printed number", "", *numbers(found)]
    contrary = [(one, claim) for one in found for claim in one.document["claims"] if claim["verdict"] != HELD]
    if contrary:
        lines += ["", "## What does not simply hold", ""]
        for one, claim in contrary:
            text = f"*{one.definition.name}*: {claim['text']}. {claim['verdict'].capitalize()}: {claim['why']}"
            lines.append(item(cell(text)))
    explained = [one for one in found if one.definition.cause or tried_table(one) or one.document["states"]]
    if explained:
        text = "Other readings are run by the engine, with the senders and seeds of the verdict, or more seeds."
        lines += ["", "## Why, and under other readings", "", paragraph(text), ""]
        for one in explained:
            lines += searched(one)
    if about.errata:
        lines += ["", "## Errata", ""]
        lines += [item(f"{e.where}: {e.text} Proof: `{e.proof}`.") for e in about.errata]
    if reconstructed := reconstruction(name):
        lines += ["", *reconstructed]
    if about.left_open:
        lines += [*([] if reconstructed else [""]), "## What its text leaves open", ""]
        lines += [item(text) for text in about.left_open]
    return "\n".join(lines).rstrip() + "\n"


def finding_lines(number: int, finding: Mapping[str, Any]) -> list[str]:
    """A finding as an author would read it: the claim, what was found, how, and what to do about it."""
    figure = finding["figure"]
    drawn = f"[`{figure}`](figures/{figure}.svg)" if (FIGURES / f"{figure}.svg").exists() else f"`{figure}`"
    head = f"### {number}. {finding['paper'].partition(':')[0]}, {finding['section']}"
    lines = [head, "", paragraph(f"“{finding['claim']}”"), ""]
    lines += [item(f"Found: {finding['text']}"), item(f"Set-up and figure: {drawn}. {finding['set_up']}")]
    lines += [item(f"An author should add: {finding['author']}."), "- Proof:"]
    for proof in finding["proofs"]:
        text = f"   - `{proof['where']}`: {cell(proof['text'])} (tolerance: {cell(proof['tolerance'])}). "
        text += f"{cell(proof['measured'])}; {proof['verdict']}."
        lines.append(fill(text, WIDTH, subsequent_indent="     ", break_on_hyphens=False, break_long_words=False))
    return [*lines, ""]


def index(found: list[Findings]) -> str:
    """The first page: findings and errata, then where the rest is."""
    made_by = "Made by `python -m experiments.pages reproduction` from stored results."
    lines = ["# The five papers, reproduced", "", made_by]
    lines += ["How: [reproduce the papers](../how-to/reproduce-the-papers.md).", ""]
    lines += [paragraph(f"All {len(found)} ids, profile {profiles(found)}. {counted(found)}."), "", "## Findings", ""]
    for number, finding in enumerate(proven_findings(found), start=1):
        lines += finding_lines(number, finding)
    lines += ["## Left unexplained", ""]
    lines += [item(f"*{one.what}*: {one.text}") for one in unexplained()]
    lines += ["", "## Errata", ""]
    found_errata = [(one["paper"].name, one["erratum"]) for one in errata(found)]
    rows = ((name, erratum.where, erratum.text, f"`{erratum.proof}`") for name, erratum in found_errata)
    lines += listed("paper, where, what, proof", rows)
    lines += ["", "## Pages", ""]
    there = {one.definition.paper for one in found}
    lines += [f"- [{paper(name).title}]({name}.md)" for name in PAPERS if name in there]
    lines += ["- [The calibration, cell by cell](calibration.md)", "- [Readings of whole papers](readings.md)", ""]
    lines += peers(found)
    lines += ["## Claims that say nothing about their scheme", ""]
    text = "Judged again with RED, and with DropTail, in the place of the scheme, these hold as well."
    empty = [(one["id"], one["claim"], one["with"]) for one in says_nothing(found)]
    lines += [paragraph(text), "", *listed("id, claim, holds also with", empty)]
    lines += ["", *warm_ups(found)]
    verdicts = tally([one.verdict for one in found])
    lines += ["", "## Ids by their worst claim", "", paragraph(f"{len(found)} ids: {verdicts}.")]
    return "\n".join(lines) + "\n"


def files() -> Files:
    """The pages of the papers; the figures of our own campaigns are stored as they were drawn."""
    for name, text in pages(stored()).items():
        yield TARGET / name, text


def pages(found: list[Findings]) -> dict[str, str]:
    """Every page by its name."""
    text = {"README.md": index(found)}
    for name in PAPERS:
        if some := [one for one in found if one.definition.paper == name]:
            text[f"{name}.md"] = page(name, some)
    text["calibration.md"] = calibration(next(one for one in found if one.definition.name == "X1"))
    return text
