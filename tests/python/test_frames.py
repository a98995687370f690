"""Data frames in environments that hold just one library of frames, or none."""

from __future__ import annotations

import json

import pandas
import pytest

import fairdrop
from installed import Installed, Interpreter, requirements_of

RESULT = """
import json, fairdrop
result = fairdrop.load({path!r}, ["duration=2s", "warm_up=1s"]).compare(["red", "choke"])
"""
KINDS = "print(json.dumps([[str(kind) for kind in {frame}.dtypes], list({frame}.columns), len({frame})]))"
ERROR = """
try:
    result.groups.{method}()
except ImportError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def bare(root, headline, tmp_path_factory):
    """What ``pip install .`` installs, and a result in it."""
    folder = tmp_path_factory.mktemp("bare")
    installed = Installed(root, folder / ".venv")
    with Interpreter(installed, folder) as python:
        printed, failed = python.run(RESULT.format(path=str(headline)))
        assert (printed, failed) == ("", None)
        yield installed, python


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow", "xarray"])
def test_a_library_that_is_not_installed_is_named(bare, package):
    method = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow", "xarray": "to_xarray"}[package]
    _, python = bare
    assert python.run(ERROR.format(method=method)) == (
        f"this needs {package}, which is not installed; to install it: pip install {package}\n",
        None,
    )


def test_tables_are_of_use_without_a_library_of_frames(bare):
    _, python = bare
    program = "print(result.groups['share'].shape, len(result.groups.rows())); result.report('r.html')"
    assert python.run(program) == ("(4,) 4\n", None)


def test_pandas_alone_gives_what_pandas_and_pyarrow_give(root, headline, tmp_path):
    installed = Installed(root, tmp_path / ".venv")
    installed.install("pandas")
    expected = fairdrop.load(headline, ["duration=2s", "warm_up=1s"]).compare(["red", "choke"])
    with Interpreter(installed, tmp_path) as python:
        assert python.run(RESULT.format(path=str(headline))) == ("", None)
        _, missing = python.run("import pyarrow")
        assert missing is not None and "No module named 'pyarrow'" in missing
        # The last of them is empty.
        for name in ("runs", "groups", "series", "transfers"):
            table = getattr(expected, name)
            printed, failed = python.run(KINDS.format(frame=f"result.{name}.to_pandas()"))
            assert failed is None, failed
            with_pyarrow = table.to_arrow().to_pandas()
            kinds, columns, rows = json.loads(printed)
            assert (kinds, columns, rows) == ([str(kind) for kind in with_pyarrow.dtypes], table.columns, len(table))
            pandas.testing.assert_frame_equal(table.to_pandas(), with_pyarrow)


def test_polars_alone_reads_the_arrow_interface(root, headline, tmp_path):
    installed = Installed(root, tmp_path / ".venv")
    installed.install("polars")
    with Interpreter(installed, tmp_path) as python:
        assert python.run(RESULT.format(path=str(headline))) == ("", None)
        printed, failed = python.run(KINDS.format(frame="result.groups.to_polars()"))
    assert failed is None, failed
    table = fairdrop.load(headline, ["duration=2s", "warm_up=1s"]).compare(["red", "choke"]).groups
    frame = table.to_polars()
    assert json.loads(printed) == [[str(kind) for kind in frame.dtypes], frame.columns, len(frame)]


def test_the_command_that_installs_is_read_from_a_page():
    script = "make demo\n.venv/bin/pip install 'fairdrop[frames]' polars  # three\npip install -q .\npip list\n"
    assert requirements_of(script) == ["fairdrop[frames]", "polars", "."]
