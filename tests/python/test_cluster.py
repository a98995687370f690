"""Sweeps on a Dask cluster: a real scheduler and worker processes, one of which is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import fairdrop
from fairdrop.study import cluster
from patience import PATIENCE, wait_for
from test_sweep import as_bytes, stored

distributed = pytest.importorskip("distributed")

AXES = {
    "discipline": ["red", "choke"],
    "queue.red.max_p": [0.02, 0.05, 0.1],
    "groups.udp.rate": {"from": "500kbit", "to": "4mbit", "points": 4, "log": True},
}
SEEDS = 10
RUNS = 2 * 3 * 4 * SEEDS


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.stack = stack
        self.folder = folder
        file = folder / "scheduler.json"
        self.start("dask_scheduler", "--scheduler-file", file, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        wait_for(file.exists, "the scheduler")
        self.address = distributed.Client(scheduler_file=str(file)).scheduler.address
        self.workers = [self.worker() for _ in range(2)]

    def worker(self) -> subprocess.Popen[bytes]:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        return self.start("dask_worker", self.address, *options, "--local-directory", self.folder)

    def start(self, module: str, *words: object) -> subprocess.Popen[bytes]:
        # Workers share the processors with this process, and must not die of being slow.
        environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "null"}
        command = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, words)]
        with (self.folder / f"{module}.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self.stack.callback(process.wait, PATIENCE)
        self.stack.callback(process.kill)
        return process


@pytest.fixture(scope="module")
def nodes(tmp_path_factory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        found = Cluster(tmp_path_factory.mktemp("cluster"), stack)
        with distributed.Client(found.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        yield found


@pytest.fixture(scope="module")
def scenario(headline):
    return fairdrop.load(headline, ["duration=20s", "warm_up=5s"])


@pytest.fixture(scope="module")
def here(scenario, tmp_path_factory):
    """The same on this machine."""
    return fairdrop.sweep(scenario, axes=AXES, seeds=SEEDS, out=tmp_path_factory.mktemp("here") / "o")


def test_the_same_bits_although_a_worker_is_killed(nodes, scenario, here, tmp_path):
    """Three axes and ten seeds on two workers; one is killed once runs have come back."""
    killed = []

    def kill() -> None:
        wait_for(lambda: stored(tmp_path / "o") > 50_000, "runs that came back")
        nodes.workers[0].send_signal(signal.SIGKILL)
        killed.append(nodes.workers[0].wait(PATIENCE))

    watch = threading.Thread(target=kill)
    watch.start()
    found = fairdrop.sweep(scenario, axes=AXES, seeds=SEEDS, out=tmp_path / "o", dask=nodes.address)
    watch.join()
    assert killed == [-signal.SIGKILL]
    assert (found.complete, found.runs, found.computed) == (True, RUNS, RUNS)
    assert as_bytes(found.folder) == as_bytes(here.folder)
    # What is done needs no cluster.
    assert fairdrop.sweep(scenario, axes=AXES, seeds=SEEDS, out=tmp_path / "o").computed == 0


def test_the_rule_for_seeds_is_the_same_there(nodes, scenario, tmp_path):
    asked = {
        "axes": {"groups.udp.rate": ["500kbit", "2mbit"]},
        "stop": {"measure": "share", "group": "udp", "half_width": 0.02, "min_seeds": 3, "max_seeds": 12},
    }
    there = fairdrop.sweep(scenario, **asked, out=tmp_path / "there", dask=nodes.address)
    assert as_bytes(there.folder) == as_bytes(fairdrop.sweep(scenario, **asked, out=tmp_path / "here").folder)


PARTS = """\
from fairdrop import CongestionControl, Discipline, param


class Short(Discipline):
    room = param.packets(10)

    def enqueue(self, packet):
        if len(self.queue) < self.room:
            self.queue.push(packet)
        else:
            self.drop(packet, "overflow")


class Careful(CongestionControl):
    decrease = param.number(0.5, 0.1, 0.9)

    def on_loss(self, loss):
        self.ssthresh = max(loss.flight * self.decrease, 2)
"""


def test_parts_of_ones_own_go_there(nodes, headline, tmp_path):
    """A discipline and a congestion control in Python: the same bits as here."""
    (tmp_path / "parts.py").write_text(PARTS)
    text = headline.read_text(encoding="utf-8").replace('schema = "', 'parts = ["parts.py"]\nschema = "', 1)
    settings = ["duration=10s", "warm_up=2s", "queue.discipline=short", "groups.tcp.transport=careful"]
    scenario = fairdrop.Scenario(text, str(tmp_path / "own.toml"), settings)
    axes = {"groups.tcp.decrease": [0.3, 0.8]}
    there = fairdrop.sweep(scenario, axes=axes, seeds=4, out=tmp_path / "there", dask=nodes.address)
    here = fairdrop.sweep(scenario, axes=axes, seeds=4, out=tmp_path / "here")
    assert there.runs == here.runs == 8 and not there.problems
    assert as_bytes(tmp_path / "there") == as_bytes(tmp_path / "here")


def test_the_command_goes_there(nodes, headline, tmp_path):
    (tmp_path / "s.toml").write_text(
        f'base = "{headline}"\nsettings = ["duration=3s", "warm_up=1s"]\nseeds = 2\n'
        "[axes]\nqueue.red.max_p = [0.02, 0.1]\n"
    )
    command = [sys.executable, "-m", "fairdrop", "sweep", "s.toml", "--dask", nodes.address]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 points, 4 runs, 4 of them simulated now" in done.stdout


def test_a_worker_with_another_fairdrop_is_refused():
    with pytest.raises(RuntimeError, match=r"a worker has fairdrop .*; valid: the same as here, 0\.0\.0-other"):
        cluster.run_task("0.0.0-other", cluster.Task({}, (), []))


def test_no_scheduler_is_reported(scenario, tmp_path, monkeypatch):
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(OSError, match="no scheduler answers"),
    ):
        fairdrop.sweep(scenario, axes=AXES, out=tmp_path / "o", dask="tcp://127.0.0.1:9")


def test_an_address_that_is_none_is_reported_at_once(scenario, tmp_path, monkeypatch):
    """Without a client, which would complain when it is thrown away."""
    monkeypatch.delattr(distributed.Client, "__init__")
    with pytest.raises(OSError, match=r"no scheduler answers \(missing port number.*valid: such as tcp://host:8786"):
        fairdrop.sweep(scenario, axes=AXES, out=tmp_path / "o", dask="nonsense")
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("a worker has fairdrop 1"), "dask: a worker has fairdrop 1"),
        (distributed.client.FutureCancelledError("key", "lost"), "dask: the scheduler has gone; what was finished"),
        (
            distributed.scheduler.KilledWorker("key", None, 4),
            "dask: a task was lost with every worker that had it; what was finished",
        ),
    ],
)
def test_a_cluster_that_fails_is_reported(error, message):
    class Future:
        def result(self):
            raise error

    with pytest.raises(ValueError, match=message):
        cluster._Sender(None, None)._take_back(Future())
