"""Write docs/reproduction from stored results: ``python docs/make_reproduction.py [DIRECTORY]``.

The directory is that of ``fairdrop reproduce --out``. No number on the pages is typed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill

from fairdrop.reproduce.define.definition import BASE_READING, Definition
from fairdrop.reproduce.define.papers import PAPERS
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.judge.checks import grid_distances
from fairdrop.reproduce.judge.verdict import tally
from fairdrop.reproduce.outcome import Reproduction
from fairdrop.reproduce.workspace import Workspace

TARGET = Path(__file__).parent / "reproduction"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def counted(found: list[Reproduction]) -> str:
    """How many ids have which verdict."""
    return tally([one.verdict for one in found])


def profiles(found: list[Reproduction]) -> str:
    """The profiles that ids were run with."""
    return " and ".join(sorted({str(one.document["profile"]) for one in found}))


def claims(found: list[Reproduction]) -> list[str]:
    """The table of all claims."""
    lines = ["| id | claim | measured | verdict |", "| --- | --- | --- | --- |"]
    for one in found:
        document = one.document
        if not document["claims"]:
            reason = document["reason"].splitlines()[0]
            lines.append(f"| {one.definition.name} | {cell(one.definition.title)} | {cell(reason)} | {one.verdict} |")
        for claim in document["claims"]:
            parts = (one.definition.name, cell(claim["text"]), cell(claim["measured"]), claim["verdict"])
            lines.append("| " + " | ".join(parts) + " |")
    return lines


def searched(one: Definition) -> list[str]:
    """Why claims of an id do not hold, and a table of what was tried."""
    lines = [f"### {one.name}", ""]
    if one.cause:
        lines += [fill(one.cause, 118), ""]
    if one.trials:
        lines += ["| changed | found |", "| --- | --- |"]
        lines += [f"| {cell(trial.what)} | {cell(trial.found)} |" for trial in one.trials] + [""]
    return lines


def calibration(found: Reproduction) -> str:
    """The whole grid of X1, nearest cell first."""
    one, data = found.definition, found.data[BASE_READING]
    frozen = one.figure.highlight if one.figure else {}
    points = [(float(point.at["rate"]), point.value) for point in one.published]
    distances = grid_distances(data, "drop", "rate", points)
    axes = [*frozen, "distance", *(f"{rate:g} kb/s" for rate, _ in points)]
    lines = [f"# {one.title}", "", fill(one.about, 118), "", fill(one.cause, 118), ""]
    lines += [
        fill(
            f"UDP packets dropped in per cent at five rates, mean of {found.document['seeds']} seeds, profile "
            f"{found.document['profile']}; distance is the root mean square from the printed "
            f"{', '.join(f'{value:g}' for _, value in points)} %. The frozen set-up is in bold.",
            118,
        ),
        "",
        "| " + " | ".join(name.replace("_", " ") for name in axes) + " |",
        "| --- |" + " --- |" * (len(axes) - 1),
    ]
    for place in sorted(distances, key=lambda where: distances[where]):
        at = dict(place)
        rates = [data.select("drop", None, {**at, "rate": rate})[0].estimate.mean for rate, _ in points]
        cells = [*map(str, at.values()), f"{distances[place]:.2f}", *(f"{value:.1f}" for value in rates)]
        bold = [f"**{text}**" for text in cells] if at == dict(frozen) else cells
        lines.append("| " + " | ".join(bold) + " |")
    return "\n".join(lines) + "\n"


def page(name: str, found: list[Reproduction]) -> str:
    """The page of one paper."""
    about = paper(name)
    lines = [f"# {about.title}", ""]
    if about.authors or about.venue:
        lines += [f"{about.authors}{'. ' if about.authors else ''}{about.venue}.", ""]
    lines += ["## What it claims", "", fill(about.claimed, 118), "", "## What we found", ""]
    lines += [
        f"{len(found)} ids: {counted(found)}. Profile {profiles(found)}; an id has the verdict of its worst claim.",
        "",
        *claims(found),
    ]
    contrary = [(one, claim) for one in found for claim in one.document["claims"] if claim["verdict"] not in ("holds",)]
    if contrary:
        lines += ["", "## Where it does not hold, and what was tried", ""]
        for one, claim in contrary:
            text = f"*{one.definition.name}*: {claim['text']}. {claim['verdict'].capitalize()}: {claim['why']}"
            lines.append(fill(f"- {cell(text)}", 118, subsequent_indent="  ", break_long_words=False))
    if explained := [one.definition for one in found if one.definition.cause or one.definition.trials]:
        lines += ["", "## Why, and what was tried to find it", ""]
        if any(one.trials for one in explained):
            lines += ["Measured with `ns2_compat = false`, the senders of the RFCs, where nothing else is said.", ""]
        for one in explained:
            lines += searched(one)
    if about.errata:
        lines += ["", "## Errata", ""]
        lines += [fill(f"- {e.where}: {e.text} Proof: `{e.proof}`.", 118, subsequent_indent="  ") for e in about.errata]
    if about.left_open:
        lines += ["", "## What its text leaves open", ""]
        lines += [fill(f"- {text}", 118, subsequent_indent="  ") for text in about.left_open]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write every page."""
    workspace = Workspace(Path(sys.argv[1] if len(sys.argv) > 1 else "reproduction"))
    everything = workspace.all()
    TARGET.mkdir(exist_ok=True)
    index = ["# The five papers, reproduced", "", "Made by `docs/make_reproduction.py` from stored results."]
    index += ["How: [reproduce the papers](../how-to/reproduce-the-papers.md).", ""]
    for name in PAPERS:
        found = [one for one in everything if one.definition.paper == name]
        if found:
            (TARGET / f"{name}.md").write_text(page(name, found), encoding="utf-8")
            index.append(f"- [{paper(name).title}]({name}.md)")
    grid = next((one for one in everything if one.definition.name == "X1" and one.data), None)
    if grid:
        (TARGET / "calibration.md").write_text(calibration(grid), encoding="utf-8")
        index.append("- [The calibration, cell by cell](calibration.md)")
    verdicts = f"All {len(everything)} ids, profile {profiles(everything)}: {counted(everything)}."
    index += ["", verdicts]
    if profiles(everything) != "full":
        remark = (
            "These pages are of that profile. It has fewer seeds and shorter runs than the full one, and proves less; "
            "[what was found](../how-to/reproduce-the-papers.md#what-was-found) has the verdicts of both."
        )
        index += ["", fill(remark, 118)]
    (TARGET / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
