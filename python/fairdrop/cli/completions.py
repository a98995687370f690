"""``fairdrop completions``: a script that teaches a shell the commands, their options, and names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import shtab

from fairdrop.library import catalogue

_FILES = ("FILE", "SCENARIO", "CAPTURE", "STUDY", "RESULT", "A", "B", "PATH")
_FOLDERS = ("DIR", "FOLDER", "SHARD")


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell. The parser reads nothing afterwards: its choices are those that are offered."""
    disciplines = [str(entry["name"]) for entry in catalogue()["disciplines"]]
    transports = [str(entry["name"]) for entry in catalogue()["transports"]]
    names = {"NAME,...": disciplines, "DISCIPLINE": disciplines, "NAME": [*disciplines, *transports]}
    for command in _parsers(parser):
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                # That of `model` takes other words, too.
                action.choices = action._name_parser_map
            else:
                of_library = names if command.prog.split()[-1] in ("list", "compare", "characterize") else {}
                _describe(action, of_library)
    return str(shtab.complete(parser, shell))


def _describe(action: argparse.Action, names: dict[str, list[str]]) -> None:
    metavar = str(action.metavar)
    if action.choices is None and metavar in names:
        action.choices = names[metavar]
    elif metavar in _FILES:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    elif metavar in _FOLDERS:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action._name_parser_map.values():
                yield from _parsers(child)
