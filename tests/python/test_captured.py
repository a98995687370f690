"""Captured traffic as load: how captures are read and joined, and how shares are judged."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

import fairdrop
from experiments.captures import campaign, mix
from experiments.captures.campaign import LOADS, Packets, judge
from experiments.digests import read


def record(seconds: int, port: int, order: str = "<") -> bytes:
    """A UDP datagram of 1000 bytes of which 42 were recorded."""
    ip = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 986, 0, 0, 64, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2)
    frame = bytes(12) + b"\x08\x00" + ip + struct.pack("!HHHH", port, 9, 966, 0)
    return struct.pack(f"{order}IIII", seconds, 0, len(frame), 1000) + frame


def pcap(*times: int, order: str = "<") -> bytes:
    head = struct.pack(f"{order}IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(record(time, 1 + number % 2, order) for number, time in enumerate(times))


def pcapng(*times: int) -> bytes:
    blocks = [
        struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28),
        struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20),
    ]
    for number, time in enumerate(times):
        frame = record(time, 1 + number % 2)[16:]
        frame += bytes(-len(frame) % 4)
        length = 32 + len(frame)
        ticks = time * 10**6
        blocks.append(
            struct.pack("<IIIIIII", 6, length, 0, ticks >> 32, ticks & 0xFFFFFFFF, 42, 1000)
            + frame
            + struct.pack("<I", length)
        )
    return b"".join(blocks)


@pytest.mark.parametrize("data", [pcap(5, 6, 6), pcap(5, 6, 6, order=">"), pcapng(5, 6, 6)])
def test_a_file_without_long_silences_stays_as_it_is(data: bytes) -> None:
    assert mix.within_reach(data) == data


@pytest.mark.parametrize("made", [pcap, lambda *times: pcap(*times, order=">"), pcapng])
def test_recordings_of_different_years_are_joined(made, tmp_path: Path) -> None:
    """Also where a time is before the one of the packet before it."""
    file = tmp_path / "years.pcap"
    file.write_bytes(made(1_000, 1_001, 100_000_000, 99_999_999, 100_000_000))
    found = mix.read(file)
    assert list(found.packets) == [
        (pytest.approx(time), 1000, flow) for time, flow in ((0, 0), (1, 1), (2, 0), (2, 1), (2, 0))
    ]
    assert found.period_s == pytest.approx(2.5), "as long as two seconds and a mean gap"
    assert found.rate_bps == pytest.approx(8 * 5000 / 2.5)


def test_hosts_play_their_captures_round_with_new_flows() -> None:
    capture = mix.Capture("one", ((0.0, 100, 0), (1.0, 200, 1)), 2.0)
    sent = list(mix.arrivals([capture], 3, 20.0, 1))
    assert sent == list(mix.arrivals([capture], 3, 20.0, 1)) != list(mix.arrivals([capture], 3, 20.0, 2))
    assert [time for time, _, _ in sent] == sorted(time for time, _, _ in sent)
    for copy in range(3):
        own = [(time, size, flow) for time, size, flow in sent if flow.startswith(f"one/{copy}/")]
        assert len(own) == 20 and len({flow for _, _, flow in own}) == 20
        assert np.diff([time for time, _, _ in own]) == pytest.approx(1.0)
    assert mix.as_list(iter([(0.5, 100, "a")])) == "time_s,size_bytes,flow\n0.500000000,100,a\n"


def test_a_folder_without_captures_is_named(tmp_path: Path) -> None:
    words = ["--captures", str(tmp_path / "none"), "--store", str(tmp_path / "store.csv")]
    program = "import pathlib, experiments.captures.campaign as it; it.DIGEST = pathlib.Path('no'); it.main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert (
        done.stderr
        == f"captures: no captures in {tmp_path / 'none'}: --captures FOLDER names a folder of pcap or pcapng files\n"
    )


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_runs_are_judged(load: campaign.Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole run over captures of two hosts."""
    monkeypatch.setattr(campaign, "DURATION_S", 14.0)
    for name, count in (("a", 600), ("b", 900)):
        times = [second for second in range(20) for _ in range(count // 20)]
        (tmp_path / f"{name}.pcap").write_bytes(pcap(*times))
    row = campaign.measure((load, "fq", 1, tmp_path))
    assert set(row) == {*campaign.KEYS, *campaign.MEASURES} and row["hosts"] == 8
    assert 0.5 < row["utilisation"] < 1.001
    assert (row["tcp"] is None, row["udp"] is None) == (not load.tcp, not load.flood)
    assert row["tcp"] is None or 0.5 < row["tcp"] < 2


def packets(*found: tuple[float, int, str, bool]) -> Packets:
    names = sorted({name for _, _, name, _ in found})
    return Packets(
        np.array([at for at, _, _, _ in found]),
        np.array([size for _, size, _, _ in found]),
        np.array([names.index(name) for _, _, name, _ in found]),
        names,
        np.array([lost for _, _, _, lost in found]),
        np.array([lost and size == 1000 for _, size, _, lost in found]),
        np.array([np.nan if lost else 0.25 for _, _, _, lost in found]),
    )


def test_shares_are_those_of_each_window() -> None:
    """A link of 1000 bytes/s: of 300 and 1500 bytes the shares are 300 and 700, beside TCP 300, 350 and 350."""
    small, large = "captured[0]", "captured[1]"
    one = judge(packets((10.1, 300, small, False), (10.2, 500, large, False), (10.3, 1000, large, True)), 8000)
    assert one["small_lost"] == 0 and one["large"] == pytest.approx(500 / 700)
    assert one["small_bytes"] == pytest.approx(1 / 6) and one["tcp"] is None
    # In a window in which all have what they ask for nobody is large; before the warm-up nothing counts.
    two = judge(packets((20.1, 300, small, True), (20.2, 500, large, False), (3.0, 5000, large, False)), 8000)
    assert two["small_lost"] == pytest.approx(3 / 8) and two["large"] is None
    beside = [
        (10.1, 300, small, False),
        (10.2, 1400, large, True),
        (10.2, 100, large, False),
        (10.4, 350, "tcp[0]", False),
    ]
    third = judge(packets(*beside), 8000)
    # In the other 39 windows TCP has the link alone, and takes nothing of it.
    assert third["tcp"] == pytest.approx(350 / (350 + 39 * 1000)) and third["large"] == pytest.approx(100 / 350)
    assert third["wait_p99_ms"] == pytest.approx(250)
    assert (one["full"], two["full"]) == (1, 0) and third["share"] == pytest.approx((350 + 39 * 1000) / 40_000)


def test_a_trace_gives_each_packet_its_fate(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    text = campaign.scenario(LOADS[0], 100_000, tmp_path / "a.csv", "droptail", 1)
    lines = "".join(f"{20 + 0.001 * number:.3f},1000,{number % 2}\n" for number in range(40))
    (tmp_path / "a.csv").write_text("time_s,size_bytes,flow\n" + lines, encoding="utf-8")
    result = fairdrop.Scenario(text, "fates", ["queue.limit=5"]).run(1, trace=tmp_path)
    (trace,) = tmp_path.glob("*/*.parquet")
    found = campaign.packets_of(pq.read_table(trace, columns=["event", "cause", "time_ns", "bytes", "flow", "packet"]))
    (queue,) = result.document["runs"][0]["queues"]
    assert len(found.at) == 40 and found.lost.sum() == sum(group["dropped"]["packets"] for group in queue["groups"])
    assert (found.full == found.lost).all(), "DropTail drops where the buffer is full"
    assert np.isnan(found.took).sum() == found.lost.sum() > 20
    assert found.took[~found.lost].min() == pytest.approx(0.08), "the transmission of 1000 bytes at 100 kb/s"


def test_the_page_says_what_was_measured(root: Path) -> None:
    """Its sentences have the figures of the stored runs."""
    page = " ".join((root / "docs" / "background" / "collar.md").read_text(encoding="utf-8").split())
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in read(campaign.DIGEST):
        for name in ("small_lost", "full", "tcp", "udp", "utilisation"):
            if row[name]:
                found[name, row["discipline"], row["load"]].append(float(row[name]))
    means = {key: mean(values) for key, values in found.items()}

    def alone(name: str, discipline: str) -> str:
        low, high = (f"{100 * at(means[name, discipline, load.name] for load in LOADS[:3]):.0f}" for at in (min, max))
        return f"{low} to {high} %" if low != high else f"{low} %"

    lost = {discipline: alone("small_lost", discipline) for discipline in ("collar", "droptail", "fq_codel")}
    assert f"lose {lost['collar']} of their bytes, under DropTail {lost['droptail']} and under" in page
    assert f"and under FQ-CoDel {lost['fq_codel']}." in page
    assert f"Of the packets that COLLAR drops, {alone('full', 'collar')} find the buffer full." in page
    used = [
        [f"{100 * means['utilisation', name, load.name]:.0f}" for load in LOADS[:3]] for name in ("collar", "fq_codel")
    ]
    mine, others = (f"{', '.join(values[:2])} and {values[2]} %" for values in used)
    assert f"uses less of the link: {mine}, FQ-CoDel {others}." in page
    tcp = {discipline: f"{means['tcp', discipline, '8 CUBIC']:.2f}" for discipline in lost}
    assert f"{tcp['collar']} of its share under COLLAR (FQ-CoDel {tcp['fq_codel']}, DropTail {tcp['droptail']})" in page
    both = sorted(f"{means['tcp', 'collar', load.name]:.2f}" for load in LOADS[3:])
    udp = means["udp", "collar", LOADS[4].name]
    assert f"has {both[0]} to {both[1]} of its share, and UDP {udp:.2f} shares" in page
    assert 0.3 < udp / means["udp", "choke", LOADS[4].name] < 0.37, "a third"
    assert 1.75 < udp / means["udp", "fq_codel", LOADS[4].name] < 2, "nearly twice"
