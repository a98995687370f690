"""The tables of docs/reference/live-performance.md, from the results that are stored beside this file."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
Row = dict[str, str]
Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
# The aims of the page; what is beyond is set in bold.
RATIO, ERROR_1_S, ERROR_100_MS = 1.2, 0.001, 0.01
DELAY_P50_US, DELAY_P99_SPINNING_US, DELAY_P99_US = 20, 100, 300
# Where the cost of a packet that was read is less than this part of that of one that came out, the table has both.
DROPS = 0.97
NONE = "No results of a quiet machine are stored yet."
PROGRAMS = ("droptail", "droptail, 10 Gb/s", "droptail, 100 Gb/s", "choke", "choke, 10 Gb/s")


def sections(table: Table) -> dict[str, str]:
    """Every table by its name; `table` makes one of a head and rows."""
    cpu = _read("cpu")
    return {
        "live.machine": _machine(table),
        "live.cpu.flood": _cpu(table, cpu, "flood"),
        "live.cpu.paced": _cpu(table, cpu, "paced"),
        "live.throughput": _throughput(table, cpu),
        "live.rate": _rate(table, _read("rate")),
        "live.delay": _delay(table, _read("delay")),
        "live.peers.throughput": _rivals(table, _read("peers-throughput")),
        "live.peers.rate": _rate(table, _read("peers-rate")),
        "live.peers.delay": _delay(table, _read("peers-delay")),
    }


def _read(name: str) -> list[Row]:
    path = HERE / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _machine(table: Table) -> str:
    columns = {
        "part": "part",
        "of": "of",
        "processors": "processors",
        "kernel": "kernel",
        "clock": "clock",
        "load_at_start": "load when it began",
        "steal": "taken by the hypervisor",
        "took_s": "it took, s",
    }
    rows = _read("machine")
    shown = [row | {"steal": f"{float(row['steal']) * 100:.2f} %"} for row in rows]
    return table(list(columns.values()), [[row[name] for name in columns] for row in shown])


def _beyond(text: str, is_beyond: bool) -> str:
    return f"**{text}**" if is_beyond else text


def _cpu(table: Table, rows: list[Row], load: str) -> str:
    found = {(row["port"], row["bytes"], row["program"]): row for row in rows if row["load"] == load}
    made = []
    for port, size in dict.fromkeys((port, size) for port, size, _ in found):
        bare = found[port, size, "bare"]
        cells = [port, size, f"{bare['ns_per_packet']} ({bare['ns_least']} to {bare['ns_most']})"]
        for name in PROGRAMS:
            row = found[port, size, name]
            ratio = float(row["ratio"])
            spread = f"{float(row['ratio_least']):.2f} to {float(row['ratio_most']):.2f}"
            read = float(row["ratio_read"])
            # Where packets are dropped, fewer come out than were worked on.
            dropped = f"; of those read {read:.2f}" if read < DROPS * ratio else ""
            cells.append(f"{_beyond(f'{ratio:.2f}', ratio > RATIO)} ({spread}{dropped})")
        made.append(cells)
    return table(["port", "bytes", "bare, ns", *PROGRAMS], made)


def _throughput(table: Table, rows: list[Row]) -> str:
    made = [
        [row["port"], row["program"], row["kpps"], row["gbit_per_s"], f"{float(row['cpu_share']) * 100:.0f} %"]
        for row in rows
        if row["load"] == "flood" and row["bytes"] == "1500" and row["program"] in ("bare", "droptail", "choke")
    ]
    return table(["port", "program", "1,000 packets/s", "Gb/s", "of its processor"], made)


def _rivals(table: Table, rows: list[Row]) -> str:
    columns = {
        "program": "program",
        "port": "port",
        "kpps": "1,000 packets/s",
        "gbit_per_s": "Gb/s",
        "ns_per_packet": "processor time per packet, ns",
    }
    return table(list(columns.values()), [[row[name] for name in columns] for row in rows])


def _error(error: str, aim: float = math.inf) -> str:
    if not error:
        return "-"
    value = float(error) * 100
    return _beyond(f"{value:.4f} %" if value < 0.1 else f"{value:.2f} %", float(error) > aim)


def _rate(table: Table, rows: list[Row]) -> str:
    if not rows:
        return NONE
    pairs: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        pairs.setdefault((row["program"], row["port"], row["rate_bps"]), {})[row["window_s"]] = row
    made = []
    for (program, port, rate_bps), windows in pairs.items():
        second, tenth = windows["1.0"], windows["0.1"]
        made.append(
            [
                program,
                port,
                f"{int(rate_bps) // 1_000_000} Mb/s",
                second["offered"],
                f"{second['counted']} of {second['windows']}",
                _error(second["error_max"], ERROR_1_S),
                f"{tenth['counted']} of {tenth['windows']}",
                _error(tenth["error_p99"]),
                _error(tenth["error_max"], ERROR_100_MS),
            ]
        )
        if "undisturbed" in second:
            made[-1] += [
                _error(second["beyond_max"], ERROR_1_S),
                _error(tenth["beyond_max"], ERROR_100_MS),
                tenth["undisturbed"],
                _error(tenth["undisturbed_max"], ERROR_100_MS),
            ]
    head = ["program", "port", "rate", "offered", "of 1 s", "worst", "of 100 ms", "99th percentile", "worst"]
    if "undisturbed" in rows[0]:
        head += ["1 s, beyond the pauses", "100 ms, beyond the pauses", "of 100 ms without a pause", "worst"]
    return table(head, made)


def _delay(table: Table, rows: list[Row]) -> str:
    if not rows:
        return NONE
    columns = {
        "program": "program",
        "port": "port",
        "load": "load",
        "packets": "packets",
        "p50_us": "median, us",
        "p99_us": "99th percentile, us",
        "max_us": "worst, us",
        "runnable_us": "waited for a processor, us",
    }
    made = []
    for row in rows:
        cells = dict(row)
        if row["program"].startswith("fairdropd"):
            spinning = row["program"].endswith("spinning")
            if spinning:
                cells["p50_us"] = _beyond(row["p50_us"], float(row["p50_us"]) > DELAY_P50_US)
            aim = DELAY_P99_SPINNING_US if spinning else DELAY_P99_US
            cells["p99_us"] = _beyond(row["p99_us"], float(row["p99_us"]) > aim)
        if row["turns"] != "1":
            cells["p99_us"] += f" ({row['p99_least_us']} to {row['p99_most_us']})"
        made.append([cells[name] for name in columns])
    return table(list(columns.values()), made)
