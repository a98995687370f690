"""The simulator's Reno and CUBIC beside the kernel's: the page, and a recording made here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

MODULES = ("ack_by_ack", "recording", "page", "cells")


@pytest.fixture
def acks(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that compares, as a module."""
    monkeypatch.syspath_prepend(str(root / "validation" / "fidelity"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # Other folders have scripts of these names as well.
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("ack_by_ack")
    for name in MODULES:
        sys.modules.pop(name, None)


def test_the_page_is_that_of_its_csv(acks):
    text = acks.PAGE.read_text(encoding="utf-8")
    summary = acks.fidelity.Summary(acks.HERE / "summary.csv")
    assert text == acks.fidelity.rewritten(text, acks.sections(acks.STORED.read_text(encoding="utf-8"), summary))


def row(**cells: str) -> dict[str, str]:
    same = {"kernel_lost": "0", "model_lost": "0", "kernel_state": "0", "model_state": "0", "timer": "", "known": "1"}
    return same | {"kernel_ssthresh": "9", "model_ssthresh": "9", "kernel_sent": "4-5", "model_sent": "4-6"} | cells


def test_differences_by_kind(acks):
    assert acks.kind(row()) == "window"
    assert acks.kind(row(model_lost="1")) == "loss"
    assert acks.kind(row(timer="early", model_lost="1")) == "timer"
    assert acks.kind(row(known="0")) == "next"
    assert acks.kind(row(known="0", kernel_sent="4-7")) == "window", "more than simulated is no interruption"
    assert acks.kind(row(kernel_state="3")) == "other"
    assert acks.segments("4-6 9 9") == {4: 1, 5: 1, 6: 1, 9: 2}


def test_a_recording_of_the_kernel(acks, root: Path):
    """Most answers are the kernel's: 99 of 100 with Reno; CUBIC's depend on the tick as well."""
    built = [root / "target" / profile / "examples" / "beside_kernel" for profile in ("release", "debug")]
    built = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.skip("cargo build --package fairdrop-sim --example beside_kernel makes what plays recordings")
    for control, least in (("reno", 0.97), ("cubic", 0.9)):
        try:
            recording = acks.record(acks.options("loss of 1 %"), control, 3.0)
        except acks.NotPossible as missing:
            pytest.skip(f"no recording: {missing}")
        found = acks.compare(acks.play(recording, control, built[-1]))
        # What came between two ACKs on a busy machine is none of the sender's.
        assert found["acks"] > 100
        assert found["same"] + found["next"] >= least * found["acks"], found
