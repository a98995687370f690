"""The page of the figures, each with the command that makes it."""

from __future__ import annotations

import re
from pathlib import Path

from experiments import ROOT
from experiments.tracked import tracked

_PICTURE = re.compile(r"!\[([^\]]+)\]\(([^)]+\.(?:svg|png))\)")

# What makes the figures of a place; the first that fits holds.
COMMANDS = (
    (r"docs/images/characterization\.png", "make characterize"),
    (r"docs/images/cost-against-flows\.png", "make bench-scale"),
    (r"docs/images/.*", "python -m experiments.pages headline"),
    (r"docs/background/collar-(map|phase)\.svg", "python -m experiments.pages collar_theory"),
    (r"docs/background/collar-validation\.svg", "make bench-shares"),
    (r"docs/background/fidelity-.*", "make fidelity"),
    (r"docs/background/.*", "python -m experiments.pages leaky_buffer"),
    (r"docs/reproduction/figures/X7\.svg", "make comparison"),
    (r"docs/reproduction/figures/([\w-]+)\.svg", r"fairdrop reproduce \1"),
)


def command_of(picture: str) -> str:
    """What makes it. Raises ValueError where nobody knows."""
    for pattern, command in COMMANDS:
        if found := re.fullmatch(pattern, picture):
            return found.expand(command)
    raise ValueError(f"{picture}: site/gallery.py has no command for it")


def gallery() -> str:
    """Every picture of a page, with its words and its page."""
    shown: dict[str, str] = {}
    pages = (path.as_posix() for path in tracked() if path.suffix == ".md" and path.parts[0] in {"README.md", "docs"})
    for page in pages:
        for words, link in _PICTURE.findall((ROOT / page).read_text(encoding="utf-8")):
            picture = (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()
            if picture not in shown:
                title = "README" if page == "README.md" else title_of(ROOT / page)
                to = "index.md" if page == "README.md" else page
                shown[picture] = (
                    f"## {words}\n\n![{words}]({picture})\n\n```sh\n{command_of(picture)}\n```\n\n"
                    f"Explained on [{title}]({to}).\n"
                )
    head = "# Figures\n\nEach with the command that makes it anew, in a checkout after `make demo`.\n\n"
    return head + "\n".join(shown.values())


def title_of(page: Path) -> str:
    """Of a page in Markdown."""
    return next(line[2:] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
