"""Conformance vectors of `collar_integer` on its core, under Icarus Verilog and Verilator."""

import argparse

from registers import Shape
from vectors import ROOT, VECTORS, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulator", choices=("icarus", "verilator"), action="append")
    options = parser.parse_args()
    paths = sorted((VECTORS / "collar_integer").glob("*.jsonl.gz"))
    for simulator in options.simulator or ("icarus", "verilator"):
        directory = ROOT / "build" / "rtl" / f"collar-{simulator}"
        played = run("collar", "fairdrop_collar", Shape(), simulator, directory, paths, module="play_collar")
        print(f"{simulator}: {len(played)} vectors equal")
        for name, outcome in played.items():
            print(f"  {name} {outcome}")


if __name__ == "__main__":
    main()
