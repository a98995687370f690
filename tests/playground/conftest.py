"""A browser, and the playground over a loopback server."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LONG_MS = 120_000
# Of scripts/playground.sh, where the target is not installed and cannot be had.
NO_TARGET = 77

Open = Callable[..., Any]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the playground is, as ``make playground`` builds it."""
    folder = tmp_path_factory.mktemp("playground") / "built"
    done = subprocess.run(
        [ROOT / "scripts" / "playground.sh", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if done.returncode == NO_TARGET:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("no browser here (Debian package chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as player:
        found = player.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Open]:
    """Opens the page and waits until all of it has run; what it complains of, or loads from elsewhere, fails the test."""
    complaints: list[str] = []
    pages = []

    def open_page(where: str = address, width: int = 1280, **options: Any) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        pages.append(page)
        page.set_default_timeout(LONG_MS)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith((address, "blob:")) or complaints.append(request.url))
        page.goto(where)
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []
