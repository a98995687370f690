"""Verdicts: what the claims of an id come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairdrop.reproduce.define.definition import BASE_READING, Claim, Reading
from fairdrop.reproduce.judge.claims import FAILS, HOLDS, ClaimError, Outcome, evaluate
from fairdrop.reproduce.measure.data import Data
from fairdrop.wording.phrases import count

HELD = "holds"
OTHERWISE = "holds with another reading"
NOT = "does not hold"
UNDECIDED = "cannot be decided from the text"
PENDING = "pending"
VERDICTS = (HELD, UNDECIDED, OTHERWISE, NOT, PENDING)  # from best to worst
_OF_SEVERAL = {HELD: "hold", OTHERWISE: "hold with another reading", NOT: "do not hold"}


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, what was measured under each reading, and why."""

    claim: Claim
    verdict: str
    measured: str
    why: str
    tried: Mapping[str, Outcome]


def judge(claim: Claim, data: Mapping[str, Data], readings: Sequence[Reading]) -> Judged:
    """The verdict on one claim: the base reading decides, then any other that bears it out."""
    if claim.undecidable:
        return Judged(claim, UNDECIDED, "", claim.undecidable, {})
    try:
        tried = {reading.name: evaluate(claim.kind, claim.arguments, data[reading.name]) for reading in readings}
    except ClaimError as error:
        return Judged(claim, PENDING, "", str(error), {})
    base = tried[BASE_READING]
    if base.state == HOLDS:
        return Judged(claim, HELD, base.measured, base.detail, tried)
    texts = {reading.name: reading.text for reading in readings}
    for name, outcome in tried.items():
        if outcome.state == HOLDS:
            why = f"holds when {texts[name]}: {outcome.measured}. As decided: {_why(base)}"
            return Judged(claim, OTHERWISE, base.measured, why, tried)
    others = [f"{name}: {outcome.measured}" for name, outcome in tried.items() if name != BASE_READING]
    also = f" Tried without success: {'; '.join(others)}." if others else ""
    return Judged(claim, NOT, base.measured, _why(base) + also, tried)


def _why(outcome: Outcome) -> str:
    if outcome.state == FAILS:
        return "the measurement contradicts it." + (f" {outcome.detail}." if outcome.detail else "")
    return "not shown: the 95 % interval reaches across the bound." + (f" {outcome.detail}." if outcome.detail else "")


def tally(verdicts: Sequence[str]) -> str:
    """How many of each, best first: ``81 hold, 1 does not hold``."""
    counts = [(verdicts.count(verdict), verdict) for verdict in VERDICTS]
    return ", ".join(count(number, verdict, _OF_SEVERAL.get(verdict, verdict)) for number, verdict in counts if number)


def overall(judged: Sequence[Judged]) -> str:
    """The verdict on an id: its worst claim. It is undecided only when no claim can be decided."""
    verdicts = [item.verdict for item in judged]
    decided = [verdict for verdict in verdicts if verdict != UNDECIDED]
    return max(decided, key=VERDICTS.index) if decided else UNDECIDED
