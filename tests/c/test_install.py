"""``make install``: what it puts where, and programs in C, C++ and Go that find it with pkg-config and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import c_library
import pytest
from programs import CRATE, EXAMPLES, HEADER, HERE, ROOT, Installed, tool

SHOWN = "25000 arrived, 12500 departed, 12462 dropped\n"
# What the library takes from every C library, and from the compiler's own.
WANTED = {"abort", "bcmp", "memcmp", "memcpy", "memmove", "memset", "strlen", "__udivti3"}


def symbols(*words: str | Path) -> list[tuple[str, str]]:
    """Kinds and names that nm lists, without versions."""
    done = subprocess.run([tool("nm", "names are not listed"), *words], capture_output=True, text=True, check=True)
    lines = (line.split() for line in done.stdout.splitlines())
    return [(words[-2], words[-1].partition("@")[0]) for words in lines if len(words) >= 2 and len(words[-2]) == 1]


def declared() -> set[str]:
    """Functions of the header."""
    return set(re.findall(r"^[\w ]+[ *](fairdrop_\w+)\(", HEADER.read_text(encoding="utf-8"), re.MULTILINE))


def test_everything_is_where_it_belongs(library: Installed) -> None:
    found = sorted(str(path.relative_to(library.destdir)) for path in library.destdir.rglob("*") if not path.is_dir())
    version, soname = c_library.version(), c_library.soname()
    assert found == sorted(
        f"usr/local/{name}"
        for name in (
            "include/fairdrop.h", "include/fairdrop.hpp", "lib/libfairdrop.a", "lib/libfairdrop.so", f"lib/{soname}",
            f"lib/libfairdrop.so.{version}", "lib/pkgconfig/fairdrop.pc",
        )
    )  # fmt: skip
    assert (library.lib / "libfairdrop.so").resolve() == library.lib / f"libfairdrop.so.{version}"
    assert (library.include / "fairdrop.h").read_bytes() == HEADER.read_bytes()
    assert library.pkg_config("--modversion") == [version]


def test_files_are_small(library: Installed) -> None:
    for name in ("libfairdrop.a", "libfairdrop.so"):
        assert (library.lib / name).stat().st_size < 1_000_000, name


def test_the_interface_is_all_that_is_visible(library: Installed) -> None:
    archive = symbols("-g", library.lib / "libfairdrop.a")
    assert {name for kind, name in archive if kind != "U"} == declared()
    assert {name for kind, name in archive if kind == "U"} <= WANTED
    shared = symbols("-D", library.lib / "libfairdrop.so")
    assert {name for kind, name in shared if kind not in "Uw"} == declared()
    assert {name for kind, name in shared if kind in "Uw"} <= WANTED


def test_programs_ask_for_the_major_version(library: Installed) -> None:
    words = [tool("readelf", "the soname is not read"), "--dynamic", "--wide", library.lib / "libfairdrop.so"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert f"Library soname: [{c_library.soname()}]" in done.stdout
    assert re.findall(r"Shared library: \[(.*)\]", done.stdout) == ["libc.so.6"]
    # A stack that may be executed is what a linker assumes of objects that do not say otherwise.
    words[1] = "--program-headers"
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.search(r"GNU_STACK .* RW ", done.stdout)


def test_the_same_sources_give_the_same_bytes(library: Installed, tmp_path: Path) -> None:
    again = Installed(tmp_path)
    for name in ("libfairdrop.a", "libfairdrop.so"):
        assert (again.lib / name).read_bytes() == (library.lib / name).read_bytes(), name


@pytest.mark.parametrize("source", ["queue.c", "queue.cpp"])
def test_an_example_runs_with_the_shared_object(library: Installed, source: str, tmp_path: Path) -> None:
    program = library.compile(EXAMPLES / source, tmp_path / "queue")
    assert library.run(program) == SHOWN
    needed = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=True).stdout
    assert f"[{c_library.soname()}]" in needed


@pytest.mark.parametrize("source", ["queue.c", "queue.cpp"])
def test_an_example_runs_linked_statically(library: Installed, source: str, tmp_path: Path) -> None:
    program = library.compile(EXAMPLES / source, tmp_path / "queue", ("--static", "--cflags", "--libs"), "-static")
    done = subprocess.run([program], env={}, capture_output=True, text=True, check=True)
    assert done.stdout == SHOWN


def test_the_example_in_c_needs_no_heap(library: Installed, tmp_path: Path) -> None:
    """Neither the program nor the archive refers to an allocator."""
    object_file = library.compile(EXAMPLES / "queue.c", tmp_path / "queue.o", ("--cflags",), "-c")
    wanted = {name for kind, name in symbols(object_file) if kind == "U"}
    assert "fairdrop_init" in wanted
    assert not {name for name in wanted if re.search("alloc|free", name)}


def test_the_wrapper_in_cpp_keeps_its_promises(library: Installed, tmp_path: Path) -> None:
    printed = library.run(library.compile(HERE / "wrapper.cpp", tmp_path / "wrapper"))
    assert 'choke has no parameter "tea"' in printed


def test_the_wrapper_is_also_of_later_standards(library: Installed, tmp_path: Path) -> None:
    library.compile(HERE / "wrapper.cpp", tmp_path / "wrapper.o", ("--cflags",), "-std=c++20", "-c")


def test_the_go_package_passes_its_tests(library: Installed, tmp_path: Path) -> None:
    go = tool("go", "the Go package is not tested")
    quiet = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOPROXY": "off", "CGO_ENABLED": "1"}
    for words in (["vet", "./..."], ["test", "-count=1", "./..."]):
        done = subprocess.run(
            [go, *words], cwd=ROOT / "integrations" / "go", env=library.environment | quiet,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_go_sources_are_formatted() -> None:
    gofmt = tool("gofmt", "Go sources are not checked")
    done = subprocess.run([gofmt, "-l", ROOT / "integrations" / "go"], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_another_place_of_libraries_is_found(tmp_path: Path) -> None:
    library = Installed(tmp_path / "root", "/opt/fairdrop", "lib/x86_64-linux-gnu")
    assert (library.lib / "libfairdrop.so").exists()
    assert library.run(library.compile(EXAMPLES / "queue.c", tmp_path / "queue")) == SHOWN


def test_installing_again_replaces_files_and_links(tmp_path: Path) -> None:
    library = Installed(tmp_path)
    program = library.compile(EXAMPLES / "queue.c", tmp_path / "queue")
    (library.lib / "libfairdrop.so").unlink()
    (library.lib / "libfairdrop.so").write_bytes(b"an old one")
    (library.include / "fairdrop.h").chmod(0o400)
    assert Installed(tmp_path).run(program) == SHOWN
    assert (library.lib / "libfairdrop.so").is_symlink()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--prefix", "local"],
            "--prefix = 'local' is not valid: a path from the root without spaces, such as /usr/local",
        ),
        (["--prefix", "/opt/fair drop"], "--prefix = '/opt/fair drop' is not valid: "),
        (["--libdir", "../lib"], "--libdir = '../lib' is not valid: "),
    ],
)
def test_a_wrong_place_is_named(words: list[str], message: str) -> None:
    command = [ROOT / "scripts" / "c_library.py", "install", *words]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr


def test_tools_that_are_missing_are_named(tmp_path: Path) -> None:
    words = [sys.executable, ROOT / "scripts" / "c_library.py", "build"]
    environment = os.environ | {"CC": str(tmp_path / "cc")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"c_library: {tmp_path}/cc is not there; valid: a C compiler" in done.stderr


def test_an_archive_of_other_members_is_refused(tmp_path: Path) -> None:
    archive = b"!<arch>\n" + b"other.o/".ljust(48) + b"2".ljust(10) + b"`\nab"
    assert c_library.members(archive) == [("other.o", b"ab")]
    with pytest.raises(SystemExit, match="has none as members of its own"):
        c_library.own_member(archive)
    with pytest.raises(SystemExit, match="is not there; valid: what `make ffi` builds"):
        c_library.build(tmp_path / "nothing.a", tmp_path, c_library.native())


@pytest.mark.parametrize("name", ["queue.c", "queue.cpp"])
def test_examples_are_those_of_the_page(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / "embed-in-c.md").read_text(encoding="utf-8")
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    assert f"`crates/fairdrop-ffi/examples/{name}`:\n\n```{Path(name).suffix[1:]}\n{source}```\n" in page


def test_the_program_in_go_is_the_example_of_its_package() -> None:
    page = (ROOT / "docs" / "how-to" / "embed-in-c.md").read_text(encoding="utf-8")
    example = (ROOT / "integrations" / "go" / "example_test.go").read_text(encoding="utf-8")
    program = page.partition("```go\n")[2].partition("```")[0]
    output = f"\t// Output: {SHOWN}}}\n"
    assert program.replace("package main", "package fairdrop_test").replace("main()", "Example()") == example.replace(
        output, "}\n"
    )


def test_bytes_of_the_page_are_those_of_the_macros(library: Installed, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "embed-in-c.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) > 5
    source = tmp_path / "page.c"
    macros = [f"FAIRDROP_{name.upper()}_BYTES" for name, *_ in rows]
    calls = "".join(f'printf("%zu %zu\\n", {macro}(100), {macro}(1000));' for macro in macros)
    source.write_text(
        f"#include <stdio.h>\n#include <fairdrop.h>\nint main(void) {{ {calls} return 0; }}\n", encoding="utf-8"
    )
    printed = library.run(library.compile(source, tmp_path / "page"))
    assert [tuple(line.split()) for line in printed.splitlines()] == [tuple(row[1:]) for row in rows]


def test_macros_bound_the_sizes_that_the_library_reports(library: Installed, tmp_path: Path) -> None:
    """For every discipline, as the compiler evaluates them: never below, and never half as much again."""
    macros = re.findall(r"^#define FAIRDROP_(\w+)_BYTES\(limit\)", HEADER.read_text(encoding="utf-8"), re.MULTILINE)
    limits = (1, 2, 3, 4, 5, 50, 100, 300, 767, 769, 1000, 1020, 1021, 5000, 65_536, 100_000, 1_000_000, 8_000_000)
    rows = "\n".join(
        f'    {{"{name.lower()}", {limit}, FAIRDROP_{name}_BYTES({limit})}},' for name in macros for limit in limits
    )
    source = tmp_path / "sizes.c"
    source.write_text((HERE / "sizes.c").read_text(encoding="utf-8").replace("/* rows */", rows), encoding="utf-8")
    printed = library.run(library.compile(source, tmp_path / "sizes"))
    assert printed.split() == [name.lower() for name in macros]


def test_the_crate_is_not_named_in_what_is_installed(library: Installed) -> None:
    """No path of this machine: the same library is made elsewhere."""
    for path in (library.lib / "libfairdrop.a", library.lib / "libfairdrop.so"):
        content = path.read_bytes()
        for place in (str(CRATE), str(Path.home() / ".cargo")):
            assert place.encode() not in content, place
