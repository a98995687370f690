"""The HTML report of a result document.

Importing this package costs nothing: Jinja2, Matplotlib and SciPy load when a function is called.
"""

from __future__ import annotations

from os import PathLike

from fairdrop.document import Document, Json, document_of

__all__ = ["render", "verdict", "write"]


def render(document: Json | Document) -> str:
    """One self-contained HTML page for a result document."""
    from fairdrop.report.page import render_page

    return render_page(document_of(document))


def write(document: Json | Document, path: str | PathLike[str]) -> None:
    """Render the document and put the page at ``path``; a reader never sees half a page."""
    from fairdrop.report.page import write_page

    write_page(document_of(document), path)


def verdict(document: Json | Document) -> str:
    """The document's outcome in a sentence or two of plain text."""
    from fairdrop.report.judge import judge

    return judge(document_of(document)).sentence
