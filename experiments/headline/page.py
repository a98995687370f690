"""Draws the pictures of the README from real runs: `make images`."""

from __future__ import annotations

import fairdrop
from experiments import DOCS, ROOT
from fairdrop import plot


def main() -> None:
    """Runs the headline scenario and saves two figures of it."""
    scenario = fairdrop.load(ROOT / "scenarios" / "headline.toml")
    result = scenario.compare(["droptail", "red", "choke"], seeds=10, progress=True)
    for name, figure in (
        ("throughput-per-flow", result.plot.throughput_per_flow()),
        ("queue-over-time", result.plot.queue_over_time()),
    ):
        figure.set_facecolor("white")
        plot.save(figure, DOCS / "images" / f"{name}.png")


if __name__ == "__main__":
    main()
