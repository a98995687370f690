"""The report in a real browser: it opens, nothing is loaded from anywhere, nothing sticks out at 400 pixels."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import fairdrop

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """
<iframe id="page" style="width:{width}px;height:900px;border:0" src="{page}"></iframe>
<pre id="found"></pre>
<script>
document.getElementById("page").addEventListener("load", () => {{
  const page = document.getElementById("page").contentDocument;
  document.getElementById("found").textContent = JSON.stringify({{
    width: page.documentElement.scrollWidth,
    heading: page.querySelector("h1").textContent,
    figures: [...page.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().width > 0).length,
    outside: page.defaultView.performance.getEntriesByType("resource").map(entry => entry.name),
  }});
}});
</script>
"""


@pytest.fixture(scope="module")
def page(headline, tmp_path_factory):
    if BROWSER is None:
        pytest.skip("no browser here (Debian package chromium)")
    path = tmp_path_factory.mktemp("report") / "report.html"
    fairdrop.load(headline, ["duration=60s", "warm_up=10s"]).compare(["droptail", "red", "choke"], seeds=2).report(path)
    return path


@pytest.mark.parametrize("width", [400, 1400])
def test_the_report_fits(page: Path, tmp_path: Path, width: int) -> None:
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(width=width, page=page.as_uri()))
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
        "--virtual-time-budget=10000", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1500,1000",
    ]  # fmt: skip
    done = subprocess.run(
        [str(BROWSER), *flags, "--dump-dom", probe.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    text = done.stdout.split('<pre id="found">')[1].split("</pre>")[0]
    assert text, "the page did not load"
    found = json.loads(html.unescape(text))
    assert found["width"] <= width
    assert found["figures"] >= 5
    assert found["outside"] == []
    assert found["heading"]
