"""The verdict: what the document shows, in a sentence that its own numbers decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fairdrop.document import Document, Run, disciplines, drop_count, is_replay, over_seeds, runs, runs_of, seeds
from fairdrop.estimate import Estimate, estimate
from fairdrop.report.greedy import Subject, find_subject
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import digits, number_and_half, percent, rate
from fairdrop.wording.phrases import count, joined

HELPS = 0.25  # a discipline helps when it removes this part of the worst excess over fair share
ABOUT_FAIR = 1.25
STILL_MUCH = 0.5


@dataclass(frozen=True)
class Verdict:
    """``outcome`` names the case.

    It is one of held, eased, fair, unrestrained, single, replay, no greedy, uncongested and empty.
    """

    sentence: str
    outcome: str
    support: list[str] = field(default_factory=list)
    subject: Subject | None = None


@dataclass(frozen=True)
class Taken:
    """A discipline and the share of the link that the subject takes under it."""

    discipline: str
    share: Estimate

    @property
    def name(self) -> str:
        return discipline_name(self.discipline)


def judge(document: Document) -> Verdict:
    """Outcome, sentence and the numbers to hold it against."""
    if not runs(document):
        return Verdict("Nothing was measured: the document holds no finished run.", "empty")
    found = _judge_runs(document)
    if document.get("complete", True):
        return found
    sentence = f"So far (the work was interrupted): {found.sentence}"
    return Verdict(sentence, found.outcome, found.support, found.subject)


def _judge_runs(document: Document) -> Verdict:
    if all(drop_count(run) == 0 for run in runs(document)):
        return _uncongested(document)
    subject = find_subject(document)
    if subject is None:
        return _no_greedy(document)
    if subject.kind == "largest":
        return _replay(document, subject)
    taken = [
        Taken(name, share) for name in disciplines(document) if (share := _share(document, name, subject))
    ]
    sentence, outcome = _sentence(document, subject, taken)
    return Verdict(sentence, outcome, _support(document, subject), subject)


def _share(document: Document, discipline: str, subject: Subject) -> Estimate | None:
    return over_seeds(runs_of(document, discipline), subject.share)


def _sentence(document: Document, subject: Subject, taken: list[Taken]) -> tuple[str, str]:
    if len(taken) == 1:
        return _single(subject, taken[0]), "single"
    worst = max(taken, key=lambda item: item.share.mean)
    best = min(taken, key=lambda item: item.share.mean)
    if worst.share.mean <= ABOUT_FAIR * subject.fair:
        return _all_fair(subject, taken), "fair"
    helping = [item for item in taken if _helps(document, subject, item, worst)]
    if not helping:
        return _none_helps(subject, taken), "unrestrained"
    enough = max(STILL_MUCH, 2 * subject.fair)
    holding = sorted(
        (item for item in helping if item.share.mean <= enough), key=lambda item: item.share.mean
    )
    if not holding:
        return _eased(subject, best, [item for item in taken if item is not best]), "eased"
    return _held(subject, holding, [item for item in taken if item not in holding]), "held"


def _helps(document: Document, subject: Subject, item: Taken, worst: Taken) -> bool:
    """Whether it takes away a good part of the worst excess, by more than seeds explain."""
    gain = worst.share.mean - item.share.mean
    excess = worst.share.mean - subject.fair
    if item is worst or excess <= 0 or gain < HELPS * excess:
        return False
    paired = _paired_gain(document, subject, item.discipline, worst.discipline)
    return paired is None or paired.half is None or paired.low > 0


def _paired_gain(document: Document, subject: Subject, better: str, worse: str) -> Estimate | None:
    """Difference seed by seed; a seed has the same arrivals under every discipline, so this is tighter."""
    ours = {run["seed"]: subject.share(run) for run in runs_of(document, better)}
    theirs = {run["seed"]: subject.share(run) for run in runs_of(document, worse)}
    return estimate(theirs[seed] - ours[seed] for seed in ours.keys() & theirs.keys())


def _held(subject: Subject, helping: list[Taken], rest: list[Taken]) -> str:
    best, *also = helping
    also_fair = best.share.mean <= ABOUT_FAIR * subject.fair
    fair = f", about {_its(subject)} fair share" if also_fair else ""
    held = f"{best.name} holds {subject.phrase} to {percent(best.share)} of the link{fair}"
    others = "".join(f", {item.name} to {percent(item.share, False)}" for item in also)
    return f"{held}{others}; {_under(subject, rest)}{_left_over(subject)}."


def _eased(subject: Subject, best: Taken, others: list[Taken]) -> str:
    verb = "still take" if subject.plural else "still takes"
    return (
        f"{best.name} does most, yet {subject.phrase} {verb} {percent(best.share)} of the link; "
        f"{_under(subject, others)}{_left_over(subject)}."
    )


def _none_helps(subject: Subject, taken: list[Taken]) -> str:
    first, *others = taken
    parts = [f"{percent(first.share)} of the link under {first.name}"]
    parts += [f"{percent(item.share, False)} under {item.name}" for item in others]
    clause = f"{_pronoun(subject)} {_verb(subject)} {joined(parts)}"
    return f"No discipline here restrains {subject.phrase}: {clause}{_left_over(subject)}."


def _all_fair(subject: Subject, taken: list[Taken]) -> str:
    parts = [f"{percent(item.share)} of the link under {item.name}" for item in taken]
    return (
        f"Every discipline here holds {subject.phrase} to about {_its(subject)} fair share: {joined(parts)}."
    )


def _single(subject: Subject, only: Taken) -> str:
    times = digits(only.share.mean / subject.fair, 2) if subject.fair > 0 else "many"
    return (
        f"Under {only.name} {subject.phrase} {_verb(subject)} {percent(only.share)} of the link, "
        f"{times} times {_its(subject)} fair share{_left_over(subject)}."
    )


def _under(subject: Subject, items: list[Taken]) -> str:
    """``under DropTail it takes 97.1 %, under RED 96.8 %``."""
    clause = f"{_pronoun(subject)} {_verb(subject)} "
    parts = [
        f"under {item.name} {clause if index == 0 else ''}{percent(item.share, False)}"
        for index, item in enumerate(items)
    ]
    return ", ".join(parts)


def _pronoun(subject: Subject) -> str:
    return "they" if subject.plural else "it"


def _its(subject: Subject) -> str:
    return "their" if subject.plural else "its"


def _verb(subject: Subject) -> str:
    return "take" if subject.plural else "takes"


def _left_over(subject: Subject) -> str:
    if subject.others == 0:
        return ""
    if subject.others == 1:
        return ", and the other flow gets what is left"
    return f", and the other {subject.others} flows share what is left"


def _support(document: Document, subject: Subject) -> list[str]:
    link = rate(runs(document)[0]["link_rate_bps"])
    fair = f"{subject.fair * 100:.1f} %"
    whose = "Their fair share together" if subject.plural else "Its fair share"
    lines = [f"{whose} is {fair} of the {link} link."]
    if subject.kind == "greedy":
        who = f"The {len(subject.flows)} together offer" if subject.plural else "It offers"
        whom = "them" if subject.plural else "it"
        lines.append(f"{who} {rate(subject.offered_bps)}, and no drop slows {whom} down.")
    return [*lines, seed_note(document)]


def seed_note(document: Document) -> str:
    """How many seeds the numbers stand on."""
    sizes = {len(runs_of(document, name)) for name in disciplines(document)}
    if max(sizes) == 1:
        once = "One replay of one capture" if is_replay(document) else "One seed"
        return f"{once}: no interval can be given."
    uneven = "" if len(sizes) == 1 else f" ({min(sizes)} for some disciplines)"
    return (
        f"Means over {count(len(seeds(document)), 'seed')}{uneven}; ± is the 95 % interval of the mean (Student's t)."
    )


def _uncongested(document: Document) -> Verdict:
    used = estimate(float(run["utilisation"]) for run in runs(document))
    part = f" and the link was {percent(used, False)} used" if used else ""
    names = disciplines(document)
    where = f"under {discipline_name(names[0])}" if len(names) == 1 else "under any discipline"
    sentence = f"The link is not congested: no packet was dropped {where}{part}."
    advice = (
        "Without drops the disciplines have nothing to decide: offer more traffic or lower the link's rate."
    )
    return Verdict(sentence, "uncongested", [advice, seed_note(document)])


def _no_greedy(document: Document) -> Verdict:
    parts: list[str] = []
    for name in disciplines(document):
        value = over_seeds(runs_of(document, name), lambda run: run["largest_over_fair_share"])
        if value is not None:
            mean, half = number_and_half(value)
            interval = "" if half is None else f" (±{half})"
            times = "" if parts else " times its fair share"
            parts.append(f"{mean}{times}{interval} under {discipline_name(name)}")
    sentence = f"No sender is greedy: the largest flow gets {joined(parts)}."
    return Verdict(sentence, "no greedy", [seed_note(document)])


def _replay(document: Document, subject: Subject) -> Verdict:
    times = digits(subject.over_fair, 2)
    flow = subject.flows[0]
    loss: list[str] = []
    left: list[str] = []
    for name in disciplines(document):
        dropped = over_seeds(runs_of(document, name), _drop_fraction(flow))
        share = _share(document, name, subject)
        if dropped is not None and share is not None:
            part = percent(dropped)
            loss.append(f"{discipline_name(name)} {part if loss else f'drops {part} of its packets'}")
            left.append(f"{percent(share)} under {discipline_name(name)}")
    head = subject.phrase[0].upper() + subject.phrase[1:]
    sentence = f"{head} offers {rate(subject.offered_bps)}, {times} times its fair share: {joined(loss)}."
    link = rate(runs(document)[0]["link_rate_bps"])
    kept = f"It is left with {joined(left)} of the {link} link; its fair share is {subject.fair * 100:.1f} %."
    deaf = "Senders in a replay do not react: packets come as they were captured, whatever is dropped."
    return Verdict(sentence, "replay", [kept, deaf, seed_note(document)], subject)


def _drop_fraction(flow: str) -> Callable[[Run], float | None]:
    def value(run: Run) -> float | None:
        found = [row["drop_fraction"] for row in run["flows"] if row["name"] == flow]
        return float(found[0]) if found else None

    return value
