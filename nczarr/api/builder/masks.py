"""Masked data: masked cells get the variable's fill value if no other cell equals it."""

from __future__ import annotations

from typing import Any

from nczarr.api.builder.arrays import Shape, parts_of
from nczarr.api.builder.foreign_arrays import Given
from nczarr.api.builder.pieces import RefusedError
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.memory import ArrayInMemory
from nczarr.arrays.parts import Types, is_fixed
from nczarr.arrays.source import Parts
from nczarr.ast import ATOMIC, Constant

REMEDY = "declare the variable with a `fill_value` that no value has, or fill the array"
"""Remedy if no fill value can be chosen."""


def with_fill(
    data: Given,
    type_name: str,
    given: Shape,
    shape: Shape,
    fill: Constant | None,
    types: Types,
    *,
    declared: bool,
    no_fill: bool,
) -> Parts:
    """Return the arrays of a variable with the fill value in masked cells.

    A `declared` fill value always marks missing values. Without one it is netCDF's default of the type, which
    readers know for numbers of more than one byte; the data must not contain it. Raises RefusedError.
    """
    if not (is_fixed(type_name, types) or type_name == "string") or fill is None:
        raise RefusedError("type-mismatch", f"some values are masked, and type `{type_name}` has no fill value", REMEDY)
    if not declared and (no_fill or type_name not in ATOMIC or ATOMIC[type_name].size < 2):
        text = f"some values are masked, and no fill value of type `{type_name}` is known to all readers"
        raise RefusedError("type-mismatch", text, REMEDY)
    mask = data.mask
    assert mask is not None
    values = np.array(data.values)
    values[mask] = np.zeros((), values.dtype) if values.dtype.kind != "O" else _stand_in(values[~mask])
    (made,) = parts_of(values, type_name, given, shape, fill, types).values()
    stored = np.array(made.read(tuple(slice(0, length) for length in made.layout.shape)))
    inside = stored[tuple(slice(0, length) for length in given)]
    if mask.shape != inside.shape:
        raise RefusedError(
            "type-mismatch", "some texts are masked, and char has a fill value for single characters", REMEDY
        )
    one: Any = fill.data[0] if isinstance(fill.data, tuple) else np.frombuffer(fill.data, stored.dtype)[0]
    if not declared and (inside[~mask] == one).any():
        text = f"some values are masked, and others equal {one}, the fill value of type `{type_name}`"
        raise RefusedError("value-range", text, REMEDY)
    inside[mask] = one
    return {"": ArrayInMemory(made.layout, stored)}


def _stand_in(kept: Any) -> Any:
    """Return a placeholder for masked cells that fits the type of the others."""
    return kept[0] if len(kept) else 0
