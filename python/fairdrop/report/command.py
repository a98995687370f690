"""The command that makes the document again."""

from __future__ import annotations

import shlex

from fairdrop.document import Document, disciplines, seeds


def rerun_command(document: Document) -> str:
    """A shell command; what the document says of itself goes before what can be guessed."""
    told = document.command
    if isinstance(told, list) and told:
        return shlex.join(str(word) for word in told)
    if isinstance(told, str) and told:
        return told
    names = disciplines(document)
    if document.is_replay:
        return shlex.join(["fairdrop", "replay", str(document.name or "capture.pcap")])
    words = ["fairdrop", "compare", "scenario.toml", "--disciplines", ",".join(names)]
    found = seeds(document)
    return shlex.join([*words, "--set", f"seed={found[0]}", "--seeds", str(len(found))] if found else words)
