"""Files that somebody names: regular ones are read, up to a size and a depth; whole ones are written, or none.

Every file from elsewhere is read through this module: a scenario, a study, a paper, a result. Files are at
most ``_core.MAX_DEPTH`` deep, so that recursion over them does not overflow the stack.
"""

from __future__ import annotations

import json
import os
import stat
from errno import EINVAL, ENOENT
from os import PathLike
from pathlib import Path
from typing import Any

from fairdrop import _core

__all__ = [
    "DOCUMENT",
    "PART",
    "RESULT",
    "SCENARIO",
    "VECTOR",
    "check_writable",
    "json_of",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "write_bytes",
    "write_text",
]

# The most bytes of a file, by what it is.
SCENARIO = _core.MAX_TEXT_BYTES
VECTOR = 64 << 20
PART = 256 << 20
DOCUMENT = 256 << 20
RESULT = _core.MAX_RESULT_BYTES
_KINDS = {
    stat.S_ISDIR: "a directory", stat.S_ISFIFO: "a FIFO", stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a character device", stat.S_ISBLK: "a block device",
}  # fmt: skip


def read_bytes(path: str | PathLike[str], limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises OSError, with the kind of the file and the valid kinds: a FIFO would wait, and a device has no end.
    """
    return _core.read_file(path, limit)


def read_text(path: str | PathLike[str], limit: int) -> str:
    """The same as text in UTF-8, lines ending in newlines. Raises UnicodeDecodeError as well."""
    return read_bytes(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """Content of a TOML file of at most 16 MiB.

    Raises OSError, or ValueError, with the name of the file: no text, no TOML, too deep, a number that is too long.
    """
    try:
        text = read_text(path, SCENARIO)
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)}: not text in UTF-8 ({error.reason}); valid: a TOML file") from None
    return _core.parse_toml(text, os.fspath(path))


def read_json(path: str | PathLike[str], limit: int, valid: str) -> Any:
    """Content of a JSON file of at most ``limit`` bytes; ``valid`` says which files are meant.

    Raises OSError, or ValueError, with the name of the file: no JSON, too deep, a number that is too long.
    """
    try:
        return json_of(read_text(path, limit))
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: not JSON ({error}); valid: {valid}") from None


def json_of(text: str) -> Any:
    """Content of a JSON text. Raises ValueError, with the field where that is known."""
    _core.check_json(text)
    return json.loads(text)


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
        problem = f"is {_kind(place)}; valid: a regular file, or a name that is not taken"
        raise OSError(EINVAL, problem, str(path))
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
