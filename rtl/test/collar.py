"""The core of COLLAR: conformance vectors under Icarus Verilog and Verilator, and random packets beside the library."""

import argparse
import subprocess
import sys
from pathlib import Path

from random_packets import LIBRARY, verilated
from registers import Shape
from vectors import ROOT, VECTORS, run

# Memory for 256 ids and 16 sets, as the library has them by default.
SIZES = {"IDS_BITS": 8, "SETS_BITS": 4}


def build(directory, files=None):
    """The program for random packets."""
    return verilated("collar", directory, Path(__file__).with_name("random_collar.cpp"), SIZES, SIZES, files=files)


def vectors(simulator):
    paths = sorted((VECTORS / "collar_integer").glob("*.jsonl.gz"))
    directory = ROOT / "build" / "rtl" / f"collar-{simulator}"
    played = run("collar", "fairdrop_collar", Shape(), simulator, directory, paths, module="play_collar")
    print(f"{simulator}: {len(played)} vectors equal: {', '.join(played)}", flush=True)


def random(packets, seed):
    program = build(ROOT / "build" / "rtl" / "random-collar")
    ran = subprocess.run([program, str(packets), str(seed)], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"collar, seed {seed}: {ran.stdout[-1000:]}{ran.stderr[-3000:]}")
    print(f"collar: {ran.stdout.strip()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulator", choices=("icarus", "verilator"), action="append")
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not LIBRARY.exists():
        sys.exit(f"{LIBRARY}: not there; valid: `make ffi` builds it")
    for simulator in options.simulator or ("icarus", "verilator"):
        vectors(simulator)
    random(options.packets, options.seed)


if __name__ == "__main__":
    main()
