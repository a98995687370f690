# SPDX-License-Identifier: MIT OR Apache-2.0
"""UDP's share of the headline's link: by ns-3's TCP and by fairdrop's simulator, as a table in Markdown.

python integrations/ns3/headline.py build/ns3/module/fairdrop-headline --runs 10

Means over runs with 95 % intervals. The number of a run is ns-3's RngRun and fairdrop's seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import fairdrop
from fairdrop.estimate import estimate

DISCIPLINES = ["droptail", "red", "choke", "fq_codel", "cake", "collar"]
SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "headline.toml"
#: The parameters that the scenario sets, for disciplines that have them.
PARAMETERS = dict.fromkeys(DISCIPLINES, "limit=300p")
PARAMETERS["red"] = PARAMETERS["choke"] = "limit=300p min_th=100p max_th=200p max_p=0.1 w_q=0.002"
#: ns-3's own queue discs with the same settings, to separate the effect of the queue from that of the TCP.
RED = "ns3::RedQueueDisc"
RED_SETTINGS = {
    "MaxSize": "300p",
    "MinTh": 100,
    "MaxTh": 200,
    "LInterm": 10,
    "QW": 0.002,
    "Gentle": "false",
    "Wait": "false",
    "MeanPktSize": 1000,
    "LinkBandwidth": "1Mbps",
}
OWN = {
    "droptail": ["--Discipline=ns3::FifoQueueDisc", "--ns3::FifoQueueDisc::MaxSize=300p"],
    "red": [f"--Discipline={RED}", *(f"--{RED}::{name}={value}" for name, value in RED_SETTINGS.items())],
    "fq_codel": ["--Discipline=ns3::FqCoDelQueueDisc", "--ns3::FqCoDelQueueDisc::MaxSize=300p"],
}


def by_ns3(program: str, options: list[str], runs: int) -> list[dict[str, Any]]:
    """What each run of the example prints."""
    return [
        json.loads(subprocess.run([program, f"--RngRun={run}", *options], check=True, capture_output=True).stdout)
        for run in range(1, runs + 1)
    ]


def by_fairdrop(settings: list[str], disciplines: list[str], runs: int) -> fairdrop.Result:
    """The scenario with these settings under each discipline."""
    return fairdrop.load(SCENARIO, ["seed=1", *settings]).compare(disciplines, seeds=runs, threads=1)


def column(result: fairdrop.Result, discipline: str, group: str, name: str) -> list[float]:
    """A value of a group in each run."""
    return [row[name] for row in result.groups.rows() if (row["discipline"], row["group"]) == (discipline, group)]


def cell(values: list[float], digits: int = 1) -> str:
    """Mean and half of its interval."""
    found = estimate(values)
    return f"{found.mean:.{digits}f} ± {found.half:.{digits}f}"


def main() -> None:
    """Run all, and print the tables."""
    parser = argparse.ArgumentParser(description="UDP's share by ns-3's TCP and by fairdrop's")
    parser.add_argument("program", help="fairdrop-headline, as `make ns3` builds it")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--disciplines", nargs="+", choices=DISCIPLINES, default=DISCIPLINES)
    parser.add_argument("--option", action="append", default=[], help="of the program: --option=--ns3::...=...")
    parser.add_argument("--set", action="append", default=[], help="of the scenario with era = linux")
    args = parser.parse_args()
    if args.runs < 2:
        parser.error("--runs is at least 2: an interval takes two runs")
    scenario = by_fairdrop([], args.disciplines, args.runs)
    linux = by_fairdrop(["groups.tcp.era=linux", *args.set], args.disciplines, args.runs)
    print("| UDP's share, % | ns-3's TCP | ns-3's TCP and queue disc | fairdrop | fairdrop, `era = \"linux\"` |")
    print("| --- | ---: | ---: | ---: | ---: |")
    arrivals = []
    for discipline in args.disciplines:
        options = [f"--Discipline={discipline}", f"--Parameters={PARAMETERS[discipline]}", *args.option]
        ours = by_ns3(args.program, options, args.runs)
        own = by_ns3(args.program, [*OWN[discipline], *args.option], args.runs) if discipline in OWN else []
        shares = [
            [run["udp_share_percent"] for run in ours],
            [run["udp_share_percent"] for run in own],
            *([100 * share for share in column(result, discipline, "udp", "share")] for result in (scenario, linux)),
        ]
        print(f"| `{discipline}` | " + " | ".join(cell(values) if values else "" for values in shares) + " |")
        counts = [
            [run["tcp_arrivals"] for run in ours],
            *(column(result, discipline, "tcp", "arrivals") for result in (scenario, linux)),
        ]
        arrivals.append(f"| `{discipline}` | " + " | ".join(cell(values, 0) for values in counts) + " |")
    print()
    print('| TCP packets that arrive | ns-3\'s TCP | fairdrop | fairdrop, `era = "linux"` |')
    print("| --- | ---: | ---: | ---: |")
    print("\n".join(arrivals))


if __name__ == "__main__":
    main()
