"""Write docs/reproduction from stored results: ``python docs/make_reproduction.py [DIRECTORY]``.

The directory is that of ``fairdrop reproduce --out``. No number on the pages is typed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill

from fairdrop.reproduce.outcome import Reproduction
from fairdrop.reproduce.reading import PAPERS, paper
from fairdrop.reproduce.verdict import VERDICTS
from fairdrop.reproduce.workspace import Workspace

TARGET = Path(__file__).parent / "reproduction"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


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


def page(name: str, found: list[Reproduction]) -> str:
    """The page of one paper."""
    about = paper(name)
    lines = [f"# {about.title}", ""]
    if about.authors or about.venue:
        lines += [f"{about.authors}{'. ' if about.authors else ''}{about.venue}.", ""]
    lines += ["## What it claims", "", fill(about.claimed, 118), "", "## What we found", ""]
    counts = [f"{sum(one.verdict == verdict for one in found)} {verdict}" for verdict in VERDICTS]
    profile = sorted({str(one.document["profile"]) for one in found})
    counted = ", ".join(text for text in counts if not text.startswith("0 "))
    lines += [
        f"{len(found)} ids: {counted}. Profile {', '.join(profile)}; an id has its worst verdict.",
        "",
        *claims(found),
    ]
    contrary = [(one, claim) for one in found for claim in one.document["claims"] if claim["verdict"] not in ("holds",)]
    if contrary:
        lines += ["", "## Where it does not hold, and what was tried", ""]
        for one, claim in contrary:
            text = f"*{one.definition.name}*: {claim['text']}. {claim['verdict'].capitalize()}: {claim['why']}"
            lines.append(fill(f"- {cell(text)}", 118, subsequent_indent="  ", break_long_words=False))
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
    (TARGET / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
