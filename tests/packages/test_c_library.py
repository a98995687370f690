"""The C library of ``make dist``: unpacked anywhere, and from its Debian packages, programs build with it and run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from stranger import DIST, ROOT

EXAMPLE = ROOT / "crates" / "fairdrop-ffi" / "examples" / "queue.c"
SHOWN = "25000 arrived, 12500 departed, 12462 dropped\n"
NAME = re.compile(r"libfairdrop-[\d.]+-linux-(\w+)\.tar\.gz")


def only(pattern: str) -> Path:
    """The one package of such a name; skips where it was not built."""
    found = list(DIST.glob(pattern))
    if not found:
        pytest.skip(f"{pattern} was not built: python scripts/dist.py c")
    (path,) = found
    return path


def linking(environment: dict[str, str], *words: str) -> list[str]:
    """What pkg-config says."""
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config here")
    command = ["pkg-config", *words, "--cflags", "--libs", "fairdrop"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return shlex.split(done.stdout)


def printed(*words: str | Path, **environment: str) -> str:
    done = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def unpacked(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The folder of an architecture, in a place that nobody knew of when it was built."""
    with tarfile.open(only(f"libfairdrop-*-linux-{request.param}.tar.gz")) as archive:
        archive.extractall(tmp_path / "somewhere", filter="data")
    (folder,) = (tmp_path / "somewhere").iterdir()
    return folder


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_an_archive_says_nothing_of_who_packed_it(architecture: str) -> None:
    path = only(f"libfairdrop-*-linux-{architecture}.tar.gz")
    assert NAME.fullmatch(path.name)
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    assert {(each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, "", "")}
    assert len({each.mtime for each in members}) == 1
    names = [each.name.partition("/")[2] for each in members]
    assert names == sorted(names)
    expected = {"LICENSE-APACHE", "LICENSE-MIT", "include/fairdrop.h", "include/fairdrop.hpp", "lib/libfairdrop.a"}
    assert expected | {"lib/libfairdrop.so", "lib/pkgconfig/fairdrop.pc"} <= set(names)
    assert max(each.size for each in members) < 1_000_000


@pytest.mark.parametrize("unpacked", ["x86_64"], indirect=True)
def test_a_program_builds_with_it_wherever_it_is(unpacked: Path, tmp_path: Path) -> None:
    found = {"PKG_CONFIG_PATH": str(unpacked / "lib" / "pkgconfig")}
    printed("cc", EXAMPLE, *linking(found), "-o", tmp_path / "shared")
    assert printed(tmp_path / "shared", LD_LIBRARY_PATH=str(unpacked / "lib")) == SHOWN
    printed("cc", "-static", EXAMPLE, *linking(found, "--static"), "-o", tmp_path / "static")
    assert printed(tmp_path / "static") == SHOWN


@pytest.mark.parametrize("unpacked", ["x86_64", "aarch64"], indirect=True)
def test_the_shared_object_asks_for_an_old_c_library(unpacked: Path) -> None:
    listed = printed("readelf", "--version-info", "--dynamic", "--wide", unpacked / "lib" / "libfairdrop.so")
    asked = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", listed)}
    assert asked and max(asked) <= (2, 17)
    assert re.findall(r"NEEDED.*\[(.*)\]", listed) == ["libc.so.6"]


@pytest.mark.parametrize("unpacked", ["aarch64"], indirect=True)
def test_programs_for_64_bit_arm_run_emulated(unpacked: Path, tmp_path: Path) -> None:
    """Zig links them: statically with musl, and with the shared object for Debian's glibc."""
    machine = shutil.which("qemu-aarch64")
    if machine is None:
        pytest.skip("no qemu-aarch64 here (Debian package qemu-user)")
    words = [EXAMPLE, *linking({"PKG_CONFIG_PATH": str(unpacked / "lib" / "pkgconfig")}), "-o"]
    zig = [sys.executable, "-m", "ziglang", "cc", "-target"]
    printed(*zig, "aarch64-linux-musl", "-static", *words, tmp_path / "static")
    assert printed(machine, tmp_path / "static") == SHOWN
    printed(*zig, "aarch64-linux-gnu.2.28", *words, tmp_path / "shared")
    root = tmp_path / "root"
    made = subprocess.run([ROOT / "scripts" / "arm64_python.sh", root], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no glibc for arm64 here: {made.stderr.strip()}")
    path = f"LD_LIBRARY_PATH={unpacked / 'lib'}"
    assert printed(machine, "-L", root, "-E", path, tmp_path / "shared") == SHOWN


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the Debian packages are unpacked."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("no dpkg-deb here")
    for pattern in ("libfairdrop?_*_amd64.deb", "libfairdrop-dev_*_amd64.deb"):
        subprocess.run(["dpkg-deb", "--extract", only(pattern), tmp_path / "root"], check=True)
    return tmp_path / "root"


def test_a_program_builds_with_the_debian_packages(root: Path, tmp_path: Path) -> None:
    place = root / "usr/lib/x86_64-linux-gnu"
    found = {"PKG_CONFIG_LIBDIR": str(place / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    # A path of the system is left out of what pkg-config says; below a root it is not the system's.
    options = [f"-I{root}/usr/include", f"-L{place}", *linking(found)]
    printed("cc", EXAMPLE, *options, "-o", tmp_path / "shared")
    assert printed(tmp_path / "shared", LD_LIBRARY_PATH=str(place)) == SHOWN
    printed("cc", "-static", EXAMPLE, *options, "-o", tmp_path / "static")
    assert printed(tmp_path / "static") == SHOWN
    assert (root / "usr/share/doc/libfairdrop-dev/examples/queue.c").read_bytes() == EXAMPLE.read_bytes()


def test_the_debian_package_lists_what_it_shows(root: Path) -> None:
    (library,) = (root / "usr/lib/x86_64-linux-gnu").glob("libfairdrop.so.*.*.*")
    shown = {line.split()[-1] for line in printed("nm", "-D", "--defined-only", library).splitlines() if " T " in line}
    package = only("libfairdrop?_*_amd64.deb")
    listed = printed("dpkg-deb", "--info", package, "symbols")
    assert set(re.findall(r"^ (\w+)@Base", listed, re.MULTILINE)) == shown
    name = package.name.partition("_")[0]
    assert listed.splitlines()[0] == f"libfairdrop.so.{name[-1]} {name} #MINVER#"
    assert printed("dpkg-deb", "--info", package, "shlibs").startswith(f"libfairdrop {name[-1]} {name} (>= ")


@pytest.mark.parametrize("pattern", ["libfairdrop?_*.deb", "libfairdrop-dev_*.deb"])
def test_the_checker_of_debian_finds_nothing(pattern: str) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("no lintian here (Debian package)")
    packages = sorted(DIST.glob(pattern))
    if not packages:
        pytest.skip(f"{pattern} was not built: python scripts/dist.py c")
    check = ["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *packages]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
