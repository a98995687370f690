"""Flowcharts of pages, as drawings that follow the colours of the theme."""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROW, BOX, GAP, LETTER = 84, 34, 26, 8.2
_ARROW = re.compile(r"^\s*(\S+) --> (\S+)\s*$", re.MULTILINE)


class Flowchart(Directive):
    """The fence ``mermaid``: arrows ``a --> b``, drawn from the top down."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        arrows = _ARROW.findall("\n".join(self.content))
        if not arrows:
            raise self.error("a flowchart without an arrow; valid: lines such as a --> b")
        return [nodes.raw("", drawing(arrows), format="html")]


def rows_of(arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Nodes from the top down, each above all that it leads to; near those that lead to it."""
    names = list(dict.fromkeys(name for arrow in arrows for name in arrow))
    height = dict.fromkeys(names, 0)
    for _ in names:
        for above, below in arrows:
            height[above] = max(height[above], height[below] + 1)
    rows = [[name for name in names if height[name] == level] for level in range(max(height.values()), -1, -1)]
    place: dict[str, float] = {}
    for row in rows:
        before = {name: [place[a] for a, b in arrows if b == name and a in place] for name in row}
        row.sort(key=lambda name: sum(before[name]) / len(before[name]) if before[name] else 0)
        place |= {name: (index + 0.5) / len(row) for index, name in enumerate(row)}
    return rows


def drawing(arrows: list[tuple[str, str]]) -> str:
    """Inline SVG."""
    rows = rows_of(arrows)
    widths = {name: LETTER * len(name) + 20 for row in rows for name in row}
    width = max(sum(widths[name] + GAP for name in row) for row in rows)
    centre, boxes = {}, []
    for level, row in enumerate(rows):
        free = (width - sum(widths[name] for name in row)) / len(row)
        left = free / 2
        for name in row:
            centre[name] = (left + widths[name] / 2, level * ROW + BOX / 2 + 2)
            boxes.append(
                f'<rect x="{left:.1f}" y="{level * ROW + 2}" width="{widths[name]:.1f}" height="{BOX}" rx="5"/>'
                f'<text x="{centre[name][0]:.1f}" y="{centre[name][1] + 5:.1f}">{escape(name)}</text>'
            )
            left += widths[name] + free
    lines = []
    for above, below in arrows:
        (x1, y1), (x2, y2) = centre[above], centre[below]
        y1, y2 = y1 + BOX / 2, y2 - BOX / 2 - 5
        middle = (y1 + y2) / 2
        lines.append(f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"/>')
    words = ", ".join(f"{above} uses {below}" for above, below in arrows)
    return (
        f'<div class="flowchart"><svg viewBox="0 0 {width:.0f} {len(rows) * ROW - ROW + BOX + 4}" role="img" '
        f'aria-label="{escape(words)}" style="max-width:{width:.0f}px"><defs><marker id="tip" viewBox="0 0 8 8" '
        'refX="4" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(lines)}{''.join(boxes)}</svg></div>"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("mermaid", Flowchart)
    return {"parallel_read_safe": True}
