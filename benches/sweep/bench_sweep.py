"""What a sweep costs beside its simulations: ``bench_sweep.py [RUNS ...]``, by default 1000, 3000 and 10000 runs.

Runs are as short as can be (two flows, a second), so that what is measured is the rest: setting up, the store, the data
set, going on. Times are processor time of the command. Each size is done in a process of its own, whose largest memory
is shown. With ``--dask`` the runs go to a scheduler with two worker processes on this machine; with ``--filled``
nothing is simulated: the store is filled with the rows of one run, to see the cost of many.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import fairdrop
from fairdrop.progress import Progress
from fairdrop.study import dataset
from fairdrop.study.campaign import Campaign
from fairdrop.study.definition import make_study
from fairdrop.study.runs import packed
from fairdrop.study.store import Store

SCENARIO = """
duration = "1s"
warm_up = "500ms"
[dumbbell]
rate = "1mbit"
[[groups]]
name = "tcp"
transport = "reno"
[[groups]]
name = "udp"
transport = "cbr"
rate = "2mbit"
"""


def cpu() -> float:
    """Processor time of this process in seconds: other work on the machine does not count."""
    used = os.times()
    return used.user + used.system


def axes(runs: int, seeds: int) -> dict[str, object]:
    """Two disciplines, ten rates, and the rest of the points on a third axis."""
    points = max(1, runs // seeds // 20)
    return {
        "discipline": ["red", "choke"],
        "groups.udp.rate": {"from": "500kbit", "to": "5mbit", "points": 10},
        "queue.red.max_p": [round(0.01 + 0.9 * n / points, 9) for n in range(points)],
    }


def fill(runs: int, seeds: int, folder: Path, scenario: fairdrop.Scenario) -> None:
    """The store as a sweep leaves it, without the simulations."""
    rows = packed(scenario.inner.simulate(None, 1, 1, False, None))
    study = make_study({"axes": axes(runs, seeds), "seeds": seeds}, "bench", Path(), scenario)
    with Store(folder) as store:
        campaign = Campaign(study, store, Progress())
        while jobs := campaign.next(1000):
            store.put([(job.key, rows) for job in jobs])


def measure(runs: int, seeds: int, folder: Path, dask: str | None, filled: bool) -> dict[str, float]:
    """One sweep, the same again, and its data set alone."""
    scenario = fairdrop.Scenario(SCENARIO)
    asked = {"out": folder, "axes": axes(runs, seeds), "seeds": seeds}
    started = cpu()
    if filled:
        fill(runs, seeds, folder, scenario)
        done = fairdrop.sweep(scenario, **asked)
    else:
        done = fairdrop.sweep(scenario, **asked, dask=dask)
    first = cpu() - started
    assert done.runs == runs and done.computed == (0 if filled else runs), (done.runs, done.computed)
    started = cpu()
    assert fairdrop.sweep(scenario, **asked).computed == 0
    again = cpu() - started
    study = make_study({"axes": axes(runs, seeds), "seeds": seeds}, "bench", Path(), scenario)
    with Store(folder) as store:
        campaign = Campaign(study, store, Progress())
        started = cpu()
        while campaign.next(1000):
            pass
        opened = cpu() - started
        started = cpu()
        dataset.write(campaign, folder)
        written = cpu() - started
    started = cpu()
    len(done.table)
    read = cpu() - started
    files = dataset.files(folder)
    return {
        "runs": runs, "first_s": first, "again_s": again, "points_s": opened, "data_set_s": written, "read_s": read,
        "store_bytes": (folder / "store.sqlite").stat().st_size, "data_bytes": sum(f.stat().st_size for f in files),
        "files": len(files), "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }  # fmt: skip


def main() -> None:
    """Measure each size, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=int, default=[1000, 3000, 10_000])
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each point (10)")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--filled", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory() as folder:
            if options.dask:
                from distributed import LocalCluster

                with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
                    address = cluster.scheduler_address
                    print(json.dumps(measure(options.one, options.seeds, Path(folder), address, False)))
            else:
                print(json.dumps(measure(options.one, options.seeds, Path(folder), None, options.filled)))
        return
    print(f"{os.cpu_count()} processors")
    print("runs | first s | again s | points s | data set s | read s | store MB | data MB | files | peak MB")
    for runs in options.runs:
        how = [*(["--dask"] if options.dask else []), *(["--filled"] if options.filled else [])]
        words = [sys.executable, __file__, "--one", str(runs), "--seeds", str(options.seeds), *how]
        found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        shown = [f"{found[name]:.1f}" for name in ("first_s", "again_s", "points_s", "data_set_s", "read_s")]
        sizes = [f"{found[name] / 1e6:.1f}" for name in ("store_bytes", "data_bytes")]
        last = [str(found["files"]), f"{found['peak_bytes'] / 1e6:.0f}"]
        print(" | ".join([str(runs), *shown, *sizes, *last]), flush=True)


if __name__ == "__main__":
    main()
