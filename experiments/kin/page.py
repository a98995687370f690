"""Tables of docs/background/collar-variants.md from kin.csv.xz."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from experiments.digests import Row, read
from experiments.kin.campaign import DIGEST, EACH, TABLES, Table
from experiments.pages import Files, pages_with, table
from experiments.shares.loads import Load
from experiments.shares.page import PAGE, rounded


def files() -> Files:
    rows = read(DIGEST)
    yield from pages_with("kin", {name: table_of(name, rows) for name in TABLES}, PAGE.with_name("collar-variants.md"))


def table_of(name: str, rows: Sequence[Row]) -> str:
    """Means over seeds with their intervals: a row for each load and discipline."""
    asked = TABLES[name]
    if name == "hosts":
        return table_of_hosts(asked, rows)
    lines = []
    for load in asked.loads():
        for discipline in asked.disciplines:
            key = (name, load.name, discipline)
            of = [row for row in rows if (row["table"], row["load"], row["discipline"]) == key]
            cells = [rounded([float(row[measure]) for row in of if row[measure]]) for measure, _ in asked.columns]
            lines.append([load.name, f"`{discipline.partition(':')[0]}`", *cells])
    return table(["load", "discipline", *(head for _, head in asked.columns)], lines, 2)


def table_of_hosts(asked: Table, rows: Sequence[Row]) -> str:
    """A row for each kind of host of each load, and one for the wait; disciplines side by side."""
    lines = []
    for load in asked.loads():
        fair = {kind: f"{part:.3g}" for kind, part in _fair(load).items()} | {"wait": ""}
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for row in rows:
            if (row["table"], row["load"]) == ("hosts", load.name):
                for kind, _, part in (word.partition("=") for word in row["parts"].split()):
                    found[kind, row["discipline"]].append(float(part))
        for kind in fair:
            cells = (rounded(found[kind, discipline]) for discipline in asked.disciplines)
            lines.append([load.name, _label(kind), fair[kind], *cells])
    return table(["load", "% of the link of", "fair", *(f"`{name}`" for name in asked.disciplines)], lines, 2)


def _label(kind: str) -> str:
    """How the page calls a kind of host, or of flows of one."""
    if kind.startswith("of"):
        return "the flow of a host of 1" if kind == "of1" else f"a host of {kind[2:]} flows"
    names = {"beside": "4 flows beside the flood", "flood": "the flood", "floods": "a host of floods"}
    return names.get(kind, "(99th percentile of the wait, ms)")


def _fair(load: Load) -> dict[str, float]:
    """The part of the link that a host of each kind, or these flows of one, should have, in per cent: all want more."""
    of = [str(group.fields.get("source_host") or group.fields["destination_host"]) for group in load.groups]
    flows = Counter[str]()
    for host, group in zip(of, load.groups, strict=True):
        flows[host] += group.count
    return {
        group.name.partition(EACH)[0]: 100 / len(flows) * group.count / flows[host]
        for host, group in zip(of, load.groups, strict=True)
    }
