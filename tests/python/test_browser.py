"""The report in a real browser: it opens, nothing is loaded from anywhere, and the parts added by script work."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import browsers
import fairdrop
import sample_document as sample
from fairdrop import report

HOSTILE = "</script><script>console.log(1)</script><img src=x onerror=console.log(2)>"
WIDTHS = [390, 1280]
VISIBLE_X = """() => {
  const [from, to] = document.querySelector(".range").textContent.match(/[\\d.,]+/g);
  return [Number(from), Number(to)];
}"""


@pytest.fixture(scope="module")
def document(headline: Path) -> dict[str, Any]:
    result = fairdrop.load(headline, ["duration=60s", "warm_up=10s"]).compare(["droptail", "red", "choke"], seeds=2)
    return json.loads(result.to_json())


@pytest.fixture(scope="module")
def pages(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("report")
    names = [str(entry["name"]) for entry in fairdrop.catalogue()["disciplines"]]
    made = {
        "3": document,
        "8": sample.simulation({name: 0.03 + 0.1 * at for at, name in enumerate(names[:8])}, seeds=2, samples=600),
        "41": sample.simulation({name: 0.03 + 0.9 * at / len(names) for at, name in enumerate(names)}, seeds=1),
        "hostile": json.loads(json.dumps(sample.simulation(seeds=2)).replace('"udp"', json.dumps(HOSTILE))),
    }
    for name, one in made.items():
        report.write(one, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in made}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browsers.chromium() as found:
        yield found


@pytest.fixture
def visit(chromium: Any, pages: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    """Opens a report; at the end, the console must be empty and no other address requested."""
    contexts, messages, asked = [], [], []

    def go(name: str, width: int = 1280, **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(pages[name].as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert messages == []
    assert {url.rpartition("/")[2] for url in asked} <= {path.name for path in pages.values()}
    assert all(url.startswith("file:") for url in asked)


def unfold(page: Any) -> None:
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")


def drawn(page: Any) -> Any:
    """The first chart, once it is there."""
    page.wait_for_selector(".chart .u-over")
    chart = page.query_selector(".chart .u-over")
    chart.scroll_into_view_if_needed()
    return chart


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["3", "8", "41", "hostile"])
def test_the_report_fits(visit: Callable[..., Any], name: str, width: int, script: bool) -> None:
    page = visit(name, width, java_script_enabled=script)
    for summary in page.locator("main > details > summary").all():
        if not summary.evaluate("one => one.parentElement.open"):
            summary.click()
    assert page.locator("h1").inner_text()
    assert page.locator("figure svg:visible").count() + script >= 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hover_shows_the_values_of_the_document(
    visit: Callable[..., Any], document: dict[str, Any], scheme: str
) -> None:
    page = visit("3", color_scheme=scheme)
    drawn(page).hover()
    shown = page.locator(".readout").all_inner_texts()
    assert len(shown) == 3
    for text, name in zip(shown, ("droptail", "red", "choke"), strict=True):
        run = next(run for run in document["runs"] if run["discipline"] == name)
        series = run["queues"][0]["series"]
        found = re.match(r"([\d.]+) s: tcp (\d+), udp (\d+)(?:, average ([\d.]+))? packets$", text)
        assert found, text
        at = series["t_s"].index(float(found[1]))
        assert 20 < series["t_s"][at] < 40, "in the middle"
        assert [int(found[2]), int(found[3])] == [series["packets_by_group"][group][at] for group in ("tcp", "udp")]
        assert (found[4] is None) == (name == "droptail")
        if found[4]:
            assert float(found[4]) == pytest.approx(series["red_avg"][at], rel=1e-3)


def test_a_switch_hides_a_discipline_everywhere(visit: Callable[..., Any]) -> None:
    page = visit("3")
    drawn(page)
    unfold(page)
    rows, panels = page.locator("tbody tr:visible").count(), page.locator(".panel:visible").count()
    bar = page.locator("g[data-d='1']:visible").first
    assert bar.is_visible()
    page.get_by_label("RED", exact=True).uncheck()
    assert page.locator(".switches summary").inner_text() == "Disciplines shown: 2 of 3"
    assert page.locator("tbody tr:visible").count() == rows - 4, "a heading, two groups, and the link"
    assert page.locator(".panel:visible").count() == panels - 1
    assert page.locator("g[data-d='1']:visible").count() == 0
    assert page.locator("g[data-d='2']:visible").count() > 0
    page.get_by_role("button", name="None").click()
    assert page.locator(".panel:visible").count() == 0
    page.get_by_role("button", name="All", exact=True).click()
    assert page.locator("tbody tr:visible").count() == rows
    assert page.locator(".panel:visible").count() == panels


def test_the_legend_switches_a_line_off(visit: Callable[..., Any]) -> None:
    page = visit("3")
    chart = drawn(page)
    button = page.locator(".legend").get_by_role("button", name="udp")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    chart.hover()
    assert all("udp" not in text and "tcp" in text for text in page.locator(".readout").all_inner_texts())
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"


def test_zoom_changes_the_time_shown_and_a_double_click_restores_it(visit: Callable[..., Any]) -> None:
    page = visit("3")
    chart = drawn(page)
    whole = page.evaluate(VISIBLE_X)
    assert whole == [0, 60]
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 40, steps=4)
    page.mouse.up()
    assert page.evaluate(VISIBLE_X) == pytest.approx([15, 45], abs=0.2)
    chart.dblclick()
    assert page.evaluate(VISIBLE_X) == whole
    page.get_by_role("button", name="Zoom in").press("Enter")
    assert page.evaluate(VISIBLE_X) == [15, 45]
    page.get_by_role("button", name="Later").click()
    assert page.evaluate(VISIBLE_X) == [30, 60]
    page.get_by_role("button", name="Whole run").click()
    assert page.evaluate(VISIBLE_X) == whole


def test_a_chart_is_used_by_keyboard(visit: Callable[..., Any]) -> None:
    page = visit("3")
    drawn(page)
    chart = page.locator(".chart").first
    chart.focus()
    for key in ("+", "ArrowRight", "ArrowRight"):
        chart.press(key)
    assert page.evaluate(VISIBLE_X) == [15, 45]
    assert page.locator(".readout").first.inner_text().startswith("15.5 s: tcp ")
    chart.press("0")
    assert page.evaluate(VISIBLE_X) == [0, 60]


def column(page: Any, table: str, at: int) -> list[float | None]:
    """Raw values of a column in the order of the rows that are shown."""
    cells = page.locator(f"{table} tbody tr:visible:not(.block) > :nth-child({at + 1})")
    raw = cells.evaluate_all("all => all.map(cell => cell.dataset.v ?? null)")
    return [None if value is None else float(value) for value in raw]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_column_sorts_by_its_numbers(visit: Callable[..., Any], width: int) -> None:
    page = visit("3", width)
    head = page.locator("main table").first.locator("th", has_text="Retrans")
    table = "main table:first-of-type"
    before = column(page, table, 5)
    known = [value for value in before if value is not None]
    assert known != sorted(known)
    button = head.get_by_role("button")
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, table, 5) == sorted(known) + [None] * (len(before) - len(known))
    assert page.locator(".whose:visible").count() == 6, "each row says whose it is"
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, table, 5) == sorted(known, reverse=True) + [None] * (len(before) - len(known))
    button.click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, table, 5) == before


def test_without_script_everything_is_there_and_no_control_that_does_nothing(visit: Callable[..., Any]) -> None:
    page = visit("3", java_script_enabled=False)
    assert page.locator("button, input").count() == 0
    assert page.locator("figure:has(#queue) > .wide > svg").is_visible()
    assert page.locator("figure svg:visible").count() == 6
    assert page.locator("tbody tr:visible").count() == 12


@pytest.mark.parametrize("name", ["3", "8"])
def test_paper_has_the_figures_and_all_rows(visit: Callable[..., Any], name: str) -> None:
    page = visit(name)
    unfold(page)
    drawn(page)
    rows = page.locator("tbody tr").count()
    page.get_by_role("button", name="None").click()
    page.emulate_media(media="print")
    assert page.locator("tbody tr:visible").count() == rows
    assert page.locator("figure:has(#queue) > .wide > svg").is_visible()
    assert page.locator(".charts:visible, .switches:visible").count() == 0
    assert page.locator("g[data-d='0']:visible").count() > 0


def test_what_is_folded_is_printed(visit: Callable[..., Any]) -> None:
    page = visit("8", java_script_enabled=False)
    row = page.locator("h2#numbers + table tbody tr").nth(1)
    assert not row.is_visible()
    page.emulate_media(media="print")
    assert row.is_visible()
