"""Scenarios that ask for more memory than a limit leaves: refused before anything is simulated."""

from __future__ import annotations

import subprocess
import sys

import pytest

GIGABYTE = 1 << 30


@pytest.fixture
def limited(tmp_path):
    """Runs the command in an address space of a gigabyte, as after ``ulimit -v 1048576``."""

    def run(*words):
        # One thread of the linear algebra that Python's libraries bring along: each reserves addresses of its own.
        code = (
            f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({GIGABYTE}, {GIGABYTE}));"
            "import runpy; runpy.run_module('fairdrop', run_name='__main__', alter_sys=True)"
        )
        command = ["env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", sys.executable, "-c", code, *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    return run


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (("queue.discipline=drr", "queue.limit=8000000p"), "queue.limit = 8000000p"),
        (("groups.tcp.count=2000000",), "groups.tcp.count = 2000000"),
        (("duration=1e7", "sample=1", 'windows=["tcp"]'), "windows = the windows of 32 flows"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_field(limited, headline, settings, field):
    words = [word for setting in settings for word in ("--set", setting)]
    done = limited("run", headline, *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"fairdrop: error: {headline}: {field} "), done.stderr
    assert "available" in done.stderr and "ulimit -v" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_sweep_names_the_scenario_that_does_not_fit(limited, headline, tmp_path):
    study = f'base = "{headline}"\nseeds = 1\n[axes]\n"queue.limit" = ["8000000p"]\ndiscipline = ["drr"]\n'
    (tmp_path / "study.toml").write_text(study)
    done = limited("sweep", "study.toml", "--threads", "1")
    assert done.returncode == 1, done.stderr
    assert f"{headline}: queue.limit = 8000000p is not valid here: " in done.stderr
    assert "Traceback" not in done.stderr


def test_what_fits_runs(limited, headline):
    done = limited("run", headline, "--set", "duration=20s", "--set", "warm_up=5s", "--quiet")
    assert done.returncode == 0, done.stderr
