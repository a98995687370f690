"""What the runs of a study measured, straight from its store: for those that ask many small studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairdrop.progress import Progress
from fairdrop.scenario import Scenario
from fairdrop.study import local
from fairdrop.study.campaign import Campaign
from fairdrop.study.definition import Design, Point, Study
from fairdrop.study.runs import GROUP_COLUMNS, LINK_COLUMNS, unpack
from fairdrop.study.store import Store

_GROUP_NAMES = [name for name, _ in GROUP_COLUMNS]
_LINK_NAMES = [name for name, _ in LINK_COLUMNS]


@dataclass(frozen=True)
class Observed:
    """A run: measures of the link, and of each group of flows, under the names of their columns."""

    seed: int
    link: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """Runs of each point of a study, seeds ascending; those that are missing failed or were not begun."""

    points: Sequence[Sequence[Observed]]
    complete: bool
    problems: Sequence[str]
    #: Runs that were simulated now; the others were in the store.
    computed: int


def observe(study: Study, store: Store, progress: Progress, threads: int | None, total: float | None = None) -> Outcome:
    """Do the runs that the store does not have; ``total`` is the work that ``progress`` is a part of, in runs.

    Raises ScenarioError before anything is simulated where a point is wrong.
    """
    campaign = Campaign(study, store, progress)
    if total is not None:
        progress.total = total
    campaign.check()
    finished = local.work(campaign, threads)
    return Outcome(
        [_runs(campaign, store, point.index) for point in study.points],
        finished and campaign.complete,
        list(campaign.problems),
        campaign.computed,
    )


def _runs(campaign: Campaign, store: Store, index: int) -> list[Observed]:
    keys = campaign.keys(index)
    found = store.get([key for _, key in keys])
    return [_observed(seed, found[key]) for seed, key in keys if key in found]


def _observed(seed: int, packed: bytes) -> Observed:
    link, groups = unpack(packed)
    rows = [dict(zip(_GROUP_NAMES, row, strict=True)) for row in groups]
    return Observed(seed, dict(zip(_LINK_NAMES, link, strict=True)), {str(row["group"]): row for row in rows})


@dataclass(frozen=True)
class Listed(Study):
    """A study whose points are named one by one, each by its settings."""

    each: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def points(self) -> list[Point]:
        """In the order of ``each``."""
        file = next(iter(self.texts))
        return [Point(number, (), file, (*self.settings, *settings)) for number, settings in enumerate(self.each)]


def listed_points(name: str, scenario: Scenario, each: Sequence[Sequence[str]], seeds: int) -> Listed:
    """A study of a scenario under lists of settings."""
    texts, settings = {scenario.file: scenario.text}, scenario.settings
    return Listed(name, texts, settings, (), Design(), seeds, None, "", {}, each=tuple(tuple(one) for one in each))
