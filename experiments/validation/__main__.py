#!/usr/bin/env python3
"""Validate the simulator against exact results, ns-2, and the RFCs; write one HTML report.

    make validate                       # report in results/validation/index.html
    python -m experiments.validation --quick # fewer seeds, shorter runs

Exits with 1 when a check does not hold.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from html import escape
from pathlib import Path

import fairdrop
from experiments import ROOT
from experiments.validation import beside_ns2, packet_by_packet, throughput, waiting
from experiments.validation.checks import Check, Section

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>fairdrop: validation of the simulator</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; }}
table {{ border-collapse: collapse; width: 100%; font-size: .875rem; margin: 1rem 0 2rem; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #dde2e7; vertical-align: top; }}
td.no {{ color: #b34700; font-weight: 600; }} td.yes {{ color: #00664b; }}
svg {{ max-width: 100%; height: auto; }} .wide {{ overflow-x: auto; }}
</style></head><body>
<h1>Validation of the simulator</h1>
<p>fairdrop {version}. {holding} of {total} checks hold.{missing}</p>
{sections}
</body></html>
"""


def sequences() -> Section:
    """The sequence tests of the transports, as the test runner reports them."""
    argv = ["cargo", "test", "-p", "fairdrop-tcp", "--lib"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (\w+)", done.stdout, re.MULTILINE)
    if not found:
        raise RuntimeError(f"no tests of transports ran: {done.stderr[-400:]}")
    checks = [
        Check(name.replace("::", " / ").replace("_", " "), "ok", state, state == "ok")
        for name, state in sorted(found)
    ]
    text = (
        "What a sender sends, and when, segment by segment, against the RFCs: tables of packets in and packets out in "
        "crates/fairdrop-tcp/src/tests, run as unit tests."
    )
    return Section("Sequences of the transports", text, checks, [])


def rendered(section: Section) -> str:
    rows = "".join(
        f"<tr><td>{escape(check.name)}</td><td>{escape(check.expected)}</td><td>{escape(check.measured)}</td>"
        f'<td class="{"yes" if check.holds else "no"}">{"holds" if check.holds else "does not hold"}</td>'
        f"<td>{escape(check.why)}</td></tr>"
        for check in section.checks
    )
    figures = "".join(svg.decode().partition("<svg")[1] + svg.decode().partition("<svg")[2] for svg in section.figures)
    holding = sum(check.holds for check in section.checks)
    return (
        f"<h2>{escape(section.title)}: {holding} of {len(section.checks)}</h2><p>{escape(section.text)}</p>{figures}"
        '<div class="wide"><table><thead><tr><th>check</th><th>expected</th><th>measured</th><th></th><th></th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def write(sections: list[Section], missing: list[str], target: Path) -> None:
    checks = [check for section in sections for check in section.checks]
    page = PAGE.format(
        version=escape(fairdrop.__version__),
        holding=sum(check.holds for check in checks),
        total=len(checks),
        missing=escape(" " + " ".join(missing)) if missing else "",
        sections="\n".join(rendered(section) for section in sections),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(page, encoding="utf-8")
    temporary.replace(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer seeds and shorter runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "validation" / "index.html")
    args = parser.parse_args()
    seeds, scale = (6, 0.2) if args.quick else (20, 1.0)
    parts: list[tuple[str, Callable[[], Section | None]]] = [
        ("waiting times", lambda: waiting.section(seeds, scale)),
        ("throughput laws", lambda: throughput.section(seeds, scale)),
        ("ns-2", lambda: beside_ns2.section(8 if args.quick else 30)),
        ("packet by packet", lambda: packet_by_packet.section(1, 20 if args.quick else 100)),
        ("sequences", sequences),
    ]
    sections: list[Section] = []
    missing: list[str] = []
    for name, part in parts:
        began = time.monotonic()
        section = part()
        if section is None:
            missing.append(f"{name}: ns-2 is not installed, so it is not compared (Debian's package ns2).")
            continue
        sections.append(section)
        held = sum(check.holds for check in section.checks)
        print(f"{name}: {held} of {len(section.checks)} hold ({time.monotonic() - began:.0f} s)", file=sys.stderr)
        for check in section.checks:
            if not check.holds:
                print(f"  does not hold: {check.name}: {check.measured}, expected {check.expected}", file=sys.stderr)
    write(sections, missing, args.out)
    print(args.out)
    return 0 if all(check.holds for section in sections for check in section.checks) else 1


if __name__ == "__main__":
    sys.exit(main())
