"""The page of fairdropd in a real browser, while kernel TCP and a flood of UDP pass through the link."""

from __future__ import annotations

import contextlib
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsers
from processes import Work

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "target" / "debug" / "fairdropd"
LONG_MS = 60_000

# Inside: downloads over and over, and datagrams faster than the link, until standard input ends.
LOAD = """
import socket, struct, sys, threading, time
port = int(sys.argv[1])
routes = [line.split() for line in open("/proc/net/route")][1:]
gateway = next(socket.inet_ntoa(struct.pack("<I", int(route[2], 16))) for route in routes if route[1] == "00000000")
def download():
    while True:
        with socket.create_connection((gateway, port)) as stream:
            stream.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            while stream.recv(65536):
                pass
def flood():
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        datagrams.sendto(bytes(1000), (gateway, 9))
        time.sleep(0.002)
for work in (download, download, flood):
    threading.Thread(target=work, daemon=True).start()
sys.stdin.read()
"""


class Page(http.server.BaseHTTPRequestHandler):
    """Two million bytes for whoever asks."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        # The reader may have gone.
        with contextlib.suppress(OSError):
            self.wfile.write(bytes(2_000_000))

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the page is, and the control socket of its link."""
    if not PROGRAM.is_file():
        pytest.skip("fairdropd is not built (cargo build --package fairdrop-live)")
    socket = tmp_path_factory.mktemp("live") / "control.sock"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = ["--up", "1mbit", "--down", "5mbit", "--queue", "choke", "--delay", "5ms", "--metrics", "127.0.0.1:0"]
    inside = ["--", sys.executable, "-c", LOAD, str(server.server_port)]
    command = [str(PROGRAM), "shell", *options, "--control", str(socket), *inside]
    running = Work(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    printed = ""
    for line in running.stderr:
        printed += line
        if found := re.search(r"metrics at (http://\S+)", line):
            break
    else:
        running.wait()
        pytest.skip(f"no namespaces here: {printed.strip()}")
    threading.Thread(target=running.stderr.read, daemon=True).start()
    yield found[1], socket
    running.terminate()
    running.wait()
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsers.chromium() as found:
        yield found


@pytest.fixture
def opened(browser: Any, live: tuple[str, Path]) -> Iterator[Any]:
    """Opens the page as wide as asked for; what it complains of, or loads from elsewhere, fails the test."""
    complaints: list[str] = []
    pages = []

    def open_page(width: int, scheme: str) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.set_default_timeout(LONG_MS)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(live[0]) or complaints.append(request.url))
        page.goto(live[0])
        # Two samples make a rate.
        page.locator("section .area").nth(3).wait_for(state="attached")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []


SCREENS = [(1500, "light", "rgb(254, 254, 254)"), (390, "dark", "rgb(20, 24, 29)")]


@pytest.mark.parametrize(("width", "scheme", "paper"), SCREENS)
def test_it_fits_and_has_the_colours_asked_for(opened: Any, width: int, scheme: str, paper: str) -> None:
    page = opened(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert page.text_content("#state") == "live"
    # Of each label of a chart, whether it is cut off at the left.
    cut = """texts => texts.filter(text => text.getBBox().x < 0).map(text => text.textContent)"""
    assert page.locator("svg text").evaluate_all(cut) == []
    for direction in ("up", "down"):
        section = page.locator(f"section[data-direction={direction}]")
        assert section.locator(".charts svg").count() == 4
        assert section.locator(".internals svg").count() >= 1


def test_users_of_the_link_are_shown(opened: Any) -> None:
    page = opened(1500, "light")
    up, down = (page.locator(f"section[data-direction={direction}]") for direction in ("up", "down"))
    up.locator("tbody tr", has_text=re.compile(r"^udp [\d.]+:\d+ > [\d.]+:9")).wait_for()
    down.locator("tbody tr", has_text=re.compile(r"^tcp [\d.]+:\d+ > [\d.]+:\d+")).first.wait_for()
    # The flood is above the rate of its direction: CHOKe drops of it, and says by which rule.
    rates = page.locator("section[data-direction=up] figcaption").nth(0)
    assert "udp" in rates.inner_text()
    drops = page.locator("section[data-direction=up] figcaption", has_text="Dropped per second")
    drops.get_by_text("match_queued").wait_for()
    assert page.locator("section[data-direction=up] .tiles").inner_text().count("% of arrivals") == 2


def test_it_follows_what_is_changed(opened: Any, live: tuple[str, Path]) -> None:
    page = opened(1500, "light")

    def ctl(*words: str) -> str:
        done = subprocess.run([str(PROGRAM), "ctl", "--socket", str(live[1]), *words], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else done.stderr

    assert ctl("swap", "queue=fq_codel", "direction", "down") == "down.queue.discipline=fq_codel\n"
    assert ctl("set", "rate=4mbit", "direction", "down") == "down.rate=4mbit\n"
    what = page.locator("section[data-direction=down] .what")
    what.get_by_text("fq_codel, 4 Mbit/s").wait_for()
    refused = ctl("set", "rate=fast")
    assert refused.startswith("error: ") and 'down.rate = "fast" is not valid; valid: ' in refused
    assert "fq_codel, 4 Mbit/s" in what.inner_text()


def test_pointing_at_a_chart_shows_its_values(opened: Any) -> None:
    page = opened(1500, "light")
    chart = page.locator("section[data-direction=down] .charts figure").first
    chart.locator("svg").hover()
    chart.locator("figcaption", has_text="s ago").wait_for()
    chart.locator(".cross").wait_for(state="attached")
