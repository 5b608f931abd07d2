"""Data types, fill values and codecs of the draft: `Descr` (NumPy notation) ↔ the JSON of documents.

    <f8 "<f8"     |i1 "i1"     |b1 "bool"     |S1 {"extension": URI, "type": "char", "fallback": "u1"}
    |O {"extension": URI, "type": "string"}, or "bytes" where a value is not UTF-8
    |V4 {"extension": URI, "type": "opaque", "size": 4}
    record {"extension": URI, "type": "compound", "fields": [{"name": "t", "type": "<i8"}, {…, "shape": [3]}]}
    enum   {"extension": URI, "type": "enum", "name": "/sky", "fallback": "u1"}

Source: the draft, "Core data types" and `data_type`. Records have little-endian
fields.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from nczarr.arrays.codecs.chain import to_configs
from nczarr.arrays.codecs.table import Step
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast import Codec
from nczarr.formats.zarr.core.array_metadata import record
from nczarr.formats.zarr.core.fill_values import Json, json_of, number
from nczarr.plugins.zarr_drafts.protocol_extension import URI

CORE: dict[str, str] = {
    "bool": "|b1", "i1": "|i1", "u1": "|u1",
    **{f"{order}{code}": f"{order}{code}" for order in "<>"
       # the draft's table lacks `>u2` to `>u8`: taken as a slip
       for code in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")},
}  # fmt: skip
"""Data types of the draft, in NumPy notation."""

_IDENTIFIERS = {descr: name for name, descr in CORE.items()}

BASE = "http://purl.org/zarr/spec/codec/"
"""URI prefix of codecs, before their numcodecs names: the draft defines no codec."""


def data_type(descr: Descr, *, utf8: bool = True) -> str | Json:
    """Return the `data_type` member."""
    if not isinstance(descr, str):
        fields = [_field(*field) for field in descr]
        return {"extension": URI, "type": "compound", "fields": fields}
    if descr == "|O":
        return {"extension": URI, "type": "string" if utf8 else "bytes"}
    if descr == "|S1":
        return {"extension": URI, "type": "char", "fallback": "u1"}  # a reader without our extension gets bytes
    if descr[1] == "V":
        return {"extension": URI, "type": "opaque", "size": int(descr[2:])}
    return _IDENTIFIERS["|" + descr[1:] if descr[2:] == "1" else descr]  # single bytes have no order there


def _field(name: str, descr: Descr, shape: tuple[int, ...]) -> Json:
    written: Json = {"name": name, "type": data_type(descr)}
    return {**written, "shape": list(shape)} if shape else written


def descr(written: Any) -> Descr:
    """Invert `data_type`. Raises ValueError or another of `FAULTS` for an unknown data type."""
    if isinstance(written, str):
        return CORE[written]
    if written["extension"] != URI:
        raise ValueError(f"a data type of the extension {written['extension']}")
    match written["type"]:
        case "string" | "bytes":
            return "|O"
        case "char":
            return "|S1"
        case "enum":
            base = CORE[written["fallback"]]
            if base[1] not in "iu":  # netCDF's enums have integer bases
                raise ValueError("an enum with a base that is not an integer type")
            return base
        case "opaque":
            if type(written["size"]) is not int or not 0 < written["size"] < 2**30:
                raise ValueError("an opaque type without a size")
            return f"|V{written['size']}"
        case "compound":
            return record((field["name"], descr(field["type"]), field.get("shape", [])) for field in written["fields"])
    raise ValueError(f"the data type {written['type']!r}")


def fill_value(descr: Descr, fill: bytes | None, *, utf8: bool = True) -> Any:
    """Return the `fill_value` member: null if undefined; a char is its byte, a text itself, others base64.

    The bits of a NaN are lost.
    """
    if fill is None:
        return None
    if descr == "|O":
        return fill.decode() if utf8 else base64.b64encode(fill).decode()
    data = fill.ljust(itemsize(descr), b"\0")
    if not isinstance(descr, str) or descr[1] == "V":
        return base64.b64encode(data).decode()
    if descr[1] == "S":
        return data[0]
    if descr[1] == "b":
        return data != b"\0"
    return json_of(descr, data)


def has_odd_bits(descr: Descr, fill: bytes | None) -> bool:
    """Return whether `fill_value` loses the unusual bits of a NaN."""
    if fill is None or not isinstance(descr, str) or descr[1] not in "fc":
        return False
    return number(descr, fill_value(descr, fill)) != fill


def fill_bytes(written_type: Any, written: Any) -> bytes | None:
    """Invert `fill_value`, in the bytes of the dtype. Raises TypeError, ValueError or another of `FAULTS`."""
    if written is None:
        return None
    dtype = descr(written_type)
    if dtype == "|O":
        if not isinstance(written, str):
            raise TypeError("no text")
        return written.encode() if written_type["type"] == "string" else base64.b64decode(written, validate=True)
    if isinstance(dtype, str) and dtype[1] not in "VS":
        return number(dtype, written)
    if isinstance(dtype, str) and dtype[1] == "S":
        return number("|u1", written)
    data = base64.b64decode(written, validate=True)
    if len(data) != itemsize(dtype):
        raise ValueError("of another length")
    return data


def write_codecs(codecs: Sequence[Codec], itemsize: int) -> list[Json]:
    """Return the `chunk_codecs` member of a neutral chain: URIs and parameters.

    {"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}
    """
    return [
        {"codec": BASE + config["id"], **{name: value for name, value in config.items() if name != "id"}}
        for config in to_configs(codecs, itemsize)
    ]


def configs(steps: Sequence[Json]) -> tuple[Step, ...]:
    """Invert `write_codecs` for valid documents. Unknown codecs are named by URI, which decoding rejects."""
    return tuple(map(_config, steps))


def _config(step: Json) -> Step:
    """Return a codec object of the draft as a decoding step, whose `id` is a known name, or the URI."""
    from nczarr.arrays.codecs.table import ROWS, of_config_id

    uri = step["codec"]
    name = uri.removeprefix(BASE)
    kind = of_config_id(name) if uri.startswith(BASE) else None
    is_known = kind is not None and ROWS[kind.config_id].decodes and not kind.changes_arrays
    return {
        **{key: value for key, value in step.items() if key not in ("codec", "id")},
        "id": name if is_known else uri,
    }
