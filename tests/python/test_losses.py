"""Random losses of links: in the document, the table, and the text of ``run``."""

from __future__ import annotations

import json

import fairdrop as library

SETTINGS = ("--set", "duration=40s", "--set", "warm_up=5s", "--set", "dumbbell.loss=0.02")


def test_losses_are_told(fairdrop, headline, tmp_path):
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


def test_without_loss_nothing_is_told(headline):
    result = library.load(headline, ["duration=10s", "warm_up=1s"]).run()
    assert "link_losses" not in result.document["runs"][0]
    assert len(result.link_losses) == 0
