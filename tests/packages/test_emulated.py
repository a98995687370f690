"""Packages for other architectures, under emulation (Debian's qemu-user): they run, and give the same answers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stranger import DIST, ROOT, Stranger

VERDICT = "import fairdrop; print(fairdrop.load('headline').compare(['red', 'choke']).verdict)"


def emulator(machine: str) -> str:
    """The program of qemu-user for a machine; skips where there is none."""
    found = shutil.which(f"qemu-{machine}")
    if found is None:
        pytest.skip(f"no qemu-{machine} here (Debian package qemu-user)")
    return found


def only(pattern: str) -> Path:
    """The one package of such a name; skips where it was not built."""
    found = list(DIST.glob(pattern))
    if not found:
        pytest.skip(f"{pattern} was not built: python scripts/dist.py")
    (path,) = found
    return path


@pytest.mark.parametrize(("architecture", "machine"), [("aarch64", "aarch64"), ("riscv64gc", "riscv64")])
def test_the_program_answers(architecture: str, machine: str) -> None:
    program = only(f"fairdropd-*-linux-{architecture}")
    native = only("fairdropd-*-linux-x86_64")
    for words in (["--version"], ["man"], ["completions", "zsh"]):
        done = subprocess.run([emulator(machine), program, *words], capture_output=True, check=True)
        assert done.stdout == subprocess.run([native, *words], capture_output=True, check=True).stdout


def test_the_wheel_for_64_bit_arm_gives_the_same_verdict(stranger: Stranger, tmp_path: Path) -> None:
    wheel = only("fairdrop-*-abi3-*aarch64*.whl")
    machine = emulator("aarch64")
    root = tmp_path / "root"
    made = subprocess.run([ROOT / "scripts" / "arm64_python.sh", root], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no Python for arm64 here: {made.stderr.strip()}")
    python = made.stdout.strip().splitlines()[-1]
    version = Path(python).name.removeprefix("python")
    platforms = [f"manylinux{kind}_aarch64" for kind in ("2014", "_2_17", "_2_27", "_2_28")]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--python-version", version]
    packages = tmp_path / "packages"
    subprocess.run([*install, *(f"--platform={each}" for each in platforms), "--target", packages, wheel], check=True)
    command = [machine, "-L", root, "-E", f"PYTHONPATH={packages}", "-E", f"HOME={tmp_path}", python, "-c", VERDICT]
    emulated = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=True)
    native = stranger.run("python", "-c", VERDICT)
    assert emulated.stdout == native.stdout != ""
