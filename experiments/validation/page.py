"""The section on ns-2 of docs/reference/how-it-is-checked.md, from the stored comparisons beside this file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import DOCS
from experiments.digests import Row, read
from experiments.pages import Files, pages_with, paragraph, table
from experiments.validation.peers import main_scheme
from fairdrop.reproduce.definitions import definition
from fairdrop.wording.numbers import digits

PAGE = DOCS / "reference" / "how-it-is-checked.md"
FOLDER = Path(__file__).parent
ARRIVALS, VALUES, TIES = (FOLDER / f"ns2_{name}.csv.xz" for name in ("arrivals", "values", "ties"))
#: Parameters of the modules, and what they are here.
PARAMETERS = {
    "CHOKe": {
        "thresh_": "red.min_th", "maxthresh_": "red.max_th", "max_p_": "red.max_p", "q_weight_": "red.w_q",
        "gentle_": "red.gentle", "wait_": "red.wait", "independent_": "red.independent",
        "candidates_": "choke.candidates", "replacement_": "choke.replacement",
        "count_matches_": "choke.count_on_match",
    },
    "CHOKeW": {
        "l_th_": "chokew.l_th", "l_minus_": "chokew.l_minus", "l_plus_": "chokew.l_plus", "p_plus_": "chokew.p_plus",
        "p_minus_": "chokew.p_minus", "weight0_": "chokew.weights", "weight1_": "chokew.weights",
    },
    "WARD": {},
}  # fmt: skip
#: Those that are no parameter of a discipline here.
OTHERS = {
    "seed_": "the scenario's `seed`; 0: ns-2's own random numbers",
    "packets_per_s_": "the link's rate / `red.mean_packet_size`",
    "regions_": '`choke.regions` with `schedule = "odd"`; 0: none',
}
#: The measure that is shown of an id, what it is, and what a scheme is called.
SHOWN = {
    ("choke-fig3", "udp"): "UDP, kb/s",
    ("choke-fig5", "udp"): "UDP, kb/s",
    ("choke-fig5", "drop"): "UDP lost, %",
    ("choke-c1", "udp_matched"): "UDP's drops that are matches, %",
    ("choke-c1", "tcp_red"): "TCP's drops that are RED's, %",
    ("choke-table1", "first_loss"): "UDP lost at R2-R3, %",
    ("choke-table1", "second_loss"): "UDP lost at R3-R4, %",
    ("choke-table1", "tcp_second_loss"): "TCP lost at R3-R4, %",
    ("choke-table1", "udp_end"): "UDP after R3-R4, kb/s",
    ("micro-fig5", "large"): "UDP in packets of 800 B, kb/s",
    ("micro-fig5", "small"): "UDP in packets of 400 B, kb/s",
    ("under-fig6", "head"): "part of the packets at the head that are UDP's",
    ("choke-fig9", "tcp"): "TCP beside five UDP flows, kb/s",
    ("choke-fig10", "tcp"): "TCP beside five UDP flows, kb/s",
    ("ward-fig3", "drop"): "UDP lost, %",
    ("ward-fig4", "udp"): "UDP, kb/s",
    ("ward-fig5", "udp"): "UDP, kb/s",
    ("ward-fig6", "rtt20"): "flows with 20 ms, kb/s each",
    ("ward-fig6", "rtt40"): "flows with 40 ms, kb/s each",
    ("ward-fig6", "rtt60"): "flows with 60 ms, kb/s each",
    ("ward-fig6", "rtt80"): "flows with 80 ms, kb/s each",
    ("ward-table1", "udp2000"): "UDP at 2000 kb/s, kb/s",
    ("ward-table1", "udp1000"): "UDP at 1000 kb/s, kb/s",
    ("ward-table1", "udp100"): "UDP at 100 kb/s, kb/s",
    ("ward-table1", "udp30"): "UDP at 30 kb/s, kb/s",
    ("ward-table3", "index"): "Jain's index, %",
    ("chokew-fig5", "low"): "goodput of weight 1, kb/s",
    ("chokew-fig5", "high"): "goodput of weight 2, kb/s",
}
SCHEMES = {"choke": "CHOKe", "basic": "CHOKe", "5 drops": "CHOKe, 4 candidates", "self-adjusting": "CHOKe, 3 regions",
           "ward": "WARD", "chokew": "CHOKeW"}  # fmt: skip
CAUSES = ("match_arriving", "red_early", "red_forced", "overflow", "discarded")
ORDERS = {
    "as it is": "ns-2, as it is",
    "random delays": "ns-2, a random delay of at most 10 µs before each packet (`overhead_`)",
    "as_scheduled": 'here, `ties = "as_scheduled"`',
    "arrivals_first": 'here, `ties = "arrivals_first"`',
    "ends_first": 'here, `ties = "ends_first"`',
    "first flows nearer": "here, each flow's hosts 100 ns further away than those of the flow before",
    "last flows nearer": "here, each flow's hosts 100 ns nearer",
    "jitter of hosts' links": "here, a random delay of at most 10 µs on each host's link (`jitter`)",
}


def files() -> Files:
    sections = {
        "parameters": parameters(defaults()),
        "arrivals": arrivals(read(ARRIVALS)),
        "values": values(read(VALUES)),
        "ties": ties(read(TIES)),
    }
    yield from pages_with("ns2", sections, PAGE)


def defaults() -> dict[str, dict[str, float]]:
    """Defaults of the modules, by kind and name."""
    text = (FOLDER / "ns2_modules" / "defaults.tcl").read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = {kind: {"seed_": 0.0} for kind in PARAMETERS}
    for pairs, kind in re.findall(r"foreach \{name value\} \{(.*?)\} \{\s*Queue/(\w+) set", text, re.DOTALL):
        words = pairs.split()
        found[kind] |= {name: float(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    return found


def parameters(found: dict[str, dict[str, float]]) -> str:
    """Parameters of the modules, what they are here, and their defaults."""
    lines = []
    for kind, values_of in found.items():
        for name, value in values_of.items():
            here = PARAMETERS[kind].get(name)
            lines.append([f"`Queue/{kind}`", f"`{name}`", f"`{here}`" if here else OTHERS[name], digits(value, 4)])
    return table(("module", "parameter", "here", "default"), lines, 3)


def arrivals(rows: Sequence[Row]) -> str:
    """How many arrivals were compared, what became of them, and whether all is the same."""
    lines = []
    for name in dict.fromkeys(row["discipline"] for row in rows):
        of = [row for row in rows if row["discipline"] == name]
        counts = (f"{total(of, column):,}" for column in ("arrivals", *CAUSES))
        lines.append(
            [name, *counts, f"{len(same(of, 'same'))} of {len(of)}", f"{len(same(of, 'same_moved'))} of {len(of)}"]
        )
    head = (
        "discipline", "arrivals", "matched", "dropped early", "over `max_th`", "no room", "waiting ones dropped",
        "runs that are the same", "with hosts moved",
    )  # fmt: skip
    moved = [row for row in rows if row["moved"]]
    whole = [row for row in rows if row["same_moved"] == row["arrivals"]]
    text = (
        f"{total(rows, 'arrivals'):,} arrivals in {len(rows)} runs were compared; {len(same(rows, 'same'))} runs are "
        f"the same throughout, and {len(whole)} with hosts moved: in {len(moved)} those of one flow, by 20 or 100 ns."
    )
    return table(head, lines, 1) + "\n\n" + paragraph(text)


def total(rows: Sequence[Row], column: str) -> int:
    return sum(int(row[column]) for row in rows)


def same(rows: Sequence[Row], column: str) -> list[Row]:
    return [row for row in rows if row[column] == row["arrivals"]]


def values(rows: Sequence[Row]) -> str:
    """ns-2's values beside the printed ones and ours."""
    lines = []
    for (name, measure), label in SHOWN.items():
        of = [row for row in rows if (row["id"], row["measure"]) == (name, measure)]
        for scheme, at in dict.fromkeys((row["scheme"], row["at"]) for row in of):
            sides = {row["side"]: row for row in of if (row["scheme"], row["at"]) == (scheme, at)}
            where = json.loads(at)
            point = ", ".join(spelt(axis, value) for axis, value in where.items())
            shown = (interval(sides.get(side)) for side in ("ns-2", "fairdrop", "fairdrop, ns-2's senders"))
            lines.append([f"`{name}`", SCHEMES[scheme], point, label, printed(name, measure, scheme, where), *shown])
    head = ("id", "discipline", "at", "", "printed", "ns-2", "here", "here, with ns-2's SACK or Vegas")
    return table(head, lines, 4)


def spelt(axis: str, value: Any) -> str:
    units = {"rate": "kb/s", "flows": "flows", "mix": "Vegas-Reno", "ratio": "of the link", "buffer": "packets"}
    return f"case {value}" if axis == "case" else f"{value} {units[axis]}"


def interval(row: Row | None) -> str:
    return f"{digits(float(row['mean']))} ± {digits(float(row['half']), 2)}" if row else ""


def printed(name: str, measure: str, scheme: str, at: dict[str, Any]) -> str:
    """What the paper prints there, as far as it does."""
    for point in definition(name).published:
        if (point.measure, point.scheme or main_scheme(name), point.at) == (measure, scheme, at):
            sign = {"=": "", ">=": "at least ", "<=": "at most "}[point.relation]
            return f"{sign}{digits(point.value)}" + (" (derived)" if point.source == "derived" else "")
    return ""


def ties(rows: Sequence[Row]) -> str:
    """Packets that DropTail drops, at sizes that tie and at sizes that do not."""
    sizes = list(dict.fromkeys(row["sizes"] for row in rows))
    lines = []
    for order, label in ORDERS.items():
        of = [next(row for row in rows if (row["sizes"], row["order"]) == (size, order)) for size in sizes]
        lines.append([label, *(f"{count(row)} ({int(row['least']):,} to {int(row['most']):,})" for row in of)])
    return table(("", "1,000 bytes, 10 Mb/s", "1,013 bytes, 9.7 Mb/s"), lines, 1)


def count(row: Row) -> str:
    return f"{float(row['mean']):,.0f} ± {float(row['half']):.0f}"
