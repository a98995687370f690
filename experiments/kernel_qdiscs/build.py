"""Compiles the queue disciplines of Debian's kernel sources for user space, with the comparison around them.

The sources come from the package, whose tarball is unpacked below ``build``; nothing of them is in git.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from experiments import ROOT

HERE = Path(__file__).parent
RELEASE = "6.12"
PACKAGE = f"linux-source-{RELEASE}"
TARBALL = Path(f"/usr/src/{PACKAGE}.tar.xz")
BUILD = ROOT / "build" / "kernel-qdiscs"
ARCHIVE = ROOT / "target" / "c" / "libfairdrop_ffi.a"
DISCIPLINES = ("choke", "red", "sfb", "codel", "fq_codel", "pie", "fq_pie", "cake")
# Headers that hold rules are the kernel's own; kernel.h stands in the place of all others that the sources ask for.
HEADERS = (
    "include/net/red.h", "include/net/codel.h", "include/net/codel_impl.h", "include/net/codel_qdisc.h",
    "include/net/pie.h", "include/linux/reciprocal_div.h", "include/uapi/linux/pkt_sched.h",
)  # fmt: skip
SOURCES = (*(f"net/sched/sch_{name}.c" for name in DISCIPLINES), "lib/math/reciprocal_div.c")
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


def unpacked(of: str) -> Path:
    """The files of the tarball, once for each version: reading it takes some ten seconds."""
    folder = BUILD / of / "source"
    if folder.exists():
        return folder
    wanted = {f"{PACKAGE}/{name}": name for name in (*SOURCES, *HEADERS)}
    new = folder.with_name("source.new")
    with tarfile.open(TARBALL, "r|xz") as tarball:
        for member in tarball:
            name = wanted.pop(member.name.removeprefix("./"), None)
            content = tarball.extractfile(member) if name else None
            if name and content:
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(content.read())
            if not wanted:
                break
    if wanted:
        raise MissingError(f"{TARBALL} has no {', '.join(sorted(wanted))}")
    new.rename(folder)
    return folder


def include_folder(source: Path, folder: Path) -> None:
    """A file for every header that the sources ask for: the kernel's own, or an empty one."""
    asked: set[str] = set()
    for path in source.rglob("*.[ch]"):
        asked |= set(re.findall(r"#include <((?:linux|net)/[^>]+)>", path.read_text(encoding="utf-8")))
    for name in asked:
        if name.removeprefix("linux/") not in USUAL:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("")
    for name in HEADERS:
        to = folder / name.removeprefix("include/").removeprefix("uapi/")
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes((source / name).read_bytes())


def compile_all(of: str) -> Path:
    """The program ``compare``."""
    if not ARCHIVE.exists():
        raise MissingError(f"no {ARCHIVE.relative_to(ROOT)} (make ffi)")
    source, out = unpacked(of), BUILD / of
    include = out / "include"
    include_folder(source, include)
    objects = []
    own = [HERE / "kernel.c", HERE / "compare.c"]
    for path in (*(source / name for name in SOURCES), *own):
        theirs = ("-w", "-include", f"{HERE / 'kernel.h'}", "-include", "linux/pkt_sched.h")
        flags = ("-Wall", "-Wextra") if path in own else theirs
        to = out / f"{path.stem}.o"
        places = [f"-I{folder}" for folder in (include, HERE, ROOT / "crates" / "fairdrop-ffi" / "include")]
        run("-std=gnu11", "-O2", *flags, *places, "-c", path, "-o", to)
        objects.append(to)
    program = out / "compare"
    run(*objects, ARCHIVE, "-lm", "-o", program)
    return program


def run(*arguments: str | Path) -> None:
    """Calls the C compiler."""
    command = [os.environ.get("CC", "cc"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        raise RuntimeError(f"{command[0]} failed on {command[-3]}")
