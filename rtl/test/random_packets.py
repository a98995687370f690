"""Random packets to cores and the library: builds random_packets.cpp with Verilator for each shape of a core."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from registers import Shape
from vectors import ROOT, sources

LIBRARY = ROOT / "target" / "c" / "libfairdrop_ffi.a"
SHAPES = {
    "red": Shape(),
    # Ids of each width, whole and chopped packets, and lists that fill their memory.
    "choke": Shape(id_bits=16),
    "choke-chopped": Shape(id_bits=24, chopped=1),
    "choke-small": Shape(address_bits=6, id_bits=8, chopped=1),
    "choke-banks": Shape(id_bits=12, banks=2),
    "choke-4-banks": Shape(address_bits=7, banks=4),
    "choke-shared": Shape(address_bits=7, fifos=4),
    "choke-shared-banks": Shape(address_bits=8, fifos=8, banks=2),
    "choke-shared-chopped": Shape(address_bits=6, fifos=2, chopped=1),
}


def build(name, shape, directory, properties=False, files=None):
    """The program for one core, with the assertions of its lists if wanted; says what failed."""
    core = name.split("-")[0]
    values = shape.verilog()
    defined = [f"-DCORE_CHOKE={int(core == 'choke')}"]
    parameters = {} if core == "red" else values
    program = Path(__file__).with_suffix(".cpp")
    return verilated(name, directory, program, values, parameters, defined, properties, files)


def verilated(name, directory, program, values, parameters, defined=(), properties=False, files=None):
    """The program with the core's model and the library; `values` are macros of it, `parameters` the core's."""
    core = name.split("-")[0]
    directory.mkdir(parents=True, exist_ok=True)
    flags = [f"-DCORE_{key}={value}" for key, value in values.items()] + list(defined)
    include = ROOT / "crates" / "fairdrop-ffi" / "include"
    compiler = shlex.join(["-O2", "-std=c++17", f"-I{include}", f"-I{Path(__file__).parent}", *flags])
    # Registers begin with random bits, so that nothing hangs on a zero that hardware does not have.
    command = ["verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "unique", "--x-initial", "unique"]
    if properties:
        command += ["--assert", "-DFAIRDROP_PROPERTIES", f"-I{Path(__file__).parent}"]
    command += ["-Wno-fatal", "-Wno-WIDTH", "-Wno-CMPCONST", "--prefix", "Vcore", "--Mdir", str(directory)]
    command += ["--top-module", f"fairdrop_{core}_top", "-CFLAGS", compiler, "-LDFLAGS", str(LIBRARY)]
    command += [f"-G{key}={value}" for key, value in parameters.items()]
    command += [str(path) for path in files or sources(core)] + [str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"{name}: Verilator failed:\n{built.stdout[-2000:]}{built.stderr[-3000:]}")
    return directory / "Vcore"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=100_000, help="for each core")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--core", choices=SHAPES, action="append")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "rtl")
    parser.add_argument("--properties", action="store_true", help="with assertions about the lists of CHOKe")
    parser.add_argument("--clocks", action="store_true", help="most clocks of a decision, by addresses read")
    options = parser.parse_args()
    if not LIBRARY.exists():
        sys.exit(f"{LIBRARY}: not there; valid: `make ffi` builds it")
    kind = "properties" if options.properties else "random"
    for name in options.core or [name for name in SHAPES if not (options.properties and name == "red")]:
        program = build(name, SHAPES[name], options.build.resolve() / f"{kind}-{name}", options.properties)
        command = [str(program), str(options.packets), str(options.seed)]
        environment = {**os.environ, "VERILATOR_RANDOM": str(options.seed)}
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if ran.returncode:
            sys.exit(f"{name}, seed {options.seed}: {ran.stdout[-1000:]}{ran.stderr[-3000:]}")
        lines = ran.stdout.splitlines()
        print(f"{name}: {lines[0]}", flush=True)
        if options.clocks:
            print(*(line for line in lines[1:] if re.match(r"  clocks", line)), sep="\n")


if __name__ == "__main__":
    main()
