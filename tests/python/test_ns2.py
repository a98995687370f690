"""TCPs of three eras send the packets that ns-2 2.35 sent, and RED drops those that it dropped (tests/ns2)."""

from __future__ import annotations

import pytest

from experiments.validation import packet_by_packet as packets
from experiments.validation.beside_ns2 import installed

NAMES = [
    "tahoe", "reno", "newreno", "sack", "vegas", "reno-red", "reno-2005", "newreno-2.35", "sack-2.35", "vegas-2.35",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_packet_is_that_of_ns2(root, name):
    drawn, peers = packets.read_recording(root / "tests" / "ns2" / f"{name}.csv.xz")
    sender, load = packets.RECORDED[name]
    check = packets.compare(name, packets.ours(sender, load, packets.RECORDED_S, drawn), peers)
    assert check.holds, check.why
    # Something happened: thousands of packets, and losses.
    assert len(peers) > 1500
    assert sum(arrival.lost for arrival in peers) > (50 if sender.transport != "vegas" else 5)


@pytest.mark.parametrize("name", ["newreno", "newreno-2.35"])
def test_newreno_is_recorded_with_three_losses_at_once(root, name):
    """Where partial ACKs deflate the window again and again: a flow loses three segments or more within 0.3 s."""
    _, peers = packets.read_recording(root / "tests" / "ns2" / f"{name}.csv.xz")
    lost = [one for one in peers if one.lost]
    at_once = [
        sum(one.flow == first.flow and 0 <= one.time_ns - first.time_ns < 3e8 for one in lost) for first in lost
    ]
    assert sum(count >= 3 for count in at_once) > 9


@pytest.mark.skipif(installed() is None, reason="ns-2 is not installed")
@pytest.mark.parametrize("switch", ["partial_window_deflation_", "exitFastRetrans_"])
def test_newreno_is_that_of_ns2_with_its_switches_on(switch, tmp_path, monkeypatch):
    sender, load = packets.Sender("newreno"), packets.Load(8, 30)
    drawn, peers = packets.theirs(installed(), sender, load, 20, 1)
    assert packets.common(packets.ours(sender, load, 20, drawn), peers) == len(peers)
    before, simulator, after = packets.SCRIPT.read_text(encoding="utf-8").partition("set ns [new Simulator]")
    script = tmp_path / "dumbbell.tcl"
    script.write_text(f"{before}Agent/TCP/Newreno set {switch} false\n{simulator}{after}", encoding="utf-8")
    monkeypatch.setattr(packets, "SCRIPT", script)
    _, others = packets.theirs(installed(), sender, load, 20, 1)
    assert packets.common(others, peers) < len(peers) / 5


def test_everything_recorded_is_compared():
    assert list(packets.RECORDED) == NAMES
    assert {sender.transport for sender, _ in packets.RECORDED.values()} == set(packets.TRANSPORTS)
    assert {sender.era for sender, _ in packets.RECORDED.values()} == set(packets.ERAS)


def test_the_flavours_differ(root):
    recorded = [packets.read_recording(root / "tests" / "ns2" / f"{name}.csv.xz")[1] for name in packets.RECORDED]
    assert all(packets.common(one, other) < len(one) for one in recorded for other in recorded if one is not other)


def test_a_difference_is_found_and_named(root):
    _, peers = packets.read_recording(root / "tests" / "ns2" / "reno.csv.xz")
    packet = peers[700]
    for change in ({"flow": 99}, {"segment": 12345}, {"lost": not packet.lost}, {"time_ns": packet.time_ns + 3000}):
        mine = [*peers[:700], packet._replace(**change), *peers[701:]]
        check = packets.compare("changed", mine, peers)
        assert (check.holds, check.measured) == (False, "the first 700"), change
    short = packets.compare("short", peers[:-1], peers)
    assert not short.holds
    assert "None here" in short.why


@pytest.fixture
def tie(root, monkeypatch):
    """A recorded run as if it were the one with a tie, and what is compared with it: by default as it is known."""
    key, known = next(iter(packets.TIES.items()))
    drawn, peers = packets.read_recording(root / "tests" / "ns2" / "reno-red.csv.xz")
    monkeypatch.setitem(packets.TIES, key, known._replace(packets=700))
    other = [*peers[:700], peers[700]._replace(lost=not peers[700].lost), *peers[701:]]

    def check(plain=other, nearer=peers, run=key, duration_s=100):
        monkeypatch.setattr(packets, "ours", lambda *_: nearer if _[4:] == (known.flow,) else plain)
        return packets.compare_run(*run, duration_s, drawn, peers)

    return check, peers, other, key


def test_a_known_tie_is_reported_and_holds(tie):
    check, peers, _, _ = tie
    found = check()
    assert found.holds
    assert found.measured == f"the first 700; with the host of flow 8 a nanosecond nearer the first {len(peers):,}"


def test_a_difference_that_is_no_known_tie_does_not_hold(tie):
    check, peers, other, (sender, load, seed) = tie
    later = [*other[:900], other[900]._replace(segment=12345), *other[901:]]
    assert not check(nearer=later).holds, "the tie decided, another difference is left"
    assert not check(plain=[*peers[:600], *other[601:]]).holds, "it differs elsewhere"
    assert not check(plain=peers).holds, "it differs no longer: then it is no tie to know of"
    assert not check(run=(sender, load, seed + 1)).holds, "another run"
    assert not check(duration_s=20).holds, "before the tie"
    assert check(plain=peers, duration_s=20).holds
