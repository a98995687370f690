"""Pages that add to the program: what they show is added to a copy of the checkout, which builds and passes its tests.

A file of its own, since each takes minutes, and the tests of a file run one after the other.
"""

from __future__ import annotations

import re
import shlex
import shutil

import pytest

import pages
from test_docs import PAGES, ROOT, adds_to_the_program


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in PAGES if adds_to_the_program(path)])
def test_what_a_page_adds_to_the_program_passes_its_tests(path, tmp_path):
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    text = path.read_text(encoding="utf-8")
    checkout = pages.Checkout(ROOT, tmp_path)
    for block in pages.blocks(text):
        if block.changes_the_checkout:
            checkout.add(block)
    tests = re.findall(r"^cargo test .*--(?:test|lib)\b.*", text, re.MULTILINE)
    words = shlex.split(next(line for line in tests if "complete::" not in line))
    modules = [word.removesuffix("::") for word in words if word.endswith("::")]
    if modules:
        checkout.keep_tests(words[words.index("--package") + 1], modules)
    status, printed = checkout.cargo(words)
    assert status == 0, printed
    passed = sum(map(int, re.findall(r"(\d+) passed", printed)))
    assert passed >= 2, printed
