"""Verdicts in the light of the whole paper: a reading that explains something breaks nothing else of it.

``experiments/readings`` runs readings of a whole paper against all of its ids and writes into ``papers/readings.csv``
what each set-up bears out and breaks. `settle` puts an id's document beside that.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fairdrop.reproduce.define.definition import Definition, Published
from fairdrop.reproduce.define.papers import package
from fairdrop.reproduce.judge.parts import HOLDS
from fairdrop.reproduce.judge.verdict import (
    BREAKING,
    CONTRADICTED,
    HELD,
    INCONCLUSIVE,
    OFF,
    OTHERWISE,
    PENDING,
    REFUTED,
    worst,
)
from fairdrop.wording.phrases import count

#: An id, and a claim by its name or a number by its place.
Where = tuple[str, str]
COLUMNS = ("paper", "set_up", "effect", "id", "what")
#: Effects of a set-up; the first, without an id, says that it was run.
RUN, BEARS_OUT, BREAKS = "run", "bears out", "breaks"


@dataclass
class Effects:
    """What a set-up bears out that does not hold as decided, and what holds as decided and is broken by it."""

    borne: set[Where] = field(default_factory=set)
    broken: list[Where] = field(default_factory=list)


#: Effects by paper and set-up.
Known = Mapping[str, Mapping[str, Effects]]


@cache
def stored() -> Known:
    """Those of the campaign that the package comes with."""
    return parse((package() / "readings.csv").read_text(encoding="utf-8"))


def parse(text: str) -> Known:
    found: dict[str, dict[str, Effects]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        effects = found.setdefault(row["paper"], {}).setdefault(row["set_up"], Effects())
        where = (row["id"], row["what"])
        if row["effect"] == BEARS_OUT:
            effects.borne.add(where)
        elif row["effect"] == BREAKS:
            effects.broken.append(where)
    return found


def write(known: Known) -> str:
    """The text of ``readings.csv``."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for paper, set_ups in known.items():
        for key, effects in set_ups.items():
            rows.writerow((paper, key, RUN, "", ""))
            rows.writerows((paper, key, BEARS_OUT, *where) for where in sorted(effects.borne))
            rows.writerows((paper, key, BREAKS, *where) for where in effects.broken)
    return out.getvalue()


def number_at(point: Mapping[str, Any]) -> str:
    """The place of a printed number within its id, in words."""
    where = ", ".join(f"{axis} {value}" for axis, value in sorted(point["at"].items()))
    return " ".join(f"{point['label']} {point['scheme'] or ''} {where} = {point['published']:g}".split())


def counts(definition: Definition) -> tuple[set[str], list[Published]]:
    """The claims of an id that are no numbers, and the numbers that it judges: each fact once."""
    claims = {claim.name for claim in definition.claims if claim.kind != "printed"}
    return claims, [point for point in definition.published if point.judged]


def key_of_point(point: Published | Mapping[str, Any]) -> str:
    """A published value by what it is."""
    if isinstance(point, Published):
        parts = (point.measure, point.scheme, dict(point.at), point.value)
    else:
        parts = (point["measure"], point["scheme"], dict(point["at"]), point["published"])
    return json.dumps(parts, sort_keys=True)


def settle(definition: Definition, document: Mapping[str, Any], known: Known | None = None) -> dict[str, Any]:
    """The document with the verdicts that its claims and numbers have beside all other ids of the paper.

    What holds with another reading of the id must do so without breaking a claim or number that holds as decided; where
    readings of the whole paper were run, they decide that. A claim about printed numbers has the verdict of the worst.
    Verdicts as decided stay beside them (``as_decided``), so a document may be settled again.
    """
    effects = _effects_of(definition, stored() if known is None else known)
    judged = {key_of_point(point): point for point in counts(definition)[1]}
    points = [dict(point) for point in document["published"] if key_of_point(point) in judged]
    beside = _Beside(definition, document, effects)
    numbers = [beside.settled(point, number_at(point)) for point in points]
    kinds = {claim.name: claim for claim in definition.claims}
    claims = []
    for one in document["claims"]:
        claim = kinds.get(one["id"])
        about = [
            number
            for number in numbers
            if claim and claim.kind == "printed" and judged[key_of_point(number)].is_about(claim.arguments)
        ]
        claims.append(_as_numbers(one, about, beside.common(about)) if about else beside.settled(dict(one), one["id"]))
    overall = worst([one["verdict"] for one in claims]) if claims else document["verdict"]
    return {**document, "claims": claims, "published": numbers, "verdict": overall}


def _effects_of(definition: Definition, known: Known) -> dict[str, Effects]:
    """Those of the id's paper, and of the papers whose set-ups a campaign of our own runs."""
    bases = definition.simulation.bases if definition.simulation else ()
    papers = dict.fromkeys([definition.paper, *(base.rpartition("/")[0] for base in bases)])
    return {key: found for paper in papers for key, found in known.get(paper, {}).items()}


def _as_numbers(claim: Mapping[str, Any], numbers: Sequence[Mapping[str, Any]], common: str) -> dict[str, Any]:
    """A claim about printed numbers: the verdict of one, and of several that of the worst as decided.

    Each of several may hold with a reading of its own, and then none bears the claim out; ``common`` are the set-ups
    under which all of them hold.
    """
    if PENDING in (claim["verdict"], *(number["verdict"] for number in numbers)):
        return dict(claim)
    decided = claim.get("as_decided", claim["verdict"])
    why = claim.get("why_decided", claim["why"])
    if len(numbers) == 1:
        verdict, reason = numbers[0]["verdict"], numbers[0]["why"]
    else:
        verdict, reason = worst([number.get("as_decided", number["verdict"]) for number in numbers]), why
        if verdict != HELD and common:
            verdict, reason = OTHERWISE, f"reading: {common}"
    if verdict == decided:
        return {**claim, "verdict": decided, "why": why}
    return {**claim, "verdict": verdict, "why": reason or why, "as_decided": decided, "why_decided": why}


@dataclass(frozen=True)
class _Beside:
    """An id's document beside what set-ups of the whole paper do."""

    definition: Definition
    document: Mapping[str, Any]
    effects: Mapping[str, Effects]

    def settled(self, one: dict[str, Any], what: str) -> dict[str, Any]:
        """A claim or number with its verdict beside the whole paper."""
        decided = one.get("as_decided", one["verdict"])
        why = one.get("why_decided", one["why"])
        verdict, reading = self._verdict(decided, (self.definition.name, what), one.get("tried", {}))
        if verdict == decided and not reading:
            return {**one, "verdict": decided, "why": why}
        return {**one, "verdict": verdict, "why": reading, "as_decided": decided, "why_decided": why}

    def _verdict(self, decided: str, where: Where, tried: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
        if decided not in (OTHERWISE, INCONCLUSIVE, OFF, CONTRADICTED, REFUTED):
            return decided, ""
        bearing = [key for key, found in self.effects.items() if where in found.borne]
        # Readings of the id that were run against the whole paper by the same name.
        own = [one.name for one in self.definition.readings if one.admitted and one.name in self.effects]
        bearing += [key for key in own if tried.get(key, {}).get("state") == HOLDS and key not in bearing]
        if free := [key for key in bearing if not self.effects[key].broken]:
            fewest = min(len(key.split(" + ")) for key in free)
            return OTHERWISE, f"reading: {'; '.join(key for key in free if len(key.split(' + ')) == fewest)}"
        if decided == OTHERWISE:
            broken = self._broken_by(str(self.document["bearing"]))
            return (BREAKING, _which(str(self.document["bearing"]), broken)) if broken else (OTHERWISE, "")
        if bearing and decided in (OFF, CONTRADICTED):
            key = min(bearing, key=lambda one: (len(self.effects[one].broken), len(one)))
            return BREAKING, _which(key, self.effects[key].broken)
        return decided, ""

    def common(self, numbers: Sequence[Mapping[str, Any]]) -> str:
        """The set-ups of the fewest readings that break nothing, and under which all of some numbers hold."""
        short = {
            (self.definition.name, number_at(number))
            for number in numbers
            if number.get("as_decided", number["verdict"]) != HELD
        }
        free = [key for key, found in self.effects.items() if short <= found.borne and not found.broken]
        fewest = min((len(key.split(" + ")) for key in free), default=0)
        return "; ".join(key for key in free if len(key.split(" + ")) == fewest)

    def _broken_by(self, reading: str) -> list[Where]:
        """What a reading of the id breaks: numbers of the id, and all that the paper's reading of that name breaks."""
        broken = [
            (self.definition.name, number_at(point))
            for point in self.document["published"]
            if point.get("as_decided", point["verdict"]) == HELD and _is_beyond(point, point["readings"].get(reading))
        ]
        parts = [reading] if reading in self.effects else reading.split(", ")
        for part in parts:
            broken += [where for where in self.effects.get(part, Effects()).broken if where not in broken]
        return broken


def _is_beyond(point: Mapping[str, Any], measured: Mapping[str, float] | None) -> bool:
    """Whether an interval is wholly beyond the tolerance of a number."""
    if measured is None:
        return False
    low = point["published"] - point["tolerance"] if point["relation"] != "<=" else float("-inf")
    high = point["published"] + point["tolerance"] if point["relation"] != ">=" else float("inf")
    return bool(measured["high"] < low or measured["low"] > high)


def _which(reading: str, broken: Iterable[Where]) -> str:
    listed = list(broken)
    ids = ", ".join(dict.fromkeys(name for name, _ in listed))
    several = count(len(listed), "other claim or number", "other claims and numbers")
    return f"reading: {reading}; breaks {several} ({ids})"
