"""Measure what collisions of short flow ids cost flows under CHOKe's hardware model.

A replication draws the randomness of a run and the key of the hash, by its number. Runs of one number differ in the
width of ids alone. Where no two flows share an id, every decision is that of whole ids, and the run is not made again.
Each finished run is a line of a file, written as soon as it ends; what is in that file or in short_ids.csv.xz is not
run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import fairdrop
from experiments.digests import Row, Runs, arguments
from experiments.shares.loads import Load, development, tcp, udp, web
from experiments.short_ids.ids import short_id

DIGEST = Path(__file__).with_name("short_ids.csv.xz")
KEYS = ("load", "id_bits", "replication")
MEASURES = (
    "udp", "tcp", "alone", "with_udp", "with_tcp", "flow_alone", "flow_with_udp", "flow_with_tcp", "flow_worst",
    "web_fct_s",
)  # fmt: skip
#: Bits of ids; 0 is whole ids.
WIDTHS = (0, 24, 16, 12, 8)
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Task:
    """One run."""

    load: Load
    id_bits: int
    replication: int

    @property
    def key(self) -> Key:
        return self.load.name, str(self.id_bits), str(self.replication)


def loads() -> Iterator[tuple[Load, int]]:
    """Each with its number of replications: the set-up of the CHOKe paper's figure 3, faster links with more flows, and
    one with short transfers.
    """
    yield next(development()), 60
    flood = {"duration_s": 30.0, "warm_up_s": 10.0}
    yield Load("20 Mb/s, 256 NewReno, UDP at 2x", 2e7, 0.042, 500, (tcp(256), udp(1, 4e7)), **flood), 20
    short = {"duration_s": 20.0, "warm_up_s": 8.0}
    yield Load("50 Mb/s, 1,000 NewReno, UDP at 2x", 5e7, 0.042, 1000, (tcp(1000), udp(1, 1e8)), **short), 20
    mice = (tcp(20), udp(1, 2e7), web(5e6))
    yield Load("10 Mb/s, 20 NewReno, UDP at 2x, web 50%", 1e7, 0.042, 300, mice, **flood), 20


def long_flows(load: Load) -> dict[str, range]:
    """Numbers of the flows of each group that has no short transfers, in the order of the scenario."""
    numbers, begin = {}, 0
    for group in load.groups:
        if not group.short:
            numbers[group.name] = range(begin, begin + group.count)
        begin += group.count
    return numbers


def shared(load: Load, id_bits: int, salt: int) -> tuple[set[int], set[int]]:
    """The TCP flows that share an id with the UDP flow, and those that share one among themselves alone."""
    numbers = long_flows(load)
    ids = {flow: short_id(flow, id_bits, salt) for group in numbers.values() for flow in group}
    greedy = ids[numbers["udp"][0]]
    times = Counter(ids[flow] for flow in numbers["tcp"])
    with_udp = {flow for flow in numbers["tcp"] if ids[flow] == greedy}
    with_tcp = {flow for flow in numbers["tcp"] if times[ids[flow]] > 1} - with_udp
    return with_udp, with_tcp


def is_whole(task: Task) -> bool:
    """Whether the run is that of whole ids: none is shared, and no transfer brings another."""
    has_transfers = any(group.short for group in task.load.groups)
    return task.id_bits > 0 and not has_transfers and not any(shared(task.load, task.id_bits, task.replication))


def measure(task: Task) -> Row:
    """One run: shares of the link in %, and throughputs of flows over the mean of those with an id of their own."""
    load, bits, replication = task.load, task.id_bits, task.replication
    settings = ["discipline=choke_hardware", f"choke_hardware.id_bits={bits}", f"choke_hardware.salt={replication}"]
    changes = [f"queue.{setting}" for setting in settings]
    scenario = fairdrop.Scenario(load.toml(), load.name, [*changes, f"seed={replication}"])
    run = scenario.run(1, threads=1).document["runs"][0]
    rates = {name: [row["throughput_bps"] for row in run["flows"] if row["group"] == name] for name in ("tcp", "udp")}
    with_udp, with_tcp = shared(load, bits, replication)
    first = long_flows(load)["tcp"][0]
    of_flow = dict(enumerate(rates["tcp"], first))
    alone = mean(rate for flow, rate in of_flow.items() if flow not in with_udp | with_tcp)

    def over(flows: Sequence[int]) -> float | None:
        return 100 * mean(of_flow[flow] for flow in flows) / alone if flows else None

    return dict(zip(KEYS, task.key, strict=True)) | {
        "udp": 100 * sum(rates["udp"]) / load.rate_bps,
        "tcp": 100 * sum(rates["tcp"]) / load.rate_bps,
        "alone": len(of_flow) - len(with_udp) - len(with_tcp),
        "with_udp": len(with_udp),
        "with_tcp": len(with_tcp),
        "flow_alone": alone,
        "flow_with_udp": over(sorted(with_udp)),
        "flow_with_tcp": over(sorted(with_tcp)),
        "flow_worst": 100 * min(of_flow.values()) / alone,
        "web_fct_s": transfer_time(run),
    }


def transfer_time(run: Row) -> float | None:
    """The mean completion time of short transfers, of all sizes, in s."""
    sizes = [size for group in run["groups"] if group["name"] == "web" for size in group["transfers"]["sizes"]]
    means = [(size["completed"], size["fct_s"]["mean"]) for size in sizes if size["completed"]]
    completed = sum(count for count, _ in means)
    return sum(count * mean_s for count, mean_s in means) / completed if completed else None


def campaign(runs: Runs, processes: int, only: str = "") -> list[Key]:
    """Makes the runs that are missing; returns the keys of all."""
    tasks = [
        Task(load, bits, replication)
        for load, replications in loads()
        if only in load.name
        for replication in range(1, replications + 1)
        for bits in WIDTHS
    ]
    runs.make(((task.key, task) for task in tasks if not is_whole(task)), measure, processes)
    for task in tasks:
        if is_whole(task):
            whole = runs.done[task.load.name, "0", str(task.replication)]
            runs.done[task.key] = whole | {"id_bits": str(task.id_bits)}
    return [task.key for task in tasks]


def main() -> None:
    parser = arguments(__doc__, "short_ids")
    parser.add_argument("--only", default="", help="loads whose names hold this")
    args = parser.parse_args()
    runs = Runs(DIGEST, args.store, KEYS, MEASURES)
    runs.keep(campaign(runs, args.processes, args.only))


if __name__ == "__main__":
    main()
