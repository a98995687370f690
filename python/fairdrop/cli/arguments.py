"""How words of a command line are read: whole names of options only, and errors that say what was probably meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from fairdrop.nearest import choices

_NUMBER = re.compile(r"-\d*\.?\d+(e[+-]?\d+)?", re.IGNORECASE)
_PLAIN = {float: "a number", int: "a whole number"}


class Parser(argparse.ArgumentParser):
    """Answers wrong words with the usage of their command, and takes whole names: ``--seed`` is not ``--seeds``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As the base class does, but nothing is left over: what no command takes is an error of this command."""
        words = list(sys.argv[1:] if args is None else args)
        if self._subparsers is None:
            # First: what is missing beside a misspelt option is probably that option.
            self._refuse_unknown_options(words)
        found, left = super().parse_known_args(words, namespace)
        if left:
            self.error(f"unexpected {', '.join(map(repr, left))}; valid: what the usage above shows")
        return found, []

    def show_help(self, _options: argparse.Namespace) -> int:
        """The action of a command that only has commands."""
        self.print_help()
        return 0

    def _refuse_unknown_options(self, words: Sequence[str]) -> None:
        for word in words:
            if word == "--":
                return
            name = word.partition("=")[0]
            is_option = len(word) > 1 and word.startswith("-") and " " not in word and not _NUMBER.fullmatch(word)
            if is_option and name not in self._option_string_actions:
                self._refuse_option(name)

    def _refuse_option(self, name: str) -> NoReturn:
        known = [option for option in self._option_string_actions if option.startswith("--")]
        self.error(f"there is no option {name!r}{choices(name, known)}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        # A path that is empty would be the current folder. Words of a command are looked at by its own parser, and the
        # program that is checked may have such arguments.
        of_others = isinstance(action, argparse._SubParsersAction) or action.dest == "program"
        if not arg_string and not of_others:
            raise argparse.ArgumentError(action, "'' is not valid; valid: a text that is not empty")
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in _PLAIN:
                raise
            problem = f"{arg_string!r} is not valid; valid: {_PLAIN[action.type]}"
            raise argparse.ArgumentError(action, problem) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            problem = f"{value!r} is not valid{choices(value, map(str, action.choices))}"
            raise argparse.ArgumentError(action, problem)


def whole(low: int, high: int) -> Any:
    """The type of an option that is a whole number."""

    def number(text: str) -> int:
        # Nothing is converted that has more digits than the limit.
        if text.isascii() and text.isdigit() and len(text) <= len(str(high)) and low <= int(text) <= high:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not valid; valid: a whole number from {low} to {high}")

    return number
