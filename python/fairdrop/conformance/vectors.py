"""The files, plain or compressed, and the part of them that a foreign program is given."""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairdrop.conformance import plain_text
from fairdrop.files import VECTOR, json_of, read_bytes
from fairdrop.nearest import choices
from fairdrop.wording.phrases import count

FORMAT = "fairdrop/conformance/2"
# The vectors of this package.
FOLDER = Path(__file__).parent / "data"
# What lies beside them: the version of all with a checksum of each, and the JSON Schema of a line.
MANIFEST = "vectors.json"
SCHEMA = "vector.schema.json"
# All vectors of a discipline are in one file, one after the other.
PACKED = ".jsonl.lzma"


@dataclass(frozen=True)
class Vector:
    """One file: its header, and its events with their outcomes."""

    header: dict[str, Any]
    events: list[dict[str, Any]]
    text: str

    @property
    def name(self) -> str:
        """Discipline and case, as in ``red/idle``."""
        return f"{self.header['discipline']}/{self.header['case']}"

    def questions(self, form: str) -> Iterator[str]:
        """The lines that a program under test is given: header and events, without outcomes."""
        if form == "text":
            yield from plain_text.header(self.header)
            yield from map(plain_text.event, self.events)
            return
        yield json.dumps(self.header)
        for event in self.events:
            yield json.dumps({name: value for name, value in event.items() if name != "outcome"})


def read_vectors(folder: Path, disciplines: Collection[str] = ()) -> list[Vector]:
    """Every vector below ``folder``, or those of some disciplines, by name. Raises ValueError when there are none."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; valid: a folder of vectors, one folder in it for each discipline")
    packed = {path.name.removesuffix(PACKED) for path in folder.glob(f"*{PACKED}")}
    known = sorted(packed | {path.name for path in folder.iterdir() if path.is_dir()})
    for name in disciplines:
        if name not in known:
            raise ValueError(f"there are no vectors of {name!r} in {folder}{choices(name, known)}")
    vectors = [vector for name in known if not disciplines or name in disciplines for vector in _of(folder, name)]
    if not vectors:
        raise ValueError(
            f"there are no vectors in {folder}; valid: a folder with DISCIPLINE{PACKED} or DISCIPLINE/CASE.jsonl"
        )
    return vectors


def _of(folder: Path, discipline: str) -> list[Vector]:
    """The vectors of a discipline: where both forms of one are there, the plain one."""
    packed = folder / f"{discipline}{PACKED}"
    by_name = {vector.name: vector for vector in _read(packed)} if packed.is_file() else {}
    for path in sorted((folder / discipline).glob("*.jsonl")):
        by_name |= {vector.name: vector for vector in _read(path)}
    return [vector for _, vector in sorted(by_name.items())]


def _text(path: Path) -> str:
    content = read_bytes(path, VECTOR)
    if path.suffix == ".lzma":
        try:
            with lzma.open(io.BytesIO(content)) as file:
                content = file.read(VECTOR + 1)
        except (EOFError, lzma.LZMAError) as error:
            raise ValueError(f"not LZMA ({error})") from None
        if len(content) > VECTOR:
            raise ValueError(f"more than {VECTOR >> 20} MiB when decompressed")
    return content.decode("utf-8")


def _read(path: Path) -> Iterator[Vector]:
    """The vectors of a file, which has more than one where it is packed."""
    try:
        lines = _text(path).splitlines(keepends=True)
    except ValueError as error:
        raise ValueError(f"{path} is not a vector: {error}") from None
    while True:
        vector, lines = _first(path, lines)
        yield vector
        if not lines:
            return


def _first(path: Path, lines: list[str]) -> tuple[Vector, list[str]]:
    """The first vector, and the lines after it."""
    try:
        header = json_of(lines[0] if lines else "")
        version, expected = header["format"], header["events"]
        if version == FORMAT:
            missing = [name for name in ("discipline", "case", "description") if not isinstance(header[name], str)]
            if missing:
                raise ValueError(f"{missing[0]} is no text")
        if not isinstance(expected, int):
            raise ValueError("events is no whole number")
        end = 1 + expected if path.suffix == ".lzma" else len(lines)
        events = list(map(json_of, lines[1:end]))
    except (ValueError, KeyError, TypeError) as error:
        what = f"its header has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a vector: {what}") from None
    if version != FORMAT:
        raise ValueError(f"{path}: format {version!r}, but this command reads {FORMAT!r}")
    if expected != len(events):
        raise ValueError(f"{path}: {count(len(events), 'event')}, should be {expected}")
    return Vector(header, events, "".join(lines[:end])), lines[end:]
