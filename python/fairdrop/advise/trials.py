"""Trials of settings on loads, and their cost."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairdrop.advise.candidates import Setting, settings_of
from fairdrop.advise.loads import LEAST_TRIPS, Load
from fairdrop.advise.score import Seen, score, seen
from fairdrop.progress import Progress
from fairdrop.study.observed import listed_points, observe
from fairdrop.study.store import Store

#: Simulated packets that a second of the time is counted as: about an eighth of what two idle cores do, so that others
#: may use them as well.
NOMINAL = 1_000_000.0
# Between the first seeds of the first look and of the check: they share none.
APART = 1000
# Packets of the run that measures how fast a machine is, and which part of that each of several threads has.
_MEASURED, _SHARED = 50_000, 0.8


class InterruptedTrialsError(Exception):
    """Ctrl-C: what was finished is in the store."""


@dataclass(frozen=True)
class Trial:
    """A run: what was seen, and its score."""

    seen: Seen
    score: float


def speed(load: Load, settings: Sequence[Setting], threads: int | None) -> float:
    """Packets a second that this machine simulates: of all settings, by a short run of each.

    Disciplines of the library are all about as fast as its first; extensions may be far slower.
    """
    scenario = load.scenario(LEAST_TRIPS)
    whole = (load.warm_up_s(LEAST_TRIPS) + load.measured_s(LEAST_TRIPS)) / load.link.packet_s
    part = min(whole, _MEASURED)
    short_s = round(part * load.link.packet_s, 9)
    # A run costs more than its packets, here and in trials.
    packets = part + load.effort(LEAST_TRIPS) - whole
    # Of the processor: what else it does just now is no part of its speed.
    begin = time.process_time()
    for setting in settings:
        length = (f"duration={short_s!r}", f"warm_up={short_s / 2!r}")
        scenario.with_settings(*length, *setting.scenario_settings).run(threads=1)
    workers = threads or os.cpu_count() or 1
    of_one = len(settings) * packets / max(time.process_time() - begin, 1e-6)
    return of_one * (1 if workers == 1 else _SHARED * workers)


@dataclass
class Bench:
    """Does trials; every run is in the store afterwards."""

    target: str
    seed: int
    store: Store
    progress: Progress
    threads: int | None
    computed: int = 0
    _done: dict[tuple[str, Setting, int, int], int] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Runs that were asked for, those that the store had included."""
        return sum(self._done.values())

    def trials(self, load: Load, settings: Sequence[Setting], seeds: int, trips: int, first: int) -> list[list[Trial]]:
        """By setting and seed. Raises InterruptedTrialsError, or ValueError for runs that failed."""
        # Others are measured against DropTail's use of the link.
        reference = settings_of("droptail", load.link, load.profile)[0]
        every = list(dict.fromkeys([*settings, reference]))
        scenario = load.scenario(trips).with_settings(f"seed={first}")
        study = listed_points(load.name, scenario, [setting.scenario_settings for setting in every], seeds)
        found = observe(study, self.store, self.progress, self.threads, self.progress.total)
        self.computed += found.computed
        self._done.update({(load.name, setting, trips, first): seeds for setting in every})
        if found.problems:
            raise ValueError(f"{load.name}: {found.problems[0]}")
        if not found.complete:
            raise InterruptedTrialsError
        looked = [[seen(run, load, trips) for run in runs] for runs in found.points]
        used = [one.used for one in looked[every.index(reference)]]
        return [
            [Trial(one, score(self.target, one, load, used[place])) for place, one in enumerate(runs)]
            for runs in looked[: len(settings)]
        ]
