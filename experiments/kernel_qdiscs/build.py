"""Compiles the queue disciplines of Debian's kernel sources for user space, with the comparison around them.

The sources come from the package, whose tarball is unpacked below ``build``; nothing of them is in git.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

from experiments import ROOT

# The archive is that of the virtual machine of `make qdisc-smoke`.
sys.path.append(str(ROOT / "scripts"))

from qdisc_vm import Apt, Missing

HERE = Path(__file__).parent
RELEASE = "6.12"
PACKAGE = f"linux-source-{RELEASE}"
TARBALL = Path(f"/usr/src/{PACKAGE}.tar.xz")
BUILD = ROOT / "build" / "kernel-qdiscs"
ARCHIVE = ROOT / "target" / "c" / "libfairdrop_ffi.a"
# `sch_dualpi2` came later: this package is of Debian's backports, and is downloaded, not installed.
NEWER = "linux-source-7.3"
NEWER_FILES = ("net/sched/sch_dualpi2.c", "include/uapi/linux/pkt_sched.h")
DISCIPLINES = ("choke", "red", "sfb", "codel", "fq_codel", "pie", "fq_pie", "cake")
# Headers that hold rules are the kernel's own; kernel.h stands in the place of all others that the sources ask for.
HEADERS = (
    "include/net/red.h", "include/net/codel.h", "include/net/codel_impl.h", "include/net/codel_qdisc.h",
    "include/net/pie.h", "include/linux/reciprocal_div.h", "include/uapi/linux/pkt_sched.h",
)  # fmt: skip
SOURCES = (*(f"net/sched/sch_{name}.c" for name in DISCIPLINES), "lib/math/reciprocal_div.c")
# What commit 815980fe6dbb added to codel_dequeue: without it, CoDel is that of kernels before March 2026.
CODEL = "include/net/codel_impl.h"
ADDED = "\tif (!skb) {\n\t\tvars->first_above_time = 0;\n\t\tvars->dropping = false;"
BEFORE = "\tif (!skb) {\n\t\tvars->dropping = false;"
# Those of this machine serve.
USUAL = {"errno.h", "in.h", "in6.h", "ip.h", "ipv6.h", "tcp.h", "types.h", "udp.h"}


class MissingError(Exception):
    """What this machine lacks, and the package that has it."""


def version() -> str:
    """The version of the installed package."""
    if not TARBALL.exists():
        raise MissingError(f"no {TARBALL} (Debian package {PACKAGE})")
    asked = ["dpkg-query", "--show", "--showformat=${Version}", PACKAGE]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingError(f"{TARBALL} is of no installed package {PACKAGE}") from error
    return done.stdout.strip()


def fetch_newer() -> None:
    """Downloads the newer kernel's package, 170 MB, as scripts/qdisc_vm.py does; keeps the files that are compiled."""
    folder = BUILD / "newer"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        apt = Apt()
        apt.run("apt-get", "update")
        apt.run("apt-get", "download", NEWER, folder=folder)
    except Missing as error:
        raise MissingError(str(error)) from error
    package = max(folder.glob(f"{NEWER}_*.deb"), key=lambda path: path.stat().st_mtime)
    of = subprocess.run(["dpkg-deb", "--field", package, "Version"], capture_output=True, text=True, check=True).stdout
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as files:
        with tarfile.open(fileobj=files.stdout, mode="r|") as outer:
            name = f"./usr/src/{NEWER}.tar.xz"
            inner = next(outer.extractfile(member) for member in outer if member.name == name)
            source = folder / of.strip() / "source"
            shutil.rmtree(source, ignore_errors=True)
            with tarfile.open(fileobj=inner, mode="r|xz") as tarball:
                extract(tarball, NEWER, NEWER_FILES, source)
        files.kill()
    package.unlink()


def newer() -> tuple[str, Path] | None:
    """Version and files of the newer kernel, where they were fetched."""
    found = sorted((BUILD / "newer").glob("*/source"), key=lambda path: path.stat().st_mtime)
    return (found[-1].parent.name, found[-1]) if found else None


def unpacked(of: str) -> Path:
    """The files of the tarball, once for each version: reading it takes some ten seconds."""
    folder = BUILD / of / "source"
    if not folder.exists():
        with tarfile.open(TARBALL, "r|xz") as tarball:
            extract(tarball, PACKAGE, (*SOURCES, *HEADERS), folder)
    return folder


def extract(tarball: tarfile.TarFile, package: str, names: Iterable[str], folder: Path) -> None:
    """The files of these names."""
    wanted = {f"{package}/{name}": name for name in names}
    new = folder.with_name("source.new")
    for member in tarball:
        name = wanted.pop(member.name.removeprefix("./"), None)
        content = tarball.extractfile(member) if name else None
        if name and content:
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(content.read())
        if not wanted:
            break
    if wanted:
        raise MissingError(f"the sources have no {', '.join(sorted(wanted))}")
    new.rename(folder)


def include_folder(source: Path, folder: Path) -> None:
    """A file for every header that the sources ask for: the kernel's own, or an empty one."""
    asked: set[str] = set()
    for path in source.rglob("*.[ch]"):
        asked |= set(re.findall(r"#include <((?:linux|net)/[^>]+)>", path.read_text(encoding="utf-8")))
    for name in asked:
        if name.removeprefix("linux/") not in USUAL:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("")
    for name in filter(lambda name: (source / name).exists(), HEADERS):
        to = folder / name.removeprefix("include/").removeprefix("uapi/")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes((source / name).read_bytes())


def compile_all(of: str, older_codel: bool = False) -> Path:
    """The program ``compare``; with the CoDel of kernels before March 2026, on request."""
    if not ARCHIVE.exists():
        raise MissingError(f"no {ARCHIVE.relative_to(ROOT)} (make ffi)")
    source, out = unpacked(of), BUILD / of / ("older" if older_codel else "")
    include = out / "include"
    include_folder(source, include)
    if older_codel:
        header = include / CODEL.removeprefix("include/")
        text = header.read_text(encoding="utf-8")
        if ADDED not in text:
            raise MissingError(f"{CODEL} of {of} has not the change of March 2026")
        header.write_text(text.replace(ADDED, BEFORE), encoding="utf-8")
    objects, own = [], [HERE / "kernel.c", HERE / "compare.c"]
    defined, later = [], newer()
    if later:
        defined = ["-DDUALPI2", f"-I{newer_include(later[1], out)}"]
        objects.append(compile_dualpi2(later[1], out))
    for path in (*(source / name for name in SOURCES), *own):
        theirs = ("-w", "-include", f"{HERE / 'kernel.h'}", "-include", "linux/pkt_sched.h")
        flags = ("-Wall", "-Wextra", *defined) if path in own else theirs
        to = out / f"{path.stem}.o"
        places = [f"-I{folder}" for folder in (include, HERE, ROOT / "crates" / "fairdrop-ffi" / "include")]
        run("-std=gnu11", "-O2", *flags, *places, "-c", path, "-o", to)
        objects.append(to)
    program = out / "compare"
    run(*objects, ARCHIVE, "-lm", "-o", program)
    return program


def newer_include(source: Path, out: Path) -> Path:
    """Headers for the newer kernel's file: its constants, and an empty file for every other."""
    folder = out / "newer"
    include_folder(source, folder)
    return folder


def compile_dualpi2(source: Path, out: Path) -> Path:
    """The object of `sch_dualpi2`."""
    to = out / "sch_dualpi2.o"
    headers = (HERE / "kernel.h", "linux/pkt_sched.h", HERE / "dualpi2.h")
    included = [part for header in headers for part in ("-include", str(header))]
    places = f"-I{newer_include(source, out)}"
    run("-std=gnu11", "-O2", "-w", *included, places, "-c", source / NEWER_FILES[0], "-o", to)
    return to


def run(*arguments: str | Path) -> None:
    """Calls the C compiler."""
    command = [os.environ.get("CC", "cc"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        raise RuntimeError(f"{command[0]} failed on {command[-3]}")
