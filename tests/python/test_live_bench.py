"""What `make bench-live` makes of the packets that its receiver saw."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

RATE_BPS, LEN, OVERHEAD = 10_000_000, 1486, 14
TOOK_NS = (LEN + OVERHEAD) * 8 * 10**9 // RATE_BPS


@pytest.fixture(scope="module")
def analysis(root):
    """The script benches/live/analysis.py as a module."""
    spec = importlib.util.spec_from_file_location("live_analysis", root / "benches" / "live" / "analysis.py")
    module = importlib.util.module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


def packets(at_ns, sent_ns=None):
    """As `probe receive` writes them; sent long before unless given."""
    at = np.asarray(at_ns, dtype=np.int64)
    sent = at - 10 * TOOK_NS if sent_ns is None else np.asarray(sent_ns, dtype=np.int64)
    return np.column_stack([at, np.full_like(at, LEN), np.arange(len(at)), sent])


def test_what_is_written_is_read(analysis, tmp_path):
    file = tmp_path / "packets"
    seen = packets([5, 7, 11])
    file.write_bytes(seen.tobytes())
    assert (analysis.read(file) == seen).all()


def test_an_exact_rate_has_no_error(analysis):
    seen = packets(np.arange(3000) * TOOK_NS)
    for window_s, least in ((1.0, 2), (0.1, 25)):
        found = analysis.rate_errors(seen, RATE_BPS, OVERHEAD, window_s, skip_s=0.5)
        assert len(found.errors) == found.total >= least
        assert np.abs(found.errors).max() < 1e-12


def test_a_pause_is_in_its_window_only(analysis):
    at = np.arange(3000) * TOOK_NS
    at[2000:] += 1_000_000
    errors = analysis.rate_errors(packets(at), RATE_BPS, OVERHEAD, 0.1, skip_s=0.5).errors
    assert (np.abs(errors) > 1e-9).sum() == 1
    # A millisecond less in a window of 100 ms.
    assert errors.min() == pytest.approx(-0.01, rel=0.05)


def test_a_pause_of_the_sender_is_no_error_of_the_link(analysis):
    at = np.arange(3000) * TOOK_NS
    sent = at - 10 * TOOK_NS
    at[2000:] += 1_000_000
    sent[2000:] += 1_000_000
    windows = analysis.rate_errors(packets(at, sent), RATE_BPS, OVERHEAD, 0.1, skip_s=0.5).total
    sent[2000] = at[1999] + 1
    found = analysis.rate_errors(packets(at, sent), RATE_BPS, OVERHEAD, 0.1, skip_s=0.5)
    assert (found.total, len(found.errors)) == (windows, windows - 1)
    assert np.abs(found.errors).max() < 1e-12


def test_windows_without_a_pause(analysis, tmp_path):
    """One packet comes 2 ms late: the window that ends with it and the one that begins with it are wrong."""
    at = np.arange(3000) * TOOK_NS
    exact = analysis.rate_errors(packets(at), RATE_BPS, OVERHEAD, 0.1, skip_s=0.5)
    late = int(np.searchsorted(at, exact.end[3]))
    at[late] += 1_100_000
    found = analysis.rate_errors(packets(at), RATE_BPS, OVERHEAD, 0.1, skip_s=0.5)
    assert (np.abs(found.errors) > 0.01).sum() == 2
    file = tmp_path / "pauses"
    for begin_ns, wrong in ((-1_100_000, 0), (150_000_000, 2)):
        pause = np.array([[at[late] + begin_ns, at[late] + begin_ns + 1_000_000, 1_000_000]], dtype=np.int64)
        file.write_bytes(pause.tobytes())
        paused = found.paused(analysis.read_pauses(file))
        assert 0 < (paused > 0).sum() < found.total
        assert (np.abs(found.errors[paused == 0]) > 0.01).sum() == wrong
        # It was late by 100 us more than the pause.
        beyond = (np.abs(found.errors) - paused).max()
        assert beyond == pytest.approx(0.001 if wrong == 0 else 0.011, rel=0.1)
    assert not found.paused(np.empty((0, 3), dtype=np.int64)).any()


def test_pauses_add_up_and_are_counted_once(analysis):
    window = analysis.Windows(np.zeros(1), np.array([0]), np.array([100_000_000]), 1)

    def paused_ms(*pauses):
        ms = [[begin * 1_000_000, end * 1_000_000, length * 1_000_000] for begin, end, length in pauses]
        return window.paused(np.array(ms, dtype=np.int64))[0] * 100

    assert paused_ms((10, 20, 8), (50, 55, 5)) == pytest.approx(13)
    # The same pause, seen by the watch and by a thread.
    assert paused_ms((10, 20, 10), (11, 19, 8)) == pytest.approx(10)
    # One that begins while the other lasts; one that contains both; one that is over.
    assert paused_ms((10, 20, 10), (15, 30, 15)) == pytest.approx(20)
    assert paused_ms((10, 20, 10), (12, 14, 2), (13, 30, 17)) == pytest.approx(20)
    assert paused_ms((-20, -10, 10)) == 0


def test_a_wrong_rate_is_seen(analysis):
    seen = packets(np.arange(3000) * TOOK_NS)
    errors = analysis.rate_errors(seen, RATE_BPS * 1.001, OVERHEAD, 1.0, skip_s=0.5).errors
    assert errors == pytest.approx(-0.000999, abs=1e-6)


def test_the_exact_link_sends_one_after_another(analysis):
    delay_s = 0.010
    sent = np.array([0, 0, 100_000, 9_000_000])
    due = np.array([TOOK_NS, 2 * TOOK_NS, 3 * TOOK_NS, 9_000_000 + TOOK_NS]) + int(delay_s * 1e9)
    late = np.array([0, 5_000, 0, 20_000])
    errors = analysis.delay_errors_us(packets(due + late, sent), RATE_BPS, OVERHEAD, delay_s)
    assert errors == pytest.approx(late / 1e3)


def test_order_of_arrival_does_not_matter_to_delays(analysis):
    seen = packets([TOOK_NS, 2 * TOOK_NS + 3_000], [0, 0])[::-1]
    errors = analysis.delay_errors_us(seen, RATE_BPS, OVERHEAD, 0.0)
    assert errors == pytest.approx([0.0, 3.0])
