"""The confidence in a choice, in words that do not contradict it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1

from fairdrop.advise.judge import MARGIN, Standing
from fairdrop.advise.plan import Stage
from fairdrop.wording.disciplines import discipline_name
from fairdrop.wording.phrases import count, joined

# A check of fewer seeds, or of fewer round trips, leaves more to chance than a high level may.
_SEEDS, _TRIPS = 3, 40
_MORE = "more time (--time) may separate them"


@dataclass(frozen=True)
class Sureness:
    """``level``: high, moderate, low, or none where nothing was simulated; and why."""

    level: str
    why: Sequence[str]


def unsure(least_s: int, cut: bool) -> Sureness:
    """Without any trial, since the time is below ``least_s`` or, where it is ``cut``, the machine too slow."""
    why = "on this machine no trial fits into the time" if cut else f"no trial fits into a time below {least_s} s"
    return Sureness("none", [f"{why} (--time): what is deployed most, with what is published for such round trips"])


def sureness(
    found: Sequence[Standing], choice: str, stage: Stage, loads: int, left_out: Sequence[str] = ()
) -> Sureness:
    """Of the discipline ``choice`` among ``found``, after the last stage, of ``loads`` that there might have been.

    ``left_out`` are candidates that nobody looked at.
    """
    still = any(one.is_open for one in found)
    few = len(stage.loads) < loads or stage.seeds < _SEEDS or stage.trips < _TRIPS
    level = "low" if left_out or len(stage.loads) < loads else "moderate" if few or still else "high"
    rests = f"{count(stage.seeds, 'seed')}, {count(len(stage.loads), 'load')}, {stage.trips} round trips or more each"
    return Sureness(
        level, [*_beside(found, choice), rests + _shown(found), *([_MORE] if still else []), *_untried(left_out)]
    )


def _untried(names: Sequence[str]) -> list[str]:
    return [f"there was no time (--time) for {joined([discipline_name(name) for name in names])}"] if names else []


def _beside(found: Sequence[Standing], choice: str) -> list[str]:
    own = next(one for one in found if one.setting.discipline == choice)
    others = [one for one in found if one is not own]
    level = [one for one in others if one.is_level]
    worse = [one for one in others if not one.is_level]
    lines = []
    if level:
        lines.append(
            f"{_names(level)} {'is' if len(level) == 1 else 'are'} as good (no difference above "
            f"{100 * MARGIN:.0f} % is significant), and {discipline_name(choice)} is deployed most"
        )
    if worse:
        least = min(one.worse.mean for one in worse if one.worse is not None)
        verb = "is" if len(worse) == 1 else "are"
        tested = all(one.is_significant for one in worse)
        how = "significantly worse" if tested else "worse"
        lines.append(f"{_names(worse)} {verb} {how} than the best, by {100 * least:.0f} % or more")
    return lines or [f"{discipline_name(choice)} alone was a candidate"]


def _shown(found: Sequence[Standing]) -> str:
    """The smallest difference that these trials can be relied on to show."""
    sizes = [one.behind.detectable(1) for one in found if one.behind is not None and one.is_level]
    largest = max((expm1(size) for size in sizes if size), default=0.0)
    if largest > 1:
        return "; only differences that are larger than the scores would show"
    return f"; differences of {100 * largest:.0f} % and more show" if largest else ""


def _names(some: Sequence[Standing]) -> str:
    return joined([discipline_name(one.setting.discipline) for one in some])
