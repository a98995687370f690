"""Whether an answer is the one that the vector has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Strictness:
    """What is compared, and how closely."""

    decisions_only: bool = False
    """Which packets were dropped, marked and sent; not why, nor anything else."""
    tolerance: float = 1e-9
    """Internals may differ by this part of their value, or by this where they are below 1."""


def differences(event: dict[str, Any], answer: dict[str, Any], strictness: Strictness) -> list[str]:
    """What differs, in words; empty when nothing does."""
    outcome = event["outcome"]
    try:
        found = _decisions(outcome, answer, strictness.decisions_only)
        if not strictness.decisions_only:
            found += _others(event, outcome, answer)
            found += _internals(outcome.get("internals", {}), answer.get("internals", {}), strictness.tolerance)
    except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
        return [f"the answer has not the form that the format asks for ({error}): {answer}"]
    return found


def counts_draws(event: dict[str, Any], answer: dict[str, Any], strictness: Strictness) -> bool:
    """Whether the answer shows how many candidates were drawn, where the event has places for them.

    The places are there to be read, so a program that stops when they run out gives the right packets, whatever number
    it wanted.
    """
    # What is served is seen in any case.
    if "picks" not in event or "candidate" not in event.get("random", {}):
        return True
    return not strictness.decisions_only and ("compared" in answer or "candidate" in answer.get("used", {}))


def _decisions(outcome: dict[str, Any], answer: dict[str, Any], ids_only: bool) -> list[str]:
    found = []
    for name in ("dropped", "marked"):
        expected, got = outcome.get(name, []), answer.get(name, [])
        # A cause may be left out.
        bare = ids_only or any(isinstance(entry, int) for entry in got)
        normal: Callable[[Any], Any] = _identity if bare else tuple
        if sorted(map(normal, expected)) != sorted(map(normal, got)):
            found.append(_say(name, expected, got))
    if outcome.get("departed") != answer.get("departed"):
        found.append(_say("departed", outcome.get("departed"), answer.get("departed")))
    return found


def _identity(entry: Any) -> int:
    return int(entry if isinstance(entry, int) else entry[0])


def _others(event: dict[str, Any], outcome: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What an answer may leave out."""
    found = []
    for name, absent in (("compared", []), ("backlog", None), ("deadline_ns", None)):
        if name in answer and answer[name] != outcome.get(name, absent):
            found.append(_say(name, outcome.get(name, absent), answer[name]))
    random = event.get("random", {})
    for stream, count in answer.get("used", {}).items():
        expected = len(random.get(stream, []))
        if count != expected:
            found.append(_say(f"random numbers of {stream}", expected, count))
    return found


def _internals(expected: dict[str, float], got: dict[str, float], tolerance: float) -> list[str]:
    found = []
    for name, value in got.items():
        if name not in expected:
            found.append(f"{name} is not among the internals: {', '.join(expected) or 'there are none'}")
        # Written so that NaN differs.
        elif not abs(float(value) - expected[name]) <= tolerance * max(1.0, abs(expected[name])):
            found.append(_say(name, expected[name], value))
    return found


def _say(name: str, expected: Any, got: Any) -> str:
    return f"{name}: expected {expected}, got {got}"
