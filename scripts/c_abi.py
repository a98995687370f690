#!/usr/bin/env python3
"""Compare the C interface with that of the last release, and name what breaks programs that were compiled with it.

    python scripts/c_abi.py            is fairdrop.h the interface of crates/fairdrop-ffi/interface.txt, and compatible?
    python scripts/c_abi.py --write    write interface.txt anew, where nothing breaks (make c-abi)

``interface.txt`` lists functions with their types, structures with the place of each member on 64-bit machines, values
of enumerations and constants. The header is compared with the one of the last tag ``v*``; while there is no release,
with the one of the tree. The rules are on docs/reference/c-abi.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import c_library
from pycparser import CParser, c_ast

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "crates" / "fairdrop-ffi" / "include" / "fairdrop.h"
LISTING = ROOT / "crates" / "fairdrop-ffi" / "interface.txt"
HEAD = """\
# The C interface, as scripts/c_abi.py compares it; `make c-abi` writes it. Bytes are those of 64-bit machines.
"""
# Bytes of types on x86-64 and 64-bit Arm, which agree. Each is aligned to its size.
BYTES = {"_Bool": 1, "char": 1, "double": 8, "int": 4, "size_t": 8} | {
    f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
# What system headers have to say of them; their own text is of no concern.
SYSTEM = {
    "stdbool.h": "#define bool _Bool\n",
    "stddef.h": "typedef unsigned long size_t;\n",
    "stdint.h": "".join(f"typedef int {name};\n" for name in BYTES if name.endswith("_t") and name != "size_t"),
}
VERSION = "constant FAIRDROP_ABI_VERSION"
SONAME = "soname libfairdrop"
# Structures that begin with the version that they are of: they may grow at their ends when it rises.
VERSIONED = dict.fromkeys(("fairdrop_plugin", "fairdrop_plugin_host"), "constant FAIRDROP_PLUGIN_VERSION")
# May be other ones in each version; programs compare the versions when they run, and pass the bytes on.
FREE = {VERSION, SONAME, *VERSIONED.values()}

# A line of the listing: the name, and its declaration.
Interface = dict[str, str]


def main() -> None:
    """Command line of the script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write interface.txt anew, where nothing breaks")
    write = parser.parse_args().write
    interface = interface_of(HEADER.read_text(encoding="utf-8")) | {SONAME: c_library.soname()}
    stored = parsed(LISTING.read_text(encoding="utf-8")) if LISTING.exists() else interface
    name, released = last_release()
    if broken := problems(released or stored, interface, is_released=released is not None):
        sys.exit("\n".join(f"c_abi: {problem}" for problem in (*broken, advice(name, released is not None))))
    if write:
        LISTING.write_text(HEAD + listed(interface), encoding="utf-8")
    elif stored != interface:
        differing = sorted(key for key, _ in stored.items() ^ interface.items())
        sys.exit(f"c_abi: {LISTING.relative_to(ROOT)} is not of this header: {differing[0]}; valid: make c-abi")


def advice(name: str, is_released: bool) -> str:
    """Advice where the interface breaks."""
    raised = f"a higher {VERSION.split()[1]}"
    if is_released:
        raised = f"another major version, so that programs ask for another soname, and {raised}"
    return (
        f"this breaks programs compiled with {name}; valid: members in place of `reserved`, new functions, or {raised}"
    )


def last_release() -> tuple[str, Interface | None]:
    """Its name with its interface; where there is none, that of the listing."""
    found = git("describe", "--tags", "--abbrev=0", "--match", "v*")
    text = git("show", f"{found}:{LISTING.relative_to(ROOT)}") if found else ""
    return (found, parsed(text)) if text else (f"the header of {LISTING.name}", None)


def problems(old: Interface, new: Interface, *, is_released: bool) -> list[str]:
    """What breaks programs that were compiled with the old interface; nothing where the versions say so."""
    raised = int(new[VERSION]) > int(old[VERSION])
    if raised and (not is_released or new[SONAME] != old[SONAME]):
        return []
    found = [*differences(old, new), *intruders(old, new)]
    if int(new[VERSION]) < int(old[VERSION]) or (new[SONAME] != old[SONAME] and not raised):
        found.append(f"{SONAME} {new[SONAME]} with version {new[VERSION]}: was {old[SONAME]} with {old[VERSION]}")
    return found


def differences(old: Interface, new: Interface) -> Iterator[str]:
    """Lines that are gone or say something else."""
    for key, was in old.items():
        kind, name, *member = key.split()
        if key in FREE or (member and member[0] == "reserved"):
            continue
        if key not in new:
            yield f"{key} is gone; was {was}"
        elif new[key] != was and not (kind == "struct" and not member and may_grow(name, old, new)):
            yield f"{key} was {was}, is {new[key]}"


def intruders(old: Interface, new: Interface) -> Iterator[str]:
    """New members that stand where an older program has other things, or nothing."""
    for key in new.keys() - old.keys():
        kind, name, *member = key.split()
        if kind != "struct" or not member or f"struct {name}" not in old:
            continue
        begin, end = place(new[key])
        first, last = place(old.get(f"struct {name} reserved", ": 0 bytes at 0"))
        behind = begin >= numbers(old[f"struct {name}"])[0] and may_grow(name, old, new)
        if not behind and not (first <= begin and end <= last):
            yield f"{key} is new, at {begin}, where there was no `reserved`"


def may_grow(name: str, old: Interface, new: Interface) -> bool:
    """Whether a structure may be longer than it was."""
    key = f"struct {name}"
    version = VERSIONED.get(name)
    if version is None or int(new[version]) <= int(old[version]):
        return False
    (was, aligned), (now, aligned_now) = numbers(old[key]), numbers(new[key])
    return now > was and aligned == aligned_now


def place(text: str) -> tuple[int, int]:
    """Where a member begins and ends."""
    size, begin = numbers(text.rpartition(":")[2])
    return begin, begin + size


def numbers(text: str) -> list[int]:
    """The numbers of a line."""
    return [int(number) for number in re.findall(r"\d+", text)]


def interface_of(header: str) -> Interface:
    """The interface that the text of a header declares."""
    found: Interface = {}
    for name, value in re.findall(r"^#define (FAIRDROP_\w+) (-?\w+)$", header, re.MULTILINE):
        found[f"constant {name}"] = value
    for name, names in re.findall(r"^#define (FAIRDROP_\w+)(\([\w, ]*\))", header, re.MULTILINE):
        found[f"macro {name}"] = names
    return found | dict(Declarations(preprocessed(header)).lines())


def preprocessed(header: str) -> str:
    """A header after the C preprocessor, without the content of the system's headers."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SYSTEM.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [*os.environ.get("CC", "cc").split(), "-E", "-P", "-std=c99", "-nostdinc", "-I", folder, "-"]
        done = subprocess.run(command, input=header, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"c_abi: fairdrop.h is not C: {done.stderr.strip()}")
    return done.stdout


class Declarations:
    """The declarations of a header, and what they are to a compiler."""

    def __init__(self, text: str) -> None:
        """Types that have been met, with the bytes and the alignment of each."""
        self.tree = CParser().parse(text)
        self.sizes = {name: (size, size) for name, size in BYTES.items()}

    def lines(self) -> Iterator[tuple[str, str]]:
        """The lines of the listing."""
        for each in self.tree.ext:
            declared = each.type
            if isinstance(each, c_ast.Typedef):
                if each.name in BYTES:
                    continue
                declared = declared.type
            if isinstance(declared, c_ast.Enum) and declared.values is not None:
                yield from self.enumeration(declared)
            elif isinstance(declared, c_ast.Struct):
                yield from self.structure(declared)
            elif isinstance(declared, c_ast.FuncDecl):
                yield f"function {each.name}", self.spelled(declared)
            elif isinstance(each, c_ast.Typedef):
                self.sizes[each.name] = self.size(each.type)
                yield f"type {each.name}", self.spelled(each.type)

    def enumeration(self, declared: c_ast.Enum) -> Iterator[tuple[str, str]]:
        """Its values, each by its name."""
        self.sizes[declared.name] = self.sizes["int"]
        value = -1
        for each in declared.values.enumerators:
            value = value + 1 if each.value is None else constant(each.value)
            yield f"enum {declared.name} {each.name}", str(value)

    def structure(self, declared: c_ast.Struct) -> Iterator[tuple[str, str]]:
        """Its bytes as a whole, and those of each member."""
        key = f"struct {declared.name}"
        if declared.decls is None:
            yield key, "opaque"
            return
        at, aligned, members = 0, 1, []
        for member in declared.decls:
            size, alignment = self.size(member.type)
            at, aligned = -(-at // alignment) * alignment, max(aligned, alignment)
            members.append((f"{key} {member.name}", f"{self.spelled(member.type)}: {size} bytes at {at}"))
            at += size
        whole = -(-at // aligned) * aligned
        self.sizes[declared.name] = (whole, aligned)
        yield key, f"{whole} bytes, aligned to {aligned}"
        yield from members

    def size(self, declared: c_ast.Node) -> tuple[int, int]:
        """Bytes and alignment of a type."""
        if isinstance(declared, c_ast.PtrDecl):
            return self.sizes["size_t"]
        if isinstance(declared, c_ast.ArrayDecl):
            size, aligned = self.size(declared.type)
            return size * constant(declared.dim), aligned
        return self.sizes[named(declared)]

    def spelled(self, declared: c_ast.Node) -> str:
        """A type in words that do not depend on names of arguments, nor on whether a tag has its keyword."""
        if isinstance(declared, c_ast.PtrDecl):
            star = "*const" if "const" in declared.quals else "*"
            return f"{self.spelled(declared.type)} {star}"
        if isinstance(declared, c_ast.ArrayDecl):
            return f"{self.spelled(declared.type)}[{constant(declared.dim)}]"
        if isinstance(declared, c_ast.FuncDecl):
            arguments = ", ".join(self.spelled(each.type) for each in declared.args.params)
            return f"{self.spelled(declared.type)} ({arguments})"
        const = "const " if "const" in declared.quals else ""
        return const + named(declared)


def named(declared: c_ast.Node) -> str:
    """The name of a type."""
    inner = declared.type
    return " ".join(inner.names) if isinstance(inner, c_ast.IdentifierType) else str(inner.name)


def constant(value: c_ast.Node) -> int:
    """A number of a header."""
    return -constant(value.expr) if isinstance(value, c_ast.UnaryOp) else int(value.value.rstrip("uUlL"), 0)


def listed(interface: Interface) -> str:
    """The listing of an interface."""
    return "".join(f"{key} = {value}\n" for key, value in sorted(interface.items(), key=kind_and_name))


def kind_and_name(line: tuple[str, str]) -> list[str]:
    """Order of the listing, in which members stay as they are declared."""
    return line[0].split()[:2]


def parsed(text: str) -> Interface:
    """The interface of a listing."""
    lines = (line.partition(" = ") for line in text.splitlines() if line and not line.startswith("#"))
    return {key: value for key, _, value in lines}


def git(*words: str) -> str:
    """What a command of git prints; nothing where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    main()
