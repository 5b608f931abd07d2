"""Invalid `fill_value` members are errors at their place; no default replaces them in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.diagnostics.report import Report, Severity
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.stores.memory import MemoryStore

S4 = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}}
V4 = {"name": "raw_bytes", "configuration": {"length_bytes": 4}}
GONE = object()


def three(data_type: Any, fill: Any) -> tuple[MemoryStore, str]:
    texts = {"string": "vlen-utf8", "bytes": "vlen-bytes"}
    codec = texts.get(data_type, "bytes") if isinstance(data_type, str) else "bytes"
    array = {
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": data_type, "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "attributes": {},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": codec}], "dimension_names": ["x"],
    }  # fmt: skip
    if fill is GONE:
        del array["fill_value"]
    group = b'{"zarr_format": 3, "node_type": "group"}'
    return MemoryStore({"zarr.json": group, "v/zarr.json": json.dumps(array).encode()}), "v/zarr.json"


def two(dtype: Any, fill: Any) -> tuple[MemoryStore, str]:
    filters = [{"id": "vlen-utf8"}] if dtype == "|O" else None
    array = {
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": dtype, "fill_value": fill, "order": "C",
        "filters": filters, "compressor": None,
    }  # fmt: skip
    documents = {".zgroup": b'{"zarr_format": 2}', "v/.zattrs": b'{"_ARRAY_DIMENSIONS": ["x"]}'}
    return MemoryStore({**documents, "v/.zarray": json.dumps(array).encode()}), "v/.zarray"


INVALID_3: list[tuple[Any, Any]] = [
    *(
        ("int32", fill)
        for fill in (1.5, 1.0, True, None, "NaN", "5", "x", "", "0x0000002a", [5], {}, 2**31, -(2**31) - 1)
    ),
    *(("uint8", fill) for fill in (-1, 256, 1e300)),
    *(("float32", fill) for fill in (1e39, True, None, "nan", "5", "x", "0x7fc0", "0x 7fc0000", [5], 10**400)),
    *(("float64", fill) for fill in ("0x7fc00000", None)),
    ("float16", 70000),
    *(("bool", fill) for fill in (0, 1, None, "true", [True])),
    *(("complex64", fill) for fill in (5, [1], [1, 2, 3], "ab", [1, "x"], [1, True], None)),
    *(("string", fill) for fill in (5, None, True, [])),
    *(("bytes", fill) for fill in (5, None, "é", "x")),
    *((S4, fill) for fill in (5, None, "x", "YWJjZGU=", [1, 2, 3, 4])),
    *((V4, fill) for fill in (5, None, "x", "YWI=", "YWJjZGU=", [1, 2], [1, 2, 3, 256], [True] * 4)),
]
VALID_3: list[tuple[Any, Any]] = [
    ("int32", -(2**31)), ("uint64", 2**64 - 1), ("float32", "NaN"), ("float32", "-Infinity"), ("float32", 1),
    ("float32", "0x7fc00001"), ("float64", 1e300), ("bool", True), ("complex64", ["NaN", 0x10]), ("string", ""),
    ("bytes", "AAA="), (S4, "YWI="), (S4, ""), (V4, "YWJjZA=="), (V4, [1, 2, 3, 4]),
]  # fmt: skip
INVALID_2: list[tuple[Any, Any]] = [
    *(("<i4", fill) for fill in (1.5, True, "NaN", "x", "", "1_0", "0x2a", [1, 2], {}, 2**31)),
    *(("|u1", fill) for fill in (-1, 256, "256", 300.0)),
    *(("<f4", fill) for fill in (1e39, "1e39", True, "x", "", "1_0", [1, 2], {})),
    *((">f8", fill) for fill in ("1e999", "0x7fc00000")),
    *(("|b1", fill) for fill in (2, 1.0, "true")),
    *(("<c8", fill) for fill in ([1], [1, 2, 3], "x", [1, "x"])),
    *(("|S4", fill) for fill in (5, True, "abcde", [1], {})),
    *(("|V4", fill) for fill in (5, True, "YWI=", "x")),
    *(("|O", fill) for fill in (True, [1, 2], {})),
    *(([["a", "<i4"], ["b", "<f4"]], fill) for fill in (5, "AQAAAA==", [1, 2], {"a": 1}, False)),
]
VALID_2: list[tuple[Any, Any]] = [
    ("<i4", None), ("<i4", 5), ("<i4", 5.0), ("<i4", "5"), (">i2", [5]), ("<f4", "NaN"), ("<f4", "1.5"), ("|b1", 0),
    ("|b1", False), ("<c8", [1, 2]), ("<c8", 1), ("|S4", "YWI="), ("|S4", "ab"), ("|O", 0), ("|O", "x"),
    ([["a", "<i4"]], 0), ([["a", "<i4"]], "AQAAAA=="),
]  # fmt: skip


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("form", "dtype", "fill"),
    [*((three, *each) for each in INVALID_3), *((two, *each) for each in INVALID_2)],
    ids=lambda value: value.__name__ if callable(value) else json.dumps(value)[:40],
)
def test_an_invalid_fill_value_is_an_error_at_its_place(form: Any, dtype: Any, fill: Any) -> None:
    store, key = form(dtype, fill)
    report = Report()
    phases.read(store, report, Options())
    (found,) = [each for each in report.list_sorted() if each.severity == Severity.ERROR]
    assert found.code == "bad-metadata"
    assert (found.primary.key, found.primary.pointer) == (key, "/fill_value")


@pytest.mark.parametrize(
    ("form", "dtype", "fill"),
    [*((three, *each) for each in VALID_3), *((two, *each) for each in VALID_2)],
    ids=lambda value: value.__name__ if callable(value) else json.dumps(value)[:40],
)
def test_valid_fill_values_are_read_without_a_word(form: Any, dtype: Any, fill: Any) -> None:
    store, _ = form(dtype, fill)
    report = Report()
    assert phases.read(store, report, Options()) is not None
    assert report.list_sorted() == []


def test_zarr_3_demands_a_fill_value() -> None:
    store, key = three("int32", GONE)
    report = Report()
    phases.read(store, report, Options())
    (found,) = report.list_sorted()
    assert (found.code, found.primary.key) == ("bad-metadata", key)


def test_a_number_beyond_the_range_of_double_is_an_error() -> None:
    for form, dtype in ((three, "float64"), (two, "<f8")):
        store, key = form(dtype, 5)
        data = store.get(key)
        assert data is not None
        report = Report()
        phases.read(
            MemoryStore({**_all(store), key: data.replace(b'"fill_value": 5', b'"fill_value": 1e999')}),
            report,
            Options(),
        )
        assert [each.message for each in report.list_sorted()] == [
            "`fill_value` is not a value of the array's type: `1e999` is out of range for float64"
        ]


def _all(store: MemoryStore) -> dict[str, bytes]:
    keys = ("zarr.json", "v/zarr.json", ".zgroup", "v/.zarray", "v/.zattrs")
    return {key: data for key in keys if (data := store.get(key)) is not None}


@pytest.mark.parametrize(
    ("dtype", "fill", "stated", "every"),
    [
        ("<i4", 7, 7, 7),
        ("<i4", 0, 0, 0),
        ("<f4", 1.5, 1.5, 1.5),
        ("<i4", -2147483647, None, -2147483647),
        ("<f8", 9.969209968386869e36, None, 9.969209968386869e36),
        ("<f8", 9.96921e36, None, 9.96921e36),  # as libnetcdf spells its default
        ("<i4", None, None, None),
    ],
)
def test_fill_values_of_zarr_v2_stand_for_missing_values(dtype: str, fill: Any, stated: Any, every: Any) -> None:
    """As in xarray, except for netCDF's defaults, which no reader of netCDF masks; these too on request."""
    for masking, found in ((False, stated), (True, every)):
        checked = phases.read(two(dtype, fill)[0], Report(), Options.of(masking_fill=masking))
        assert checked is not None
        attributes = {each.name: each.value for each in checked.variables["/v"].attributes}
        value = attributes["_FillValue"].as_numbers()[0] if "_FillValue" in attributes else None
        assert value == found


@pytest.mark.parametrize("form", ["nczarr", "nczarr3", "zarr2", "zarr3"])
def test_written_cells_of_the_fill_value_stay_written_under_no_fill(form: str, tmp_path: Path) -> None:
    attributes = 'v:_FillValue = 7 ; v:_NoFill = "true" ;'
    schema = f"netcdf a {{ dimensions: x = 3 ; variables: int v(x) ; {attributes} data: v = 7, 7, 7 ; }}"
    made = nczarr.from_cdl(schema)
    nczarr.convert(made, tmp_path / "a", form)
    assert nczarr.digest(tmp_path / "a") == nczarr.digest(made)
