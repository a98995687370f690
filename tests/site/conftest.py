"""A browser, and the site of ``make site`` over a loopback server."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import browsers

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("FAIRDROP_SITE", ROOT / "build" / "site"))
LONG_MS = 120_000

Open = Callable[..., Any]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def site() -> Path:
    assert (SITE / "index.html").is_file(), f"{SITE} has no site; make site builds it"
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with browsers.chromium() as found:
        yield found


@pytest.fixture
def visited(browser: Any, address: str) -> Iterator[Open]:
    """Opens a page; errors of its scripts, and what it loads from elsewhere, fail the test."""
    complaints: list[str] = []
    pages = []

    def open_page(where: str, width: int = 1280, **options: Any) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        pages.append(page)
        page.set_default_timeout(LONG_MS)
        page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        known = (address, "blob:", "data:")
        page.on("request", lambda request: request.url.startswith(known) or complaints.append(request.url))
        page.goto(where if where.startswith(address) else address + where)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []


@pytest.fixture
def opened(visited: Open) -> Open:
    """Opens the playground, and waits until all of it has run."""

    def open_page(where: str = "playground/index.html", width: int = 1280, **options: Any) -> Any:
        page = visited(where, width, **options)
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    return open_page
