"""Conformance vectors of `red` and `choke_hardware` on the cores, under Icarus Verilog and Verilator."""

import argparse
import json
import lzma
import os
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

from registers import Shape

RTL = Path(__file__).resolve().parent.parent
ROOT = RTL.parent
VECTORS = ROOT / "conformance" / "vectors"
# The memory of the longest list, and as many candidates as the schedule of the vectors.
CHOPPED = Shape(address_bits=11, chopped=1, most_candidates=5, id_bits=24)
BANKED = Shape(banks=2)
SHARED = Shape(fifos=4)
CORES = {
    "red": ("fairdrop_red_top", Shape(), "red"),
    "choke": ("fairdrop_choke_top", CHOPPED, "choke_hardware"),
    "choke-banks": ("fairdrop_choke_top", BANKED, "choke_hardware"),
    "choke-shared": ("fairdrop_choke_top", SHARED, "choke_hardware"),
}


def sources(core):
    return sorted((RTL / "common").glob("*.sv")) + sorted((RTL / core.split("-")[0]).glob("*.sv"))


def unpacked(discipline, directory):
    """The vectors of a discipline in plain files, named by their cases."""
    directory.mkdir(parents=True, exist_ok=True)
    with lzma.open(VECTORS / f"{discipline}.jsonl.lzma", "rt", encoding="utf-8") as file:
        lines = file.readlines()
    paths = []
    while lines:
        header = json.loads(lines[0])
        end = 1 + header["events"]
        paths.append(directory / f"{header['case']}.jsonl")
        paths[-1].write_text("".join(lines[:end]), encoding="utf-8")
        lines = lines[end:]
    return paths


def run(core, top, shape, simulator, directory, paths, module="play_vectors", parameters=None):
    """Builds the core with the parameters of the shape, or these, plays the vectors, and returns each outcome."""
    with warnings.catch_warnings():
        # cocotb warns that its runner is an experiment, whose interface is pinned with its version.
        warnings.simplefilter("ignore", UserWarning)
        from cocotb.runner import get_results, get_runner

    runner = get_runner(simulator)
    runner.build(
        verilog_sources=sources(core),
        hdl_toplevel=top,
        parameters=parameters or ({} if core in ("red", "drr", "collar") else shape.verilog()),
        build_args=["-g2012"] if simulator == "icarus" else ["-Wno-fatal", "-Wno-WIDTH", "--x-assign", "unique"],
        build_dir=directory,
        timescale=("1ns", "1ps"),
    )
    report = directory / "report.json"
    report.unlink(missing_ok=True)
    results = runner.test(
        test_module=module,
        hdl_toplevel=top,
        build_dir=directory,
        test_dir=directory,
        extra_env={
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parent), str(ROOT)]),
            "FAIRDROP_SHAPE": json.dumps(asdict(shape)),
            "FAIRDROP_VECTORS": json.dumps([str(path) for path in paths]),
            "FAIRDROP_REPORT": str(report),
            "FAIRDROP_SEED": "1",
            "COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
        },
    )
    _, failed = get_results(results)
    if failed or not report.exists():
        sys.exit(f"{core} under {simulator}: not equal (see above)")
    return json.loads(report.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulator", choices=("icarus", "verilator"), action="append")
    parser.add_argument("--core", choices=CORES, action="append")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "rtl")
    options = parser.parse_args()
    for simulator in options.simulator or ("icarus", "verilator"):
        played, declined = {}, {}
        for name in options.core or CORES:
            top, shape, discipline = CORES[name]
            directory = options.build.resolve() / f"{name}-{simulator}"
            paths = unpacked(discipline, directory / "vectors")
            for vector, outcome in run(name.split("-")[0], top, shape, simulator, directory, paths).items():
                (declined if outcome.startswith("declined") else played)[vector] = outcome
        declined = {vector: reason for vector, reason in declined.items() if vector not in played}
        print(f"{simulator}: {len(played)} vectors equal: {', '.join(played)}")
        for vector, reason in declined.items():
            print(f"  {vector} {reason}")


if __name__ == "__main__":
    main()
