"""The Debian package of ``make dist``: unpacked it runs, and Debian's checker finds nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from stranger import DIST

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no dpkg-deb here")


@pytest.fixture(scope="module")
def package() -> Path:
    (found,) = DIST.glob("fairdropd_*_amd64.deb")
    return found


@pytest.fixture(scope="module")
def root(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return folder


def test_the_program_runs_where_it_was_unpacked(root: Path) -> None:
    program = root / "usr" / "bin" / "fairdropd"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, env={})
    assert done.stdout.startswith("fairdropd ")
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    assert "statically linked" in listed.stdout or "not a dynamic executable" in listed.stderr


def test_everything_of_a_package_is_there(root: Path) -> None:
    for place in (
        "usr/lib/systemd/system/fairdropd@.service",
        "usr/share/bash-completion/completions/fairdropd",
        "usr/share/doc/fairdropd/copyright",
        "usr/share/fish/vendor_completions.d/fairdropd.fish",
        "usr/share/man/man1/fairdropd.1.gz",
        "usr/share/zsh/vendor-completions/_fairdropd",
    ):
        assert (root / place).stat().st_size > 0, place
    unit = (root / "usr/lib/systemd/system/fairdropd@.service").read_text(encoding="utf-8")
    for line in unit.splitlines():
        if line.startswith("Exec"):
            assert (root / line.split("=", 1)[1].split()[0].lstrip("/")).is_file()


def test_completions_are_those_of_the_shell(root: Path) -> None:
    script = f"source {root}/usr/share/bash-completion/completions/fairdropd; COMP_WORDS=(fairdropd br); COMP_CWORD=1; "
    script += "_fairdropd fairdropd br fairdropd; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["bridge"]


def test_the_checker_of_debian_finds_nothing(package: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("no lintian here (Debian package)")
    check = ["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", package]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
