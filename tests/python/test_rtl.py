"""Tables about the cores in hardware are those of the stored results, and wrong forms are still forms of the cores."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def modules(root, monkeypatch):
    for folder in ("test", "cost", "formal"):
        monkeypatch.syspath_prepend(str(root / "rtl" / folder))
    yield
    for name in ("broken", "collar", "cost", "prove", "random_packets", "registers", "vectors"):
        sys.modules.pop(name, None)


def test_tables_are_those_of_the_results(root, modules):
    import cost

    page = (root / "docs" / "reference" / "hardware.md").read_text(encoding="utf-8")
    results = json.loads((root / "rtl" / "cost" / "results.json").read_text(encoding="utf-8"))
    assert cost.written(page, results) == page, "rtl/cost/cost.py --page writes them anew"
    assert {"red", "choke", "drr"} <= set(results["designs"])


def test_wrong_forms_differ_from_the_cores(root, modules):
    import broken

    for what, _, file, right, wrong in broken.FORMS:
        assert (root / "rtl" / file).read_text(encoding="utf-8").count(right) == 1, what
        assert right != wrong, what


def test_forms_that_are_not_proved_differ_from_the_core(root, modules):
    import prove

    core = prove.CORE.read_text(encoding="utf-8")
    for what, right, wrong in prove.FORMS:
        assert core.count(right) == 1, what
        assert right != wrong, what


def test_parameters_of_the_p4_program_are_those_of_its_page(root):
    text = (root / "p4" / "choke.p4").read_text(encoding="utf-8")
    signature = re.search(r"action set_parameters\(([^)]*)\)", text)[1]
    declared = {name: int(bits) for bits, name in re.findall(r"bit<(\d+)> (\w+)", signature)}
    page = (root / "p4" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| (\d+) \|", page, re.MULTILINE)
    assert declared == {name: int(bits) for names, bits in rows for name in re.findall(r"\w+", names)}
    given = re.search(r"set_parameters (.*)\",", (root / "p4" / "shares.py").read_text(encoding="utf-8"))[1]
    assert len(given.replace("{300 << 32}", "0").split()) == len(declared)


@pytest.mark.skipif(not shutil.which("p4c-bm2-ss"), reason="p4c-bm2-ss is not installed: `make p4` needs it")
def test_p4_programs_compile(root):
    subprocess.run([sys.executable, root / "p4" / "check.py"], check=True)
