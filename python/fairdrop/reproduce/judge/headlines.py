"""The head of the page: findings and errata. Their sentences are written by hand, their proofs measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fairdrop.reproduce.define.reading import headlines, paper
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.verdict import OTHERWISE
from fairdrop.wording.phrases import count

#: A claim named in a sentence, and which of its values; a value as claims have it, but not the number of a parameter.
_PLACE = re.compile(r"\{([\w-]+/[\w-]+)(?: (\d)| @([^}]+))?\}")
_VALUE = re.compile(r"(?<![\w.])-?\d[\d.e-]*(?: \[[^\]]+\])(?=\W|$)|^-?\d[\d.]*")


def proven_findings(found: Sequence[Findings]) -> list[dict[str, Any]]:
    """The findings whose proofs have all been run, each with the claims that prove it, measured and judged."""
    known = {one.definition.name: one for one in found}
    proven = []
    for finding in headlines():
        proofs = [proof for name in finding.proof if (proof := _claim(known, name)) is not None]
        if len(proofs) == len(finding.proof):
            shown = known.get(finding.figure)
            proven.append(
                {
                    "paper": paper(finding.paper).title, "section": finding.section, "claim": finding.claim,
                    "text": _measured_in(finding.text, known), "figure": finding.figure, "author": finding.author,
                    "set_up": _set_up(shown) if shown else "", "proofs": proofs,
                }
            )  # fmt: skip
    return proven


def _measured_in(text: str, known: dict[str, Findings]) -> str:
    """A sentence with what was measured for the claims that it names."""

    def value(place: re.Match[str]) -> str:
        claim = _claim(known, place[1])
        words = claim["measured"] if claim else ""
        if claim and place[3]:
            words = claim["tried"].get(place[3], {"measured": ""})["measured"]
        values = _VALUE.findall(words)
        which = int(place[2] or 1)
        if len(values) < which:
            raise ValueError(f"papers/findings.toml: {place[0]}: nothing was measured there")
        return str(values[which - 1])

    return _PLACE.sub(value, text)


def _set_up(one: Findings) -> str:
    """Where a figure was measured, in words."""
    document = one.document
    seconds = " or ".join(f"{value:g} s" for value in document["duration_s"])
    runs = f" {count(document['seeds'], 'seed')}, runs of {seconds}." if seconds else ""
    return f"{one.definition.about}{runs}"


def _claim(known: dict[str, Findings], name: str) -> dict[str, Any] | None:
    """The claim ``ID/CLAIM`` with what was measured."""
    where, _, wanted = name.partition("/")
    if where not in known:
        return None
    document = known[where].document
    for claim in document["claims"]:
        if claim["id"] == wanted:
            other = claim["tried"].get(document["bearing"]) if claim["verdict"] == OTHERWISE else None
            measured = f"{other['measured']}; as decided {claim['measured']}" if other else claim["measured"]
            return {**claim, "measured": measured, "where": where}
    return None


def errata(found: Sequence[Findings]) -> list[dict[str, Any]]:
    """Every mistake in a paper, in the order of the papers."""
    papers = dict.fromkeys(one.definition.paper for one in found)
    return [{"paper": paper(name), "erratum": item} for name in papers for item in paper(name).errata]
