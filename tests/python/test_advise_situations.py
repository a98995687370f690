"""Situations for which publications say what to use: advice names one of those.

Clocks stand still, so that no machine is too slow. Those that take seconds run with FAIRDROP_LONG=1.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pytest

from fairdrop.advise import advise, campaign

LONG = os.environ.get("FAIRDROP_LONG") == "1"
FLOW_QUEUES = {"fq_codel", "cake"}


@dataclass(frozen=True)
class Situation:
    """What is asked, and which answers a source has for it."""

    name: str
    link: tuple[str, str, int]
    source: str
    answers: set[str]
    more: dict = field(default_factory=dict)
    #: Least interval, and least target.
    interval_s: float = 0.0
    target_s: float = 0.0
    #: Words that a line of the commands has, by what is chosen.
    words: dict[str, str] = field(default_factory=dict)
    quick: bool = False


SITUATIONS = [
    Situation(
        "a home by cable",
        ("50mbit", "20ms", 4),
        "bufferbloat.net, 'What can I do about bufferbloat': cake or fq_codel; sch_cake's commit: docsis, nat",
        FLOW_QUEUES,
        words={"fq_codel": "overhead 18 mpu 64", "cake": "docsis"},
    ),
    Situation(
        "a slow way up",
        ("1mbit", "50ms", 2),
        "RFC 8290, 5.2.2: the target at least a packet of 1500 bytes, at 1 Mb/s about 15 ms",
        FLOW_QUEUES,
        interval_s=0.1,
        target_s=0.012,
        quick=True,
    ),
    Situation(
        "a home in which one floods",
        ("20mbit", "20ms..100ms", 8),
        "RFC 8290, 9: floods of packets harm less than in a FIFO; tc-cake(8): flow isolation",
        {*FLOW_QUEUES, "fq_pie"},
        more={"target": "fairness"},
    ),
    Situation(
        "a geostationary satellite",
        ("50mbit", "600ms", 4),
        "RFC 8290, 5.2.1: the interval in the order of the worst round trip; tc-cake(8): satellite",
        FLOW_QUEUES,
        interval_s=0.6,
    ),
    Situation(
        "an ocean between",
        ("100mbit", "300ms", 10),
        "tc-cake(8): oceanic, 300 ms",
        {*FLOW_QUEUES, "fq_pie"},
    ),
    Situation(
        "a campus with 500 flows",
        ("1gbit", "20ms", 500),
        "RFC 8290, 8: a safe default, up to 10 Gb/s (5.2.3)",
        FLOW_QUEUES,
    ),
    Situation(
        "within a city",
        ("1gbit", "10ms", 20),
        "tc-cake(8): metro, 10 ms",
        FLOW_QUEUES,
    ),
    Situation(
        "a data centre at 10 Gb/s",
        ("10gbit", "100us", 20),
        "RFC 8257, 3.1, and Linux' dctcp.rst: switches mark above a threshold; RFC 8290, 5.2.7: fq_codel for DCTCP",
        {"red", "fq_codel"},
        words={"red": "ecn"},
    ),
    Situation(
        "a data centre at 1 Gb/s",
        ("1gbit", "200us", 10),
        "Linux' dctcp.rst: 20 packets at 1 Gb/s",
        {"red", "fq_codel"},
        words={"red": "ecn"},
    ),
    Situation(
        "a cell whose rate varies",
        ("20mbit", "50ms", 4),
        "tc-cake(8): autorate-ingress for cellular links",
        {*FLOW_QUEUES, "fq_pie"},
        more={"profile": "mobile"},
    ),
    Situation(
        "one queue for all",
        ("10mbit", "40ms", 4),
        "RFC 7567, 4: manage queues; RFC 8033 (PIE) and RFC 8289 (CoDel) rather than RED, which needs tuning",
        {"pie", "codel"},
        more={"disciplines": ["droptail", "red", "pie", "codel"]},
        quick=True,
    ),
    Situation(
        "a home with what its router has",
        ("4mbit", "30ms", 3),
        "RFC 8290, 8: a massive improvement over the FIFO",
        {"fq_codel"},
        more={"disciplines": ["droptail", "sfq", "fq_codel"]},
        quick=True,
    ),
]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name.replace(" ", "_"))
def test_advice_is_what_is_published(situation, tmp_path, monkeypatch):
    if not LONG and not situation.quick:
        pytest.skip("takes seconds: FAIRDROP_LONG=1")
    monkeypatch.setattr(campaign, "speed", lambda *_: 1e12)
    found = advise(
        *situation.link, out=tmp_path / "o", time="30s" if LONG else "3s", clock=lambda: 0.0, **situation.more
    )
    choice = found.choice
    advice = f"{choice.told}: {'; '.join(found.sure.why)}"
    assert choice.discipline in situation.answers, f"{advice}; {situation.source}"
    assert choice.parameters.get("interval", 1e9) >= situation.interval_s, advice
    assert choice.parameters.get("target", 1e9) >= situation.target_s, advice
    lines = [line for command in choice.commands for line in command.lines]
    assert any(situation.words.get(choice.discipline, "") in line for line in lines), lines
    # No statement contradicts the choice.
    assert choice.level and found.sure.level != "none"


def test_there_are_ten_and_each_has_its_source():
    assert len(SITUATIONS) >= 10 and all(one.source and one.answers for one in SITUATIONS)
    assert len({one.name for one in SITUATIONS}) == len(SITUATIONS)
