"""Write docs/comparison.md and its figure from stored results: ``python docs/make_comparison.py [DIRECTORY]``.

The directory is that of ``fairdrop reproduce --out``, with X7 in it. No measured number on the page is typed; state and
work are read from the pages of the disciplines.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from textwrap import fill

from make_reference import sections

from fairdrop.estimate import Estimate
from fairdrop.plot import save
from fairdrop.reproduce.define.definition import BASE_READING
from fairdrop.reproduce.measure.data import Data
from fairdrop.reproduce.outcome import Reproduction
from fairdrop.reproduce.workspace import Workspace
from fairdrop.wording.numbers import digits

HERE = Path(__file__).resolve().parent
PERFORMANCE = "reference/performance.md"
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


def table(data: Data, labels: dict[str, str], measure: str) -> list[str]:
    """Schemes by loads."""
    rows = data.select([measure, f"{measure}_rtts"])
    loads = data.axis("load", rows)
    lines = ["| discipline | " + " | ".join(loads) + " |", "| --- |" + " --- |" * len(loads)]
    for scheme, label in labels.items():
        cells = []
        for load in loads:
            found = [row for row in rows if row.scheme == scheme and row.at["load"] == load]
            cells.append(shown(found[0].estimate, _MOST.get(measure, math.inf)) if found else "")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def losses(data: Data) -> list[str]:
    """Where CHOKe loses, with the numbers."""

    def value(measure: str, scheme: str, load: str) -> str:
        return digits(data.select(measure, scheme, {"load": load})[0].estimate.mean)

    def both(measure: str, load: str, unit: str = "", what: str = "") -> str:
        choke, other = value(measure, "choke", load), value(measure, "fq_codel", load)
        return f"{choke}{unit}{what}, under FQ-CoDel {other}{unit}"

    five = ", ".join(
        f"{name} {value('protection', scheme, 'five UDP')}"
        for scheme, name in (
            ("choke", "CHOKe with one candidate"), ("self-adjusting", "self-adjusting CHOKe"), ("chokew", "CHOKeW"),
            ("ward", "WARD"), ("fred", "FRED"), ("fq_codel", "FQ-CoDel"),
        )
    )  # fmt: skip
    return [
        "*Several fast senders* hide each other from a comparison with one packet. This part of its fair share is left "
        f"to TCP beside five UDP flows: {five}.",
        "*Few flows.* Beside web-like traffic four long TCP flows have "
        f"{both('protection', 'web-like', what=' of their fair share')}. An arrival that meets its own flow is dropped "
        "with it, and with few flows that is often.",
        f"*Round trips.* Jain's index over four round trips is {both('jain_rtts', 'round trips')}.",
        "*Delay.* CHOKe's queue is RED's. With four round trips packets wait "
        f"{both('wait', 'round trips', ' ms', ' on average')}. Under CoDel they wait "
        f"{value('wait', 'codel', 'round trips')} ms, but it protects nobody: one UDP flow leaves TCP "
        f"{value('protection', 'codel', 'one UDP')} of its share. Transfers of 10 to 100 kB take "
        f"{both('transfer', 'web-like', ' s')}.",
        f"*Even at its best* one UDP flow at twice the link keeps {value('udp', 'choke', 'one UDP')} of the link; FRED "
        f"leaves it {value('udp', 'fred', 'one UDP')}, FQ-CoDel {value('udp', 'fq_codel', 'one UDP')} (fair is 0.03).",
        f"*A little more state buys more.* AFD keeps samples. With one and five UDP flows it gives TCP "
        f"{value('protection', 'afd', 'one UDP')} and {value('protection', 'afd', 'five UDP')} of its share, CHOKe "
        f"{value('protection', 'choke', 'one UDP')} and {value('protection', 'choke', 'five UDP')}.",
    ]


def page(found: Reproduction) -> str:
    """The page as text."""
    data = found.data[BASE_READING]
    labels = {scheme.name: scheme.label for scheme in found.definition.schemes}
    document = found.document
    lines = ["# All disciplines on the same axes", ""]
    lines += [fill(found.definition.about, 118), ""]
    lines += [
        fill(
            f"Made by `docs/make_comparison.py` from campaign X7 (`fairdrop reproduce X7`): mean of "
            f"{document['seeds']} seeds with its 95 % interval (Student's t, cut off at what is possible), profile "
            f"{document['profile']}, {document['runs']} runs. Nothing is tuned: a discipline made for lower delay "
            "keeps its own target, one with thresholds has those of the CHOKe paper.",
            118,
        ),
        "",
        "![TCP throughput / its fair share, Jain's index, mean delay and utilisation: 26 disciplines under five loads]"
        "(images/comparison.png)",
        "",
        "## Where CHOKe loses",
        "",
    ]
    lines += [fill(f"- {text}", 118, subsequent_indent="  ", break_long_words=False) for text in losses(data)]
    for measure, title, remark in TABLES:
        lines += ["", f"## {title}", ""]
        lines += [remark, ""] if remark else []
        lines += table(data, labels, measure)
    lines += ["", "## Short transfers: mean completion time of 10 to 100 kB, s", ""]
    lines += table(data, labels, "transfer")
    lines += ["", "## Cost: state, and work per packet", ""]
    there = (HERE / PERFORMANCE).exists()
    where = f"[performance]({PERFORMANCE})" if there else "what `make bench` prints"
    lines += [fill(f"As the page of each discipline says. Time and instructions per packet: {where}.", 118), ""]
    lines += ["<!-- generated: comparison.costs -->", "", sections()["comparison.costs"], "", "<!-- end -->"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write page and figure."""
    workspace = Workspace(Path(sys.argv[1] if len(sys.argv) > 1 else "reproduction"))
    found = workspace.stored("X7")
    if found is None or not found.follows_definition:
        raise SystemExit("no results of X7 there: fairdrop reproduce X7")
    (HERE / "comparison.md").write_text(page(found), encoding="utf-8")
    figure = found.plot()
    figure.set_facecolor("white")
    save(figure, HERE / "images" / "comparison.png")


if __name__ == "__main__":
    main()
