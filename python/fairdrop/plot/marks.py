"""What the artists of a figure show: whose they are, and their values, for pages that say it under the pointer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Mark:
    """The disciplines that an artist stands for, and its value in words where it has one."""

    disciplines: tuple[str, ...]
    text: str


_MARKS: WeakKeyDictionary[Artist, Mark] = WeakKeyDictionary()


def mark(artists: Artist | Sequence[Artist], disciplines: str | Sequence[str], text: str = "") -> None:
    """Notes what artists show; figures look the same with and without."""
    names = (disciplines,) if isinstance(disciplines, str) else tuple(disciplines)
    for artist in [artists] if isinstance(artists, Artist) else artists:
        _MARKS[artist] = Mark(names, text)


def marked(figure: Figure) -> Iterator[tuple[Artist, Mark]]:
    """The artists of a figure that have a mark."""
    for artist in figure.findobj(include_self=False):
        if artist in _MARKS:
            yield artist, _MARKS[artist]
