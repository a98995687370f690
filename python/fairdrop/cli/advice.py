"""Advice as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairdrop.advise.profiles import PROFILES
from fairdrop.cli.tables import table_text
from fairdrop.terminal import printable
from fairdrop.wording.numbers import digits, number_and_half

if TYPE_CHECKING:
    from fairdrop.advise import Advice, Check
    from fairdrop.estimate import Estimate

_CHARGED = "charged where less than 95 % of DropTail's throughput is sent"
_SCORES = {
    "delay": f"mean of three waits in ms, {_CHARGED}, plus 5 % of a round trip",
    "fairness": f"1.1 - Jain's index, {_CHARGED}",
    "throughput": "unused part of the link, charged for waits, plus 0.1",
}
_CUT = "cut short: the time was over before all trials that it is meant for were done, as this machine is slower"
_UDP = "UDP at the link's rate"


def advice_text(found: Advice, folder: str) -> str:
    """The choice, the confidence in it, its rivals, the commands for Linux, and the path of the scenario."""
    profile = PROFILES[found.profile]
    head = [
        str(found.link),
        f"profile: {found.profile}, {profile.title} ({found.because}); access: {found.access}; target: {found.target}",
        f"choice: {found.choice.told}",
        f"how sure: {found.sure.level}; {'; '.join(found.sure.why)}",
        *([_CUT] if found.cut else []),
    ]
    table = [] if found.choice.score is None else ["", *_table(found, profile.sparse)]
    tried = ", ".join(f"{name} {digits(score)}" for name, score in sorted(found.looked.items(), key=lambda p: p[1]))
    looked = [f"first look, score: {tried}"] if tried else []
    return "\n".join([*map(printable, head), *table, *looked, "", *_linux(found), f"scenario: {folder}/scenario.toml"])


def _table(found: Advice, sparse: str) -> Iterator[str]:
    finalists = found.finalists
    lines = [
        [f"{some[0].load}: score", *(_with_half(check.score) for check in some)]
        for some in zip(*(one.checks for one in finalists), strict=True)
    ]
    lines.append(["all loads: score", *("-" if one.score is None else _with_half(one.score) for one in finalists)])
    lines.append(
        ["all loads: worse, %", *("-" if one.worse is None else _with_half(one.worse, 100, 0) for one in finalists)]
    )
    measures = (
        (f"{sparse}, 99 % wait", "sparse_wait_ms", 1, 2), (f"{sparse}, lost, %", "sparse_lost", 100, 2),
        ("short transfers, longer", "short_extra_ms", 1, 2), ("long flows, mean wait", "long_wait_ms", 1, 2),
        ("link used, %", "used", 100, 1), ("Jain's index", "jain", 1, 3),
    )  # fmt: skip
    for name, field, scale, places in measures:
        values = [getattr(one.checks[0], field) for one in finalists]
        unit = ""
        if field.endswith("_ms"):
            # In microseconds where none is a millisecond.
            scale, unit = (1, ", ms") if max(value.mean for value in values) >= 1 else (1000, ", µs")
        lines.append([f"as asked: {name}{unit}", *(_with_half(value, scale, places) for value in values)])
    beside = [_beside_udp(one.checks) for one in finalists]
    lines.append(["with UDP: TCP / its fair share", *("-" if one is None else _with_half(one) for one in beside)])
    yield from table_text(["", *(one.discipline for one in finalists)], lines, left=1).splitlines()
    yield f"score: {_SCORES[found.target]}; less is better; of all loads the geometric mean"
    yield "short transfers: for each of their round trips; ±: 95 % interval over seeds"
    for one in finalists:
        if one.discipline != found.choice.discipline:
            yield f"{one.discipline}: {printable(one.told)}"


def _beside_udp(checks: Sequence[Check]) -> Estimate | None:
    return next((check.tcp_over_fair for check in checks if check.load == _UDP), None)


def _linux(found: Advice) -> Iterator[str]:
    choice = found.choice
    for command in choice.commands:
        yield f"{command.where}:"
        yield from (f"  {line}" for line in command.lines)
    if choice.remark:
        yield f"{choice.discipline}: {choice.remark}"
    if choice.commands:
        return
    first = next((one for one in found.finalists if one.commands), None)
    if first is not None:
        yield f"the best of those that Linux has is {printable(first.told)}:"
        yield from (f"  {line}" for command in first.commands for line in command.lines)


def _with_half(value: Estimate, scale: float = 1.0, at_most: int = 4) -> str:
    mean, half = number_and_half(value, scale, at_most)
    return mean if half is None else f"{mean} ±{half}"
