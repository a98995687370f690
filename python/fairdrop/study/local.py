"""A campaign on the cores of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from fairdrop import _core
from fairdrop.study.axes import whole
from fairdrop.study.campaign import Campaign, Job
from fairdrop.study.runs import packed

_MOST_THREADS = 1_000_000


def work(campaign: Campaign, threads: int | None, run_timeout: float | None = None) -> bool:
    """All jobs; false after Ctrl-C, when what was finished is in the store. Raises StudyError for wrong ``threads``.

    A run that takes longer than ``run_timeout``, in seconds, is ended.
    """
    if threads is not None:
        whole("threads", threads, 1, _MOST_THREADS)

    def take(most: int) -> list[tuple[Job, _core.Scenario, int]]:
        return [(job, job.scenario.inner, job.seed) for job in campaign.next(most)]

    def give(found: Sequence[tuple[Job, str | _core.Document | None, str | None]]) -> None:
        campaign.finished([(job, None if rows is None else packed(rows), why) for job, rows, why in found])

    try:
        while _core.work_through(take, give, threads, run_timeout):
            if not campaign.has_more:
                return True
    except KeyboardInterrupt:
        return False
    return False
