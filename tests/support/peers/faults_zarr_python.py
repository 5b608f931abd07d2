"""Every rule for zarr-python: a store that provokes it, what 3.1.6 and 3.4.2 make of that, and the store repaired."""

from __future__ import annotations

import json
from typing import Any

from .faults_netcdf_c import TWO, A, R, T, raw
from .faulty import GONE, INTS, NCZARR, PURE, Fault, number

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def array_3(**members: Any) -> dict[str, Any]:
    made = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [3],
        "data_type": "int32",
        "fill_value": -9,
        "attributes": {},
    }
    grid = {"name": "regular", "configuration": {"chunk_shape": [3]}}
    return {
        **made,
        "chunk_grid": grid,
        "chunk_key_encoding": {"name": "default"},
        "codecs": [BYTES],
        "dimension_names": ["x"],
        **members,
    }


ZARR_3 = {
    "zarr.json": GROUP,
    "v/zarr.json": array_3(),
    "v/c/0": INTS,
    "w/zarr.json": array_3(dimension_names=["t"]),
    "w/c/0": INTS,
}
"""The store PURE in Zarr v3."""

V = "v/zarr.json#/"


def two(
    code: str, changes: dict[str, Any], saw: str | tuple[str, ...], repaired: dict[str, Any] | None = None
) -> Fault:
    return Fault(code, changes, saw, repaired or {}, PURE)


def three(
    code: str, changes: dict[str, Any], saw: str | tuple[str, ...], repaired: dict[str, Any] | None = None
) -> Fault:
    return Fault(code, changes, saw, repaired or {}, ZARR_3)


NO_TYPE = "ValueError: No Zarr data type found"
JSON = "JSONDecodeError"
INSIDE = {"g/u/.zarray": number(), "g/u/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "g/u/0": INTS}
SHUFFLED = bytes(INTS[place + 4 * element] for place in range(4) for element in range(3))
NULL = {A + "fill_value": None}


def consolidated(without: str = "", base: dict[str, Any] = PURE) -> dict[str, Any]:
    documents = {key: value for key, value in base.items() if isinstance(value, dict)}
    told = {key: value for key, value in documents.items() if not without or not key.startswith(without)}
    return {".zmetadata": {"zarr_consolidated_format": 1, "metadata": told}}


VERSION_2 = [
    two("mixed-versions", {"zarr.json": GROUP}, "hidden /v"),
    two("broken-document", {"v/.zattrs": raw(PURE["v/.zattrs"]) + b"}"}, JSON),
    two("broken-document", {"v/.zarray": raw(PURE["v/.zarray"]) + b"}"}, JSON),
    two("broken-document", {"v/.zattrs": b""}, JSON),
    two("broken-document", {"v/.zattrs": b'{"_ARRAY_DIMENSIONS": ["x"], "a": TRUE}'}, JSON),
    two("broken-document", {"v/.zattrs": b'{"_ARRAY_DIMENSIONS": ["x"],}'}, JSON),
    two("broken-document", {"v/.zattrs": b'{"_ARRAY_DIMENSIONS": ["x"], "a": "\1"}'}, JSON),
    two("broken-document", {"v/.zattrs": b'{"_ARRAY_DIMENSIONS": ["x"], "a": "\xe9"}'}, "UnicodeDecodeError"),
    two("broken-document", {".zmetadata": b"{"}, JSON),
    two("odd-format-number", {".zgroup": {"zarr_format": 3}}, "hidden /v"),
    two("odd-format-number", {".zgroup": {}}, "hidden /v"),
    two("odd-format-number", {A + "zarr_format": 3}, ("ValueError: Invalid value", "ValueError: Failed to parse")),
    *(
        two("missing-member", {A + name: GONE}, saw)
        for name, saw in {
            "zarr_format": "hidden /v",
            "dtype": "hidden /v",
            "chunks": "TypeError",
            "fill_value": "TypeError",
            "order": "TypeError",
        }.items()
    ),
    *(two("bad-shape", {A + "shape": shape}, "") for shape in ([3.0], [-3], ["3"])),
    two("bad-chunks", {A + "chunks": [3, 3]}, "ValueError: The `shape` and `chunks`"),
    two("bad-chunks", {A + "chunks": []}, "ValueError: The `shape` and `chunks`"),
    two("bad-chunks", {A + "chunks": [-1]}, "ValueError"),
    two("bad-chunks", {A + "chunks": [0]}, ("ZeroDivisionError", "ValueError: cannot reshape")),
    two("missing-group", {".zgroup": GONE}, "GroupNotFoundError"),
    two("missing-group", INSIDE, "hidden /g", {**INSIDE, "g/.zgroup": {"zarr_format": 2}}),
    *(
        two("unknown-dtype", {A + "dtype": dtype, **NULL}, NO_TYPE, NULL)
        for dtype in (
            "i1",
            ">S1",
            "<S1",
            "S4",
            "|U1",
            "|i4",
            "i4",
            "=i4",
            "b1",
            "V4",
            "|O",
            "<i16",
            "|M8[s]",
            "<f16",
            [["a", "<i2", [2]]],
        )
    ),
    *(
        two("unknown-dtype", {A + "dtype": dtype, **NULL, "v/0": data}, NO_TYPE, {**NULL, "v/0": data})._replace(
            until="3.4", repaired={A + "dtype": repaired, **NULL, "v/0": data}
        )
        for dtype, repaired, data in (
            ("<i1", "|i1", INTS[:3]),
            (">u1", "|u1", INTS[:3]),
            ("<b1", "|b1", b"\1\0\1"),
            (">V4", "|V4", INTS),
            ([["a", "<i1"]], [["a", "|i1"]], INTS[:3]),
            ([["a", [["p", "<i2"]]]], [["a", "|V2"]], INTS[:6]),
        )
    ),
    *(
        two("unknown-dtype", {A + "dtype": "|O", **NULL, A + "filters": [{"id": name}], "v/0": GONE}, NO_TYPE, NULL)
        for name in ("vlen-array", "pickle", "json2")
    ),
    two("nameless-codec", {A + "compressor": {"level": 3}}, "UnknownCodecError"),
    two("unread-codec", {A + "compressor": {"id": "szip", "mask": 32}}, "UnknownCodecError"),
    two(
        "unsized-shuffle",
        {A + "filters": [{"id": "shuffle", "elementsize": 0}], "v/0": SHUFFLED},
        "values /v",
        {A + "filters": [{"id": "shuffle", "elementsize": 4}], "v/0": SHUFFLED},
    ),
    *(two("bad-fill", {A + "fill_value": fill}, "") for fill in (5000000000, "NaN", 1.5, [5], "")),
    *(
        two("bad-fill", {A + "fill_value": fill, A + "dtype": "<f4"}, "TypeError", {A + "dtype": "<f4"})
        for fill in ("0x7fc00000", "AADAfw==")
    ),
    *(
        two("bad-fill", {A + "fill_value": fill, A + "dtype": dtype}, "", {A + "dtype": dtype, **NULL})
        for dtype, fill in (("|S4", "ab"), ("|S4", 0), ("|V4", 0), ("<U1", 0))
    ),
    two(
        "bad-fill",
        {A + "fill_value": 256, A + "dtype": "|u1", "v/0": b"\1\2\3"},
        "OverflowError",
        {A + "fill_value": 255, A + "dtype": "|u1", "v/0": b"\1\2\3"},
    ),
    two(
        "bad-fill",
        {A + "fill_value": 0, A + "dtype": [["a", "<i2"], ["b", "<i2"]]},
        "TypeError",
        {A + "dtype": [["a", "<i2"], ["b", "<i2"]], **NULL},
    ),
    *(two("odd-chunk", {"v/0": data}, "ValueError") for data in (INTS[:8], INTS[:5], INTS * 2, b"")),
    two(
        "odd-separator",
        {A + "dimension_separator": "-"},
        ("ValueError: Expected an '.'", "ValueError: Failed to parse input for 'separator'"),
    ),
    two("stale-consolidation", consolidated("w"), "hidden /w"),
    two("stale-consolidation", {**consolidated(), T + "n": 6}, "attributes /v", {T + "n": 6}),
]

STRUCT = {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int32"}]}}
STRUCTURED = {"name": "structured", "configuration": {"fields": [["a", "int32"]]}}

VERSION_3 = [
    three("broken-document", {"v/zarr.json": raw(array_3()) + b"}"}, JSON),
    three("odd-format-number", {"zarr.json#/zarr_format": 2}, "hidden /v"),
    *(
        three("missing-member", {V + name: GONE}, "hidden /v")
        for name in ("zarr_format", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
    ),
    three("missing-group", {"zarr.json": GONE}, "GroupNotFoundError"),
    *(three("unknown-dtype", {V + "data_type": name}, "") for name in ("char", "r32", "bfloat16", "|S1")),
    three(
        "unknown-dtype",
        {V + "data_type": STRUCT, V + "fill_value": {"a": 9}},
        "ValueError: No Zarr data type found",
        {V + "data_type": STRUCTURED, V + "fill_value": "CQAAAA=="},
    )._replace(until="3.4"),
    *(
        three("unread-codec", {V + "codecs": [BYTES, {"name": name}]}, "UnknownCodecError")
        for name in ("lz4", "bz2", "numcodecs.x")
    ),
    three(
        "unread-codec",
        {V + "codecs": [{"name": "scale_offset", "configuration": {"offset": 0, "scale": 1}}, BYTES]},
        "UnknownCodecError",
    )._replace(until="3.4"),
    three(
        "unread-codec",
        {V + "codecs": [{"name": "cast_value", "configuration": {"data_type": "int32"}}, BYTES]},
        ("UnknownCodecError", "ImportError"),
    ),
    *(three("bad-fill", {V + "fill_value": fill}, "") for fill in (None, "NaN", 5000000000, 1.5, [5])),
    three("unknown-member", {V + "extra": 5}, "MetadataValidationError"),
    three("unknown-member", {V + "extra": {"name": "x"}}, "MetadataValidationError"),
    three("unknown-member", {"zarr.json#/extra": 5}, ("TypeError", "MetadataValidationError")),
    three("unknown-member", {"zarr.json#/extra": {"must_understand": False}}, "TypeError")._replace(until="3.4"),
    three(
        "unknown-extension",
        {V + "chunk_grid": {"name": "rectangular", "configuration": {}}},
        "ValueError: Unknown chunk grid",
    ),
    three(
        "unknown-extension",
        {V + "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 1]]}}},
        ("ValueError: Unknown chunk grid", "RectilinearChunksDisabledError"),
    ),
    three("unknown-extension", {V + "chunk_key_encoding": {"name": "x"}}, "ValueError: Unknown chunk key"),
    three("bad-codecs", {V + "codecs": []}, "ValueError"),
    three("bad-codecs", {V + "codecs": [BYTES, BYTES]}, "ValueError"),
    three("bad-codecs", {V + "data_type": "string", V + "fill_value": ""}, "ValueError"),
    three("missing-names", {V + "dimension_names": []}, "ValueError"),
    three("surplus-names", {V + "dimension_names": ["x", "y"]}, "ValueError"),
    three(
        "stale-consolidation",
        {
            "zarr.json#/consolidated_metadata": {
                "kind": "inline",
                "must_understand": False,
                "metadata": {"v": array_3()},
            }
        },
        "hidden /w",
    ),
]

ONLY_READ: list[tuple[str, str]] = []
FAULTS = [*VERSION_2, *VERSION_3]
QUIET = [
    Fault("", change, "", {}, base)
    for base, change in (
        (PURE, {}),
        (ZARR_3, {}),
        (NCZARR, {}),
        (PURE, TWO),
        (PURE, {**TWO, A + "order": "F"}),
        (PURE, consolidated()),
        (PURE, {A + "filters": []}),
        (PURE, {A + "compressor": GONE, A + "filters": GONE}),
        (PURE, {A + "fill_value": "5"}),
        (PURE, {A + "dtype": "|S4", A + "fill_value": "YWI="}),
        (PURE, {A + "dtype": "<f4", A + "fill_value": "NaN"}),
        (PURE, {"v/.zattrs": b"\xef\xbb\xbf" + json.dumps(PURE["v/.zattrs"]).encode()}),
        (PURE, {A + "dtype": "|O", A + "filters": [{"id": "vlen-utf8"}], A + "fill_value": "", "v/0": GONE}),
        (PURE, {A + "dtype": "|V4", **NULL}),
        (PURE, {A + "dtype": [["a", "<i2"], ["b", "<i2"]], **NULL}),
        (PURE, {T + "_ARRAY_DIMENSIONS": GONE}),
        (PURE, {A + "dimension_separator": "/"}),
        (PURE, {R + "a": float("nan")}),
        (ZARR_3, {V + "dimension_names": GONE}),
        (ZARR_3, {V + "extra": {"must_understand": False}}),
        (
            ZARR_3,
            {
                V + "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}},
                V + "fill_value": "",
            },
        ),
        (ZARR_3, {V + "data_type": "float32", V + "fill_value": "0x7fc00000"}),
    )
]
"""Stores that nothing is to be said of, and that zarr-python reads."""
