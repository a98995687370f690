"""Build the site in build/site: the pages of docs, the interfaces of Python and Rust, a gallery, the playground.

    python site/build.py                    all of it
    python site/build.py --pages            without the interface of Rust and the playground, which need Rust
    python site/build.py --out FOLDER       elsewhere

The source of Sphinx is a copy of the files that pages link to, at their places in the checkout, so that every relative
link holds there too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
SOURCE = ROOT / "build" / "site-source"
sys.path.insert(0, str(ROOT))

from gallery import gallery  # noqa: E402

from experiments.pages import built_docs  # noqa: E402

_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
TOP = ("index.md", "gallery.md", "CHANGELOG.md", "CONTRIBUTING.md")
PUBLIC = ("", "extension.param", "advise", "characterize", "measures", "models", "plot", "report", "reproduce")
PLAY = (
    '<a href="playground/index.html"><strong>Play with it in the browser</strong></a>: '
    "one sender takes the whole link. Can you end it?"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", action="store_true", help="without the interface of Rust and the playground")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", metavar="FOLDER", help="build/site")
    args = parser.parse_args()
    gather()
    shutil.rmtree(args.out, ignore_errors=True)
    sphinx = (sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--jobs", "2")
    folders = ("--conf-dir", str(SITE), "--doctree-dir", str(ROOT / "build" / "site-doctrees"))
    run(*sphinx, *folders, str(SOURCE), str(args.out))
    if not args.pages:
        shutil.rmtree(ROOT / "target" / "doc", ignore_errors=True)
        # A link that leads nowhere ends it.
        flags = {"RUSTDOCFLAGS": "-D warnings"}
        run("cargo", "doc", "--quiet", "--no-deps", "--package", "fairdrop", "--package", "fairdrop-link", **flags)
        shutil.copytree(ROOT / "target" / "doc", args.out / "rust")
        run(str(ROOT / "scripts" / "playground.sh"), str(args.out / "playground"))
    print(args.out)


def run(*command: str, **environment: str) -> None:
    if (status := subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode) != 0:
        sys.exit(f"site: {' '.join(command)}: exit status {status}")


def gather() -> None:
    """Write the source of Sphinx."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    (SOURCE / "docs").mkdir(parents=True)
    waiting = [path for name in TOP if (ROOT / (path := Path(name))).exists()]
    for path, content in [*built_docs(), *front_pages()]:
        waiting += written(path, content)
    done: set[Path] = set()
    while waiting:
        if (path := waiting.pop()) not in done and not (SOURCE / path).exists():
            done.add(path)
            waiting += written(path, (ROOT / path).read_bytes())


def written(path: Path, content: str | bytes) -> Iterator[Path]:
    """Write a file, and name the files of the checkout that it links to."""
    target = SOURCE / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".md":
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return
    text = content if isinstance(content, str) else content.decode()
    # What pages link to is in no table of contents.
    orphan = "" if path.parts[0] in ("docs", *TOP) or text.startswith("---") else "---\norphan: true\n---\n\n"
    links: list[Path] = []
    target.write_text(orphan + with_links(text, path.parent, links), encoding="utf-8")
    yield from links


def with_links(text: str, folder: Path, links: list[Path]) -> str:
    """The text; a link to a folder leads to its README, or becomes plain words where there is none."""

    def mended(link: re.Match[str]) -> str:
        words, where, place = link[1], link[2], link[3] or ""
        to = Path(os.path.normpath(ROOT / folder / where))
        if ":" in where or not to.is_relative_to(ROOT) or not to.exists():
            return link[0]
        if to.is_dir():
            to, where = to / "README.md", f"{where.rstrip('/')}/README.md"
            if not to.exists():
                return words
        links.append(to.relative_to(ROOT))
        return f"[{words}]({where}{place})"

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(mended, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(mended, text[end:])])


def front_pages() -> Iterator[tuple[Path, str]]:
    """The first page, the index of each section, and the pages that only the site has."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before, mark, after = readme.partition("| you are |")
    yield Path("index.md"), f"{before}```{{container}} to-play\n{PLAY}\n```\n\n{mark}{after}\n{contents(SECTIONS)}"
    for path in sorted((SITE / "pages").rglob("*.md")):
        yield path.relative_to(SITE / "pages"), path.read_text(encoding="utf-8")
    modules = "\n\n".join(
        f"## `{name}`\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n   :imported-members:\n```"
        for name in (".".join(filter(None, ("fairdrop", part))) for part in PUBLIC)
    )
    yield Path("docs/reference/api.md"), f"# Interface of Python\n\n{modules}\n"
    yield Path("gallery.md"), gallery()


SECTIONS = (
    "Tutorial <docs/tutorial>",
    "How-to <docs/how-to/index>",
    "Reference <docs/reference/index>",
    "Background <docs/background/index>",
    "Papers <docs/reproduction/index>",
    "Comparison <docs/comparison>",
    "Figures <gallery>",
    "All pages by reader <docs/README>",
    "Features of the papers <docs/features>",
    "Contributing <CONTRIBUTING>",
    "Changes <CHANGELOG>",
)


def contents(pages: tuple[str, ...]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```", ""])


if __name__ == "__main__":
    main()
