"""Remedies of `check --for` as functions: each does to a store what the text of its rule says, and no more.

A function gets the documents of the store, and the key and JSON pointer of the finding. Remedies that run a command
of nczarr are its arguments.
"""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Callable
from typing import Any

from .faults_zarr_python import BYTES, GROUP, array_3
from .faulty import INTS, Store, number

Remedy = Callable[[Store, str, str], None]
Remedies = dict[str, Remedy | tuple[str, ...]]

CONVERT = ("convert", "SRC", "DST", "--to", "nczarr")
"""Arguments of a remedy by a command."""


def steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def parent(store: Store, key: str, pointer: str) -> tuple[Any, Any]:
    """The object or list with the member that a pointer names, and its name or place."""
    inside: Any = store[key]
    *outer, last = steps(pointer)
    for step in outer:
        inside = inside[int(step)] if isinstance(inside, list) else inside[step]
    return inside, int(last) if isinstance(inside, list) else last


def put(value: Any) -> Remedy:
    """Write a value at the place."""

    def apply(store: Store, key: str, pointer: str) -> None:
        inside, last = parent(store, key, pointer)
        inside[last] = value

    return apply


def take(store: Store, key: str, pointer: str) -> None:
    inside, last = parent(store, key, pointer)
    del inside[last]


def with_value(change: Callable[[Any], Any]) -> Remedy:
    """Replace the value at the place by another one."""

    def apply(store: Store, key: str, pointer: str) -> None:
        if isinstance(store[key], bytes):  # a bare word, which no JSON has
            store[key] = json.loads(store[key].replace(b": 007", b': "007"'))
            return
        inside, last = parent(store, key, pointer)
        inside[last] = change(inside[last])

    return apply


def folder(key: str) -> str:
    return key.rpartition("/")[0] + "/" if "/" in key else ""


def arrays_of(store: Store, home: str) -> list[str]:
    inside = [key[len(home) :] for key in store if key.startswith(home)]
    return sorted({key.partition("/")[0] for key in inside if key.count("/") == 1 and key.endswith("/.zarray")})


def groups_of(store: Store, home: str) -> list[str]:
    inside = [key[len(home) :] for key in store if key.startswith(home)]
    return sorted({key.partition("/")[0] for key in inside if key.count("/") == 1 and key.endswith("/.zgroup")})


def attributes(store: Store, home: str) -> dict[str, Any]:
    found: dict[str, Any] = store.setdefault(f"{home}.zattrs", {})
    return found


def describe_group(store: Store, key: str, pointer: str) -> None:
    """Write `_nczarr_group` with all members, and the dimensions that the arrays name."""
    home = folder(key)
    dimensions: dict[str, Any] = {}
    for name in arrays_of(store, home):
        shape = store[f"{home}{name}/.zarray"]["shape"]
        described = attributes(store, f"{home}{name}/").get("_nczarr_array", {})
        for length, reference in zip(shape, described.get("dimension_references", []), strict=False):
            if f"/{home}".rstrip("/") == reference.rpartition("/")[0]:
                dimensions[reference.rpartition("/")[2]] = length
    lists = {"dimensions": dimensions, "arrays": arrays_of(store, home), "groups": groups_of(store, home)}
    attributes(store, home)["_nczarr_group"] = lists


def describe_array(store: Store, key: str, pointer: str) -> None:
    """Write `_nczarr_array` with a reference for each axis: to dimensions of the group of these lengths."""
    home = folder(key)
    outer = folder(home.rstrip("/"))
    lists = store[f"{outer}.zattrs"]["_nczarr_group"]["dimensions"]
    lengths = {
        name: entry["size"] if isinstance(entry, dict) else entry
        for name, entry in lists.items()
        if isinstance(entry, int | dict)
    }
    references = []
    for length in store[f"{home}.zarray"]["shape"]:
        name = next((name for name in lengths if lengths[name] == length), None)
        if name is None:
            name = f"d{length}"
            lists[name] = length
        references.append(f"/{outer}{name}")
    attributes(store, home)["_nczarr_array"] = {"dimension_references": references}


def list_member(store: Store, key: str, pointer: str) -> None:
    """Add every member that is stored to the list."""
    home = folder(key)
    inside, last = parent(store, key, pointer)
    inside[last] = arrays_of(store, home) if last == "arrays" else groups_of(store, home)


def move_array(store: Store, key: str, pointer: str) -> None:
    for old in list(store):
        store[f"moved/{old}"] = store.pop(old)
    store[".zgroup"] = {"zarr_format": 2}


def write_again(store: Store, key: str, pointer: str) -> None:
    """Write the JSON that a document begins with, or else that of a sound one."""
    try:
        value = json.JSONDecoder().raw_decode(store[key].decode())[0]
        sound = isinstance(value, dict)
    except ValueError:
        sound = False
    name = key.rpartition("/")[2]
    store[key] = value if sound else number() if name == ".zarray" else {"zarr_format": 2} if name == ".zgroup" else {}


def reorder(store: Store, key: str, pointer: str) -> None:
    """Write `"order": "C"`, and the values in this order."""
    import numpy as np

    document, home = store[key], folder(key)
    values = np.frombuffer(store[f"{home}0.0"], document["dtype"]).reshape(document["chunks"], order="F")
    document["order"], store[f"{home}0.0"] = "C", values.tobytes()


def encode_by_zlib(store: Store, key: str, pointer: str) -> None:
    """Write zlib instead of the codec."""
    store[key] |= {"compressor": {"id": "zlib", "level": 1}, "filters": None}
    store[f"{folder(key)}0"] = zlib.compress(INTS)


def fit_scalar(store: Store, key: str, pointer: str) -> None:
    store[key] |= {"shape": [1], "chunks": [1]}
    attributes(store, folder(key))["_nczarr_array"] |= {"dimension_references": [], "scalar": 1}


def fit_fill(store: Store, key: str, pointer: str) -> None:
    """Write the value of the attribute in both places."""
    home = folder(key)
    store[f"{home}.zarray"]["fill_value"] = attributes(store, home)["_FillValue"]


def pad_chunk(store: Store, key: str, pointer: str) -> None:
    document = store[f"{folder(key)}.zarray"]
    size = math.prod(document["chunks"]) * int(document["dtype"][-1])
    store[key] = INTS[:size]


def separate(store: Store, key: str, pointer: str) -> None:
    home, old = folder(key), store[key]["dimension_separator"]
    store[key]["dimension_separator"] = "."
    for chunk in [chunk for chunk in store if chunk.startswith(home) and "/." not in chunk]:
        store[home + chunk[len(home) :].replace(old, ".")] = store.pop(chunk)


def name_axes(store: Store, key: str, pointer: str) -> None:
    """Write one name for each axis, the same for the same length in the group."""
    home = folder(key)
    lengths = store[f"{home}.zarray"]["shape"]
    attributes(store, home)["_ARRAY_DIMENSIONS"] = [f"n{length}" for length in lengths]


def equalize(store: Store, key: str, pointer: str) -> None:
    """Write the length of the array for its dimension, or a name for each length."""
    home = folder(key)
    described = attributes(store, home).get("_nczarr_array")
    if described is None:
        name_axes(store, key, pointer)
        return
    axis = int(steps(pointer)[-1])
    reference = described["dimension_references"][axis]
    outer = store[f"{reference.rpartition('/')[0].strip('/')}.zattrs"]["_nczarr_group"]["dimensions"]
    name, length = reference.rpartition("/")[2], store[key]["shape"][axis]
    outer[name] = {**outer[name], "size": length} if isinstance(outer[name], dict) else length


def refer(store: Store, key: str, pointer: str) -> None:
    """Write the path of a dimension of the array's own group for each axis."""
    describe_array(store, key, pointer)


def complete(store: Store, key: str, pointer: str) -> None:
    """Write all members that are missing."""
    sound = number()
    for name, value in sound.items():
        if store[key].get(name) is None and name not in ("compressor", "filters"):
            store[key][name] = value


def drop_slash(store: Store, key: str, pointer: str) -> None:
    """Write a name that netCDF allows: a list loses the name, a dimension gets another one."""
    inside, last = parent(store, key, pointer)
    if isinstance(inside, list):
        inside.remove(inside[last])
    else:
        inside["legal"] = inside.pop(last)


def quote_structure(store: Store, key: str, pointer: str) -> None:
    """Write a text, whose type in `_nczarr_attr`, if there is one, is that of texts."""
    inside, last = parent(store, key, pointer)
    inside[last] = json.dumps(inside[last])
    types = attributes(store, folder(key)).get("_nczarr_attr", {}).get("types", {})
    if last in types:
        types[last] = ">S1"


def type_attribute(store: Store, key: str, pointer: str) -> None:
    """Write the type of the attribute that suits its value."""
    [last] = steps(pointer)
    if last == "_nczarr_attr":
        store[key][last] = {"types": {}}
    else:
        value = store[key][last]
        store[key]["_nczarr_attr"]["types"][last] = ">S1" if isinstance(value, str) else "<i4"


def as_numbers(value: Any) -> Any:
    return [as_numbers(item) for item in value] if isinstance(value, list) else _number(value)


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    special = {"inf": "Infinity", "-inf": "-Infinity"}
    return special[value] if value in special else float(value) if "." in value else int(value)


def widen(store: Store, key: str, pointer: str) -> None:
    attributes(store, folder(key))["_nczarr_attr"]["types"][steps(pointer)[0]] = "<i8"


def quote(value: Any) -> Any:
    return str(value) if not isinstance(value, bool) else str(value).lower()


def unify(value: Any) -> Any:
    """Numbers of one type."""
    numbers = [item for item in value if isinstance(item, int | float)]
    return [float(item) for item in numbers]


def rename(store: Store, key: str, pointer: str) -> None:
    inside, last = parent(store, key, pointer)
    inside[f"my_{last}"] = inside.pop(last)


def rewrite(store: Store, key: str, pointer: str) -> None:
    """Write the document again, in UTF-8 and each attribute once."""
    store[key] = json.loads(store[key])


def create_group(store: Store, key: str, pointer: str) -> None:
    store[f"{folder(key)}.zgroup"] = {"zarr_format": 2}


def complete_superblock(store: Store, key: str, pointer: str) -> None:
    attributes(store, "")["_nczarr_superblock"] = {"version": "2.0.0"}


def dimension(store: Store, key: str, pointer: str) -> None:
    """Write a length for the dimension, or the object of all dimensions."""
    inside, last = parent(store, key, pointer)
    if last == "dimensions" or "dimensions" not in pointer:
        inside = inside[last] if last == "_nczarr_group" else inside
        inside["dimensions"] = {"x": 3, "t": {"size": 3, "unlimited": 1}}
    else:
        inside[last] = 3


NETCDF_C: Remedies = {
    "unread-format": CONVERT,
    "broken-document": write_again,
    "escaped-text": rewrite,
    "doubled-attribute": rewrite,
    "odd-format-number": lambda store, key, pointer: store[key].update(zarr_format=2),
    "odd-superblock": complete_superblock,
    "missing-superblock": complete_superblock,
    "missing-lists": describe_group,
    "missing-group": create_group,
    "missing-array": take,
    "hidden-member": list_member,
    "missing-description": describe_array,
    "illegal-name": drop_slash,
    "root-array": move_array,
    "old-layout": ("convert", "SRC", "DST"),
    "missing-member": complete,
    "bad-shape": put([3]),
    "bad-chunks": put([3]),
    "column-order": reorder,
    "empty-filters": put(None),
    "nameless-codec": encode_by_zlib,
    "unread-codec": encode_by_zlib,
    "shuffled-text": CONVERT,
    "unknown-dtype": put("<i4"),
    "unmarked-dtype": put("<i4"),
    "lettered-char": put(">S1"),
    "dropped-scalar": fit_scalar,
    "bad-fill": put(None),
    "rounded-fill": with_value(int),
    "unequal-fills": fit_fill,
    "odd-chunk": pad_chunk,
    "odd-separator": separate,
    "bad-dimension": dimension,
    "boolean-unlimited": put(1),
    "unmarked-scalar": lambda store, key, pointer: attributes(store, folder(key))["_nczarr_array"].update(scalar=1),
    "missing-references": refer,
    "surplus-references": refer,
    "unknown-reference": refer,
    "sideways-reference": refer,
    "unequal-lengths": equalize,
    "unnamed-dimension": name_axes,
    "missing-names": name_axes,
    "surplus-names": name_axes,
    "unknown-attribute-type": type_attribute,
    "quoted-number": with_value(as_numbers),
    "large-number": widen,
    "bare-text": with_value(quote),
    "empty-list": take,
    "mixed-list": with_value(unify),
    "structured-attribute": quote_structure,
    "hidden-attribute": rename,
    "odd-provenance": take,
}

# ---- zarr-python and xarray ------------------------------------------------------------------------------------------


def is_version_3(key: str) -> bool:
    return key.rpartition("/")[2] == "zarr.json"


def by_version(two: Remedy, three: Remedy) -> Remedy:
    """Do one thing to documents of Zarr v2, and another to those of v3."""
    return lambda store, key, pointer: (three if is_version_3(key) else two)(store, key, pointer)


def write_sound(store: Store, key: str, pointer: str) -> None:
    if key == ".zmetadata":
        del store[key]
    elif is_version_3(key):
        store[key] = array_3() if "/" in key else dict(GROUP)
    else:
        write_again(store, key, pointer)


def complete_array(store: Store, key: str, pointer: str) -> None:
    store[key] = {**array_3(), **store[key]}


def number_version(store: Store, key: str, pointer: str) -> None:
    store[key]["zarr_format"] = 3 if is_version_3(key) else 2


def keep_version_2(store: Store, key: str, pointer: str) -> None:
    for other in [other for other in store if is_version_3(other)]:
        del store[other]


def describe_node(store: Store, key: str, pointer: str) -> None:
    home = folder(key)
    if any(is_version_3(other) for other in store):
        store[f"{home}zarr.json"] = dict(GROUP)
    else:
        store[f"{home}.zgroup"] = {"zarr_format": 2}


def use_known_type(store: Store, key: str, pointer: str) -> None:
    """Write a type that it supports, and a fill value and chunk of this type."""
    if is_version_3(key):
        store[key] |= {"data_type": "int32", "fill_value": 0, "codecs": [BYTES]}
        store[f"{folder(key)}c/0"] = INTS
    else:
        store[key] |= {"dtype": "<i4", "fill_value": None, "filters": None}
        store[f"{folder(key)}0"] = INTS


def use_bytes(store: Store, key: str, pointer: str) -> None:
    is_text = store[key]["data_type"] == "string"
    store[key]["codecs"] = [{"name": "vlen-utf8"}] if is_text else [BYTES]
    if is_text:
        del store[f"{folder(key)}c/0"]


def use_regular_grid(store: Store, key: str, pointer: str) -> None:
    sound = array_3()
    store[key] |= {name: sound[name] for name in ("chunk_grid", "chunk_key_encoding")}


def drop_consolidation(store: Store, key: str, pointer: str) -> None:
    store.pop(".zmetadata", None)
    if "zarr.json" in store:
        store["zarr.json"].pop("consolidated_metadata", None)


def name_every_axis(store: Store, key: str, pointer: str) -> None:
    """Write one name for each axis, different ones in an array, and for lengths in a group."""
    home = folder(key)
    if is_version_3(key):
        shape = store[key]["shape"]
        store[key]["dimension_names"] = [f"n{length}_{axis}" for axis, length in enumerate(shape)]
        return
    shape = store[f"{home}.zarray"]["shape"]
    attributes(store, home)["_ARRAY_DIMENSIONS"] = [f"n{length}_{axis}" for axis, length in enumerate(shape)]


def rename_scalar(store: Store, key: str, pointer: str) -> None:
    home = folder(key)
    for old in [old for old in store if old.startswith(home)]:
        store[f"other/{old[len(home) :]}"] = store.pop(old)


def drop_fill(store: Store, key: str, pointer: str) -> None:
    """Write no `_FillValue`."""
    home = folder(key)
    attributes(store, home).pop("_FillValue", None)
    store[f"{home}.zarray"]["fill_value"] = None


def encode_fill(value: Any) -> Any:
    """An integer, or the eight bytes of a little-endian double in base64."""
    if isinstance(value, list):
        return value[0]
    if isinstance(value, str) and value.endswith("="):
        [value] = struct.unpack("<f", base64.b64decode(value))
    return base64.b64encode(struct.pack("<d", float(value))).decode()


def decode_attribute(store: Store, key: str, pointer: str) -> None:
    inside, last = parent(store, key, pointer)
    inside[last] = "x" if last == "coordinates" else 2.0


def date(store: Store, key: str, pointer: str) -> None:
    """Write units that are decoded, for numbers; texts have none."""
    home = folder(key)
    inside = attributes(store, home)
    inside.pop("calendar", None)
    inside["units"] = "days since 2000-01-01"
    if store[f"{home}.zarray"]["dtype"].startswith("|S"):
        del inside["units"]


def state_encoding(store: Store, key: str, pointer: str) -> None:
    """State the encoding of bytes of fixed length; others are converted."""
    inside = attributes(store, folder(key)) if key.endswith(".zarray") else store[key]["attributes"]
    inside["_Encoding"] = "utf-8"


ZARR_PYTHON: Remedies = {
    "mixed-versions": keep_version_2,
    "broken-document": write_sound,
    "odd-format-number": number_version,
    "missing-member": by_version(complete, complete_array),
    "bad-shape": put([3]),
    "bad-chunks": put([3]),
    "missing-group": describe_node,
    "unknown-dtype": use_known_type,
    "nameless-codec": encode_by_zlib,
    "unread-codec": by_version(encode_by_zlib, use_bytes),
    "unsized-shuffle": put(4),
    "bad-fill": by_version(put(None), put(0)),
    "odd-chunk": pad_chunk,
    "odd-separator": separate,
    "stale-consolidation": drop_consolidation,
    "unknown-member": take,
    "unknown-extension": use_regular_grid,
    "bad-codecs": use_bytes,
    "missing-names": lambda store, key, pointer: store[key].pop("dimension_names"),
    "surplus-names": lambda store, key, pointer: store[key].pop("dimension_names"),
}

XARRAY: Remedies = {
    **ZARR_PYTHON,
    "root-array": move_array,
    "missing-names": name_every_axis,
    "surplus-names": name_every_axis,
    "unnamed-dimension": name_every_axis,
    "doubled-dimension": name_every_axis,
    "unequal-lengths": name_every_axis,
    "clashing-scalar": rename_scalar,
    "masking-fill": put(None),
    "rounded-integer": drop_fill,
    "unencoded-fill": with_value(encode_fill),
    "undecodable-attribute": decode_attribute,
    "undecodable-time": date,
    "hidden-attribute": rename,
    "text-as-bytes": state_encoding,
    "scalar-dimension": ("convert", "SRC", "DST", "--to", "zarr3"),
    "unsorted-coordinate": ("combine", "SRC", "DST", "--along", "x", "--sort", "--to", "zarr2"),
    "unconsolidated-store": ("convert", "SRC", "DST", "--to", "zarr2", "--consolidated"),
}


def drop_nan(store: Store, key: str, pointer: str) -> None:
    """Write no NaN or infinity as an attribute; another document is written again."""
    if isinstance(store[key], bytes):
        write_sound(store, key, pointer)
        return
    inside = store[key].get("attributes", store[key])
    for name in [name for name, value in inside.items() if isinstance(value, float) and not math.isfinite(value)]:
        del inside[name]


def fill_by_type(store: Store, key: str, pointer: str) -> None:
    """Write a fill value: `null`, or one of complex numbers."""
    is_complex = store[key]["dtype"][1:2] == "c"
    store[key]["fill_value"] = [0.0, 0.0] if is_complex and store[key]["fill_value"] is None else None


def complete_everywhere(store: Store, key: str, pointer: str) -> None:
    complete(store, key, pointer)
    store[key] = {"compressor": None, "filters": None, **store[key]}


def encode_or_order(store: Store, key: str, pointer: str) -> None:
    (reorder if pointer == "/order" else encode_by_zlib)(store, key, pointer)


OF_ARRAYS: Remedies = {
    **ZARR_PYTHON,
    "unread-codec": by_version(encode_or_order, use_bytes),
    "missing-member": by_version(complete_everywhere, complete_array),
    "bad-fill": by_version(fill_by_type, put(0)),
    "doubled-dimension": name_every_axis,
    "broken-document": drop_nan,
}

REMEDIES = {
    "netcdf-c": NETCDF_C,
    "zarr-python": ZARR_PYTHON,
    "xarray": XARRAY,
    "tensorstore": OF_ARRAYS,
    "zarrs": OF_ARRAYS,
}
"""Remedies by reader and code of the finding: a change of the documents, or the arguments of a command."""

UNTRIED = {
    ("netcdf-c", "mixed-versions"): "4.10.2 is not installed; 4.10.1 reads version 2",
    ("netcdf-c", "zipped-store"): "no build that is installed reads archives",
    ("netcdf-c", "read-only-layout"): "it is read, and only a change is refused",
    ("xarray", "hidden-group"): "the remedy changes how the store is opened",
}
"""Rules whose remedy changes no document that an installed release reads."""
