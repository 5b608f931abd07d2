"""Every rule for xarray: a store or file that provokes it, what 2026.9.0 makes of that, and the store or text "
"repaired."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import faults_zarr_python
from .faults_netcdf_c import TWO, A, T
from .faults_zarr_python import ZARR_3, V, consolidated
from .faulty import GONE, INTS, PURE, Fault, edit, number

NAMES = T + "_ARRAY_DIMENSIONS"
BASE = edit(PURE, {A + "fill_value": None, "w/.zarray#/fill_value": None})
SCALAR = {"w/.zarray": number(shape=(), fill=None), "w/.zattrs": {"_ARRAY_DIMENSIONS": []}, "w/0": INTS[:4]}
INDEX = {"x/.zarray": number(fill=None), "x/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "x/0": INTS}
GROUP = {
    "g/.zgroup": {"zarr_format": 2},
    "g/u/.zarray": number(fill=None),
    "g/u/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]},
    "g/u/0": INTS,
}
LONG = {A + "dtype": "<i8", A + "fill_value": -1, T + "_FillValue": -1, "v/0": b"\1\0\0\0\0\0\x20\0" * 3}
REFERRED = {T + "_nczarr_array": {"dimension_references": ["/x"]}}
TEXTS = {**REFERRED, A + "fill_value": None}
PLAIN = {
    A + "filters": [{"id": "vlen-utf8"}],
    "v/0": b"\3\0\0\0" + b"".join(b"\4\0\0\0" + b for b in (b"abcd", b"efgh", b"ijkl")),
}
FIXED_TEXTS = {
    V + "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}},
    V + "fill_value": "",
    V + "codecs": [{"name": "bytes"}],
    "v/c/0": b"abcdefghijkl",
}
ONE = {"v/0": INTS[:4], T + "_nczarr_array": {"dimension_references": [], "scalar": 1}}
ONE_PLAIN = {"v/0": INTS[:4], A + "shape": [], A + "chunks": [], NAMES: []}
REAL = {V + "data_type": "float32", V + "fill_value": 0.0}
DECODE = "ValueError: unable to decode time units"


def two(code: str, changes: dict[str, Any], saw: str, repaired: dict[str, Any] | None = None) -> Fault:
    return Fault(code, changes, saw, repaired or {}, BASE)


def three(code: str, changes: dict[str, Any], saw: str, repaired: dict[str, Any] | None = None) -> Fault:
    return Fault(code, changes, saw, repaired or {}, ZARR_3)


def time(units: str, calendar: Any = None) -> dict[str, Any]:
    return {T + "units": units, **({T + "calendar": calendar} if calendar is not None else {})}


OWN = [
    two(
        "root-array",
        {**dict.fromkeys(BASE, GONE), ".zarray": number(), ".zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "0": INTS},
        "GroupNotFound",
    ),
    two("missing-names", {NAMES: GONE}, "KeyError"),
    two("missing-names", {NAMES: []}, "ValueError: zip()"),
    two("missing-names", {**TWO, NAMES: ["x"]}, "ValueError: zip()", TWO),
    two("missing-names", {"v/.zattrs": GONE}, "KeyError"),
    two("surplus-names", {NAMES: ["x", "y"]}, "ValueError: zip()"),
    two("unnamed-dimension", {NAMES: [None]}, "dimensions /: {None: 3"),
    two(
        "doubled-dimension",
        {A + "shape": [3, 3], A + "chunks": [3, 3], "v/0": GONE, "v/0.0": INTS * 3, NAMES: ["x", "x"]},
        "",
        {A + "shape": [3, 3], A + "chunks": [3, 3], "v/0": GONE, "v/0.0": INTS * 3, NAMES: ["x", "t"]},
    ),
    two(
        "unequal-lengths",
        {"w/.zattrs#/_ARRAY_DIMENSIONS": ["x"], "w/.zarray#/shape": [4]},
        "ValueError: conflicting sizes",
    ),
    two("unsorted-coordinate", {**INDEX, "x/0": INTS[:4] + INTS[8:] + INTS[4:8]}, "values /x", INDEX),
    two("clashing-scalar", {**SCALAR, NAMES: ["w"]}, "ValueError: dimension 'w' already exists", SCALAR),
    two("masking-fill", {A + "fill_value": 2}, "type /v: 'float64'"),
    two(
        "masking-fill",
        {A + "dtype": "|u1", A + "fill_value": 0, "v/0": b"\1\0\1"},
        "type /v: 'float32'",
        {A + "dtype": "|u1", "v/0": b"\1\0\1"},
    ),
    two(
        "masking-fill",
        {A + "dtype": "|O", A + "filters": [{"id": "vlen-utf8"}], A + "fill_value": "", "v/0": GONE},
        "type /v: 'object'",
        {A + "dtype": "|O", A + "filters": [{"id": "vlen-utf8"}], "v/0": GONE},
    ),
    two("rounded-integer", LONG, "type /v: 'float64'", {**LONG, A + "fill_value": None, T + "_FillValue": GONE}),
    two("bad-fill", {A + "dtype": "|V4", A + "fill_value": "AAAAAA=="}, "TypeError: unhashable", {A + "dtype": "|V4"}),
    *(
        three("unencoded-fill", {**REAL, V + "attributes": {"_FillValue": fill}}, "", REAL)
        for fill in (2, 2.0, "NaN", "AAAAQA==")
    ),
    three("unencoded-fill", {V + "attributes": {"_FillValue": [2]}}, "TypeError"),
    *(
        two("undecodable-attribute", {T + name: value}, "")
        for name, value in (
            ("scale_factor", "2"),
            ("scale_factor", [2.0, 3.0]),
            ("add_offset", "1"),
            ("add_offset", {}),
            ("coordinates", 5),
        )
    ),
    *(
        two("undecodable-time", time(units), DECODE)
        for units in (
            "days since never",
            "months since 2000-01-01",
            "years since 2000-01-01",
            "us since 2000-01-01",
            "weeks since 2000-01-01",
            "days since 2000-13-01",
            "days since 2000-02-30",
            "days since 0000-01-01",
            "days since",
            "kg since yesterday",
            "msec since 2000",
            "d since 20000101",
        )
    ),
    *(two("undecodable-time", time("days since 2000-01-01", name), DECODE) for name in ("none", "", "proleptic", 5)),
    two("undecodable-time", time("days since 2000-02-29", "noleap"), DECODE),
    two("undecodable-time", time("days since 2000", "noleap"), DECODE),
    two("undecodable-time", {**time("days since 2000-01-01"), A + "dtype": "|S4"}, DECODE, {A + "dtype": "|S4"}),
    two("hidden-attribute", {T + "dtype": "bool"}, "type /v: 'bool'"),
    two("hidden-group", GROUP, ""),
    two(
        "text-as-bytes",
        {**TEXTS, A + "dtype": "|S4", "v/0": b"abcdefghijkl"},
        "type /v: '|S4'",
        {**PLAIN, A + "dtype": "|O"},
    ),
    two(
        "text-as-bytes",
        {A + "dtype": "|S4", A + "fill_value": None, "v/0": b"abcdefghijkl"},
        "type /v: '|S4'",
        {A + "dtype": "|S4", A + "fill_value": None, "v/0": b"abcdefghijkl", T + "_Encoding": "utf-8"},
    ),
    three("text-as-bytes", FIXED_TEXTS, "type /v: '|S4'", {**FIXED_TEXTS, V + "attributes": {"_Encoding": "utf-8"}}),
    two(
        "scalar-dimension", {**ONE, A + "shape": [1], A + "chunks": [1], NAMES: ["_scalar_"]}, "dimensions /", ONE_PLAIN
    ),
    two(
        "unconsolidated-store",
        {},
        "warnings ['RuntimeWarning: Failed to open Zarr store with consolidated",
        consolidated(base=BASE),
    ),
]

THROUGH_ZARR = [
    fault._replace(saw="?")
    for fault in faults_zarr_python.FAULTS
    if not any(key.startswith("g/") for key in fault.changes) and fault.code not in ("missing-names", "surplus-names")
]
ONLY_READ: list[tuple[str, str]] = []
FAULTS = [*OWN, *THROUGH_ZARR]
QUIET = [
    Fault("", change, "", {}, base)
    for base, change in (
        (BASE, {}),
        (ZARR_3, {}),
        (BASE, TWO),
        (BASE, SCALAR),
        (BASE, {NAMES: "x"}),
        (BASE, {T + "scale_factor": 2}),
        (BASE, {T + "coordinates": "nothing"}),
        (BASE, {A + "dtype": "<f4", A + "fill_value": "NaN"}),
        (BASE, {A + "fill_value": 2, T + "_FillValue": 2}),
        (BASE, {NAMES: GONE, A + "_NCZARR_ARRAY": {"dimrefs": ["/x"]}}),
        *(
            (BASE, time(units))
            for units in (
                "days since 2000-01-01",
                "Hours since 1900-1-1 00:00:0.0",
                "s since 1970-01-01T00:00:00Z",
                "msec since 2000-01-01",
                "days since 20000101",
                "days since -4713-01-01",
                "days",
                "m",
                "days since 2000-01-01 +1:00",
            )
        ),
        *((BASE, time("days since 2000-02-29", name)) for name in ("gregorian", "360_day", "julian", "ALL_LEAP")),
        (BASE, time("months since 2000-01-01", "360_day")),
        (ZARR_3, {**REAL, V + "attributes": {"_FillValue": "AAAAAAAA+H8="}}),
        (ZARR_3, {V + "attributes": {"_FillValue": 2}}),
    )
]


class FileFault(NamedTuple):
    """One netCDF file, as CDL: what we say, the faulty part of the text, what xarray saw, and the part repaired."""

    code: str
    text: str
    saw: str
    repaired: str = ""

    @property
    def name(self) -> str:
        return f"{self.code} {self.text}"[:90]


VLEN, RECORD = "types: int(*) l ; variables: ", "types: compound c {int a ; } ; variables: "
FILES = [
    FileFault("hidden-group", "group: g { variables: int w ; data: w = 1 ; }", ""),
    *(
        FileFault("skipped-type", f"types: {types} variables: {kind} w(x) ;", "")
        for types, kind in (
            ("opaque(4) o ;", "o"),
            ("compound c {int a ; string b ; } ;", "c"),
            ("byte enum e {a = 0} ; compound c {e b ; } ;", "c"),
            ("int(*) l ; compound c {l b ; } ;", "c"),
            ("string(*) l ;", "l"),
            ("int(*) l ; l(*) m ;", "m"),
        )
    ),
    FileFault("unread-attribute", f"{VLEN} int w(x) ; l w:a = {{1, 2}} ;", "KeyError", "variables: int w(x) ;"),
    FileFault(
        "unread-attribute",
        "types: opaque(2) o ; variables: int w(x) ; o w:a = 0X0102 ;",
        "KeyError",
        "variables: int w(x) ;",
    ),
    FileFault(
        "unread-attribute",
        "types: opaque(2) o ; variables: int w(x) ; o :a = 0X0102 ;",
        "KeyError",
        "variables: int w(x) ;",
    ),
    FileFault(
        "unread-attribute",
        'types: compound c {int a ; string b ; } ; variables: int w(x) ; c w:a = {1, "x"} ;',
        "KeyError",
        "variables: int w(x) ;",
    ),
    FileFault("unread-attribute", f"{RECORD} c w(x) ; c w:_FillValue = {{1}} ;", "TypeError", f"{RECORD} c w(x) ;"),
    FileFault("doubled-dimension", "variables: int w(x, x) ;", "surplus /w"),
    FileFault("clashing-scalar", "variables: int x ;", "ValueError: dimension 'x' already"),
    FileFault("unsorted-coordinate", "variables: int x(x) ;", "", "variables: int w(x) ;"),
    FileFault("dropped-dimension", "dimensions: y = 5 ;", ""),
    FileFault(
        "rounded-integer",
        "variables: int64 w(x) ; w:_FillValue = 2LL ;",
        "type /w: 'float64'",
        "variables: int64 w(x) ;",
    ),
    FileFault(
        "undecodable-attribute", 'variables: int w(x) ; w:scale_factor = "2" ;', "UFunc", "variables: int w(x) ;"
    ),
    FileFault(
        "undecodable-attribute", "variables: int w(x) ; w:coordinates = 5 ;", "AttributeError", "variables: int w(x) ;"
    ),
    FileFault(
        "undecodable-time",
        'variables: int w(x) ; w:units = "months since 2000-01-01" ;',
        DECODE,
        "variables: int w(x) ;",
    ),
    FileFault(
        "undecodable-time",
        'variables: char w(x) ; w:units = "days since 2000-01-01" ;',
        DECODE,
        "variables: char w(x) ;",
    ),
    FileFault(
        "hidden-attribute", 'variables: int w(x) ; w:dtype = "bool" ;', "type /w: 'bool'", "variables: int w(x) ;"
    ),
]
QUIET_FILES = [
    "",
    f"{VLEN} l w(x) ;",
    f"{RECORD} c w(x) ;",
    "types: byte enum e {a = 0} ; variables: e w(x) ;",
    "variables: string w(x) ;",
    "variables: int w(x) ; w:_FillValue = 2 ;",
    'variables: byte w(x) ; w:_Unsigned = "true" ;',
    f"{RECORD} int w(x) ; c w:a = {{1}} ;",
    "types: byte enum e {a = 0} ; variables: int w(x) ; e w:a = a ;",
]
