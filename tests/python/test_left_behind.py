"""Full disks and killed processes: nothing is left that could be taken for a result."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairdrop.lock import FILE as LOCK
from processes import Work

SHORT = ("--set", "duration=2s", "--set", "warm_up=1s")
LONG = ("--set", "duration=60s", "--set", "warm_up=1s", "--set", "sample=10ms")


def limited(folder: Path, words: list[str], size: int, *, fatal: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs the command where no file may grow beyond ``size`` bytes: writing fails, or kills when it is ``fatal``."""
    environment = dict(os.environ)
    if fatal:
        # Python asks for an error in place of the signal; this asks for the signal again, before anything is loaded.
        (folder / "sitecustomize.py").write_text("import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), environment.get("PYTHONPATH")]))
        environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    command = [sys.executable, "-m", "fairdrop", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False, preexec_fn=limit
    )


def dead_process() -> int:
    """A number that no process has."""
    with Work(["true"]) as ended:
        ended.wait()
    return ended.pid


@pytest.mark.parametrize("option", ["--out", "--trace"])
def test_what_a_killed_process_left_is_removed_by_the_next(fairdrop, headline, tmp_path, option):
    words = ["run", str(headline), option, "o", "--quiet", *LONG]
    killed = limited(tmp_path, words, 20_000, fatal=True)
    assert killed.returncode == -signal.SIGXFSZ
    files = [path for path in (tmp_path / "o").rglob("*") if path.is_file()]
    assert files, "it was killed while it wrote"
    assert all(".tmp/" in str(path) or path.name == LOCK for path in files), "nothing has its name yet"
    shown = fairdrop("show", "o")
    assert shown.returncode == 2
    assert "no complete result" in shown.stderr
    (tmp_path / "sitecustomize.py").unlink()
    done = fairdrop(*words)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.tmp*"))


def test_temporary_files_of_the_dead_are_removed_and_no_others(fairdrop, headline, tmp_path):
    folder = tmp_path / "o"
    folder.mkdir()
    dead, alive = dead_process(), os.getpid()
    gone = [f"runs.parquet.{dead}.tmp", f"result.json.{dead}-3.tmp", f"model.json.{dead}.tmp"]
    for name in gone:
        (folder / name).touch()
    (folder / f".staged.{dead}-0.tmp").mkdir()
    (folder / f".staged.{dead}-0.tmp" / "runs.parquet").touch()
    kept = [f"runs.parquet.{alive}.tmp", f"notes.txt.{dead}.tmp", "runs.parquet.tmp", f"groups.parquet.{dead}.tmp"]
    for name in kept:
        (folder / name).touch()
    # A process in another container may have a number that is free here: it holds a lock.
    with (folder / kept[-1]).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert fairdrop("run", headline, "--out", "o", "--quiet", *SHORT).returncode == 0
    assert {path.name for path in folder.iterdir() if path.name.endswith(".tmp")} == set(kept)
    assert fairdrop("run", headline, "--out", "o", "--quiet", *SHORT).returncode == 0
    assert not (folder / kept[-1]).exists(), "now nobody holds it"


def test_temporary_reports_and_kept_runs_are_removed(fairdrop, headline, tmp_path):
    dead = dead_process()
    (tmp_path / f"r.html.{dead}-0.tmp").touch()
    (tmp_path / f"other.html.{dead}-0.tmp").touch()
    (tmp_path / "o" / "runs").mkdir(parents=True)
    (tmp_path / "o" / "runs" / f"choke-1.json.{dead}.tmp").touch()
    done = fairdrop("run", headline, "--report", "r.html", "--out", "o", "--resume", "--quiet", *SHORT)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.rglob("*.tmp")] == [f"other.html.{dead}-0.tmp"]


def test_runs_at_the_same_time_do_not_remove_each_others_files(headline, tmp_path):
    """Those that find the folder in use are refused; the result is that of one of the others, whole."""
    command = [sys.executable, "-m", "fairdrop", "run", str(headline), "--out", "o", "--quiet", *SHORT]
    running = [Work([*command, "--set", f"seed={seed}"], cwd=tmp_path) for seed in range(1, 7)]
    assert 0 in {process.wait(timeout=120) for process in running} <= {0, 2}
    assert len(list((tmp_path / "o").iterdir())) == 20
    assert json.loads((tmp_path / "o" / "result.json").read_text())["complete"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--out", "o"], "o/"),
        (["--out", "made/for/it"], "made/for/it/"),
        (["--trace", "t"], "t/choke-1/"),
        (["--report", "r.html"], "r.html"),
        (["--out", "o", "--resume"], "o/runs/choke-1.json"),
    ],
)
def test_a_file_that_cannot_grow_is_named_and_nothing_is_left(headline, tmp_path, words, name):
    # The description of the work that is resumed has a few thousand bytes.
    done = limited(tmp_path, ["run", str(headline), "--quiet", *words, *LONG], 20_000 if "--resume" in words else 3000)
    assert done.returncode == 2
    assert done.stderr.startswith(f"fairdrop: error: {name}")
    assert done.stderr.rstrip().endswith(": File too large")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "work.json"] == []
    assert "--resume" in words or list(tmp_path.iterdir()) == []


def test_the_other_outputs_are_made_where_one_fails(headline, tmp_path):
    words = [
        "run",
        str(headline),
        "--json",
        "--quiet",
        "--out",
        "o",
        "--timing",
        "t.json",
        "--report",
        "r.html",
        *SHORT,
    ]
    done = limited(tmp_path, words, 3000)
    assert done.returncode == 2
    assert [line.split(":")[2].strip().split("/")[0] for line in done.stderr.splitlines()] == ["o", "r.html"]
    assert json.loads(done.stdout)["complete"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def small_disk(folder: Path, size: str, *scripts: str) -> subprocess.CompletedProcess[str]:
    """Runs lines of shell where ``disk`` is a file system of that size, which is gone afterwards."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare(1) to mount a small file system with")
    (folder / "disk").mkdir(exist_ok=True)
    fairdrop = f'fairdrop() {{ "{sys.executable}" -m fairdrop "$@"; }}'
    mount = f"mount -t tmpfs -o size={size} tmpfs disk || exit 77"
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    script = "\n".join([mount, fairdrop, *scripts])
    done = subprocess.run(
        ["unshare", *user, "--mount", "sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    return done


def test_a_full_disk_leaves_no_part_of_a_result(headline, tmp_path):
    done = small_disk(
        tmp_path, "64k", f"fairdrop run {headline} --out disk/new --quiet {' '.join(LONG)}", "echo $?", "ls -A disk"
    )
    assert done.stdout == "2\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("fairdrop: error: disk/new/")
    assert line.endswith(": No space left on device")


def test_a_full_disk_leaves_an_older_result_whole(headline, tmp_path):
    old, new = (f"fairdrop run {headline} --out disk/o --quiet {' '.join(length)}" for length in (SHORT, LONG))
    done = small_disk(
        tmp_path, "400k", old, "echo $?; cp -r disk/o before", f"{new} --set groups.udp.count=50", "echo $?",
        "diff -r disk/o before && echo same; fairdrop show disk/o | head -1; ls -A disk",
    )  # fmt: skip
    first, second, same, head, listed = done.stdout.splitlines()
    assert (first, second, same, listed) == ("0", "2", "same", "o"), done.stderr
    assert head.startswith("discipline  queue")


@pytest.mark.parametrize(
    "words",
    [
        f"run HEADLINE --trace disk/t --quiet {' '.join(LONG)}",
        f"run HEADLINE --report disk/r.html --quiet {' '.join(SHORT)}",
        "model front --mu 1 --rates 0.5,1 --plot disk/p.png",
        "reproduce choke-table1 --seeds 1 --set duration=2s --set warm_up=1s --out disk/r --quiet",
        f"run HEADLINE --out disk/o --resume --quiet {' '.join(LONG)}",
    ],
)
def test_every_message_of_a_full_disk_names_the_file(headline, tmp_path, words):
    done = small_disk(tmp_path, "12k", f"fairdrop {words.replace('HEADLINE', str(headline))}", "echo $?")
    assert done.stdout.splitlines()[-1] == "2", done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith("fairdrop: error: disk/"), done.stderr
    assert line.endswith(": No space left on device")
    for word in ("External", "os error", "Errno"):
        assert word not in line


def test_an_interrupted_run_leaves_no_part_of_a_trace(headline, tmp_path):
    """Ctrl-C once the trace is being written."""
    words = ["run", str(headline), "--trace", "t", "--set", "duration=1e6s", "--quiet"]
    with Work([sys.executable, "-m", "fairdrop", *words], cwd=tmp_path) as running:
        while not list(tmp_path.glob("t/*/.staged.*.tmp/*.parquet")) and running.poll() is None:
            os.sched_yield()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
    assert not (tmp_path / "t").exists()
