"""Readings of a whole paper against all of its ids: what each bears out and breaks, and the set-up that explains most.

A reading that saves one figure may ruin the next. So every reading that a paper's ``paper.toml`` declares is run
against every id of the paper with the same seeds, one by one, and then together: coordinate descent over the questions
that the readings answer, from the set-up as decided. Each distinct simulation is run once (`execute.store`), and what
an id comes to under a set-up is kept as a digest, from which everything here is computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairdrop.files import DOCUMENT, read_json
from fairdrop.models import ModelError
from fairdrop.progress import Progress
from fairdrop.reproduce.define.definition import BASE_READING, Definition, PaperReading
from fairdrop.reproduce.define.fields import DefinitionError
from fairdrop.reproduce.define.papers import names, paper_of
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.definitions import definition
from fairdrop.reproduce.execute.plan import Order, Part, cells, looks
from fairdrop.reproduce.execute.store import Store, write_text
from fairdrop.reproduce.execute.work import measure
from fairdrop.reproduce.judge.document import identity
from fairdrop.reproduce.judge.numbers import beside_published
from fairdrop.reproduce.judge.verdict import CONTRADICTED, HELD, OFF, PENDING, REFUTED, judge
from fairdrop.reproduce.judge.whole import Effects, counts, number_at
from fairdrop.reproduce.measure.looks import Look
from fairdrop.reproduce.measure.runs import MeasureError
from fairdrop.scenario import ScenarioError

__all__ = ["Campaign", "Digest", "Matrix", "SetUp", "of_key", "questions"]

SCHEMA = "fairdrop/readings/1"
#: Verdicts that a reading breaks a claim or a number with.
BROKEN = (CONTRADICTED, OFF, REFUTED, PENDING)
#: Readings that hold together, by name in the order of the paper; none is the set-up as decided.
SetUp = tuple[str, ...]
#: What an id comes to under a set-up, in plain values.
Digest = Mapping[str, Any]


def key_of(set_up: SetUp) -> str:
    """The name of a set-up in digests."""
    return " + ".join(set_up) or BASE_READING


def of_key(key: str) -> SetUp:
    """The set-up of a name."""
    return () if key == BASE_READING else tuple(key.split(" + "))


def questions(name: str) -> dict[str, tuple[PaperReading, ...]]:
    """The readings of a paper by the question that they answer, in its order."""
    found: dict[str, list[PaperReading]] = {}
    for reading in paper(name).readings:
        found.setdefault(reading.question, []).append(reading)
    return {question: tuple(readings) for question, readings in found.items()}


@dataclass
class Campaign:
    """The digests of one paper: those of a file, and those that are made and added to it."""

    name: str
    order: Order
    directory: Path
    threads: int | None = None
    #: The ids, all of the paper when empty.
    ids: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.store = Store(self.directory / "store")
        self.path = self.directory / f"{self.name}.json"
        self.ids = tuple(self.ids) or tuple(one for one in names() if paper_of(one) == self.name)
        self.digests = self._read()

    def _read(self) -> dict[str, dict[str, Digest]]:
        """Digests by set-up and id, as far as nothing that decides them has changed."""
        try:
            document = read_json(self.path, DOCUMENT, "")
        except (OSError, ValueError):
            return {}
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            return {}
        found: dict[str, dict[str, Digest]] = document["digests"]
        return {
            key: {name: one for name, one in some.items() if one["identity"] == self._identity(name, of_key(key))}
            for key, some in found.items()
        }

    def _identity(self, name: str, set_up: SetUp) -> str | None:
        declared = {reading.name: reading for reading in paper(self.name).readings}
        if name not in names() or not set(set_up) <= set(declared):
            return None
        texts = [f"{declared[one].settings}{declared[one].disciplines}{declared[one].transports}" for one in set_up]
        return "\n".join([identity(definition(name), self.order), *texts])

    def document(self) -> dict[str, Any]:
        """What is kept, in plain values."""
        return {"schema": SCHEMA, "paper": self.name, "profile": self.order.profile, "digests": self.digests}

    def write(self) -> None:
        write_text(self.path, json.dumps(self.document(), allow_nan=False, indent=1) + "\n")

    def check(self) -> None:
        """Raises DefinitionError where a reading changes no run of the paper."""
        for reading in paper(self.name).readings:
            if not any(self._changes(definition(name), (reading.name,)) for name in self.ids):
                raise DefinitionError(f"papers/{self.name}: reading {reading.name!r} changes no run of any id")

    def _wide(self, set_up: SetUp) -> tuple[PaperReading, ...]:
        return tuple(reading for reading in paper(self.name).readings if reading.name in set_up)

    def _changes(self, one: Definition, set_up: SetUp) -> bool:
        """Whether any run of an id differs from that of the set-up as decided."""
        base, other = (cells(one, self.order, Part(1, wide=self._wide(some))) for some in ((), set_up))
        return any(cell.content != changed.content for cell, changed in zip(base, other, strict=True))

    def missing(self, set_up: SetUp) -> list[str]:
        """The ids that have no digest under a set-up."""
        known = self.digests.get(key_of(set_up), {})
        return [name for name in self.ids if name not in known]

    def runs(self, set_ups: Sequence[SetUp]) -> dict[str, float]:
        """The distinct simulations that the digests of some set-ups still lack, by key, with their rough work."""
        found: dict[str, float] = {}
        for set_up in set_ups:
            for name in self.missing(set_up):
                one = definition(name)
                part = Part(looks(one, self.order)[0], wide=self._wide(set_up))
                for cell in cells(one, self.order, part):
                    found |= {key: cell.weight for seed in cell.seeds if not self.store.has(key := cell.key(seed))}
        return found

    def make(self, set_up: SetUp, report: Callable[[str], None] = lambda _: None) -> Mapping[str, Digest]:
        """The digests of all ids under a set-up; those that are missing are made, and written one by one."""
        known = self.digests.setdefault(key_of(set_up), {})
        for name in self.missing(set_up):
            known[name] = self._digest(definition(name), set_up)
            self.write()
            report(f"{self.name}: {key_of(set_up)}: {name}")
        return {name: known[name] for name in self.ids}

    def _digest(self, one: Definition, set_up: SetUp) -> Digest:
        """What an id comes to; where no run is another one, what it comes to as decided."""
        head = {"identity": self._identity(one.name, set_up)}
        if set_up and not self._changes(one, set_up):
            (base,) = (some for name, some in self.make(()).items() if name == one.name)
            return {**base, **head, "changed": False}
        seeds = looks(one, self.order)
        look = Look(1, len(seeds))
        part = Part(seeds[0], wide=self._wide(set_up))
        try:
            found = measure(one, self.order, self.store, self.threads, Progress(), part, look.error)
            judged, _ = judge(one, found.data, ())
            numbers = beside_published(one, found.data, None)
        except (ScenarioError, MeasureError, ModelError) as error:
            return {**head, "changed": True, "pending": str(error), "claims": {}, "numbers": []}
        return {
            **head,
            "changed": bool(set_up),
            "claims": {
                item.claim.name: {"text": item.claim.text, "verdict": item.verdict, "measured": item.measured}
                for item in judged
            },
            "numbers": [
                {
                    name: point[name]
                    for name in ("label", "unit", "scheme", "at", "published", "tolerance", "apart", "verdict")
                }
                for point in numbers
            ],
        }

    def singles(self) -> list[SetUp]:
        """The set-up as decided, and each reading alone."""
        return [(), *((reading.name,) for reading in paper(self.name).readings)]

    def search(self, report: Callable[[str], None] = lambda _: None) -> SetUp:
        """The set-up under which most claims and numbers hold: coordinate descent over the questions.

        One question after the other takes the answer that scores most with all others as they are, until no question
        changes its answer; a tie keeps the answer that it has. Every set-up that is tried is another digest.
        """
        best: dict[str, str | None] = dict.fromkeys(questions(self.name))
        while True:
            before = dict(best)
            for question, readings in questions(self.name).items():
                options: list[str | None] = [best[question]]
                options += [name for name in (None, *(one.name for one in readings)) if name != best[question]]
                scores = [score(self.make(self._together({**best, question: name}), report)) for name in options]
                best[question] = options[scores.index(max(scores))]
            if best == before:
                return self._together(best)

    def _together(self, answers: Mapping[str, str | None]) -> SetUp:
        chosen = set(answers.values())
        return tuple(reading.name for reading in paper(self.name).readings if reading.name in chosen)


def verdicts(digests: Mapping[str, Digest]) -> Iterator[tuple[tuple[str, str], str]]:
    """Every claim and number of some ids, by place, with its verdict.

    Each fact once: what is printed in several places is a number of the id that judges it.
    """
    for name, one in digests.items():
        claims, numbers = _counted(name)
        for claim, found in one["claims"].items():
            if claims is None or claim in claims:
                yield (name, claim), found["verdict"]
        for point in one["numbers"]:
            what = number_at(point)
            if numbers is None or what in numbers:
                yield (name, what), point["verdict"]


def _counted(name: str) -> tuple[set[str] | None, set[str] | None]:
    """The claims and numbers of an id that count, as it is defined now; None: all."""
    if name not in names():
        return None, None
    one = definition(name)
    labels = {measure.name: measure.label for measure in one.measures}
    claims, points = counts(one)
    return claims, {
        number_at({"label": labels[p.measure], "scheme": p.scheme, "at": p.at, "published": p.value}) for p in points
    }


def score(digests: Mapping[str, Digest]) -> tuple[int, int]:
    """How many claims and numbers hold; and, of as many, fewer that are contradicted or off."""
    found = [verdict for _, verdict in verdicts(digests)]
    return found.count(HELD), -sum(verdict in BROKEN for verdict in found)


@dataclass(frozen=True)
class Matrix:
    """The digests of a paper as a table: set-ups by ids."""

    name: str
    digests: Mapping[str, Mapping[str, Digest]]

    def ids(self) -> list[str]:
        """The ids with a digest as decided."""
        return list(self.digests.get(BASE_READING, {}))

    def against(self, key: str, name: str) -> tuple[list[str], list[str]]:
        """Claims and numbers of an id that hold under a set-up and not as decided; and those that it breaks."""
        base = dict(verdicts({name: self.digests[BASE_READING][name]}))
        other = dict(verdicts({name: self.digests[key][name]}))
        gained = [place[1] for place, verdict in other.items() if place in base and verdict == HELD != base[place]]
        held = [place for place, verdict in base.items() if verdict == HELD]
        return gained, [place[1] for place in held if other.get(place, PENDING) in BROKEN]

    def bears_out(self, key: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The same over all ids that have been run, by id."""
        gained: list[tuple[str, str]] = []
        lost: list[tuple[str, str]] = []
        for name in self.digests[key]:
            for found, into in zip(self.against(key, name), (gained, lost), strict=True):
                into += [(name, what) for what in found]
        return gained, lost

    def distances(self, key: str, name: str) -> dict[str, tuple[int, float]]:
        """How many printed numbers of an id there are in each unit, and how far they are off in the mean."""
        _, counted = _counted(name)
        found: dict[str, list[float]] = {}
        for point in self.digests[key][name]["numbers"]:
            if point["apart"] is not None and (counted is None or number_at(point) in counted):
                found.setdefault(point["unit"], []).append(abs(point["apart"]))
        return {unit: (len(some), sum(some) / len(some)) for unit, some in found.items()}

    def effects(self) -> dict[str, Effects]:
        """What every set-up but that as decided bears out and breaks."""
        found = {key: self.bears_out(key) for key in self.digests if key != BASE_READING}
        return {key: Effects(set(gained), lost) for key, (gained, lost) in found.items()}

    def still_broken(self, key: str) -> list[tuple[str, str, str]]:
        """What contradicts a set-up: id, claim or number, verdict."""
        found = verdicts(self.digests[key])
        return [(name, what, verdict) for (name, what), verdict in found if verdict in BROKEN]

    def holds_under(self) -> dict[tuple[str, str], list[str]]:
        """What does not hold as decided, with the set-ups that bear it out and break nothing else of the paper."""
        found: dict[tuple[str, str], list[str]] = {
            place: [] for place, verdict in verdicts(self.digests[BASE_READING]) if verdict != HELD
        }
        for key in self.digests:
            gained, lost = self.bears_out(key)
            for place in gained if not lost else []:
                found[place].append(key)
        return found
