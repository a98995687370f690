"""Standard output and standard error, whatever they are: closed, full, a pipe without a reader, a terminal."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import sys
from typing import TextIO

__all__ = ["CONTROLS", "Stream", "Streams", "fitted", "printable", "redraw", "width"]

# Inside a character class: control characters of terminals, separators of lines, and marks of direction (UAX #9).
CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IN_TEXT = re.compile(f"[{CONTROLS}]")
_IN_LINE = re.compile(f"[{CONTROLS}\t\n]")
_ERASE = "\r\x1b[K"


def printable(text: str) -> str:
    """``text`` on one line, with control characters as JSON writes them."""
    return _IN_LINE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return {"\n": "\\n", "\t": "\\t"}.get(found[0], f"\\u{ord(found[0]):04x}")


def width() -> int | None:
    """Columns of the terminal on stdout, ``COLUMNS`` where that is set; None where no terminal shows it."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitted(line: str) -> str:
    """``line``, cut where the terminal on stdout ends. What goes elsewhere keeps its length."""
    columns = width()
    return line if columns is None or len(line) <= columns else f"{line[: max(columns - 1, 0)].rstrip()}…"


def redraw(line: str) -> None:
    """Put ``line`` in the place of the one that the terminal on stderr shows."""
    stream = sys.stderr
    if isinstance(stream, Stream):
        stream.send(_ERASE + _IN_TEXT.sub(_escaped, line))
    else:
        stream.write(_ERASE + line)
    stream.flush()


class Stream(io.TextIOBase):
    """Takes text as long as somebody does, and remembers when nobody did.

    Work is not to end because nobody listens. Control characters are escaped; in a JSON document they mean the same.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write ``text`` with its control characters escaped."""
        return self.send(_IN_TEXT.sub(_escaped, text))

    def send(self, text: str) -> int:
        """Write ``text`` as it is."""
        if text and self.failure is None:
            try:
                if self._stream is None:
                    raise OSError(errno.EBADF, "it is closed")
                self._stream.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Write what is held."""
        if self._stream is not None and self.failure is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = error
        if self._stream is not None:
            # Python writes what it still holds when it ends, and would complain then.
            try:
                silence(self._stream.fileno())
            except (OSError, ValueError):
                return

    def writable(self) -> bool:
        """Yes."""
        return True

    def isatty(self) -> bool:
        """Whether a terminal shows it."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        """Its descriptor. Raises OSError when it is closed."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()


def silence(descriptor: int) -> None:
    """Let what is written to ``descriptor`` go nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nowhere, descriptor)
    finally:
        os.close(nowhere)


class Streams:
    """The standard streams of a command, from ``with Streams()`` to its end."""

    def __enter__(self) -> Streams:
        _occupy()
        self._before = sys.stdout, sys.stderr
        for stream in self._before:
            if isinstance(stream, io.TextIOWrapper):
                # A name that the terminal has no letters for is no reason to stop.
                stream.reconfigure(errors="backslashreplace")
        self.output, self.errors = Stream(sys.stdout), Stream(sys.stderr)
        sys.stdout, sys.stderr = self.output, self.errors
        return self

    def __exit__(self, *_: object) -> None:
        self.output.flush()
        lost = self.output.failure
        # Who closes a pipe early, as `head` does, knows it.
        if lost is not None and lost.errno != errno.EPIPE:
            print(f"fairdrop: error: standard output: {lost.strerror or lost}; output is lost", file=self.errors)
        self.errors.flush()
        sys.stdout, sys.stderr = self._before

    @property
    def lost(self) -> bool:
        """Whether some output went nowhere. Messages on stderr are no output."""
        return self.output.failure is not None


def _occupy() -> None:
    """Fill the places of closed standard streams, or the next file that is opened would be taken for one of them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
