"""`make rtl-check` and `make rtl`: everything that is checked of the cores, in order, and which tool is missing."""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

RTL = Path(__file__).resolve().parent.parent
ROOT = RTL.parent
TEST = RTL / "test"
# Debian's packages by program.
PACKAGES = {"iverilog": "iverilog", "verilator": "verilator", "g++": "g++", "make": "make"}


SYNTHESIS = {"yosys": "yosys", "nextpnr-ice40": "nextpnr-ice40", "z3": "z3"}


def missing(programs):
    return sorted({package for program, package in programs.items() if not shutil.which(program)})


def step(title, command):
    begun = time.monotonic()
    print(f"== {title}", flush=True)
    ran = subprocess.run([str(part) for part in command], cwd=ROOT, check=False)
    if ran.returncode:
        sys.exit(f"failed: {title}")
    print(f"   {time.monotonic() - begun:.0f} s", flush=True)


TOPS = (
    ("red", "fairdrop_red_top"),
    ("choke", "fairdrop_choke_top"),
    ("collar", "fairdrop_collar_top"),
    ("drr", "fairdrop_drr"),
)


def lint():
    for core, top in TOPS:
        files = sorted((RTL / "common").glob("*.sv")) + sorted((RTL / core).glob("*.sv"))
        # Widths: Verilog extends operands, and writing each extension out hides what is computed.
        command = ["verilator", "--lint-only", "-Wall", "-Wno-WIDTH", "-Wno-UNUSED", "-Wno-CMPCONST"]
        step(f"lint of {core}", [*command, "--top-module", top, *files])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="10^6 packets each, Icarus Verilog, wrong forms, cost")
    options = parser.parse_args()
    programs = {**PACKAGES, **(SYNTHESIS if options.all else {})}
    if absent := missing(programs):
        sys.exit(f"rtl: missing: apt-get install {' '.join(absent)}")
    python = sys.executable
    lint()
    step("conformance vectors", [python, TEST / "vectors.py"])
    step("deficit round robin", [python, TEST / "drr.py"])
    packets = 1_000_000 if options.all else 100_000
    random = [python, TEST / "random_packets.py"]
    step(f"{packets} random packets for each core, beside the library", [*random, "--packets", packets])
    step(
        f"COLLAR: vectors, and {packets} random packets beside the library",
        [python, TEST / "collar.py", "--packets", packets],
    )
    if options.all:
        step("properties of the lists under random packets", [*random, "--packets", 20_000, "--properties"])
        step(
            "properties of COLLAR's memories under random packets",
            [python, TEST / "collar.py", "--packets", 100_000, "--properties"],
        )
        step("10,000 random packets under Icarus Verilog", [python, TEST / "recorded.py", "--packets", 10_000])
        step("lists of CHOKe, proved", [python, RTL / "formal" / "prove.py", "--forms"])
        step("wrong forms are noticed", [python, TEST / "broken.py"])
        step("timing diagram", [python, TEST / "waves.py"])
        step("cost", [python, RTL / "cost" / "cost.py"])


if __name__ == "__main__":
    main()
