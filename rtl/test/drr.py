"""The DRR core beside DRR in Python, under Icarus Verilog."""

from registers import Shape
from vectors import ROOT, run


def main():
    counts = run("drr", "fairdrop_drr", Shape(), "icarus", ROOT / "build" / "rtl" / "drr-icarus", [], module="play_drr")
    print(f"icarus: drr: {counts['departed']} departures and {counts['dropped']} drops equal")


if __name__ == "__main__":
    main()
