"""Tables of docs/background/collar.md from captures.csv.xz."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.captures.campaign import DIGEST, DISCIPLINES, LOADS, Load
from experiments.digests import Row, read
from experiments.pages import Files, pages_with, paragraph, table
from experiments.shares.page import PAGE, rounded

#: What is shown of each load: a measure, its unit and its name.
_OPEN = (
    ("small_lost", 0.01, "small flows lose, %"),
    ("large", 1.0, "large flows over their share"),
    ("wait_small_p99_ms", 1.0, "small flows wait, ms"),
    ("wait_p99_ms", 1.0, "all wait, ms"),
    ("utilisation", 0.01, "link busy, %"),
)
_ALONE = (*_OPEN, ("full", 0.01, "drops at a full buffer, %"))
_BESIDE = (
    ("tcp", 1.0, "TCP over its share"),
    ("jain_tcp", 1.0, "Jain's index of TCP"),
    ("udp", 1.0, "UDP over its share"),
    *_OPEN,
)
_NAMES = {
    "collar": "COLLAR",
    "fq_codel": "FQ-CoDel",
    "fq": "a queue per flow (`fq`)",
    "choke": "CHOKe",
    "red": "RED",
    "droptail": "DropTail",
}


def files() -> Files:
    rows = read(DIGEST)
    tables = {
        "share": share(rows),
        "alone": shares(rows, [load for load in LOADS if not load.tcp], "the link, of their rate", _ALONE),
        "beside": shares(rows, [load for load in LOADS if load.tcp], "beside", _BESIDE),
    }
    yield from pages_with("captures", tables, PAGE)


def share(rows: Sequence[Row]) -> str:
    """What a share is beside TCP and a flood, and what UDP has beyond it, as parts of the link under COLLAR."""

    def of(load: str) -> list[Row]:
        return [row for row in rows if (row["load"], row["discipline"]) == (load, "collar")]

    unused = [100 * (1 - float(row["utilisation"])) for row in of("8 CUBIC")]
    shares = [100 * float(row["share"]) for row in of("8 CUBIC, UDP")]
    beyond = [100 * float(row["share"]) * (float(row["udp"]) - 1) for row in of("8 CUBIC, UDP")]
    return paragraph(
        f"Without UDP COLLAR leaves {rounded(unused)} % of the link unused. With UDP a share is {rounded(shares)} % of "
        f"the link, and UDP has {rounded(beyond)} % of the link beyond its share: about the part that TCP leaves "
        "unused between bursts, into which the limit widens."
    )


def shares(rows: Sequence[Row], loads: Sequence[Load], label: str, asked: Sequence[tuple[str, float, str]]) -> str:
    """Means over seeds with their intervals."""
    lines = []
    for load in loads:
        for discipline in DISCIPLINES:
            of = [row for row in rows if (row["load"], row["discipline"]) == (load.name, discipline)]
            cells = [rounded([float(row[name]) / unit for row in of if row[name]]) for name, unit, _ in asked]
            lines.append([load.name, _NAMES[discipline], *cells])
    return table([label, "discipline", *(head for _, _, head in asked)], lines, 2)
