"""The packages of ``make dist`` in an empty environment, outside the checkout: README's commands work as printed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from stranger import DIST, Stranger

import pages

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# In tables: `fairdrop ...`, whole.
IN_TABLES = [found for found in re.findall(r"^\|.*?`(fairdrop [^`]+)`", README, re.MULTILINE) if "check" not in found]


@pytest.mark.parametrize("command", IN_TABLES)
def test_commands_of_the_tables(stranger: Stranger, command: str) -> None:
    done = stranger.run(command, script=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_commands_that_are_shown_with_their_output(stranger: Stranger) -> None:
    shown = [block for block in pages.blocks(README) if block.language == "console"]
    assert shown
    for block in shown:
        for command, output, _ in pages.commands(block):
            done = stranger.run(command, script=True)
            assert done.returncode == 0, done.stderr
            # As a terminal shows it.
            assert pages.same(output, done.stderr + done.stdout), done.stderr + done.stdout


def test_programs_in_python(stranger: Stranger) -> None:
    """In one session, with a library for data frames, as README says in between."""
    found = pages.blocks(README)
    programs = [block for block in found if block.language == "python"]
    subprocess.run([stranger.bin / "python", "-m", "pip", "install", "--quiet", "pandas", "pyarrow"], check=True)
    done = stranger.run("python", "-c", "\n".join(block.body for block in programs))
    assert done.returncode == 0, done.stderr
    (output,) = (block.output.body for block in programs if block.output)
    assert pages.same(output, done.stdout), done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("fairdrop", "--version"),
        ("fairdrop", "list"),
        ("fairdrop", "schema"),
        ("fairdrop", "conformance", "list"),
        ("fairdrop", "conformance", "run", "--discipline", "choke"),
        ("fairdrop", "new", "scenario", "mine"),
        ("fairdropd", "--version"),
        ("fairdropd", "man"),
        ("fairdropd", "completions", "bash"),
    ],
    ids=" ".join,
)
def test_commands_that_need_no_checkout(stranger: Stranger, words: tuple[str, ...]) -> None:
    done = stranger.run(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr


def test_the_program_is_static(stranger: Stranger) -> None:
    listed = subprocess.run(["ldd", stranger.bin / "fairdropd"], capture_output=True, text=True, check=False)
    assert "statically linked" in listed.stdout or "not a dynamic executable" in listed.stderr


def test_traffic_through_the_installed_program(stranger: Stranger) -> None:
    """A command behind a slow link, with the system calls that musl makes under the filter."""
    gateway = r"$(ip -4 route | sed -n 's/default via \([^ ]*\).*/\1/p')"
    ping = f"ping -c 2 -i 0.2 {gateway}"
    done = stranger.run("fairdropd", "shell", "--down", "10mbit", "--queue", "choke", "--", "sh", "-c", ping)
    if "namespace" in done.stderr or "/dev/net/tun" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert "2 packets transmitted" in done.stdout, done.stdout + done.stderr


def test_auditwheel_and_abi3audit_agree(stranger: Stranger) -> None:
    for path in DIST.glob("fairdrop-*x86_64*.whl"):
        shown = subprocess.run(
            [sys.executable, "-m", "auditwheel", "show", path], capture_output=True, text=True, check=True
        )
        assert "manylinux_2_17_x86_64" in shown.stdout, shown.stdout
        if "abi3" in path.name:
            subprocess.run([Path(sys.executable).parent / "abi3audit", "--strict", path], check=True)


def test_the_programs_for_the_kernel_are_all_there() -> None:
    found = list(DIST.glob("fairdrop-bpf-*.tar.gz"))
    if not found:
        pytest.skip("not built: python scripts/dist.py bpf")
    for path in found:
        with tarfile.open(path) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        programs = {folder.parent.name for folder in (ROOT / "bpf").glob("*/*.bpf.c")}
        assert {f"fairdrop-{program}.bpf.o" for program in programs} <= names
        assert {"LICENSE-GPL-2.0", "LICENSE-BSD-2-Clause"} <= names


def test_the_free_threaded_wheel_has_its_tag() -> None:
    found = list(DIST.glob("fairdrop-*-cp314-cp314t-*.whl"))
    if not found:
        pytest.skip("not built: python scripts/dist.py free-threaded")
    for path in found:
        with zipfile.ZipFile(path) as archive:
            modules = [name for name in archive.namelist() if name.endswith(".so")]
        assert len(modules) == 1 and "cpython-314t" in modules[0], modules
