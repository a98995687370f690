"""BBR version 1 of the running kernel beside the simulator's, alone and beside CUBIC: a table, as Markdown.

    .venv/bin/python validation/fidelity/bbr.py

Writes ``docs/background/bbr.md``. Live runs take as long as they last: three and a half minutes together.
"""

from __future__ import annotations

import platform
import statistics
import sys
import tempfile
from pathlib import Path

import fairdrop

SEEDS = 2
SECONDS = 25
PAGE = Path(__file__).resolve().parents[2] / "docs" / "background" / "bbr.md"
LINK = f"""
duration = {SECONDS}
warm_up = 5
sample = 0
[dumbbell]
rate = "10mbit"
delay = "20ms"
access_rate = "100mbit"
[queue]
discipline = "droptail"
limit = "%dp"
"""
GROUP = """
[[groups]]
name = "%s"
transport = "%s"
era = "linux"
max_window = "2000p"
"""
# Buffers in packets of 1000 bytes: the path holds 50.
CELLS = [(limit, names) for names in (("bbr",), ("bbr", "cubic")) for limit in (25, 200)]


def row(limit: int, names: tuple[str, ...]) -> str:
    """One line of the table."""
    text = LINK % limit + "".join(GROUP % (name, name) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "bbr.toml"
        scenario.write_text(text)
        result = fairdrop.load(scenario).compare_live(seeds=SEEDS)
    if result.live is None:
        raise SystemExit(1)
    simulated, live = result.document["runs"], result.live.document["runs"]
    for run in live:
        print(limit, names, "valid" if run["valid"] else run["problems"], file=sys.stderr)
    cells = [str(limit), " and ".join(name.upper() for name in names)]
    for index in range(2):
        for runs in (simulated, live):
            goodput = [run["groups"][index]["goodput_bps"] / 1e6 for run in runs if index < len(names)]
            cells.append(f"{statistics.fmean(goodput):.2f}" if goodput else "")
    for runs in (simulated, live):
        cells.append(f"{statistics.fmean(1e3 * run['queues'][0]['sojourn_s']['mean'] for run in runs):.1f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Runs everything, and writes the page."""
    rows = [row(limit, names) for limit, names in CELLS]
    text = PAGE_TEXT.format(kernel=platform.release().split("-")[0], seeds=SEEDS, seconds=SECONDS, rows="\n".join(rows))
    new = PAGE.with_suffix(".md.new")
    new.write_text(text)
    new.replace(PAGE)


PAGE_TEXT = """# BBR beside the kernel's

`transport = "bbr"` beside the BBR (version 1) of Linux {kernel}, over a FIFO of 10 Mb/s with 40 ms of round trip,
in packets of 1000 bytes, of which the path holds 50. Means of {seeds} runs of {seconds} s each, the first 5 s not
measured; goodput in Mb/s, mean waits in the queue in ms. Made by `make fidelity-bbr`.

| buffer, packets | flows | BBR, simulated | BBR, live | CUBIC, simulated | CUBIC, live | wait, simulated | wait, live |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}
"""

if __name__ == "__main__":
    main()
