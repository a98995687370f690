"""Time from moving a slider of the playground until its picture has changed, in headless Chromium.

    make bench-playground

Each slider of the story is moved through its range, after as many moves that are not counted. Prints a table: median
and 90th percentile in milliseconds.
"""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

import browsers  # noqa: E402

SITE = ROOT / "build" / "site"
MOVES = 20
# Milliseconds of each move of one slider, until every figure of its panel is drawn anew.
MOVE = """async ([id, moves]) => {
  const input = document.getElementById(id), panel = input.closest(".panel");
  const figure = panel.querySelector("figure:last-of-type");
  const [from, to] = [Number(input.min), Number(input.max)];
  const step = Number(input.step) || 1, steps = Math.round((to - from) / step);
  const times = [];
  for (let move = 0; move < 2 * moves; move++) {
    input.value = from + step * Math.round(steps * (move % moves) / (moves - 1));
    const drawn = new Promise(resolve => new MutationObserver((_, observer) => { observer.disconnect(); resolve(); })
      .observe(figure, { childList: true, subtree: true }));
    const start = performance.now();
    input.dispatchEvent(new Event("input"));
    await drawn;
    await new Promise(requestAnimationFrame);
    if (move >= moves) times.push(performance.now() - start);
  }
  return times;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves without a line for each request."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def main() -> None:
    """Prints the table."""
    if not (SITE / "playground" / "index.html").is_file():
        sys.exit(f"bench: {SITE}: no playground; valid: make playground before it")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with browsers.chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("pageerror", lambda error: sys.exit(f"bench: {error}"))
        page.goto(f"http://127.0.0.1:{server.server_port}/playground/index.html")
        page.locator("html[data-ready]").wait_for(state="attached")
        print("| slider | median | 90th percentile |\n| --- | ---: | ---: |")
        for name in page.evaluate("[...document.querySelectorAll('.panel input')].map(input => input.id)"):
            page.locator(f"#{name}").scroll_into_view_if_needed()
            times = page.evaluate(MOVE, [name, MOVES])
            print(f"| {name} | {np.median(times):.0f} ms | {np.percentile(times, 90):.0f} ms |", flush=True)
    server.shutdown()


if __name__ == "__main__":
    main()
