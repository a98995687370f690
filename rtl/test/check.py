"""`make rtl-check` and `make rtl`: everything that is checked of the cores, in order, and which tool is missing."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
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
    """What it printed, under its title; exits where it fails."""
    begun = time.monotonic()
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return f"== {title}\n{ran.stdout}   {time.monotonic() - begun:.0f} s", ran.returncode


def steps(*asked):
    """Runs steps that share no files, one on each processor; each prints as it ends. Exits at the first that fails."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in as_completed([pool.submit(step, *one) for one in asked]):
            printed, status = done.result()
            print(printed, flush=True)
            if status:
                pool.shutdown(wait=False, cancel_futures=True)
                sys.exit(f"failed: {printed.splitlines()[0].removeprefix('== ')}")


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
        yield f"lint of {core}", [*command, "--top-module", top, *files]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="10^6 packets each, Icarus Verilog, wrong forms, cost")
    options = parser.parse_args()
    programs = {**PACKAGES, **(SYNTHESIS if options.all else {})}
    if absent := missing(programs):
        sys.exit(f"rtl: missing: apt-get install {' '.join(absent)}")
    python = sys.executable
    steps(*lint())
    packets = 1_000_000 if options.all else 100_000
    random, collar = [python, TEST / "random_packets.py"], [python, TEST / "collar.py"]
    steps(
        ("conformance vectors", [python, TEST / "vectors.py"]),
        (f"COLLAR: vectors, and {packets} random packets beside the library", [*collar, "--packets", packets]),
        (f"{packets} random packets for each core, beside the library", [*random, "--packets", packets]),
        ("deficit round robin", [python, TEST / "drr.py"]),
    )
    if options.all:
        for one in (
            ("properties of the lists under random packets", [*random, "--packets", 20_000, "--properties"]),
            ("properties of COLLAR's memories under random packets", [*collar, "--packets", 100_000, "--properties"]),
            ("10,000 random packets under Icarus Verilog", [python, TEST / "recorded.py", "--packets", 10_000]),
            ("lists of CHOKe, proved", [python, RTL / "formal" / "prove.py", "--forms"]),
            ("wrong forms are noticed", [python, TEST / "broken.py"]),
            ("timing diagram", [python, TEST / "waves.py"]),
            ("cost", [python, RTL / "cost" / "cost.py"]),
        ):
            steps(one)


if __name__ == "__main__":
    main()
