from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "bpf"


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


def make(target: str, **variables: str) -> None:
    """Builds below build/bpf; warnings are errors there."""
    arguments = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        ["make", "-C", ROOT / "bpf", target, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def native() -> Path:
    """The folder with the cores built for this machine."""
    make("native")
    return OUT


@pytest.fixture(scope="session")
def objects() -> Path:
    """The folder with the objects for the kernel."""
    if not any(shutil.which(name) for name in ("clang-16", "clang-17", "clang-18", "clang-19", "clang")):
        pytest.skip("there is no clang here (Debian packages clang-16, libbpf-dev)")
    if not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("there are no headers of libbpf here (Debian package libbpf-dev)")
    make("objects")
    return OUT
