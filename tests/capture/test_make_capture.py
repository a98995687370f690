"""The capture maker: valid files, the same synthetic bytes every time, nothing left behind."""

from __future__ import annotations

import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().with_name("make_capture.py")
NETNS = Path("/run/netns")


@dataclass(frozen=True)
class Frame:
    time_ns: int
    length: int
    data: bytes

    @property
    def ethertype(self) -> int:
        return int.from_bytes(self.data[12:14], "big")


def run(out: Path, *words: str) -> tuple[dict[str, Any], int]:
    """The JSON line that the script prints, and its process id."""
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(out), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        stdout, stderr = child.communicate(timeout=120)
    assert child.returncode == 0, stderr
    assert stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(stdout)
    return found, child.pid


def walk(path: Path) -> list[Frame]:
    """Read a nanosecond pcap in the plainest way, and insist on its structure."""
    content = path.read_bytes()
    magic, major, minor, _, _, snap, link = struct.unpack("<IHHiIII", content[:24])
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 1)
    frames = []
    position = 24
    while position < len(content):
        seconds, nanos, kept, length = struct.unpack("<IIII", content[position : position + 16])
        assert nanos < 1_000_000_000
        assert kept == min(length, snap)
        data = content[position + 16 : position + 16 + kept]
        assert len(data) == kept
        frames.append(Frame(seconds * 1_000_000_000 + nanos, length, data))
        position += 16 + kept
    assert all(a.time_ns <= b.time_ns for a, b in itertools.pairwise(frames))
    return frames


def matches_report(report: dict[str, Any], frames: list[Frame]) -> bool:
    span = (frames[-1].time_ns - frames[0].time_ns) / 1e9
    return bool(
        report["packets"] == len(frames)
        and report["bytes"] == sum(frame.length for frame in frames)
        and abs(report["seconds"] - span) < 1e-5
    )


def protocols(frames: list[Frame]) -> Counter[int]:
    return Counter(frame.data[23] for frame in frames if frame.ethertype == 0x0800)


def namespaces_of(pid: int) -> list[str]:
    return [entry.name for entry in NETNS.glob(f"fairdrop-{pid}-*")] if NETNS.is_dir() else []


def processes_naming(text: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in words and entry.parent.name != str(os.getpid()):
            found.append(words)
    return found


def starts_of(pid: int, text: str) -> bool:
    """Whether a process has started another whose command line names something."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    lines = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    return any(text.encode() in line for line in lines)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_synthetic_is_deterministic(tmp_path: Path) -> None:
    first, second = tmp_path / "first.pcap", tmp_path / "second.pcap"
    report, _ = run(first, "--synthetic", "--seconds", "3")
    run(second, "--synthetic", "--seconds", "3")
    assert first.read_bytes() == second.read_bytes()
    assert report["source"] == "synthetic"
    assert report["reason"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["first.pcap", "second.pcap"]


def test_synthetic_content(tmp_path: Path) -> None:
    out = tmp_path / "synthetic.pcap"
    report, _ = run(out, "--synthetic", "--seconds", "4")
    frames = walk(out)
    assert matches_report(report, frames)
    assert {frame.ethertype for frame in frames} == {0x0800, 0x86DD, 0x8100, 0x0806}
    assert max(frame.length for frame in frames) <= 1514
    assert protocols(frames)[6] > 1000
    fragments = [f for f in frames if f.ethertype == 0x0800 and int.from_bytes(f.data[20:22], "big") & 0x3FFF]
    assert fragments
    udp_bytes = sum(f.length for f in frames if f.ethertype == 0x0800 and f.data[36:38] == b"\x13\x89")
    assert udp_bytes * 8 / report["seconds"] == pytest.approx(6e6, rel=0.02)
    assert len({f.data[26:30] for f in frames if f.ethertype == 0x0800 and f.data[23] == 6}) == 9
    assert out.stat().st_size < 20_000_000


def test_kernel_capture(tmp_path: Path) -> None:
    out = tmp_path / "kernel.pcap"
    report, pid = run(out, "--seconds", "3")
    assert namespaces_of(pid) == []
    if report["source"] != "kernel":
        pytest.skip(f"no real traffic here: {report['reason']}")
    frames = walk(out)
    assert matches_report(report, frames)
    assert max(frame.length for frame in frames) <= 1514
    counts = protocols(frames)
    assert counts[6] > 2000
    assert counts[17] > 2000
    tcp = [frame.data for frame in frames if frame.ethertype == 0x0800 and frame.data[23] == 6]
    assert sum(data[47] & 0x3F == 0x02 for data in tcp) >= 4, "one SYN per sender"
    assert sum(data[47] & 0x3F == 0x12 for data in tcp) == 0, "answers do not pass the bottleneck"
    assert 10e6 < report["bytes"] * 8 / report["seconds"] < 200e6
    assert out.stat().st_size < 20_000_000
    assert wait_for(lambda: not processes_naming(str(tmp_path)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_remains_after_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "stopped.pcap"
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(out), "--seconds", "20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        guard = threading.Timer(150, child.kill)
        guard.start()
        assert child.stderr is not None
        lines: list[str] = []
        for line in child.stderr:
            lines.append(line)
            if "capturing" in line:
                assert wait_for(lambda: starts_of(child.pid, "send-udp")), "a sender"
                child.send_signal(number)
            if "capturing" in line or "synthetic" in line:
                break
        child.communicate(timeout=60)
        guard.cancel()
    assert namespaces_of(child.pid) == []
    if any("synthetic" in line for line in lines):
        pytest.skip(f"no real traffic here: {''.join(lines)}")
    assert child.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []
    assert wait_for(lambda: not processes_naming(str(tmp_path)))


def test_bad_arguments(tmp_path: Path) -> None:
    for words in ([], [str(tmp_path / "x.pcap"), "--seconds", "0"]):
        done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, check=False)
        assert done.returncode == 2


def test_unwritable_place_fails(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "x.pcap"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(target), "--synthetic"], capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == b""
