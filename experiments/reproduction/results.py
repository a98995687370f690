"""What is stored of a reproduction: ``python -m experiments.reproduction.results DIRECTORY`` takes over its results.

The directory is that of ``fairdrop reproduce --out``. ``results.json.xz`` beside this file holds every document without
its measurements, those of a few campaigns, and for some ids the values of single runs, which
tests/python/test_reproduction_pages.py runs again. The figures of our own campaigns go to docs/reproduction/figures.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from experiments import DOCS
from experiments.digests import store, text_of
from experiments.readings.campaign import effects
from experiments.svg import on_paper, slimmed
from fairdrop.files import write_text
from fairdrop.reproduce.define.definition import BASE_READING
from fairdrop.reproduce.define.papers import names
from fairdrop.reproduce.define.reading import headlines
from fairdrop.reproduce.definitions import definition
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.judge.whole import settle
from fairdrop.reproduce.workspace import Workspace

STORED = Path(__file__).with_name("results.json.xz")
FIGURES = DOCS / "reproduction" / "figures"
#: Ids whose first runs are kept value by value: short ones, some of each paper, CHOKeW and the grid among them.
PROBES = ("choke-c1", "micro-c2", "chokew-fig1", "chokew-table1", "under-fig8", "ward-c1", "X1", "X2")
PROBED_ROWS = 3
#: Ids whose measurements are kept: the calibration, what docs/comparison.md is made of, and a table of COLLAR's page.
WHOLE = ("X1", "X7", "X21")
#: Ids of which a page shows all points of a measure: the measure, and the axis that its columns run over.
IN_FULL = {"micro-fig11": ("udp", "rate")}
#: Rows of such a page over several schemes: their label, and the schemes whose runs they range over.
RANGES = {"micro-fig11": {"Front, runs of all orders of ties": ("front", "front, arrivals first", "front, ends first")}}


def slim(one: Findings) -> dict[str, Any]:
    """A document without what no page shows; the grid stays, and the first runs of some ids."""
    document = dict(one.document)
    data = document.pop("data")
    base = data.get(BASE_READING, {"error": None, "rows": []})
    simulated = [row for row in base["rows"] if not row.get("exact")]
    document["main"] = base["rows"][0]["scheme"] if base["rows"] else ""
    document["probe"] = [{**row, "values": row["values"][:1]} for row in simulated[:PROBED_ROWS]]
    if one.definition.name not in PROBES:
        document["probe"] = []
    shown, _ = IN_FULL.get(one.definition.name, ("", ""))
    whole = one.definition.name in WHOLE
    kept = base["rows"] if whole else [row for row in base["rows"] if row["measure"] == shown]
    keep = [{**row, "values": [float(f"{value:.7g}") for value in row["values"]]} for row in kept]
    document["data"] = {BASE_READING: {**base, "rows": keep}}
    del document["engine"]  # of the machine that ran it; the runs that are kept show whether another one agrees
    return document


def take_over(directory: Path) -> None:
    """Store the findings of a reproduction; stored findings of other ids stay."""
    new = {one["id"]: one for one in map(slim, Workspace(directory).all())}
    old = {one["id"]: one for one in json.loads(text_of(STORED))}
    documents = [(old | new)[name] for name in names() if name in old | new]
    text = json.dumps(documents, allow_nan=False, separators=(",", ":"), sort_keys=True)
    FIGURES.mkdir(exist_ok=True)
    shown = {finding.figure for finding in headlines()}
    for document in documents:
        drawn = directory / "figures" / f"{document['id']}.svg"
        if (document["paper"] == "cross" or document["id"] in shown) and drawn.exists():
            write_text(FIGURES / drawn.name, slimmed(on_paper(drawn.read_text(encoding="utf-8"))))
    store(STORED, text)


def stored() -> list[Findings]:
    """What is stored, its verdicts settled by the readings of whole papers that are stored."""
    known = effects()
    documents = ((definition(document["id"]), document) for document in json.loads(text_of(STORED)))
    return [Findings(one, settle(one, document, known)) for one, document in documents]


if __name__ == "__main__":
    take_over(Path(sys.argv[1]))
