"""Tables as text: aligned, and no wider than the terminal that shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairdrop.terminal import printable, width

_GAP = "  "


def table_text(head: Sequence[str], lines: Sequence[Sequence[str]], left: int = 2) -> str:
    """Aligned columns, the first ``left`` of them to the left. What a terminal would obey is escaped.

    Columns that a terminal has no room for follow below, beside the first ones again; nothing is cut.
    """
    rows = [list(head), *([printable(cell) for cell in line] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n\n".join(_block(rows, widths, chosen, left) for chosen in _blocks(widths, left))


def _blocks(widths: Sequence[int], left: int) -> Iterator[list[int]]:
    """Which columns stand beside one another."""
    columns = width()
    keys = list(range(min(left, len(widths))))
    chosen = list(keys)
    for number in range(len(keys), len(widths)):
        wide = sum(widths[one] + len(_GAP) for one in chosen) + widths[number]
        if columns is not None and wide > columns and len(chosen) > len(keys):
            yield chosen
            chosen = list(keys)
        chosen.append(number)
    yield chosen


def _block(rows: Sequence[Sequence[str]], widths: Sequence[int], chosen: Sequence[int], left: int) -> str:
    shown = []
    for row in rows:
        cells = [row[one].ljust(widths[one]) if one < left else row[one].rjust(widths[one]) for one in chosen]
        shown.append(_GAP.join(cells).rstrip())
    return "\n".join(shown)
