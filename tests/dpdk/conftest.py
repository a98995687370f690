from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "target" / "c" / "libfairdrop_ffi.a"


@pytest.fixture(scope="session")
def forward() -> Path:
    """The forwarder, built with warnings as errors."""
    if (
        shutil.which("pkg-config") is None
        or subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode
    ):
        pytest.skip("pkg-config finds no libdpdk here (Debian package libdpdk-dev)")
    assert LIBRARY.exists(), f"{LIBRARY} is not there; make ffi builds it"
    command = ["make", "-C", ROOT / "examples" / "dpdk", "CFLAGS=-O3 -g -Werror"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "examples" / "dpdk" / "build" / "forward"
