"""BBR version 1 of the running kernel beside the simulator's, alone and beside CUBIC.

    python -m experiments.fidelity.bbr

Writes bbr.csv, for the table of ``docs/background/bbr.md``. Live runs take as long as they last: three and a half
minutes together.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import fairdrop
from experiments.digests import as_csv, store
from experiments.fidelity.ack_by_ack import LIVE

SEEDS = 2
SECONDS = 25
LINK = f"""
duration = {SECONDS}
warm_up = 5
sample = 0
[dumbbell]
rate = "10mbit"
delay = "20ms"
access_rate = "100mbit"
access_delay = "0s"
[queue]
discipline = "droptail"
limit = "%dp"
"""
GROUP = """
[[groups]]
name = "%s"
transport = "%s"
era = "linux"
max_window = "2000p"
"""
# Buffers in packets of 1000 bytes: the path holds 50.
CELLS = [(limit, names) for names in (("bbr",), ("bbr", "cubic")) for limit in (25, 200)]


def row(limit: int, names: tuple[str, ...]) -> dict[str, str]:
    """One line of the table, by its headings."""
    text = LINK % limit + "".join(GROUP % (name, name) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "bbr.toml"
        scenario.write_text(text)
        result = fairdrop.load(scenario).compare_live(seeds=SEEDS)
    if result.live is None:
        raise SystemExit(1)
    simulated, live = result.document["runs"], result.live.document["runs"]
    for run in live:
        print(limit, names, "valid" if run["valid"] else run["problems"], file=sys.stderr)
    cells = {"buffer, packets": str(limit), "flows": " and ".join(name.upper() for name in names)}
    sides = {"simulated": simulated, "live": live}
    for index, name in enumerate(("BBR", "CUBIC")):
        for side, runs in sides.items():
            goodput = [run["groups"][index]["goodput_bps"] / 1e6 for run in runs if index < len(names)]
            cells[f"{name}, {side}"] = f"{statistics.fmean(goodput):.2f}" if goodput else ""
    for side, runs in sides.items():
        wait = statistics.fmean(1e3 * run["queues"][0]["sojourn_s"]["mean"] for run in runs)
        cells[f"wait, {side}"] = f"{wait:.1f}"
    return cells


def main() -> None:
    """Runs everything."""
    store(LIVE, as_csv([row(limit, names) for limit, names in CELLS]))


if __name__ == "__main__":
    main()
