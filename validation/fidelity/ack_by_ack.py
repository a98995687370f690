"""The simulator's Reno and CUBIC beside the kernel's, ACK by ACK, and the page that says how they compare.

    .venv/bin/python validation/fidelity/ack_by_ack.py            # records, plays, writes acks.csv and the page
    .venv/bin/python validation/fidelity/ack_by_ack.py --page     # the page from acks.csv

Twenty recordings of ten seconds. Each is played against the simulator's sender by
`crates/fairdrop-sim/examples/beside_kernel.rs`.
"""

from __future__ import annotations

import argparse
import csv
import io
import platform
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import page as fidelity
from cells import HERE
from recording import NotPossible, record

import fairdrop
from fairdrop.files import write_text

STORED = HERE / "acks.csv"
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "background" / "linux.md"
PLAYER = ROOT / "target" / "release" / "examples" / "beside_kernel"
RUNS = (1, 2)
SECONDS = 10.0
CONTROLS = ("reno", "cubic")
# A full frame of Ethernet, which is what the bridge counts.
FRAME = 1514
# What fairdropd and the simulator are told of a path, beside 10 Mb/s and 20 ms each way.
PATHS: dict[str, tuple[str, dict[str, str]]] = {
    "no loss": ("a FIFO of 10,000 packets", {"discipline": "droptail", "limit": "10000p"}),
    "DropTail": ("a FIFO of 50 packets", {"discipline": "droptail", "limit": "50p"}),
    "RED": (
        "RED, thresholds 10 and 30 packets of 100",
        {"discipline": "red", "limit": "100p", "red.min_th": "10p", "red.max_th": "30p"},
    ),
    "loss of 1 %": ("1 % lost at random", {"discipline": "droptail", "limit": "300p", "loss": "0.01"}),
    "loss of 5 %": ("5 % lost at random", {"discipline": "droptail", "limit": "300p", "loss": "0.05"}),
}
KINDS = {
    "window": "the window grows an ACK earlier or later",
    "loss": "a segment counts as lost earlier or later",
    "next": "the next ACK came before the kernel was ready with this one",
    "timer": "a timer ran out earlier or later",
    "other": "anything else",
}
# What is compared with TCP_INFO.
INFO = ("cwnd", "ssthresh", "state")
Row = dict[str, str]


def options(path: str) -> tuple[str, ...]:
    """What `fairdropd bridge` is told."""
    _, fields = PATHS[path]
    words = ["--up", "10mbit", "--down", "1gbit", "--delay", "20ms", "--queue", fields["discipline"]]
    for name, value in fields.items():
        if name != "discipline":
            words += ["--set", f"{'up.loss' if name == 'loss' else name}={value}"]
    return tuple(words)


def play(recording: str, control: str, player: Path = PLAYER) -> list[Row]:
    """A line for each ACK of a recording: what the kernel and what the simulator's sender did."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(recording)
        file.flush()
        done = subprocess.run([player, control, file.name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def segments(text: str) -> Counter[int]:
    """Of `4-6 9`."""
    found: Counter[int] = Counter()
    for part in text.split():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def kind(row: Row) -> str:
    """Of a difference: one of KINDS."""
    kernels, own = segments(row["kernel_sent"]), segments(row["model_sent"])
    if row["timer"] in ("early", "late"):
        return "timer"
    if row["known"] == "0" and not kernels - own:
        return "next"
    if row["kernel_lost"] != row["model_lost"]:
        return "loss"
    is_open = {row["kernel_state"], row["model_state"]} <= {"0", "1"}
    return "window" if is_open and row["kernel_ssthresh"] == row["model_ssthresh"] else "other"


def compare(rows: list[Row]) -> dict[str, Any]:
    """How alike they are."""
    known = [row for row in rows if row["known"] == "1"]
    kinds = Counter(kind(row) for row in rows if row["kernel_sent"] != row["model_sent"])
    sent = [(segments(row["kernel_sent"]), segments(row["model_sent"])) for row in rows]
    seconds = (int(rows[-1]["time_us"]) - int(rows[0]["time_us"])) / 1e6
    return {
        "acks": len(rows),
        "same": len(rows) - kinds.total(),
        "segments": sum(kernels.total() for kernels, _ in sent),
        "of_both": sum((kernels & own).total() for kernels, own in sent),
        "only_simulated": sum((own - kernels).total() for kernels, own in sent),
        **{name: kinds[name] for name in KINDS},
        "known": len(known),
        **{name: sum(row[f"kernel_{name}"] == row[f"model_{name}"] for row in known) for name in INFO},
        "acked_per_s": round(sum(int(row["acked"]) for row in rows) / seconds, 2),
    }


def simulated(path: str, control: str, seed: int) -> float:
    """Segments per second that one flow of a simulation gets acknowledged on the path."""
    _, fields = PATHS[path]
    queue = "\n".join(f'{name} = "{value}"' for name, value in fields.items() if name != "loss")
    text = f"""
duration = {SECONDS}
warm_up = 0
sample = 0
[dumbbell]
rate = "10mbit"
delay = "20ms"
access_rate = "1gbit"
loss = {fields.get("loss", "0")}
[queue]
{queue}
[[groups]]
name = "tcp"
transport = "{control}"
era = "linux"
packet_size = "{FRAME}B"
max_window = "100000p"
start_spread = "0s"
"""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "one-flow.toml"
        scenario.write_text(text)
        (run,) = fairdrop.load(scenario, [f"seed={seed}"]).run(seeds=1).document["runs"]
    return round(run["groups"][0]["goodput_bps"] / (8 * FRAME), 2)


def recorded(player: Path) -> list[dict[str, Any]]:
    """How alike kernel and simulator are in every recording, made anew."""
    rows = []
    for path in PATHS:
        for control in CONTROLS:
            for run in RUNS:
                found = compare(play(record(options(path), control, SECONDS), control, player))
                print(path, control, run, found, file=sys.stderr)
                head = {"kernel": platform.release().split("-")[0], "path": path, "control": control, "run": run}
                rows.append(head | found)
    return rows


def with_simulations(rows: list[dict[str, Any]]) -> str:
    """The text of acks.csv."""
    text = io.StringIO()
    made = [row | {"simulated_per_s": simulated(row["path"], row["control"], row["run"])} for row in rows]
    writer = csv.DictWriter(text, list(made[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(made)
    return text.getvalue()


def table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *map(list, lines)))


def sections(stored: str, summary: fidelity.Summary) -> dict[str, str]:
    """What is generated of the page, by name, from the text of acks.csv and the summary of the live runs."""
    rows = list(csv.DictReader(io.StringIO(stored)))
    cells = [
        (path, control, [row for row in rows if (row["path"], row["control"]) == (path, control)])
        for path in PATHS
        for control in CONTROLS
    ]
    acks, same = total(rows, "acks"), total(rows, "same")
    return {
        "short": f"Of {acks:,} ACKs {100 * same / acks:.2f} % have the same answer; {acks - same:,} have not.",
        "paths": table(["path", "bottleneck"], [[path, text] for path, (text, _) in PATHS.items()]),
        "alike": table(
            ["path", "", "ACKs", "same answer, %", "same segments, %", "more simulated", *(f"{of}, %" for of in INFO)],
            [
                [
                    path,
                    control,
                    str(total(some, "acks")),
                    part(some, "same", "acks"),
                    part(some, "of_both", "segments"),
                    str(total(some, "only_simulated")),
                    *(part(some, name, "known") for name in INFO),
                ]
                for path, control, some in cells
            ],
        ),
        "kinds": table(
            ["path", "", *KINDS.values()],
            [[path, control, *(str(total(some, name)) for name in KINDS)] for path, control, some in cells],
        ),
        "rates": table(
            ["path", "", "kernel", "simulated"],
            [
                [path, control, rate(some, "acked_per_s"), rate(some, "simulated_per_s")]
                for path, control, some in cells
            ],
        ),
        "counts": fidelity.counts(summary),
    }


def total(rows: list[Row], name: str) -> int:
    return sum(int(row[name]) for row in rows)


def part(rows: list[Row], name: str, whole: str) -> str:
    return f"{100 * total(rows, name) / total(rows, whole):.2f}"


def rate(rows: list[Row], name: str) -> str:
    values = [float(row[name]) for row in rows]
    return f"{statistics.fmean(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", action="store_true", help="only write the page anew, from acks.csv")
    parser.add_argument("--player", type=Path, default=PLAYER, help="the example beside_kernel, when it is elsewhere")
    given = parser.parse_args()
    if not given.page:
        try:
            write_text(STORED, with_simulations(recorded(given.player)))
        except NotPossible as missing:
            raise SystemExit(f"no recording: {missing}") from None
    made = sections(STORED.read_text(encoding="utf-8"), fidelity.Summary(HERE / "summary.csv"))
    write_text(PAGE, fidelity.rewritten(PAGE.read_text(encoding="utf-8"), made))


if __name__ == "__main__":
    main()
