"""Waiting for what happens, instead of for a time."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from processes import Work

# Against hanging for ever; no test depends on how long something takes.
PATIENCE = 300.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Returns once something has happened."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE:g} s for {what}"
        time.sleep(0.01)


class OnTerminal:
    """A command whose errors and progress go to a terminal, which is watched."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        ours, theirs = pty.openpty()
        self.shown = b""
        self.work = Work(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        self._reader = threading.Thread(target=self._watch, args=(ours,))
        self._reader.start()

    def _watch(self, terminal: int) -> None:
        try:
            while piece := os.read(terminal, 65536):
                self.shown += piece
        except OSError:  # how Linux says that the other side is closed
            pass
        finally:
            os.close(terminal)

    def wait_until_shown(self, pattern: bytes) -> None:
        wait_for(lambda: re.search(pattern, self.shown) is not None or self.work.poll() is not None, repr(pattern))
        assert re.search(pattern, self.shown), self.shown

    def end(self, signal: int) -> tuple[int, str, str]:
        """Exit status, standard output and what the terminal showed, after a signal."""
        self.work.send_signal(signal)
        stdout, _ = self.work.communicate(timeout=PATIENCE)
        self._reader.join()
        return self.work.returncode, stdout.decode(), self.shown.decode()
