"""Results and lists as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fairdrop.cautions import cautions
from fairdrop.cli.tables import table_text
from fairdrop.live import side_by_side
from fairdrop.terminal import printable
from fairdrop.wording.numbers import digits, number_and_half, rate_unit
from fairdrop.wording.phrases import count

if TYPE_CHECKING:
    from fairdrop.changes import Change, Changes
    from fairdrop.characterize.scorecard import Scorecard
    from fairdrop.estimate import Estimate
    from fairdrop.result import Result

# Fields that are named of those that differ.
_MOST_FIELDS = 10
# Disciplines beside one another in a scorecard.
_ABREAST = 4


def result_text(result: Result) -> str:
    """Means over seeds by discipline and group, cautions about them, and the verdict."""
    groups = _means(
        result.groups.rows(),
        ("discipline", "group"),
        ("flows", "throughput_bps", "goodput_bps", "share", "drop_fraction", "jain_index", "retransmissions"),
    )
    head = ["discipline", "group", "flows", "throughput", "share", "dropped", "Jain", "goodput", "retransmitted"]
    lines = [
        [
            discipline,
            group,
            f"{means['flows']:.0f}",
            rate_text(means["throughput_bps"]),
            percent_text(means["share"]),
            percent_text(means["drop_fraction"]),
            number_text(means["jain_index"], 4),
            rate_text(means["goodput_bps"]),
            number_text(means["retransmissions"], 0),
        ]
        for (discipline, group), means in groups.items()
    ]
    lines = _with_model(lines, result.model)
    if result.typed.is_replay:
        # A capture does not say what its receivers made of it.
        head, lines = head[:-2], [line[:-2] for line in lines]
    seeds = len(set(result.runs.column("seed")))
    caption = f"mean over {seeds} seeds" if seeds != 1 else "one seed"
    remarks = [f"warning: {text}" for text in _warnings(result)]
    if result.model is not None:
        remarks += [f"model: {text}" for text in result.model["notes"]]
    after = [*_queues(result), *_losses(result), *_model_queue(result), *_side_by_side(result)]
    verdicts = [f"verdict: {result.verdict}"]
    if result.live is not None:
        verdicts = [f"verdict, simulated: {result.verdict}", f"verdict, live: {result.live.verdict}"]
    last = map(printable, [*remarks, *verdicts])
    return "\n".join([table_text(head, lines), f"({caption})", *map(printable, after), *last])


def changes_text(found: Changes, everything: bool) -> str:
    """The outcome, and the measures behind it: primary ones that differ, others if significantly; all on request."""
    differ = [one for one in found.measures if one.differs]
    notable = [one for one in differ if one.primary or one.significant] or differ
    head = ["discipline", "of", "measure", "A", "B", "B - A", "p", "detectable"]
    lines = [
        [
            one.discipline, one.group or "(link)", one.measure + (" (primary)" if one.primary else ""),
            *(digits(value.mean, 4) for value in (one.before, one.after)),
            _interval(one),
            "-" if one.p is None else "<0.0001" if one.p < 1e-4 else digits(one.p, 2),
            "-" if one.detectable is None else digits(one.detectable, 2),
        ]
        for one in (found.measures if everything else notable)
    ]  # fmt: skip
    table = [table_text(head, lines, left=3)] if lines else []
    return "\n".join([*map(printable, [*_fields(found), *found.apart]), *table, *_outcome(found)])


def _interval(one: Change) -> str:
    half = "" if one.difference.half is None else f" ±{digits(one.difference.half, 2)}"
    sign = "+" if one.difference.mean >= 0 else ""
    return f"{sign}{digits(one.difference.mean, 3)}{half}{' *' if one.significant else ''}"


def _fields(found: Changes) -> list[str]:
    """The first fields that differ, and how many there are."""
    if found.fields is None:
        return []
    first = [f"{one.field}: {one.before} -> {one.after}" for one in found.fields[:_MOST_FIELDS]]
    last = f"{count(len(found.fields), 'field')} of the runs differ" if first else "every field of the runs is equal"
    return [*first, last]


def _outcome(found: Changes) -> list[str]:
    """What ``diff`` found, in words that say whether a test was possible."""
    number, primary = count(len(found.measures), "measure"), sum(one.primary for one in found.measures)
    before, after = max((one.before.n, one.after.n) for one in found.measures)
    paired = all(one.paired for one in found.measures)
    how = f"paired by seed, {count(before, 'seed')}" if paired else f"means of other seeds, {before} and {after}"
    if not found.count("differs"):
        notable = "identical" if found.outcome == "identical" else "different"
        return [f"{notable}: 0 of {number} differ ({how})"]
    differ = (
        f"{found.count('differs')} of {number} differ, {found.count('differs', True)} of the {primary} primary ones"
    )
    if found.outcome == "significant":
        significant = f"{count(found.count('significant'), 'measure')}, {found.count('significant', True)} primary"
        return [f"significant (*): {significant}; {differ} ({how})"]
    if before == after == 1:
        return [f"different: {differ}; not tested, as that takes two seeds or more"]
    can = "detectable: the change that is significant in 8 of 10 such comparisons; smaller ones need more seeds"
    return [can, f"different: {differ}; no difference is significant ({how})"]


def _with_model(lines: list[list[str]], model: dict[str, Any] | None) -> list[list[str]]:
    """The model's groups after those measured under CHOKe."""
    if model is None:
        return lines
    found = [
        [
            "(model)",
            group["name"],
            str(group["flows"]),
            rate_text(group["throughput_bps"]),
            percent_text(group["share"]),
            percent_text(group["drop_fraction"]),
            *("-" for _ in range(3)),
        ]
        for group in model["groups"]
    ]
    place = max((index + 1 for index, line in enumerate(lines) if line[0] == "choke"), default=len(lines))
    return [*lines[:place], *found, *lines[place:]]


def _model_queue(result: Result) -> list[str]:
    if result.model is None:
        return []
    link = result.model["link"]
    return [f"model: queue {link['mean_packets']:.1f} packets, wait {1e3 * link['wait_s']:.1f} ms"]


def _queues(result: Result) -> list[str]:
    rows = [
        {
            **row,
            "where": (row["queue"], row["queue_discipline"]),
            "sojourn_mean_s": row["sojourn_mean_s"] if row["departures"] else None,
        }
        for row in result.queues.rows()
    ]
    means = _means(rows, ("discipline", "where"), ("utilisation", "mean_packets", "sojourn_mean_s"))
    several = len({queue for _, (queue, _) in means}) > 1
    return [
        f"{discipline}{f', {own} on {queue}' if several else ''}: link {percent_text(mean['utilisation'])} busy, "
        f"queue {number_text(mean['mean_packets'], 1)} packets, "
        f"{_wait_text(mean['sojourn_mean_s'])}"
        for (discipline, (queue, own)), mean in means.items()
    ]


def _wait_text(seconds: float | None) -> str:
    return "no packet sent" if seconds is None else f"wait {number_text(seconds * 1e3, 1)} ms"


def _losses(result: Result) -> list[str]:
    """A line for each link that loses packets at random: of all its packets, over the runs of all disciplines."""
    lost: dict[str, list[int]] = {}
    for run in result.typed.runs:
        for link in run.link_losses:
            sums = lost.setdefault(link.name, [0, 0])
            sums[0] += link.lost.packets
            sums[1] += link.offered.packets
    return [
        f"{name}: {count(packets, 'packet')} lost at random, {percent_text(packets / offered)}"
        if offered
        else f"{name}: no packet came to be lost at random"
        for name, (packets, offered) in lost.items()
    ]


def _warnings(result: Result) -> list[str]:
    found = [*_problems(result, ""), *cautions(result.typed)]
    return list(dict.fromkeys(found if result.live is None else [*found, *_problems(result.live, "live: ")]))


def _problems(result: Result, prefix: str) -> list[str]:
    return [prefix + problem for run in result.typed.runs for problem in run.problems]


def _side_by_side(result: Result) -> list[str]:
    """The simulated and the live value, and the difference with its interval."""
    if result.live is None:
        return []
    lines = [
        [
            pair.discipline,
            pair.of,
            f"{pair.measure}, {pair.unit}",
            _number_and_half(pair.simulated, pair.scale),
            _number_and_half(pair.live, pair.scale),
            _number_and_half(pair.difference, pair.scale),
            "-" if pair.relative is None else f"{100 * pair.relative:+.1f} %",
        ]
        for pair in side_by_side(result.typed, result.live.typed)
    ]
    head = ["discipline", "of", "measure", "simulated", "live", "live - simulated", "relative"]
    return ["", *table_text(head, lines, 3).splitlines()]


def _number_and_half(value: Estimate, scale: float) -> str:
    mean, half = number_and_half(value, scale)
    return mean if half is None else f"{mean} ± {half}"


def _means(
    rows: Iterable[dict[str, Any]], keys: tuple[str, str], names: Sequence[str]
) -> dict[tuple[str, Any], dict[str, float | None]]:
    """Means over the rows with equal keys, in order of appearance; None where a value is missing throughout."""
    gathered: dict[tuple[str, Any], dict[str, list[float]]] = {}
    for row in rows:
        values = gathered.setdefault((row[keys[0]], row[keys[1]]), {name: [] for name in names})
        for name in names:
            if row[name] is not None:
                values[name].append(row[name])
    return {
        key: {name: sum(found) / len(found) if found else None for name, found in values.items()}
        for key, values in gathered.items()
    }


def scorecard_text(card: Scorecard) -> str:
    """The scorecard, a line for each measure; a star where no other discipline is better beyond both intervals."""
    from fairdrop.characterize.layout import cell_text, score_boards, trial_of

    boards = score_boards(card.rows)
    labels = [(column.section, column.label) for board in boards for column in board.columns]
    tables = []
    for start in range(0, len(card.disciplines), _ABREAST):
        some = card.disciplines[start : start + _ABREAST]
        lines = []
        for board in boards:
            for column in board.columns:
                # Two trials of a section may measure the same.
                again = labels.count((column.section, column.label)) > 1
                of = f" ({trial_of(column.trial).title})" if again else ""
                rows = [board.cells.get((name, column)) for name in some]
                best = board.best(column)
                notable = [
                    "-" if row is None else cell_text(row) + (" *" if row.discipline in best else "  ") for row in rows
                ]
                lines.append([column.section, column.label + of, *notable])
        tables.append(table_text(["section", "measure", *(f"{name}  " for name in some)], lines))
    return "\n\n".join(tables)


def rate_text(bps: float | None) -> str:
    """Bit/s with a unit."""
    if bps is None:
        return "-"
    divisor, unit = rate_unit(bps)
    return f"{bps / divisor:.4g} {unit}"


def percent_text(fraction: float | None) -> str:
    """A fraction in per cent."""
    return "-" if fraction is None else f"{100 * fraction:.2f} %"


def number_text(value: float | None, digits: int) -> str:
    """A number with a given count of digits after the point."""
    return "-" if value is None else f"{value:.{digits}f}"
