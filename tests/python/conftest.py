"""What several tests need."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import processes
from fairdrop.cli import main
from fairdrop.extension import registry

# No test may wait for ever: a step of one that takes longer than this fails, in seconds.
LONGEST = 900 if "FAIRDROP_LONG" not in os.environ else 36_000
# Of all that is started here; the processes of xdist inherit it and add theirs.
MARK = f"{os.environ.get(processes.VARIABLE, '')}{os.getpid()};"
NUMBERS = itertools.count()

ROOT = Path(__file__).resolve().parents[2]
# As `make test` builds it.
FAIRDROPD = ROOT / "target" / "debug" / "fairdropd"
# Files that take longest begin first, so that none runs alone at the end.
SLOW = ("test_pages_followed", "test_extension", "test_own_control", "test_docs", "test_reproduce", "test_characterize")


def pytest_configure() -> None:
    os.environ[processes.VARIABLE] = MARK
    if FAIRDROPD.exists():
        os.environ.setdefault("FAIRDROPD", str(FAIRDROPD))
    processes.take_signals()


def pytest_unconfigure() -> None:
    processes.end_all(MARK)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: SLOW.index(item.path.stem) if item.path.stem in SLOW else len(SLOW))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    return (yield from bounded(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    return (yield from bounded(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    return (yield from bounded(item))


def bounded(item: pytest.Item) -> Iterator[None]:
    """Ends a step that takes too long, after the processes that it may be waiting for."""

    def late(*_: object) -> None:
        processes.end_all(os.environ[processes.VARIABLE])
        pytest.fail(f"{item.nodeid} took longer than {LONGEST} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LONGEST, 60)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed and os.environ[processes.VARIABLE] != MARK:
        processes.end_all(os.environ[processes.VARIABLE])
    return report


@pytest.fixture(autouse=True)
def processes_are_marked() -> Iterator[None]:
    """What a test starts is known by its environment, and ended if the test fails."""
    os.environ[processes.VARIABLE] = f"{MARK}{next(NUMBERS)};"
    yield
    os.environ[processes.VARIABLE] = MARK


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
def invoke(capsys, monkeypatch, tmp_path):
    """Runs the command in this process: exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return status, out, err

    return run
