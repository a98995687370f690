"""What a user-defined discipline costs: CHOKe in the library, in Rust, C and Python, in turns, in one command.

    bench_extension.py [--rounds N] [--seeds N] [--no-instructions]

The scenario is the headline one without warm-up, so that the packets that are counted are all. Times are processor time
of the event loop; the fastest of the rounds counts. Instructions are those of the loop under callgrind, which other
work on the machine does not change. Python's are not counted: its interpreter would be, too.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import fairdrop

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target" / "release" / "examples" / "cost_of_extension"
PAGE = ROOT / "docs" / "how-to" / "your-own-discipline.md"
NAMES = {"library": "choke", "rust": "my_choke", "c": "c_choke"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="times that each is run (5)")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each time (5)")
    parser.add_argument("--no-instructions", action="store_true", help="times only")
    options = parser.parse_args()
    command = ["cargo", "build", "--quiet", "--release", "--package", "fairdrop-sim", "--example", "cost_of_extension"]
    subprocess.run(command, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    plugin, scenario = folder / "choke.so", folder / "scenario.toml"
    source, header = ROOT / "crates/fairdrop-extension/examples/choke.c", ROOT / "crates/fairdrop-ffi/include"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O2", "-ffp-contract=off", "-I", header, source, "-o", plugin], check=True
    )
    text = (ROOT / "scenarios" / "headline.toml").read_text(encoding="utf-8")
    scenario.write_text(re.sub(r'(?m)^warm_up = "60s"', 'warm_up = "0s"', text), encoding="utf-8")
    (folder / "in_python.py").write_text(python_choke(), encoding="utf-8")
    found: dict[str, list[dict[str, float]]] = {name: [] for name in (*NAMES, "python")}
    for _ in range(options.rounds):
        for name, discipline in NAMES.items():
            found[name].append(native(scenario, discipline, options.seeds, plugin))
        found["python"].append(in_python(scenario, folder / "in_python.py", options.seeds))
    best = {name: min(runs, key=lambda run: run["loop_cpu_s"]) for name, runs in found.items()}
    counted = {} if options.no_instructions else instructions(scenario, plugin, folder)
    show(best, counted)


def native(scenario: Path, discipline: str, seeds: int, plugin: Path) -> dict[str, float]:
    command = [PROGRAM, scenario, discipline, str(seeds), plugin]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def in_python(scenario: Path, file: Path, seeds: int) -> dict[str, float]:
    read = fairdrop.Scenario(scenario.read_text(encoding="utf-8"), str(scenario), ["seed=1"], [str(file)])
    result = read.compare(["my_choke"], seeds=seeds, threads=1)
    packets = sum(run["queues"][0]["arrivals"] for run in result.document["runs"])
    return {"loop_cpu_s": result.timing()["loop_cpu_s"], "arrivals": packets}


def python_choke() -> str:
    """The class that the page shows."""
    block = re.compile(r"^```python\n(from fairdrop import Discipline, param\n.*?)^```$", re.MULTILINE | re.DOTALL)
    found = block.search(PAGE.read_text(encoding="utf-8"))
    assert found, PAGE
    return found[1]


def instructions(scenario: Path, plugin: Path, folder: Path) -> dict[str, float]:
    if shutil.which("valgrind") is None:
        return {}
    counted = {}
    for name, discipline in NAMES.items():
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind",
             "--toggle-collect=*fairdrop_sim::run::simulate*", PROGRAM, scenario, discipline, "1", plugin],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        collected = re.search(r"Collected : (\d+)", done.stderr)
        assert collected, done.stderr
        counted[name] = float(collected[1])
    return counted


def show(best: dict[str, dict[str, float]], counted: dict[str, float]) -> None:
    head = "CHOKe in | loop, ns a packet | times the library's | more, ns a packet | instructions, times the library's"
    print(f"| {head} |\n| --- | ---: | ---: | ---: | ---: |")
    per_packet = {name: 1e9 * run["loop_cpu_s"] / run["arrivals"] for name, run in best.items()}
    base = per_packet["library"]
    for name, ns in per_packet.items():
        ratio = f"{counted[name] / counted['library']:.3f}" if name in counted else "-"
        print(f"| {name} | {ns:.0f} | {ns / base:.2f} | {ns - base:.0f} | {ratio} |")


if __name__ == "__main__":
    main()
