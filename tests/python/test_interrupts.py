"""Ctrl-C while the command loads, and while it waits for its input."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios

import pytest

from processes import Work
from test_replay import packet, pcap

GIGABYTE = 1 << 30
# Python runs this before anything of the command: the signal comes when a module is asked for.
HOOK = """\
import os, signal, sys
wanted = [os.environ["INTERRUPT_AT"]]
def hook(event, arguments):
    if event == "import" and arguments[0] in wanted:
        wanted.clear()
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
"""
RUN = ["run", "HEADLINE", "--set", "duration=2s", "--set", "warm_up=1s", "--report", "r.html", "--out", "o"]
EQUILIBRIUM = [
    "model",
    "equilibrium",
    "--capacity",
    "125",
    "--tcp-flows",
    "32",
    "--delay",
    "0.1",
    "--min-th",
    "20",
    "--max-th",
    "520",
    "--max-p",
    "0.5",
    "--udp-rate",
    "125",
]


@pytest.mark.parametrize(
    ("words", "module"),
    [
        *(
            (RUN, module)
            for module in (
                "fairdrop.terminal", "fairdrop.cli.errors", "fairdrop.cli.parser", "argparse",
                "fairdrop._core", "fairdrop.cli.commands", "fairdrop.cli.model_grammar", "fairdrop.scenario",
                "fairdrop.result", "fairdrop.cli.show", "fairdrop.report.page", "numpy", "matplotlib", "jinja2",
            )
        ),
        *((EQUILIBRIUM, module) for module in ("fairdrop.models", "numpy", "scipy.optimize")),
        *((["reproduce", "choke-fig2"], module) for module in ("fairdrop.reproduce.command", "numpy")),
        (["conformance", "list"], "fairdrop.conformance"),
        (["list"], "json"),
    ],
)  # fmt: skip
def test_ctrl_c_during_an_import_ends_quietly(headline, tmp_path, words, module):
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    places = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "fairdrop", *(str(headline) if word == "HEADLINE" else word for word in words)]
    environment = os.environ | {"PYTHONPATH": places, "INTERRUPT_AT": module}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.removeprefix("report: r.html\n") in ("", "fairdrop: error: interrupted\n")
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_process_that_ignores_ctrl_c_goes_on(headline, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    places = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    script = 'trap "" INT; exec "$@"'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "fairdrop", "list", "red"]
    environment = os.environ | {"PYTHONPATH": places, "INTERRUPT_AT": "argparse"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_ctrl_c_while_a_capture_is_awaited_on_stdin(tmp_path):
    """The header is there, and no packet comes."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "fairdrop", "replay", "-"]
    with Work(command, cwd=tmp_path, stdin=reader, stderr=subprocess.PIPE, text=True) as waiting:
        os.write(writer, pcap([]))
        while unread(reader) and waiting.poll() is None:
            os.sched_yield()
        waiting.send_signal(signal.SIGINT)
        _, stderr = waiting.communicate(timeout=60)
    os.close(reader)
    os.close(writer)
    assert waiting.returncode == 130, stderr
    assert stderr == "fairdrop: error: interrupted\n"


def unread(pipe: int) -> int:
    """Bytes that nobody has read yet."""
    answer = fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0))
    return int(struct.unpack("i", answer)[0])


def test_ctrl_c_while_a_capture_keeps_coming(tmp_path):
    """Packets come without end, so that no read ever waits; sent on until nobody takes them."""
    packets = packet(0, 40, 7) * 4000
    command = [sys.executable, "-m", "fairdrop", "replay", "-"]
    with Work(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as reading:
        assert reading.stdin is not None
        reading.stdin.write(pcap([]))
        taken = 0
        try:
            while taken < GIGABYTE:
                # A pipe holds 64 KiB: when the second piece is written, the command reads.
                reading.stdin.write(packets)
                if taken == len(packets):
                    reading.send_signal(signal.SIGINT)
                taken += len(packets)
        except BrokenPipeError:
            pass
        with contextlib.suppress(BrokenPipeError):
            reading.stdin.close()
        stderr = reading.stderr.read() if reading.stderr else b""
    assert reading.returncode == 130, stderr
    assert stderr == b"fairdrop: error: interrupted\n"
    assert taken < GIGABYTE


def test_ctrl_c_ends_the_queue_host():
    """It would take years; the signal comes once its thread is there."""
    script = """\
import os, signal, threading
import fairdrop

def threads():
    return len(os.listdir("/proc/self/task"))

def interrupt():
    while threads() <= before:
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)

queue_host = fairdrop.queue_host
watch = threading.Thread(target=lambda: ready.wait() and interrupt())
ready = threading.Event()
watch.start()
before = threads()
ready.set()
try:
    queue_host([1.0], arrivals=2**63)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
