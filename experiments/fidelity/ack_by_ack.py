"""The simulator's Reno, CUBIC and BBR beside the kernel's, ACK by ACK, and the pages that say how they compare.

    python -m experiments.fidelity.ack_by_ack                  # records, plays, writes *.csv
    python -m experiments.fidelity.ack_by_ack --keep FOLDER    # goes on with the recordings that are there

Thirty recordings of twelve seconds, one after another, are played against the simulator's sender by
`crates/fairdrop-sim/examples/beside_kernel.rs`. Ninety more, five at a time, are for throughput.
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
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fairdrop
from experiments import DOCS, ROOT
from experiments.digests import as_csv, read, store
from experiments.fidelity.cells import HERE
from experiments.fidelity.recording import NotPossible, record
from experiments.pages import Files, pages_with, table
from fairdrop.estimate import estimate
from fairdrop.files import write_text

STORED, RATES, LIVE = HERE / "acks.csv", HERE / "rates.csv", HERE / "bbr.csv"
PAGES = tuple(DOCS / "background" / name for name in ("linux.md", "bbr.md"))
PLAYER = ROOT / "target" / "release" / "examples" / "beside_kernel"
# Seeds of fairdropd and of the simulator: a seed loses the same packets in both. More where losses are random.
RUNS = (1, 2)
RATE_RUNS = tuple(range(1, 13))
LOSSY = ("RED", "loss of 1 %", "loss of 5 %")
SECONDS = 12.0
CONTROLS = ("reno", "cubic", "bbr")
# A full frame of Ethernet, which is what the bridge counts.
FRAME = 1514
# Settings of a path for fairdropd and the simulator, beside 10 Mb/s and 20 ms each way.
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
# What is compared with TCP_CC_INFO: headings, and by which part it may differ.
OF_BBR = {
    "bw": ("bandwidth", 0.005),
    "min_rtt_us": ("least round trip", 0.005),
    "pacing_gain": ("pacing gain", 0.0),
    "cwnd_gain": ("window gain", 0.0),
    "rate": ("pacing rate", 0.005),
}
# Sent so little later or earlier than the simulator's pacing has it counts as in time.
IN_TIME_US = 500
Row = dict[str, str]


def options(path: str, seed: int = 1) -> tuple[str, ...]:
    """Arguments of `fairdropd bridge`."""
    _, fields = PATHS[path]
    words = ["--up", "10mbit", "--down", "1gbit", "--delay", "20ms", "--queue", fields["discipline"]]
    words += ["--set", f"seed={seed}"]
    for name, value in fields.items():
        if name != "discipline":
            words += ["--set", f"{'up.loss' if name == 'loss' else name}={value}"]
    return tuple(words)


def play(recording: str, control: str, player: Path = PLAYER) -> list[Row]:
    """A line for each ACK of a recording: the answers of the kernel and of the simulator's sender."""
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
    found = {
        "acks": len(rows),
        "same": len(rows) - kinds.total(),
        "segments": sum(kernels.total() for kernels, _ in sent),
        "of_both": sum((kernels & own).total() for kernels, own in sent),
        "only_simulated": sum((own - kernels).total() for kernels, own in sent),
        **{name: kinds[name] for name in KINDS},
        "known": len(known),
        **{name: sum(row[f"kernel_{name}"] == row[f"model_{name}"] for row in known) for name in INFO},
    }
    return found | (of_bbr(rows) if "late_us" in rows[0] else {})


def of_bbr(rows: list[Row]) -> dict[str, Any]:
    """How alike their models of the path are, and when they send."""
    known = [row for row in rows if row["kernel_bw"]]
    late = sorted(int(late) for row in rows for late in row["late_us"].split())
    return {
        "known_bbr": len(known),
        **{name: sum(is_near(row, name) for row in known) for name in OF_BBR},
        "timed": len(late),
        "in_time": sum(abs(one) <= IN_TIME_US for one in late),
        "late_median_us": late[len(late) // 2],
        "late_99_us": late[len(late) * 99 // 100],
    }


def is_near(row: Row, name: str) -> bool:
    kernels, own = float(row[f"kernel_{name}"]), float(row[f"model_{name}"])
    return abs(own - kernels) <= OF_BBR[name][1] * kernels


def acked_per_s(recording: str) -> float:
    """Segments that the kernel got acknowledged in the first seconds, until the last ACK of them."""
    lines = [line.split() for line in recording.splitlines()]
    began = next(int(words[1]) for words in lines if words[0] == "syn")
    acks = [(int(words[1]) - began, int(words[2])) for words in lines if words[0] == "ack"]
    last, _ = max(ack for ack in acks if ack[0] <= SECONDS * 1e9)
    return round(max(acked for at, acked in acks if at <= last) / (last / 1e9), 2)


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
access_delay = "0s"
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


def recording_of(path: str, control: str, run: int, keep: Path | None) -> str:
    """Of a run; that of the folder `keep` if it is there."""
    name = f"{control}-{path}-{run}.txt".replace(" ", "-").replace("%", "percent")
    if keep and (keep / name).exists():
        return (keep / name).read_text(encoding="utf-8")
    print(path, control, run, file=sys.stderr)
    text = record(options(path, run), control, SECONDS)
    if keep:
        write_text(keep / name, text)
    return text


def recorded(player: Path, keep: Path | None) -> list[dict[str, Any]]:
    """How alike kernel and simulator are, ACK by ACK."""
    rows = []
    for path in PATHS:
        for control in CONTROLS:
            for run in RUNS:
                found = compare(play(recording_of(path, control, run, keep), control, player))
                rows.append(head(path, control, run) | found)
    return rows


def head(path: str, control: str, run: int) -> dict[str, Any]:
    return {"kernel": platform.release().split("-")[0], "path": path, "control": control, "run": run}


def rates(keep: Path | None) -> list[dict[str, Any]]:
    """Throughput of kernel and simulator with the same seeds."""
    runs = [(path, control, run) for path in PATHS for control in CONTROLS for run in RATE_RUNS]
    runs = [job for job in runs if job[0] in LOSSY or job[2] in RUNS]
    with ThreadPoolExecutor(5) as workers:
        kernels = list(workers.map(lambda job: acked_per_s(recording_of(*job, keep)), runs))
    return [
        head(*job) | {"kernel_per_s": kernel, "simulated_per_s": simulated(*job)}
        for job, kernel in zip(runs, kernels, strict=True)
    ]


def sections(counts: str) -> dict[str, str]:
    """The generated parts of the pages, by name, from stored results."""
    rows, rates_, live = (read(file) for file in (STORED, RATES, LIVE))
    of_bbr = [row for row in rows if row["control"] == "bbr"]
    others = [row for row in rows if row["control"] != "bbr"]
    return {
        "paths": table(["path", "bottleneck"], [[path, text] for path, (text, _) in PATHS.items()]),
        "short": in_short(others),
        "alike": alike(others),
        "kinds": kinds(others),
        "rates": throughput([row for row in rates_ if row["control"] != "bbr"]),
        "counts": counts,
        "bbr-short": in_short(of_bbr),
        "bbr-alike": alike(of_bbr),
        "bbr-kinds": kinds(of_bbr),
        "bbr-control": models(of_bbr),
        "bbr-times": times(of_bbr),
        "bbr-rates": throughput([row for row in rates_ if row["control"] == "bbr"]),
        "bbr-live": table(list(live[0]), [row.values() for row in live]),
    }


def files(counts: str) -> Files:
    """The pages, with the table of how many cells are near that the page of fidelity has as well."""
    yield from pages_with("fidelity", sections(counts), *PAGES)


def cells(rows: list[Row]) -> list[tuple[list[str], list[Row]]]:
    """Rows by path and control, and their cells at the left; without the control where there is one."""
    controls = list(dict.fromkeys(row["control"] for row in rows))
    found = []
    for path in PATHS:
        for control in controls:
            some = [row for row in rows if (row["path"], row["control"]) == (path, control)]
            found.append(([path, control] if len(controls) > 1 else [path], some))
    return found


def in_short(rows: list[Row]) -> str:
    acks, same = total(rows, "acks"), total(rows, "same")
    return f"Of {acks:,} ACKs {100 * same / acks:.2f} % have the same answer; {acks - same:,} have not."


def by_path(rows: list[Row], heads: Iterable[str], line: Callable[[list[Row]], Iterable[str]]) -> str:
    """A table with a line for each path and control."""
    lines = [(left, list(line(some))) for left, some in cells(rows)]
    left = ["path", ""][: len(lines[0][0])]
    return table([*left, *heads], [[*left, *right] for left, right in lines])


def alike(rows: list[Row]) -> str:
    heads = ["ACKs", "same answer, %", "same segments, %", "more simulated", *(f"{of}, %" for of in INFO)]

    def line(some: list[Row]) -> list[str]:
        most = [part(some, "same", "acks"), part(some, "of_both", "segments"), str(total(some, "only_simulated"))]
        return [str(total(some, "acks")), *most, *(part(some, name, "known") for name in INFO)]

    return by_path(rows, heads, line)


def kinds(rows: list[Row]) -> str:
    return by_path(rows, KINDS.values(), lambda some: (str(total(some, name)) for name in KINDS))


def models(rows: list[Row]) -> str:
    heads = [f"{text}, %" for text, _ in OF_BBR.values()]
    return by_path(rows, heads, lambda some: (part(some, name, "known_bbr") for name in OF_BBR))


def times(rows: list[Row]) -> str:
    def line(some: list[Row]) -> list[str]:
        late = (max(int(row[name]) for row in some) for name in ("late_median_us", "late_99_us"))
        return [str(total(some, "timed")), part(some, "in_time", "timed"), *(f"{one / 1000:.2f}" for one in late)]

    return by_path(rows, ["segments", "within 0.5 ms, %", "median, ms", "99th percentile, ms"], line)


def throughput(rows: list[Row]) -> str:
    def line(some: list[Row]) -> list[str]:
        kernels, own = ([float(row[name]) for row in some] for name in ("kernel_per_s", "simulated_per_s"))
        found = estimate(100 * one / other - 100 for one, other in zip(own, kernels, strict=True))
        assert found and found.half is not None
        more = f"{found.mean:+.1f}".replace("-0.0", "+0.0")
        return [str(len(some)), spread(kernels), spread(own), f"{more} ± {found.half:.1f}"]

    return by_path(rows, ["runs", "kernel", "simulated", "simulated more, %"], line)


def total(rows: list[Row], name: str) -> int:
    return sum(int(row[name]) for row in rows)


def part(rows: list[Row], name: str, whole: str) -> str:
    return f"{100 * total(rows, name) / total(rows, whole):.2f}"


def spread(values: list[float]) -> str:
    return f"{statistics.fmean(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a folder for the recordings; those that are there are taken")
    parser.add_argument("--player", type=Path, default=PLAYER, help="the example beside_kernel, when it is elsewhere")
    given = parser.parse_args()
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    try:
        acks, rates_ = recorded(given.player, given.keep), rates(given.keep)
    except NotPossible as missing:
        raise SystemExit(f"no recording: {missing}") from None
    store(STORED, as_csv(acks))
    store(RATES, as_csv(rates_))


if __name__ == "__main__":
    main()
