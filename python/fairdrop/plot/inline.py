"""Matplotlib's SVG made fit to stand inside the page: own ids, no addresses, colours that follow the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape
from matplotlib.figure import Figure

from fairdrop.plot.colours import VARIABLES
from fairdrop.plot.marks import Mark, marked
from fairdrop.plot.style import svg_bytes
from fairdrop.wording.phrases import clean

_PREAMBLE = re.compile(r"^.*?(?=<svg\b)", re.DOTALL)
_UNWANTED = re.compile(
    r"<metadata>.*?</metadata>|<defs>\s*<style\b.*?</style>\s*</defs>|<!--.*?-->|"
    r"<defs/>",
    re.DOTALL,
)
_TAG = re.compile(r"<[^<>]+>")
_BETWEEN = re.compile(r">\s+<")
_EMPTY = re.compile(r"<g>\s*</g>|<g/>")
_ROOT = re.compile(r"<svg\b[^>]*?\bviewBox=\"([^\"]+)\"[^>]*>")
_ID = re.compile(r'\sid="([^"]+)"')
_LINK = re.compile(r'\bxlink:href="#([^"]+)"')
_URL = re.compile(r"\burl\(#([^)]+)\)")
_FAMILY = re.compile(r"font-family:[^;\"]*;?\s*")
_NO_TURN = re.compile(r'\stransform="rotate\(-0 [^"]*"')
_PATH = re.compile(r'\sd="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{2,}")
_MARKED = re.compile(r"<g id=\"fd-mark-(\d+)\">")
_COLOUR = re.compile(r"#[0-9a-f]{6}(?=[;\"\s])")


def inline(figure: Figure, prefix: str, label: str, disciplines: Sequence[str] = ()) -> Markup:
    """The figure as an SVG element for the page; ``prefix`` keeps its ids apart from other figures'.

    What is marked as one discipline's has the place of that discipline in ``disciplines`` as ``data-d``.
    """
    marks: list[Mark] = []
    for artist, found in marked(figure):
        artist.set_gid(f"fd-mark-{len(marks)}")
        marks.append(found)
    text = _PREAMBLE.sub("", svg_bytes(figure).decode("utf-8"), count=1)
    text = _UNWANTED.sub("", text)
    tags = _TAG.findall(text)
    used = {name for tag in tags for pattern in (_LINK, _URL) for name in pattern.findall(tag)}
    # Tags only: what stands between them are names and numbers that must stay as they are.
    text = _TAG.sub(lambda found: _tag(found[0], prefix, used, marks, disciplines), text)
    text = _without_empty(_BETWEEN.sub(">\n<", text))
    return Markup(_ROOT.sub(lambda found: _root(found[1], label), text, count=1).strip())


def _tag(tag: str, prefix: str, used: set[str], marks: Sequence[Mark], disciplines: Sequence[str]) -> str:
    """One tag without family, with short numbers, page colours and ids of its own."""
    if found := _MARKED.fullmatch(tag):
        return _mark(marks[int(found[1])], disciplines)
    tag = _NO_TURN.sub("", _FAMILY.sub("", tag))
    tag = _PATH.sub(lambda found: f' d="{_compact(found[1])}"', tag)
    tag = _COLOUR.sub(lambda found: _variable(found[0]), tag)
    tag = _ID.sub(lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", tag)
    tag = _LINK.sub(lambda found: f'href="#{prefix}-{found[1]}"', tag)
    return _URL.sub(lambda found: f"url(#{prefix}-{found[1]})", tag)


def _mark(mark: Mark, disciplines: Sequence[str]) -> str:
    """The group of an artist, with whose it is and a title that browsers show under the pointer."""
    places = " ".join(str(disciplines.index(name)) for name in mark.disciplines if name in disciplines)
    whose = f' data-d="{places}"' if places else ""
    return f"<g{whose}>" + (f"<title>{escape(clean(mark.text))}</title>" if mark.text else "")


def _without_empty(text: str) -> str:
    while True:
        shorter = _EMPTY.sub("", text)
        if shorter == text:
            return re.sub(r"\n\s*\n+", "\n", text)
        text = shorter


def _compact(path: str) -> str:
    rounded = _LONG.sub(lambda found: f"{float(found[0]):.1f}".rstrip("0").rstrip("."), path)
    return " ".join(rounded.split())


def _variable(colour: str) -> str:
    name = VARIABLES.get(colour)
    return f"var(--fd-{name})" if name else colour


def _root(box: str, label: str) -> str:
    """A root that scales with its container and has a name for those who cannot see it."""
    return f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">'
