"""The table of docs/reference/hardware.md from short_ids.csv.xz."""

from __future__ import annotations

from collections.abc import Sequence

from experiments import DOCS
from experiments.digests import Row, read
from experiments.pages import Files, pages_with, table
from experiments.shares.page import interval
from experiments.short_ids.campaign import DIGEST, WIDTHS, loads

PAGE = DOCS / "reference" / "hardware.md"
HEAD = (
    "load", "ids", "UDP, % of the link", "TCP, % of the link", "TCP flows with UDP's id: expected", "found",
    "their throughput, %", "that of flows with another TCP flow's id, %", "slowest TCP flow, %",
)  # fmt: skip


def files() -> Files:
    yield from pages_with("short_ids", {"shares": shares(read(DIGEST))}, PAGE)


def shares(rows: Sequence[Row]) -> str:
    """Means over replications with their intervals; throughputs over the mean of TCP flows with an id of their own."""
    lines = []
    for load, _ in loads():
        flows = next(group.count for group in load.groups if group.name == "tcp")
        for bits in WIDTHS:
            of = [row for row in rows if (row["load"], row["id_bits"]) == (load.name, str(bits))]
            expected = f"{flows / 2**bits:.2g}" if bits else "0"
            lines.append([
                load.name, f"{bits} bits" if bits else "whole", _mean(of, "udp"), _mean(of, "tcp"), expected,
                _mean(of, "with_udp"), _mean(of, "flow_with_udp"), _mean(of, "flow_with_tcp"), _mean(of, "flow_worst"),
            ])  # fmt: skip
    return table(HEAD, lines, 2)


def _mean(rows: Sequence[Row], measure: str) -> str:
    return interval([float(row[measure]) for row in rows if row[measure]])
