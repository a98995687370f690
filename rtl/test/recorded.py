"""Random packets under Icarus Verilog: episodes that random_packets.cpp recorded, played to the cores."""

import argparse
import shutil
import subprocess
import sys

from random_packets import SHAPES, build
from vectors import ROOT, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=10_000, help="for all cores together")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--core", choices=SHAPES, action="append")
    options = parser.parse_args()
    names = options.core or list(SHAPES)
    for name in names:
        directory = ROOT / "build" / "rtl" / f"recorded-{name}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        program = build(name, SHAPES[name], ROOT / "build" / "rtl" / f"random-{name}")
        command = [program, str(options.packets // len(names)), str(options.seed), directory]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            sys.exit(f"{name}, seed {options.seed}: {ran.stdout}{ran.stderr}")
        core = name.split("-")[0]
        episodes = sorted(directory.glob("*.jsonl"))
        played = run(core, f"fairdrop_{core}_top", SHAPES[name], "icarus", directory / "icarus", episodes)
        if declined := [outcome for outcome in played.values() if outcome.startswith("declined")]:
            sys.exit(f"{name}: {declined}")
        print(f"icarus: {name}: {len(played)} episodes equal", flush=True)


if __name__ == "__main__":
    main()
