"""Tahoe, Reno and NewReno send the packets that ns-2 2.35 sent, and RED drops those that it dropped (tests/ns2)."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def packets(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "validation"))
    return importlib.import_module("packet_by_packet")


@pytest.mark.parametrize("name", ["tahoe", "reno", "newreno", "reno-red"])
def test_every_packet_is_that_of_ns2(packets, root, name):
    drawn, peers = packets.read_recording(root / "tests" / "ns2" / f"{name}.csv")
    transport, load = packets.RECORDED[name]
    check = packets.compare(name, packets.ours(transport, load, packets.RECORDED_S, drawn), peers)
    assert check.holds, check.why
    # Something happened: thousands of packets, and losses.
    assert len(peers) > 1500
    assert sum(arrival.lost for arrival in peers) > 50


def test_the_flavours_differ(packets, root):
    recorded = [packets.read_recording(root / "tests" / "ns2" / f"{name}.csv")[1] for name in packets.RECORDED]
    assert all(packets.common(one, other) < len(one) for one in recorded for other in recorded if one is not other)


def test_a_difference_is_found_and_named(packets, root):
    _, peers = packets.read_recording(root / "tests" / "ns2" / "reno.csv")
    packet = peers[700]
    for change in ({"flow": 99}, {"segment": 12345}, {"lost": not packet.lost}, {"time_ns": packet.time_ns + 3000}):
        mine = [*peers[:700], packet._replace(**change), *peers[701:]]
        check = packets.compare("changed", mine, peers)
        assert (check.holds, check.measured) == (False, "the first 700"), change
    short = packets.compare("short", peers[:-1], peers)
    assert not short.holds
    assert "None here" in short.why
