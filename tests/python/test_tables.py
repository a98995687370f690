"""Tables on a terminal, and elsewhere."""

from __future__ import annotations

import re

import pytest

from fairdrop.cli.tables import table_text

HEAD = ["discipline", "group", *(f"measure {number}" for number in range(8))]
LINES = [["fq_codel", "tcp", *(f"{number}.123" for number in range(8))], ["red", "udp", *"12345678"]]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("fairdrop.terminal.sys.stdout.isatty", lambda: True, raising=False)
    return lambda columns: monkeypatch.setenv("COLUMNS", str(columns))


@pytest.mark.parametrize("columns", [30, 50, 80, 100, 200])
def test_a_table_is_no_wider_than_the_terminal_and_loses_nothing(terminal, columns):
    terminal(columns)
    text = table_text(HEAD, LINES)
    assert max(map(len, text.splitlines())) <= max(columns, 31)
    for cell in (*HEAD, *LINES[0], *LINES[1]):
        assert cell in text
    blocks = text.split("\n\n")
    assert (len(blocks) == 1) == (columns >= 111)
    assert all(block.splitlines()[1].startswith("fq_codel    tcp") for block in blocks)


def test_what_is_piped_is_one_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert len(table_text(HEAD, LINES).splitlines()) == 3


def test_output_has_no_colours(invoke, headline):
    """Nor anything else that a terminal obeys."""
    for words in (["list"], ["--help"], ["run", headline, "--set", "duration=2s", "--set", "warm_up=1s"], ["rum"]):
        _, out, err = invoke(*words)
        assert not re.search(r"\x1b", out + err)
