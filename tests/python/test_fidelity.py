"""The page on fidelity says what the stored summary of its runs says."""

from __future__ import annotations

from experiments.fidelity import page


def test_the_page_is_that_of_the_summary():
    made = dict(page.files())
    assert made[page.PAGE] == page.PAGE.read_text(encoding="utf-8")
    assert len(made) == 5


def test_every_cell_has_its_replications_on_both_sides():
    summary = page.Summary()
    for cell in page.cells():
        for side in ("live", "simulated"):
            assert [row["seed"] for row in summary.rows(cell, side)] == ["1", "2", "3", "4", "5"], (cell.name, side)


def test_near_and_far():
    from fairdrop.estimate import difference, estimate

    def found(simulated: list[float], live: list[float]):
        return page.Found(estimate(simulated), estimate(live), difference(simulated, live))

    assert page._shown(found([100.0, 102.0], [104.0, 106.0])) == "101, 105 (+4 ± 6)"
    assert page._shown(found([100.0, 100.0], [111.0, 111.0])) == "100, 111 **(+11.0 ± 0.0)**"
    # A large part of little is not far.
    assert "**" not in page._shown(found([1.0, 1.0], [1.9, 1.9]))
