"""Whether a claim says anything about its scheme: judged again with RED, and DropTail, in the scheme's place."""

from __future__ import annotations

from collections.abc import Sequence

from fairdrop.reproduce.define.definition import Claim
from fairdrop.reproduce.judge.checks import STRUCTURAL
from fairdrop.reproduce.judge.claims import HOLDS, ClaimError, evaluate
from fairdrop.reproduce.measure.data import Data, Row

HELD, BROKEN = "still holds", "no longer holds"


def mutate(data: Data, replaced: Sequence[Row]) -> Data:
    """The measurements, with those of a scheme replaced by what another discipline gave in its place."""
    schemes = {row.scheme for row in replaced}
    kept = [row for row in data.rows if row.exact or row.scheme not in schemes]
    return Data([*kept, *(row for row in replaced if not row.exact)], data.published)


def judge_mutant(claim: Claim, data: Data, schemes: set[str]) -> str | None:
    """Whether a claim still holds; None when it is about none of the schemes that were replaced."""
    if claim.undecidable or (claim.kind == "check" and claim.arguments.get("check") in STRUCTURAL):
        return None
    data.forget()
    try:
        state = evaluate(claim.kind, claim.arguments, data).state
    except (ClaimError, LookupError, ValueError, ArithmeticError):
        return BROKEN
    touched = {row.scheme for row in data.touched if not row.exact}
    if not touched & schemes:
        return None
    return HELD if state == HOLDS else BROKEN
