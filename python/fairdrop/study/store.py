"""Finished runs by what decided them, in one file: SQLite keeps it whole through kill -9 and full disks."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from errno import EAGAIN, EIO, ENOSPC
from pathlib import Path
from types import TracebackType
from typing import Any

from fairdrop.lock import held
from fairdrop.study.runs import unpack

FILE = "store.sqlite"
_AT_ONCE = 500
_BUSY = "another process writes there; valid: one at a time"


class Store:
    """Packed rows of runs by key, in ``folder``. Raises OSError, with the name of the file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._folder = ExitStack()
        self._folder.enter_context(held(folder))
        try:
            self._open()
        except BaseException:
            self._folder.close()
            raise

    def _open(self) -> None:
        with self._named():
            self._base = sqlite3.connect(self.path, timeout=5, isolation_level=None, check_same_thread=False)
            # Exclusive: no shared memory, so that it works on a network's file systems, too.
            self._base.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._base.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, rows BLOB NOT NULL)")

    def put(self, found: Iterable[tuple[str, bytes]]) -> None:
        """Keeps runs: all of these or, where that fails, none."""
        with self._lock, self._named():
            self._base.execute("BEGIN")
            try:
                self._base.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?)", found)
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The runs that are there, each whole."""
        found = self.packed(keys)
        for key, packed in found.items():
            self._check(key, packed)
        return found

    def packed(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The same, unchecked."""
        return dict(self._chosen("key, rows", keys))

    def _check(self, key: str, packed: bytes) -> None:
        try:
            unpack(packed)
        except ValueError as error:
            problem = f"its run {key} is damaged: {error}; valid: another folder, or this one without the file"
            raise OSError(EIO, problem, str(self.path)) from None

    def _chosen(self, columns: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            with self._lock, self._named():
                yield from self._base.execute(f"SELECT {columns} FROM runs WHERE key IN ({marks})", some).fetchall()

    def has(self, keys: Sequence[str]) -> set[str]:
        """Which runs are there."""
        return {key for (key,) in self._chosen("key", keys)}

    def take_in(self, other: Path) -> None:
        """Adds the runs of another store."""
        with self._lock, self._named(other):
            self._base.execute("ATTACH ? AS other", (str(other),))
            try:
                self._base.execute("INSERT OR IGNORE INTO main.runs SELECT key, rows FROM other.runs")
            finally:
                self._base.execute("DETACH other")

    def __len__(self) -> int:
        with self._lock, self._named():
            (count,) = self._base.execute("SELECT count(*) FROM runs").fetchone()
        return int(count)

    def close(self) -> None:
        """The file alone is left, without its log."""
        with self._folder, self._lock, self._named():
            self._base.close()

    def remove(self) -> None:
        """Close it, and take its file away."""
        with self._folder:
            with self._lock, self._named():
                self._base.close()
            for end in ("", "-wal", "-shm"):
                self.path.with_name(FILE + end).unlink(missing_ok=True)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _at: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OSError:
            # The full disk has been reported already.
            if error is None:
                raise

    @contextmanager
    def _named(self, path: Path | None = None) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _as_os_error(error, str(path or self.path)) from None


def _as_os_error(error: sqlite3.Error, path: str) -> OSError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OSError(EAGAIN, _BUSY, path)
    if code == sqlite3.SQLITE_FULL:
        return OSError(ENOSPC, "No space left on device", path)
    if code == sqlite3.SQLITE_NOTADB:
        return OSError(EIO, "is no store of runs; valid: a folder of fairdrop sweep, or a name that is not taken", path)
    return OSError(EIO, str(error), path)
