"""Sample stores of other programs, read as recorded models say: of libnetcdf 4.10.1, of zarr-python 3.1.6, of ncdump.

Where we read otherwise than the library, because it loses or damages something there (nczarr-storage), the difference
stands in `OTHERWISE` with its reason; every entry has to occur.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr import names
from nczarr.ast import Constant, Group
from nczarr.ast.plain_json import plain
from tests.conftest import shared_folder

SHARED = shared_folder()
SAMPLES = sorted((SHARED / "data/nczarr-stores").glob("*/store")) if SHARED is not None else []
each_sample = pytest.mark.parametrize(
    "store",
    [pytest.param(path, id=path.parent.name) for path in SAMPLES]
    or [pytest.param(None, marks=pytest.mark.skip(reason="shared data are not beside the clone"))],
)

KEYS = "upper-case keys, which the library takes for attributes"
SCALAR = "scalars, which the library drops"
CHAR = "one byte of text is a char; the library reads a string"
ANONYMOUS = "dimensions without a name, to which the library gives one"
JSON = "a text that parses as JSON, of which the library reads the beginning"
CODEC = "codecs that the library has not"
ORDER = "column-major order, which the library ignores"
EMPTY = "an empty text, of which the library makes NUL"
LIST = "a list of texts, which the library reads as its JSON text"
ESCAPE = "escapes, which the library does not decode"
REAL = "reals, which the library cuts off after an integer"
NAN = "NaN as the fill value, which the library leaves out"
MASK = "the fill value of a plain array, which xarray masks and the library ignores"
SZIP = "a codec that needs a library of its own"

OTHERWISE: dict[str, dict[str, tuple[str, ...]]] = {
    "ncgen490-groups-scalar": {
        KEYS: (
            "/: attribute _NCZARR_ATTR",
            "/: dimensions",
            "/inner: attribute _NCZARR_ATTR",
            "/inner: dimensions",
            "/sc: attribute _NCZARR_ATTR",
            "/sc: type or shape",
            "/temp: attribute _NCZARR_ATTR",
        )
    },
    "ncgen490-nochar": {
        KEYS: (
            "/: attribute _NCZARR_ATTR",
            "/b: attribute _NCZARR_ATTR",
            "/b: attribute att",
            "/d: attribute _NCZARR_ATTR",
            "/f: attribute _NCZARR_ATTR",
            "/f: attribute att",
            "/i: attribute _NCZARR_ATTR",
            "/l: attribute _NCZARR_ATTR",
            "/s: attribute _NCZARR_ATTR",
            "/s: attribute att",
            "/ub: attribute _NCZARR_ATTR",
            "/ub: attribute att",
            "/ui: attribute _NCZARR_ATTR",
            "/ul: attribute _NCZARR_ATTR",
            "/us: attribute _NCZARR_ATTR",
            "/us: attribute att",
        )
    },
    "ncgenHEAD-types": {JSON: ("/: value of attribute num",)},
    "ncgenHEAD-types-pure": {
        EMPTY: ("/: value of attribute empty",),
        CHAR: (
            "/c: type or shape",
            "/c: values",
        ),
        LIST: ("/st: attribute att",),
        SCALAR: ("/sc: only one has it",),
    },
    "py-attr-jsonlike": {
        JSON: (
            "/: value of attribute TRUE",
            "/: value of attribute exp",
            "/: value of attribute inf",
            "/: value of attribute nan",
            "/: value of attribute neg",
            "/: value of attribute num",
            "/: value of attribute real",
            "/: value of attribute true",
            "/: value of attribute zz",
        )
    },
    "py-filters": {SZIP: ("/szip: the chunk cannot be decoded: codec `szip` is unknown",)},
    "py-noxarray": {ANONYMOUS: ("/: dimensions",)},
    "py-scalars-pure": {
        CHAR: (
            "/c: type or shape",
            "/c: values",
        )
    },
    "py-types-pure": {
        CHAR: (
            "/c: type or shape",
            "/c: values",
        ),
        LIST: ("/st: attribute sl",),
    },
    "xr2": {
        EMPTY: ("/: value of attribute e",),
        ESCAPE: ("/temp: value of attribute uni",),
        NAN: ("/temp: attribute _FillValue",),
        SCALAR: ("/sc: only one has it",),
    },
    "zp2-codecs": {
        ANONYMOUS: ("/: dimensions",),
        CODEC: (
            "/delta: the library cannot read its values",
            "/gzip: the library cannot read its values",
            "/lz4: the library cannot read its values",
            "/lzma: the library cannot read its values",
        ),
    },
    "zp2-dtypes-accepted": {
        ANONYMOUS: ("/: dimensions",),
        CHAR: (
            "/S1: type or shape",
            "/S1: values",
        ),
    },
    "zp2-dims-consolidated": {MASK: ("/inner/salt: attribute _FillValue", "/temp: attribute _FillValue")},
    "zp2-layout": {ANONYMOUS: ("/: dimensions",), ORDER: ("/forder: values",)},
    "zp2-plain": {
        LIST: ("/: attribute strs",),
        ESCAPE: ("/: value of attribute uni",),
        REAL: ("/: attribute mixnum",),
        ANONYMOUS: ("/: dimensions",),
        NAN: ("/inner/salt: attribute _FillValue",),
    },
    "zp2-scalars": {
        SCALAR: (
            "/a: only one has it",
            "/bb: only one has it",
        )
    },
}
"""By store and reason: what we read otherwise."""


def recorded(store: Path, reader: str) -> Any:
    """The model of a store that a reader has shown; skips where it opens none."""
    path = store.parent / f"model-{reader}.json"
    if not path.exists():
        pytest.skip(f"{reader} does not open it")
    return json.loads(path.read_text())


@each_sample
def test_samples_read_as_the_library_reads_them(store: Path) -> None:
    model = recorded(store, "nczarr")
    with nczarr.open(store) as handle:
        found = list(differences(model, handle.dataset, (), handle))
    assert sorted(found) == sorted(each for items in OTHERWISE.get(store.parent.name, {}).values() for each in items)


def differences(model: dict[str, Any], group: Group, path: tuple[str, ...], handle: Any) -> Iterator[str]:
    """What differs from a model of libnetcdf."""
    where = names.fqn(path)
    yield from attribute_differences(where, model["attributes"], group.attributes)
    wanted = {name: (each["size"], each["unlimited"]) for name, each in model["dimensions"].items()}
    if wanted != {each.name: (each.size, each.unlimited) for each in group.dimensions}:
        yield f"{where}: dimensions"
    there = model["variables"]
    for name in {**there, **{each.name: None for each in group.variables}}:
        variable = next((each for each in group.variables if each.name == name), None)
        fqn = names.join(where, name)
        if variable is None or name not in there:
            yield f"{fqn}: only one has it"
            continue
        other = there[name]
        if (variable.type, list(handle[fqn].shape)) != (other["type"], other["shape"]):
            yield f"{fqn}: type or shape"
        yield from attribute_differences(fqn, other["attributes"], variable.attributes)
        if "data" not in other:
            yield f"{fqn}: the library cannot read its values"
            continue
        try:
            values = handle[fqn][...]
        except nczarr.CompileError as error:
            yield f"{fqn}: {error.diagnostics[0].message}"
            continue
        if not plainly_equal(other["data"], values, variable.type):
            yield f"{fqn}: values"
    if [each.name for each in group.groups] != list(model["groups"]):
        yield f"{where}: groups"
    for child in group.groups:
        yield from differences(model["groups"][child.name], child, (*path, child.name), handle)


def attribute_differences(where: str, model: dict[str, Any], attributes: Any) -> Iterator[str]:
    found = {each.name: each.value for each in attributes}
    for name in {**model, **found}:
        if name not in model or name not in found or model[name]["type"] != found[name].type:
            yield f"{where}: attribute {name}"
        elif not equal(model[name]["value"], shown(found[name])):
            yield f"{where}: value of attribute {name}"


def shown(constant: Constant) -> Any:
    if isinstance(constant.data, bytes):
        return constant.data.decode("utf-8", "replace") if constant.type == "char" else list(constant.as_numbers())
    return [None if each is None else each.decode("utf-8", "replace") for each in constant.data]  # type: ignore[union-attr]


def plainly_equal(model: Any, values: Any, type_name: str) -> bool:
    flat = np.asarray(values).reshape(-1).tolist()
    if type_name == "char":
        return bool(model == b"".join(each or b"\0" for each in flat).decode("latin-1"))
    if type_name == "string":  # the library gives NIL for empty texts
        return [each or "" for each in model] == [
            each.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for each in flat
        ]
    return equal(model, flat)


def equal(model: Any, found: Any) -> bool:
    if isinstance(model, list) and isinstance(found, list):
        return len(model) == len(found) and all(map(equal, model, found))
    special = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
    return bool(model == found or (isinstance(model, str) and special.get(model) == str(found)))


# ---- zarr-python ---------------------------------------------------------------------------------------------------
TIMES = ("datetime64", "timedelta64")
"""Types of zarr-python whose arrays get the attributes `units` and `calendar`."""


@each_sample
def test_samples_read_as_zarr_python_reads_them(store: Path) -> None:
    model = recorded(store, "zarr-python")
    with nczarr.open(store) as handle:
        found = list(plain_differences(model, handle.dataset, (), handle))
        lost = {each.primary.key for each in handle.diagnostics if each.code == "unreadable-array"}
    assert found == []
    assert lost == set()


def plain_differences(model: dict[str, Any], group: Group, path: tuple[str, ...], handle: Any) -> Iterator[str]:
    """What differs from a model of zarr-python, which knows neither types of attributes nor char."""
    where = names.fqn(path)
    yield from plain_attributes(where, model["attributes"], group.attributes)
    for name, other in model["arrays"].items():
        variable = next((each for each in group.variables if each.name == name), None)
        fqn = names.join(where, name)
        if variable is None:
            yield f"{fqn} is missing"
            continue
        if list(handle[fqn].shape) != other["shape"]:
            yield f"{fqn}: shape"
        added = {"units", "calendar"} if other["dtype"].startswith(TIMES) else set()
        own_attributes = [each for each in variable.attributes if each.name not in added]
        yield from plain_attributes(fqn, other["attributes"], own_attributes)
        dimensions = other["attributes"].get("_ARRAY_DIMENSIONS", other.get("dimension_names"))
        own = [None if isinstance(each, int) else names.last(each) for each in variable.dimensions]
        if dimensions is not None and any(one not in (None, two) for one, two in zip(own, dimensions, strict=True)):
            yield f"{fqn}: dimensions {own} instead of {dimensions}"
        if not equal(flat(other["data"], len(other["shape"])), [decoded(each) for each in values_of(handle[fqn])]):
            yield f"{fqn}: values"
    extra = {each.name for each in group.variables} - model["arrays"].keys()
    yield from (f"{names.join(where, name)} came in" for name in sorted(extra))
    for child in group.groups:
        yield from plain_differences(model["groups"][child.name], child, (*path, child.name), handle)


def plain_attributes(where: str, model: dict[str, Any], attributes: Any) -> Iterator[str]:
    found = {each.name: plain(each.value).value for each in attributes if each.name != "_FillValue"}
    for name, value in model.items():
        if name in ("_ARRAY_DIMENSIONS", "_FillValue"):
            continue
        mine = found.pop(name, None)
        if isinstance(mine, str) and not isinstance(value, str):  # JSON that is no list of numbers or texts
            mine = json.loads(mine)
        if mine != value and not (isinstance(value, list) and len(value) == 1 and mine == value[0]):
            yield f"{where}: attribute {name}: {mine!r} instead of {value!r}"
    yield from (f"{where}: attribute {name} came in" for name in found)


def values_of(variable: Any) -> list[Any]:
    return list(np.asarray(variable[...]).reshape(-1).tolist())


def flat(data: Any, rank: int) -> list[Any]:
    return [data] if not rank else [inner for item in data for inner in flat(item, rank - 1)]


def decoded(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    return value.decode("latin-1") if isinstance(value, bytes) else value


# ---- single stores -------------------------------------------------------------------------------------------------
def test_column_major_chunks_and_codecs_of_numcodecs(shared: Path) -> None:
    stores = shared / "data" / "nczarr-stores"
    with nczarr.open(stores / "zp2-layout" / "store") as layout:
        assert layout["/forder"][...].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert layout["/zero"].shape == (0, 3)
    with nczarr.open(stores / "zp2-codecs" / "store") as codecs:
        assert all((codecs[path][...] == np.arange(200)).all() for path in codecs)


def test_elements_that_netcdf_lacks_are_read(shared: Path) -> None:
    handle = nczarr.open(shared / "data" / "nczarr-stores" / "zp2-dtypes-foreign" / "store")
    assert list(handle) == ["/M8", "/O", "/U4", "/V3", "/b1", "/c8", "/f2", "/m8", "/st"]
    assert [each.code for each in handle.diagnostics if each.code == "unreadable-array"] == []
    assert handle["/U4"].type == "string"
    assert handle["/V3"].type == "/opaque_3"
    assert handle["/st"][...].dtype.names == ("a", "b")


ARCHIVES = {
    "ref_oldformat.zip": "ref_oldformat.cdl",
    "ref_oldkeys.file.zip": "ref_oldkeys.cdl",
    "ref_byte.zarr.zip": "ref_byte.cdl",
    "ref_byte_fill_value_null.zarr.zip": "ref_byte_fill_value_null.cdl",
    "ref_quotes_orig.zip": "ref_quotes.cdl",
    "ref_power_901_constants_orig.zip": "ref_power_901_constants.cdl",
}
"""Archives of the netCDF library's tests, and what ncdump is expected to print of them."""


@pytest.mark.parametrize("archive", ARCHIVES)
def test_archives_of_the_library_hold_what_it_prints(archive: str, shared: Path) -> None:
    folder = shared / "data" / "netcdf-c" / "nczarr_test"
    text = (folder / ARCHIVES[archive]).read_text().replace("ubyte byte(", "ubyte \\byte(")
    wanted = nczarr.from_cdl(text.replace("\tbyte:", "\t\\byte:"))
    with nczarr.open(folder / archive) as seen:
        groups = [each.name for each in seen.dataset.groups]
        top = f"/{groups[0]}" if groups and not wanted.dataset.groups else ""  # one folder holds all of this archive
        for path in wanted:
            mine, theirs = seen[top + path], wanted[path]
            assert (mine.type, mine.shape) == (theirs.type, theirs.shape)
            attributes = {each.name: each.value for each in seen.checked.variables[top + path].attributes}
            own = wanted.checked.variables[path].attributes
            assert {each.name: attributes.get(each.name) for each in own} == {each.name: each.value for each in own}
            if path in wanted.checked.parts:
                assert values_of(mine) == values_of(theirs)


def test_what_is_broken_costs_itself_alone(shared: Path) -> None:
    with nczarr.open(shared / "data" / "netcdf-c" / "nczarr_test" / "ref_noshape.file.zip") as scalar:
        assert (scalar["/v"].shape, scalar.diagnostics) == ((), ())
    with nczarr.open(shared / "data" / "nczarr-stores" / "py-bad-rewrite" / "store") as handle:
        assert [(each.code, each.primary.key) for each in handle.diagnostics] == [("untidy-metadata", ".zattrs")]
        assert handle.dataset.attributes == ()  # the one that is left is the library's own
