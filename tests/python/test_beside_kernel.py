"""The simulator's Reno, CUBIC and BBR beside the kernel's: the pages, and recordings made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.fidelity import ack_by_ack as acks
from experiments.fidelity import page as fidelity


def test_the_pages_are_those_of_their_csv():
    made = dict(acks.files(fidelity.counts(fidelity.Summary())))
    assert made == {page: page.read_text(encoding="utf-8") for page in acks.PAGES}


def test_throughput_is_compared_by_seed():
    """Each seed loses the same packets on both sides: 10 % more with each is 10 %, however far apart the seeds are."""
    rows = [
        {"path": path, "control": "reno", "kernel_per_s": str(rate), "simulated_per_s": str(1.1 * rate)}
        for path in acks.PATHS
        for rate in (100, 300, 500)
    ]
    table = acks.throughput(rows)
    assert "| RED | 3 | 300 (100 to 500) | 330 (110 to 550) | +10.0 ± 0.0 |" in table
    rows[0]["simulated_per_s"] = "95"
    assert "| no loss | 3 | 300 (100 to 500) | 325 (95 to 550) | +5.0 ± 21.5 |" in acks.throughput(rows)


def row(**cells: str) -> dict[str, str]:
    same = {"kernel_lost": "0", "model_lost": "0", "kernel_state": "0", "model_state": "0", "timer": "", "known": "1"}
    return same | {"kernel_ssthresh": "9", "model_ssthresh": "9", "kernel_sent": "4-5", "model_sent": "4-6"} | cells


def test_differences_by_kind():
    assert acks.kind(row()) == "window"
    assert acks.kind(row(model_lost="1")) == "loss"
    assert acks.kind(row(timer="early", model_lost="1")) == "timer"
    assert acks.kind(row(known="0")) == "next"
    assert acks.kind(row(known="0", kernel_sent="4-7")) == "window", "more than simulated is no interruption"
    assert acks.kind(row(kernel_state="3")) == "other"
    assert acks.segments("4-6 9 9") == {4: 1, 5: 1, 6: 1, 9: 2}


def test_models_of_the_path_are_compared():
    """A bandwidth may differ by half a per cent; a gain is the same or not."""
    one = {"kernel_bw": "800", "model_bw": "804", "kernel_min_rtt_us": "40000", "model_min_rtt_us": "40201"}
    one |= {"kernel_pacing_gain": "320", "model_pacing_gain": "320", "kernel_cwnd_gain": "512"}
    one |= {"model_cwnd_gain": "739", "kernel_rate": "990", "model_rate": "984", "late_us": "20 -501 500"}
    unknown = dict.fromkeys(one, "") | {"late_us": "30"}
    found = acks.of_bbr([one, unknown])
    assert {name: found[name] for name in ("known_bbr", *acks.OF_BBR)} == {
        "known_bbr": 1, "bw": 1, "min_rtt_us": 0, "pacing_gain": 1, "cwnd_gain": 0, "rate": 0,
    }  # fmt: skip
    assert (found["timed"], found["in_time"], found["late_median_us"], found["late_99_us"]) == (4, 3, 30, 500)


def test_a_recording_of_the_kernel(root: Path):
    """Most answers are the kernel's: 99 of 100 with Reno; CUBIC's depend on the tick as well.

    BBR's differ in Startup and Drain, some hundred in all: of three seconds these would be one in twenty.
    """
    built = [root / "target" / profile / "examples" / "beside_kernel" for profile in ("release", "debug")]
    built = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.skip("cargo build --package fairdrop-sim --example beside_kernel makes what plays recordings")
    for control, least, seconds in (("reno", 0.97, 3.0), ("cubic", 0.9, 3.0), ("bbr", 0.97, 12.0)):
        try:
            recording = acks.record(acks.options("loss of 1 %"), control, seconds)
        except acks.NotPossible as missing:
            pytest.skip(f"no recording: {missing}")
        found = acks.compare(acks.play(recording, control, built[-1]))
        # What came between two ACKs on a busy machine is none of the sender's.
        assert found["acks"] > 100
        assert found["same"] + found["next"] >= least * found["acks"], found
        if control == "bbr":
            for name in ("bw", "min_rtt_us", "pacing_gain", "cwnd_gain", "rate"):
                assert found[name] >= 0.95 * found["known_bbr"] > 100, (name, found)
