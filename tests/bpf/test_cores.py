"""The C cores of the BPF qdiscs decide as the library does, in fixed point."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# The average has 32 binary places: its largest difference in the vectors is 5 parts in 10^8, in `red/first-packet`.
TOLERANCE = "1e-7"
# What the programs leave out, by vector, and the reason that they give.
DECLINED = {
    "choke/average-in-bytes": "no average_in bytes",
    "choke/average-in-cells": "no average_in cells",
    "choke/back": "no draw tail",
    "choke/burst-average-once": "no bursts in modes",
    "choke/burst-count-down": "no bursts in modes",
    "choke/burst-modes": "no bursts in modes",
    "choke/burst-snapshot": "no bursts in modes",
    "choke/count-on-match-ns2": "no ns2_compat",
    "choke/no-bytes": "no average_in cells",
    "choke/no-length-cells": "no average_in cells",
    "choke/red-first": "no order red_first",
    "choke/spread": "no draw spread",
    "choke/survivor-3": "no average_in cells",
    "choke/survivor-5": "no draw spread",
    "chokew/survivor-2": "no idle_decay_only",
    "chokew/uncapped": "no uncapped 1",
    "red/burst-average-once": "no bursts in modes",
    "red/burst-count-down": "no bursts in modes",
    "red/burst-modes": "no bursts in modes",
    "red/idle-decay-only": "no idle_decay_only",
    "red/linux": "no linux 6.12",
    "red/linux-10": "no linux 6.12",
    "red/linux-180": "no linux 6.12",
    "red/linux-27": "no linux 6.12",
    "red/linux-43": "no linux 6.12",
    "red/linux-62": "no linux 6.12",
    "red/linux-74": "no linux 6.12",
    "red/linux-b10": "no linux 6.12",
    "red/linux-b2": "no linux 6.12",
    "red/linux-b4": "no linux 6.12",
    "red/linux-b75": "no linux 6.12",
    "red/linux-largest-shift": "no linux 6.12",
    "red/linux-idle": "no linux 6.12",
    "red/linux-long-idle": "no linux 6.12",
    "red/ns2-compat": "no ns2_compat",
    "red/ns2-compat-forced": "no ns2_compat",
    "red/survivor-1": "no ns2_compat",
}


def check(*arguments: str | Path) -> tuple[int, str]:
    command = [Path(sys.executable).parent / "fairdrop", "conformance", "check", "--format", "text", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("discipline", ["red", "choke", "chokew", "ward", "collar_integer"])
def test_decisions_draws_and_averages_are_those_of_the_vectors(native, discipline):
    """Every drop, comparison and random number: the fixed-point average changes no decision."""
    status, text = check("--discipline", discipline, "--tolerance", TOLERANCE, "--", native / "play")
    assert status == 0, text
    assert "number of draws was not checked" not in text
    declined = dict(re.findall(r"^skipped +(\S+) +(.+?) *$", text, re.MULTILINE))
    assert declined == {name: reason for name, reason in DECLINED.items() if name.startswith(f"{discipline}/")}


@pytest.mark.parametrize(
    ("file", "right", "wrong", "discipline"),
    [
        ("red/red.h", "red->avg < params->max_th)", "red->avg <= params->max_th)", "red"),
        ("core/ring.h", "2 * ring->packets + FD_SLACK", "3 * ring->packets + FD_SLACK", "choke"),
        ("chokew/chokew.h", "queue > params->l_plus", "queue >= params->l_plus", "chokew"),
        ("ward/ward.h", "(fd_u64)waiting + 1", "(fd_u64)waiting", "ward"),
        ("collar/collar.h", "if (n >= 2 && place)", "if (n >= 3 && place)", "collar_integer"),
    ],
)
def test_a_wrong_core_is_noticed(tmp_path, root, file, right, wrong, discipline):
    """Otherwise the test above could not fail."""
    for source in (root / "bpf").rglob("*.[ch]"):
        copy = tmp_path / source.relative_to(root / "bpf")
        copy.parent.mkdir(exist_ok=True)
        text = source.read_text(encoding="utf-8")
        if source == root / "bpf" / file:
            assert text.count(right) == 1
            text = text.replace(right, wrong)
        copy.write_text(text, encoding="utf-8")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-w", tmp_path / "native" / "play.c", "-o", tmp_path / "play"], check=True, timeout=120)
    status, text = check("--discipline", discipline, "--tolerance", TOLERANCE, "--", tmp_path / "play")
    assert status == 1 and "failed " in text, text


@pytest.fixture
def beside_the_library(tmp_path, root) -> Callable[[Path], subprocess.CompletedProcess[str]]:
    """Plays random packets to COLLAR's core in a folder and to the library."""
    archive = root / "target" / "c" / "libfairdrop_ffi.a"
    if not archive.exists():
        pytest.skip("there is no C library (make ffi)")

    def play(folder: Path) -> subprocess.CompletedProcess[str]:
        source, program = folder / "native" / "random_collar.c", tmp_path / "random_collar"
        header = root / "crates" / "fairdrop-ffi" / "include"
        command = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-w", f"-I{header}", source, archive, "-lm"]
        subprocess.run([*command, "-o", program], check=True, timeout=120)
        return subprocess.run([program, "2000000", "1"], capture_output=True, text=True, timeout=120, check=False)

    return play


def test_collar_decides_as_the_library_on_random_packets(beside_the_library, root):
    done = beside_the_library(root / "bpf")
    assert done.returncode == 0, done.stdout
    packets, departures, *counts = (int(number) for number in re.findall(r"\d+", done.stdout))
    assert packets >= 2_000_000 and departures > 1_000_000
    assert len(counts) == 5 and all(count > 50 for count in counts), "marks and every cause of a drop"


def test_random_packets_notice_a_wrong_core(beside_the_library, tmp_path, root):
    folder = tmp_path / "bpf"
    shutil.copytree(root / "bpf", folder)
    header = folder / "collar" / "collar.h"
    text = header.read_text(encoding="utf-8")
    assert text.count("u < rest ||") == 1
    header.write_text(text.replace("u < rest ||", "u <= rest + 1000000 ||"), encoding="utf-8")
    done = beside_the_library(folder)
    assert done.returncode == 1 and "packet " in done.stdout


def test_arithmetic_shaper_ring_and_bounds(native):
    done = subprocess.run([native / "check"], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "0 findings\n"), done.stdout


def test_objects_are_portable_and_small(objects):
    """No path of this machine, the licence that the kernel's functions ask for, types for any kernel."""
    for program in ("red", "choke", "chokew", "ward", "collar"):
        contents = (objects / f"fairdrop-{program}.bpf.o").read_bytes()
        assert os.fsencode(objects.parents[1]) not in contents
        assert b"Dual BSD/GPL" in contents and b".BTF.ext" in contents
        assert contents.count(b"fairdrop_noname") == 1, "the loader writes a name in its place"


def test_every_file_names_its_licence(root):
    for path in (root / "bpf").rglob("*"):
        if path.is_file() and not path.name.startswith("LICENSE") and path.suffix != ".md":
            assert "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause" in path.read_text(encoding="utf-8"), path
