"""The figures, tables and claims of the five papers, each from its definition under ``fairdrop/papers``.

>>> from fairdrop import reproduce
>>> found = reproduce.run("choke-fig5")  # doctest: +SKIP
>>> found.plot(), found.to_pandas(), found.verdict  # doctest: +SKIP

`names` lists the ids, `definition` gives one, `run` reproduces one. Everything that was computed is kept under
``directory`` by content hash and used again.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from fairdrop.lock import held
from fairdrop.progress import Progress
from fairdrop.reproduce.define.definition import Definition
from fairdrop.reproduce.define.fields import DefinitionError
from fairdrop.reproduce.define.papers import names
from fairdrop.reproduce.define.reading import paper
from fairdrop.reproduce.definitions import definition
from fairdrop.reproduce.execute.plan import Order, check_settings
from fairdrop.reproduce.execute.store import Store
from fairdrop.reproduce.outcome import Reproduction, reproduce

__all__ = ["Definition", "DefinitionError", "Reproduction", "definition", "names", "paper", "run"]


def run(
    name: str,
    *,
    profile: str = "quick",
    seeds: int | None = None,
    seed: int = 1,
    settings: Iterable[str] = (),
    directory: str | PathLike[str] = "reproduction",
    threads: int | None = None,
    progress: bool = False,
) -> Reproduction:
    """Reproduce one id. ``settings`` change every run, such as ``"queue.red.max_p=0.02"``; seeds begin with ``seed``.

    Raises DefinitionError for an unknown id, ValueError for other bad input, such as a setting that does not fit.
    """
    order, one = Order(profile, seeds, tuple(settings), seed), definition(name)
    check_settings([one], order)
    store = Store(Path(directory) / "store")
    with held(directory):
        return reproduce(one, order, store, threads, Progress(name=name, shown=progress))
