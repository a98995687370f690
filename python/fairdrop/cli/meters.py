"""What the meters of a saved result found, as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairdrop.cli.show import number_text, percent_text, rate_text
from fairdrop.cli.tables import table_text
from fairdrop.document import Json, Run, document_of, queue_wait
from fairdrop.estimate import mean_of_known

Row = Any


def meters_text(document: Json) -> str:
    """Links by group, values that disciplines decide by, and TCP senders by group: means over seeds."""
    runs = document_of(document).runs
    parts = [_links(runs), _internals(runs), _senders(runs)]
    seeds = len({run.seed for run in runs})
    caption = f"(mean over {seeds} seeds)" if seeds != 1 else "(one seed)"
    return "\n\n".join([part for part in parts if part] + [caption])


def _links(runs: Iterable[Run]) -> str:
    rows = [
        ((run.discipline, queue.name, group.name), group)
        for run in runs
        for queue in run.queues
        for group in queue.groups
        if group.flows
    ]
    columns: list[tuple[str, Callable[[Row], float | None], Callable[[float | None], str]]] = [
        ("throughput", lambda row: row.throughput_bps, rate_text),
        ("dropped", lambda row: row.drop_fraction, percent_text),
        ("leaked", lambda row: row.leak_fraction, percent_text),
        ("match/compared", lambda row: row.match_probability, percent_text),
        ("match/arrival", lambda row: row.match_fraction, percent_text),
        ("draws", lambda row: row.mean_draws, _three),
        ("most", lambda row: row.most_draws, _three),
        ("wait ms", lambda row: _ms(queue_wait(row, "mean")), _one),
        ("p99 ms", lambda row: _ms(queue_wait(row, "p99")), _one),
    ]
    return _table(("discipline", "queue", "group"), rows, columns)


def _internals(runs: Iterable[Run]) -> str:
    rows = [
        ((run.discipline, queue.name, value.name), value)
        for run in runs
        for queue in run.queues
        for value in queue.internals
    ]
    columns: list[tuple[str, Callable[[Row], float | None], Callable[[float | None], str]]] = [
        ("mean", lambda row: row.mean, _four),
        ("most", lambda row: row.max, _four),
    ]
    return _table(("discipline", "queue", "value"), rows, columns)


def _senders(runs: Iterable[Run]) -> str:
    rows = [
        ((run.discipline, group.transport, group.name), group)
        for run in runs
        for group in run.groups
        if group.mean_cwnd_packets is not None
    ]
    columns: list[tuple[str, Callable[[Row], float | None], Callable[[float | None], str]]] = [
        ("flows", lambda row: row.flows, _none),
        ("starved", lambda row: row.starved_flows, _one),
        ("timeouts", lambda row: row.timeouts, _one),
        ("fast retransmits", lambda row: row.fast_retransmits, _one),
        ("retransmissions", lambda row: row.retransmissions, _one),
        ("window", lambda row: row.mean_cwnd_packets, _one),
        ("srtt ms", lambda row: None if row.srtt_s is None else 1e3 * row.srtt_s, _one),
    ]
    return _table(("discipline", "transport", "group"), rows, columns)


def _table(
    keys: tuple[str, ...],
    rows: Iterable[tuple[tuple[str, ...], Row]],
    columns: list[tuple[str, Callable[[Row], float | None], Callable[[float | None], str]]],
) -> str:
    gathered: dict[tuple[str, ...], list[Row]] = {}
    for key, row in rows:
        gathered.setdefault(key, []).append(row)
    if not gathered:
        return ""
    lines = [
        [*key, *(show(mean_of_known([value(row) for row in found])) for _, value, show in columns)]
        for key, found in gathered.items()
    ]
    return table_text([*keys, *(head for head, *_ in columns)], lines, left=len(keys))


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _none(value: float | None) -> str:
    return number_text(value, 0)


def _one(value: float | None) -> str:
    return number_text(value, 1)


def _three(value: float | None) -> str:
    return number_text(value, 3)


def _four(value: float | None) -> str:
    return number_text(value, 4)
