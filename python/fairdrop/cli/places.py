"""Where a command writes: looked at before the work, and kept from other commands until it ends."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from errno import EEXIST, EINVAL, ENOTDIR
from os import PathLike, fspath
from pathlib import Path

from fairdrop.files import check_writable
from fairdrop.lock import held

_HEAD = 1 << 16
#: How a report begins, and what it is.
REPORT = (b"<!doctype html", "report")
# How a file begins that may be replaced, by the option that names it, and what it is.
_FILES = {"report": REPORT, "timing": (b"{", "file of --timing")}


@dataclass(frozen=True)
class Folder:
    """What a command makes of a folder: ``writes``, beside ``mark`` where it was here before."""

    what: str
    mark: str
    writes: tuple[str, ...]
    #: What the mark says near its beginning, where it is one of the files that are written.
    says: bytes = b""

    def check(self, folder: Path) -> None:
        """Raises OSError where a file would be replaced that no such command made."""
        if self._is_mine(folder):
            return
        for name in self.writes:
            path = folder / name
            if path.exists() or path.is_symlink():
                problem = f"would be replaced, and there is no {self.what} beside it; valid: another folder"
                raise FileExistsError(EEXIST, problem, str(path))

    def _is_mine(self, folder: Path) -> bool:
        path = folder / self.mark
        return path.exists() and (not self.says or (path.is_file() and self.says in _head(path)))


RESULT = Folder("result", "result.json", ("result.json",), b'"fairdrop/result')
SWEEP = Folder("sweep", "store.sqlite", ("study.json", "data"))
SCORECARD = Folder(
    "scorecard",
    "store.sqlite",
    ("characterization.json", "scorecard.csv", "scorecard.parquet", "scenarios", "studies"),
)
ADVICE = Folder("advice", "store.sqlite", ("scenario.toml",))
REPRODUCTION = Folder(
    "reproduction", "run.json", ("index.html", "summary.csv", "results", "data", "figures", "store"), b"{"
)


@contextmanager
def taken(options: Namespace, kind: Folder, folder: str | PathLike[str] | None) -> Iterator[None]:
    """Keeps ``folder``, and that of ``--trace``, until the command ends. Raises OSError for what cannot be written."""
    trace = getattr(options, "trace", None)
    with ExitStack() as kept:
        if folder is not None:
            kind.check(Path(folder))
            kept.enter_context(held(folder))
        if trace is not None:
            kept.enter_context(held(trace))
        check_files(options, folder)
        yield


def check_files(options: Namespace, folder: str | PathLike[str] | None = None) -> None:
    """Raises OSError for the file of an option that cannot be written, or would take the place of something else."""
    named: dict[Path, str] = {}
    for option, (begins, what) in _FILES.items():
        path = getattr(options, option, None)
        if path is None:
            continue
        check_file(path, begins, what)
        place = Path(path).resolve()
        if place in named:
            problem = f"is named by --{named[place]} and by --{option}; valid: a file for each"
            raise OSError(EINVAL, problem, path)
        named[place] = option
        if folder is not None and place.parent == Path(folder).resolve() and place.suffix in (".json", ".parquet"):
            raise OSError(EINVAL, f"is a name of --out {fspath(folder)}; valid: another for --{option}", path)


def check_folder(path: str | PathLike[str]) -> None:
    """Raises OSError for what is no folder and cannot become one."""
    place = Path(path)
    there = next(one for one in (place, *place.absolute().parents) if one.exists() or one.is_symlink())
    if not there.is_dir():
        raise NotADirectoryError(ENOTDIR, "is no folder; valid: a folder, or a name that is not taken", fspath(path))


def check_file(path: str | PathLike[str], begins: bytes, what: str) -> None:
    """Raises OSError where a file cannot be written, or holds something else than ``what``."""
    check_writable(path)
    place = Path(path)
    if place.exists() and place.stat().st_size and not _begins(place, begins):
        problem = f"would be replaced, and is no {what}; valid: a {what}, or a name that is not taken"
        raise FileExistsError(EEXIST, problem, fspath(path))


def _begins(path: Path, begins: bytes) -> bool:
    return _head(path)[: len(begins)].lower() == begins.lower()


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)
