"""Build the modules against the headers of Debian's source package of ns-2: ``make ns2-modules`` (half a minute).

Needs Debian's ns2, libotcl1-dev, libtclcl1-dev, tcl8.6-dev, g++ and dpkg-dev. apt fetches the sources of the installed
version, checked by Debian's signature, into build/ns2-modules with state of its own. ns-2 itself stays the one that is
installed: it loads the modules at run time.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from experiments import ROOT

HERE = Path(__file__).parent
FOLDER = ROOT / "build" / "ns2-modules"
MODULE = FOLDER / "disciplines.so"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
INCLUDED = ("", "apps", "common", "lib", "link", "mac", "mobile", "queue", "tcp", "tools", "trace")
LIBRARIES = {
    Path("/usr/include/otcl.h"): "libotcl1-dev",
    Path("/usr/include/tclcl"): "libtclcl1-dev",
    Path("/usr/include/tcl8.6"): "tcl8.6-dev",
}
# What ns-2's configuration finds on every Debian, as far as the headers ask.
AUTOCONF = """#define RANDOM_RETURN_TYPE int
#define HAVE_INT64 1
#define HAVE_STL 1
#define HAVE_STRING_H 1
#define HAVE_BCOPY 1
#define HAVE_BZERO 1
#define HAVE_SNPRINTF 1
#define HAVE_STRTOLL 1
#define SIZEOF_LONG 8
"""


class Missing(RuntimeError):
    """Something that has to be installed first."""


def output(*command: str, folder: Path = ROOT) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        shown = next((line for line in lines if "error" in line.lower()), lines[-1])
        raise Missing(f"{command[0]}: {shown}")
    return done.stdout


def version() -> str:
    """That of the source package of the installed ns-2."""
    if not shutil.which("dpkg-query"):
        raise Missing("Debian's packages are needed: there is no dpkg-query")
    found = output("dpkg-query", "--show", "--showformat=${source:Version}", "ns2").strip()
    if not found:
        raise Missing("ns-2 is not installed (Debian's package ns2)")
    return found


def archive() -> tuple[str, str]:
    """The archive that this machine's apt takes Debian's packages from, and its release."""
    targets = output("apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(SITE)")
    for line in targets.splitlines():
        origin, codename, site = line.split()
        if origin == "Debian" and "-" not in codename:
            return site, codename
    raise Missing("apt has no archive of Debian: add one to its sources, and run apt-get update")


def sources() -> Path:
    """The folder with the headers of the installed version, fetched before or now."""
    wanted = version()
    folder = FOLDER / wanted
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for below in ("state/lists/partial", "cache/archives/partial"):
            (folder / "apt" / below).mkdir(parents=True)
        site, codename = archive()
        listed = folder / "apt" / "sources.list"
        listed.write_text(f"deb-src [signed-by={KEYRING}] {site} {codename} main\n", encoding="utf-8")
        options = [
            f"-oDir::State={folder / 'apt' / 'state'}",
            "-oDir::State::status=/dev/null",
            f"-oDir::Cache={folder / 'apt' / 'cache'}",
            f"-oDir::Etc::sourcelist={listed}",
            "-oDir::Etc::sourceparts=/dev/null",
            "-oAPT::Sandbox::User=",
            "-oAcquire::Languages=none",
        ]
        output("apt-get", *options, "update")
        # Without Debian's changes, which are for its own build. A queue checks that the program lays out objects alike.
        output("apt-get", *options, "source", "--tar-only", "--only-source", f"ns2={wanted}", folder=folder)
        (packed,) = folder.glob("ns2_*.orig.tar.*")
        output("tar", "--extract", "--file", str(packed), "--wildcards", "*.h", folder=folder)
        packed.unlink()
        (folder / "complete").touch()
    (top,) = folder.glob("ns-*/")
    return top


def build() -> Path:
    """The module, built anew."""
    for path, package in LIBRARIES.items():
        if not path.exists():
            raise Missing(f"{path} is not there (Debian's package {package})")
    top = sources()
    (FOLDER / "autoconf.h").write_text(AUTOCONF, encoding="utf-8")
    folders = [FOLDER, *(top / name for name in INCLUDED), *filter(Path.is_dir, LIBRARIES)]
    # Without contraction, sums and products round as in ns-2 itself.
    flags = ["-std=c++14", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-DNO_TK", "-DUSE_INTERP_RESULT"]
    # Of ns-2's headers, which are older than today's warnings.
    flags += ["-DCPP_NAMESPACE=std", "-fpermissive", "-w"]
    parts = sorted(str(path) for path in HERE.glob("*.cc"))
    output("g++", *flags, *(f"-I{folder}" for folder in folders), *parts, "-o", str(MODULE))
    shutil.copy(HERE / "defaults.tcl", MODULE.parent)
    return MODULE


if __name__ == "__main__":
    try:
        print(build())
    except Missing as error:
        sys.exit(f"ns2-modules: {error}")
