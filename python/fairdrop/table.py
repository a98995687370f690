"""Tidy tables for pandas, Polars, pyarrow and every other library that reads Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from fairdrop.optional import needed
from fairdrop.wording.phrases import count

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import xarray
    from numpy.typing import NDArray

    from fairdrop import _core

__all__ = ["Table"]

_SHOWN_ROWS = 20


class Table:
    """Named columns of equal length.

    Hand it to any library that reads the Arrow C stream interface (``polars.DataFrame(table)``,
    ``pyarrow.table(table)``), or to one that takes rows, as it is its rows, each a dict (``pandas.DataFrame(table)``).
    ``table["share"]`` is a column as a NumPy array. Columns carry their unit in the name.
    """

    def __init__(self, inner: _core.Table) -> None:
        self._inner = inner

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._inner.columns

    def column(self, name: str) -> list[Any]:
        """One column as a list. Raises KeyError, naming the columns there are, when there is no such one."""
        return self._inner.column(name)

    def rows(self) -> list[dict[str, Any]]:
        """Every row as a dict."""
        names = self.columns
        values = zip(*(self.column(name) for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in values]

    def to_numpy(self, name: str) -> NDArray[Any]:
        """One column as an array: missing numbers are NaN, missing texts None. Raises KeyError as ``column``."""
        import numpy

        values = self.column(name)
        if values and any(value is None for value in values):
            texts = any(isinstance(value, str) for value in values)
            return numpy.array(values, dtype=object if texts else float)
        return numpy.array(values)

    def to_xarray(self, *dimensions: str) -> xarray.Dataset:
        """Columns over these dimensions; each combination of their values occurs at most once (needs xarray)."""
        needed("xarray")
        cube: xarray.Dataset = self.to_pandas().set_index(list(dimensions)).to_xarray()
        return cube

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow table (needs pyarrow)."""
        table: pyarrow.Table = needed("pyarrow").table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas frame (needs pandas). Counts are ``uint64``; missing numbers are NaN."""
        return needed("pandas").DataFrame({name: self._series(name) for name in self.columns})

    def to_polars(self) -> polars.DataFrame:
        """As a Polars frame (needs polars)."""
        frame: polars.DataFrame = needed("polars").DataFrame(self)
        return frame

    def _series(self, name: str) -> pandas.Series[Any]:
        pandas = needed("pandas")
        values, dtype = self.column(name), self._inner.dtype(name)
        if dtype == "str" and int(pandas.__version__.partition(".")[0]) < 3:
            dtype = "object"
        elif dtype in ("uint64", "bool") and None in values:
            dtype = {"uint64": "UInt64", "bool": "boolean"}[dtype]
        return pandas.Series(values, dtype=dtype)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.to_numpy(name)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Every row as a dict, in which missing numbers are NaN: a library that takes rows then sees numbers."""
        names = self.columns
        values = zip(*(self[name].tolist() for name in names), strict=True)
        return (dict(zip(names, row, strict=True)) for row in values)

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        return f"Table of {count(len(self), 'row')}: {', '.join(self.columns)}"

    def _repr_html_(self) -> str:
        names = self.columns
        columns = [self.column(name)[:_SHOWN_ROWS] for name in names]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_shown(value))}</td>" for value in row) + "</tr>"
            for row in zip(*columns, strict=True)
        )
        more = f"<p>{len(self) - _SHOWN_ROWS} more rows</p>" if len(self) > _SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
