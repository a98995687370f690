"""Verdicts: what the claims of an id come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairdrop.reproduce.define.definition import BASE_READING, Claim, Definition, Reading
from fairdrop.reproduce.judge.checks import NUMERIC
from fairdrop.reproduce.judge.claims import FAILS, HOLDS, ClaimError, Outcome, evaluate
from fairdrop.reproduce.measure.data import Data
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import count

HELD = "holds"
OTHERWISE = "holds with another reading"
#: Another reading has it, at the cost of claims or numbers that hold as decided (`judge.whole`).
BREAKING = "holds with a reading that breaks others"
INCONCLUSIVE = "inconclusive"
OFF = "number off"
CONTRADICTED = "contradicted"
#: What a hypothesis of our own comes to when the measurement contradicts it: no paper is wrong.
REFUTED = "own hypothesis, refuted"
UNDECIDED = "cannot be decided from the text"
PENDING = "pending"
VERDICTS = (
    HELD, UNDECIDED, OTHERWISE, INCONCLUSIVE, BREAKING, OFF, REFUTED, CONTRADICTED, PENDING,
)  # from best to worst  # fmt: skip
#: Verdicts under the base reading that another reading may better.
SHORT = (INCONCLUSIVE, OFF, CONTRADICTED, REFUTED)
_OF_SEVERAL = {
    HELD: "hold", OTHERWISE: "hold with another reading",
    BREAKING: "hold with a reading that breaks others", OFF: "numbers off", UNDECIDED: UNDECIDED,
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, what was measured under each reading, and why."""

    claim: Claim
    verdict: str
    measured: str
    why: str
    tried: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether more seeds could decide it."""
        return self.verdict == INCONCLUSIVE


def judge(
    definition: Definition, data: Mapping[str, Data], readings: Sequence[Reading]
) -> tuple[list[Judged], str | None]:
    """The verdicts on the claims of an id: the base reading decides, then one other reading, for all claims at once.

    The name of that other reading is given, too; None when there is none, or no need of it.

    A reading that bears one claim out and breaks another explains nothing. So a claim "holds with another reading" only
    under a reading that the text admits, and under which every claim of the id holds.
    """
    base = [_alone(claim, definition, data[BASE_READING]) for claim in definition.claims]
    others = {
        reading.name: [_outcome(claim, data[reading.name]) for claim in definition.claims]
        for reading in readings
        if reading.name in data and reading.name != BASE_READING
    }
    bearing = next(
        (
            reading
            for reading in readings
            if reading.admitted and reading.name in others and _all_hold(definition.claims, others[reading.name])
        ),
        None,
    )
    judged = []
    for index, found in enumerate(base):
        tried = {name: one for name, some in others.items() if (one := some[index]) is not None}
        verdict, why = found.verdict, found.why
        if bearing is not None and verdict in SHORT:
            measured = tried[bearing.name].measured
            why = f"holds, with all the others, when {bearing.text}: {measured}. As decided: {why}"
            verdict = OTHERWISE
        judged.append(Judged(found.claim, verdict, found.measured, why, {**found.tried, **tried}))
    return judged, bearing.name if bearing else None


def may_hold(definition: Definition, data: Data) -> bool:
    """Whether no claim is contradicted under a reading, though not all need be decided."""
    found = [_outcome(claim, data) for claim in definition.claims if not claim.undecidable]
    return all(one is not None and one.state != FAILS for one in found)


def _all_hold(claims: Sequence[Claim], found: Sequence[Outcome | None]) -> bool:
    decided = [one for claim, one in zip(claims, found, strict=True) if not claim.undecidable]
    return all(one is not None and one.state == HOLDS for one in decided)


def _outcome(claim: Claim, data: Data) -> Outcome | None:
    """What a claim comes to, None where it cannot be asked."""
    if claim.undecidable:
        return None
    try:
        return evaluate(claim.kind, claim.arguments, data)
    except ClaimError:
        return None


def _alone(claim: Claim, definition: Definition, data: Data) -> Judged:
    """The verdict under one reading."""
    if claim.undecidable:
        return Judged(claim, UNDECIDED, "", claim.undecidable)
    try:
        found = evaluate(claim.kind, claim.arguments, data)
    except ClaimError as error:
        return Judged(claim, PENDING, "", str(error))
    tried = {BASE_READING: found}
    if found.state == HOLDS:
        return Judged(claim, HELD, found.measured, found.detail, tried)
    detail = f" {found.detail}." if found.detail else ""
    if found.state != FAILS:
        why = f"not decided: the interval reaches across the bound.{detail}"
        return Judged(claim, INCONCLUSIVE, found.measured, why, tried)
    if (off := _how_far(claim, data, found)) is not None:
        return Judged(claim, OFF, found.measured, f"{off}.{detail}", tried)
    verdict = REFUTED if definition.is_own and not claim.claimed else CONTRADICTED
    return Judged(claim, verdict, found.measured, f"the measurement contradicts it.{detail}", tried)


def _how_far(claim: Claim, data: Data, found: Outcome) -> str | None:
    """By how much a number is off, in words; None for a claim that is not about a number."""
    if claim.kind == "printed" and found.apart is not None:
        return f"off by {_signed(found.apart)} from what is printed"
    if claim.number is not None and found.apart is not None:
        high, low = claim.arguments.get("high"), claim.arguments.get("low")
        bound = float(high if found.apart > 0 and high is not None else low if low is not None else 0.0)
        apart = bound + found.apart - claim.number
        return f"off by {_signed(apart)} from the printed {digits(claim.number)}{_part(apart, claim.number)}"
    if claim.kind == "check" and claim.arguments.get("check") in NUMERIC:
        return "off by more than the tolerance"
    if claim.kind == "equal_within":
        data.forget()
        evaluate(claim.kind, claim.arguments, data)
        if any(row.exact for row in data.touched):
            return "off from what the model gives by more than the tolerance"
    return None


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '-'}{digits(abs(value))}"


def _part(apart: float, printed: float) -> str:
    return f" ({100 * apart / printed:+.0f} %)" if printed else ""


def tally(verdicts: Sequence[str]) -> str:
    """How many of each, best first: ``81 hold, 1 contradicted``."""
    several = {**_OF_SEVERAL, REFUTED: "refuted"}
    names = {**{verdict: verdict for verdict in VERDICTS}, REFUTED: "refuted"}
    counts = [(verdicts.count(verdict), verdict) for verdict in VERDICTS]
    return ", ".join(count(number, names[one], several.get(one, one)) for number, one in counts if number)


def overall(judged: Sequence[Judged]) -> str:
    """The verdict on an id: its worst claim. It is undecided only when no claim can be decided."""
    return worst([item.verdict for item in judged])


def worst(verdicts: Sequence[str]) -> str:
    """The worst of some verdicts that can be decided; undecided when none can."""
    decided = [verdict for verdict in verdicts if verdict != UNDECIDED]
    return max(decided, key=VERDICTS.index) if decided else UNDECIDED
