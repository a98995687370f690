"""The choice among several settings: of those level with the best, the most widely deployed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, log
from statistics import fmean

from fairdrop.advise.candidates import USUAL, Setting
from fairdrop.estimate import Estimate, estimate
from fairdrop.significance import LEVEL, Tested, paired

#: A score that is worse by less than this part is as good.
MARGIN = 0.1
# So few seeds hardly show anything, but what is worse by more than this part is no tie.
_FEW, _MUCH = 3, 0.5
# How much worse a setting may be in the first look and go on beside another of its discipline.
_KEPT = 0.25
#: Disciplines that go on after the first look: the best, and those that are deployed most.
BEST, DEPLOYED = 3, 2


@dataclass(frozen=True)
class Standing:
    """A setting beside the best."""

    setting: Setting
    #: Geometric mean of its scores over loads, by seed, as a logarithm.
    logs: tuple[float, ...]
    #: How much its logarithm is above that of the best; None for the best.
    behind: Tested | None

    @property
    def score(self) -> Estimate:
        """Geometric mean over loads, mean over seeds."""
        found = estimate([exp(value) for value in self.logs])
        assert found is not None
        return found

    @property
    def worse(self) -> Estimate | None:
        """Relative excess of its score over the best; None for the best."""
        if self.behind is None:
            return None
        found = self.behind.difference
        return Estimate(expm1(found.mean), None if found.half is None else exp(found.mean) * found.half, found.n)

    @property
    def is_level(self) -> bool:
        """Whether it counts as being as good as the best."""
        if self.behind is None or self.behind.difference.mean <= log(1 + MARGIN):
            return True
        if len(self.logs) < _FEW and self.behind.difference.mean > log(1 + _MUCH):
            return False
        return not self.is_significant

    @property
    def is_significant(self) -> bool:
        """Whether its difference from the best is."""
        return self.behind is not None and self.behind.p is not None and self.behind.p <= LEVEL

    @property
    def is_open(self) -> bool:
        """Whether more seeds might change that: its interval holds the margin, or there is none."""
        if self.behind is None or not self.is_level:
            return False
        return self.behind.difference.half is None or self.behind.difference.high > log(1 + MARGIN)


def standings(logs: Mapping[Setting, Sequence[float]]) -> list[Standing]:
    """The best first."""
    order = sorted(logs, key=lambda setting: fmean(logs[setting]))
    first = logs[order[0]]
    return [
        Standing(setting, tuple(logs[setting]), None if setting == order[0] else paired(first, logs[setting]))
        for setting in order
    ]


def chosen(found: Sequence[Standing], order: Sequence[str]) -> Standing:
    """The most widely deployed of those that are level with the best."""
    return min((one for one in found if one.is_level), key=lambda one: order.index(one.setting.discipline))


def by_discipline(logs: Mapping[Setting, Sequence[float]]) -> dict[Setting, Sequence[float]]:
    """One setting of each discipline: its defaults, unless other parameters are better and the defaults not level."""
    found: dict[Setting, Sequence[float]] = {}
    for name in dict.fromkeys(setting.discipline for setting in logs):
        own = {setting: values for setting, values in logs.items() if setting.discipline == name}
        level = [one.setting for one in standings(own) if one.is_level]
        setting = next((one for one in level if one.variant == USUAL), level[0])
        found[setting] = own[setting]
    return found


def goes_on(logs: Mapping[Setting, Sequence[float]], order: Sequence[str]) -> list[Setting]:
    """Settings for the check: those of the best disciplines and of those that are deployed most, in that order."""
    mean = {setting: fmean(values) for setting, values in logs.items()}
    best: dict[str, float] = {}
    for setting, value in mean.items():
        best[setting.discipline] = min(value, best.get(setting.discipline, value))
    names = sorted(best, key=lambda name: best[name])[:BEST]
    names += [name for name in order if name in best and name not in names and name in order[:DEPLOYED]]
    return [
        setting
        for name in names
        for setting in mean
        if setting.discipline == name and mean[setting] - best[name] <= log(1 + _KEPT)
    ]
