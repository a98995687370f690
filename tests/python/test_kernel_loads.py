"""The campaign of the kernel's queue disciplines on 20 loads: its set-ups, the lines of a guest, and the page."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import fairdrop
from experiments.kernel_loads import campaign, page
from experiments.kernel_loads.campaign import KERNEL, LOADS, PROGRAMS, Load, Part, Store
from experiments.kernel_shares import campaign as shares
from experiments.kernel_shares.leak import leaked, timeouts

FIRST = LOADS[0][0]
PART = Part((FIRST,), "choke", 2, 5, 12)
LINES = [
    f"LOAD {FIRST} 1",
    "RUN 150 60 142200 7000",
    "qdisc choke 8002: parent 1:1",
    f"LOAD {FIRST} 2",
    "RUN 150 0 0 0",
    "KERNEL 7.3.4",
]


def test_twenty_loads_of_ten_instances_each_are_planned():
    loads = [load for row in LOADS for load in row]
    assert len(loads) == len(set(loads)) == 20
    short = [part for part in campaign.parts() if part.measured_s == campaign.MEASURED_S]
    of_kernel = {
        (part.discipline, load): part.instances for part in short for load in part.loads if part.discipline in KERNEL
    }
    assert of_kernel == {(name, load): 10 for name in KERNEL for load in loads}
    assert {part.discipline for part in short} == {*KERNEL, *PROGRAMS}


@pytest.mark.parametrize("part", list(campaign.parts()), ids=lambda part: f"{part.discipline}-{part.loads[0]}")
def test_scenarios_are_valid(part):
    for load in part.loads:
        text = campaign.scenario(part, campaign.DISCIPLINES[part.discipline], load, 1)
        scenario = fairdrop.Scenario(text, "kernel", [])
        assert ("token_bucket" in text) == (part.discipline in KERNEL)
        assert scenario is not None


def test_rows_of_a_guest():
    first, second = campaign.found(PART, LINES)
    assert first["load"] == "1000:32:6:100:5+12" and (first["instance"], second["instance"]) == ("1", "2")
    assert first["udp"] == pytest.approx(60 * 8 / 12) and first["udp_lost"] == pytest.approx(0.6)
    assert first["tcp"] == pytest.approx(150 * 8 / 12), "150 segments of 948 bytes, which are packets of 1000"
    assert (first["delay_ms"], second["delay_ms"]) == (7.0, None)


def test_finished_rows_are_kept_and_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "DIGEST", tmp_path / "absent.csv")
    store = Store(tmp_path / "work.csv")
    wanted = campaign.keys(PART, "guest")
    assert store.lacks(wanted)
    store.add(list(campaign.found(PART, LINES)))
    store.add(list(campaign.found(PART, LINES)))
    again = Store(tmp_path / "work.csv")
    assert not again.lacks(wanted) and len(again.rows) == 2
    assert (tmp_path / "work.csv").read_text().count("guest") == 2


def test_a_load_is_near_where_means_are_and_ranges_meet():
    def rows(place: str, values: list[float]) -> list[campaign.Row]:
        key = dict(zip(campaign.KEYS, (place, "sfb", f"{FIRST}:5+12", "1"), strict=True))
        return [key | {"udp": value, "udp_lost": 0.5} for value in values]

    found = rows("guest", [80, 100]) + rows("simulator", [99, 101])
    assert page.ratio(found, "sfb", FIRST) == pytest.approx(0.9) and page.overlap(found, "sfb", FIRST)
    assert not page.overlap(rows("guest", [80, 98]) + rows("simulator", [99, 101]), "sfb", FIRST)
    assert page.measured(found, "sfb") == [FIRST] and page.measured(found, "pie") == []
    assert "| `sfb` | 1 | 2 | 1 | 1 | 1 | 0.90 (1 Mb/s, 32 TCP, 6 ms, UDP 0.1 Mb/s) |" in page.summary(found)


def test_a_packet_of_the_simulator_takes_its_wait_and_its_way():
    """Behind a token bucket it leaves when it is taken from the queue, behind a transmitter after its transmission."""
    assert campaign.on_the_way_ms(KERNEL["fq_codel"], FIRST) == 3
    assert campaign.on_the_way_ms(PROGRAMS["bpf_collar"], FIRST) == pytest.approx(3 + 8.112)
    part = Part((Load(1000, 1, 6, 10),), "bpf_collar", 1, 1, 12)
    [row] = campaign.simulated(part)
    assert row["udp"] == pytest.approx(10, abs=1) and 11 < row["delay_ms"] < 60


def test_the_kernel_is_beside_the_simulator():
    share = 1000 * 1000 / 1014 / 33

    def rows(place: str, udp: float, delay_ms: float) -> list[campaign.Row]:
        keys = [(place, "bpf_collar", f"{FIRST}:5+12", str(instance)) for instance in (1, 2)]
        return [
            dict(zip(campaign.KEYS, key, strict=True)) | {"udp": udp, "tcp": 500, "delay_ms": delay_ms} for key in keys
        ]

    [head, _, line] = page.live(rows("guest", 2 * share, 70) + rows("simulator", share, 60)).splitlines()[:3]
    assert head.startswith(
        "| UDP sends, Mb/s | discipline | UDP over its share: kernel | UDP over its share: simulator |"
    )
    cells = line.strip("| ").split(" | ")
    assert cells[:4] == ["0.1", "`collar` (BPF)", "2.000 ± 0.000", "1.000 ± 0.000"] and cells[6:] == [
        "70.00 ± 0.00",
        "60.00 ± 0.00",
    ]


def test_the_sender_compiles_and_names_bad_words(tmp_path):
    program = tmp_path / "flows"
    done = subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, campaign.FLOWS], check=False, timeout=60
    )
    assert done.returncode == 0
    bad = subprocess.run([program, "1"], capture_output=True, text=True, check=False, timeout=60)
    assert bad.returncode == 1 and bad.stdout.startswith("FAILED four arguments")


def test_a_load_in_words():
    assert page.worded(Load(1500, 4, 100, 50)) == "1.5 Mb/s, 4 TCP, 100 ms, UDP 0.05 Mb/s"
    assert str(Load(1500, 4, 100, 50)) == "1500:4:100:50"
    assert Path(campaign.DIGEST).exists()


TRACE = """
 flows-1 [000] ..s2. 18.652215: timeout: (tcp_enter_loss+0x4/0x3a0) sk=0xa
 flows-1 [000] ..s2. 18.652219: mark: (tcp_mark_skb_lost+0x4/0xa0) sk=0xa state=146
 flows-1 [000] ..s2. 18.652225: look: (tcp_rack_skb_timeout+0x4/0x50) sk=0xa retrans_out=2
 flows-1 [000] ..s2. 18.652231: mark: (tcp_mark_skb_lost+0x4/0xa0) sk=0xa state=150
 flows-1 [000] ..s2. 18.652237: look: (tcp_rack_skb_timeout+0x4/0x50) sk=0xa retrans_out=1
 flows-1 [000] ..s2. 18.652243: mark: (tcp_mark_skb_lost+0x4/0xa0) sk=0xa state=0
 flows-1 [000] ..s2. 19.652215: timeout: (tcp_enter_loss+0x4/0x3a0) sk=0xa
 flows-1 [000] ..s2. 19.652219: mark: (tcp_mark_skb_lost+0x4/0xa0) sk=0xa state=4
 flows-1 [000] ..s2. 19.652225: look: (tcp_rack_skb_timeout+0x4/0x50) sk=0xa retrans_out=1
 flows-1 [000] ..s2. 19.652231: mark: (tcp_mark_skb_lost+0x4/0xa0) sk=0xa state=1
 flows-1 [000] ..s2. 19.700000: mark: (tcp_mark_skb_lost+0x4/0xa0) sk=0xb state=0
"""


def test_a_leak_shows_in_the_probes():
    first, second = timeouts(TRACE.splitlines())
    assert first == ("0xa", [146, 150, 0], [2, 1]) and leaked(*first[1:]) == 0, "the first segment keeps its mark"
    assert second == ("0xa", [4, 1], [1]) and leaked(*second[1:]) == 1, "counted, and no segment is marked"
    assert leaked([4], []) is None


def test_a_leak_leaves_more_to_the_timer():
    text = shares.scenario(shares.Task("linux", "fq_codel", 1000, 1)).replace('duration = "140s"', 'duration = "90s"')
    found = {}
    for switch in ("true", "false"):
        result = fairdrop.Scenario(text.replace("retrans_leak = true", f"retrans_leak = {switch}"), "kernel", []).run(1)
        [tcp, udp] = result.groups.rows()
        found[switch] = tcp["timeouts"], tcp["fast_retransmits"], udp["throughput_bps"]
    (timeouts_with, fast_with, udp_with), (timeouts_without, fast_without, udp_without) = found.values()
    assert timeouts_with > 1.3 * timeouts_without and fast_with < 0.6 * fast_without and udp_with < 0.8 * udp_without
