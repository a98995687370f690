"""The stream as words between spaces, for programs that have no JSON at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Streams by number, as `fairdrop::Stream` counts them.
STREAMS = (
    "candidate",
    "early_drop",
    "drawing_fraction",
    "ward_coin",
    "blue_coin",
    "pie_coin",
    "sred_coin",
    "zombie",
    "zombie_overwrite",
    "csfq_coin",
    "filter_coin",
    "afd_coin",
    "afd_sample",
    "sfb_coin",
    "dualpi2_coin",
    "service",
    "count_down",
)


def header(header: dict[str, Any]) -> Iterator[str]:
    """The lines before the events."""
    yield "V 2"
    yield f"D {header['discipline']} {header['case']}"
    for param in header["params"]:
        yield f"P {param['owner']} {param['name']} {_value(param['value'])}"
    yield f"L {header['limit']} {header['link_rate_bps']}"
    for flow, source, destination in header.get("hosts", []):
        yield f"H {flow} {source} {destination}"
    if modes := header.get("burst_mode"):
        yield " ".join(["B", str(len(modes)), *modes])
    yield " ".join(["I", str(len(header["internals"])), *header["internals"]])
    yield f"E {header['events']}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return f"switch {int(value)}"
    if isinstance(value, str):
        return f"word {value}"
    if isinstance(value, list):
        return " ".join(["list", str(len(value)), *map(repr, value)])
    return f"number {value!r}"


def event(event: dict[str, Any]) -> str:
    """The line of an event."""
    if event["type"] == "enqueue":
        fields = [event[name] for name in ("id", "flow", "len")]
        fields += [event.get(name, 0) for name in ("class", "ecn", "label")]
        words = ["+", event["time_ns"], *fields]
    else:
        words = ["-" if event["type"] == "dequeue" else "T", event["time_ns"]]
    picks = event.get("picks", [])
    drawn = [(STREAMS.index(name), bits) for name, numbers in event.get("random", {}).items() for bits in numbers]
    words += [len(picks), *picks, len(drawn), *(word for pair in drawn for word in pair)]
    return " ".join(map(str, words))


def answer(line: str) -> dict[str, Any]:
    """The answer that a line stands for. Raises ValueError, saying what is wrong with it."""
    words = line.split()
    if words[:1] == ["X"]:
        return {"unsupported": " ".join(words[1:])}
    found: dict[str, Any] = {}
    at = iter([] if words == ["."] else words)
    for letter in at:
        try:
            _group(letter, at, found)
        except StopIteration:
            raise ValueError(f"the group {letter} has too few words") from None
    return found


def _group(letter: str, words: Iterator[str], found: dict[str, Any]) -> None:
    match letter:
        case "D" | "M":
            found.setdefault("dropped" if letter == "D" else "marked", []).append([int(next(words)), next(words)])
        case "C":
            found.setdefault("compared", []).append(int(next(words)))
        case "S":
            found["departed"] = int(next(words))
        case "B":
            found["backlog"] = [int(next(words)), int(next(words))]
        case "U":
            stream = int(next(words))
            if not 0 <= stream < len(STREAMS):
                raise ValueError(f"there is no stream {stream}")
            found.setdefault("used", {})[STREAMS[stream]] = int(next(words))
        case "I":
            name = next(words)
            found.setdefault("internals", {})[name] = float(next(words))
        case _:
            raise ValueError(f"no group begins with {letter!r}")
