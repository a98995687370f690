"""Replay of packet captures through a queue."""

from __future__ import annotations

import math
from collections.abc import Iterable
from os import PathLike

from fairdrop import _core
from fairdrop.extension.registry import compiled, load_file, registered
from fairdrop.packaged import located
from fairdrop.result import Result
from fairdrop.scenario import ScenarioError, check_seed, limit_s, listed, source_of

__all__ = ["KEYS", "replay"]

KEYS = ("5tuple", "src", "dst", "src-dst")


def replay(
    path: str | PathLike[str],
    *,
    rate: str | float | None = None,
    disciplines: Iterable[str] | None = None,
    key: str = "5tuple",
    speed: float = 1.0,
    max_gap: str | float | None = "60s",
    scenario: str | PathLike[str] | None = None,
    settings: Iterable[str] = (),
    seeds: int = 1,
    seed: int = 1,
    threads: int | None = None,
    progress: bool = False,
    command: list[str] | None = None,
    run_timeout: str | float | None = None,
) -> Result:
    """Feed a pcap or pcapng file through a queue, and return the results of every flow.

    ``path`` is a regular file of at most 16 GiB, or ``"-"`` for standard input, which may be a pipe.

    ``rate`` is the link's, in bit/s or as ``"10mbit"``; without one the link gets four fifths of the capture's
    mean load, which congests it. ``key`` defines a flow: ``"5tuple"``, ``"src"``, ``"dst"`` or ``"src-dst"``.
    ``speed`` runs time faster. Silences longer than ``max_gap`` are shortened to it (None keeps them). The queue
    is that of ``scenario`` (only its ``[queue]`` is read) with ``settings`` applied; by default CHOKe over 300
    packets. A run that takes longer than ``run_timeout`` is ended, as in :meth:`Scenario.run`.

    ``seeds`` runs have the seeds ``seed``, ``seed`` + 1, and so on.

    Nothing reacts to what happens to the packets: TCP senders in a capture do not slow down.

    Raises OSError when the file is not a readable capture, ScenarioError when a setting is wrong.
    """
    if not (math.isfinite(speed) and speed > 0):
        raise ScenarioError(f"speed = {speed} is not valid; valid: a number above 0")
    if seeds < 1:
        raise ScenarioError(f"seeds = {seeds} is not valid; valid: 1 or more")
    check_seed(seed)
    max_gap_s = None if max_gap is None else _max_gap_s(max_gap)
    text, file = "", "queue"
    if scenario is not None:
        file = located(scenario)
        text = source_of(file)
    try:
        return Result(
            _core.replay(
                path,
                key=key,
                max_gap_s=max_gap_s,
                rate=None if rate is None else _core.rate_bps(str(rate)),
                speed=speed,
                queue=text,
                file=file,
                settings=listed("settings", settings, "queue.limit=100p"),
                disciplines=None if disciplines is None else listed("disciplines", disciplines, "choke"),
                seeds=seeds,
                seed=seed,
                threads=threads,
                progress=progress,
                command=command,
                parts=compiled(registered()),
                load=load_file,
                run_timeout=limit_s(run_timeout),
            )
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from None


def _max_gap_s(max_gap: str | float) -> float:
    try:
        seconds = _core.seconds(str(max_gap))
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    if seconds == 0:
        # All packets would come at once.
        raise ScenarioError(f"max_gap = {max_gap} is not valid; valid: a time above 0, such as 60s, or none")
    return seconds
