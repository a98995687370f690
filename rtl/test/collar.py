"""The core of COLLAR: conformance vectors under Icarus Verilog and Verilator, and random packets beside the library."""

import argparse
import subprocess
import sys
from pathlib import Path

from random_packets import LIBRARY, verilated
from registers import Shape
from vectors import ROOT, run, unpacked

# Memory for 256 ids and 16 sets, as the library has them by default.
SIZES = {"IDS_BITS": 8, "SETS_BITS": 4}
# Vectors ask for up to 1,024.
OF_VECTORS = {"IDS_BITS": 10, "SETS_BITS": 4}


def build(directory, files=None, properties=False):
    """The program for random packets, with the assertions about memories and ranges if wanted."""
    program = Path(__file__).with_name("random_collar.cpp")
    return verilated("collar", directory, program, SIZES, SIZES, properties=properties, files=files)


def vectors(simulator):
    directory = ROOT / "build" / "rtl" / f"collar-{simulator}"
    paths = unpacked("collar_integer", directory / "vectors")
    played = run(
        "collar", "fairdrop_collar", Shape(), simulator, directory, paths, module="play_collar", parameters=OF_VECTORS
    )
    print(f"{simulator}: {len(played)} vectors equal: {', '.join(played)}", flush=True)


def random(packets, seed, properties=False):
    name = "properties-collar" if properties else "random-collar"
    program = build(ROOT / "build" / "rtl" / name, properties=properties)
    ran = subprocess.run([program, str(packets), str(seed)], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"collar, seed {seed}: {ran.stdout[-1000:]}{ran.stderr[-3000:]}")
    print(f"collar: {ran.stdout.strip()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulator", choices=("icarus", "verilator"), action="append")
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--properties", action="store_true", help="random packets with assertions, and no vectors")
    options = parser.parse_args()
    if not LIBRARY.exists():
        sys.exit(f"{LIBRARY}: not there; valid: `make ffi` builds it")
    for simulator in () if options.properties else options.simulator or ("icarus", "verilator"):
        vectors(simulator)
    random(options.packets, options.seed, options.properties)


if __name__ == "__main__":
    main()
