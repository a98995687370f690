"""docs/reference/characterization.md from the stored numbers; none on the page is typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments import DOCS
from experiments.digests import text_of
from experiments.pages import Files, item, paragraph, table
from fairdrop.characterize import Row
from fairdrop.characterize.layout import (
    Board,
    cell_text,
    influence_rows,
    scheduler_board,
    score_boards,
    trial_boards,
    trial_of,
)
from fairdrop.characterize.page import trade_off
from fairdrop.characterize.rows import read_csv
from fairdrop.characterize.trials import UNANSWERED
from fairdrop.files import write_text
from fairdrop.library import catalogue
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.numbers import digits
from fairdrop.wording.phrases import joined

PAGE = DOCS / "reference" / "characterization.md"
NUMBERS = Path(__file__).with_name("characterization.csv.xz")
FIGURE, DRAWN = DOCS / "images" / "characterization.png", "9.2-both-ways"
SCENARIOS = "../../python/fairdrop/characterize/scenarios"
BETTER = {"less": "less is better", "more": "more is better", "one": "1 is best", "": ""}
# What counts as protected in the findings, as a part of TCP's fair share.
_PROTECTED = 0.9
_FAMILY = "The CHOKe family"
NOTE = (
    "Every discipline in every section, what parameters change, and what no run answers: `make docs` puts these tables "
    "here and writes the page to `build/docs/reference/characterization.md`."
)


def by_column(board: Board, named: bool) -> list[str]:
    """Disciplines by columns; bold where no other is better beyond both intervals. ``named`` adds the trial."""
    heads = []
    for column in board.columns:
        link = f"[{column.section}]({SCENARIOS}/{trial_of(column.trial).file}) " if named else ""
        where = f" at `{column.where}`" if named and column.at else ""
        better = f" ({BETTER[column.better]})" if column.better else ""
        heads.append(f"{link}{column.label}{where}{better}")
    lines = []
    best = {column: board.best(column) for column in board.columns}
    for name in board.disciplines:
        cells = []
        for column in board.columns:
            row = board.cells.get((name, column))
            text = "" if row is None else cell_text(row)
            cells.append(f"**{text}**" if name in best[column] else text)
        lines.append([discipline_name(name), *cells])
    return [table(["discipline", *heads], lines, 1)]


def influences(rows: Sequence[Row]) -> list[str]:
    """What parameters change: the largest total indices of each discipline."""
    lines = []
    for name, measures in influence_rows(rows).items():
        cells = [
            ", ".join(f"`{row.at.removeprefix('queue.')}` {cell_text(row)}" for row in measures.get(measure, ())[:3])
            for measure in ("wait_p99", "protection")
        ]
        lines.append([discipline_name(name), *cells])
    return [table(["discipline", "99th percentile of the wait", "TCP beside UDP / its fair share"], lines)]


def findings(rows: Sequence[Row]) -> list[str]:
    """What stands out, with the numbers."""

    def found(trial: str, measure: str) -> dict[str, Row]:
        return {row.discipline: row for row in rows if row.score and (row.trial, row.measure) == (trial, measure)}

    def shown(of: dict[str, Row], name: str) -> str:
        return f"{discipline_name(name)} {digits(of[name].mean)}"

    udp, small = found("5.3-unresponsive", "protection"), found("4.4-packet-sizes", "small_over_large")
    heavy, voice = found("8.2-level", "wait_p99"), found("9.1-mix", "voice_wait_p99")
    alone, two = found("5.1.1-same-window", "utilisation"), found("10-two-queues", "both_over_one")
    quiet, web = found("7.2-web", "dropped"), found("7.2-web", "web_fct")
    dropping = sorted((name for name in quiet if quiet[name].mean > 0), key=lambda name: -quiet[name].mean)
    slowest = max(dropping, key=lambda name: web[name].mean)
    together = found("2.4-synchronisation", "together")
    harmful = score_boards(rows)[0].harmful

    def able(of: dict[str, Row]) -> list[str]:
        """Disciplines that are named for what they do well."""
        return [name for name, row in of.items() if (row.trial, row.at, name) not in harmful]

    of_family = {entry["name"] for entry in catalogue()["disciplines"] if entry["family"] == _FAMILY}
    first, second = sorted((name for name in able(udp) if name in of_family), key=lambda name: -udp[name].mean)[:2]
    protected = [discipline_name(name) for name in able(udp) if udp[name].mean >= _PROTECTED]
    quick = sorted(able(heavy), key=lambda name: heavy[name].mean)[:4]
    calm = sorted(able(voice), key=lambda name: voice[name].mean)[:4]
    return [
        f"*Unresponsive sender.* TCP keeps {100 * _PROTECTED:.0f} % of its fair share or more beside UDP at twice "
        f"the link under {'; '.join(protected)}. Of the CHOKe family, which keeps no state of flows, the best are "
        f"{shown(udp, first)} and {shown(udp, second)}. For comparison: {shown(udp, 'red')}, "
        f"{shown(udp, 'pie')}, {shown(udp, 'codel')}.",
        f"*Delay under heavy congestion* is least under {joined([shown(heavy, name) for name in quick])} ms. For "
        f"comparison: {shown(heavy, 'fq_codel')} ms, since the packets of a flow wait for those of 67 others.",
        f"*Voice* waits least under {joined([shown(voice, name) for name in calm])} ms. For comparison: "
        f"{shown(voice, 'choke')} ms and {shown(voice, 'droptail')} ms.",
        f"*What short queues cost.* One NewReno connection uses {digits(alone['droptail'].mean)} % of the link under "
        f"DropTail, {digits(alone['codel'].mean)} % under CoDel, {digits(alone['fq_codel'].mean)} % under FQ-CoDel and "
        f"{digits(alone['ward'].mean)} % under WARD.",
        f"*Small packets.* CHOKe and its relatives compare packets, not bytes: senders of small packets get "
        f"{digits(small['choke'].mean)} times what senders of large ones get; FRED {digits(small['fred'].mean)}, "
        f"flow valve {digits(small['flow_valve'].mean)}.",
        f"*Bursts on a quiet link* (7.2, case I: web and UDP offer a sixth of it). No packet needs to be dropped, but "
        f"some are under {joined([shown(quiet, name) for name in dropping])} %. "
        "Transfers of 100 packets then take up to "
        f"{digits(web[slowest].mean)} s ({discipline_name(slowest)}) instead of {digits(web['droptail'].mean)} s.",
        "*Synchronisation.* Flows back off in the same round trip "
        f"{digits(together['droptail'].mean)} times as often as independent ones under DropTail, "
        f"{digits(together['red'].mean)} times under RED, "
        f"{digits(together['choke'].mean)} times under CHOKe, and {digits(together['pie'].mean)} times under PIE.",
        f"*Two queues in a row.* Connections over both get this part of what those over one get: "
        f"{shown(two, 'droptail')}, {shown(two, 'choke')}, {shown(two, 'afd')}, {shown(two, 'fq_codel')}.",
    ]  # fmt: skip


def page(rows: Sequence[Row]) -> str:
    """The page as text."""
    seeds = max(row.seeds for row in rows if row.trial != "8.3-parameters")
    known = {path.stem.replace("-", "_") for path in (DOCS / "reference" / "disciplines").glob("*.md")}
    later = sorted(f"`{name}`" for name in known - {row.discipline for row in rows})
    lines = [
        "# RFC 7928: every discipline characterized",
        "",
        paragraph(
            "The IETF's guideline for characterizing AQM, simulated: what each section asks for, every discipline side "
            "by side. Link 24 Mb/s, round trips of 100 ms, a buffer of 300 packets of 1000 bytes (one bandwidth-delay "
            "product) for all, parameters of the disciplines at their defaults; nothing is tuned. Mean of "
            f"{seeds} seeds ± half the 95 % interval (Student's t). In bold: no other is better beyond both intervals, "
            "among disciplines that shut out nobody, starve nobody, and do not leave the link idle in that trial "
            "([by the verdict's bounds](verdict.md); the trial's table says which do).",
        ),
        "",
        paragraph(
            "Made by `make characterize` (`fairdrop characterize --profile quick`). For your own choice of "
            "disciplines: [characterize a discipline](../how-to/characterize.md). Each column links to its scenario, "
            "which `fairdrop run` takes. The numbers as data: "
            "[characterization.csv.xz](../../experiments/characterization/characterization.csv.xz).",
        ),
        "",
        *([f"Not here, as they came after these runs: {', '.join(later)}.", ""] if later else []),
        f"![Link used against the 99th percentile of the wait, both directions](../images/{FIGURE.name})",
        "",
        "## What stands out",
        "",
        *map(item, findings(rows)),
    ]  # fmt: skip
    lines += ["", "## Every table", "", "<!-- built: characterization -->", "", paragraph(NOTE), "", "<!-- end -->"]
    return "\n".join(lines) + "\n"


def tables(rows: Sequence[Row]) -> str:
    """Disciplines side by side: scores of each section, effects of parameters, and every trial."""
    lines: list[str] = []
    for board in (*score_boards(rows), scheduler_board(rows)):
        lines += [f"### {board.title}", "", *by_column(board, named=True), ""] if board else []
    lines += [
        "### What parameters change", "",
        paragraph(
            "Section 8.3: parameters are drawn together from default / √2 to default × √2, 16 points of Saltelli's "
            "design, one seed. Sobol's total index is the part of the variance that goes with a parameter and its "
            "interactions, with its 95 % interval over resampled points; so few points only separate large from small.",
        ),
        "", *influences(rows), "", "### Every section", "",
    ]  # fmt: skip
    for board in trial_boards(rows):
        trial = trial_of(board.columns[0].trial)
        lines += [f"#### {board.title}", "", f"[`{trial.file}`]({SCENARIOS}/{trial.file})", ""]
        lines += [*by_column(board, named=False), ""]
    unanswered = ([one.section, one.what, one.why] for one in UNANSWERED)
    return "\n".join([*lines, "### What no run answers", "", table(["section", "what it asks", "why not"], unanswered)])


def numbers() -> list[Row]:
    """What is stored."""
    with TemporaryDirectory() as folder:
        write_text(file := Path(folder) / "numbers.csv", text_of(NUMBERS))
        return read_csv(file)


def files() -> Files:
    rows = numbers()
    yield PAGE, page(rows)
    yield FIGURE, trade_off(rows, DRAWN, "")


def built() -> dict[str, str]:
    """What is too long for git."""
    return {"characterization": tables(numbers())}
