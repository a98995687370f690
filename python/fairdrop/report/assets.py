"""Scripts that the page carries: the library of its charts with its licence, and the page's script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup


def scripts(charts: bool) -> list[Markup]:
    """In the order in which they run; ``charts`` says whether there is anything for the library to draw."""
    page = Markup(_text("report.js"))
    if not charts:
        return [page]
    return [
        Markup(f"/*\nuPlot\n\n{_text('vendor/uPlot.LICENSE').strip()}\n*/\n{_text('vendor/uPlot.iife.min.js')}"),
        page,
    ]


def chart_style() -> Markup:
    """Rules of the library."""
    return Markup(_text("vendor/uPlot.min.css"))


def policy(scripts: Sequence[str]) -> str:
    """Content-Security-Policy: these scripts run and no other, and nothing is loaded from anywhere."""
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {' '.join(hashes) or chr(39) + 'none' + chr(39)}"


@cache
def _text(name: str) -> str:
    return files("fairdrop.report").joinpath(name).read_text(encoding="utf-8")
