"""Results as tables and labelled arrays. pandas and xarray are asked for only when they are used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairdrop.optional import needed

if TYPE_CHECKING:
    import pandas
    import xarray


class Result:
    """A result of the models, a dataclass of numbers and arrays: ``to_pandas`` and ``to_xarray``.

    Arrays have the dimensions ``DIMS[name]``, else the last of ``AXES``.
    """

    AXES: ClassVar[tuple[str, ...]] = ("flow",)
    DIMS: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def _coordinates(self) -> dict[str, Any]:
        """Labels of the dimensions, where they have any."""
        flows = getattr(self, "flows", None)
        if flows is None:
            return {}
        return {"flow": [flow.name for flow in flows], "count": ("flow", [flow.count for flow in flows])}

    def _variables(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        """Dimensions and values of each field that is a number, a word or an array."""
        found: dict[str, tuple[tuple[str, ...], Any]] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                padded = (*(f"axis_{k}" for k in range(value.ndim)), *self.AXES)
                axes = self.DIMS.get(field.name) or padded[-value.ndim :]
                found[field.name] = (axes if value.ndim else (), value)
            elif isinstance(value, (bool, int, float, str, np.generic)):
                found[field.name] = ((), value)
        return found

    def to_xarray(self) -> xarray.Dataset:
        """As an xarray Dataset with named dimensions (needs xarray)."""
        data: xarray.Dataset = needed("xarray").Dataset(self._variables(), coords=self._coordinates())
        return data

    def to_pandas(self) -> pandas.DataFrame:
        """As a tidy pandas frame, one row per single element; what has fewer dimensions is repeated (needs pandas)."""
        variables = self._variables()
        sizes: dict[str, int] = {}
        for dims, values in variables.values():
            sizes.update(zip(dims, np.shape(values), strict=True))
        columns: dict[str, Any] = {}
        for name, label in self._coordinates().items():
            dims, values = label if isinstance(label, tuple) else ((name,), label)
            columns[name] = _spread((dims,) if isinstance(dims, str) else dims, np.asarray(values), sizes)
        for dim in sizes:
            columns.setdefault(dim, _spread((dim,), np.arange(sizes[dim]), sizes))
        for name, (dims, values) in variables.items():
            columns[name] = _spread(dims, np.asarray(values), sizes)
        return needed("pandas").DataFrame(columns)


def _spread(dims: tuple[str, ...], values: np.ndarray[Any, Any], sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """Values with all the dimensions, flattened."""
    order = [dim for dim in sizes if dim in dims]
    turned = np.transpose(values, [dims.index(dim) for dim in order]) if dims else values
    shape = tuple(sizes[dim] if dim in dims else 1 for dim in sizes)
    return np.asarray(np.broadcast_to(turned.reshape(shape), tuple(sizes.values())).reshape(-1))
