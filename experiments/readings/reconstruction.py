"""The set-up of a paper that explains most of it: what its text leaves open, the answer, and how sure that is."""

from __future__ import annotations

import re

from experiments.pages import item, paragraph, table
from experiments.readings.campaign import results
from fairdrop.reproduce.across import Matrix, of_key, questions, score, verdicts
from fairdrop.reproduce.define.definition import BASE_READING, PaperReading
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.judge.verdict import HELD
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import count

#: From how many claims and numbers between two answers the runs speak for one of them, and speak clearly.
LIKELY, CLEAR = 2, 5
#: From how many printed numbers in one unit their mean distance is shown.
MANY = 5
_DECISION = re.compile(r"\b(S\d+|A-\d+)\b")
RULE = (
    f"An answer counts what it bears out less what it breaks, alone, over all ids of the paper. Runs speak clearly for "
    f"one that is {CLEAR} or more ahead of the next, and weakly for one that is {LIKELY} to {CLEAR - 1} ahead; below "
    "that they do not decide. Seeds are those of the first look: a verdict that took more of them is in the tables "
    "above."
)


def section(name: str) -> list[str]:
    """The section of a paper's page; nothing for a paper that declares no readings."""
    if not paper(name).readings:
        return []
    found = {matrix.name: (matrix, best) for matrix, best in results()}
    lines = ["## Reconstruction", ""]
    if name not in found:
        declared = ", ".join(reading.name for reading in paper(name).readings)
        return [*lines, paragraph(f"No readings of the whole paper are stored yet. Declared: {declared}."), ""]
    matrix, searched = found[name]
    best = searched or max(matrix.digests, key=lambda key: (*score(matrix.digests[key]), -len(of_key(key))))
    lines += [paragraph(_most(matrix, best, searched is not None)), "", paragraph(RULE), ""]
    rows = [_row(matrix, best, question, answers) for question, answers in questions(name).items()]
    head = ["left open", "as decided", "answers: + borne out, - broken", "in the set-up", "how sure"]
    lines += [table(head, rows), ""]
    lines += _kept_from(matrix, best)
    lines += _distances(matrix, best)
    return lines


def _held(matrix: Matrix, key: str) -> tuple[int, int]:
    found = [verdict for _, verdict in verdicts(matrix.digests[key])]
    return found.count(HELD), len(found)


def _named(key: str) -> str:
    return "the set-up as decided" if key == BASE_READING else " with ".join(f"*{name}*" for name in of_key(key))


def _most(matrix: Matrix, best: str, is_searched: bool) -> str:
    held, of = _held(matrix, BASE_READING)
    tried = count(len(matrix.digests), "set-up")
    tried += "" if is_searched else " (the search goes on with `make readings`)"
    if best == BASE_READING:
        return f"Of {tried} the one as decided explains most: {held} of {of} claims and numbers hold."
    most, _ = _held(matrix, best)
    gained, lost = matrix.bears_out(best)
    return (
        f"Of {tried} that were run against every id {_named(best)} explains most: {most} of {of} claims and numbers "
        f"hold, as decided {held}. It bears out {len(gained)} that do not hold as decided, and breaks {len(lost)}."
    )


def _row(matrix: Matrix, best: str, question: str, answers: tuple[PaperReading, ...]) -> list[str]:
    """A question that the text leaves open."""
    silent = paper(matrix.name).silent
    codes = dict.fromkeys(code for answer in answers for code in _DECISION.findall(answer.text))
    elsewhere = ", ".join(code for code in codes if code not in silent)
    listed = [silent[code] for code in codes if code in silent]
    listed += [f"[{elsewhere}](../decisions/readings.md)"] if elsewhere else []
    decided = "; ".join(listed) or "as the base scenario has it"
    nets, shown, moved = {BASE_READING: 0}, [], 0
    for answer in answers:
        if answer.name not in matrix.digests:
            shown.append(f"{answer.name}: not run")
            continue
        gained, lost = matrix.bears_out(answer.name)
        nets[answer.name] = len(gained) - len(lost)
        moved += len(gained) + len(lost)
        shown.append(f"{answer.name}: +{len(gained)} -{len(lost)}")
    chosen = next((answer.name for answer in answers if answer.name in of_key(best)), BASE_READING)
    answer_shown = "as decided" if chosen == BASE_READING else chosen
    return [question, decided, "; ".join(shown), answer_shown, _sure(nets, moved, chosen, len(answers) + 1)]


def _sure(nets: dict[str, int], moved: int, chosen: str, answers: int) -> str:
    """How clearly the runs speak for an answer; `moved` verdicts depend on it."""
    if len(nets) < answers:
        return "not all answers were run"
    if moved == 0:
        return "open: with these seeds no verdict depends on it"
    if len(set(nets.values())) == 1:
        return "open: the answers are alike"
    ahead = nets[chosen] - max(net for name, net in nets.items() if name != chosen)
    if ahead >= LIKELY:
        return "clear" if ahead >= CLEAR else "weak"
    return "open: the best two answers are alike" if ahead >= 0 else "open: alone another answer explains more"


def _distances(matrix: Matrix, best: str) -> list[str]:
    """How far the printed numbers of each id are off in the mean: as decided, in the set-up, and at the nearest."""
    rows = []
    for name in matrix.ids():
        for unit, (numbers, decided) in matrix.distances(BASE_READING, name).items():
            far = {key: matrix.distances(key, name)[unit][1] for key in matrix.digests if _has(matrix, key, name, unit)}
            nearest = min(far, key=lambda key: (far[key], key != BASE_READING))
            if numbers < MANY or len(set(far.values())) == 1:
                continue
            cells = (digits(decided), digits(far[best]), f"{digits(far[nearest])} ({_named(nearest)})")
            rows.append([name, str(numbers), unit.replace("%", "points"), *cells])
    if not rows:
        return []
    intro = f"How far the printed numbers of an id are off in the mean, where it has {MANY} or more in one unit:"
    head = ["id", "numbers", "unit", "as decided", "in the set-up", "at the nearest set-up"]
    return [paragraph(intro), "", table(head, rows), ""]


def _has(matrix: Matrix, key: str, name: str, unit: str) -> bool:
    return unit in matrix.distances(key, name) if name in matrix.digests[key] else False


def _kept_from(matrix: Matrix, best: str) -> list[str]:
    """What the set-up breaks."""
    if best == BASE_READING:
        return []
    _, lost = matrix.bears_out(best)
    if not lost:
        return []
    lines = ["It breaks:", ""]
    for name, what in lost:
        claim = matrix.digests[BASE_READING][name]["claims"].get(what)
        lines.append(item(f"`{name}`: {claim['text'] if claim else what}."))
    return [*lines, ""]
