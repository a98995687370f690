"""A campaign on the cores of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from fairdrop import _core
from fairdrop.study.axes import whole
from fairdrop.study.campaign import Campaign, Job
from fairdrop.study.runs import all_packed

_MOST_THREADS = 1_000_000


def work(campaign: Campaign, threads: int | None, run_timeout: float | None = None) -> bool:
    """All jobs; false after Ctrl-C, when what was finished is in the store. Raises StudyError for wrong ``threads``.

    A run that takes longer than ``run_timeout``, in seconds, is ended.
    """
    if threads is not None:
        whole("threads", threads, 1, _MOST_THREADS)

    def take(most: int) -> tuple[list[Job], list[_core.Scenario], list[int]]:
        jobs = campaign.next(most)
        return jobs, [job.scenario for job in jobs], [job.seed for job in jobs]

    def give(
        jobs: Sequence[Job], found: Sequence[bytes | _core.Document | None], problems: Sequence[str | None]
    ) -> None:
        campaign.finished(jobs, all_packed(found), problems)

    try:
        while _core.work_through(take, give, threads, run_timeout):
            if not campaign.has_more:
                return True
    except KeyboardInterrupt:
        return False
    return False
