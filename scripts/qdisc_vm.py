"""Boots a Debian kernel under qemu and runs a shell script in it: the machine that the BPF qdiscs are tested in.

Kernels come from Debian's archive through apt, with lists and a cache of their own below `build/qdisc`; nothing is
installed. The mirror and its keys are those of this machine's apt. Programs of the guest are those of this machine,
with their libraries.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import selectors
import shutil
import stat
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "qdisc"
# The suite with the newest kernels for Debian's stable release. Older ones stay in the archive under their own names.
SUITE = "trixie-backports"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
NEWEST = "linux-image-cloud-amd64"
# What a guest may use, where this machine has it.
# fmt: off
PROGRAMS = (
    "sh", "cat", "cut", "date", "dmesg", "grep", "head", "ip", "iperf3", "insmod", "ln", "ls", "mkdir",
    "mount", "nproc", "sed", "sleep", "sort", "tc", "tr", "uname", "wc",
)
# fmt: on
# Modules of the guest, beside what they depend on.
MODULES = (
    "veth",
    "sch_choke",
    "sch_red",
    "sch_sfb",
    "sch_fq_codel",
    "sch_htb",
    "sch_netem",
    "tcp_bbr",
    "dummy",
    "pktgen",
    "sch_tbf",
)
END = "guest ended with"


class Missing(Exception):
    """What this machine lacks for a guest."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel."""

    package: str
    version: str
    image: Path
    modules: Path


def require(program: str, package: str) -> str:
    """The path of a program."""
    path = shutil.which(program)
    if path is None:
        raise Missing(f"{program} is not installed (Debian package {package})")
    return path


def mirror() -> str:
    """The archive that this machine's apt takes Debian's packages from."""
    require("apt-get", "apt")
    form = "$(ORIGIN) $(LABEL) $(SITE)"
    done = subprocess.run(["apt-get", "indextargets", "--format", form], capture_output=True, text=True, check=False)
    sites = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("Debian Debian ")]
    if not sites:
        raise Missing("apt has no archive of Debian: add one to its sources, and run apt-get update")
    return sites[0]


class Apt:
    """apt with folders of its own, for one suite."""

    def __init__(self) -> None:
        if not KEYRING.exists():
            raise Missing(f"{KEYRING} is not there (Debian package debian-archive-keyring)")
        folder = CACHE / "apt"
        for below in ("state/lists/partial", "cache/archives/partial"):
            (folder / below).mkdir(parents=True, exist_ok=True)
        sources = folder / "sources.list"
        sources.write_text(f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main\n")
        self.options = [
            f"-oDir::State={folder / 'state'}",
            "-oDir::State::status=/dev/null",
            f"-oDir::Cache={folder / 'cache'}",
            f"-oDir::Etc::sourcelist={sources}",
            "-oDir::Etc::sourceparts=/dev/null",
            "-oAPT::Architecture=amd64",
            "-oAPT::Sandbox::User=",
            "-oAcquire::Languages=none",
        ]

    def run(self, *command: str, folder: Path = ROOT) -> str:
        """The output of apt-get or apt-cache."""
        done = subprocess.run(
            [command[0], *self.options, *command[1:]],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=900,
            check=False,
        )
        if done.returncode:
            raise Missing(f"{' '.join(command)}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
        return done.stdout

    def parts(self, package: str) -> list[str]:
        """The packages that a kernel's package consists of, itself included."""
        found, waiting = [], [package]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.append(name)
            text = self.run("apt-cache", "depends", "--important", name)
            waiting += re.findall(r"(?:Pre)?Depends: (linux-(?:image|binary|modules|base)-\S+)", text)
        return found


def fetch(package: str = NEWEST) -> Kernel:
    """A kernel by the name of its package, from the cache if it was fetched before."""
    require("dpkg-deb", "dpkg")
    kept = CACHE / "kernels" / package
    if not (kept / "complete").exists():
        apt = Apt()
        apt.run("apt-get", "update")
        shutil.rmtree(kept, ignore_errors=True)
        downloads = kept / "debs"
        downloads.mkdir(parents=True)
        apt.run("apt-get", "download", *apt.parts(package), folder=downloads)
        for deb in sorted(downloads.glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", deb, kept / "root"], check=True)
        shutil.rmtree(downloads)
        (kept / "complete").touch()
    images = [*kept.glob("root/boot/vmlinuz-*"), *kept.glob("root/usr/lib/modules/*/vmlinuz")]
    if not images:
        raise Missing(f"{package} has no kernel")
    folders = [*kept.glob("root/usr/lib/modules/*"), *kept.glob("root/lib/modules/*")]
    modules = [folder for folder in folders if (folder / "kernel").is_dir()]
    if not modules:
        raise Missing(f"{package} has no modules")
    return Kernel(package, modules[0].name, images[0], modules[0])


def with_dependencies(kernel: Kernel, names: Iterable[str]) -> list[Path]:
    """Files of modules in the order in which they are to be loaded; those that the kernel has built in are left out."""
    known = {path.name.split(".ko")[0].replace("-", "_"): path for path in kernel.modules.rglob("*.ko*")}
    ordered: list[Path] = []

    def add(name: str) -> None:
        path = known.get(name)
        if path is None or path in ordered:
            return
        match = re.search(rb"(?:^|\0)depends=([^\0]*)", contents(path))
        for other in match.group(1).decode().split(",") if match else []:
            add(other.replace("-", "_"))
        ordered.append(path)

    for name in names:
        add(name)
    return ordered


def contents(module: Path) -> bytes:
    """A module as the kernel takes it."""
    return lzma.decompress(module.read_bytes()) if module.suffix == ".xz" else module.read_bytes()


def libraries(program: Path) -> list[Path]:
    """The shared objects that a program is started with."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)]


def stripped(program: Path) -> bytes:
    """A program without debugging information, where there is a program to take it away."""
    strip = shutil.which("strip")
    if strip is None or program.stat().st_size < 8_000_000:
        return program.read_bytes()
    copy = CACHE / f"stripped-{os.getpid()}"
    try:
        subprocess.run([strip, "--strip-debug", "-o", copy, program], check=True)
        return copy.read_bytes()
    finally:
        copy.unlink(missing_ok=True)


class Archive:
    """An initramfs, in cpio's form `newc`."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.names: set[str] = set()

    def add(self, name: str, mode: int, data: bytes = b"") -> None:
        """A file, a folder or a link, once, after the folders above it."""
        if name in self.names:
            return
        above = Path(name).parent
        if str(above) != ".":
            self.add(str(above), stat.S_IFDIR | 0o755)
        self.names.add(name)
        self.entry(name, mode, data)

    def entry(self, name: str, mode: int, data: bytes) -> None:
        """The head and the contents of one file."""
        numbers = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name.encode() + b"\0"
        self.parts += [head + b"\0" * (-len(head) % 4), data + b"\0" * (-len(data) % 4)]

    def program(self, path: Path, name: str) -> None:
        """A program or a shared object with its libraries, without debug information."""
        self.add(name, stat.S_IFREG | 0o755, stripped(path))
        for library in libraries(path):
            self.add(str(library).lstrip("/"), stat.S_IFREG | 0o755, library.read_bytes())

    def packed(self) -> bytes:
        """The whole archive, which takes no more files."""
        self.entry("TRAILER!!!", 0, b"")
        return gzip.compress(b"".join(self.parts), compresslevel=1)


PROLOGUE = f"""#!/bin/sh
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
mount -t bpf bpf /sys/fs/bpf; mount -t debugfs debug /sys/kernel/debug; mount -t devtmpfs dev /dev 2>/dev/null
ln -s /proc/self/fd /dev/fd 2>/dev/null
for module in /modules/*; do insmod $module || echo "not loaded: $module"; done
ip link set lo up
(. /guest.sh)
echo "{END} $?"
echo o > /proc/sysrq-trigger
sleep 60
"""


def initramfs(kernel: Kernel, script: str, files: dict[str, Path]) -> bytes:
    """Programs of this machine, modules of the kernel, `files` by their names in the guest, and the script."""
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "run", "modules"):
        archive.add(name, stat.S_IFDIR | 0o755)
    for name in PROGRAMS:
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
        if path is not None:
            archive.program(Path(path).resolve(), f"bin/{name}")
    for order, module in enumerate(with_dependencies(kernel, MODULES)):
        archive.add(f"modules/{order:02}-{module.name.split('.')[0]}.ko", stat.S_IFREG | 0o644, contents(module))
    for name, path in files.items():
        if os.access(path, os.X_OK) or ".so" in path.name:
            archive.program(path, name)
        else:
            archive.add(name, stat.S_IFREG | 0o644, path.read_bytes())
    archive.add("guest.sh", stat.S_IFREG | 0o755, script.encode())
    archive.add("init", stat.S_IFREG | 0o755, PROLOGUE.encode())
    return archive.packed()


@dataclass(frozen=True)
class Ended:
    """What a guest wrote to its console, and the status of its script; None when it didn't come to its end."""

    status: int | None
    lines: list[str]
    seconds: float


def boot(
    kernel: Kernel,
    script: str,
    files: dict[str, Path],
    *,
    seconds: float,
    counted: bool = False,
    echo: bool = False,
) -> Ended:
    """Runs the script in a guest; `counted`: in virtual time, so that the load of this machine changes no result."""
    qemu = require("qemu-system-x86_64", "qemu-system-x86")
    image = CACHE / f"guest-{os.getpid()}.img"
    image.write_bytes(initramfs(kernel, script, files))
    command = [qemu, "-accel", "tcg", "-cpu", "max", "-m", "768", "-nodefaults", "-no-reboot", "-display", "none"]
    command += ["-icount", "shift=2,sleep=off"] if counted else []
    # On a busy machine the kernel may find its timer too late, and would give up.
    append = "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr random.trust_cpu=on no_timer_check"
    command += ["-serial", "stdio", "-kernel", kernel.image, "-initrd", image, "-append", append]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        lines = list(follow(process, begin + seconds, echo))
    finally:
        process.kill()
        process.wait()
        image.unlink(missing_ok=True)
    ends = [line for line in lines if line.startswith(END)]
    status = int(ends[-1].split()[-1]) if ends else None
    return Ended(status, lines, time.monotonic() - begin)


def follow(process: subprocess.Popen[bytes], deadline: float, echo: bool) -> Iterable[str]:
    """Lines of a guest's console, until it ends or the deadline has come."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                break
            data = process.stdout.read()
            if not data:
                break
            *complete, rest = (rest + data).split(b"\n")
            for raw in complete:
                line = raw.decode(errors="replace").rstrip("\r")
                if echo:
                    print(line, flush=True)
                yield line
                if line.startswith(END):
                    return
