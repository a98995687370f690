"""The Debian package of fairdropd: the static program, its manual page, completions and unit (``make dist``)."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What Rust and Debian call an architecture.
NAMES = {"x86_64": "amd64", "aarch64": "arm64", "riscv64gc": "riscv64"}
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
    architecture = NAMES[rust_name]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        sums = []
        for place, content in files(program, speaks, version, time):
            write(root / place, content)
            sums.append(f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {place}\n")
        write(root / "DEBIAN" / "md5sums", "".join(sums).encode())
        (root / "usr/bin/fairdropd").chmod(0o755)
        installed = (path for path in (root / "usr").rglob("*") if path.is_file())
        kilobytes = sum(-(-path.stat().st_size // 1024) for path in installed)
        fields = {"version": version, "architecture": architecture, "kilobytes": kilobytes, "mail": MAIL}
        write(root / "DEBIAN" / "control", CONTROL.format(**fields).encode())
        path = out / f"fairdropd_{version}_{architecture}.deb"
        build = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(path)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL, env={"PATH": PATH, "SOURCE_DATE_EPOCH": str(time)})
    return path


# Reserved (RFC 2606): the project has no address yet, and none is invented.
MAIL = "authors@fairdrop.invalid"
PATH = "/usr/bin:/bin"


def files(program: Path, speaks: Path, version: str, time: int) -> list[tuple[str, bytes]]:
    """Places in the package with their contents."""

    def printed(*words: str) -> bytes:
        return subprocess.run([speaks, *words], check=True, capture_output=True).stdout

    stamp = subprocess.run(["date", "-R", "-u", "-d", f"@{time}"], check=True, capture_output=True, text=True).stdout
    entry = f"fairdropd ({version}) unstable; urgency=medium\n\n  * Changes are in CHANGELOG.md.gz.\n\n"
    log = f"{entry} -- The fairdrop authors <{MAIL}>  {stamp}"
    expat = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").strip()
    lines = "\n".join(f" {line}" if line.strip() else " ." for line in expat.splitlines())
    documents = "usr/share/doc/fairdropd"
    return [
        ("usr/bin/fairdropd", program.read_bytes()),
        ("usr/share/man/man1/fairdropd.1.gz", packed(printed("man"))),
        *((place, printed("completions", shell)) for shell, place in COMPLETIONS.items()),
        ("usr/lib/systemd/system/fairdropd@.service", (ROOT / "packaging/fairdropd@.service").read_bytes()),
        (f"{documents}/copyright", COPYRIGHT.format(expat=lines).encode()),
        (f"{documents}/changelog.gz", packed(log.encode())),
        (f"{documents}/CHANGELOG.md.gz", packed((ROOT / "CHANGELOG.md").read_bytes())),
        (f"{documents}/examples/grafana-dashboard.json", (ROOT / "packaging/grafana-dashboard.json").read_bytes()),
        ("usr/share/lintian/overrides/fairdropd", OVERRIDES.encode()),
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
