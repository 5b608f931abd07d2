"""xarray 2026.9.0: faults of `open_dataset` and `open_zarr` with stores, read through zarr-python.

CF decoding is on, as by default. One failing array makes its whole group
unreadable.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterator
from typing import Any

from nczarr.operations.readers import xarray_files as cf
from nczarr.operations.readers import zarr_python, zarr_types
from nczarr.operations.readers.documents import StoreNode, ZarrView
from nczarr.operations.readers.netcdf_c.view import integers
from nczarr.operations.readers.rule import FindingPlace, Peer, Rules
from nczarr.operations.readers.xarray_files import FILES
from nczarr.operations.readers.zarr_python import axes

SEEN = "2026.9.0"
REFUSED = "cannot open its group"
NAMES = "write one name for each axis in `_ARRAY_DIMENSIONS`, or in `dimension_names` of Zarr v3"
RULES = Rules(SEEN)


def names_of(array: StoreNode) -> tuple[Any, str, str]:
    """Return the dimension names of an array, also of older NCZarr, with their key and pointer."""
    axis_names, key, pointer = axes(array)
    older = array.meta.get("_NCZARR_ARRAY")
    references = older.get("dimrefs") if isinstance(older, dict) else None
    if axis_names is None and array.version == 2 and isinstance(references, list):
        return [str(name).rpartition("/")[2] for name in references], array.key, "/_NCZARR_ARRAY/dimrefs"
    return axis_names, key, pointer


@RULES.add("root-array", "finds no group", "write the array in a group")
def root_array(view: ZarrView) -> Iterator[FindingPlace]:
    """Find an array at the root."""
    if view.root.is_array:
        yield FindingPlace(view.root.key, "", "the root of the store is an array")


@RULES.add("missing-names", REFUSED, NAMES)
def missing_names(view: ZarrView) -> Iterator[FindingPlace]:
    """Find arrays with fewer names than axes."""
    for array in view.arrays:
        axis_names, key, pointer = names_of(array)
        shape = integers(array.meta.get("shape"))
        readable = array.attributes is None or isinstance(array.attributes.value, dict)
        if axis_names is None and shape is not None and readable and (shape or array.version == 2):
            yield FindingPlace(key, "", f"`{array.path}` does not name its dimensions")
        elif shape is not None and isinstance(axis_names, list | str) and len(axis_names) < len(shape):
            yield FindingPlace(key, pointer, f"`{array.path}` has {len(shape)} axes, but names {len(axis_names)}")


@RULES.add("surplus-names", REFUSED, NAMES)
def surplus_names(view: ZarrView) -> Iterator[FindingPlace]:
    """Find arrays with more names than axes."""
    yield from zarr_python.name_counts(view, more=True)


@RULES.add("unnamed-dimension", "names it `None`", NAMES)
def unnamed(view: ZarrView) -> Iterator[FindingPlace]:
    """Find null names."""
    for array in view.arrays:
        axis_names, key, pointer = names_of(array)
        if isinstance(axis_names, list) and None in axis_names:
            yield FindingPlace(key, pointer, f"an axis of `{array.path}` has no name")


@RULES.add("doubled-dimension", "reads it with a warning, and refuses most operations on it", NAMES)
def doubled(view: ZarrView) -> Iterator[FindingPlace]:
    """Find arrays with two axes of one name."""
    for array in view.arrays:
        axis_names, key, pointer = names_of(array)
        texts = [name for name in axis_names if isinstance(name, str)] if isinstance(axis_names, list) else []
        if len(set(texts)) < len(texts):
            yield FindingPlace(key, pointer, f"two axes of `{array.path}` have the same name")


@RULES.add("unequal-lengths", REFUSED, "write one length for each name in a group")
def unequal(view: ZarrView) -> Iterator[FindingPlace]:
    """Find one name with several lengths in a group."""
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    for array in view.arrays:
        axis_names, key, pointer = names_of(array)
        shape = integers(array.meta.get("shape"))
        group = array.path.rpartition("/")[0]
        if not isinstance(axis_names, list) or shape is None or len(shape) != len(axis_names):
            continue
        for axis, (name, size) in enumerate(zip(axis_names, shape, strict=True)):
            before, other = sizes.setdefault((group, json.dumps(name)), (size, array.path))
            if before != size:
                text = f"dimension `{name}` has the length {size} in `{array.path}` and {before} in `{other}`"
                yield FindingPlace(key, f"{pointer}/{axis}", text)


def clashing(view: ZarrView) -> Iterator[FindingPlace]:
    """Find scalars named like a dimension."""
    used = set()
    for array in view.arrays:
        axis_names, _, _ = names_of(array)
        listed = axis_names if isinstance(axis_names, list) else ()
        used |= {(array.path.rpartition("/")[0], name) for name in listed if isinstance(name, str)}
    for array in view.arrays:
        if array.meta.get("shape") == [] and (array.path.rpartition("/")[0], array.name) in used:
            yield FindingPlace(array.key, "/shape", f"scalar `{array.path}` has the name of a dimension")


@RULES.add(
    "masking-fill",
    "treats it as missing, and converts integers to floating-point numbers",
    "write `null` if no value is missing, or the same value as `_FillValue`",
)
def masking(view: ZarrView) -> Iterator[FindingPlace]:
    """Find Zarr v2 fill values, which become missing values."""
    for array in view.arrays:
        value = array.meta.get("fill_value")
        if array.version != 2 or value is None or not zarr_types.knows(array.meta, 2) or _declared(array, value):
            continue
        letter, _ = zarr_types.kind(array.meta, 2)
        if letter in "iubSUO" and not zarr_types.refuses_fill(value, array.meta, 2):
            shown = json.dumps(value, ensure_ascii=False)[:40]
            does = "treats it as missing" + (", and reads floating-point numbers" if letter in "iu" else "")
            yield FindingPlace(array.key, "/fill_value", f"`fill_value` of `{array.path}` is `{shown}`", does=does)


def _declared(array: StoreNode, value: Any) -> bool:
    """Return whether an attribute declares the value as missing."""
    declared_values = [array.attrs.get(name) for name in ("_FillValue", "missing_value")]
    return any(
        declared_value == value or declared_value == [value]
        for declared_value in declared_values
        if declared_value is not None
    )


def rounded(view: ZarrView) -> Iterator[FindingPlace]:
    """Find 64-bit integers that become doubles."""
    for array in view.arrays:
        letter, size = zarr_types.kind(array.meta, array.version)
        value = array.meta.get("fill_value") if array.version == 2 else array.attrs.get("_FillValue")
        if letter in "iu" and size == 8 and value is not None and (array.version == 3 or _declared(array, value)):
            yield FindingPlace(*_fill_place(array), f"`{array.path}` has integers of 64 bits and a missing value")


def _fill_place(array: StoreNode) -> tuple[str, str]:
    if array.version == 2:
        return array.key, "/fill_value"
    return array.attrs_key, f"{array.attrs_pointer}/_FillValue"


@RULES.add("bad-fill", "cannot read records and raw bytes with a fill value", "write `null`")
def record_fills(view: ZarrView) -> Iterator[FindingPlace]:
    """Find fill values of records and raw bytes in Zarr v2."""
    for array in view.arrays:
        value = array.meta.get("fill_value")
        if array.version != 2 or value is None or not zarr_types.knows(array.meta, 2):
            continue
        if zarr_types.kind(array.meta, 2)[0] == "V" and not zarr_types.refuses_fill(value, array.meta, 2):
            what = "records" if isinstance(array.meta["dtype"], list) else "raw bytes"
            text = f"`{array.path}` holds {what} and has a fill value"
            yield FindingPlace(array.key, "/fill_value", text, does="cannot read it", instead="write `null`")


@RULES.add("unencoded-fill", REFUSED, "write an integer, or the eight bytes of a little-endian double in base64")
def unencoded(view: ZarrView) -> Iterator[FindingPlace]:
    """Find a Zarr v3 `_FillValue` without xarray's encoding."""
    for array in view.arrays:
        if array.version != 3 or "_FillValue" not in array.attrs or not zarr_types.knows(array.meta, 3):
            continue
        value, (letter, _) = array.attrs["_FillValue"], zarr_types.kind(array.meta, 3)
        if not _decodes(value, letter, array.meta.get("data_type")):
            text = f"`_FillValue` of `{array.path}` is `{json.dumps(value, ensure_ascii=False)[:40]}`"
            yield FindingPlace(
                array.attrs_key, f"{array.attrs_pointer}/_FillValue", text, instead=_encoded(value, letter)
            )


def _decodes(value: Any, letter: str, name: Any) -> bool:
    if letter in "iu":
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if letter == "c":
        return isinstance(value, list) and len(value) == 2 and all(_decodes(part, "f", None) for part in value)
    if letter == "f" or name in ("bytes", "variable_length_bytes"):
        try:
            data = base64.standard_b64decode(value)
        except (TypeError, ValueError):
            return False
        return letter != "f" or len(data) == 8
    return letter == "b" or name == "string"


def _encoded(value: Any, letter: str) -> str:
    if letter != "f":
        return ""
    try:
        text = base64.standard_b64encode(struct.pack("<d", float(value))).decode()
    except (TypeError, ValueError, OverflowError):
        return ""
    return f'write `"{text}"`'


def undecodable(view: ZarrView) -> Iterator[FindingPlace]:
    """Find CF attributes that cannot be decoded."""
    for array, name, why in _cf(view):
        if name != "units":
            yield FindingPlace(array.attrs_key, f"{array.attrs_pointer}/{name}", f"{why}, at `{array.path}`")


def times(view: ZarrView) -> Iterator[FindingPlace]:
    """Find times that cannot be decoded."""
    for array, name, why in _cf(view):
        if name == "units":
            text = f"`{array.path}` is in `{array.attrs['units']}`, and {why}"
            yield FindingPlace(array.attrs_key, f"{array.attrs_pointer}/units", text)


def _cf(view: ZarrView) -> Iterator[tuple[StoreNode, str, str]]:
    for array in view.arrays:
        if zarr_types.knows(array.meta, array.version):
            numeric = zarr_types.kind(array.meta, array.version)[0] in "iuf"
            for name, why in cf.faults(array.attrs, numeric=numeric):
                yield array, name, why


def own_names(view: ZarrView) -> Iterator[FindingPlace]:
    """Find the attribute by which xarray itself marks booleans."""
    for array in view.arrays:
        if array.attrs.get("dtype") == "bool" and zarr_types.kind(array.meta, array.version)[0] in "iu":
            text = f"an attribute of `{array.path}` is `dtype`, of the value `bool`"
            yield FindingPlace(array.attrs_key, f"{array.attrs_pointer}/dtype", text)


def groups(view: ZarrView) -> Iterator[FindingPlace]:
    """Find groups below the root."""
    for node in view.root.members:
        if not node.is_array and node.document is not None and any(descendant.is_array for descendant in node.walk()):
            yield FindingPlace(node.key, "", f"there are arrays in group `{node.path}`")


@RULES.add("unconsolidated-store", "warns and lists keys", "write the store with `--consolidated`")
def unconsolidated(view: ZarrView) -> Iterator[FindingPlace]:
    """Find stores without consolidated metadata."""
    if view.version == 2 and view.root.document is not None and view.documents.get(".zmetadata") is None:
        yield FindingPlace(".zmetadata", "", "the store has no consolidated metadata")


_ZARR = tuple(
    rule._replace(
        seen=f"{SEEN} and zarr-python {rule.seen}", does=REFUSED if rule.does == zarr_python.REFUSED else rule.does
    )
    for rule in zarr_python.RULES
    if rule.code not in ("missing-names", "surplus-names")
)
_AS_IN_FILES = {
    "clashing-scalar": clashing,
    "rounded-integer": rounded,
    "undecodable-attribute": undecodable,
    "undecodable-time": times,
    "hidden-attribute": own_names,
    "hidden-group": groups,
}
"""Rules with the effect and remedy of the rule of the same code for files."""

STORES = (
    *_ZARR,
    *(rule._replace(seen=SEEN, find=_AS_IN_FILES[rule.code]) for rule in FILES if rule.code in _AS_IN_FILES),
    *RULES,
)

PEER = Peer("xarray", "xarray", SEEN, STORES, ZarrView, tuple(FILES), zarr_python.RELEASES)
