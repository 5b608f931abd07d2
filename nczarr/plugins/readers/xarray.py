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

from nczarr.ast.dataset import MISSING_MARKS
from nczarr.ast.plain_json import CARRIED
from nczarr.plugins.readers import xarray_files, zarr_python, zarr_types
from nczarr.plugins.readers.documents import StoreNode, ZarrView
from nczarr.plugins.readers.documents import document as parse_document
from nczarr.plugins.readers.peer import Peer
from nczarr.plugins.readers.rule import Finding, faults, of_arrays
from nczarr.plugins.readers.xarray_files import find_unsorted

SEEN = "2026.9.0"
REFUSED = "cannot open its group"
NAMES = "write one name for each axis in `_ARRAY_DIMENSIONS`, or in `dimension_names` of Zarr v3"

ONE_BYTE = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}}
"""Zarr v3 data type of chars."""
STATE_ENCODING = "state the encoding: `nczarr edit STORE --set 'VAR@_Encoding=\"utf-8\"'`"

AS_IN_FILES = {"clashing-scalar", "rounded-integer", "undecodable-attribute", "undecodable-time", "hidden-attribute",
               "hidden-group", "unsorted-coordinate"}  # fmt: skip
"""Faults with the effect and remedy of the fault of the same code with files."""

FAULTS = (
    *(
        fault._replace(
            seen=f"{SEEN} and zarr-python {fault.seen}",
            does=REFUSED if fault.does == zarr_python.REFUSED else fault.does,
        )
        for fault in zarr_python.FAULTS
        if fault.code not in ("missing-names", "surplus-names")
    ),
    *(fault._replace(seen=SEEN) for fault in xarray_files.FAULTS if fault.code in AS_IN_FILES),
    *faults(
        SEEN,
        ("root-array", "finds no group", "write the array in a group"),
        ("missing-names", REFUSED, NAMES),
        ("surplus-names", REFUSED, NAMES),
        ("unnamed-dimension", "names it `None`", NAMES),
        ("doubled-dimension", "reads it with a warning, and refuses most operations on it", NAMES),
        ("unequal-lengths", REFUSED, "write one length for each name in a group"),
        ("masking-fill", "treats it as missing, and converts integers to floating-point numbers",
         "write `null` if no value is missing, or the same value as `_FillValue`"),
        ("bad-fill:record", "cannot read records and raw bytes with a fill value", "write `null`"),
        ("unencoded-fill", REFUSED, "write an integer, or the eight bytes of a little-endian double in base64"),
        ("text-as-bytes", "reads bytes", "write `zarr3`, `nczarr3` or `zarr2`, which have texts of any length"),
        ("scalar-dimension", "reads an array with the dimension `_scalar_`", "write `zarr3`, `nczarr3` or `zarr2`"),
        ("unconsolidated-store", "warns and lists keys", "write the store with `--consolidated`"),
    ),
)  # fmt: skip


def names_of(array: StoreNode) -> tuple[Any, str, str]:
    """Return the dimension names of an array, also of older NCZarr, with their key and pointer."""
    axis_names, key, pointer = zarr_python.axes(array)
    # of netCDF-C before 4.8.1: xarray reads the names of dimensions from it too
    older = array.meta.get("_NCZARR_ARRAY")
    references = older.get("dimrefs") if isinstance(older, dict) else None
    if axis_names is None and array.version == 2 and isinstance(references, list):
        # as xarray does
        return [str(name).rpartition("/")[2] for name in references], array.key, "/_NCZARR_ARRAY/dimrefs"
    return axis_names, key, pointer


def find_groups(view: ZarrView) -> Iterator[Finding]:
    """Find an array at the root, groups below it, and a root without consolidated metadata."""
    if view.root.is_array:
        yield view.root.at("root-array", "", "the root of the store is an array")
    for node in view.root.members:
        if not node.is_array and node.document is not None and node.has_arrays:
            yield node.at("hidden-group", "", f"there are arrays in group `{node.path}`")
    is_listed = view.documents.store.refers  # a reference document is read whole, and opened so by `engine="kerchunk"`
    if view.version == 2 and view.root.document and not is_listed and view.documents.get(".zmetadata") is None:
        yield Finding("unconsolidated-store", ".zmetadata", "", "the store has no consolidated metadata")


def find_names(array: StoreNode) -> Iterator[Finding]:
    """Find missing, surplus and repeated names of dimensions."""
    (axis_names, key, pointer), shape, path = names_of(array), array.shape, array.path
    is_readable = array.attributes is None or isinstance(array.attributes.value, dict)
    if axis_names is None and shape is not None and is_readable and (shape or array.version == 2):
        yield Finding("missing-names", key, "", f"`{path}` does not name its dimensions")
    elif shape is not None and isinstance(axis_names, list | str) and len(axis_names) < len(shape):
        text = f"`{path}` has {len(shape)} axes, but names {len(axis_names)}"
        yield Finding("missing-names", key, pointer, text)
    counted = zarr_python.name_count(array)
    if counted is not None and counted[1] > 0:
        yield counted[0]
    listed = axis_names if isinstance(axis_names, list) else []
    if None in listed:
        yield Finding("unnamed-dimension", key, pointer, f"an axis of `{path}` has no name")
    texts = [name for name in listed if isinstance(name, str)]
    if len(set(texts)) < len(texts):
        yield Finding("doubled-dimension", key, pointer, f"two axes of `{path}` have the same name")


def find_dimensions(view: ZarrView) -> Iterator[Finding]:
    """Find one name with several lengths in a group, and scalars named like a dimension."""
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    used = set()
    for array in view.arrays:
        (axis_names, key, pointer), group = names_of(array), array.path.rpartition("/")[0]
        if not isinstance(axis_names, list):
            continue
        used |= {(group, name) for name in axis_names if isinstance(name, str)}
        if array.shape is None or len(array.shape) != len(axis_names):
            continue
        for axis, (name, size) in enumerate(zip(axis_names, array.shape, strict=True)):
            before, other = sizes.setdefault((group, json.dumps(name)), (size, array.path))
            if before != size:
                text = f"dimension `{name}` has the length {size} in `{array.path}` and {before} in `{other}`"
                yield Finding("unequal-lengths", key, f"{pointer}/{axis}", text)
    for array in view.arrays:
        if array.meta.get("shape") == [] and (array.path.rpartition("/")[0], array.name) in used:
            yield array.at("clashing-scalar", "/shape", f"scalar `{array.path}` has the name of a dimension")


def find_forms(array: StoreNode) -> Iterator[Finding]:
    """Find texts that xarray takes for bytes, and scalars in the form that netCDF-C has for them in Zarr v2."""
    document = _read_extension(array)
    extension = document.get("nczarr") if isinstance(document, dict) else None
    extended, version = extension if isinstance(extension, dict) else {}, array.version
    of_netcdf, fixed = isinstance(document, dict), zarr_types.kind(array.meta, version)[0] == "S"
    if _holds_texts(array, extended.get("type"), fixed=fixed, of_netcdf=of_netcdf and version == 2):
        # a conversion copies bytes, unless those of fixed length are only netCDF-C's form of texts
        copies = not fixed or "element" in extended or not of_netcdf
        pointer, text = "/dtype" if version == 2 else "/data_type", f"`{array.path}` holds texts as bytes"
        yield array.at("text-as-bytes", pointer, text, instead=STATE_ENCODING if copies else "")
    if version == 2 and isinstance(document, dict) and document.get("scalar") == 1:
        yield array.at_attribute("scalar-dimension", "_nczarr_array", f"`{array.path}` is a scalar")


def _read_extension(array: StoreNode) -> Any:
    """Return what NCZarr says of an array: an attribute, in Zarr v3 a part of the text of one."""
    text = array.attrs.get(CARRIED)
    if array.version == 2 or not isinstance(text, str):
        return array.attrs.get("_nczarr_array")
    return parse_document(array.attrs_key, text.encode("utf-8", "surrogatepass")).members.get("array")


def _holds_texts(array: StoreNode, declared: Any, *, fixed: bool, of_netcdf: bool) -> bool:
    """Return whether an array of bytes is one of strings for us, and has no encoding by which xarray decodes them."""
    if isinstance(array.attrs.get("_Encoding"), str):
        return False
    if not fixed:
        return zarr_types.holds_any_bytes(array.meta, array.version)
    if declared is not None:
        return bool(declared == "string")
    return of_netcdf or (array.meta.get("dtype") != "|S1" and array.meta.get("data_type") != ONE_BYTE)


def _is_declared(array: StoreNode, value: Any) -> bool:
    """Return whether an attribute declares the value as missing."""
    declared = [array.attrs.get(name) for name in MISSING_MARKS]
    return any(mark == value or mark == [value] for mark in declared if mark is not None)


def find_fills(array: StoreNode) -> Iterator[Finding]:
    """Find fill values that hide values, round them, or cannot be read."""
    version, path = array.version, array.path
    letter, size = zarr_types.kind(array.meta, version)
    value = array.meta.get("fill_value") if version == 2 else array.attrs.get("_FillValue")
    if letter in "iu" and size == 8 and value is not None and (version == 3 or _is_declared(array, value)):
        text = f"`{path}` has integers of 64 bits and a missing value"
        if version == 2:
            yield array.at("rounded-integer", "/fill_value", text)
        else:
            yield array.at_attribute("rounded-integer", "_FillValue", text)
    if version == 2 and value is not None and zarr_types.knows(array.meta, 2):
        if zarr_types.refuses_fill(value, array.meta, 2):
            return
        if letter in "iubSUO" and not _is_declared(array, value):
            shown = json.dumps(value, ensure_ascii=False)[:40]
            does = "treats it as missing" + (", and reads floating-point numbers" if letter in "iu" else "")
            yield array.at("masking-fill", "/fill_value", f"`fill_value` of `{path}` is `{shown}`", does=does)
        if letter == "V":
            text = f"`{path}` holds {'records' if isinstance(array.meta['dtype'], list) else 'raw bytes'}"
            text += " and has a fill value"
            yield array.at("bad-fill:record", "/fill_value", text, does="cannot read it", instead="write `null`")
    has_type = version == 3 and "_FillValue" in array.attrs and zarr_types.knows(array.meta, 3)
    if has_type and not _decodes(value, letter, array.meta.get("data_type")):
        text = f"`_FillValue` of `{path}` is `{json.dumps(value, ensure_ascii=False)[:40]}`"
        yield array.at_attribute("unencoded-fill", "_FillValue", text, instead=_advise_base64(value, letter))


def _decodes(value: Any, letter: str, name: Any) -> bool:
    """Return whether a `_FillValue` of Zarr v3 has xarray's encoding."""
    if letter in "iu":
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if letter == "c":
        return isinstance(value, list) and len(value) == 2 and all(_decodes(part, "f", None) for part in value)
    # xarray decodes both from base64, a float from eight bytes
    if letter == "f" or name in ("bytes", "variable_length_bytes"):
        try:
            data = base64.standard_b64decode(value)
        except (TypeError, ValueError):
            return False
        return letter != "f" or len(data) == 8
    return letter == "b" or name == "string"


def _advise_base64(value: Any, letter: str) -> str:
    """Return advice to write a float attribute in base64, as xarray reads it; "" if that is impossible."""
    if letter != "f":
        return ""
    try:
        text = base64.standard_b64encode(struct.pack("<d", float(value))).decode()
    except (TypeError, ValueError, OverflowError):
        return ""
    return f'write `"{text}"`'


def find_attributes(array: StoreNode) -> Iterator[Finding]:
    """Find CF attributes and times that cannot be decoded, and the attribute by which xarray itself marks booleans."""
    letter = zarr_types.kind(array.meta, array.version)[0]
    if zarr_types.knows(array.meta, array.version):
        for name, why in xarray_files.cf_faults(array.attrs, numeric=letter in "iuf"):
            fault, text = "undecodable-attribute", f"{why}, at `{array.path}`"
            if name == "units":
                fault, text = "undecodable-time", f"`{array.path}` is in `{array.attrs['units']}`, and {why}"
            yield array.at_attribute(fault, name, text)
    if array.attrs.get("dtype") == "bool" and letter in "iu":  # xarray's mark of booleans
        text = f"an attribute of `{array.path}` is `dtype`, of the value `bool`"
        yield array.at_attribute("hidden-attribute", "dtype", text)


FIND = (*zarr_python.FIND, find_groups, of_arrays(find_names, find_forms, find_fills, find_attributes), find_dimensions)

PEER = Peer(
    "xarray",
    "xarray",
    SEEN,
    FAULTS,
    FIND,
    ZarrView,
    xarray_files.FAULTS,
    xarray_files.FIND,
    (find_unsorted,),
    zarr_python.RELEASES,
    "zarr-python",
    references=True,
)
