#!/usr/bin/env python3
"""Instructions, cache misses and mispredicted branches per arrival for every case of the leaky_fifo benchmark.

Runs each case under callgrind twice, with different numbers of arrivals; the difference, divided by the difference in
arrivals, is free of start-up and of filling the queue. The simulated caches are fixed (32 kB 8-way first level,
8 MB 16-way last level), so the figures do not depend on the machine.

usage: leaky_fifo_instructions.py [BINARY] [PACKETS ...]
BINARY is what `cargo bench -p fairdrop --bench leaky_fifo --no-run` names; built and found when left out.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STRUCTURES = ("ring", "slab", "bare")
MIXES = ("fifo", "0", "10", "45")
CACHES = ("--D1=32768,8,64", "--LL=8388608,16,64")


def binary() -> str:
    command = ["cargo", "bench", "-p", "fairdrop", "--bench", "leaky_fifo", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    messages = [json.loads(line) for line in lines]
    return next(m["executable"] for m in reversed(messages) if m.get("executable"))


def counts(program: str, case: tuple[str, str, int], arrivals: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        command = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", *CACHES]
        command += [f"--callgrind-out-file={out}"]
        command += [program, "--instructions", *map(str, case), str(arrivals)]
        subprocess.run(command, check=True, capture_output=True)
        text = out.read_text()
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
    totals = re.search(r"^(?:totals|summary): (.*)$", text, re.MULTILINE)[1].split()
    return dict(zip(events, map(int, totals), strict=False))


def main() -> None:
    arguments = sys.argv[1:]
    program = arguments.pop(0) if arguments and not arguments[0].isdigit() else binary()
    sizes = [int(text) for text in arguments] or [300, 4096, 1_000_000]
    columns = f"{'instructions':>12} {'D1 misses':>10} {'LL misses':>10} {'mispredicted':>12}"
    print(f"{'packets':>8} {'mix':>5} {'':>5} {columns}  per arrival")
    for packets in sizes:
        few, many = (max(packets, 100_000) * factor for factor in (2, 4))
        for mix in MIXES:
            for structure in STRUCTURES:
                case = (structure, mix, packets)
                less, more = counts(program, case, few), counts(program, case, many)
                per = {name: (more[name] - less[name]) / (many - few) for name in more}
                first = per["D1mr"] + per["D1mw"]
                last = per["DLmr"] + per["DLmw"]
                print(
                    f"{packets:>8} {mix:>5} {structure:>5} {per['Ir']:>12.1f} {first:>10.3f} {last:>10.3f} "
                    f"{per['Bcm'] + per['Bim']:>12.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
