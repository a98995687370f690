"""Processes that tests start: their signals, and their end when a test fails or hangs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Names in the environment of each process which session and which test it was started by.
VARIABLE = "FAIRDROP_TEST"
# For cargo where it builds something for one test: nobody looks for a line in it, nor changes it.
QUICK_BUILD = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0", "CARGO_INCREMENTAL": "0"}


@contextlib.contextmanager
def kept_build(root: Path) -> Iterator[dict[str, str]]:
    """The environment for a cargo that keeps what it compiles for the next test, one process at a time.

    Cargo itself holds its lock for compiling alone: a second one would replace a library below the tests of the first.
    """
    folder = root / "target" / "new"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield os.environ | QUICK_BUILD | {"CARGO_TARGET_DIR": str(folder)}


class Work(subprocess.Popen[Any]):
    """A process that does not outlive the block that it is used in, also where that fails."""

    def __exit__(self, kind: Any, *more: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *more)


def take_signals() -> None:
    """Gives what is started from now on the signals of a command in the foreground.

    Below ``nohup`` or in a job begun with ``&`` this process was started to ignore some, and its children would inherit
    that. A handler they do not inherit.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def end_all(mark: str) -> None:
    """Kills the processes whose mark begins so, whoever their parents are by now. Linux alone lists them."""
    start = f"{VARIABLE}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            entries = (folder / "environ").read_bytes().split(b"\0")
            if int(folder.name) != os.getpid() and any(entry.startswith(start) for entry in entries):
                os.kill(int(folder.name), signal.SIGKILL)
