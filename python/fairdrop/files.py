"""Files that somebody names: regular ones are read, up to a size; whole ones are written, or none."""

from __future__ import annotations

import os
import stat
from errno import EINVAL, ENOENT
from os import PathLike
from pathlib import Path

from fairdrop import _core

__all__ = [
    "DOCUMENT",
    "RESULT",
    "SCENARIO",
    "VECTOR",
    "check_writable",
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_text",
]

# The most bytes of a file, by what it is.
SCENARIO = 16 << 20
VECTOR = 64 << 20
DOCUMENT = 256 << 20
RESULT = _core.MAX_RESULT_BYTES
_KINDS = {
    stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a FIFO", stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a character device", stat.S_ISBLK: "a block device",
}  # fmt: skip


def read_bytes(path: str | PathLike[str], limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises OSError, with what the file is and what would be valid: a FIFO would wait, and a device has no end.
    """
    return _core.read_file(path, limit)


def read_text(path: str | PathLike[str], limit: int) -> str:
    """The same as text in UTF-8, lines ending in newlines. Raises UnicodeDecodeError as well."""
    return read_bytes(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that nobody meets half of it.

    Removes what a killed process left of it. Raises OSError, also where ``path`` is something else than a regular file.
    """
    _core.write_file(path, content)


def check_writable(path: str | PathLike[str]) -> None:
    """Whether a file could be written now, by making one beside it that goes again. Raises OSError."""
    place = Path(path)
    if not place.parent.is_dir():
        raise FileNotFoundError(ENOENT, "is in no folder that exists; valid: a file in one that does", str(path))
    if place.exists() and not place.is_file():
        told = f"is {_kind(place)}; valid: a regular file, or a name that is not taken"
        raise OSError(EINVAL, told, str(path))
    # As long as the name under which it will be written.
    beside = place.with_name(f"{place.name}.{os.getpid()}-0000.tmp")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_EXCL))
        beside.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _kind(path: Path) -> str:
    mode = path.stat().st_mode
    return next((name for is_one, name in _KINDS.items() if is_one(mode)), "no regular file")


def write_text(path: str | PathLike[str], content: str) -> None:
    """The same with text in UTF-8; what has no place in UTF-8 becomes a question mark."""
    write_bytes(path, content.encode("utf-8", errors="replace"))
