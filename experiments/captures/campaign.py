"""Measure how disciplines share a link among the flows of captured traffic, alone and beside TCP.

The captures are no part of the project: `--captures` names their folder. Each finished run is a line of a file, written
as soon as it ends; what is in that file or in captures.csv.xz is not run again, so with a full digest no capture is
needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import fairdrop
from experiments.captures import mix
from experiments.digests import Row, Runs, arguments
from experiments.shares.campaign import fair_share
from fairdrop.measures import jain_index

DIGEST = Path(__file__).with_name("captures.csv.xz")
DISCIPLINES = ("collar", "fq_codel", "fq", "choke", "red", "droptail")
SEEDS = 5
#: Hosts that play each capture.
COPIES = 4
WARM_UP_S, DURATION_S = 10.0, 50.0
#: Demands, shares and what passes are counted in windows.
WINDOW_S = 1.0
BUFFER_S, PACKET = 0.2, 1000
KEYS = ("load", "discipline", "seed")
MEASURES = (
    "hosts", "offered_bps", "small_lost", "small_bytes", "large", "large_bytes", "tcp", "jain_tcp", "udp",
    "wait_small_p99_ms", "wait_p99_ms", "utilisation", "full", "share",
)  # fmt: skip


@dataclass(frozen=True)
class Load:
    """A link whose rate is ``part`` of what the captures send on average, and who else sends."""

    name: str
    part: float
    tcp: int = 0
    flood: bool = False


#: Alone the captures offer more than the link has; beside TCP they offer half of it.
LOADS = (
    Load("90 %", 0.9),
    Load("70 %", 0.7),
    Load("50 %", 0.5),
    Load("8 CUBIC", 2.0, 8),
    Load("8 CUBIC, UDP", 2.0, 8, flood=True),
)
#: Causes of a drop that mean a full buffer.
FULL = ("overflow", "longest_queue")
Task = tuple[Load, str, int, Path]


def scenario(load: Load, rate_bps: int, file: Path, discipline: str, seed: int) -> str:
    """The scenario. Thresholds of RED are a third and two thirds of the buffer, of 200 ms."""
    limit = round(rate_bps * BUFFER_S / (8 * PACKET))
    text = f"""
schema = "fairdrop/scenario/1"
name = "captures"
duration = {DURATION_S}
warm_up = {WARM_UP_S}
seed = {seed}
sample = 0.0
[dumbbell]
rate = {rate_bps}
delay = 0.001
access_rate = "1gbit"
access_delay = 0.0095
[queue]
discipline = "{discipline}"
limit = {limit}
[queue.red]
min_th = {limit // 3}
max_th = {2 * limit // 3}
[[groups]]
name = "captured"
transport = "trace"
file = "{file}"
"""
    if load.tcp:
        text += f'[[groups]]\nname = "tcp"\ntransport = "cubic"\ncount = {load.tcp}\nmax_window = 20000\n'
    if load.flood:
        text += f'[[groups]]\nname = "udp"\ntransport = "cbr"\nrate = {rate_bps}\n'
    return text


@cache
def hosts(folder: Path) -> list[mix.Capture]:
    return mix.captures(folder)


def measure(task: Task) -> Row:
    """One run."""
    load, discipline, seed, folder = task
    found = hosts(folder)
    rate_bps = round(load.part * COPIES * sum(capture.rate_bps for capture in found))
    with TemporaryDirectory() as work:
        file = Path(work) / "arrivals.csv"
        file.write_text(mix.as_list(mix.arrivals(found, COPIES, DURATION_S, seed)), encoding="utf-8")
        text = scenario(load, rate_bps, file, discipline, seed)
        run = fairdrop.Scenario(text, "captures", []).run(1, threads=1, trace=work).document["runs"][0]
        (trace,) = Path(work).glob("*/*.parquet")
        events = pq.read_table(trace, columns=["event", "cause", "time_ns", "bytes", "flow", "packet"])
    row: Row = {"load": load.name, "discipline": discipline, "seed": seed, "hosts": COPIES * len(found)}
    return row | judge(packets_of(events), rate_bps) | {"utilisation": run["utilisation"]}


@dataclass(frozen=True)
class Packets:
    """Every packet that came: when, its bytes and flow, whether it was lost (to a full buffer), how long it took."""

    at: Any
    size: Any
    flow: Any
    names: Sequence[str]
    lost: Any
    full: Any
    took: Any


def packets_of(events: Any) -> Packets:
    """A trace's packets, in the order in which they came."""
    kinds = events["event"].to_numpy()
    flow = events["flow"].combine_chunks().dictionary_encode()
    time, number = 1e-9 * events["time_ns"].to_numpy(), events["packet"].to_numpy().astype(np.int64)
    came = kinds == "arrive"
    place = np.full(number.max() + 1, -1)
    place[number[came]] = np.arange(came.sum())
    lost = np.zeros(came.sum(), bool)
    dropped = kinds == "drop"
    lost[place[number[dropped]]] = True
    full = np.zeros(came.sum(), bool)
    full[place[number[dropped]]] = np.isin(events["cause"].to_numpy()[dropped].astype(str), FULL)
    left = np.full(came.sum(), np.nan)
    departed = kinds == "depart"
    left[place[number[departed]]] = time[departed]
    return Packets(
        time[came],
        events["bytes"].to_numpy()[came],
        flow.indices.to_numpy()[came],
        flow.dictionary.to_pylist(),
        lost,
        full,
        left - time[came],
    )


def judge(packets: Packets, rate_bps: float) -> Row:
    """What flows had of their max-min shares, window by window.

    A packet counts in the window in which it came, also where it leaves later or is dropped later. TCP and the flood
    ask for the whole link. A captured flow is small in a window in which it asks for at most the share, else large.
    """
    kinds = np.array([name.partition("[")[0] for name in packets.names])
    window = np.floor(packets.at / WINDOW_S).astype(int)
    count = len(packets.names)
    begin, end = round(WARM_UP_S / WINDOW_S), round(DURATION_S / WINDOW_S)
    windows = max(int(window.max()) + 1, end)
    offered, passed = (
        np.bincount(window * count + packets.flow, 8.0 * packets.size * kept, windows * count).reshape(windows, count)
        for kept in (np.ones(len(window)), ~packets.lost)
    )
    capacity = rate_bps * WINDOW_S
    small = np.zeros(offered.shape, bool)
    shares = np.zeros(len(offered))
    captured, adaptive = kinds == "captured", kinds == "tcp"
    greedy = ~captured
    for at in range(begin, end):
        demands = np.where(greedy, capacity, offered[at])
        asked = demands[demands > 0]
        shares[at] = fair_share(capacity, asked.tolist()) if asked.sum() >= capacity else np.inf
        small[at] = captured & (offered[at] > 0) & (offered[at] <= shares[at])
    measured = slice(begin, end)
    is_large = captured & (offered > 0) & ~small
    is_large[:begin] = is_large[end:] = False
    large_shares = (np.where(is_large, shares[:, None], 0.0)).sum()
    fair = shares[measured].sum()
    tcp = passed[measured][:, adaptive].sum(0) / fair
    udp = passed[measured][:, kinds == "udp"].sum(0) / fair
    there = (packets.at >= WARM_UP_S) & (packets.at < DURATION_S) & ~np.isnan(packets.took)
    of_small = there & small[window, packets.flow]
    lost_here = packets.lost & captured[packets.flow] & (window >= begin) & (window < end)
    length = (end - begin) * WINDOW_S
    return {
        "offered_bps": offered[measured][:, captured].sum() / length,
        "small_lost": _part((offered - passed)[small].sum(), offered[small].sum()),
        "small_bytes": _part(offered[small].sum(), offered[measured][:, captured].sum()),
        "large": _part(passed[is_large].sum(), large_shares),
        "large_bytes": _part(offered[is_large].sum(), offered[measured][:, captured].sum()),
        "tcp": float(tcp.mean()) if len(tcp) else None,
        "jain_tcp": jain_index(list(tcp)) if len(tcp) else None,
        "udp": float(udp.mean()) if len(udp) else None,
        "wait_small_p99_ms": _p99_ms(packets.took[of_small]),
        "wait_p99_ms": _p99_ms(packets.took[there]),
        "full": _part((packets.full & lost_here).sum(), lost_here.sum()),
        "share": float(fair / (capacity * (end - begin))) if np.isfinite(fair) else None,
    }


def _part(some: float, of: float) -> float | None:
    return float(some / of) if of else None


def _p99_ms(times_s: Any) -> float | None:
    return 1e3 * float(np.quantile(times_s, 0.99)) if len(times_s) else None


def tasks(folder: Path) -> Iterator[tuple[tuple[str, ...], Task]]:
    """All runs, seed by seed."""
    for seed in range(1, SEEDS + 1):
        for load in LOADS:
            for discipline in DISCIPLINES:
                yield (load.name, discipline, str(seed)), (load, discipline, seed, folder)


def main() -> None:
    parser = arguments((__doc__ or "").splitlines()[0], "captures")
    parser.add_argument("--captures", type=Path, default=mix.FOLDER, help="folder of the captures (%(default)s)")
    args = parser.parse_args()
    runs = Runs(DIGEST, args.store, KEYS, MEASURES)
    planned = dict(tasks(args.captures))
    if not planned.keys() <= runs.done.keys():
        try:
            hosts(args.captures)
        except mix.NoCaptures as error:
            sys.exit(f"captures: {error}")
    runs.make(planned.items(), measure, args.processes)
    runs.keep(planned)


if __name__ == "__main__":
    main()
