"""Captured traffic as arrivals: many hosts that each play one capture, from a point of their own on.

The reader is the library's: a capture is played over a link that holds nothing back, and its arrivals are taken from
the trace of that link.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

import fairdrop
from experiments import ROOT

#: The captures are no part of the project; `--captures` names another folder.
FOLDER = ROOT.parent / "shared" / "data" / "captures"
#: Silences are shortened to this, so that a host that was idle for minutes is not.
MOST_GAP_S = 1.0
#: Longer ones are shortened in the file: a run lasts 10^7 s at most, and three captures join recordings years apart.
WITHIN_REACH_S = 3600
_PCAPNG = b"\x0a\x0d\x0d\x0a"
#: Ticks of a second by the first word of a pcap file.
_PER_S = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}


@dataclass(frozen=True)
class Capture:
    """Packets in order: seconds from the first, bytes on the wire, number of the flow. ``period_s`` is its length."""

    name: str
    packets: tuple[tuple[float, int, int], ...]
    period_s: float

    @property
    def rate_bps(self) -> float:
        return 8 * sum(size for _, size, _ in self.packets) / self.period_s


class NoCaptures(Exception):
    """There is no folder with captures."""


def captures(folder: Path = FOLDER) -> list[Capture]:
    """All captures of a folder, by name."""
    paths = sorted(path for path in folder.glob("*.pcap*")) if folder.is_dir() else []
    if not paths:
        raise NoCaptures(f"no captures in {folder}: --captures FOLDER names a folder of pcap or pcapng files")
    return [read(path) for path in paths]


def read(path: Path) -> Capture:
    """One capture, its silences shortened."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "capture"
        file.write_bytes(within_reach(path.read_bytes()))
        fairdrop.Scenario(_at_once(file), path.name, []).run(1, threads=1, trace=folder)
        (trace,) = Path(folder).glob("*/*.parquet")
        events = pq.read_table(trace, columns=["event", "time_ns", "bytes", "flow"])
    columns = (events[name].to_pylist() for name in ("event", "time_ns", "bytes", "flow"))
    found = [(1e-9 * time, size, flow) for event, time, size, flow in zip(*columns, strict=True) if event == "arrive"]
    numbers: dict[str, int] = {}
    packets, at, before = [], 0.0, found[0][0]
    for time, size, flow in found:
        at += min(time - before, MOST_GAP_S)
        before = time
        packets.append((at, size, numbers.setdefault(flow, len(numbers))))
    # The gap between the last packet and the first of the next time is the mean one.
    return Capture(path.name, tuple(packets), at * len(packets) / (len(packets) - 1))


def within_reach(data: bytes) -> bytes:
    """The file with its long silences shortened."""
    stamps = list(_stamps_of_blocks(data) if data.startswith(_PCAPNG) else _stamps_of_records(data))
    out = bytearray(data)
    time = latest = stamps[0].ticks
    for stamp in stamps:
        # One that is earlier than the packet before it has that one's time, as in a replay.
        time += min(max(stamp.ticks - latest, 0), WITHIN_REACH_S * stamp.per_s)
        latest = max(latest, stamp.ticks)
        struct.pack_into(stamp.words, out, stamp.at, *divmod(time, stamp.base))
    return bytes(out)


@dataclass(frozen=True)
class _Stamp:
    """A packet's time in its file: two words at a place, the upper one in units of ``base`` ticks."""

    at: int
    ticks: int
    base: int
    per_s: int
    words: str


def _stamps_of_records(data: bytes) -> Iterator[_Stamp]:
    """Of pcap: a header of 24 bytes, then records."""
    order = "<" if struct.unpack_from("<I", data)[0] in _PER_S else ">"
    per_s = _PER_S[struct.unpack_from(f"{order}I", data)[0]]
    at = 24
    while at + 16 <= len(data):
        seconds, part, length = struct.unpack_from(f"{order}III", data, at)
        yield _Stamp(at, seconds * per_s + part, per_s, per_s, f"{order}II")
        at += 16 + length


def _stamps_of_blocks(data: bytes) -> Iterator[_Stamp]:
    """Of pcapng: enhanced packet blocks. Nanoseconds pass for microseconds: a silence is then shortened to 3.6 s."""
    order = "<" if struct.unpack_from("<I", data, 8)[0] == 0x1A2B3C4D else ">"
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from(f"{order}II", data, at)
        if kind == 6:
            upper, lower = struct.unpack_from(f"{order}II", data, at + 12)
            yield _Stamp(at + 12, (upper << 32) + lower, 1 << 32, 10**6, f"{order}II")
        at += max(length, 12)


def _at_once(file: Path) -> str:
    return f"""
duration = "9000000s"
warm_up = "0s"
sample = "0s"
[dumbbell]
rate = "10tbit"
delay = "0s"
access_rate = "10tbit"
access_delay = "0s"
[queue]
discipline = "droptail"
limit = "8000000p"
[[groups]]
name = "captured"
transport = "trace"
file = "{file}"
"""


def arrivals(found: Sequence[Capture], copies: int, duration_s: float, seed: int) -> Iterator[tuple[float, int, str]]:
    """What the hosts send: each plays its capture from a random point on and, at its end, again with new flows."""
    sent: list[tuple[float, int, str]] = []
    for capture in found:
        for copy in range(copies):
            begin = capture.period_s * random.Random(f"{seed}/{capture.name}/{copy}").random()
            for turn in range(int((begin + duration_s) / capture.period_s) + 1):
                shift = turn * capture.period_s - begin
                sent += [
                    (time + shift, size, f"{capture.name}/{copy}/{turn}/{flow}")
                    for time, size, flow in capture.packets
                    if 0.0 <= time + shift < duration_s
                ]
    yield from sorted(sent)


def as_list(sent: Iterator[tuple[float, int, str]]) -> str:
    """The arrivals as a file of the transport `trace`."""
    return "time_s,size_bytes,flow\n" + "".join(f"{time:.9f},{size},{flow}\n" for time, size, flow in sent)
