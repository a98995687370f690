"""A campaign on the cores of this machine."""

from __future__ import annotations

from fairdrop import _core
from fairdrop.study.axes import whole
from fairdrop.study.campaign import Campaign, Job
from fairdrop.study.runs import rows_of

_MOST_THREADS = 1_000_000


def work(campaign: Campaign, threads: int | None, run_timeout: float | None = None) -> bool:
    """All jobs; false after Ctrl-C, when what was finished is in the store. Raises StudyError for wrong ``threads``.

    A run that takes longer than ``run_timeout``, in seconds, is ended.
    """
    if threads is not None:
        whole("threads", threads, 1, _MOST_THREADS)

    def take() -> tuple[Job, _core.Scenario, int] | None:
        job = campaign.next()
        return None if job is None else (job, job.scenario.inner, job.seed)

    def give(job: Job, document: _core.Document | None, why: str | None) -> None:
        campaign.finished(job, None if document is None else rows_of(document), why)

    try:
        while _core.work_through(take, give, threads, run_timeout):
            if not campaign.has_more:
                return True
    except KeyboardInterrupt:
        return False
    return False
