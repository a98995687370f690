#!/usr/bin/env python3
"""Build what is released.

Python wheels, the source distribution, fairdropd and the C library, both for Debian as well, and the queue disciplines
for the Linux kernel.

No path of the building machine goes into them, and the same commit gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import c_library
import debian
from package_readme import package_readme

from experiments import ROOT
from experiments.tracked import tracked

BUILD = ROOT / "target" / "dist"
BIN = Path(sys.executable).parent
# Of CPU architectures, in the words of Rust. Wheels are those of glibc 2.17, fairdropd is linked statically.
ARCHITECTURES = ("x86_64", "aarch64", "riscv64gc")
WHEELS = ARCHITECTURES[:2]
# One file for all architectures.
PORTABLE = ("sdist", "bpf")


def main() -> None:
    """Command line of the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="WHAT", help="wheel, free-threaded, sdist, fairdropd, c, bpf (all)")
    parser.add_argument(
        "--architecture",
        action="append",
        choices=ARCHITECTURES,
        help="x86_64, aarch64, riscv64gc: fairdropd only (all)",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="where they are written (dist)")
    options = parser.parse_args()
    builders = {
        "wheel": wheel,
        "free-threaded": free_threaded,
        "sdist": sdist,
        "fairdropd": fairdropd,
        "c": c,
        "bpf": bpf,
    }
    if unknown := set(options.what) - set(builders):
        parser.error(f"what: {', '.join(sorted(unknown))}; valid: {', '.join(builders)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.what or builders:
        for architecture in options.architecture or ARCHITECTURES if name not in PORTABLE else [""]:
            for path in builders[name](architecture, options.out):
                print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


def wheel(architecture: str, out: Path) -> Iterator[Path]:
    """The Python package for CPython 3.11 and newer on Linux with glibc 2.17 or newer."""
    yield from built_wheels(architecture, out)


def free_threaded(architecture: str, out: Path) -> Iterator[Path]:
    """The Python package for CPython 3.14 without its global lock, which needs no interpreter to be built."""
    yield from built_wheels(architecture, out, "--interpreter", "python3.14t")


def built_wheels(architecture: str, out: Path, *options: str) -> Iterator[Path]:
    """A wheel as maturin builds it, anonymous."""
    if architecture in WHEELS:
        target = f"{architecture}-unknown-linux-gnu"
        add_target(target)
        linux = ["--zig", "--compatibility", "manylinux2014", "--target", target]
        yield finished(maturin("build", "--release", "--locked", *linux, *options), out)


def fairdropd(architecture: str, out: Path) -> Iterator[Path]:
    """The program, linked with nothing, by itself and as a wheel: ``pip install fairdrop[live]`` takes that one."""
    target = f"{architecture}-unknown-linux-musl"
    environment = environment_of_builds()
    options = ["--release", "--locked", "--package", "fairdrop-live", "--bin", "fairdropd", "--target", target]
    if add_target(target):
        environment[f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER"] = "rust-lld"
        environment["CARGO_ENCODED_RUSTFLAGS"] += "\x1f-Clink-arg=--strip-all"
        run(["cargo", "build", *options], environment)
    else:
        # Where the toolchain has no standard library for a target, it is built from its source; Zig has the C library.
        run(["rustup", "--quiet", "component", "add", "rust-src"], os.environ)
        environment["RUSTC_BOOTSTRAP"] = "1"
        flags = ("", "-Ctarget-feature=+crt-static", "-Clink-self-contained=no", "-Cstrip=symbols")
        environment["CARGO_ENCODED_RUSTFLAGS"] += "\x1f".join(flags)
        run([str(BIN / "cargo-zigbuild"), "zigbuild", *options, "-Z", "build-std=std,panic_abort"], environment)
    program = BUILD / target / "release" / "fairdropd"
    check_paths(program.name, program.read_bytes())
    path = out / f"fairdropd-{version()}-linux-{architecture}"
    shutil.copy2(program, path)
    yield path
    yield program_wheel(program, architecture, out)
    native = BUILD / "x86_64-unknown-linux-musl" / "release" / "fairdropd"
    if debian.is_possible() and native.exists():
        yield debian.package(program, native, architecture, version(), time_of_commit(), out)


def program_wheel(program: Path, architecture: str, out: Path) -> Path:
    """A wheel of the program, which runs on any Linux of its architecture."""
    name = f"fairdropd-{version()}"
    machine = architecture.removesuffix("gc")
    platform = f"manylinux_2_17_{machine}.musllinux_1_1_{machine}" if machine != "riscv64" else "manylinux_2_31_riscv64"
    tags = [f"py3-none-{each}" for each in platform.split(".")]
    about = {
        "Metadata-Version": "2.4",
        "Name": "fairdropd",
        "Version": version(),
        "Summary": "Real traffic through fairdrop: an emulated link, a bridge, a routed bottleneck",
        "License-Expression": "MIT OR Apache-2.0",
        "Requires-Python": ">=3.11",
    }
    made = {"Wheel-Version": "1.0", "Generator": "fairdrop", "Root-Is-Purelib": "false"}
    files = {
        f"{name}.data/scripts/fairdropd": program.read_bytes(),
        f"{name}.dist-info/METADATA": header(about.items()),
        f"{name}.dist-info/WHEEL": header([*made.items(), *(("Tag", tag) for tag in tags)]),
        **{
            f"{name}.dist-info/licenses/{each}": (ROOT / each).read_bytes()
            for each in ("LICENSE-APACHE", "LICENSE-MIT")
        },
    }
    path = out / f"{name}-py3-none-{platform}.whl"
    write_wheel(path, files, f"{name}.dist-info/RECORD")
    return path


def c(architecture: str, out: Path) -> Iterator[Path]:
    """The C library for glibc 2.17 and newer: what ``make install`` installs, in a folder that may stand anywhere."""
    if architecture not in WHEELS:
        return
    target = f"{architecture}-unknown-linux-gnu"
    add_target(target)
    options = ["--profile", "c", "--features", "panic-handler", "--crate-type", "staticlib", "--target", target]
    environment = environment_of_builds() | {"CARGO_PROFILE_C_DEBUG": "false"}
    run(["cargo", "rustc", "--locked", "--package", "fairdrop-ffi", *options], environment)
    made = BUILD / target / "c"
    library = c_library.build(made / "libfairdrop_ffi.a", made / "package", c_library.for_any(architecture))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / f"libfairdrop-{version()}-linux-{architecture}"
        c_library.install(library, str(tree), Path("/"), Path("/lib"), Path("/include"))
        # Beside the libraries, wherever the folder stands.
        anywhere = c_library.description("${pcfiledir}/../..")
        (tree / "lib" / "pkgconfig" / "fairdrop.pc").write_text(anywhere, encoding="utf-8")
        for name in ("LICENSE-APACHE", "LICENSE-MIT"):
            shutil.copyfile(ROOT / name, tree / name)
        path = out / f"{tree.name}.tar.gz"
        files = (each for each in tree.rglob("*") if each.is_file())
        write_archive(path, {f"{tree.name}/{each.relative_to(tree)}": each for each in files})
        yield path
    if debian.is_possible():
        yield from debian.library_packages(library, architecture, version(), time_of_commit(), out)


def sdist(_: str, out: Path) -> Iterator[Path]:
    """The whole tree, from which pip builds the Python package and ``make test`` runs every test."""
    name = f"fairdrop-{version()}"
    files = {str(path): ROOT / path for path in tracked()} | {"conformance/vectors": ROOT / "conformance" / "vectors"}
    with tempfile.TemporaryDirectory() as folder:
        run(
            [str(BIN / "maturin"), "pep517", "write-dist-info", "--metadata-directory", folder], environment_of_builds()
        )
        (metadata,) = Path(folder).glob("*/METADATA")
        information = Path(folder) / "PKG-INFO"
        information.write_bytes(described(metadata.read_bytes()))
        path = out / f"{name}.tar.gz"
        write_archive(path, {f"{name}/{each}": file for each, file in (files | {"PKG-INFO": information}).items()})
    yield path


def bpf(_: str, out: Path) -> Iterator[Path]:
    """The queue disciplines for the Linux kernel, which `fairdropd qdisc` loads."""
    clang = any(shutil.which(name) for name in ("clang-16", "clang-17", "clang-18", "clang-19", "clang"))
    if not clang or not Path("/usr/include/bpf/bpf_helpers.h").exists():
        missing = "no clang, or no headers of libbpf (Debian packages clang-16, libbpf-dev)"
        print(f"dist: bpf is left out: {missing}", file=sys.stderr)
        return
    made = BUILD / "bpf"
    run(["make", "--silent", "-C", str(ROOT / "bpf"), "objects", f"OUT={made}"], os.environ)
    name = f"fairdrop-bpf-{version()}"
    files = {f"{name}/{path.name}": path for path in made.glob("*.bpf.o")}
    texts = ("README.md", "LICENSE-GPL-2.0", "LICENSE-BSD-2-Clause")
    path = out / f"{name}.tar.gz"
    write_archive(path, files | {f"{name}/{each}": ROOT / "bpf" / each for each in texts})
    yield path


def maturin(*words: str) -> Path:
    """What one command of maturin makes."""
    with tempfile.TemporaryDirectory() as folder:
        run([str(BIN / "maturin"), *words, "--out", folder], environment_of_builds())
        (made,) = Path(folder).iterdir()
        return Path(shutil.move(made, BUILD / made.name))


def add_target(target: str) -> bool:
    """Whether the toolchain has a standard library for ``target``, or could get it."""
    found = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", target], capture_output=True, text=True, check=True
    )
    if Path(found.stdout.strip()).is_dir():
        return True
    added = subprocess.run(["rustup", "--quiet", "target", "add", target], capture_output=True, check=False)
    return added.returncode == 0


def environment_of_builds() -> dict[str, str]:
    """Paths of this machine are written as others; times are that of the commit."""
    sysroot = output("rustc", "--print", "sysroot")
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    remapped = {str(ROOT): "/fairdrop", cargo: "/cargo", sysroot: "/rust"}
    flags = [f"--remap-path-prefix={path}={shown}" for path, shown in remapped.items()]
    BUILD.mkdir(parents=True, exist_ok=True)
    return os.environ | {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_RELEASE_DEBUG": "false",
        "CARGO_TARGET_DIR": str(BUILD),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "SOURCE_DATE_EPOCH": str(time_of_commit()),
    }


def finished(path: Path, out: Path) -> Path:
    """A wheel without paths and times of this machine in its bill of materials, and with files in a fixed order."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    path.unlink()
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    del files[record]
    for name in files:
        if "/sboms/" in name:
            files[name] = anonymous(files[name])
        if name.endswith(".dist-info/METADATA"):
            files[name] = described(files[name])
        check_paths(name, files[name])
    done = out / path.name
    write_wheel(done, files, record)
    return done


def described(metadata: bytes) -> bytes:
    """Metadata whose description has no links to files that are not beside it."""
    fields, _, readme = metadata.decode().partition("\n\n")
    return f"{fields}\n\n{package_readme(readme, package()['repository'], version())}".encode()


def anonymous(bill: bytes) -> bytes:
    """A bill of materials in CycloneDX that is the same on every machine."""
    text = bill.decode().replace(str(ROOT), "/fairdrop")
    document = json.loads(text)
    document.get("metadata", {}).pop("timestamp", None)
    if "serialNumber" in document:
        del document["serialNumber"]
        document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(document, sort_keys=True))}"
    return (json.dumps(document, indent=2) + "\n").encode()


def check_paths(name: str, content: bytes) -> None:
    """Ends the program if a file names a folder of this machine."""
    places = {
        str(ROOT),
        str(Path.home() / ".cargo"),
        str(Path.home() / ".rustup"),
        os.environ.get("CARGO_HOME", ""),
        str(BUILD),
    }
    for place in filter(None, places):
        if found := re.search(re.escape(place.encode()) + rb"[\w./-]*", content):
            sys.exit(f"dist: {name} names {found[0].decode()}; valid: no path of the machine that built it")


def write_wheel(path: Path, files: dict[str, bytes], record: str) -> None:
    """A wheel whose bytes depend on its files alone. Programs and shared objects may be executed."""
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    def line(name: str, content: bytes) -> str:
        return f"{name},sha256={urlsafe_b64encode(sha256(content).digest()).rstrip(b'=').decode()},{len(content)}\n"

    ordered = sorted(files.items(), key=lambda item: (".dist-info/" in item[0], item[0]))
    listing = "".join(line(*item) for item in ordered) + f"{record},,\n"
    partial = path.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in [*ordered, (record, listing.encode())]:
            about = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            about.external_attr = (0o100755 if name.endswith(".so") or "/scripts/" in name else 0o100644) << 16
            archive.writestr(about, content, zipfile.ZIP_DEFLATED)
    partial.replace(path)


def write_archive(path: Path, files: dict[str, Path]) -> None:
    """A tar.gz whose bytes depend on the names and contents of ``files`` alone; links stay links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, file in sorted(files.items()):
            about = tarfile.TarInfo(name)
            about.mtime = time_of_commit()
            if file.is_symlink():
                about.type, about.linkname, content = tarfile.SYMTYPE, os.readlink(file), b""
            else:
                content = file.read_bytes()
                check_paths(file.name, content)
                about.mode = 0o755 if os.access(file, os.X_OK) else 0o644
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    partial = path.with_suffix(".part")
    partial.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    partial.replace(path)


def header(fields: object) -> bytes:
    """Fields as in the header of a message."""
    return "".join(f"{name}: {value}\n" for name, value in fields).encode()


def package() -> dict[str, str]:
    """What the packages of the workspace have in common."""
    found: dict[str, str] = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    return found


def version() -> str:
    """The version of the workspace."""
    return package()["version"]


def time_of_commit() -> int:
    """Seconds since 1970; of a tree without history, the first that archives can hold."""
    found = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(found.stdout or 315_532_800)


def output(*command: str) -> str:
    """What a command prints, in one line."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run(command: list[str], environment: object, **options: object) -> None:
    """Run a command; ends the program if it fails."""
    done = subprocess.run(command, env=environment, check=False, **{"cwd": ROOT, **options})
    if done.returncode:
        sys.exit(f"dist: {' '.join(command)} failed ({done.returncode})")


if __name__ == "__main__":
    main()
