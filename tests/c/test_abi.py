"""The checker of the C interface: what would break a program that was compiled before is reported by its name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import c_abi
import pytest
from programs import HEADER, ROOT, STRICT, tool

TEXT = HEADER.read_text(encoding="utf-8")
# What is changed below.
VERSION = "uint32_t fairdrop_abi_version(void);\n"
TICK = "fairdrop_tick(struct fairdrop_queue *queue, uint64_t now_ns)"
LAST = "    FAIRDROP_CAUSE_DUAL_PI2 = 17,\n"
SIX = "    uint64_t reserved[6];\n"
IDLE = "    void (*idle)(void *queue, uint64_t now_ns);\n"


def changed(*changes: tuple[str, str]) -> str:
    """The header with each text in place of another, which is there once."""
    text = TEXT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def of(text: str, soname: str = "libfairdrop.so.0") -> c_abi.Interface:
    return c_abi.interface_of(text) | {c_abi.SONAME: soname}


@pytest.fixture(scope="module")
def now() -> c_abi.Interface:
    return of(TEXT)


def test_the_interface_is_the_one_that_is_written_down() -> None:
    command = [sys.executable, ROOT / "scripts" / "c_abi.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


BREAKS = {
    "function fairdrop_tick is gone; was fairdrop_status (fairdrop_queue *, uint64_t)": (
        (f"enum fairdrop_status {TICK};\n", ""),
    ),
    "function fairdrop_tick was fairdrop_status (fairdrop_queue *, uint64_t), "
    "is fairdrop_status (fairdrop_queue *, uint32_t)": (
        (TICK, "fairdrop_tick(struct fairdrop_queue *queue, uint32_t now_ns)"),
    ),
    "function fairdrop_cause_count was size_t (void), is uint32_t (void)": (
        ("size_t fairdrop_cause_count(void);", "uint32_t fairdrop_cause_count(void);"),
    ),
    "struct fairdrop_packet label was uint16_t: 2 bytes at 28, is uint16_t: 2 bytes at 30": (
        ("    uint16_t label;\n", ""),
        ("    uint8_t ecn;\n", "    uint8_t ecn;\n    uint16_t label;\n"),
    ),
    "struct fairdrop_packet was 32 bytes, aligned to 8, is 40 bytes, aligned to 8": (
        ("    uint8_t ecn;\n", "    uint8_t ecn;\n    uint64_t arrived_ns;\n"),
    ),
    "struct fairdrop_packet arrived_ns is new, at 32, where there was no `reserved`": (
        ("    uint8_t ecn;\n", "    uint8_t ecn;\n    uint64_t arrived_ns;\n"),
    ),
    "struct fairdrop_host more is new, at 52, where there was no `reserved`": (
        ("    uint32_t queue;\n", "    uint32_t queue;\n    uint32_t more;\n"),
    ),
    "struct fairdrop_counters drawn is gone; was uint64_t: 8 bytes at 64": (
        ("    uint64_t drawn;\n", "    uint64_t drawn_packets;\n"),
    ),
    "struct fairdrop_host dropped was void (void *, const fairdrop_packet *, fairdrop_cause) *: 8 bytes at 8, "
    "is void (void *, const fairdrop_packet *) *: 8 bytes at 8": (
        (
            "(void *context, const struct fairdrop_packet *packet, fairdrop_cause cause)",
            "(void *context, const struct fairdrop_packet *packet)",
        ),
    ),
    "enum fairdrop_cause FAIRDROP_CAUSE_BLUE was 7, is 8": (("FAIRDROP_CAUSE_BLUE = 7", "FAIRDROP_CAUSE_BLUE = 8"),),
    "enum fairdrop_kind FAIRDROP_KIND_RATE was 11, is 12": (
        ("    FAIRDROP_KIND_RATE,\n", "    FAIRDROP_KIND_ANGLE,\n    FAIRDROP_KIND_RATE,\n"),
    ),
    "constant FAIRDROP_ALIGN was 8, is 16": (("#define FAIRDROP_ALIGN 8\n", "#define FAIRDROP_ALIGN 16\n"),),
    "macro FAIRDROP_CHOKE_BYTES is gone; was (limit)": (
        ("#define FAIRDROP_CHOKE_BYTES(limit)", "#define FAIRDROP_CHOKE_SIZE(limit)"),
    ),
    "type fairdrop_cause was uint8_t, is uint16_t": (
        ("typedef uint8_t fairdrop_cause;", "typedef uint16_t fairdrop_cause;"),
    ),
}


@pytest.mark.parametrize("problem", BREAKS)
def test_what_breaks_is_named(now: c_abi.Interface, problem: str) -> None:
    assert problem in c_abi.problems(now, of(changed(*BREAKS[problem])), is_released=False)


KEEPS = {
    "a new function": ((VERSION, f"{VERSION}void fairdrop_more(int32_t value);\n"),),
    "a new cause": ((LAST, f"{LAST}    FAIRDROP_CAUSE_MORE = 18,\n"),),
    "a new name of an argument": ((TICK, "fairdrop_tick(struct fairdrop_queue *of, uint64_t at)"),),
    "a member in place of another that was reserved": (
        ("    size_t reserved[4];\n", "    void (*marked)(void *context);\n    size_t reserved[3];\n"),
    ),
    "the last that was reserved": ((SIX, "".join(f"    struct fairdrop_count {name};\n" for name in "abc")),),
    "another bound on bytes": (("FAIRDROP_CHOKE_BYTES(limit) (", "FAIRDROP_CHOKE_BYTES(limit) (7 + "),),
    "a table of plug-ins of another version": (
        ("#define FAIRDROP_PLUGIN_VERSION 3", "#define FAIRDROP_PLUGIN_VERSION 4"),
        (IDLE, f"{IDLE}    void (*more)(void *queue);\n"),
    ),
}


@pytest.mark.parametrize("what", KEEPS)
def test_what_keeps_programs_running_is_accepted(now: c_abi.Interface, what: str) -> None:
    assert c_abi.problems(now, of(changed(*KEEPS[what])), is_released=True) == []


def test_a_table_of_plug_ins_grows_with_its_version_only(now: c_abi.Interface) -> None:
    (_, longer) = KEEPS["a table of plug-ins of another version"]
    found = c_abi.problems(now, of(changed(longer)), is_released=False)
    assert "struct fairdrop_plugin more is new, at 152, where there was no `reserved`" in found


def test_reserved_room_does_not_move_the_end(now: c_abi.Interface) -> None:
    found = c_abi.problems(now, of(changed((SIX, ""))), is_released=False)
    assert found == ["struct fairdrop_counters was 128 bytes, aligned to 8, is 80 bytes, aligned to 8"]


def test_versions_allow_what_breaks(now: c_abi.Interface) -> None:
    """Before a release, that of the interface is enough; after it, programs have to ask for another soname."""
    broken = (("    uint64_t drawn;\n", ""), ("#define FAIRDROP_ABI_VERSION 4\n", "#define FAIRDROP_ABI_VERSION 5\n"))
    assert c_abi.problems(now, of(changed(*broken)), is_released=False) == []
    assert c_abi.problems(now, of(changed(*broken)), is_released=True) != []
    assert c_abi.problems(now, of(changed(*broken), "libfairdrop.so.1"), is_released=True) == []
    assert c_abi.problems(now, of(TEXT, "libfairdrop.so.1"), is_released=True) == [
        "soname libfairdrop libfairdrop.so.1 with version 4: was libfairdrop.so.0 with 4"
    ]


def test_the_header_is_compared_with_the_last_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listing, header = tmp_path / "interface.txt", tmp_path / "fairdrop.h"
    for name, value in {"ROOT": tmp_path, "LISTING": listing, "HEADER": header}.items():
        monkeypatch.setattr(c_abi, name, value)

    def run(text: str, *words: str) -> str:
        header.write_text(text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["c_abi", *words])
        try:
            c_abi.main()
        except SystemExit as ended:
            return str(ended)
        return ""

    more = changed((VERSION, f"{VERSION}void fairdrop_more(int32_t value);\n"))
    assert run(TEXT, "--write") == ""
    commands = ("init", "-q"), ("add", "."), ("commit", "-qm", "first"), ("tag", "v0.1.0")
    for words in commands:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True)
    assert run(more) == "c_abi: interface.txt is not of this header: function fairdrop_more; valid: make c-abi"
    assert run(more, "--write") == "" and run(more) == ""
    # Additions since the release may go again; members of the release may not, even if the listing agrees.
    assert run(TEXT, "--write") == ""
    fewer = changed((f"enum fairdrop_status {TICK};\n", ""))
    listing.write_text(c_abi.listed(of(fewer)), encoding="utf-8")
    first, second = run(fewer, "--write").splitlines()
    assert first.startswith("c_abi: function fairdrop_tick is gone")
    assert second.startswith("c_abi: this breaks programs compiled with v0.1.0; valid: members in place of `reserved`")
    assert "another major version" in second


def test_bytes_are_those_of_the_compiler(now: c_abi.Interface, tmp_path: Path) -> None:
    compiler = tool("cc", "bytes are not compared with those of a compiler")
    if sys.maxsize < 2**32:
        pytest.skip("the listing is that of 64-bit machines")
    lines = ["#include <fairdrop.h>"]
    for key, text in now.items():
        kind, name, *member = key.split()
        if kind != "struct" or text == "opaque":
            continue
        size, place = c_abi.numbers(text.rpartition(":")[2])
        if member:
            lines.append(f'_Static_assert(offsetof({name}, {member[0]}) == {place}, "{key}");')
            lines.append(f'_Static_assert(sizeof((({name} *)0)->{member[0]}) == {size}, "{key}");')
        else:
            lines.append(f'_Static_assert(sizeof({name}) == {size} && _Alignof({name}) == {place}, "{key}");')
    assert len(lines) > 100
    source = tmp_path / "layout.c"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [compiler, "-std=c11", *STRICT, "-I", HEADER.parent, "-c", source, "-o", tmp_path / "layout.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_listing_reads_as_it_was_written(now: c_abi.Interface) -> None:
    assert c_abi.parsed(c_abi.HEAD + c_abi.listed(now)) == now
