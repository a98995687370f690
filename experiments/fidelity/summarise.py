"""What the runs found, a line each: simulates what is not live, reads what campaign.py left, writes summary.csv.xz.

Of live runs that are not there any more, and with --only of other sides, the lines of summary.csv.xz stay.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import fairdrop
from experiments.digests import Row, as_csv, read, store
from experiments.fidelity.campaign import jobs_of
from experiments.fidelity.cells import LIVE, OF_ALL, SEEDS, SIMULATED, SUMMARY, Cell, cells, explained


def row(cell: Cell, side: str, run: dict[str, Any]) -> Row:
    """Rates in kb/s, times in ms, parts in per cent."""
    groups, queue = {group["name"]: group for group in run["groups"]}, run["queues"][0]
    tcp, udp = [groups[name] for name in cell.tcp_groups], groups["udp"]
    at_link = {group["name"]: group for group in queue["groups"]}
    came, lost = (sum(at_link[name][what]["packets"] for name in cell.tcp_groups) for what in ("arrived", "dropped"))
    late = (run.get("live") or {}).get("lateness") or {}
    numbers = {
        "tcp_goodput": sum(group["goodput_bps"] for group in tcp) / 1e3,
        "udp_goodput": udp["goodput_bps"] / 1e3,
        "tcp_share": sum(group["share"] for group in tcp) * 100,
        "tcp_dropped": 100 * lost / came if came else None,
        "udp_dropped": udp["drop_fraction"] * 100,
        "median_wait": queue["sojourn_s"]["p50"] * 1e3,
        "queue": queue["mean_packets"],
        "retransmissions": sum(group["retransmissions"] for group in tcp),
        "timeouts": sum(group["timeouts"] for group in tcp),
        "late_p50": late["p50_s"] * 1e3 if late else None,
        "late_p99": late["p99_s"] * 1e3 if late else None,
        "late_max": late["max_s"] * 1e3 if late else None,
    }
    rounded = {name: None if value is None else round(value, 3) for name, value in numbers.items()}
    head = {"figure": cell.figure, "scheme": cell.scheme, "control": cell.control, "rate": cell.rate_kbps}
    return head | {"side": side, "seed": run["seed"]} | rounded


def simulated(cell: Cell, side: str) -> Iterator[Row]:
    """The simulations of a cell."""
    given = SIMULATED[side]
    # CUBIC has SACK already.
    if cell.control == "cubic":
        given = tuple(setting for setting in given if setting != "transport=sack")
    settings = [
        each if each.startswith("groups.") else f"groups.{group}.{each}" for each in given for group in cell.tcp_groups
    ]
    result = fairdrop.load(cell.scenario, [*cell.all_settings, *dict.fromkeys(settings)]).run(seeds=len(SEEDS))
    for run in result.document["runs"]:
        yield row(cell, side, run)


def live(cell: Cell, side: str) -> Iterator[Row]:
    """The valid live runs of a cell."""
    for job in jobs_of(side, [cell]):
        if job.is_done():
            yield row(cell, side, json.loads(job.out.read_text()))


def stored() -> dict[tuple[str, ...], list[Row]]:
    """The lines of summary.csv.xz by cell and side."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for line in read(SUMMARY):
        found.setdefault(key(line["side"], line), []).append(line)
    return found


def key(side: str, line: Row) -> tuple[str, ...]:
    return (side, *(str(line[name]) for name in ("figure", "scheme", "control", "rate")))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="sides whose name has this in it; the others stay as they are")
    only: str = parser.parse_args().only
    before = stored()
    rows: list[Row] = []
    for side in (*LIVE, *SIMULATED):
        print(side, file=sys.stderr)
        for cell in cells() if side in OF_ALL else explained():
            if side == "simulated with SACK" and cell.control == "cubic":
                continue
            kept = before.get(key(side, vars(cell) | {"rate": cell.rate_kbps}), [])
            made: list[Row] = []
            if only in side or not kept:
                made = list((live if side in LIVE else simulated)(cell, side))
            rows += made or kept
    store(SUMMARY, as_csv(rows))
    print(f"{SUMMARY}: {len(rows)} runs")


if __name__ == "__main__":
    main()
