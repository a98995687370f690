"""The command that makes the document again."""

from __future__ import annotations

import shlex

from .document import Document, disciplines, is_replay, seeds


def rerun_command(document: Document) -> str:
    """A shell command; what the document says of itself goes before what can be guessed."""
    told = document.get("command")
    if isinstance(told, list) and told:
        return shlex.join(str(word) for word in told)
    if isinstance(told, str) and told:
        return told
    names = disciplines(document)
    if is_replay(document):
        return shlex.join(["fairdrop", "replay", str(document.get("name") or "capture.pcap")])
    words = ["fairdrop", "compare" if len(names) > 1 else "run", "scenario.toml"]
    if names:
        words += ["--disciplines" if len(names) > 1 else "--discipline", ",".join(names)]
    found = seeds(document)
    return shlex.join([*words, "--seeds", _seed_words(found)] if found else words)


def _seed_words(found: list[int]) -> str:
    whole = list(range(found[0], found[-1] + 1))
    return f"{found[0]}-{found[-1]}" if found == whole and len(found) > 1 else ",".join(map(str, found))
