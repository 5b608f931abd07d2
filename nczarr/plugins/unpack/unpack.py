"""Packed variables of a dataset as the numbers that they stand for (CF 8.1).

    attributes of a variable ─ find_unpacking ─> arithmetic ─> UnpackedArray, attributes of unpacked numbers

A variable is packed if it has `scale_factor` or `add_offset`. Its numbers are computed when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, Parts, find_unwritten, little, numpy_dtype
from nczarr.arrays.values.parts import descr
from nczarr.ast import Attribute, Codec, Constant, Group, Variable
from nczarr.ast.dataset import MISSING_MARKS, building, map_groups
from nczarr.ast.rectilinear import largest
from nczarr.diagnostics.report import Report
from nczarr.names.records import frozen
from nczarr.pipeline.select.physical import NUMBERS, Physical, attributes_of, physical
from nczarr.semantics.check_types import default_fill, find_fill_value
from nczarr.semantics.checked import Checked, find_coordinates, remaining


class Unpacking(NamedTuple):
    """Arithmetic of a packed variable."""

    stored: Physical
    """Sign and missing values of the stored numbers, without scale and offset."""
    dtype: str
    """Type of the results: `<f4` or `<f8`."""
    scale: Any = None
    """Attribute `scale_factor`, in its own type: results of another one are rounded differently."""
    offset: Any = None
    """Attribute `add_offset`, in its own type."""

    def decode(self, stored: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that stored ones stand for, NaN for missing ones, in the same shape."""
        numbers, missing = self.stored.mask(little(stored))
        with np.errstate(all="ignore"):
            out = np.array(numbers, self.dtype)
            if self.scale is not None:
                out *= self.scale
            if self.offset is not None:
                out += self.offset
        out[missing] = np.nan
        return out

    def is_missing(self, element: bytes, dtype: str) -> bool:
        """Return whether a stored number, the little-endian bytes of an element, stands for a missing one."""
        return bool(self.stored.mask(np.frombuffer(element, dtype))[1][0])


def choose_dtype(stored: np.dtype[Any], scale: Any, offset: Any, *, kept: bool) -> str:
    """Return the type of unpacked numbers, by the rule of xarray.

    `kept`: missing ones are NaN in the stored numbers, so that xarray leaves floats in
    their type. A scale that is an integer has type double, because integers have no NaN.
    """
    if kept and stored.kind == "f":
        return stored.newbyteorder("<").str
    kinds = {np.dtype(type(one)) for one in (scale, offset) if one is not None}
    is_float = len(kinds) == 1 and kinds <= {np.dtype("f4"), np.dtype("f8")}
    if not is_float or (scale is None and offset is not None):
        return "<f8"
    if scale is not None and offset is not None and stored.kind in "iu" and stored.itemsize == 4:
        return "<f8"
    return kinds.pop().newbyteorder("<").str


@frozen
class UnpackedArray(DerivedSource):
    """Numbers of another array, unpacked when they are read."""

    unpacking: Unpacking
    fill: bytes | None
    """Value of unwritten cells, as in a layout."""

    @property
    def layout(self) -> Layout:
        """Layout without chunks that could be copied."""
        whole = self.source.layout
        chunks = tuple(max(1, length) for length in largest(whole.chunks))
        return Layout(self.unpacking.dtype, whole.shape, chunks, (), self.fill)

    @property
    def undefined(self) -> bool:
        """False: each cell has a value."""
        return False

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the unpacked numbers of a region, in its shape."""
        return self.unpacking.decode(self.source.read(selection))

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the occupied blocks of the other array, if its unwritten cells are missing values; else all."""
        element = numpy_dtype(self.source.layout.dtype).newbyteorder("<").str
        if self.unpacking.is_missing(find_unwritten(self.source), element):
            return self.source.list_occupied(chunks, region)
        return ArraySource.list_occupied(self, chunks, region)


PACKING = ("scale_factor", "add_offset")
"""Attributes that say that a variable is packed."""

LIMITS = ("valid_range", "valid_min", "valid_max")
"""Limits of valid stored numbers."""

OPPOSITE = {"valid_min": "valid_max", "valid_max": "valid_min"}
"""Limits that change places if the scale is negative."""

UNCLEAR = ("actual_range", "flag_masks")
"""Attributes that are left out if they have the type of stored numbers.

CF wants `actual_range` in unpacked numbers, and masks are bits of stored ones.
"""

OF_INTEGERS = frozenset((5, 6))
"""HDF5 filters whose parameters describe the stored integers: n-bit, scale-offset."""

TYPES = {"<f4": "float", "<f8": "double"}
"""Types of unpacked numbers by dtype."""


class UnpackedVariable(NamedTuple):
    """A variable in the place of a packed one."""

    variable: Variable
    fill: Constant
    """Value of unwritten cells."""
    parts: Parts
    """Its array; empty if all cells are missing."""


def unpack(checked: Checked, report: Report, *, joined: bool) -> Checked:
    """Return a dataset without packed variables; reports kept-packing, dropped-limits.

    `joined`: it becomes a part of a dataset, whose other parts may have other packings. Equal limits of stored
    numbers are different ones of unpacked numbers then, and are left out.
    """
    packed = [path for path, variable in checked.variables.items() if is_packed(variable)]
    if not packed:
        return checked
    coordinates = find_coordinates(checked)
    axes = frozenset((*coordinates, *coordinates.values()))
    with building():
        found = {path: _unpack_variable(path, checked, report, is_axis=path in axes, joined=joined) for path in packed}
        unpacked = {path: one for path, one in found.items() if one is not None}

        def change(path: str, group: Group) -> dict[str, Any]:
            """Return the variables, unpacked ones in the place of packed ones."""
            every = ((unpacked.get(names.join(path, one.name)), one) for one in group.variables)
            return {"variables": tuple(one if new is None else new.variable for new, one in every)}

        tree = map_groups(checked.dataset, change)
        fills = {**checked.fills, **{path: one.fill for path, one in unpacked.items()}}
        others = {path: parts for path, parts in checked.parts.items() if path not in unpacked}
        parts = {path: one.parts for path, one in unpacked.items() if one.parts}
        return remaining(checked._replace(fills=fills, parts={**others, **parts}), tree)


def find_unpacking(path: str, checked: Checked) -> Unpacking | str:
    """Return the arithmetic of a packed variable; why it has none, as a text."""
    variable, values = checked.variables[path], attributes_of(checked, path)
    if variable.type not in NUMBERS:
        return f"its type is {variable.type}"
    factors = []
    for name in PACKING:
        value = values.get(name)
        if value is not None and not isinstance(value, np.number):
            count = value.size if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" else None
            return f"`{name}` is no number" if count is None else f"`{name}` has {count} values"
        factors.append(value)
    marks = [value for name in MISSING_MARKS if (value := values.get(name)) is not None]
    numbers = [number for value in marks for number in np.ravel(value) if isinstance(number, np.number)]
    stored = physical(checked._replace(fills={path: None}), path)  # netCDF's default fill values are no mark to xarray
    stored = stored._replace(scale=None, offset=None, lowest=None, highest=None)
    kept = bool(marks) and all(np.isnan(number) for number in numbers)
    dtype = choose_dtype(numpy_dtype(descr(variable.type, {})), *factors, kept=kept)
    return Unpacking(stored, dtype, *factors)


def unpacking_of(path: str, checked: Checked) -> Unpacking | None:
    """Return the arithmetic of a variable; None if it is not packed, or has none."""
    found = find_unpacking(path, checked) if is_packed(checked.variables[path]) else None
    return found if isinstance(found, Unpacking) else None


def is_packed(variable: Variable) -> bool:
    """Return whether a variable has attributes of packing."""
    return any(attribute.name in PACKING for attribute in variable.attributes)


def _unpack_variable(
    path: str, checked: Checked, report: Report, *, is_axis: bool, joined: bool
) -> UnpackedVariable | None:
    """Return what takes the place of a packed variable; None (reported) if it has no arithmetic."""
    variable = checked.variables[path]
    place = () if joined else (variable.span,)  # without places, equal messages about thousands of sources are one
    unpacking = find_unpacking(path, checked)
    if isinstance(unpacking, str):
        report.warning("kept-packing", f"`{path}` stays packed: {unpacking}", *place)
        return None
    kind = TYPES[unpacking.dtype]
    attributes = {one.name: one for one in variable.attributes if one.name not in (*PACKING, "_Unsigned")}
    is_marked = any(name in attributes for name in MISSING_MARKS)
    dropped = _change_limits(attributes, variable, kind, unpacking, (*LIMITS, *UNCLEAR) if joined else UNCLEAR)
    for name in MISSING_MARKS:
        attributes.pop(name, None)
    if is_marked or not is_axis:  # CF: coordinates have no missing values
        attributes["_FillValue"] = Attribute(name="_FillValue", value=Constant.numbers(kind, [float("nan")]))
    if dropped:
        listed = names.list_first(dropped, len(dropped))
        report.warning("dropped-limits", f"`{path}` is unpacked without {listed}", *place)
    storage = variable.storage.model_copy(
        update={"codecs": tuple(filter(_fits_floats, variable.storage.codecs)), "element": None, "quantize": None}
    )
    changes = {"type": kind, "attributes": tuple(attributes.values()), "storage": storage}
    made = variable.model_copy(update=changes)
    fill = find_fill_value(made) or default_fill(kind, {})
    whole = checked.parts.get(path)
    if whole is None:
        old = checked.fills[path]
        element = old.data if old is not None and isinstance(old.data, bytes) else None
        if element is not None and unpacking.is_missing(element, str(descr(variable.type, {}))):
            return UnpackedVariable(made, fill, {})
        whole = all_fill(old, variable.type, checked.shapes[path], {})
    data = fill.data if isinstance(fill.data, bytes) else None
    return UnpackedVariable(made, fill, {"": UnpackedArray(whole[""], unpacking, data)})


def _fits_floats(codec: Codec) -> bool:
    """Return whether a codec encodes floats as well."""
    return codec.id not in OF_INTEGERS


def _change_limits(
    attributes: dict[str, Attribute], variable: Variable, kind: str, unpacking: Unpacking, dropped: tuple[str, ...]
) -> list[str]:
    """Give attributes with stored numbers unpacked ones; remove those that are `dropped`, and return their names."""
    listed = (one for name in (*LIMITS, "flag_values", *UNCLEAR) if (one := attributes.get(name)) is not None)
    stored = [one for one in listed if _is_stored(one.value, variable, unpacking)]
    for one in stored:
        del attributes[one.name]
    is_reversed = unpacking.scale is not None and unpacking.scale < 0
    for one in stored:
        name = one.name
        if name in dropped:
            continue
        numbers = _decode_limits(one.value, variable, unpacking)
        if is_reversed and name == "valid_range":
            numbers = numbers[::-1]
        name = OPPOSITE.get(name, name) if is_reversed else name
        attributes[name] = Attribute(name=name, value=Constant.numbers(kind, numbers.tolist()))
    return [one.name for one in stored if one.name in dropped]


def _is_stored(value: Constant, variable: Variable, unpacking: Unpacking) -> bool:
    """Return whether an attribute has numbers of the packed values.

    Those of unpacked ones have the type of the scale, which is another one than that of the packed values (CF 8.1).
    """
    if value.type not in NUMBERS:
        return False
    kinds = {np.dtype(type(one)) for one in (unpacking.scale, unpacking.offset) if one is not None}
    own = np.dtype(str(descr(value.type, {}))).newbyteorder("=")
    is_wider = own.kind == "f" and variable.type not in ("float", "double")
    return value.type == variable.type or not (own in kinds or is_wider)


def _decode_limits(value: Constant, variable: Variable, unpacking: Unpacking) -> NDArray[Any]:
    """Return the unpacked numbers of stored ones, also of those that the type of the variable does not hold."""
    given = np.array(value.as_numbers())
    with np.errstate(all="ignore"):
        stored = given.astype(str(descr(variable.type, {})))
    limits = unpacking._replace(stored=unpacking.stored._replace(missing=()))
    return limits.decode(stored if (stored == given).all() else given.astype("f8"))
