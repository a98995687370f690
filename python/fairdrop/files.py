"""Files that somebody names: regular ones are read, up to a size; whole ones are written, or none."""

from __future__ import annotations

from os import PathLike

from fairdrop import _core

__all__ = ["DOCUMENT", "RESULT", "SCENARIO", "VECTOR", "read_bytes", "read_text", "write_bytes", "write_text"]

# The most bytes of a file, by what it is.
SCENARIO = 16 << 20
VECTOR = 64 << 20
DOCUMENT = 256 << 20
RESULT = _core.MAX_RESULT_BYTES


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


def write_text(path: str | PathLike[str], content: str) -> None:
    """The same with text in UTF-8; what has no place in UTF-8 becomes a question mark."""
    write_bytes(path, content.encode("utf-8", errors="replace"))
