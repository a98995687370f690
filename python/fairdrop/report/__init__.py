"""The HTML report of a result document.

Importing this package costs nothing: Jinja2, Matplotlib and SciPy load when a function is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

__all__ = ["render", "verdict", "write"]


def render(document: Mapping[str, Any]) -> str:
    """One self-contained HTML page for a result document."""
    from fairdrop.report.page import render_page

    return render_page(document)


def write(document: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Render the document and put the page at ``path``; a reader never sees half a page."""
    from fairdrop.report.page import write_page

    write_page(document, path)


def verdict(document: Mapping[str, Any]) -> str:
    """The document's outcome in a sentence or two of plain text."""
    from fairdrop.report.judge import judge

    return judge(document).sentence
