"""docs/comparison.md and a table of docs/background/collar.md, from X7 and X21 as experiments/reproduction stores them.

No measured number is typed; state and work are read from the pages of the disciplines.
"""

from __future__ import annotations

import math

from experiments import DOCS
from experiments.pages import Files, item, pages_with, paragraph, table
from experiments.reference.page import costs
from experiments.reproduction.results import stored
from fairdrop.estimate import Estimate
from fairdrop.reproduce.define.definition import BASE_READING, axis_name
from fairdrop.reproduce.judge.findings import Findings
from fairdrop.reproduce.measure.data import Data
from fairdrop.wording.numbers import digits

PERFORMANCE = "reference/performance.md"
COLLAR = DOCS / "background" / "collar.md"
# Measures of X21 of UDP and of TCP, one of each at most in a test; and measures left out of the table.
_UDP = ("udp", "udp_sizes", "udp_two", "udp_three", "udp_chain")
_OTHERS = {
    "jain": "Jain's index of TCP",
    "jain_sizes": "Jain's index of the two UDP flows",
    "heavy": "weight 2, % of the link",
    "wait": "mean wait, ms",
}
TABLES = (
    ("protection", "Protection: TCP throughput / its fair share", "1 is fair; above 1 UDP has less than its share."),
    ("jain", "Fairness among TCP flows: Jain's index of goodput", "0 where TCP has nothing at all."),
    ("wait", "Mean queueing delay, ms", "At 1 Mb/s (one UDP) a packet takes 8 ms to send, elsewhere 0.8 ms."),
    ("wait_p99", "99th-percentile queueing delay, ms", ""),
    ("used", "Utilisation of the link, %", ""),
)
# What a measure cannot exceed. None of them is below 0.
_MOST = {"jain": 1.0, "used": 100.0}


def shown(value: Estimate, most: float) -> str:
    """Mean and 95 % interval within what is possible, or the mean alone where its digits do not show the interval."""
    ends = (value.mean, max(value.low, 0.0), min(value.high, most))
    mean, low, high = (digits(number) for number in ends)
    return mean if low == mean == high else f"{mean} [{low}, {high}]"


def by_load(data: Data, labels: dict[str, str], measure: str) -> list[str]:
    """Schemes by loads."""
    rows = data.select([measure, f"{measure}_rtts"])
    loads = data.axis("load", rows)
    lines = []
    for scheme, label in labels.items():
        cells = []
        for load in loads:
            found = [row for row in rows if row.scheme == scheme and row.at["load"] == load]
            cells.append(shown(found[0].estimate, _MOST.get(measure, math.inf)) if found else "")
        lines.append([label, *cells])
    return [table(["discipline", *loads], lines)]


def losses(data: Data) -> list[str]:
    """Where CHOKe loses, and what others with little state make of it, with the numbers."""

    def value(measure: str, scheme: str, load: str) -> str:
        return digits(data.select(measure, scheme, {"load": load})[0].estimate.mean)

    def both(measure: str, load: str, unit: str = "", what: str = "") -> str:
        choke, other = value(measure, "choke", load), value(measure, "fq_codel", load)
        return f"{choke}{unit}{what}, under FQ-CoDel {other}{unit}"

    def kept(load: str, schemes: dict[str, str]) -> str:
        return ", ".join(f"{name} {value('protection', scheme, load)}" for scheme, name in schemes.items())

    candidates = {
        "choke": "CHOKe with one candidate", "2 candidates": "with two", "5 candidates": "with five",
        "self-adjusting": "self-adjusting CHOKe", "gchoke": "gCHOKe", "mlc": "MLC(l)", "chokew": "CHOKeW",
        "ward": "WARD", "fred": "FRED", "fq_codel": "FQ-CoDel", "cake": "CAKE",
    }  # fmt: skip
    small = {
        "collar": "COLLAR", "sfb": "SFB", "ahab": "AHAB", "fair_drop": "FairDrop", "care": "CARE", "black": "BLACK",
        "afq": "AFQ", "cebinae": "Cebinae",
    }  # fmt: skip
    few = {"collar": "COLLAR", "ahab": "AHAB", "fair_drop": "FairDrop", "cake": "CAKE", "fq_codel": "FQ-CoDel"}
    return [
        "*Several fast senders* hide each other from a comparison with one packet. Beside five UDP flows TCP keeps "
        f"this part of its fair share: {kept('five UDP', candidates)}.",
        "*Few flows.* Beside web-like traffic four long TCP flows have "
        f"{both('protection', 'web-like', what=' of their fair share')}. An arrival that meets its own flow is dropped "
        "together with the packet that it met; with few flows this happens often.",
        f"*Round trips.* Jain's index over four round trips is {both('jain_rtts', 'round trips')}.",
        "*Delay.* CHOKe's queue is RED's. With four round trips packets wait "
        f"{both('wait', 'round trips', ' ms', ' on average')}. Under CoDel they wait "
        f"{value('wait', 'codel', 'round trips')} ms, but it protects nobody: one UDP flow leaves TCP "
        f"{value('protection', 'codel', 'one UDP')} of its share. Transfers of 10 to 100 kB take "
        f"{both('transfer', 'web-like', ' s')}.",
        "*Even in its best case*, one UDP flow at twice the link's rate, CHOKe leaves UDP "
        f"{value('udp', 'choke', 'one UDP')} of the link; FRED leaves it {value('udp', 'fred', 'one UDP')}, FQ-CoDel "
        f"{value('udp', 'fq_codel', 'one UDP')} (fair is 0.03).",
        f"*A little more state buys more.* AFD keeps samples. Beside one and five UDP flows TCP has "
        f"{value('protection', 'afd', 'one UDP')} and {value('protection', 'afd', 'five UDP')} of its share under AFD, "
        f"{value('protection', 'choke', 'one UDP')} and {value('protection', 'choke', 'five UDP')} under CHOKe. Other "
        "disciplines keep a state that does not grow with the flows, or that grows by less than a queue for each. "
        f"Under these TCP has, beside five UDP flows: {kept('five UDP', small)}. Cebinae lets nothing through beside a "
        "flood, [by its own rule](reference/disciplines/cebinae.md); five floods fill AFQ's and CARE's buffer.",
        "*COLLAR loses* where flows are few. Beside web-like traffic long TCP has this part of its share: "
        f"{kept('web-like', few)}. With 300 flows packets wait for {value('wait', 'collar', 'many flows')} ms, of "
        f"the 240 ms that the buffer holds; under CAKE they wait for {value('wait', 'cake', 'many flows')} ms.",
    ]


def papers(found: Findings) -> str:
    """The tests of the five papers by discipline: UDP's part of its share, then what else X21 measures, then waits."""
    data, schemes = found.data[BASE_READING], found.definition.schemes
    assert found.definition.simulation is not None
    (axis,) = found.definition.simulation.vary
    tests = [axis_name(value) for value in axis.values]

    def rows(label: str, measures: tuple[str, ...]) -> list[str]:
        lines = []
        by_test = {row.at["test"]: row.measure for row in data.select(list(measures))}
        for test in tests:
            if test in by_test:
                there = [data.select(by_test[test], scheme.name, {"test": test})[0].estimate for scheme in schemes]
                lines.append([test, *(f"{one.mean:.3g} ± {one.half:.2g}" for one in there)])
        return [table([label, *(scheme.label for scheme in schemes)], lines, 1)]

    def between(scheme: str) -> str:
        means = [row.estimate.mean for row in data.select(list(_UDP), scheme)]
        return f"{min(means):.2g} to {max(means):.3g}"

    number = len(data.select(list(_UDP), "collar"))
    text = (
        f"In the {number} tests with UDP, UDP has {between('collar')} of its share under COLLAR, "
        f"{between('fq_codel')} under FQ-CoDel and {between('choke')} under CHOKe. COLLAR's largest value is on "
        "the link of 50 Mb/s, for which 33 flows are few. Less than a share is not fairer: CHOKe and its relatives "
        "leave hardly anything to some senders of ten times the link's rate. COLLAR has no weights in these tests."
    )
    lines = [paragraph(text), "", *rows("UDP, of its fair share", _UDP)]
    for measure, label in _OTHERS.items():
        lines += ["", *rows(label, (measure,))]
    return "\n".join(lines)


def page(found: Findings) -> str:
    """The page as text."""
    data = found.data[BASE_READING]
    labels = {scheme.name: scheme.label for scheme in found.definition.schemes}
    document = found.document
    lines = ["# All disciplines on the same axes", ""]
    lines += [paragraph(found.definition.about), ""]
    lines += [
        paragraph(
            f"Made by `make comparison` from campaign X7: mean of "
            f"{document['seeds']} seeds with its 95 % interval (Student's t, cut off at what is possible), profile "
            f"{document['profile']}, {document['runs']} runs. Nothing is tuned: a discipline made for lower delay "
            "keeps its own target, and one with thresholds has those of the CHOKe paper."
        ),
        "",
        f"![TCP throughput / its fair share, Jain's index, mean delay and utilisation: {len(labels)} disciplines and "
        "variants under five loads](reproduction/figures/X7.svg)",
        "",
        "## Where CHOKe loses",
        "",
    ]
    lines += [item(text) for text in losses(data)]
    for measure, title, remark in TABLES:
        lines += ["", f"## {title}", ""]
        lines += [remark, ""] if remark else []
        lines += by_load(data, labels, measure)
    lines += ["", "## Short transfers: mean completion time of 10 to 100 kB, s", ""]
    lines += by_load(data, labels, "transfer")
    lines += ["", "## Cost: state, and work per packet", ""]
    there = (DOCS / PERFORMANCE).exists()
    where = f"[performance]({PERFORMANCE})" if there else "what `make bench` prints"
    lines += [paragraph(f"As the page of each discipline says. Time and instructions per packet: {where}."), ""]
    lines += ["<!-- generated: comparison.costs -->", "", costs(), "", "<!-- end -->"]
    return "\n".join(lines) + "\n"


def files() -> Files:
    """The page, with the figure of X7, and the table of the papers' tests on COLLAR's page."""
    found = {one.definition.name: one for one in stored() if one.definition.name in ("X7", "X21")}
    for one in found.values():
        if not one.follows_definition:
            again = f"fairdrop reproduce {one.definition.name}; python -m experiments.reproduction.results reproduction"
            raise SystemExit(f"{one.definition.name} was changed since its results were stored: {again}")
    yield DOCS / "comparison.md", page(found["X7"])
    yield from pages_with("comparison", {"papers": papers(found["X21"])}, COLLAR)
