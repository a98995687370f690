"""The loads on which shares are compared, and how a run is judged."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import fairdrop
from experiments.digests import Runs
from experiments.shares import campaign as bench
from experiments.shares import loads
from experiments.shares.page import rounded


@pytest.mark.parametrize("which", loads.SETS)
def test_loads_are_valid_scenarios(which: str) -> None:
    for load in loads.SETS[which]():
        scenario = fairdrop.Scenario(load.toml(), load.name).to_dict()
        assert scenario["queue"]["limit"] == load.limit
        assert [group["name"] for group in scenario["groups"]] == [group.name for group in load.groups]


def test_the_validation_set_does_not_change() -> None:
    """Its size, and one load of it, number by number: whoever changes the generator changes what was reported."""
    drawn = list(loads.validation())
    assert len(drawn) == 200
    assert drawn == list(loads.validation())
    assert drawn[:5] == list(loads.validation(5)), "each load has its own numbers"
    assert loads.validation(1, seed=1) != drawn[:1]
    load = drawn[10]
    assert (load.rate_bps, load.rtt_s, load.limit, load.packet_size) == (5_640_000, 0.0144, 157, 500)
    assert [(group.name, group.count) for group in load.groups] == [("near", 85), ("far", 32), ("web", 1)]


def test_the_validation_set_is_wide() -> None:
    drawn = list(loads.validation())
    rates = sorted(load.rate_bps for load in drawn)
    assert rates[0] < 1.2e6 and rates[-1] > 2.5e8
    udp = [group.count for load in drawn for group in load.groups if group.offered_bps]
    assert 140 <= len(udp) <= 180 and max(udp) >= 30
    assert 50 <= sum(any(group.short for group in load.groups) for load in drawn) <= 85


@pytest.mark.parametrize(
    ("rate", "demands", "share"),
    [
        (10.0, [20.0, 20.0], 5.0),
        (10.0, [1.0, 20.0, 20.0], 4.5),
        (10.0, [1.0, 2.0, 20.0], 7.0),
        (10.0, [5.0, 5.0], 5.0),
        (10.0, [1.0, 3.0, 20.0, 20.0], 3.0),
    ],
)
def test_max_min_shares(rate: float, demands: list[float], share: float) -> None:
    assert bench.fair_share(rate, demands) == pytest.approx(share)


def _flood() -> object:
    groups = (loads.tcp(2), loads.udp(1, 2e6))
    return loads.Load("flood", 1e6, 0.02, 50, groups, duration_s=20, warm_up_s=5, seeds=1)


def test_a_flood_is_seen_and_judged() -> None:
    """Under DropTail UDP takes the link, three times its fair share."""
    row = bench.measure(("development", _flood(), "droptail", 1))
    assert row["greedy"] == pytest.approx(3, rel=0.02)
    assert row["tcp"] < 0.05 and row["utilisation"] > 0.99


def test_work_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.SETS, "development", lambda: iter([_flood()]))
    store = tmp_path / "store.csv"

    def campaign(*disciplines: str) -> list[dict[str, str]]:
        return list(
            bench.campaign("development", disciplines, Runs(None, store, bench.KEYS, bench.MEASURES), 1).values()
        )

    first, both = campaign("droptail"), campaign("droptail", "collar")
    assert [row["discipline"] for row in both] == ["droptail", "collar"] and both[0] == first[0]
    assert len(store.read_text().splitlines()) == 3
    # A line that was cut off is made anew.
    store.write_text(store.read_text()[:-12])
    assert campaign("droptail", "collar") == both


def test_settings_reach_the_queue() -> None:
    plain, other = (
        bench.measure(("development", _flood(), name, 1)) for name in ("collar", "collar:collar.target=200ms")
    )
    assert other["wait_p99_ms"] > 1.5 * plain["wait_p99_ms"]


def test_the_readme_says_of_collar_what_was_measured(root: Path) -> None:
    """Its figures are those of the tables that page.py writes of the stored runs."""
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    page = (root / "docs" / "background" / "collar.md").read_text(encoding="utf-8")
    tables = {
        name: page.partition(f"<!-- shares: {name} -->")[2].partition("<!-- end -->")[0]
        for name in ("goals", "validation")
    }
    goals = [line for line in tables["goals"].splitlines() if line.startswith("|")][2:]
    assert f"It meets {sum('| met |' in line for line in goals)} of its {len(goals)} goals" in readme
    head, *rows = [line.strip("| ").split(" | ") for line in tables["validation"].splitlines() if "|" in line]
    of = {row[0]: {name: cell.split(" (")[0] for name, cell in zip(head[1:], row[1:], strict=True)} for row in rows[1:]}
    udp = of["UDP over its share: median"]
    assert f"holds UDP to {udp['collar']} times its fair share" in readme
    assert f"CHOKe {udp['choke']}, FQ-CoDel {udp['fq_codel']})" in readme
    assert f"more than {of['UDP over its share: worst tenth, from']['collar']} times." in readme
    (loads_with_udp,) = [name for name in of if name.startswith("UDP over its share: at most")]
    assert f"median of {loads_with_udp.split(' of ')[1].split()[0]} random loads" in readme


def test_intervals_are_rounded_to_what_they_leave() -> None:
    assert rounded([1.0, 1.0, 1.0]) == "1.000 ± 0.000"
    # Student's 12.71 for one degree of freedom: halves of 0.127, 12.7, 1271 and 0.000127, rounded up.
    assert rounded([1.0, 1.02]) == "1.01 ± 0.13"
    assert rounded([100.0, 102.0]) == "101 ± 13"
    assert rounded([1000.0, 1200.0]) == "1100 ± 1271"
    assert rounded([100.0, 100.0]) == "100.0 ± 0.0" and rounded([16.04, 16.041]) == "16.04 ± 0.01"
    assert rounded([1.0, 1.00002]) == "1.000 ± 0.001"
    assert (rounded([]), rounded([0.5])) == ("", "0.5")


def test_the_twenty_lines_have_the_constants_of_the_code(root: Path) -> None:
    """Each name in capitals on COLLAR's page is a constant, with its value, and the table has no other."""
    page = (root / "docs" / "background" / "collar.md").read_text(encoding="utf-8")
    program = page.partition("```text")[2].partition("```")[0]
    assert [int(line[:2]) for line in program.splitlines() if line[:2].strip()] == list(range(1, 21))
    cells = re.findall(r"\| `([A-Z_]+)` \| ([\d./]+) \|", page)
    named = {name: float(Fraction(value)) for name, value in cells}
    code: dict[str, float] = {}
    for file in sorted((root / "crates" / "fairdrop" / "src" / "disciplines" / "collar").glob("*.rs")):
        for name, value in re.findall(r"const ([A-Z_]+): \w+ = ([^;]+);", file.read_text(encoding="utf-8")):
            plain = re.sub(r"Time::from_ms\((\d+)\)|(?<=\d)_(?=\d)", r"\1", value).replace("BLOCK", "32")
            if re.fullmatch(r"[\d. */]+", plain):
                code[name] = eval(plain)  # a product or quotient of numbers
    assert len(named) == len(cells) >= 24
    assert {name: code[name] for name in named} == named
    assert set(re.findall(r"\b[A-Z]+_[A-Z_]+\b|\b(?:SLACK|LOOSEST|KNEE|SMOOTH|BLOCK|PROBED|PLACES)\b", program)) == (
        set(named) - {"MOST_MARKED"}
    )
