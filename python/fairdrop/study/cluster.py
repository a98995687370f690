"""A campaign on the workers of a Dask cluster (needs distributed: ``fairdrop[dask]``)."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EHOSTUNREACH
from itertools import islice
from typing import Any, TypeAlias

from fairdrop import _core
from fairdrop.engine import engine
from fairdrop.extension.registry import Registered, registered
from fairdrop.study.campaign import Campaign, Job
from fairdrop.study.definition import Point, Study
from fairdrop.study.runs import Opened, all_packed, open_points

# Of distributed, which has no types.
Client: TypeAlias = Any
Future: TypeAlias = Any

# A task lasts about this long: the scheduler spends 1 ms on each, and what a killed worker loses is done again.
_TASK_S = 1.0
# Tasks that wait at each thread of a worker, so that none is idle while results travel.
_AHEAD = 3
_MOST_RUNS = 2000

_KEPT = "what was finished is kept, and the same command goes on with it"


@dataclass(frozen=True)
class Task:
    """Runs for a worker."""

    #: Texts of scenario files, by name.
    texts: Mapping[str, str]
    #: User-defined extensions that they may name.
    parts: tuple[Registered, ...]
    #: File and settings of each point, then its seeds, each with the key of its run.
    points: Sequence[tuple[str, tuple[str, ...], Sequence[tuple[str, int]]]]


#: Packed rows by key, or why there are none.
Found = dict[str, tuple[bytes | None, str | None]]


def run_task(made_by: str, task: Task) -> tuple[Found, float]:
    """What a worker does: runs, one after the other; and the seconds that it took.

    Raises RuntimeError where the worker has another fairdrop, whose results would be other ones.
    """
    if engine() != made_by:
        raise RuntimeError(f"a worker has fairdrop {engine()}; valid: the same as here, {made_by}")
    started = time.monotonic()
    found: Found = {}
    scenarios = []
    for opened in open_points(task.texts, [(file, settings) for file, settings, _ in task.points], task.parts):
        if not isinstance(opened, Opened):
            raise opened
        scenarios.append(opened.scenario)
    points = zip(scenarios, [seeds for *_, seeds in task.points], strict=True)
    runs = iter([(key, scenario, seed) for scenario, seeds in points for key, seed in seeds])

    def take(most: int) -> tuple[list[str], list[_core.Scenario], list[int]]:
        some = list(islice(runs, most))
        return [key for key, *_ in some], [scenario for _, scenario, _ in some], [seed for *_, seed in some]

    def give(
        keys: Sequence[str], rows: Sequence[bytes | _core.Document | None], problems: Sequence[str | None]
    ) -> None:
        found.update(zip(keys, zip(all_packed(rows), problems, strict=True), strict=True))

    _core.work_through(take, give, 1)
    return found, time.monotonic() - started


def work(campaign: Campaign, address: Any) -> bool:
    """All jobs; false after Ctrl-C. ``address`` is that of a scheduler, or a client. Raises OSError."""
    with _client(address) as client:
        return _Sender(campaign, client).work()


class _Sender:
    """Keeps the workers busy with tasks of about the same length."""

    def __init__(self, campaign: Campaign, client: Client) -> None:
        self.campaign = campaign
        self.client = client
        self.jobs: dict[str, Job] = {}
        self.runs = 1
        self._tasks = 0

    def work(self) -> bool:
        import distributed

        done: Any = distributed.as_completed(  # type: ignore[no-untyped-call]
            self._tasks_for(self._room()), loop=self.client.loop
        )
        waiting = done.count()
        try:
            for future in done:
                waiting -= 1
                self._take_back(future)
                for task in self._tasks_for(self._room() - waiting):
                    done.add(task)
                    waiting += 1
        except KeyboardInterrupt:
            self.client.cancel(list(done.futures), force=True)
            return False
        return True

    def _room(self) -> int:
        threads: int = sum(self.client.nthreads().values())
        return _AHEAD * max(threads, 1)

    def _tasks_for(self, count: int) -> list[Future]:
        tasks = []
        for _ in range(max(count, 0)):
            jobs = self.campaign.next(self.runs)
            if not jobs:
                break
            self.jobs.update((job.key, job) for job in jobs)
            self._tasks += 1
            # A worker that is killed is not the fault of what it did.
            task = _task(self.campaign.study, jobs)
            tasks.append(self.client.submit(run_task, engine(), task, pure=False, retries=5))
        return tasks

    def _take_back(self, future: Future) -> None:
        found, seconds = self._result(future)
        jobs = [self.jobs.pop(key) for key in found]
        self.campaign.finished(jobs, [rows for rows, _ in found.values()], [why for _, why in found.values()])
        if seconds > 0:
            self.runs = max(1, min(_MOST_RUNS, 2 * self.runs, round(len(jobs) / seconds * _TASK_S)))

    def _result(self, future: Future) -> tuple[Found, float]:
        """Of a task. Raises ValueError where it has none, which is no fault of its runs."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        try:
            found: tuple[Found, float] = future.result()
        except FutureCancelledError:
            raise ValueError(f"dask: the scheduler has gone; {_KEPT}") from None
        except KilledWorker:
            raise ValueError(f"dask: a task was lost with every worker that had it; {_KEPT}") from None
        except RuntimeError as error:
            raise ValueError(f"dask: {error}") from None
        return found


def _task(study: Study, jobs: Sequence[Job]) -> Task:
    seeds: dict[int, list[tuple[str, int]]] = defaultdict(list)
    points: dict[int, Point] = {}
    for job in jobs:
        seeds[job.point.index].append((job.key, job.seed))
        points[job.point.index] = job.point
    texts = {point.file: study.texts[point.file] for point in points.values()}
    return Task(texts, registered(), [(point.file, point.settings, seeds[at]) for at, point in points.items()])


@contextmanager
def _client(address: Any) -> Iterator[Client]:
    try:
        import distributed
    except ImportError:
        raise ValueError('dask: distributed is not installed; valid: pip install "fairdrop[dask]"') from None
    if isinstance(address, distributed.Client):
        yield address
        return
    from distributed.comm.addressing import get_address_host_port

    # fairdrop reports the loss of the scheduler itself, without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)

    try:
        # A client that was never connected says so when it is thrown away, a minute later.
        get_address_host_port(str(address))
        client: Client = distributed.Client(str(address), set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        why = f"no scheduler answers ({error}); valid: such as tcp://host:8786"
        raise OSError(EHOSTUNREACH, why, str(address)) from None
    try:
        yield client
    finally:
        client.close()
