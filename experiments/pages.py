"""The one way to make a page: from stored results, between marks, and written only where something changed.

    python -m experiments.pages                     all pages and figures that are made from stored results
    python -m experiments.pages shares attack       those of some experiments
    python -m experiments.pages --text              no figures
    python -m experiments.pages --check             write nothing; exit with 1 where a page would change
    python -m experiments.pages --build             build/docs: all of docs, with what is too long for git

The module ``page`` of an experiment has ``files()``, which yields what it writes: a path with a text or a figure. A
section of a page stands between ``<!-- KIND: NAME -->`` and ``<!-- end -->``; the rest of the page is typed. Sections
of the kind ``built`` come from ``built()``; in git a note stands in their place.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

from matplotlib.figure import Figure
from PIL import Image

from experiments import DOCS, ROOT
from experiments.svg import on_paper, slimmed
from experiments.tracked import tracked
from fairdrop.files import write_bytes, write_text
from fairdrop.plot.style import save_figure, svg_bytes

BUILT = ROOT / "build" / "docs"
#: Experiments whose pages are made from stored results, and those that simulate for minutes.
STORED = (
    "reference", "reproduction", "comparison", "characterization", "shares", "links", "kin", "attack", "fidelity",
    "captures", "kernel_shares", "kernel_loads", "kernel_qdiscs", "short_ids", "readings", "validation",
)  # fmt: skip
SIMULATED = ("headline", "leaky_buffer", "collar_theory")
WIDTH = 118
Files = Iterator[tuple[Path, "str | Figure"]]
_LINK = re.compile(r"(\]\()([^)#\s]+)")


def table(head: Sequence[str], rows: Iterable[Iterable[str]], text: int | None = None) -> str:
    """A table in Markdown; columns after the first ``text`` ones are numbers, on the right."""
    marks = ["---" if text is None or place < text else "---:" for place in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, marks, *rows))


def paragraph(text: str) -> str:
    """Text in lines."""
    return fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)


def item(text: str, mark: str = "-") -> str:
    """An item of a list in lines."""
    return fill(
        f"{mark} {text}", WIDTH, subsequent_indent=" " * (len(mark) + 1), break_on_hyphens=False, break_long_words=False
    )


def names_in(text: str, kind: str) -> list[str]:
    """Names of the sections of a kind, in order."""
    return [found[1] for found in _sections(kind).finditer(text)]


def filled(text: str, kind: str, sections: Mapping[str, str]) -> str:
    """The page with its sections replaced. Raises KeyError where it has one that nothing makes."""
    return _sections(kind).sub(
        lambda found: f"<!-- {kind}: {found[1]} -->\n\n{sections[found[1]]}\n\n<!-- end -->", text
    )


def pages_with(kind: str, sections: Mapping[str, str], *paths: Path) -> Files:
    """The pages with their sections replaced. Raises ValueError where a section has no place on any."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    placed = {name for text in texts.values() for name in names_in(text, kind)}
    if missing := set(sections) - placed:
        raise ValueError(f"no page has a place for {kind}: {', '.join(sorted(missing))}")
    for path, text in texts.items():
        yield path, filled(text, kind, sections)


def _sections(kind: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- {kind}: ([^\n]+?) -->\n.*?<!-- end -->", re.DOTALL)


def drawn(figure: Figure, kind: str) -> bytes:
    """A figure on paper of its own colour, as a page may be dark: SVG, or PNG of 64 colours."""
    if kind == ".svg":
        return slimmed(on_paper(svg_bytes(figure).decode())).encode()
    with TemporaryDirectory() as folder:
        save_figure(figure, path := Path(folder) / "figure.png")
        return fewer_colours(path.read_bytes())


def fewer_colours(png: bytes) -> bytes:
    """The picture with a palette."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(64, dither=Image.Dither.NONE).save(out, "png", optimize=True)
    return out.getvalue()


def files(name: str) -> Files:
    """What an experiment writes."""
    made: Files = import_module(f"experiments.{name}.page").files()
    return made


def write(names: Iterable[str], *, figures: bool = True) -> None:
    """Write what these experiments write, file by file; name each that changed."""
    for name in names:
        for path, content in files(name):
            if isinstance(content, str):
                if not path.exists() or path.read_text(encoding="utf-8") != content:
                    write_text(path, content)
                    print(f"written: {path.relative_to(ROOT)}")
            elif figures:
                write_bytes(path, drawn(content, path.suffix))


def stale(names: Iterable[str]) -> list[str]:
    """Pages that are not what would be written. Figures differ with Matplotlib's version: they need only be there."""
    found = []
    for name in names:
        for path, content in files(name):
            same = path.exists() and (not isinstance(content, str) or path.read_text(encoding="utf-8") == content)
            found += [] if same else [f"{path.relative_to(ROOT)}: python -m experiments.pages {name}"]
    return found


def built_docs() -> Iterator[tuple[Path, str | bytes]]:
    """All of docs by their places in the checkout, with the sections that are too long for git."""
    sections: dict[str, str] = {}
    for name in STORED:
        sections |= getattr(import_module(f"experiments.{name}.page"), "built", dict)()
    for path in (each for each in tracked() if each.parts[0] == "docs"):
        content = (ROOT / path).read_bytes()
        yield path, filled(content.decode(), "built", sections) if path.suffix == ".md" else content


def build() -> None:
    """All of docs in build/docs."""
    shutil.rmtree(BUILT, ignore_errors=True)
    for path, content in built_docs():
        target = BUILT / path.relative_to("docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            write_text(target, _moved(content, ROOT / path, target))
        else:
            write_bytes(target, content)


def _moved(text: str, page: Path, target: Path) -> str:
    """A page at its other place: links out of docs lead to the same files."""

    def moved(link: re.Match[str]) -> str:
        to = (page.parent / link[2]).resolve()
        is_outside = ":" not in link[2] and not to.is_relative_to(DOCS)
        return link[1] + (os.path.relpath(to, target.parent) if is_outside else link[2])

    return _LINK.sub(moved, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join((*STORED, *SIMULATED))}")
    parser.add_argument("--text", action="store_true", help="no figures")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a page would change")
    parser.add_argument("--build", action="store_true", help="build/docs, with what is too long for git")
    args = parser.parse_args()
    if unknown := set(args.names) - {*STORED, *SIMULATED}:
        parser.error(f"{', '.join(sorted(unknown))}: valid: {', '.join((*STORED, *SIMULATED))}")
    names = args.names or STORED
    if args.check:
        sys.exit("\n".join(stale(names)) or 0)
    if args.build:
        build()
        print(BUILT.relative_to(ROOT))
    else:
        write(names, figures=not args.text)


if __name__ == "__main__":
    main()
