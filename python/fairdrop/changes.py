"""What changed between two results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from fairdrop.document import Document, Run, disciplines, group_names, group_of, reference_queue, runs_of
from fairdrop.estimate import CONFIDENCE, Estimate, estimate, t_quantile, welch

__all__ = ["Change", "Changes", "changes", "diff"]

Value = Callable[[Run], float | None]
_GROUP = (
    "share", "throughput_bps", "goodput_bps", "drop_fraction", "jain_index", "retransmissions", "timeouts",
    "fast_retransmits",
)  # fmt: skip
_RUN = ("utilisation", "jain_index", "largest_over_fair_share")
_QUEUE = ("mean_packets", "max_packets", "drop_fraction")
_SOJOURN = ("mean", "p50", "p90", "p99", "p999", "max")


@dataclass(frozen=True)
class Change:
    """A measure in both results. ``difference`` is after minus before, with its 95 % interval where there is one."""

    discipline: str
    #: A group of flows, or None for the link.
    group: str | None
    measure: str
    before: Estimate
    after: Estimate
    difference: Estimate
    #: Differences were taken seed by seed.
    paired: bool
    #: Chance of at least this difference where there is none; None with a single seed in both.
    p: float | None
    changed: bool


@dataclass(frozen=True)
class Changes:
    """Every measure that both results have, and what only one of them has."""

    measures: Sequence[Change]
    #: Disciplines and groups that are in one result alone, in words.
    apart: Sequence[str]

    @property
    def changed(self) -> bool:
        """Whether anything did."""
        return bool(self.apart) or any(one.changed for one in self.measures)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""

        def plain(value: Estimate) -> dict[str, Any]:
            return {"mean": value.mean, "half": value.half, "n": value.n}

        return {
            "changed": self.changed,
            "apart": list(self.apart),
            "measures": [
                {
                    "discipline": one.discipline, "group": one.group, "measure": one.measure,
                    "before": plain(one.before), "after": plain(one.after), "difference": plain(one.difference),
                    "paired": one.paired, "p": one.p, "changed": one.changed,
                }
                for one in self.measures
            ],
        }  # fmt: skip


def changes(before: Document, after: Document) -> Changes:
    """Compare two result documents, discipline by discipline; one each are compared whatever they are.

    Where both have the same seeds, differences are taken seed by seed; otherwise they are those of means (Welch). A
    measure has changed where its difference is significant at 5 % for all measures together (S. Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979), and with a single seed
    in both where it is another number. So runs that are the same are never told to have changed.

    Raises ValueError where nothing can be compared.
    """
    pairs, apart = _pairs(before, after)
    found: list[Change] = []
    for name, one, other in pairs:
        groups, other_groups = group_names({"runs": one}), group_names({"runs": other})
        for where, some, rest in (("A", groups, other_groups), ("B", other_groups, groups)):
            apart += [f"{name}: group {group} is only in {where}" for group in some if group not in rest]
        for group in [*(group for group in groups if group in other_groups), None]:
            for measure, value in _measures(group).items():
                change = _compared(name, group, measure, one, other, value)
                if change is not None:
                    found.append(change)
    if not found:
        raise ValueError("the results have no run to compare; valid: results with at least one discipline in common")
    return Changes(_judged(found), apart)


def diff(before: Any, after: Any) -> Changes:
    """What changed between two results, or between the folders or files that hold them.

    Every measure of groups, link and queue is compared, discipline by discipline, seed by seed where both have the same
    seeds and by Welch's interval of the means otherwise. ``changed`` is true where anything is significant at 5 % for
    all measures together (Holm's procedure). Raises OSError, and ValueError where nothing can be compared.
    """
    from fairdrop.result import read_document

    documents = [one.document if hasattr(one, "document") else read_document(one) for one in (before, after)]
    return changes(*documents)


def _pairs(before: Document, after: Document) -> tuple[list[tuple[str, list[Run], list[Run]]], list[str]]:
    names, others = disciplines(before), disciplines(after)
    if len(names) == len(others) == 1 and names != others:
        return [(f"{names[0]} → {others[0]}", runs_of(before, names[0]), runs_of(after, others[0]))], []
    both = [(name, runs_of(before, name), runs_of(after, name)) for name in names if name in others]
    apart = [f"{name} is only in A" for name in names if name not in others]
    return both, [*apart, *(f"{name} is only in B" for name in others if name not in names)]


def _measures(group: str | None) -> dict[str, Value]:
    if group is not None:
        return {field: _of_group(group, field) for field in _GROUP}
    return {
        **{field: _of_run(field) for field in _RUN},
        **{f"queue_{field}": _of_queue((field,)) for field in _QUEUE},
        **{f"queue_sojourn_{field}_s": _of_queue(("sojourn_s", field)) for field in _SOJOURN},
    }


def _of_group(group: str, field: str) -> Value:
    return lambda run: (group_of(run, group) or {}).get(field)


def _of_run(field: str) -> Value:
    return lambda run: run.get(field)


def _of_queue(path: Sequence[str]) -> Value:
    def value(run: Run) -> float | None:
        found: Any = reference_queue(run)
        for name in path:
            found = None if found is None else found.get(name)
        return None if found is None else float(found)

    return value


def _compared(
    discipline: str, group: str | None, measure: str, before: Sequence[Run], after: Sequence[Run], value: Value
) -> Change | None:
    one, other = (
        {int(run["seed"]): found for run in some if (found := value(run)) is not None} for some in (before, after)
    )
    if not one or not other:
        return None
    means = [estimate(values.values()) for values in (one, other)]
    paired = one.keys() == other.keys()
    if paired:
        differences = [other[seed] - one[seed] for seed in one]
        between, p = estimate(differences), _p_of_pairs(differences)
    else:
        between, p = _of_means(list(one.values()), list(other.values()))
    assert means[0] is not None and means[1] is not None and between is not None
    same = [one[seed] for seed in sorted(one)] == [other[seed] for seed in sorted(other)]
    return Change(discipline, group, measure, means[0], means[1], between, paired, p, p is None and not same)


def _p_of_pairs(differences: Sequence[float]) -> float | None:
    """Two-sided, of Student's t; None of a single difference."""
    if len(differences) < 2:
        return None
    spread = stdev(differences)
    if spread == 0:
        return 1.0 if differences[0] == 0 else 0.0
    return _two_sided(fmean(differences) / (spread / sqrt(len(differences))), len(differences) - 1)


def _of_means(one: Sequence[float], other: Sequence[float]) -> tuple[Estimate, float | None]:
    """The difference of two means with its interval, and its chance: Welch's.

    Of a single value beside several it is Student's, as if both varied alike; of two single ones there is neither.
    """
    mean = fmean(other) - fmean(one)
    fewer, more = sorted((len(one), len(other)))
    if more < 2:
        return Estimate(mean, None, 1), None
    if fewer < 2:
        error, degrees = stdev(one if len(one) == more else other) * sqrt(1 + 1 / more), more - 1.0
    else:
        error, degrees = welch(one, other)
    if error == 0:
        return Estimate(mean, 0.0, fewer), 1.0 if mean == 0 else 0.0
    return Estimate(mean, t_quantile(degrees) * error, fewer), _two_sided(mean / error, degrees)


def _two_sided(statistic: float, degrees: float) -> float:
    from scipy.stats import t

    return float(2 * t.sf(abs(statistic), degrees))


def _judged(found: Sequence[Change]) -> list[Change]:
    """Holm's procedure: the smallest chance against 5 % over all of them, the next against 5 % over the rest, ..."""
    order = sorted((n for n, one in enumerate(found) if one.p is not None), key=lambda n: found[n].p or 0.0)
    significant: set[int] = set()
    for rank, number in enumerate(order):
        p = found[number].p
        if p is None or p > (1 - CONFIDENCE) / (len(order) - rank):
            break
        significant.add(number)
    return [
        one if one.p is None else Change(**{**one.__dict__, "changed": n in significant}) for n, one in enumerate(found)
    ]
