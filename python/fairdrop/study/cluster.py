"""A campaign on the workers of a Dask cluster (needs distributed: ``fairdrop[dask]``)."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EHOSTUNREACH
from itertools import islice
from typing import Any, TypeAlias

from fairdrop import _core
from fairdrop.engine import engine
from fairdrop.extension.registry import Registered
from fairdrop.scenario import Scenario
from fairdrop.study.campaign import Campaign, Job
from fairdrop.study.runs import packed

# Of distributed, which has no types.
Client: TypeAlias = Any
Future: TypeAlias = Any

# A task lasts about this long: the scheduler spends 1 ms on each, and what a killed worker loses is done again.
_TASK_S = 1.0
# Tasks that wait at each thread of a worker, so that none is idle while results travel.
_AHEAD = 3
_MOST_RUNS = 2000

_KEPT = "what was finished is kept, and the same command goes on with it"

#: Scenario as text, file, settings and parts; then seeds, each with what the caller calls it.
Work = tuple[str, str, tuple[str, ...], tuple[Registered, ...], list[tuple[str, int]]]
#: Rows, or why there are none.
Found = dict[str, tuple[bytes | None, str | None]]


def run_task(made_by: str, works: Sequence[Work]) -> tuple[Found, float]:
    """What a worker does: runs, one after the other; and the seconds that it took.

    Raises RuntimeError where the worker has another fairdrop, whose results would be other ones.
    """
    if engine() != made_by:
        raise RuntimeError(f"a worker has fairdrop {engine()}; valid: the same as here, {made_by}")
    started = time.monotonic()
    found: Found = {}
    for text, file, settings, parts, seeds in works:
        scenario = Scenario(text, file, settings, parts)
        queue = iter(seeds)

        def take(
            most: int, queue: Iterator[tuple[str, int]] = queue, scenario: Scenario = scenario
        ) -> list[tuple[str, _core.Scenario, int]]:
            return [(key, scenario.inner, seed) for key, seed in islice(queue, most)]

        def give(done: Sequence[tuple[str, str | _core.Document | None, str | None]]) -> None:
            found.update((key, (None if rows is None else packed(rows), why)) for key, rows, why in done)

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
            tasks.append(self.client.submit(run_task, engine(), _works(jobs), pure=False, retries=5))
        return tasks

    def _take_back(self, future: Future) -> None:
        found, seconds = self._result(future)
        back = [(self.jobs.pop(key), packed, why) for key, (packed, why) in found.items()]
        self.campaign.finished(back)
        if seconds > 0:
            self.runs = max(1, min(_MOST_RUNS, 2 * self.runs, round(len(back) / seconds * _TASK_S)))

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


def _works(jobs: Sequence[Job]) -> list[Work]:
    seeds: dict[int, list[tuple[str, int]]] = defaultdict(list)
    scenarios = {}
    for job in jobs:
        seeds[job.point.index].append((job.key, job.seed))
        scenarios[job.point.index] = job.scenario
    return [(one.text, one.file, one.settings, one.parts, seeds[index]) for index, one in scenarios.items()]


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
