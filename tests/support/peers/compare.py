"""Compares what a reader saw with what was expected; every function yields the differences as texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nczarr.ast import Attribute
from nczarr.ast.plain_json import HIDDEN, plain, show_untyped

from .expected import Expected

ATOMIC_SIZE = {"byte": 1, "ubyte": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "int64": 8, "uint64": 8,
               "float": 4, "double": 8}  # fmt: skip


def same(seen: Any, wanted: Any) -> bool:
    """Equal bit for bit, whatever the byte order."""
    seen, wanted = np.asarray(seen), np.asarray(wanted)
    if seen.shape != wanted.shape:
        return False
    if seen.dtype.kind in "OSU" or wanted.dtype.kind in "OSU":
        return [as_bytes(text) for text in seen.reshape(-1).tolist()] == [
            as_bytes(text) for text in wanted.reshape(-1).tolist()
        ]
    if seen.dtype.names or seen.dtype.kind == "V":
        return seen.tobytes() == wanted.tobytes()
    return seen.dtype.newbyteorder("<") == wanted.dtype and seen.astype(wanted.dtype).tobytes() == wanted.tobytes()


def as_bytes(text: Any) -> bytes:
    """A text as a reader without NIL shows it."""
    if text is None:
        return b""
    return text if isinstance(text, bytes) else str(text).encode()


def dimension_names(seen: list[str], wanted: list[str | int]) -> bool:
    """Names equal; an anonymous dimension has an invented one."""
    return len(seen) == len(wanted) and all(
        name.startswith("_Anonymous_Dim_") if isinstance(want, int) else name == want
        for name, want in zip(seen, wanted, strict=True)
    )


def attributes(seen: dict[str, Any], wanted: tuple[Attribute, ...], where: str) -> Iterator[str]:
    """Types and bytes of attributes as libnetcdf has them; the readable part where NCZarr holds no more."""
    shown = [item for item in wanted if plain(item.value).value is not None and item.name not in HIDDEN]
    if [item.name for item in shown] != list(seen):
        yield f"{where}: attributes {list(seen)} instead of {[item.name for item in shown]}"
        return
    for item in shown:
        type_name, value = seen[item.name]
        form = plain(item.value)
        data: Any = item.value.data
        if item.value.type == "string":
            texts = form.value if isinstance(form.value, list) else [form.value]
            data = [text.encode() for text in texts]
            value = [text or b"" for text in value]
        elif item.value.type == "char":
            data = form.value.encode() or b"\0"
        if type_name != item.value.type or value != data:
            yield f"{where}:{item.name}: {type_name} {value!r} instead of {item.value.type} {data!r}"


def plain_attributes(
    seen: dict[str, Any], wanted: tuple[Attribute, ...], *, typed: bool, fills: bool = False
) -> Iterator[str]:
    """Attributes as JSON shows them, in order; those of a variable without its `_FillValue`, which readers code.

    Without types in the store, NaN and infinities are numbers, not texts. xarray takes every name that begins with
    `_nc` for netCDF's own and hides it.
    """
    left_out = HIDDEN if fills else HIDDEN | {"_FillValue"}
    named = {item.name: plain(item.value).value if typed else show_untyped(item.value) for item in wanted}
    shown, found = (
        {name: value for name, value in side.items() if name not in left_out and not name.startswith("_nc")}
        for side in (named, seen)
    )
    shown = {name: value for name, value in shown.items() if value is not None}
    if repr(found) != repr(shown):  # NaN is unequal to itself
        yield f"attributes {found!r:.300} instead of {shown!r:.300}"


def masks(seen: dict[str, Any], wanted: Expected) -> Iterator[str]:
    """The `_FillValue` of numbers as xarray shows it, bit by bit; none where the dataset has none.

    Zarr v2 declares the default fill value of numbers too, which xarray then takes for one.
    """
    own = [item.value for item in wanted.attributes if item.name == "_FillValue"]
    if not own or own[0].type not in ATOMIC_SIZE:
        return
    dtype = {"float": "<f4", "double": "<f8"}.get(own[0].type)
    value = np.array(own[0].as_numbers()[0], dtype)
    if "_FillValue" not in seen or np.array(seen["_FillValue"], dtype).tobytes() != value.tobytes():
        yield f"_FillValue {seen.get('_FillValue')!r} instead of {value!r}"


def netcdf_variable(seen: dict[str, Any], wanted: Expected, where: str) -> Iterator[str]:
    """A variable through libnetcdf: chars come as one-letter strings, enums as their integers."""
    type_name = {"char": "string", "enum": wanted.base}.get(wanted.type, wanted.type)
    if seen["type"] != type_name:
        yield f"{where}: type {seen['type']} instead of {type_name}"
        return
    if not dimension_names(seen["dimensions"], wanted.dimensions) or seen["shape"] != wanted.shape:
        yield f"{where}: {seen['dimensions']} {seen['shape']} instead of {wanted.dimensions} {wanted.shape}"
        return
    values = wanted.values.get("")
    if values is not None and not same(
        np.reshape(np.array(seen["values"], object if type_name == "string" else None), wanted.shape), values
    ):
        yield f"{where}: values {seen['values']!r:.300} instead of {values!r:.300}"
    yield from attributes(seen["attributes"], wanted.attributes, where)


def datasets(seen: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """Our store against the file of another program, both through libnetcdf."""
    if list(seen) != list(wanted):
        yield f"ncgen: groups {list(seen)} instead of {list(wanted)}"
        return
    for path, group in wanted.items():
        shown = seen[path]["dimensions"]
        if any(shown.get(name) != item for name, item in group["dimensions"].items()):
            yield f"ncgen: dimensions of {path}: {shown} instead of {group['dimensions']}"
        yield from _raw_attributes(seen[path]["attributes"], group["attributes"], f"ncgen {path}")
        for name, item in group["variables"].items():
            other = seen[path]["variables"].get(name)
            if other is None:
                if item["type"] not in ("vlen", "opaque", "compound", "string"):
                    yield f"ncgen: {path} {name} is missing"
                continue
            yield from _raw_variable(other, item, f"ncgen {path} {name}")


def _raw_variable(seen: dict[str, Any], wanted: dict[str, Any], where: str) -> Iterator[str]:
    if seen["dimensions"] != wanted["dimensions"] or seen["shape"] != wanted["shape"]:
        yield f"{where}: {seen['dimensions']} {seen['shape']} instead of {wanted['dimensions']} {wanted['shape']}"
        return
    if wanted["type"] not in ("char", "enum") and seen["type"] != wanted["type"]:
        yield f"{where}: type {seen['type']} instead of {wanted['type']}"
        return
    if wanted["values"] is not None:
        ours, theirs = (
            np.reshape(np.array(side["values"], object if side["type"] == "string" else None), wanted["shape"])
            for side in (seen, wanted)
        )
        if not same(ours, theirs):
            yield f"{where}: values {ours!r:.300} instead of {theirs!r:.300}"
    yield from _raw_attributes(seen["attributes"], wanted["attributes"], where)


def _raw_attributes(seen: dict[str, Any], wanted: dict[str, Any], where: str) -> Iterator[str]:
    for name, (type_name, value) in wanted.items():
        if value is None or name in HIDDEN or type_name == "enum":
            continue
        other_type, other = seen.get(name, ("nothing", None))
        if type_name == "string" and other_type == "string":
            value, other = [text or b"" for text in value], [text or b"" for text in other]
        if (other_type, other) != (type_name, value):
            yield f"{where}:{name}: {other_type} {other!r} instead of {type_name} {value!r}"
