#!/usr/bin/env python3
"""The library as C programs install it: libfairdrop.a, libfairdrop.so, headers and fairdrop.pc.

    python scripts/c_library.py install --prefix /usr/local [--libdir lib] [--destdir DIR]   (make install)

What rustc makes is an archive of three hundred members: one is the library, the others are the compiler's own helpers,
in a form that other tools may not read. Here that one is taken out, its thousands of sections are joined, and all names
but ``fairdrop_*`` are hidden. The shared object is linked from the same object.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "crates" / "fairdrop-ffi"
HEADERS = (CRATE / "include" / "fairdrop.h", CRATE / "include" / "fairdrop.hpp")
# All that a shared object shows.
EXPORTS = "{ global: fairdrop_*; local: *; };\n"
# What helpers of rustc refer to for panics that unwind. None does in this profile.
PERSONALITY = "void rust_eh_personality(void);\nvoid rust_eh_personality(void) { __builtin_trap(); }\n"
# Of ELF: types of sections, the flag of code, kinds of local symbols: constants with a type or without, whole sections.
SYMBOLS, RELOCATIONS, EXECUTABLE = 2, 4, 4
CONSTANTS, OF_SECTION = (0, 1), 3
# Machines, and their relocations by the address of what they name: of x86-64 and 64-bit Arm.
DIRECT = {62: frozenset({1, 2, 4, 10, 11}), 183: frozenset({257, 258, 260, 261, 275, 277, 278, 284, 285, 286, 299})}
# One section of each kind, in place of one for each function and each constant.
JOIN = """\
SECTIONS {
  .text : { *(.text .text.*) }
  .rodata : { *(.rodata .rodata.*) }
  .data.rel.ro : { *(.data.rel.ro .data.rel.ro.*) }
  .data : { *(.data .data.*) }
  .bss : { *(.bss .bss.*) }
  .eh_frame : { *(.eh_frame) }
}
"""


@dataclass(frozen=True)
class Tools:
    """Commands of a toolchain."""

    linker: tuple[str, ...]
    objcopy: tuple[str, ...]
    archiver: tuple[str, ...]
    # Links shared objects with the C library.
    compiler: tuple[str, ...]
    # Whether the helpers of rustc take the place of the compiler's own.
    helpers_of_rust: bool = False


@dataclass(frozen=True)
class Library:
    """Files of the library."""

    archive: Path
    shared: Path


def native() -> Tools:
    """The tools of this machine: a C compiler and the binutils that come with it."""
    compiler = os.environ.get("CC", "cc")
    return Tools(("ld",), ("objcopy",), ("ar",), tuple(compiler.split()))


def for_any(architecture: str) -> Tools:
    """Tools that need nothing of the machine they run on: linker and objcopy are rustc's, the rest is Zig's.

    The shared object asks for glibc 2.17, as old as that of the Python wheels.
    """
    sysroot = Path(output_of("rustc", "--print", "sysroot"))
    (host,) = re.findall(r"^host: (.*)$", output_of("rustc", "--version", "--verbose"), re.MULTILINE)
    place = sysroot / "lib" / "rustlib" / host / "bin"
    # It is linked with a library of the toolchain, and does not know where that is.
    objcopy = ("env", f"LD_LIBRARY_PATH={sysroot / 'lib'}", str(place / "rust-objcopy"))
    zig = (sys.executable, "-m", "ziglang")
    linked = (*zig, "cc", "-target", f"{architecture}-linux-gnu.2.17")
    # Zig's own helpers have a memcpy, which would be preferred to that of the C library.
    return Tools((str(place / "rust-lld"), "-flavor", "gnu"), objcopy, (*zig, "ar"), linked, helpers_of_rust=True)


def main() -> None:
    """Command line of the script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["build", "install"], help="what to do: build target/c, or install as well")
    parser.add_argument("--prefix", default="/usr/local", help="where the library will be found (/usr/local)")
    parser.add_argument("--libdir", default="lib", help="folder of libraries below the prefix, or a whole path (lib)")
    parser.add_argument("--includedir", default="include", help="folder of headers, likewise (include)")
    parser.add_argument("--destdir", default="", metavar="DIR", help="written below DIR, for packages")
    options = parser.parse_args()
    if not re.fullmatch(r"/\S*", options.prefix):
        parser.error(
            f"--prefix = {options.prefix!r} is not valid: a path from the root without spaces, such as /usr/local"
        )
    for name in ("libdir", "includedir"):
        if ".." in Path(found := getattr(options, name)).parts or re.search(r"\s", found):
            parser.error(f"--{name} = {found!r} is not valid: a folder below the prefix, or a path from the root")
    if sys.platform != "linux":
        sys.exit("c_library: libraries are made for Linux only; valid: make ffi, and link target/c/libfairdrop_ffi.a")
    rust = ROOT / "target" / "c"
    library = build(rust / "libfairdrop_ffi.a", rust / "package", native())
    if options.command == "install":
        prefix = Path(options.prefix)
        for path in install(library, options.destdir, prefix, prefix / options.libdir, prefix / options.includedir):
            print(path)


def build(from_rust: Path, out: Path, tools: Tools) -> Library:
    """Make the archive and the shared object of ``from_rust``, the archive that rustc made."""
    if not from_rust.exists():
        sys.exit(f"c_library: {from_rust} is not there; valid: what `make ffi` builds")
    out.mkdir(parents=True, exist_ok=True)
    library = Library(out / "libfairdrop.a", out / f"libfairdrop.so.{version()}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "rust.o").write_bytes(own_member(from_rust.read_bytes()))
        (place / "join.ld").write_text(JOIN, encoding="utf-8")
        run([*tools.linker, "-r", "-T", "join.ld", "-o", "joined.o", "rust.o"], place)
        by_section = by_sections((place / "joined.o").read_bytes())
        (place / "joined.o").write_bytes(by_section)
        hide = ["--wildcard", "--keep-global-symbol=fairdrop_*", "--strip-unneeded"]
        run([*tools.objcopy, *hide, "--remove-section=.comment", "joined.o", "shared.o"], place)
        # Nothing unwinds through it, since a panic aborts; the shared object keeps the tables for debuggers.
        run([*tools.objcopy, "--remove-section=.eh_frame", "shared.o", "fairdrop.o"], place)
        # D: no times and no users in it.
        run([*tools.archiver, "rcsD", "libfairdrop.a", "fairdrop.o"], place)
        # All names are found when a program starts, and their addresses are then read-only.
        settled = "-Wl,-z,defs,-z,relro,-z,now,--gc-sections,--version-script=exports"
        options = ["-shared", "-nostartfiles", f"-Wl,-soname,{soname()}", settled]
        (place / "exports").write_text(EXPORTS, encoding="utf-8")
        helpers = []
        if tools.helpers_of_rust:
            (place / "personality.c").write_text(PERSONALITY, encoding="utf-8")
            helpers = [
                "-nodefaultlibs",
                "-O2",
                "-Wno-unused-command-line-argument",
                "personality.c",
                str(from_rust.resolve()),
            ]
        run([*tools.compiler, *options, "-o", "linked.so", "shared.o", "-lc", *helpers], place)
        run([*tools.objcopy, "--strip-all", "--remove-section=.comment", "linked.so", library.shared.name], place)
        for path in (library.archive, library.shared):
            shutil.move(place / path.name, path)
    return library


def own_member(archive: bytes) -> bytes:
    """The member of an archive that defines the interface; all others are helpers that it may call."""
    found = [(name, content) for name, content in members(archive) if re.match(r"fairdrop_ffi[-.]", name)]
    if len(found) != 1:
        names = ", ".join(name for name, _ in found) or "none"
        sys.exit(
            f"c_library: the archive has {names} as members of its own; valid: one (profile c has one unit of code)"
        )
    return found[0][1]


def members(archive: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of an archive in the format of System V and GNU."""
    found, long_names, at = [], b"", 8
    while at + 60 <= len(archive):
        name, size = archive[at : at + 16].decode().rstrip(), int(archive[at + 48 : at + 58])
        content = archive[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
        if name == "//":
            long_names = content
        elif re.fullmatch(r"/\d+", name):
            start = int(name[1:])
            found.append((long_names[start : long_names.index(b"/\n", start)].decode(), content))
        elif name not in ("/", "/SYM64/"):
            found.append((name.rstrip("/"), content))
    return found


def by_sections(elf: bytes) -> bytes:
    """The same 64-bit object, whose relocations name a section and a place in it instead of a local constant.

    The constants then need no symbols, which are 4 % of the archive. Relocations by way of a table of addresses stay.
    """
    direct = DIRECT.get(struct.unpack_from("<H", elf, 18)[0], frozenset())
    sections_at, size, count = *struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<HH", elf, 58)
    # Of each section: type, flags, place and length.
    sections = [struct.unpack_from("<4xIQ8xQQ", elf, sections_at + size * number) for number in range(count)]
    _, _, symbols_at, length = next(section for section in sections if section[0] == SYMBOLS)
    symbols = [struct.unpack_from("<4xBxHQ8x", elf, at) for at in range(symbols_at, symbols_at + length, 24)]
    whole = {section: number for number, (kind, section, _) in enumerate(symbols) if kind == OF_SECTION}
    changed = bytearray(elf)
    for _, _, start, length in (section for section in sections if section[0] == RELOCATIONS):
        for at in range(start, start + length, 24):
            relocation, number, addend = struct.unpack_from("<IIq", elf, at + 8)
            kind, section, value = symbols[number]
            is_constant = kind in CONSTANTS and section in whole and not sections[section][1] & EXECUTABLE
            if relocation in direct and is_constant:
                struct.pack_into("<IIq", changed, at + 8, relocation, whole[section], addend + value)
    return bytes(changed)


def install(library: Library, destdir: str, prefix: Path, libdir: Path, includedir: Path) -> list[Path]:
    """Copy everything below ``destdir``; returns what was written."""
    files = {libdir / library.archive.name: library.archive, libdir / library.shared.name: library.shared}
    files |= {includedir / header.name: header for header in HEADERS}
    written = []
    for place, source in files.items():
        path = Path(f"{destdir}{place}")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Programs that run keep the file that they have open.
        path.unlink(missing_ok=True)
        shutil.copyfile(source, path)
        path.chmod(0o644)
        written.append(path)
    for name, target in links(library).items():
        path = Path(f"{destdir}{libdir / name}")
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        written.append(path)
    path = Path(f"{destdir}{libdir / 'pkgconfig' / 'fairdrop.pc'}")
    path.parent.mkdir(exist_ok=True)
    path.write_text(description(str(prefix), below(libdir, prefix), below(includedir, prefix)), encoding="utf-8")
    path.chmod(0o644)
    return [*written, path]


def links(library: Library) -> dict[str, str]:
    """Names under which the shared object is found: by programs that run, and by the linker."""
    return {soname(): library.shared.name, "libfairdrop.so": soname()}


def description(prefix: str, libdir: str = "${prefix}/lib", includedir: str = "${prefix}/include") -> str:
    """What pkg-config reads."""
    template = (ROOT / "packaging" / "fairdrop.pc.in").read_text(encoding="utf-8")
    values = {"prefix": prefix, "libdir": libdir, "includedir": includedir, "version": version()}
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], template)


def below(path: Path, prefix: Path) -> str:
    """A path as fairdrop.pc says it."""
    return f"${{prefix}}/{path.relative_to(prefix)}" if path.is_relative_to(prefix) else str(path)


def version() -> str:
    """The version of the workspace."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def soname() -> str:
    """Name that programs ask for: the major version, within which they keep running (docs/reference/c-abi.md)."""
    return f"libfairdrop.so.{version().partition('.')[0]}"


def output_of(*command: str) -> str:
    """Standard output of a command, stripped."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run(command: list[str], place: Path) -> None:
    """Run a tool in a folder; ends the program if it fails."""
    try:
        done = subprocess.run(command, cwd=place, check=False)
    except FileNotFoundError:
        sys.exit(f"c_library: {command[0]} is not there; valid: a C compiler and binutils (CC names the compiler)")
    if done.returncode:
        sys.exit(f"c_library: {' '.join(command)} failed ({done.returncode})")


if __name__ == "__main__":
    main()
