"""Debian packages (``make dist``).

``fairdropd`` is the static program with its manual page, completions and unit; ``libfairdrop0`` and ``libfairdrop-dev``
are the C library.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import c_library

ROOT = Path(__file__).resolve().parents[1]
# What Rust and Debian call an architecture.
NAMES = {"x86_64": "amd64", "aarch64": "arm64", "riscv64gc": "riscv64"}
# Where Debian has libraries of an architecture.
TRIPLETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
# Where each shell looks for completions.
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/fairdropd",
    "fish": "usr/share/fish/vendor_completions.d/fairdropd.fish",
    "zsh": "usr/share/zsh/vendor-completions/_fairdropd",
}
CONTROL = """\
Package: fairdropd
Version: {version}
Architecture: {architecture}
Maintainer: The fairdrop authors <{mail}>
Installed-Size: {kilobytes}
Section: net
Priority: optional
Description: fair bandwidth for real traffic without a queue per flow
 fairdropd puts a command, two interfaces or a whole scenario behind a queue
 discipline that keeps one greedy sender from starving everyone else: CHOKe
 and its relatives, COLLAR, and rivals from RED to FQ-CoDel and CAKE.
 .
 A link is emulated for a command as an ordinary user, or a transparent
 bridge is put between two interfaces. Decisions are shown live, and exported
 for Prometheus.
"""
# The shared object asks for no newer glibc.
LIBRARY = """\
Package: {name}
Source: fairdrop
Version: {version}
Architecture: {architecture}
Multi-Arch: same
Maintainer: The fairdrop authors <{mail}>
Installed-Size: {kilobytes}
Depends: libc6 (>= 2.17)
Section: libs
Priority: optional
Description: queue disciplines that share a link fairly without a queue per flow
 Routers, firmware and network functions decide with this library which packet
 to drop, mark and send next: by CHOKe and its relatives, COLLAR, and rivals
 from RED to FQ-CoDel and CAKE. It allocates nothing and has no global state.
 .
 This package is what programs run with.
"""
DEVELOPMENT = """\
Package: libfairdrop-dev
Source: fairdrop
Version: {version}
Architecture: {architecture}
Multi-Arch: same
Maintainer: The fairdrop authors <{mail}>
Installed-Size: {kilobytes}
Depends: {runtime} (= {version})
Section: libdevel
Priority: optional
Description: queue disciplines that share a link fairly - development files
 Routers, firmware and network functions decide with this library which packet
 to drop, mark and send next: by CHOKe and its relatives, COLLAR, and rivals
 from RED to FQ-CoDel and CAKE. It allocates nothing and has no global state.
 .
 This package has the headers for C and C++, the archive for programs that are
 linked statically, what pkg-config reads, and examples.
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: fairdrop

Files: *
Copyright: The fairdrop authors
License: Expat or Apache-2.0
{expat}
 .
 The Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0.
"""
# A static program that may be loaded at any address looks like a library that needs none; one file runs on every Linux.
OVERRIDES = """\
fairdropd: shared-library-lacks-prerequisites [usr/bin/fairdropd]
"""


def package(program: Path, speaks: Path, rust_name: str, version: str, time: int, out: Path) -> Path:
    """Build the package of ``program``.

    ``speaks`` is the same program for this machine, which prints the manual page and completions; ``time`` is that of
    the commit, in seconds since 1970.
    """
    contents = files(program, speaks, version, time)
    return build("fairdropd", CONTROL, contents, rust_name, version, time, out)


def library_packages(library: c_library.Library, rust_name: str, version: str, time: int, out: Path) -> Iterator[Path]:
    """Build the packages of the C library: the shared object, and the files to compile programs with."""
    soname = c_library.soname()
    runtime = f"libfairdrop{soname.rpartition('.')[2]}"
    libraries = f"usr/lib/{TRIPLETS[rust_name]}"
    header = (ROOT / "crates/fairdrop-ffi/include/fairdrop.h").read_text(encoding="utf-8")
    functions = sorted(set(re.findall(r"^[\w ]+[ *](fairdrop_\w+)\(", header, re.MULTILINE)))
    lines = "".join(f" {name}@Base {version}\n" for name in functions)
    symbols = f"{soname} {runtime} #MINVER#\n* Build-Depends-Package: libfairdrop-dev\n{lines}"
    links = {f"{libraries}/{name}": to for name, to in c_library.links(library).items()}
    contents = [
        (f"{libraries}/{library.shared.name}", library.shared.read_bytes()),
        *documents(runtime, version, time),
        ("DEBIAN/shlibs", f"libfairdrop {soname.rpartition('.')[2]} {runtime} (>= {version})\n".encode()),
        ("DEBIAN/symbols", symbols.encode()),
        ("DEBIAN/triggers", b"activate-noawait ldconfig\n"),
    ]
    control = LIBRARY.replace("{name}", runtime)
    yield build(
        runtime,
        control,
        contents,
        rust_name,
        version,
        time,
        out,
        {f"{libraries}/{soname}": links[f"{libraries}/{soname}"]},
    )
    described = c_library.description("/usr", "${prefix}/" + libraries.removeprefix("usr/"))
    examples = (ROOT / "crates/fairdrop-ffi/examples").glob("*.c*")
    contents = [
        *((f"usr/include/{path.name}", path.read_bytes()) for path in c_library.HEADERS),
        (f"{libraries}/{library.archive.name}", library.archive.read_bytes()),
        (f"{libraries}/pkgconfig/fairdrop.pc", described.encode()),
        *documents("libfairdrop-dev", version, time),
        *((f"usr/share/doc/libfairdrop-dev/examples/{path.name}", path.read_bytes()) for path in sorted(examples)),
    ]
    name = f"{libraries}/libfairdrop.so"
    control = DEVELOPMENT.replace("{runtime}", runtime)
    yield build("libfairdrop-dev", control, contents, rust_name, version, time, out, {name: links[name]})


def build(
    name: str, control: str, contents: list[tuple[str, bytes]], rust_name: str, version: str, time: int, out: Path,
    links: dict[str, str] | None = None,
) -> Path:  # fmt: skip
    """A package of files and links. What is below ``DEBIAN`` is for the package manager, and not installed."""
    architecture = NAMES[rust_name]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        sums = []
        for place, content in contents:
            write(root / place, content)
            if place.startswith("usr/bin/"):
                (root / place).chmod(0o755)
            if not place.startswith("DEBIAN/"):
                sums.append(f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {place}\n")
        for place, to in (links or {}).items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).symlink_to(to)
        write(root / "DEBIAN" / "md5sums", "".join(sums).encode())
        installed = (path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink())
        kilobytes = sum(-(-path.stat().st_size // 1024) for path in installed)
        fields = {"version": version, "architecture": architecture, "kilobytes": kilobytes, "mail": MAIL}
        write(root / "DEBIAN" / "control", control.format(**fields).encode())
        path = out / f"{name}_{version}_{architecture}.deb"
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(path)]
        environment = {"PATH": PATH, "SOURCE_DATE_EPOCH": str(time)}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return path


# Reserved (RFC 2606): the project has no address yet, and none is invented.
MAIL = "authors@fairdrop.invalid"
PATH = "/usr/bin:/bin"


def files(program: Path, speaks: Path, version: str, time: int) -> list[tuple[str, bytes]]:
    """Places in the package with their contents."""

    def printed(*words: str) -> bytes:
        return subprocess.run([speaks, *words], check=True, capture_output=True).stdout

    return [
        ("usr/bin/fairdropd", program.read_bytes()),
        ("usr/share/man/man1/fairdropd.1.gz", packed(printed("man"))),
        *((place, printed("completions", shell)) for shell, place in COMPLETIONS.items()),
        ("usr/lib/systemd/system/fairdropd@.service", (ROOT / "packaging/fairdropd@.service").read_bytes()),
        *documents("fairdropd", version, time),
        (
            "usr/share/doc/fairdropd/examples/grafana-dashboard.json",
            (ROOT / "packaging/grafana-dashboard.json").read_bytes(),
        ),
        ("usr/share/lintian/overrides/fairdropd", OVERRIDES.encode()),
    ]


def documents(name: str, version: str, time: int) -> list[tuple[str, bytes]]:
    """Licences and changes of a package, where Debian has them."""
    stamp = subprocess.run(["date", "-R", "-u", "-d", f"@{time}"], check=True, capture_output=True, text=True).stdout
    entry = f"{name} ({version}) unstable; urgency=medium\n\n  * Changes are in CHANGELOG.md.gz.\n\n"
    log = f"{entry} -- The fairdrop authors <{MAIL}>  {stamp}"
    expat = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").strip()
    lines = "\n".join(f" {line}" if line.strip() else " ." for line in expat.splitlines())
    place = f"usr/share/doc/{name}"
    return [
        (f"{place}/copyright", COPYRIGHT.format(expat=lines).encode()),
        (f"{place}/changelog.gz", packed(log.encode())),
        (f"{place}/CHANGELOG.md.gz", packed((ROOT / "CHANGELOG.md").read_bytes())),
    ]


def packed(content: bytes) -> bytes:
    """The same bytes whenever it is packed."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def write(path: Path, content: bytes) -> None:
    """Write a file that everybody may read, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)


def is_possible() -> bool:
    """Whether this machine has Debian's own tool."""
    return shutil.which("dpkg-deb") is not None
