"""The head of the page: findings and errata. Their sentences are written by hand, their proofs measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairdrop.reproduce.define.reading import headlines, paper
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.verdict import OTHERWISE


def proven_findings(found: Sequence[Findings]) -> list[dict[str, Any]]:
    """The findings whose proofs have all been run, each with the claims that prove it, measured and judged."""
    known = {one.definition.name: one for one in found}
    proven = []
    for finding in headlines():
        proofs = [proof for name in finding.proof if (proof := _claim(known, name)) is not None]
        if len(proofs) == len(finding.proof):
            proven.append({"text": finding.text, "proofs": proofs})
    return proven


def _claim(known: dict[str, Findings], name: str) -> dict[str, Any] | None:
    """The claim ``ID/CLAIM`` with what was measured."""
    where, _, wanted = name.partition("/")
    if where not in known:
        return None
    document = known[where].document
    for claim in document["claims"]:
        if claim["id"] == wanted:
            other = claim["tried"][document["bearing"]] if claim["verdict"] == OTHERWISE else None
            measured = f"{other['measured']}; as decided {claim['measured']}" if other else claim["measured"]
            return {**claim, "measured": measured, "where": where}
    return None


def errata(found: Sequence[Findings]) -> list[dict[str, Any]]:
    """Every mistake in a paper, in the order of the papers."""
    papers = dict.fromkeys(one.definition.paper for one in found)
    return [{"paper": paper(name), "erratum": item} for name in papers for item in paper(name).errata]
