"""The command that makes the document again."""

from __future__ import annotations

import shlex

from fairdrop.document import Document, disciplines, seeds


def rerun_command(document: Document) -> str:
    """A shell command; the document's own goes before a derived one."""
    command = document.command
    if isinstance(command, list) and command:
        return shlex.join(str(word) for word in command)
    if isinstance(command, str) and command:
        return command
    names = disciplines(document)
    if document.is_replay:
        return shlex.join(["fairdrop", "replay", str(document.name or "capture.pcap")])
    words = ["fairdrop", "compare", "scenario.toml", "--disciplines", ",".join(names)]
    found = seeds(document)
    return shlex.join([*words, "--set", f"seed={found[0]}", "--seeds", str(len(found))] if found else words)
