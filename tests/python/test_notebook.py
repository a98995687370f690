"""Notebooks run, and print what they show: "invent a discipline", and the lecture with its solutions in Jupyter.

``FAIRDROP_WRITE_DOCS=1`` writes their outputs anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

NAME = "invent-a-discipline.ipynb"
MARK = "--- end of cell ---"


@pytest.fixture(scope="module")
def notebook(root):
    path = root / "docs" / "background" / NAME
    return path, json.loads(path.read_text(encoding="utf-8"))


def code(found):
    return [cell for cell in found["cells"] if cell["cell_type"] == "code"]


def compare(path, found, texts):
    """The notebook shows the output of its cells, or the output is written into it."""
    outputs = [
        [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []
        for text in texts
    ]
    if "FAIRDROP_WRITE_DOCS" in os.environ:
        for number, (cell, output) in enumerate(zip(code(found), outputs, strict=True), 1):
            cell["outputs"], cell["execution_count"] = output, number
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for cell, output in zip(code(found), outputs, strict=True):
        assert cell["outputs"] == output


def test_every_cell_prints_what_it_shows(root, notebook, tmp_path):
    path, found = notebook
    (tmp_path / "scenarios").symlink_to(root / "scenarios")
    program = f"print({MARK!r})\n".join("".join(cell["source"]) + "\n" for cell in code(found))
    (tmp_path / "cells.py").write_text(program, encoding="utf-8")
    environment = os.environ | {"PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "cells.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = [text.lstrip("\n") for text in done.stdout.split(f"{MARK}\n")]
    assert len(printed) == len(code(found))
    compare(path, found, printed)


def test_it_is_executed_small_and_anonymous(notebook):
    path, found = notebook
    text = path.read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert [cell["execution_count"] for cell in code(found)] == list(range(1, len(code(found)) + 1))
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", text)


# The lecture and its solutions


@pytest.fixture(scope="module", params=["lecture", "solutions"])
def taught(root, request):
    path = root / "docs" / "teach" / f"{request.param}.ipynb"
    return path, json.loads(path.read_text(encoding="utf-8"))


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def test_jupyter_prints_what_the_lecture_shows(taught, tmp_path):
    path, found = taught
    document = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(document, timeout=600, kernel_name="python3", resources=where).execute()  # raises where a cell does
    cells = [cell for cell in document.cells if cell.cell_type == "code"]
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type == "stream" or "image/svg+xml" in output.data
    compare(path, found, map(printed, cells))


def test_the_lecture_is_executed_small_and_anonymous(taught):
    path, found = taught
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 60_000
    assert [cell["execution_count"] for cell in code(found)] == list(range(1, len(code(found)) + 1))
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", text)


def test_each_exercise_has_a_solution_that_asserts(root):
    folder = root / "docs" / "teach"
    lecture = json.loads((folder / "lecture.ipynb").read_text(encoding="utf-8"))
    solutions = json.loads((folder / "solutions.ipynb").read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in lecture["cells"] if cell["cell_type"] == "markdown")
    asked = re.findall(r"\*\*Exercise (\d\.\d)\*\*", text)
    assert {number[0] for number in asked} == set(re.findall(r"(?m)^## (\d)\. ", text))
    cells = solutions["cells"]
    solved = [(number, re.match(r"## Exercise (\d\.\d)\n", cell["source"][0])) for number, cell in enumerate(cells)]
    solved = [(number, match[1]) for number, match in solved if match]
    assert [name for _, name in solved] == asked
    for number, _ in solved:
        assert re.search(r"(?m)^ *assert ", "".join(cells[number + 1]["source"]))
    plan = (folder / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d\.\d) ★", plan) == asked


def test_the_lecture_names_panels_that_the_playground_has(root, taught):
    text = "".join("".join(cell["source"]) for cell in taught[1]["cells"])
    page = (root / "playground" / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r"`#([\w-]+)`", text)) <= set(re.findall(r'<section[^>]* id="([\w-]+)"', page))
