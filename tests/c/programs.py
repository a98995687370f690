"""The library as ``make install`` leaves it, and programs over it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "crates" / "fairdrop-ffi"
EXAMPLES = CRATE / "examples"
HEADER = CRATE / "include" / "fairdrop.h"
HERE = Path(__file__).parent
COMPILERS = {".c": (os.environ.get("CC", "cc"), "-std=c99"), ".cpp": (os.environ.get("CXX", "c++"), "-std=c++17")}
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")


def tool(name: str, what: str) -> str:
    """The path of a program; skips the test where it is not there."""
    found = shutil.which(shlex.split(name)[0])
    if found is None:
        pytest.skip(f"no {name} here: {what}")
    return found


class Installed:
    """A library below a folder that stands for the root of a machine."""

    def __init__(self, destdir: Path, prefix: str = "/usr/local", libdir: str = "lib", *options: str) -> None:
        self.destdir, self.prefix = destdir, Path(prefix)
        self.lib = Path(f"{destdir}{self.prefix / libdir}")
        self.include = Path(f"{destdir}{self.prefix / 'include'}")
        words = [f"PREFIX={prefix}", f"LIBDIR={libdir}", f"DESTDIR={destdir}", *options]
        subprocess.run(["make", "--silent", "install", *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    @property
    def environment(self) -> dict[str, str]:
        """Where pkg-config and programs find the library."""
        return os.environ | {
            "PKG_CONFIG_LIBDIR": str(self.lib / "pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": str(self.destdir),
            "LD_LIBRARY_PATH": str(self.lib),
            # Go caches the output of pkg-config for another library unless the flags differ.
            "CGO_CPPFLAGS": f"-I{self.include}",
        }

    def pkg_config(self, *words: str) -> list[str]:
        found = tool("pkg-config", "it says how to link")
        done = subprocess.run(
            [found, *words, "fairdrop"], env=self.environment, capture_output=True, text=True, check=True
        )
        return shlex.split(done.stdout)

    def compile(self, source: Path, program: Path, how: Sequence[str] = ("--cflags", "--libs"), *options: str) -> Path:
        """What a reader does: ``cc SOURCE $(pkg-config --cflags --libs fairdrop) -o PROGRAM``."""
        compiler, standard = COMPILERS[source.suffix]
        tool(compiler, f"{source.name} is not compiled")
        words = [*shlex.split(compiler), standard, *STRICT, *options, source, *self.pkg_config(*how), "-o", program]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return program

    def run(self, program: Path) -> str:
        done = subprocess.run([program], env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
