"""What several tests need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairdrop.cli import main
from fairdrop.extension import registry

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def headline() -> Path:
    return ROOT / "scenarios" / "headline.toml"


@pytest.fixture(scope="session")
def captures() -> Path:
    """The folder of real captures beside the checkout."""
    folder = ROOT.parent / "shared" / "data" / "captures"
    if not folder.is_dir():
        pytest.skip("there are no captures beside the checkout (../shared/data/captures)")
    return folder


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    """What a test or a page registers is not there for the next one: it would be part of every scenario."""
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


Runner = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fairdrop(tmp_path: Path) -> Runner:
    """Runs the command as a shell would, in an empty directory."""

    def run(*words: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fairdrop", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=timeout, check=False)

    return run


@pytest.fixture
def tell(capsys, monkeypatch, tmp_path):
    """Runs the command in this process: exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return status, out, err

    return run
