"""One writer at a time in a folder of results: a lock that names its holder, and ends with it."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from errno import EAGAIN, EINVAL, ENOTDIR
from os import PathLike
from pathlib import Path
from stat import S_ISREG
from typing import Any

__all__ = ["FILE", "held"]

#: Is in the folder while somebody writes there. What a killed process leaves of it holds nobody up.
FILE = ".fairdrop.lock"
_MOST_BYTES = 4096
_LONGEST_COMMAND = 300
# By this thread, or by what it does on behalf of another: who holds a folder may call others who need it.
_held: ContextVar[frozenset[Path]] = ContextVar("_held", default=frozenset())


@contextmanager
def held(folder: str | PathLike[str]) -> Iterator[None]:
    """Keeps other processes and threads from writing into ``folder``, which is made if need be.

    A folder that was made and stays empty goes again. Raises OSError: BlockingIOError names who holds it.
    """
    place = Path(folder).absolute()
    before = _held.get()
    if place in before:
        yield
        return
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(ENOTDIR, "is no folder; valid: a folder, or a name that is not taken", str(folder))
    made = [place, *place.parents][: _missing(place)]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(ENOTDIR, "is below a file; valid: a folder below folders", str(folder)) from None
    try:
        descriptor = _locked(place / FILE, str(folder))
        try:
            _held.set(before | {place})
            yield
        finally:
            _held.set(_held.get() - {place})
            # While it is held: whoever waits for it looks whether it is still there.
            with suppress(OSError):
                (place / FILE).unlink()
            os.close(descriptor)
    finally:
        with suppress(OSError):
            for one in made:
                one.rmdir()


def _missing(place: Path) -> int:
    """How many folders of a path have to be made."""
    return next(number for number, one in enumerate([place, *place.parents]) if one.exists())


def _locked(path: Path, folder: str) -> int:
    """The descriptor that holds the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            if not S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(EINVAL, "is no regular file; valid: a name that is not taken", str(path))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(EAGAIN, _refusal(descriptor), folder) from None
            except OSError:
                # A file system without locks: nobody is kept out.
                return descriptor
            if _is_at(descriptor, path):
                _sign(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # It was removed by its holder between the two calls.
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    about = {"pid": os.getpid(), "host": socket.gethostname(), "command": _command(), "since": time.time()}
    # A full disk takes no name; the lock holds all the same.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(about).encode(), 0)


def _command() -> str:
    name = Path(sys.argv[0] if sys.argv else "").name
    words = ["fairdrop" if name == "__main__.py" else name or "python", *sys.argv[1:]]
    return shlex.join(words)[:_LONGEST_COMMAND]


def _refusal(descriptor: int) -> str:
    return f"is in use{_holder(descriptor)}; valid: another folder, or this one when that has ended"


def _holder(descriptor: int) -> str:
    try:
        about: dict[str, Any] = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(about["since"]))
        where = "" if about["host"] == socket.gethostname() else f" on {about['host']}"
        return f" by process {int(about['pid'])}{where} ({about['command']}) since {since}"
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        # It has the lock and has not signed yet.
        return " by another process"
