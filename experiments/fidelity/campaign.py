"""Live runs of every cell, several at a time; valid runs are not made again."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from experiments.fidelity.cells import LIVE, OF_ALL, RAW, SEEDS, SEEDS_OF_VARIANTS, Cell, cells, explained
from fairdrop.live import find_program


def cost(cell: Cell) -> float:
    """About how much of a processor a run takes: packets are what costs."""
    return 0.03 + 0.018e-3 * cell.rate_kbps


@dataclass(frozen=True)
class Job:
    """A run of a cell."""

    cell: Cell
    seed: int
    folder: Path
    sysctls: tuple[str, ...] = ()

    @property
    def out(self) -> Path:
        return self.folder / f"{self.cell.name}-{self.seed}.json"

    def is_done(self) -> bool:
        return self.out.exists() and bool(json.loads(self.out.read_text())["valid"])

    def keep_invalid(self) -> None:
        """Moves an invalid run aside, where it is counted."""
        if self.out.exists():
            aside = self.folder / "invalid"
            aside.mkdir(exist_ok=True)
            self.out.rename(aside / f"{self.out.stem}-{len(list(aside.glob(f'{self.out.stem}-*')))}.json")

    def start(self, program: str) -> subprocess.Popen[bytes]:
        self.keep_invalid()
        settings = [word for each in self.cell.all_settings for word in ("--set", each)]
        settings += [word for each in self.sysctls for word in ("--sysctl", each)]
        words = [program, "lab", str(self.cell.scenario), *settings, "--seed", str(self.seed), "--out", str(self.out)]
        with self.out.with_suffix(".err").open("wb") as err:
            return subprocess.Popen(words, stderr=err, process_group=0)


def campaign(jobs: list[Job], program: str, budget: float, until: float) -> None:
    """Run `jobs` so that together they take about `budget` processors; none starts after `until`."""
    running: dict[subprocess.Popen[bytes], Job] = {}
    waiting, ended = list(jobs), Counter[str]()
    try:
        while running or (waiting and time.time() < until):
            used = sum(cost(job.cell) for job in running.values())
            fits = next((job for job in waiting if used + cost(job.cell) <= budget), None)
            if fits is not None and time.time() < until:
                waiting.remove(fits)
                running[fits.start(program)] = fits
            time.sleep(0.5)
            for process in [process for process in running if process.poll() is not None]:
                job = running.pop(process)
                how = "failed" if process.returncode else "valid" if job.is_done() else "invalid"
                ended[how] += 1
                print(
                    f"{time.strftime('%H:%M:%S')} {job.out.stem} {how}; {dict(ended)}, {len(waiting)} wait", flush=True
                )
    finally:
        for process in running:
            process.terminate()


def jobs_of(name: str, only: Collection[Cell]) -> list[Job]:
    """The runs of a variant. By replication: whenever it ends, every cell has as many."""
    folder = RAW / re.sub("[^a-zA-Z0-9]+", "-", name)
    folder.mkdir(parents=True, exist_ok=True)
    seeds = SEEDS if name in OF_ALL else SEEDS_OF_VARIANTS
    return [Job(cell, seed, folder, LIVE[name]) for seed in seeds for cell in only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=0.9, help="processors to take together (%(default)s)")
    parser.add_argument("--minutes", type=float, default=600.0, help="start no run later than this (%(default)s)")
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument(
        "--variants",
        action="store_true",
        help="the experiments on causes, which are of some cells, and not the table's",
    )
    options = parser.parse_args()
    # As Ctrl-C: what runs is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    table, some = cells(), explained()
    if options.variants:
        each = [jobs_of(name, some) for name in LIVE if name not in OF_ALL]
        jobs = sorted((job for jobs in each for job in jobs), key=lambda job: job.seed)
    else:
        jobs = jobs_of("live", table)
    jobs = [job for job in jobs if options.only in job.cell.name]
    todo = [job for job in jobs if not job.is_done()]
    print(f"{len(todo)} of {len(jobs)} runs to do, process {os.getpid()}", flush=True)
    campaign(todo, find_program(), options.budget, time.time() + 60 * options.minutes)


if __name__ == "__main__":
    main()
