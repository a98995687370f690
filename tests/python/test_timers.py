"""Flows that leave their share because they wait for timers are named, where the queue would have given them more."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

import fairdrop
from fairdrop.cautions import cautions
from fairdrop.document import document_of
from fairdrop.timers import timer_limited

HEADLINE = Path(__file__).resolve().parents[2] / "scenarios" / "headline.toml"


@pytest.fixture(scope="module")
def document():
    found = fairdrop.load(HEADLINE, ["duration=120s", "warm_up=20s"])
    return found.compare(["cake", "fq_codel", "red"], seeds=2).document


def test_timers_of_1998_under_cake(document):
    [found] = timer_limited(document_of(document))
    assert (found.discipline, found.group, found.gainers) == ("cake", "tcp", ["udp"])
    assert found.timeouts_per_flow_s > 10 * found.fast_retransmits_per_flow_s
    assert any("cake: flows of tcp leave" in line for line in cautions(document_of(document)))


def test_senders_that_recover_have_their_share():
    found = fairdrop.load(HEADLINE, ["duration=60s", "warm_up=20s", "groups.tcp.era=linux"])
    document = found.compare(["cake"], seeds=1).document
    assert timer_limited(document_of(document)) == []
    [udp] = [group for group in document["runs"][0]["groups"] if group["name"] == "udp"]
    assert udp["share"] == pytest.approx(1 / 33, rel=0.1)


def changed(document, **values):
    """The document with other values of the TCP group in every run."""
    other = copy.deepcopy(document)
    for run in other["runs"]:
        run["groups"][0].update(values)
    return other


@pytest.mark.parametrize(
    "values",
    [{"timeouts": 0}, {"fast_retransmits": 10**6}, {"throughput_bps": 0.96 * 32 * 1e6 / 33}],
    ids=["no timeouts", "found by duplicate ACKs", "has its share"],
)
def test_other_reasons_are_not_timers(document, values):
    assert timer_limited(document_of(changed(document, **values))) == []


def test_nobody_gains(document):
    other = copy.deepcopy(document)
    for run in other["runs"]:
        run["groups"][1]["throughput_bps"] = 0.0
    assert timer_limited(document_of(other)) == []


def share_of_udp(document, discipline):
    runs = [run for run in document["runs"] if run["discipline"] == discipline]
    return sum(group["share"] for run in runs for group in run["groups"] if group["name"] == "udp") / len(runs)


def test_fq_codel_that_drops_from_small_windows_does_as_cake(document):
    """The cause on CAKE's page: what COBALT spares, and turns of 300 bytes."""
    settings = ["duration=120s", "warm_up=20s", "queue.codel.mtu=0B", "queue.fq_codel.quantum=300B"]
    other = fairdrop.load(HEADLINE, settings).compare(["fq_codel"], seeds=2).document
    as_cake = share_of_udp(other, "fq_codel")
    assert share_of_udp(document, "fq_codel") < 0.04 < 0.12 < as_cake
    assert as_cake == pytest.approx(share_of_udp(document, "cake"), rel=0.25)
