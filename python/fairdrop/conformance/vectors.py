"""The files, plain or compressed, and the part of them that a foreign program is given."""

from __future__ import annotations

import gzip
import io
import json
import zlib
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
    known = sorted(path.name for path in folder.iterdir() if path.is_dir())
    for name in disciplines:
        if name not in known:
            raise ValueError(f"there are no vectors of {name!r} in {folder}{choices(name, known)}")
    vectors = [
        _read(path) for name in known if not disciplines or name in disciplines for path in _files(folder / name)
    ]
    if not vectors:
        raise ValueError(f"there are no vectors in {folder}; valid: a folder with DISCIPLINE/CASE.jsonl or .jsonl.gz")
    return vectors


def _files(folder: Path) -> list[Path]:
    """One file for each vector: where both forms are there, the plain one."""
    by_case = {path.name.removesuffix(".gz"): path for path in sorted(folder.glob("*.jsonl.gz"))}
    by_case |= {path.name: path for path in folder.glob("*.jsonl")}
    return [path for _, path in sorted(by_case.items())]


def _text(path: Path) -> str:
    content = read_bytes(path, VECTOR)
    if path.suffix == ".gz":
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(VECTOR + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"not gzip ({error})") from None
        if len(content) > VECTOR:
            raise ValueError(f"more than {VECTOR >> 20} MiB when decompressed")
    return content.decode("utf-8")


def _read(path: Path) -> Vector:
    try:
        text = _text(path)
        header, *events = map(json_of, text.splitlines())
        version, expected = header["format"], header["events"]
        if version == FORMAT:
            missing = [name for name in ("discipline", "case", "description") if not isinstance(header[name], str)]
            if missing:
                raise ValueError(f"{missing[0]} is no text")
    except (ValueError, KeyError, TypeError) as error:
        what = f"its header has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a vector: {what}") from None
    if version != FORMAT:
        raise ValueError(f"{path}: format {version!r}, but this command reads {FORMAT!r}")
    if expected != len(events):
        raise ValueError(f"{path}: {count(len(events), 'event')}, should be {expected}")
    return Vector(header, events, text)
