"""The timing diagram of docs/reference/hardware.md, from the core under Icarus Verilog."""

import re
from pathlib import Path

from registers import Shape
from vectors import ROOT, RTL, run

PICTURE = ROOT / "docs" / "images" / "hardware-match.svg"
STEP, HIGH, LEFT, ROW = 40, 14, 128, 30
# What a state does, for the drawing; states next to each other with the same name are one.
NAMES = {
    "IDLE": "idle",
    "AVERAGE": "average",
    "DRAW": "draw",
    "SET": "draw",
    "TRY": "number",
    "MULTIPLY1": "multiply",
    "MULTIPLY2": "multiply",
    "PLACE": "address",
    "READ": "read",
    "LOOK": "look",
    "FOUND": "compare",
    "VICTIM": "mark",
    "JUDGE": "judge",
    "ANSWER": "answer",
    "HEAD": "head",
    "HEAD_READ": "head",
    "HEAD_LOOK": "head",
}


def states():
    """Names of the states, in the order of their numbers."""
    text = (RTL / "choke" / "fairdrop_choke.sv").read_text(encoding="utf-8")
    return (
        re.search(r"typedef enum logic \[5:0\] \{(.*?)\} state_t", text, re.DOTALL).group(1).replace(",", " ").split()
    )


def line(values, at):
    """A signal's level at each clock."""
    points = []
    for number, value in enumerate(values):
        y = at + (0 if value else HIGH)
        points += [f"{LEFT + number * STEP},{y}", f"{LEFT + (number + 1) * STEP},{y}"]
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="#1f5f8b" stroke-width="1.6"/>'


def drawing(rows):
    rows = [{**row, "state": NAMES.get(row["state"], row["state"].lower())} for row in rows]
    levels = (
        ("arrival", [row["arrival"] for row in rows]),
        ("random number", [row["number"] for row in rows]),
        ("compared", [row["m_axis_compared_tvalid"] for row in rows]),
        ("decision", [row["m_axis_decision_tvalid"] for row in rows]),
    )
    width, height = LEFT + STEP * len(rows) + 12, 36 + ROW * (len(levels) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number in range(len(rows)):
        x = LEFT + number * STEP
        parts.append(f'<line x1="{x}" y1="20" x2="{x}" y2="{height - 6}" stroke="#ddd"/>')
        parts.append(f'<text x="{x + STEP / 2}" y="14" text-anchor="middle" fill="#555">{number}</text>')
    parts.append('<text x="8" y="14" fill="#555">clock</text>')
    begin = 0
    for number in range(1, len(rows) + 1):
        if number < len(rows) and rows[number]["state"] == rows[begin]["state"]:
            continue
        x, span = LEFT + begin * STEP, (number - begin) * STEP
        parts.append(f'<rect x="{x + 1}" y="26" width="{span - 2}" height="{HIGH + 4}" rx="3" fill="#e3eef6"/>')
        size = 11 if span > STEP else 9
        middle = x + span / 2
        parts.append(f'<text x="{middle}" y="39" text-anchor="middle" font-size="{size}">{rows[begin]["state"]}</text>')
        begin = number
    parts.append('<text x="8" y="39">at work on</text>')
    for row, (name, values) in enumerate(levels, 1):
        at = 28 + ROW * row
        parts.append(f'<text x="8" y="{at + HIGH - 2}">{name}</text>')
        parts.append(line(values, at))
    return "\n".join([*parts, "</svg>", ""])


def main():
    recorded = run(
        "choke",
        "fairdrop_choke_top",
        Shape(),
        "icarus",
        ROOT / "build" / "rtl" / "waves",
        [" ".join(states())],
        module="record_waves",
    )
    PICTURE.write_text(drawing(recorded["rows"]), encoding="utf-8")
    print(f"{Path(PICTURE).relative_to(ROOT)}: a match, {recorded['clocks']} clocks from arrival to decision")


if __name__ == "__main__":
    main()
