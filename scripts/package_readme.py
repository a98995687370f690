"""README as registries show it, which have no files beside it: links lead to the project's address."""

from __future__ import annotations

import re

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def package_readme(text: str, address: str, version: str) -> str:
    """The text with absolute links and images; while the project has no address, the words alone and no images."""

    def absolute(link: re.Match[str]) -> str:
        image, words, to = link.groups()
        if ":" in to or to.startswith("#"):
            return link[0]
        if not address:
            return "" if image else words
        kind = "raw" if image else "blob"
        return f"{image}[{words}]({address}/{kind}/v{version}/{to})"

    return _LINK.sub(absolute, text)
