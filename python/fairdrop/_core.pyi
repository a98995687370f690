"""The compiled half of the package; see crates/fairdrop-py."""

from os import PathLike
from typing import Any

__version__: str

class Table:
    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def column(self, name: str) -> list[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> Any: ...

class Document:
    @property
    def complete(self) -> bool: ...
    def __len__(self) -> int: ...
    def to_json(self) -> str: ...
    def timing(self) -> dict[str, float]: ...
    @staticmethod
    def table_names() -> list[str]: ...
    def table(self, name: str) -> Table: ...
    def write(self, directory: str | PathLike[str]) -> None: ...

class Scenario:
    def __init__(self, text: str, file: str, settings: list[str]) -> None: ...
    @property
    def source(self) -> str: ...
    def to_json(self) -> str: ...
    def simulate(
        self,
        disciplines: list[str] | None,
        seeds: int,
        threads: int | None,
        progress: bool,
        command: list[str] | None,
        *,
        trace: str | PathLike[str] | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Document: ...

def replay(
    path: str | PathLike[str],
    *,
    key: str,
    max_gap_s: float | None,
    rate: int | None,
    speed: float,
    queue: str,
    file: str,
    settings: list[str],
    disciplines: list[str] | None,
    seeds: int,
    threads: int | None,
    progress: bool,
    command: list[str] | None,
) -> Document: ...
def queue_host(
    poisson: list[float],
    constant: list[float],
    *,
    service_rate: float,
    arrivals: int,
    seed: int,
    settings: list[str],
) -> str: ...
def catalogue() -> str: ...
def schema() -> str: ...
def rate_bps(text: str) -> int: ...
def seconds(text: str) -> float: ...
