"""Every rule for netCDF-C: a store that provokes it, what libnetcdf 4.10.1 makes of that, and the store repaired."""

from __future__ import annotations

import json
from typing import Any

from nczarr.arrays.codecs.shuffle import shuffle as _shuffle

from .faulty import GONE, INTS, NCZARR, PURE, Fault, edit, number

A, T, R = "v/.zarray#/", "v/.zattrs#/", ".zattrs#/"
G, REFS, NAMES = R + "_nczarr_group/", T + "_nczarr_array/dimension_references", T + "_ARRAY_DIMENSIONS"
TWO = {A + "shape": [2, 3], A + "chunks": [2, 3], "v/0": GONE, "v/0.0": INTS * 2, NAMES: ["y", "x"]}
SCALAR = {A + "shape": [1], A + "chunks": [1], "v/0": INTS[:4], REFS: [], T + "_nczarr_array/scalar": 1}
VERSION_3 = {"zarr_format": 3, "node_type": "group", "attributes": {}}
ALONE = {"zarr.json": VERSION_3, **dict.fromkeys(PURE, GONE)}
OLDER = {
    ".zgroup#/_nczarr_superblock": {"version": "2.0.0"},
    ".zgroup#/_nczarr_group": {"dims": {"x": 3, "t": 3}, "vars": ["v", "w"], "groups": []},
    A + "_nczarr_array": {"dimrefs": ["/x"]},
    "w/.zarray#/_nczarr_array": {"dimrefs": ["/t"]},
}


def raw(document: Any, *, escaped: bool = False) -> bytes:
    return json.dumps(document, ensure_ascii=escaped).encode()


def attribute(value: Any, kind: str | None = None, name: str = "a") -> dict[str, Any]:
    return {T + name: value, **({f"{T}_nczarr_attr/types/{name}": kind} if kind else {})}


def pure(code: str, changes: dict[str, Any], saw: str, repaired: dict[str, Any] | None = None) -> Fault:
    return Fault(code, changes, saw, repaired or {}, PURE)


TEXTS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"


def texts(width: int) -> dict[str, Any]:
    """An array of texts of so many bytes each."""
    count = len(TEXTS) // width
    array = {"shape": [count], "chunks": [count], "dtype": f"|S{width}", "fill_value": None, "compressor": None}
    return {f"{A}{name}": value for name, value in array.items()} | {G + "dimensions/x": count, "v/0": TEXTS}


BROKEN = "OSError: nc_open: -137"
TAIL = raw(NCZARR["v/.zattrs"]) + b"}}"
UNITS = edit(NCZARR, {T + "units": "°"})
STORES = [
    pure("unread-format", ALONE, "OSError: nc_open: -51"),
    Fault("broken-document", {"v/.zattrs": TAIL}, BROKEN),
    Fault("broken-document", {".zattrs": raw(NCZARR[".zattrs"]) + b"]"}, BROKEN),
    Fault("broken-document", {"v/.zarray": raw(NCZARR["v/.zarray"]) + b" 0}"}, BROKEN),
    Fault("broken-document", {"v/.zarray": raw(NCZARR["v/.zarray"])[:-9]}, BROKEN),
    Fault("broken-document", {"v/.zattrs": b""}, BROKEN),
    Fault("broken-document", {"v/.zattrs": b"[]"}, "OSError: nc_open: -36"),
    Fault(
        "escaped-text",
        {"v/.zattrs": raw(UNITS["v/.zattrs"], escaped=True)},
        "attributes /v: {'units': \"char b'u00b0'\"",
        {T + "units": "°"},
    ),
    Fault("doubled-attribute", {"v/.zattrs": raw(NCZARR["v/.zattrs"]).replace(b'"n": 5', b'"n": 4, "n": 5')}, "", {}),
    Fault("odd-format-number", {".zgroup": {"zarr_format": 3}}, BROKEN),
    Fault("odd-format-number", {A + "zarr_format": 3}, BROKEN),
    Fault("odd-superblock", {R + "_nczarr_superblock/version": "abc"}, BROKEN),
    Fault("odd-superblock", {R + "_nczarr_superblock": "2.0.0"}, BROKEN),
    Fault("missing-superblock", {R + "_nczarr_superblock": GONE}, "dimensions /: {'x': (3, False), 't': (3, False)}"),
    Fault("missing-lists", {R + "_nczarr_group": GONE}, "hidden /v"),
    Fault("missing-lists", {"a/.zattrs#/_nczarr_group": GONE}, "hidden /a/p"),
    Fault("missing-lists", {"a/.zattrs": GONE}, "crash: signal 11"),
    Fault("missing-lists", {G + "arrays": GONE}, "hidden /v"),
    Fault("missing-lists", {G + "arrays": "v"}, "hidden /v"),
    Fault("missing-lists", {G + "groups": GONE}, "hidden /a"),
    Fault("missing-group", {".zgroup": GONE}, "crash: signal 11"),
    Fault("missing-group", {"a/.zgroup": GONE}, "crash: signal 11"),
    pure(
        "missing-group",
        {"g/u/.zarray": number(), "g/u/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}},
        "hidden /g",
        {"g/u/.zarray": number(), "g/u/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "g/.zgroup": {"zarr_format": 2}},
    ),
    Fault("missing-array", {G + "arrays": ["v", "w", "u"]}, "OSError: nc_open: -36"),
    Fault("hidden-member", {G + "arrays": ["v"]}, "hidden /w"),
    Fault("hidden-member", {G + "groups": ["a"]}, "hidden /b"),
    Fault("missing-description", {"v/.zattrs": GONE}, BROKEN),
    Fault("missing-description", {T + "_nczarr_array": GONE}, BROKEN),
    Fault("illegal-name", {G + "arrays": ["v", "w", "a/p"]}, "OSError: nc_open: -59"),
    Fault("illegal-name", {G + "dimensions/a~1b": 3}, "OSError: nc_open: -59"),
    Fault("illegal-name", {G + "dimensions/#h": 3}, "OSError: nc_open: -59"),
    Fault("illegal-name", {G + "dimensions/q ": 3}, "OSError: nc_open: -59"),
    pure("root-array", {**dict.fromkeys(PURE, GONE), ".zarray": number()}, "hidden /v"),
    pure(
        "old-layout",
        {A + "_NCZARR_ARRAY": {"dimrefs": ["/x"]}, T + "_NCZARR_ATTR": {"types": {"n": "<i2"}}},
        "attributes /v:",
    ),
]

ARRAYS = [
    *(
        Fault("missing-member", {A + name: GONE}, saw)
        for name, saw in {
            "zarr_format": "crash: signal 11",
            "order": "crash: signal 11",
            "shape": BROKEN,
            "dtype": BROKEN,
            "chunks": "values /v: [1, -9, -9]",
        }.items()
    ),
    Fault("missing-member", {A + "order": None}, "crash: signal 11"),
    *(Fault("bad-shape", {A + "shape": shape}, BROKEN) for shape in (["3"], [-3], None, [3.0])),
    *(Fault("bad-chunks", {A + "chunks": chunks}, BROKEN) for chunks in ([0], [-1])),
    Fault("bad-chunks", {A + "chunks": []}, "values /v: [1, -9, -9]"),
    pure(
        "column-order",
        {**TWO, "v/0.0": INTS[:4] * 2 + INTS[4:8] * 2 + INTS[8:] * 2, A + "order": "F"},
        "values /v: [1, 1, 2, 2, 3, 3]",
        TWO,
    ),
    Fault("empty-filters", {A + "filters": []}, "crash: signal 11"),
    *(
        Fault("nameless-codec", {A + name: codec}, "OSError: nc_open: -13")
        for name, codec in (
            ("compressor", {"level": 3}),
            ("compressor", "zlib"),
            ("filters", [{"elementsize": 4}]),
            ("filters", {"id": "shuffle"}),
        )
    ),
    *(
        Fault("unread-codec", {A + "compressor": {"id": name}}, "OSError: nc_get_var: -136")
        for name in ("lz4", "gzip", "lzma")
    ),
    Fault("unread-codec", {A + "filters": [{"id": "delta", "dtype": "<i4"}]}, "OSError: nc_get_var: -136"),
    *(
        Fault(
            "shuffled-text",
            {**texts(width), A + "filters": [{"id": "shuffle", "elementsize": width}], "v/0": _shuffle(TEXTS, width)},
            "values /v: ",
            texts(width),
        )
        for width in (1, 2, 16)
    ),
    *(
        Fault("unknown-dtype", {A + "dtype": dtype, A + "fill_value": None}, BROKEN, {A + "fill_value": None})
        for dtype in ("=i4", "|b1", "<f2", "<c8", "<U1", "|V4", "|O", "<M8[s]", "<i16", [["a", "<i4"]])
    ),
    *(
        Fault("unmarked-dtype", {A + "dtype": dtype}, "values /v: [16777216, 33554432, 50331648]")
        for dtype in ("|i4", "i4")
    ),
    Fault(
        "lettered-char",
        {A + "dtype": "|S1", A + "fill_value": None, "v/0": b"abc", T + "_nczarr_array/nczarr": {"type": "char"}},
        "type /v: 'string'",
        {A + "dtype": ">S1", A + "fill_value": None, "v/0": b"abc", T + "_nczarr_array/nczarr": {"type": "char"}},
    ),
    Fault("dropped-scalar", {**SCALAR, A + "shape": [], A + "chunks": []}, "hidden /v", SCALAR),
    *(Fault("bad-fill", {A + "fill_value": fill}, "crash: signal 6") for fill in ("5", "0x5", "NaN", "", "AAAA")),
    *(
        Fault("bad-fill", {A + "fill_value": fill, A + "dtype": "<f4"}, "crash: signal 6", {A + "dtype": "<f4"})
        for fill in ("1.5", "inf", "-inf", "0x7fc00000", "AADAfw==")
    ),
    Fault("bad-fill", {A + "fill_value": 5000000000}, "OSError: nc_open: -60"),
    *(
        Fault(
            "bad-fill",
            {A + "fill_value": fill, A + "dtype": "|u1", "v/0": b"\1\2\3"},
            "OSError: nc_open: -60",
            {A + "dtype": "|u1", "v/0": b"\1\2\3", A + "fill_value": 9},
        )
        for fill in (256, -1)
    ),
    *(
        Fault(
            "bad-fill",
            {A + "fill_value": fill, A + "dtype": "|S4"},
            "OSError: nc_open: -36",
            {A + "dtype": "|S4", A + "fill_value": ""},
        )
        for fill in (0, 5)
    ),
    Fault(
        "bad-fill",
        {A + "fill_value": 55, A + "dtype": ">S1", "v/0": GONE},
        "values /v: [b'5'",
        {A + "dtype": ">S1", A + "fill_value": "x", "v/0": GONE},
    ),
    pure(
        "bad-fill",
        {A + "fill_value": 5, A + "dtype": ">S1", "v/0": b"abc"},
        "OSError: nc_open: -36",
        {A + "dtype": ">S1", A + "fill_value": "", "v/0": b"abc"},
    ),
    Fault("rounded-fill", {A + "fill_value": 1.5, "v/0": GONE}, "values /v: [1, 1, 1]", {"v/0": GONE}),
    Fault(
        "unequal-fills",
        {**attribute(-8, "<i4", "_FillValue"), "v/0": GONE},
        "attributes /v: {'units': \"char b'm'\", 'n'",
        {**attribute(-9, "<i4", "_FillValue"), "v/0": GONE},
    ),
    Fault(
        "unequal-fills",
        {**attribute(-9, "<i4", "_FillValue"), A + "fill_value": None, "v/0": GONE},
        "values /v: [0, 0, 0]",
        {**attribute(-9, "<i4", "_FillValue"), "v/0": GONE},
    ),
    Fault("odd-chunk", {"v/0": INTS[:8]}, "values /v: [1, 2, 0]"),
    Fault("odd-chunk", {"v/0": b""}, "values /v: [0, 0, 0]"),
    pure(
        "odd-separator",
        {**TWO, A + "dimension_separator": "-", "v/0.0": GONE, "v/0-0": INTS * 2},
        "values /v: [-9, -9, -9",
        TWO,
    ),
]

DIMENSIONS = [
    *(Fault("bad-dimension", {G + "dimensions/x": entry}, "OSError: nc_open: -") for entry in ({}, -3, "3", 3.0)),
    Fault("bad-dimension", {G + "dimensions": ["x", "t"]}, BROKEN),
    Fault("bad-dimension", {G + "dimensions": GONE}, "crash: signal 11"),
    Fault(
        "boolean-unlimited", {G + "dimensions/t/unlimited": True}, "dimensions /: {'x': (3, False), 't': (3, False)}"
    ),
    Fault("unmarked-scalar", {**SCALAR, T + "_nczarr_array": {"dimension_references": []}}, "crash: signal 11", SCALAR),
    *(Fault("missing-references", {REFS: found}, "crash: signal 11") for found in (GONE, [], [None], [{}], "/x")),
    Fault("surplus-references", {REFS: ["/x", "/x"]}, "OSError: nc_open: -63"),
    Fault("unknown-reference", {REFS: ["/nope"]}, "crash: signal 11"),
    Fault("unknown-reference", {REFS: ["/nope/x"]}, "OSError: nc_open: -125"),
    Fault("sideways-reference", {REFS: ["/a/y"]}, "OSError: nc_open: -125"),
    Fault("sideways-reference", {"a/p/.zattrs#/_nczarr_array/dimension_references": ["/b/z"]}, "crash: signal 11"),
    Fault(
        "sideways-reference",
        {"b/q/.zattrs#/_nczarr_array/dimension_references": ["/a/y"]},
        "AttributeError: 'NoneType'",
    ),
    Fault("unequal-lengths", {G + "dimensions/x": 4}, "OSError: nc_open: -63"),
    *(Fault("unequal-lengths", {G + "dimensions/t/size": size}, "OSError: nc_open: -63") for size in (2, 4)),
    pure("unequal-lengths", {"w/.zattrs#/_ARRAY_DIMENSIONS": ["x"], "w/.zarray#/shape": [4]}, "OSError: nc_open: -63"),
    pure("unequal-lengths", {**TWO, NAMES: ["x", "x"]}, "OSError: nc_open: -63", TWO),
    *(
        pure("unnamed-dimension", {NAMES: given}, "dimensions /: {'_Anonymous_Dim_3': (3, False)")
        for given in (GONE, [], "x")
    ),
    pure("missing-names", {**TWO, NAMES: ["x"]}, "crash: signal 11", TWO),
    pure("missing-names", {**TWO, NAMES: ["y", None]}, "crash: signal 11", TWO),
    pure("missing-names", {NAMES: [["x"]]}, "crash: signal 11"),
    pure("surplus-names", {NAMES: ["x", "q"]}, "dimensions /: {'x': (3, False), 'q': (0, True)"),
    pure("illegal-name", {NAMES: ["a/b"]}, "OSError: nc_open: -125"),
    pure("illegal-name", {NAMES: [""]}, "OSError: nc_open: -36"),
]

VARIABLE = "OSError: nc_inq_var: -"
ATTRIBUTES = [
    *(
        Fault("unknown-attribute-type", attribute("x", kind), VARIABLE + "137")
        for kind in ("|J0", "<U1", "|O", "|V1", "/e")
    ),
    Fault("unknown-attribute-type", {T + "_nczarr_attr": []}, VARIABLE + "137"),
    *(
        Fault("quoted-number", attribute(value, kind), "crash: signal 6")
        for kind, value in (
            ("<i4", "5"),
            ("<f4", "1.5"),
            ("<f8", "1.5"),
            ("<f8", "inf"),
            ("<f8", "-inf"),
            ("<i4", [1, "2"]),
        )
    ),
    *(Fault("large-number", attribute(value, kind), VARIABLE + "60") for kind, value in (("<i2", 70000), ("|u1", -1))),
    *(
        Fault("bare-text", attribute(value, ">S1"), "attributes /v:", attribute(repaired, ">S1"))
        for value, repaired in ((123, "123"), (True, "true"), (-1.5, "-1.5"))
    ),
    Fault(
        "bare-text",
        {"v/.zattrs": raw(edit(NCZARR, attribute(0, ">S1"))["v/.zattrs"]).replace(b'"a": 0', b'"a": 007')},
        "attributes /v:",
        attribute("007", ">S1"),
    ),
    Fault("bare-text", attribute(5, "|S4"), VARIABLE + "36"),
    Fault("empty-list", attribute([]), VARIABLE + "45", attribute([], "<i4")),
    pure("empty-list", {R + "a": []}, "OSError: nc_open: -45"),
    pure("mixed-list", attribute([1, "a"]), "crash: signal 6"),
    pure("mixed-list", attribute([1, 2.5]), "attributes /v:", attribute([1.0, 2.5])),
    pure("mixed-list", attribute([1, 3000000000]), "OSError: nc_open: -60"),
    *(
        pure("structured-attribute", attribute(value), "attributes /v:", {})
        for value in (None, {}, {"a": 1}, [[1]], [1, None], ["a", "b"], ["a", 1])
    ),
    Fault("structured-attribute", attribute(None, "<i4"), "attributes /v:"),
    *(Fault("hidden-attribute", attribute("x", ">S1", name), "") for name in ("CLASS", "NAME", "DIMENSION_LIST")),
    Fault("odd-provenance", {R + "_NCProperties": 5}, BROKEN),
]

ONLY_READ: list[tuple[str, str]] = [
    ("mixed-versions", "4.10.2 is not installed; 4.10.1 reads version 2"),
    ("zipped-store", "no build that is installed reads archives"),
    ("read-only-layout", "it is read, and only a change is refused"),
]
"""Rules that no installed release shows when it only reads."""

FAULTS = [*STORES, *ARRAYS, *DIMENSIONS, *ATTRIBUTES]
QUIET = [
    Fault("", change, "", {}, base)
    for base, change in (
        (NCZARR, {}),
        (PURE, {}),
        (NCZARR, SCALAR),
        (PURE, TWO),
        (PURE, OLDER | {"w/.zattrs#/_nczarr_attr": {"types": {}}}),
        (NCZARR, {"b/q/.zattrs#/_nczarr_array": {"dimension_references": ["/x"]}}),
        (NCZARR, {T + "_nczarr_array/nczarr": {"type": "int"}, A + "nczarr": 1}),
        (NCZARR, {A + "dtype": "|i1", "v/0": b"\1\2\3"}),
        (NCZARR, {A + "fill_value": None}),
        (NCZARR, {A + "fill_value": [5]}),
        (NCZARR, attribute("NaN", "<f8")),
        (NCZARR, attribute(["a", "b"], "|S4")),
        (NCZARR, attribute([], "<i4")),
        (NCZARR, attribute('{"a": 1}', ">S1")),
        (NCZARR, attribute("123", ">S1")),
        (PURE, attribute([2.5, 1])),
        (PURE, attribute(True)),
        (NCZARR, {A + "chunks": [5], "v/0": INTS + bytes(8)}),
    )
]
"""Stores that nothing is to be said of, and that libnetcdf reads."""


def saw_in_4_9(fault: Fault) -> str:
    """The observation with libnetcdf 4.9.3; `fault.saw` is that with 4.10.1."""
    crashing = ({A + name: GONE} for name in ("shape", "dtype"))
    nameless = ({A + "compressor": {"level": 3}}, {A + "filters": [{"elementsize": 4}]})
    if fault.changes in (*crashing, *nameless):
        return "crash: signal 11"
    if fault.code == "shuffled-text":
        return "OSError: nc_get_var: -136"
    return "dimensions /: " if fault.code == "missing-superblock" and fault.base is NCZARR else fault.saw
