"""The site: links lead somewhere; in a browser tables sort, the search finds, nothing is wider than the screen."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import fairdrop

# Rustdoc checks the links of its own pages.
NOT_OURS = ("rust/", "_static/")
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
PAGES = (
    "index.html", "docs/tutorial.html", "docs/comparison.html", "docs/architecture.html", "docs/background/collar.html",
    "docs/background/models.html", "docs/reference/disciplines/choke.html", "docs/reference/api.html", "gallery.html",
)  # fmt: skip


class Document(HTMLParser):
    """The links of a page, the files it loads, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {place for place in (found.get("id"), found.get("name") if tag == "a" else None) if place}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in LOADS and found.get(LOADS[tag]):
            self.loads.append(found[LOADS[tag]] or "")


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, Document]:
    paths = [path for path in site.rglob("*.html") if not str(path.relative_to(site)).startswith(NOT_OURS)]
    return {path: Document(path) for path in paths}


def test_every_link_leads_somewhere(site: Path, documents: dict[Path, Document]) -> None:
    dead = []
    for path, document in documents.items():
        for link in {*document.links, *document.loads}:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            place = unquote(parts.fragment)
            if not to.is_file() or (place and to in documents and place not in documents[to].places):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert len(documents) > 100
    assert dead == []


def test_links_to_elsewhere_are_addresses(documents: dict[Path, Document]) -> None:
    schemes = {urlsplit(link).scheme for document in documents.values() for link in document.links}
    assert schemes <= {"", "https", "http", "data"}
    loaded = {urlsplit(load).scheme for document in documents.values() for load in document.loads}
    assert loaded <= {"", "data"}


def test_every_public_name_is_explained(documents: dict[Path, Document], site: Path) -> None:
    places = documents[site / "docs" / "reference" / "api.html"].places
    modules = {name for name in fairdrop.__all__ if isinstance(getattr(fairdrop, name), type(re))}
    for name in set(fairdrop.__all__) - modules - {"__version__"}:
        assert f"fairdrop.{name}" in places
    assert {f"module-{getattr(fairdrop, name).__name__}" for name in modules} <= places


def test_every_page_of_the_docs_is_there(documents: dict[Path, Document], site: Path) -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    expected = {
        site / "docs" / path.relative_to(docs).with_suffix(".html")
        for path in [*docs.rglob("*.md"), *docs.rglob("*.ipynb")]
    }
    assert expected <= set(documents)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen(visited: Any, width: int, scheme: str) -> None:
    for where in PAGES:
        page = visited(where, width, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, where
        assert page.locator("html").get_attribute("data-theme") == scheme
        red = int(re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[0])
        assert (red > 200) == (scheme == "light")
        broken = "images => images.filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
        assert page.locator("article img").evaluate_all(broken) == []
        page.close()


def test_tables_sort_by_the_keyboard_and_by_numbers(visited: Any) -> None:
    page = visited("docs/comparison.html")
    table = page.locator("article table").first
    names = table.locator("tbody tr td:first-child")
    before = names.all_inner_texts()
    head = table.locator("th").nth(1)
    head.focus()
    page.keyboard.press("Enter")
    values = [float(text.split()[0]) for text in table.locator("tbody tr td:nth-child(2)").all_inner_texts()]
    assert head.get_attribute("aria-sort") in ("ascending", "descending")
    assert values in (sorted(values), sorted(values, reverse=True))
    assert names.all_inner_texts() != before
    assert sorted(names.all_inner_texts()) == sorted(before)


def test_tables_are_filtered_by_words(visited: Any) -> None:
    page = visited("docs/comparison.html")
    rows = page.locator("article table").first.locator("tbody tr")
    page.locator(".table-filter").first.fill("choke candidates")
    visible = rows.evaluate_all("rows => rows.filter(row => row.checkVisibility()).length")
    assert 0 < visible < rows.count()
    assert page.locator("[role=status]").first.inner_text().strip() == f"{visible} of {rows.count()} rows"


def test_the_search_finds_a_discipline(visited: Any) -> None:
    page = visited("search.html?q=gentle")
    page.locator("#search-results a[href*='disciplines/red.html']").first.wait_for()


def test_the_first_page_leads_to_the_playground(visited: Any) -> None:
    page = visited("index.html")
    page.click(".to-play a")
    page.locator("html[data-ready]").wait_for(state="attached")
    assert page.locator("h1").inner_text().startswith("One sender takes the whole link")
