"""The pictures of the README, from real runs: `make images`."""

from __future__ import annotations

import fairdrop
from experiments import DOCS, ROOT
from experiments.pages import Files


def files() -> Files:
    """Two figures of the headline scenario; simulates it."""
    scenario = fairdrop.load(ROOT / "scenarios" / "headline.toml")
    result = scenario.compare(["droptail", "red", "choke"], seeds=10, progress=True)
    yield DOCS / "images" / "throughput-per-flow.png", result.plot.throughput_per_flow()
    yield DOCS / "images" / "queue-over-time.png", result.plot.queue_over_time()
