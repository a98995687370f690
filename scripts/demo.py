"""The main job on real input: a greedy sender on a simulated link, and a capture of real traffic replayed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "demo"
DISCIPLINES = "droptail,red,choke"
# Less than either capture carries, so that the replayed link is congested.
REPLAY_RATES = {"kernel": "20mbit", "synthetic": "10mbit"}


def fairdrop(*words: str) -> None:
    """Run the fairdrop command that this interpreter has installed."""
    subprocess.run([sys.executable, "-m", "fairdrop", *words], check=True, cwd=ROOT)


def simulate() -> Path:
    """Compare the three disciplines on the headline scenario."""
    print("1. One UDP sender at 2 Mb/s against 32 TCP flows on a simulated 1 Mb/s link", flush=True)
    report = RESULTS / "headline.html"
    fairdrop(
        *("compare", "scenarios/headline.toml", "--disciplines", DISCIPLINES, "--seeds", "10"),
        *("--out", str(RESULTS / "headline"), "--report", str(report)),
    )
    return report


def capture() -> tuple[Path, str]:
    """Capture kernel TCP and UDP in network namespaces, or make a synthetic capture where that is not allowed."""
    path = RESULTS / "demo.pcap"
    maker = [sys.executable, "tests/capture/make_capture.py", str(path)]
    made = subprocess.run(maker, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    facts = json.loads(made.stdout)
    if facts["source"] == "kernel":
        print("   captured real kernel TCP and UDP traffic in network namespaces", flush=True)
    else:
        print(f"   made a synthetic capture, because {facts['reason']}", flush=True)
    return path, facts["source"]


def replay() -> Path:
    """Replay the capture through the three disciplines."""
    print("\n2. A capture through a congested link", flush=True)
    path, source = capture()
    report = RESULTS / "replay.html"
    fairdrop(
        *("replay", str(path), "--rate", REPLAY_RATES[source], "--disciplines", DISCIPLINES, "--seeds", "3"),
        *("--out", str(RESULTS / "replay"), "--report", str(report)),
    )
    return report


def main() -> None:
    """Run both, and say where the reports lie."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    reports = [simulate(), replay()]
    print("\nOpen in a browser:")
    for report in reports:
        print(f"  {report.relative_to(Path.cwd()) if report.is_relative_to(Path.cwd()) else report}")


if __name__ == "__main__":
    main()
