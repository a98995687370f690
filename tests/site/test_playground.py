"""The playground in a real browser: its numbers and its words are those of the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairdrop
from fairdrop.wording.numbers import percent_number

ROOT = Path(__file__).resolve().parents[2]
FILE = "scenario.toml"
RUN = """async asked => {
  const { Engine } = await import("./engine.js");
  const engine = await Engine.load();
  return (await engine.run("test", asked)).json;
}"""
SHORT = ["duration=40s", "warm_up=10s"]
CASES: dict[str, tuple[str, list[str], list[str] | None, int]] = {
    "headline": ("headline", [], ["droptail", "red", "choke", "fq_codel", "collar"], 1),
    "seeds": ("headline", ["seed=7", *SHORT], ["choke", "cake"], 3),
    "its own discipline": ("chokew", SHORT, None, 1),
    "every discipline": ("headline", SHORT, [one["name"] for one in fairdrop.catalogue()["disciplines"]], 1),
    "CUBIC": ("headline", ["groups.tcp.transport=cubic", *SHORT], ["collar"], 1),
    "BBR": ("headline", ["groups.tcp.transport=bbr", "groups.tcp.era=linux", *SHORT], ["fq_codel"], 1),
    "transfers": ("web", SHORT, None, 1),
    "several queues": ("choke-chain", SHORT, None, 1),
}


def scenario(name: str) -> str:
    return (ROOT / "python" / "fairdrop" / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_the_document_is_the_native_one(opened: Any, case: str) -> None:
    """To the last byte: every number of every run."""
    name, settings, disciplines, seeds = CASES[case]
    text = scenario(name)
    asked = {"text": text, "settings": settings, "disciplines": disciplines, "seeds": seeds}
    here = fairdrop.Scenario(text, FILE, settings)
    native = here.run(seeds) if disciplines is None else here.compare(disciplines, seeds)
    assert opened().evaluate(RUN, asked) == native.to_json()


def test_the_story_states_what_its_runs_found(opened: Any) -> None:
    page = opened()
    found = fairdrop.Scenario(scenario("headline"), FILE).compare(["droptail", "choke"]).document
    for panel, run in zip(["fifo", "choke"], found["runs"], strict=True):
        section = page.locator(f"section[data-name={panel}]")
        udp = next(group for group in run["groups"] if group["name"] == "udp")
        assert section.locator("[data-number='udp share']").first.inner_text() == percent_number(udp["share"])
        assert section.locator(".verdict").get_attribute("data-ended") == "false"
    assert page.locator("section[data-name=per-flow] .verdict").get_attribute("data-ended") == "true"
    empty = "places => places.filter(place => !place.textContent).map(place => place.dataset.number)"
    assert page.locator("[data-number]").evaluate_all(empty) == []


def test_errors_have_the_words_of_the_command(opened: Any, tmp_path: Path) -> None:
    text = scenario("headline")
    for right, wrong in [('"2mbit"', '"fast"'), ("max_p = 0.1", "max_p = 7"), ("[queue.choke]", "[queue.chock]")]:
        text = text.replace(right, wrong)
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "fairdrop", "run", FILE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line.removeprefix("fairdrop: error: ") for line in done.stderr.splitlines()]
    assert len(lines) == 3
    page = opened()
    page.fill("#toml", text)
    problems = page.locator("#problems button")
    problems.nth(2).wait_for()
    assert problems.all_inner_texts() == lines
    assert page.locator("#lines b").all_inner_texts() == [f"{line.split(':')[1]}\n" for line in lines]
    problems.first.click()
    selected = "area => area.value.slice(area.selectionStart, area.selectionEnd)"
    assert page.locator("#toml").evaluate(selected) == text.splitlines()[int(lines[0].split(":")[1]) - 1]
    page.fill("#toml", scenario("headline"))
    problems.first.wait_for(state="detached")


def test_a_shared_link_restores_the_scenario(opened: Any) -> None:
    page = opened()
    label = page.locator("#shares .bar")
    before = label.get_attribute("aria-label")
    page.select_option("#discipline", "red")
    changed(page, "#shares .bar", before)
    page.click("#share")
    page.locator("#shared", has_text="link").wait_for()
    assert "#s=" in page.url
    other = opened(page.url, width=390)
    assert other.locator("#toml").input_value() == page.locator("#toml").input_value()
    assert other.locator("#discipline").input_value() == "red"
    assert other.locator("#shares .bar").get_attribute("aria-label") == label.get_attribute("aria-label")


SLIDERS = [("#choke-rate", "#choke-shares .bar"), ("#many-count", "#many-shares .bar"), ("#rate", "#shares .bar")]


@pytest.mark.parametrize(("slider", "picture"), SLIDERS)
def test_the_keyboard_moves_a_slider(opened: Any, slider: str, picture: str) -> None:
    page = opened()
    before, words = page.locator(picture).get_attribute("aria-label"), page.get_attribute(slider, "aria-valuetext")
    page.focus(slider)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    changed(page, picture, before)
    assert page.get_attribute(slider, "aria-valuetext") != words


# Moves an input and waits for the picture that its panel draws last; errors of the page fail the test.
MOVED = """([id, end]) => {
  const input = document.getElementById(id), figure = input.closest(".panel").querySelector("figure:last-of-type");
  return new Promise((resolve, reject) => {
    addEventListener("unhandledrejection", event => reject(event.reason));
    new MutationObserver(resolve).observe(figure, { childList: true });
    input.value = input[end];
    input.dispatchEvent(new Event("input"));
  }).then(() => true);
}"""


def test_every_slider_of_the_story_reaches_its_ends(opened: Any) -> None:
    page = opened()
    sliders = page.locator(".panel input").evaluate_all("inputs => inputs.map(input => input.id)")
    assert len(sliders) > 10
    for slider in sliders:
        for end in ("min", "max"):
            assert page.evaluate(MOVED, [slider, end]), slider


def test_a_panel_opens_in_the_playground(opened: Any) -> None:
    page = opened()
    page.click("section[data-name=per-flow] [data-open]")
    page.wait_for_function("document.getElementById('discipline').value === 'fq_codel'")
    assert 'discipline = "fq_codel"' in page.locator("#toml").input_value()
    story = page.locator("#per-flow-shares .bar").get_attribute("aria-label")
    assert page.locator("#shares .bar").get_attribute("aria-label") == story


def test_an_address_leads_to_its_panel(opened: Any) -> None:
    page = opened("playground/index.html#many")
    assert page.locator("#many h2").evaluate("head => Math.abs(head.getBoundingClientRect().top) < innerHeight / 2")


def test_a_setting_is_written_into_the_text(opened: Any) -> None:
    page = opened()
    page.select_option("#scenario", "understanding-choke")
    page.wait_for_function("document.getElementById('toml').value.includes('Understanding CHOKe')")
    page.fill("#seed", "5")
    page.wait_for_function("document.getElementById('toml').value.includes('seed = 5')")
    assert "# open" in page.locator("#toml").input_value()


def test_what_needs_too_much_memory_is_refused(opened: Any) -> None:
    page = opened()
    found = page.evaluate(RUN, {"text": scenario("headline"), "settings": ["groups.tcp.count=1000000", *SHORT]})
    assert "groups.tcp.count = 1000000 is not valid here" in found
    assert "(addresses of 32 bits); valid: less, or more memory" in found


SCREENS = [(390, "light", "rgb(254, 254, 254)"), (390, "dark", "rgb(20, 24, 29)"), (1280, "dark", "rgb(20, 24, 29)")]


@pytest.mark.parametrize(("width", "scheme", "paper"), SCREENS)
def test_it_fits_and_has_the_colours_asked_for(opened: Any, width: int, scheme: str, paper: str) -> None:
    page = opened(width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    # Of each label of a picture, whether it is cut off.
    cut = """texts => texts.filter(text => {
      const box = text.getBBox(), { width } = text.ownerSVGElement.viewBox.baseVal;
      return box.x < 0 || box.x + box.width > width;
    }).map(text => text.textContent)"""
    assert page.locator("svg text").evaluate_all(cut) == []
    assert page.locator("figure:empty").count() == 0


def test_nothing_moves_where_that_is_not_wanted(opened: Any) -> None:
    page = opened(reduced_motion="reduce")
    moving = "parts => parts.filter(part => getComputedStyle(part).transitionDuration !== '0s').length"
    assert page.locator("*").evaluate_all(moving) == 0


def changed(page: Any, picture: str, before: str | None) -> None:
    """Waits until a picture says something else."""
    differs = "([picture, before]) => document.querySelector(picture).getAttribute('aria-label') !== before"
    page.wait_for_function(differs, arg=[picture, before])
