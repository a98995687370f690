"""What changed between two results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from fairdrop.document import (
    Document,
    Json,
    Run,
    disciplines,
    document_of,
    group_names,
    of_group,
    reference_queue,
    runs_of,
)
from fairdrop.estimate import Estimate, estimate, resolution_of
from fairdrop.exact import FieldChange, field_changes
from fairdrop.significance import Grid, Tested, holm, paired, unpaired

__all__ = ["Change", "Changes", "changes", "diff"]

#: Outcomes, with the exit status that each has.
OUTCOMES = {"identical": 0, "significant": 1, "different": 3}

Value = Callable[[Run], float | None]
_COUNTS = ("retransmissions", "timeouts", "fast_retransmits")
_GROUP = ("share", "throughput_bps", "goodput_bps", "drop_fraction", "jain_index", *_COUNTS)
_RUN = ("utilisation", "jain_index", "largest_over_fair_share")
_QUEUE = ("mean_packets", "max_packets", "drop_fraction")
_SOJOURN = ("mean", "p50", "p90", "p99", "p999", "max")
#: Who gets how much, how full link and queue are, and how long packets wait: tested by themselves.
PRIMARY = ("share", "utilisation", "queue_mean_packets", "queue_sojourn_p99_s")
#: Whole numbers.
_WHOLE = (*_COUNTS, "queue_max_packets")


@dataclass(frozen=True)
class Change:
    """A measure in both results. ``difference`` is after minus before, with its 95 % interval where there is one."""

    discipline: str
    #: A group of flows, or None for the link.
    group: str | None
    measure: str
    #: Tested among the few that matter first, not among the others.
    primary: bool
    before: Estimate
    after: Estimate
    difference: Estimate
    #: Differences were taken seed by seed.
    paired: bool
    #: Whether any digit is another one.
    differs: bool
    #: Chance of at least this difference where there is none. None where there is nothing to test: equal values, a
    #: single seed in both, and a quantile that differs by no more than its bin.
    p: float | None
    #: Whether the difference is significant at 5 % for all measures of its family together.
    significant: bool
    #: The difference that these seeds show with a chance of 80 %, were it the only one; None where nothing varies.
    detectable: float | None


@dataclass(frozen=True)
class Changes:
    """Every measure that both results have, and the measures of only one."""

    measures: Sequence[Change]
    #: Disciplines and groups that are in one result alone, in words.
    apart: Sequence[str]
    #: Every field of the runs that differs; None unless asked for with ``exact``.
    fields: Sequence[FieldChange] | None = None

    @property
    def outcome(self) -> str:
        """``identical``, ``significant``, or ``different`` where something differs and nothing significantly.

        What only one result has is a significant change.
        """
        if self.apart or any(one.significant for one in self.measures):
            return "significant"
        return "different" if self.fields or any(one.differs for one in self.measures) else "identical"

    @property
    def status(self) -> int:
        """Exit status of ``fairdrop diff``: 0 identical, 1 significant, 3 different; with ``exact`` 0 or 1."""
        return OUTCOMES[self.outcome] if self.fields is None else int(self.outcome != "identical")

    def count(self, of: str, primary: bool | None = None) -> int:
        """Measures with ``significant`` or ``differs``: among the primary ones, the others, or all."""
        return sum(getattr(one, of) for one in self.measures if primary in (None, one.primary))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""

        def plain(value: Estimate) -> dict[str, Any]:
            return {"mean": value.mean, "half": value.half, "n": value.n}

        found: dict[str, Any] = {
            "outcome": self.outcome,
            "status": self.status,
            "differ": self.count("differs"),
            "significant": self.count("significant"),
            "apart": list(self.apart),
            "measures": [
                {
                    "discipline": one.discipline, "group": one.group, "measure": one.measure, "primary": one.primary,
                    "before": plain(one.before), "after": plain(one.after), "difference": plain(one.difference),
                    "paired": one.paired, "differs": one.differs, "p": one.p, "significant": one.significant,
                    "detectable": one.detectable,
                }
                for one in self.measures
            ],
        }  # fmt: skip
        if self.fields is not None:
            found["fields"] = [{"field": one.field, "before": one.before, "after": one.after} for one in self.fields]
        return found


def changes(before: Json | Document, after: Json | Document, *, exact: bool = False) -> Changes:
    """Compare two result documents, discipline by discipline; one each are compared whatever they are.

    Where both have the same seeds, their differences are tested seed by seed (Student's t); otherwise the means are
    (Welch). A measure has changed significantly at 5 % for all measures of its family together (Holm): the primary ones
    are one family, the others another, so that a false alarm in either has a chance of 5 %. With a single seed in both
    there is no test. ``exact`` compares every field of the runs as well.

    Raises ValueError where nothing can be compared.
    """
    before, after = document_of(before), document_of(after)
    pairs, apart = _pairs(before, after)
    found: list[tuple[Change, Tested]] = []
    for name, one, other in pairs:
        groups, other_groups = group_names(one), group_names(other)
        for where, some, rest in (("A", groups, other_groups), ("B", other_groups, groups)):
            apart += [f"{name}: group {group} is only in {where}" for group in some if group not in rest]
        for group in [*(group for group in groups if group in other_groups), None]:
            for measure, value in _measures(group).items():
                change = _compared(name, group, measure, one, other, value)
                if change is not None:
                    found.append(change)
    if not found:
        raise ValueError("the results have no run to compare; valid: results with at least one discipline in common")
    return Changes(_judged(found), apart, list(field_changes(before.source, after.source)) if exact else None)


def diff(before: Any, after: Any, *, exact: bool = False) -> Changes:
    """What changed between two results, or between the folders or files that hold them.

    Every measure of groups, link and queue is compared, discipline by discipline, seed by seed where both have the same
    seeds. ``outcome`` is ``identical`` where every value is the same, ``significant`` where a difference is significant
    at 5 % (Holm's procedure, the primary measures by themselves), and ``different`` where something differs and nothing
    significantly; ``detectable`` of a measure is the change that these seeds would show. ``exact`` compares every field
    of the runs as well. Raises OSError, and ValueError where nothing can be compared.
    """
    from fairdrop.result import read_document

    documents = [one.document if hasattr(one, "document") else read_document(one) for one in (before, after)]
    return changes(*documents, exact=exact)


def _pairs(before: Document, after: Document) -> tuple[list[tuple[str, list[Run], list[Run]]], list[str]]:
    names, others = disciplines(before), disciplines(after)
    if len(names) == len(others) == 1 and names != others:
        return [(f"{names[0]} → {others[0]}", runs_of(before, names[0]), runs_of(after, others[0]))], []
    both = [(name, runs_of(before, name), runs_of(after, name)) for name in names if name in others]
    apart = [f"{name} is only in A" for name in names if name not in others]
    return both, [*apart, *(f"{name} is only in B" for name in others if name not in names)]


def _measures(group: str | None) -> dict[str, Value]:
    if group is not None:
        return {field: of_group(group, field) for field in _GROUP}
    return {
        **{field: _of_run(field) for field in _RUN},
        **{f"queue_{field}": _of_queue(field) for field in _QUEUE},
        **{f"queue_sojourn_{field}_s": _of_queue(f"sojourn_s.{field}") for field in _SOJOURN},
    }


def _of_run(field: str) -> Value:
    return attrgetter(field)


def _of_queue(path: str) -> Value:
    def value(run: Run) -> float | None:
        queue = reference_queue(run)
        found = None if queue is None else attrgetter(path)(queue)
        return None if found is None else float(found)

    return value


def _compared(
    discipline: str, group: str | None, measure: str, before: Sequence[Run], after: Sequence[Run], value: Value
) -> tuple[Change, Tested] | None:
    one, other = (
        {run.seed: float(found) for run in sorted(some, key=lambda run: run.seed)
         if (found := value(run)) is not None}
        for some in (before, after)
    )  # fmt: skip
    resolution = resolution_of(measure)
    means = [estimate(values.values(), resolution=resolution) for values in (one, other)]
    if means[0] is None or means[1] is None:
        return None
    step = resolution * max(abs(mean.mean) for mean in means if mean is not None)
    grid = Grid(1.0) if measure in _WHOLE else Grid(step, rounded=True)
    same_seeds = one.keys() == other.keys()
    tested = (paired if same_seeds else unpaired)(list(one.values()), list(other.values()), grid)
    differs = one != other if same_seeds else set(one.values()) != set(other.values())
    change = Change(
        discipline, group, measure, measure in PRIMARY, means[0], means[1], tested.difference, same_seeds, differs,
        tested.p if differs else None, False, None,
    )  # fmt: skip
    return change, tested


def _judged(found: Sequence[tuple[Change, Tested]]) -> list[Change]:
    """Holm's procedure for the primary measures, and for the others."""
    judged = [change for change, _ in found]
    for primary in (True, False):
        family = [number for number, one in enumerate(judged) if one.primary == primary]
        chances = [judged[number].p for number in family]
        tests = sum(p is not None for p in chances)
        for number, significant in zip(family, holm(chances), strict=True):
            detectable = found[number][1].detectable(tests)
            judged[number] = replace(judged[number], significant=significant, detectable=detectable)
    return judged
