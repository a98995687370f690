"""Write what ns-2 and Linux have where a paper prints a number: ``python validation/peers.py``.

Linux's values are those of `make fidelity` (`validation/fidelity/summary.csv`), ns-2's are run here, where it is
installed; otherwise those that are there stay. The pages of the reproduction show them beside ours.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

from beside_ns2 import SCRIPT, installed

from fairdrop.estimate import estimate

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python" / "fairdrop" / "papers" / "peers.csv"
LINUX = ROOT / "validation" / "fidelity" / "summary.csv"
FIELDS = ("id", "measure", "scheme", "at", "peer", "mean", "half", "runs", "command")
NS2_SEEDS = 10
# Ids with the runs of figure 5 and of figure 3: measure, its column, axis of the rate.
FIGURE_5 = (
    ("choke-fig5", "drop", "udp_dropped"), ("choke-fig5", "udp", "udp_goodput"),
    ("choke-c3", "udp_drop", "udp_dropped"),
)  # fmt: skip
FIGURE_3 = (
    ("choke-fig3", "udp", "udp_goodput"), ("choke-fig3", "tcp", "tcp_goodput"), ("micro-fig3", "udp", "udp_goodput"),
)  # fmt: skip
SCHEMES = {"choke-1": "choke", "red": "red", "droptail": "droptail"}


def row(place: tuple[str, str, str, dict[str, Any]], peer: str, values: list[float], command: str) -> dict[str, Any]:
    name, measure, scheme, at = place
    found = estimate(values)
    assert found is not None
    return {
        "id": name, "measure": measure, "scheme": scheme, "at": json.dumps(at), "peer": peer,
        "mean": f"{found.mean:.6g}", "half": f"{found.half or 0.0:.3g}", "runs": found.n, "command": command,
    }  # fmt: skip


def linux() -> list[dict[str, Any]]:
    """Live runs with the kernel's Reno."""
    with LINUX.open(encoding="utf-8") as file:
        runs = [run for run in csv.DictReader(file) if (run["side"], run["control"]) == ("live", "reno")]
    found = []
    for scheme, ours in SCHEMES.items():
        for figure, wanted in (("fig5", FIGURE_5), ("fig3", FIGURE_3)):
            some = [run for run in runs if (run["figure"], run["scheme"]) == (figure, scheme)]
            for rate in dict.fromkeys(run["rate"] for run in some):
                at = {"rate": int(rate)} if figure == "fig5" else {}
                for name, measure, column in wanted:
                    values = [float(run[column]) for run in some if run["rate"] == rate]
                    found.append(row((name, measure, ours, at), "Linux", values, "make fidelity"))
    return found


def ns2(command: str) -> list[dict[str, Any]]:
    """Figure 3 under RED and DropTail: ns-2 has no CHOKe."""
    found = []
    for queue in ("red", "droptail"):
        reports = [
            json.loads(
                subprocess.run(
                    [command, str(SCRIPT), "-queue", queue, "-measure", "2", "-seed", str(seed)],
                    capture_output=True, text=True, check=True, timeout=600,
                ).stdout
            )
            for seed in range(1, NS2_SEEDS + 1)
        ]  # fmt: skip
        for name, measure, _ in FIGURE_3:
            values = [sum(f["bytes"] for f in one["flows"] if f["kind"] == measure) * 8e-3 / 240 for one in reports]
            found.append(row((name, measure, queue, {}), "ns-2", values, "python validation/peers.py"))
    return found


def main() -> None:
    """Write the table."""
    command = installed()
    if command is None:
        with TARGET.open(encoding="utf-8") as file:
            theirs = [one for one in csv.DictReader(file) if one["peer"] == "ns-2"]
    else:
        theirs = ns2(command)
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows([*theirs, *linux()])
    TARGET.write_text(out.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    main()
