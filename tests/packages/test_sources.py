"""The source distribution: the whole tree, with its lock, whose tests pass beside the installed package."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest
from stranger import DIST, ROOT, Stranger

from experiments.tracked import tracked

# Those that neither compile nor need more than the package and pytest.
QUICK = ("test_map.py", "test_scenario_errors.py", "test_wording.py")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = DIST.glob("fairdrop-[0-9]*.tar.gz")
    folder = tmp_path_factory.mktemp("sources")
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


def test_they_are_the_tree(tree: Path) -> None:
    assert set(tracked(tree)) - {Path("PKG-INFO")} == set(tracked(ROOT))


def test_the_lock_is_theirs(tree: Path) -> None:
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_their_tests_pass_beside_the_installed_package(stranger: Stranger, tree: Path) -> None:
    stranger.run("python", "-m", "pip", "install", "--quiet", "pytest")
    tests = [tree / "tests" / "python" / name for name in QUICK]
    done = stranger.run("python", "-m", "pytest", "--rootdir", tree, "-c", tree / "pyproject.toml", *tests)
    assert done.returncode == 0, done.stdout + done.stderr
