"""The C cores of the BPF qdiscs decide as the library does, in fixed point."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# The average has 32 binary places: its largest difference in the vectors is 5 parts in 10^8, in `red/first-packet`.
TOLERANCE = "1e-7"
# What the programs leave out, by vector, and the reason that they give.
DECLINED = {
    "choke/average-in-bytes": "no average_in bytes",
    "choke/average-in-cells": "no average_in cells",
    "choke/back": "no draw tail",
    "choke/count-on-match-ns2": "no ns2_compat",
    "choke/red-first": "no order red_first",
    "choke/spread": "no draw spread",
    "choke/survivor-3": "no average_in cells",
    "choke/survivor-5": "no draw spread",
    "chokew/survivor-2": "no idle_decay_only",
    "chokew/uncapped": "no uncapped 1",
    "red/idle-decay-only": "no idle_decay_only",
    "red/ns2-compat": "no ns2_compat",
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
