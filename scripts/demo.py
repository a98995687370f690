"""The main job on real input: a greedy sender simulated, captured traffic replayed, kernel TCP live."""

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


def why_not_live() -> str | None:
    """What forbids live runs here, in a line; None where nothing does."""
    program = Path(sys.executable).parent / "fairdropd"
    if not program.exists():
        return "they are Linux's" if sys.platform != "linux" else f"there is no {program}"
    tried = subprocess.run([program, "shell", "--", "true"], stderr=subprocess.PIPE, text=True, check=False)
    return tried.stderr.strip().splitlines()[-1].removeprefix("error: ") if tried.returncode else None


def live() -> list[Path]:
    """The scenario of the beginning with kernel TCP, shortened, beside its simulation."""
    print("\n3. The first scenario with kernel TCP in network namespaces, beside its simulation", flush=True)
    reason = why_not_live()
    if reason:
        print(f"   no live run: {reason}", flush=True)
        return []
    report = RESULTS / "live.html"
    fairdrop(
        *("compare", "scenarios/headline.toml", "--live", "--disciplines", "choke", "--seeds", "2"),
        *("--set", "duration=20s", "--set", "warm_up=8s"),
        *("--out", str(RESULTS / "live"), "--report", str(report)),
    )
    return [report]


def main() -> None:
    """Run all, and say where the reports lie."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    reports = [simulate(), replay(), *live()]
    print("\nOpen in a browser:")
    for report in reports:
        print(f"  {report.relative_to(Path.cwd()) if report.is_relative_to(Path.cwd()) else report}")


if __name__ == "__main__":
    main()
