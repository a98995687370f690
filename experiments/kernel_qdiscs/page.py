"""The table of docs/reference/linux-qdiscs.md from decisions.csv."""

from __future__ import annotations

import csv

from experiments import DOCS
from experiments.kernel_qdiscs.campaign import RESULT
from experiments.pages import Files, pages_with, table

PAGE = DOCS / "reference" / "linux-qdiscs.md"
HEAD = ("Linux", "library", "decisions", "equal", "loads without a difference", "drops", "marks")


def files() -> Files:
    """The page."""
    with RESULT.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sections = {"decisions": decisions(rows), "first": first(rows)}
    yield from pages_with("kernel_qdiscs", sections, PAGE)


def decisions(rows: list[dict[str, str]]) -> str:
    """A row for each form."""
    lines = []
    for row in rows:
        events, equal = int(row["events"]), int(row["equal"])
        part = "all" if equal == events else f"{100 * equal / events:.1f} %"
        of_library = f"`{row['library']}`: `{row['settings']}`"
        older = " before 2026-03" if "before" in row["form"] else ""
        agreeing = f"{row['agreeing']} of {row['loads']}"
        dropped, marked = (f"{int(row[name]):,}" for name in ("dropped", "marked"))
        lines.append((f"`{row['discipline']}`{older}", of_library, f"{events:,}", part, agreeing, dropped, marked))
    later = next(row["kernel"] for row in rows if row["discipline"] == "dualpi2")
    kernel = f"Kernel: Debian's `linux-source-6.12` {rows[0]['kernel']}; `dualpi2`: `linux-source-7.3` {later}.\n\n"
    return kernel + table(HEAD, lines, 2)


def first(rows: list[dict[str, str]]) -> str:
    """The first difference of each form that has one."""
    differing = [row for row in rows if row["first"]]
    lines = [(f"`{row['discipline']}`", row["form"], row["first"]) for row in differing]
    return table(("Linux", "form", "first difference"), lines)
