"""Random losses of links: in the document, the table, and the text of ``run``."""

from __future__ import annotations

import json

import fairdrop as library
from fairdrop.document import document_of
from fairdrop.report.notices import notices

SETTINGS = ("--set", "duration=40s", "--set", "warm_up=5s", "--set", "dumbbell.loss=0.02")


def test_losses_are_reported(fairdrop, headline, tmp_path):
    done = fairdrop("run", headline, *SETTINGS, "--seeds", "2", "--quiet", "--json", "--out", "o")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    for run in runs:
        (link,) = run["link_losses"]
        assert link["name"] == "bottleneck"
        for unit in ("packets", "bytes"):
            assert link["offered"][unit] == link["carried"][unit] + link["lost"][unit]
            assert link["lost"][unit] == sum(group[unit] for group in link["lost_by_group"].values())
        assert link["offered"]["packets"] == run["queues"][0]["departures"]
    text = fairdrop("run", headline, *SETTINGS).stdout
    lost, offered = (runs[0]["link_losses"][0][name]["packets"] for name in ("lost", "offered"))
    assert f"bottleneck: {lost} packets lost at random, {100 * lost / offered:.2f} %" in text, text


def test_the_table_equals_the_document(headline):
    settings = [word for word in SETTINGS if word != "--set"]
    result = library.load(headline, settings).run()
    (link,) = result.document["runs"][0]["link_losses"]
    rows = {row["group"]: row for row in result.link_losses.rows()}
    assert {name: (row["lost"], row["lost_bytes"]) for name, row in rows.items()} == {
        name: (lost["packets"], lost["bytes"]) for name, lost in link["lost_by_group"].items()
    }
    assert {(row["offered"], row["carried"]) for row in rows.values()} == {
        (link["offered"]["packets"], link["carried"]["packets"])
    }


def test_without_loss_nothing_is_reported(headline):
    result = library.load(headline, ["duration=10s", "warm_up=1s"]).run()
    assert "link_losses" not in result.document["runs"][0]
    assert len(result.link_losses) == 0


def test_losses_before_the_queue_name_group_link_and_field(fairdrop, headline):
    """A flood above the hosts' own links, and what to change."""
    settings = ["duration=12s", "warm_up=2s", "groups.udp.rate=30mbit", "groups.udp.start_spread=0s"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = fairdrop("run", headline, *words)
    assert done.returncode == 0, done.stderr
    text = "groups.udp.access_rate = 10 Mb/s is below the 30 Mb/s that udp sends: 25,000 packets lost before the queue"
    assert f"warning: {text}\n" in done.stderr + done.stdout
    (notice, *_) = notices(document_of(library.load(headline, settings).run().document))
    assert (notice.kind, notice.lines) == ("invalid", [f"CHOKe, seed 1: {text}"])


def test_by_default_nothing_is_lost_before_the_queue(tmp_path):
    """Hosts' own links are wide enough for what their flow sends."""
    text = """duration = "12s"\nwarm_up = "2s"\n[[groups]]\nname = "udp"\ntransport = "cbr"\nrate = "30mbit"\n"""
    (tmp_path / "flood.toml").write_text(text)
    result = library.load(tmp_path / "flood.toml").run()
    (run,) = result.document["runs"]
    assert (run["valid"], run["problems"]) == (True, [])
    assert round(run["groups"][0]["offered_bps"] / 1e6, 2) == 30.0
