"""Random packets under Icarus Verilog: episodes that the programs for Verilator recorded, played to the cores."""

import argparse
import shutil
import subprocess
import sys

import collar
from random_packets import SHAPES, build
from registers import Shape
from vectors import ROOT, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=10_000, help="for all cores together")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--core", choices=[*SHAPES, "collar"], action="append")
    options = parser.parse_args()
    names = options.core or [*SHAPES, "collar"]
    for name in names:
        directory = ROOT / "build" / "rtl" / f"recorded-{name}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        folder = ROOT / "build" / "rtl" / f"random-{name}"
        program = collar.build(folder) if name == "collar" else build(name, SHAPES[name], folder)
        command = [program, str(options.packets // len(names)), str(options.seed), directory]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            sys.exit(f"{name}, seed {options.seed}: {ran.stdout}{ran.stderr}")
        core = name.split("-")[0]
        episodes = sorted(directory.glob("*.jsonl"))
        if name == "collar":
            top, shape, player = "fairdrop_collar", Shape(), "play_collar"
        else:
            top, shape, player = f"fairdrop_{core}_top", SHAPES[name], "play_vectors"
        played = run(core, top, shape, "icarus", directory / "icarus", episodes, player)
        if declined := [outcome for outcome in played.values() if outcome.startswith("declined")]:
            sys.exit(f"{name}: {declined}")
        print(f"icarus: {name}: {len(played)} episodes equal", flush=True)


if __name__ == "__main__":
    main()
