"""docs/reproduction/readings.md from the digests of the campaign. No number is typed."""

from __future__ import annotations

from experiments import DOCS, ROOT
from experiments.pages import Files, item, paragraph, table
from experiments.readings.campaign import effects, results
from fairdrop.reproduce.across import Matrix, of_key, verdicts
from fairdrop.reproduce.define.definition import BASE_READING
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.judge.verdict import HELD
from fairdrop.reproduce.judge.whole import write
from fairdrop.wording.phrases import count

PAGE = DOCS / "reproduction" / "readings.md"
#: What verdicts are settled by; part of the package.
EFFECTS = ROOT / "python" / "fairdrop" / "papers" / "readings.csv"
INTRODUCTION = """
What a paper leaves open is one thing for all of its figures. So each reading is run against every id of its paper,
with the seeds of the first look, and not only where the set-up as decided falls short. A cell has how many claims and
printed numbers hold under the reading and not as decided (+), and how many hold as decided and are contradicted or off
under it (-). A dot: no run of the id is another one. What is inconclusive counts as neither. All of it anew, by `make
readings`, took 91 minutes of processor time: three quarters of an hour on two processors.
"""


def files() -> Files:
    if found := results():
        yield PAGE, page(found)
        yield EFFECTS, write(effects())


def page(found: list[tuple[Matrix, str | None]]) -> str:
    """The page of these papers, each with the set-up that the search ended with."""
    made_by = "Made by `python -m experiments.pages readings` from stored results."
    lines = ["# Readings of whole papers", "", made_by, ""]
    lines += [paragraph(" ".join(INTRODUCTION.split())), ""]
    for matrix, best_key in found:
        lines += section(matrix, best_key)
    return "\n".join(lines).rstrip() + "\n"


def section(matrix: Matrix, best_key: str | None) -> list[str]:
    """The matrix of a paper, the set-up that explains most, and what it leaves."""
    about = paper(matrix.name)
    declared = [reading for reading in about.readings if reading.name in matrix.digests]
    keys = [reading.name for reading in declared]
    lines = [f"## {about.title}", ""]
    lines += [item(f"*{reading.name}* ({reading.question}): {reading.text}.") for reading in declared]
    lines.append("")
    if waiting := [reading.name for reading in about.readings if reading.name not in matrix.digests]:
        lines += [paragraph(f"Declared and not run yet (`make readings` goes on): {', '.join(waiting)}."), ""]
    touched = [name for name in matrix.ids() if any(_is_changed(matrix, key, name) for key in keys)]
    rows = [[name, *(_cell(matrix, key, name) for key in keys)] for name in touched]
    rows.append(["together", *(_sum(matrix, key) for key in keys)])
    lines += [table(["id", *keys], rows), ""]
    lines += best(matrix, best_key)
    lines += borne_out(matrix)
    return lines


def _is_changed(matrix: Matrix, key: str, name: str) -> bool:
    return bool(matrix.digests[key].get(name, {}).get("changed"))


def _cell(matrix: Matrix, key: str, name: str) -> str:
    if name not in matrix.digests[key]:
        return "not run"
    if not _is_changed(matrix, key, name):
        return "·"
    gained, lost = matrix.against(key, name)
    return _signs(len(gained), len(lost)) or "same"


def _sum(matrix: Matrix, key: str) -> str:
    gained, lost = matrix.bears_out(key)
    return _signs(len(gained), len(lost)) or "same"


def _signs(gained: int, lost: int) -> str:
    return " ".join([*([f"+{gained}"] if gained else []), *([f"-{lost}"] if lost else [])])


def _held(matrix: Matrix, key: str) -> str:
    found = [verdict for _, verdict in verdicts(matrix.digests[key])]
    return f"{found.count(HELD)} of {len(found)}"


def best(matrix: Matrix, key: str | None) -> list[str]:
    """The set-up that the search ended with, and what contradicts it."""
    if key is None:
        return []
    chosen = "the set-up as decided" if key == BASE_READING else " with ".join(f"*{name}*" for name in of_key(key))
    intro = (
        f"Most claims and numbers hold under {chosen}: {_held(matrix, key)}, as decided {_held(matrix, BASE_READING)}. "
        f"{count(len(matrix.digests), 'set-up')} were tried. What still contradicts it:"
    )
    lines = [paragraph(intro), ""]
    for name, what, verdict in matrix.still_broken(key):
        lines.append(item(f"`{name}`: {_described(matrix, key, name, what)}: {verdict}."))
    return [*lines, ""]


def _described(matrix: Matrix, key: str, name: str, what: str) -> str:
    """A claim by its text with what was measured, a number as it is."""
    claim = matrix.digests[key][name]["claims"].get(what)
    return f"{claim['text']} ({claim['measured']})" if claim else " ".join(what.split())


def borne_out(matrix: Matrix) -> list[str]:
    """What does not hold as decided, and holds under a set-up that breaks nothing else of the paper."""
    found = {place: keys for place, keys in matrix.holds_under().items() if keys}
    if not found:
        return ["No set-up bears out more without breaking something else of the paper.", ""]
    lines = ["Borne out by a set-up that breaks nothing else of the paper, of those with the fewest readings:", ""]
    for (name, what), keys in found.items():
        fewest = min(len(of_key(key)) for key in keys)
        shown = "; ".join(key for key in keys if len(of_key(key)) == fewest)
        lines.append(item(f"`{name}`: {_described(matrix, BASE_READING, name, what)}: {shown}."))
    return [*lines, ""]
