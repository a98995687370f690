"""The verdict: what the document shows, in a sentence that its own numbers decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fairdrop.document import Document, Run, disciplines, drop_count, over_seeds, runs_of, seeds
from fairdrop.report.clauses import Clauses, fair_text
from fairdrop.report.effects import SHUT_OUT, USED, Effect, Effects, effects
from fairdrop.report.greedy import Subject
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import digits, number_and_half, percent, rate
from fairdrop.wording.phrases import count, joined

#: Disciplines that a sentence names; the others are counted.
MOST_NAMED = 3
@dataclass(frozen=True)
class Verdict:
    """``outcome`` names the case.

    It is one of held, not held, undecided, replay, no greedy, uncongested and empty. ``effects`` are those of the
    disciplines, the best first; None of an empty document.
    """

    sentence: str
    outcome: str
    support: list[str] = field(default_factory=list)
    effects: Effects | None = None

    @property
    def subject(self) -> Subject | None:
        """The senders that the verdict is about."""
        return self.effects.subject if self.effects else None


def judge(document: Document) -> Verdict:
    """Outcome, sentence and the numbers to hold it against."""
    if not document.runs:
        return Verdict("Nothing was measured: the document holds no finished run.", "empty")
    found = _judge_runs(document, effects(document))
    if document.complete:
        return found
    sentence = f"So far (the work was interrupted): {found.sentence}"
    return Verdict(sentence, found.outcome, found.support, found.effects)


def _judge_runs(document: Document, found: Effects) -> Verdict:
    if not any(map(_decided, document.runs)):
        return _uncongested(document, found)
    subject = found.subject
    if subject is None:
        return _no_greedy(document, found)
    if subject.kind == "largest":
        return _replay(document, found, subject)
    sentence, outcome = _greedy(found, subject)
    return Verdict(sentence, outcome, _support(document, found, subject), found)


def _decided(run: Run) -> bool:
    """Whether the queues of a run had anything to decide: they dropped, marked or kept packets, or were full."""
    marked = any(sum(queue.marks.values()) for queue in run.queues)
    offered = sum(float(row.offered_bps or 0) for row in run.groups)
    through = sum(float(row.throughput_bps or 0) for row in run.groups)
    full = float(run.utilisation or 0) >= USED
    return drop_count(run) > 0 or marked or full or through < USED * offered


def _greedy(found: Effects, subject: Subject) -> tuple[str, str]:
    words = Clauses(found)
    named, others = found.found[:MOST_NAMED], found.found[MOST_NAMED:]
    holding = [effect for effect in named if effect.holds]
    failing = [words.does(effect) for effect in named if not effect.holds]
    counted = _counted(words, others)
    if holding:
        return f"{'; '.join([words.held(holding, subject), *failing])}.{counted}", "held"
    undecided = any(not effect.fails for effect in found.found)
    outcome = "undecided" if undecided else "not held"
    if len(found.found) == 1:
        return f"{words.alone(named[0], subject)}.", outcome
    return f"{words.none_holds(subject, undecided)}: {'; '.join(failing)}.{counted}", outcome


def _counted(words: Clauses, others: Sequence[Effect]) -> str:
    """The disciplines that are not named; one alone is."""
    if len(others) == 1:
        return f" {words.does(others[0])}."
    return f" {words.counted(others)}." if others else ""


def _support(document: Document, found: Effects, subject: Subject) -> list[str]:
    link = rate(document.runs[0].link_rate_bps)
    whose = "Their fair share together" if subject.plural else "Its fair share"
    lines = [f"{whose} is {fair_text(subject)} of the {link} link (max-min)."]
    if subject.kind == "greedy":
        who = f"The {len(subject.flows)} together offer" if subject.plural else "It offers"
        whom = "them" if subject.plural else "it"
        lines.append(f"{who} {rate(subject.offered_bps)}, and no drop slows {whom} down.")
    return [*lines, seed_note(document)]


def order_note(found: Effects) -> str:
    """What decides the order of the disciplines."""
    first = "by distance from fair shares, then use of the link, then wait; after these those that"
    if subject := found.subject:
        whom = f"the {'greedy sender' if subject.kind == 'greedy' else 'largest flow'}{'s' if subject.plural else ''}"
        rest = "others by distance from fair shares; those that"
        first = f"those that hold {whom}, by use of the link, then wait; {rest}"
    return f"In order: {first} shut out or starve; last those that leave the link idle."


def seed_note(document: Document) -> str:
    """How many seeds the numbers stand on."""
    sizes = {len(runs_of(document, name)) for name in disciplines(document)}
    if max(sizes) == 1:
        once = "One replay of one capture" if document.is_replay else "One seed"
        return f"{once}: no interval can be given."
    uneven = "" if len(sizes) == 1 else f" ({min(sizes)} for some disciplines)"
    return (
        f"Means over {count(len(seeds(document)), 'seed')}{uneven}; ± is the 95 % interval of the mean (Student's t)."
    )


def _uncongested(document: Document, found: Effects) -> Verdict:
    used = over_seeds(document.runs, lambda run: run.utilisation)
    part = f", and the link was {percent(used, False)} used" if used else ""
    names = disciplines(document)
    where = f"under {discipline_name(names[0])}" if len(names) == 1 else "under any discipline"
    sentence = f"The link is not congested: no packet was dropped {where}{part}."
    advice = (
        "Without drops the disciplines have nothing to decide: offer more traffic or lower the link's rate."
    )
    return Verdict(sentence, "uncongested", [advice, seed_note(document)], found)


def _no_greedy(document: Document, found: Effects) -> Verdict:
    words = Clauses(found)
    named, others = found.found[:MOST_NAMED], found.found[MOST_NAMED:]
    ratios = {effect.discipline: _largest(document, effect.discipline) for effect in named if not effect.harms}
    parts = [f"{value} under {discipline_name(name)}" for name, value in ratios.items() if value]
    parts = [part.replace(" ", " times its fair share ", 1) if n == 0 else part for n, part in enumerate(parts)]
    first = f"No sender is greedy{': the largest flow gets ' + joined(parts) if parts else ''}"
    clauses = [words.does(effect) for effect in named if effect.harms]
    sentence = f"{'; '.join([first, *clauses])}.{_counted(words, others)}"
    return Verdict(sentence, "no greedy", [seed_note(document)], found)


def _largest(document: Document, discipline: str) -> str | None:
    value = over_seeds(runs_of(document, discipline), lambda run: run.largest_over_fair_share)
    if value is None:
        return None
    mean, half = number_and_half(value)
    return mean if half is None else f"{mean} (±{half})"


def _replay(document: Document, found: Effects, subject: Subject) -> Verdict:
    words = Clauses(found)
    named, others = found.found[:MOST_NAMED], found.found[MOST_NAMED:]
    passing = [effect for effect in named if effect.link != SHUT_OUT]
    loss = [f"{_dropped(document, effect, subject)} under {discipline_name(effect.discipline)}" for effect in passing]
    head = subject.phrase[0].upper() + subject.phrase[1:]
    times = digits(subject.over_fair, 2)
    offers = f"{head} offers {rate(subject.offered_bps)}, {times} times its fair share"
    clauses = [words.does(effect) for effect in named if effect not in passing]
    first = f"{offers}, and loses {joined(loss)}" if loss else offers
    sentence = f"{'; '.join([first, *clauses])}.{_counted(words, others)}"
    left = [f"{percent(effect.taken)} under {discipline_name(effect.discipline)}" for effect in named if effect.taken]
    link = rate(document.runs[0].link_rate_bps)
    kept = f"It is left with {joined(left)} of the {link} link; its fair share is {fair_text(subject)} (max-min)."
    deaf = "Senders in a replay do not react: packets come as they were captured, whatever is dropped."
    return Verdict(sentence, "replay", [kept, deaf, seed_note(document)], found)


def _dropped(document: Document, effect: Effect, subject: Subject) -> str:
    dropped = over_seeds(runs_of(document, effect.discipline), _drop_fraction(subject.flows[0]))
    return percent(dropped) if dropped else "an unknown part"


def _drop_fraction(flow: str) -> Callable[[Run], float | None]:
    def value(run: Run) -> float | None:
        found = [row.drop_fraction for row in run.flows if row.name == flow]
        return float(found[0]) if found and found[0] is not None else None

    return value
