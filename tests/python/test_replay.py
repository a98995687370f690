"""Replay from the command line and from Python."""

from __future__ import annotations

import json
import struct

import pytest

import fairdrop


def packet(time_ns: int, size: int, port: int, kept: int | None = None) -> bytes:
    """A record of a nanosecond pcap: UDP over IPv4 without link header."""
    payload = size - 28
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    data = (ip + struct.pack(">HHHH", port, 9, payload + 8, 0) + bytes(payload))[: kept if kept is not None else size]
    return struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(data), size) + data


def pcap(records: list[bytes], snap: int = 65535) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, 101) + b"".join(records)


@pytest.fixture
def capture(tmp_path):
    """One second: port 1 sends a packet of 1000 bytes every 10 ms, port 2 one every 2 ms; written as .txt."""
    times = sorted([(i * 10_000_000, 1) for i in range(100)] + [(i * 2_000_000 + 1, 2) for i in range(500)])
    path = tmp_path / "wrong-extension.txt"
    path.write_bytes(pcap([packet(at, 1000, port) for at, port in times]))
    return path


def test_counts_lengths_and_flows(capture):
    document = fairdrop.replay(capture, rate="100mbit", disciplines=["droptail", "choke"]).document
    assert document["kind"] == "replay"
    assert document["scenario"]["capture"]["packets"] == 600
    assert document["scenario"]["capture"]["bytes"] == 600_000
    run = document["runs"][0]
    assert sorted(flow["arrivals"] for flow in run["flows"]) == [100, 500]
    assert run["queues"][0]["departures"] == 600
    assert run["groups"][0]["name"] == "udp"
    assert run["groups"][0]["goodput_bps"] is None


def test_keys(capture):
    flows = {
        key: len(fairdrop.replay(capture, rate="1mbit", key=key).document["runs"][0]["flows"])
        for key in ("5tuple", "src", "dst", "src-dst")
    }
    assert flows == {"5tuple": 2, "src": 1, "dst": 1, "src-dst": 1}


def test_speed_congests_a_link_that_is_not(capture):
    settings = ["queue.limit=20p", "queue.red.min_th=5p", "queue.red.max_th=15p"]
    dropped = [
        sum(fairdrop.replay(capture, rate="10mbit", speed=speed, settings=settings).queues.column("dropped"))
        for speed in (1, 10)
    ]
    assert dropped[0] == 0 < dropped[1]


def test_the_default_rate_is_four_fifths_of_the_load(capture):
    document = fairdrop.replay(capture).document
    seconds = document["scenario"]["capture"]["duration_s"]
    assert document["scenario"]["rate_bps"] == pytest.approx(0.8 * 600_000 * 8 / seconds, rel=1e-6)


def test_a_truncated_capture_is_used_as_far_as_it_goes(capture, fairdrop):
    whole = capture.read_bytes()
    capture.write_bytes(whole[:-500])
    done = fairdrop("replay", capture, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["scenario"]["capture"]["packets"] == 599
    assert any("ends inside the record at byte" in text for text in document["warnings"]), document["warnings"]
    assert "warning: " in done.stderr


def test_lengths_on_the_wire_count_when_nothing_was_captured(tmp_path):
    path = tmp_path / "snap0.pcap"
    path.write_bytes(pcap([packet(i * 1_000_000, 1000, 1, kept=0) for i in range(50)], snap=0))
    document = fairdrop.replay(path, rate="100mbit").document
    assert document["scenario"]["capture"]["bytes"] == 50_000
    assert document["runs"][0]["queues"][0]["departures"] == 50
    assert document["warnings"]


def test_time_that_jumps_or_runs_backwards(tmp_path):
    path = tmp_path / "time.pcap"
    path.write_bytes(pcap([packet(at, 1000, 1) for at in (10**9, 5 * 10**8, 2 * 10**9, 10**12)]))
    document = fairdrop.replay(path, rate="1mbit", max_gap="5s").document
    assert document["scenario"]["capture"]["duration_s"] == pytest.approx(6.0)
    assert len(document["warnings"]) == 2
    kept = fairdrop.replay(path, rate="1mbit", max_gap=None).document
    assert kept["scenario"]["capture"]["duration_s"] == pytest.approx(999.0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"", "empty"), (b"just some text, not a capture at all\n", "pcap"), (b"\xd4\xc3\xb2\xa1\x02", "pcap")],
)
def test_what_is_no_capture_is_refused(tmp_path, content, expected):
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    with pytest.raises(OSError, match=expected) as caught:
        fairdrop.replay(path)
    assert "x.pcap" in str(caught.value)


def test_a_queue_from_a_scenario(capture, headline):
    document = fairdrop.replay(capture, rate="1mbit", scenario=headline, settings=["queue.red.max_p=0.5"]).document
    assert document["scenario"]["queue"]["red"]["min_th"] == 100
    assert document["scenario"]["queue"]["red"]["max_p"] == 0.5


def test_every_real_capture_replays(captures, fairdrop, tmp_path):
    for path in sorted(captures.iterdir()):
        done = fairdrop("replay", path, "--disciplines", "droptail,red,choke", "--json", "--quiet")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        for run in document["runs"]:
            queue = run["queues"][0]
            assert queue["arrivals"] == document["scenario"]["capture"]["packets"] > 0
            assert queue["departures"] + sum(queue["drops"].values()) == queue["arrivals"]


@pytest.mark.parametrize("words", [("--speed", "1e-30"), ("--speed", "1e-12", "--rate", "1")])
def test_a_speed_that_the_clock_cannot_hold_is_refused(fairdrop, capture, words):
    done = fairdrop("replay", capture, *words)
    assert done.returncode == 2, done.stderr
    assert f"speed = {words[1]} is not valid for a capture of" in done.stderr
    assert "292 years" in done.stderr and "Traceback" not in done.stderr


def test_a_gap_of_centuries_is_refused_unless_it_is_shortened(fairdrop, tmp_path):
    """540 years in nanoseconds: 64 bits hold them, the clock of a replay does not."""
    path = tmp_path / "centuries.pcapng"
    path.write_bytes(pcapng([0, 17 * 10**18]))
    refused = fairdrop("replay", path, "--max-gap", "none")
    assert refused.returncode == 2, refused.stderr
    assert "speed = 1.0" in refused.stderr and "292 years" in refused.stderr
    assert fairdrop("replay", path, "--quiet").returncode == 0


def pcapng(times_ns: list[int]) -> bytes:
    """Raw IP packets, with times in nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack("<HHI", 101, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    data = packet(0, 40, 7)[16:]
    packets = [struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(data), 40) + data for at in times_ns]
    return block(0x0A0D0D0A, section) + block(1, interface) + b"".join(block(6, body) for body in packets)
