"""Attributes of Zarr stores as JSON: the same text on every route. Everything that a store holds is read or named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nczarr
from nczarr import names

Attributes = dict[str, dict[str, str]]

HIDDEN = {"_ARRAY_DIMENSIONS", "_NCProperties", "_nczarr", *(f"_nczarr_{name}" for name in ("attr", "array", "group"))}
HIDDEN |= {"_nczarr_superblock", "_FillValue"}

MADE = {
    "object": '{"b": 1.0, "a": [1, {"c": null}]}', "one_text": '["a"]', "one_number": "[7]", "empty": "[]",
    "empty_object": "{}", "yes": "true", "no": "false", "nothing": "null", "mixed": '[1, "a", null]',
    "nested": "[[1, 2], [3, 4]]", "booleans": "[true, false]", "big": "1180591620717411303424", "integer": "1",
    "real": "1.0", "exponent": "1e3", "digits": "0.10", "some_reals": "[1, 2.5]", "nan": "NaN",
    "infinities": "[Infinity, -Infinity, 1.5]", "inner_nan": '{"a": [NaN]}', "text": '"K"', "no_text": '""',
    "control": '"a\\u0001b"', "nul": '"a\\u0000"', "words": '["a", "b"]', "one_empty": '[""]',
}  # fmt: skip
"""JSON of attributes by name, in the form that documents have here."""


def document(**members: str) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in members.items()) + "}"


def make(path: Path, version: int) -> Path:
    """Make a store of a group and an array that both have the attributes of `MADE`."""
    (path / "v").mkdir(parents=True)
    shape = {"shape": "[2]", "fill_value": "0"}
    if version == 2:
        axes = document(_ARRAY_DIMENSIONS='["x"]')[1:-1]
        (path / ".zgroup").write_text('{"zarr_format": 2}')
        (path / ".zattrs").write_text(document(**MADE))
        (path / "v/.zattrs").write_text(document(**MADE)[:-1] + f", {axes}}}")
        members = {"dtype": '"<i4"', "chunks": "[2]", "order": '"C"', "filters": "null", "compressor": "null"}
        (path / "v/.zarray").write_text(document(zarr_format="2", **shape, **members))
        (path / "v/0").write_bytes(bytes(8))
    else:
        (path / "zarr.json").write_text(document(zarr_format="3", node_type='"group"', attributes=document(**MADE)))
        grid = '{"name": "regular", "configuration": {"chunk_shape": [2]}}'
        codecs = '[{"name": "bytes", "configuration": {"endian": "little"}}]'
        members = {"data_type": '"int32"', "chunk_grid": grid, "chunk_key_encoding": '{"name": "default"}'}
        members |= {"codecs": codecs, "attributes": document(**MADE), "dimension_names": '["x"]'}
        (path / "v/zarr.json").write_text(document(zarr_format="3", node_type='"array"', **shape, **members))
        (path / "v/c").mkdir()
        (path / "v/c/0").write_bytes(bytes(8))
    return path


def read_json(data: bytes) -> Any:
    """Read JSON with numbers as texts of their spelling."""
    return json.loads(data, parse_float=lambda text: f"real {text}", parse_constant=lambda text: f"word {text}")


def list_documents(path: Path) -> Iterator[tuple[str, bytes]]:
    names = (".zgroup", ".zarray", ".zattrs", "zarr.json")
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            for key in archive.namelist():
                if key.rpartition("/")[2] in names:
                    yield key, archive.read(key)
        return
    for name in names:
        for file in path.rglob(name):
            yield file.relative_to(path).as_posix(), file.read_bytes()


def attributes_of(path: Path) -> Attributes:
    """Return the attributes of all nodes as texts, from the documents alone."""
    found: Attributes = {}
    for key, data in list_documents(path):
        node, _, name = key.rpartition("/")
        members = read_json(data)
        if name == "zarr.json":
            members = members.get("attributes", {})
        shown = {name: json.dumps(value) for name, value in members.items() if name not in HIDDEN}
        found.setdefault(node, {}).update(shown if name in ("zarr.json", ".zattrs") else {})
    roots = {key.partition("/")[0] for key in found}
    if len(roots) == 1 and "" not in found:  # an archive of a folder
        root = roots.pop()
        found = {key.removeprefix(root).lstrip("/"): members for key, members in found.items()}
    return found


def convert(source: Path, target: Path, form: str) -> None:
    nczarr.convert(source, target, form, allow_loss="all", overwrite=True)


def copy_by_references(source: Path, target: Path) -> None:
    document = target.with_suffix(".json")
    convert(source, document, "reference")
    convert(document, target, "zarr3")


def copy_by_netcdf(source: Path, target: Path) -> None:
    file = target.with_suffix(".nc")
    convert(source, file, "netcdf")
    convert(file, target, "zarr3")


ROUTES: dict[str, Callable[[Path, Path], None]] = {
    **{form: lambda source, target, form=form: convert(source, target, form)  # type: ignore[misc]
       for form in ("zarr2", "zarr3", "nczarr", "nczarr3")},
    "reference": copy_by_references,
    "netcdf": copy_by_netcdf,
}  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("version", [2, 3])
def test_every_kind_of_json_on_every_route(version: int, route: str, tmp_path: Path) -> None:
    source = make(tmp_path / "in.zarr", version)
    ROUTES[route](source, tmp_path / "out.zarr")
    one, other = attributes_of(source), attributes_of(tmp_path / "out.zarr")
    assert one == other
    assert [list(members) for members in one.values()] == [list(other[node]) for node in one]
    assert nczarr.open(source).dataset.attributes == nczarr.open(tmp_path / "out.zarr").dataset.attributes
    assert not list(nczarr.diff(source, tmp_path / "out.zarr"))
    assert nczarr.digest(source) == nczarr.digest(tmp_path / "out.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_python_reads_what_it_read_before(version: int, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    zarr = peer("zarr")
    source = make(tmp_path / "in.zarr", version)
    for form in ("zarr2", "zarr3", "nczarr", "nczarr3"):
        convert(source, tmp_path / "out.zarr", form)
        before, after = (dict(zarr.open_group(path, mode="r").attrs) for path in (source, tmp_path / "out.zarr"))
        assert json.dumps(before) == json.dumps({name: after[name] for name in before})


def test_xarray_gets_what_its_own_engine_gives(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    xarray = peer("xarray")
    peer("zarr")
    source = make(tmp_path / "in.zarr", 3)
    with (
        xarray.open_dataset(source, engine="zarr", consolidated=False) as known,
        xarray.open_dataset(source, engine="nczarr") as found,
    ):
        xarray.testing.assert_identical(known, found)
        for name in ("object", "one_number", "no", "nothing", "nested", "empty", "big"):
            assert json.dumps(found.attrs[name]) == json.dumps(known.attrs[name])
            assert json.dumps(found.v.attrs[name]) == json.dumps(known.v.attrs[name])
        nczarr.write(known.drop_attrs().assign_attrs(o={"a": [1, None]}, n=None, f=False), tmp_path / "w.zarr", "zarr3")
    assert attributes_of(tmp_path / "w.zarr")[""] == {"o": '{"a": [1, null]}', "n": "null", "f": "false"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1}', '{"a": 1.0}'), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), ("[7]", "7"), ("false", "0"),
        ("null", '"null"'), ("[]", '"[]"'), ("1", "1.0"), ('["a"]', '"a"'), ("[[1]]", "[1]"),
    ],
)  # fmt: skip
def test_differences_of_json_are_seen(one: str, other: str, tmp_path: Path) -> None:
    for name, text in (("a", one), ("b", other)):
        (tmp_path / f"{name}.zarr").mkdir()
        head = {"zarr_format": "3", "node_type": '"group"'}
        (tmp_path / f"{name}.zarr/zarr.json").write_text(document(**head, attributes=document(x=text)))
    assert [each.kind for each in nczarr.diff(tmp_path / "a.zarr", tmp_path / "b.zarr")] == ["attribute"]
    assert nczarr.digest(tmp_path / "a.zarr") != nczarr.digest(tmp_path / "b.zarr")


def test_netcdf_says_the_loss_and_hides_its_note(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    library = peer("netCDF4")
    source, file = make(tmp_path / "in.zarr", 2), tmp_path / "x.nc"
    with pytest.raises(nczarr.CompileError) as refused:
        nczarr.convert(source, file)
    assert {each.code for each in refused.value.diagnostics if each.severity == "error"} == {"json-attribute"}
    nczarr.convert(source, file, allow_loss=["json-attribute"], verify=True)
    with library.Dataset(file, "a") as opened:
        assert opened.object == '{"b": 1.0, "a": [1,{"c": null}]}'
        assert (opened.one_number, opened.no, opened.nothing) == (7, 0, "null")
        opened.object = "another text"
    assert "_nczarr_json" not in nczarr.open(file).attributes
    nczarr.convert(file, tmp_path / "copy.nc")  # the file states the JSON: a copy loses nothing
    nczarr.convert(tmp_path / "copy.nc", tmp_path / "back.zarr", "zarr2", allow_loss="all")
    expected = attributes_of(source)
    assert attributes_of(tmp_path / "back.zarr") == {**expected, "": {**expected[""], "object": '"another text"'}}


def test_classic_files_keep_the_json_in_edits(tmp_path: Path) -> None:
    source, file = tmp_path / "in.zarr", tmp_path / "x.nc"
    source.mkdir()
    members = {"o": '{"a": 1}', "n": "[7]", "d": "[[1, 2], [3]]"}
    (source / "zarr.json").write_text(document(zarr_format="3", node_type='"group"', attributes=document(**members)))
    nczarr.convert(source, file, kind="nc3", allow_loss=["json-attribute"], header_pad=1024)
    nczarr.edit(file, attributes={"@n": 8, "@title": "T"})
    nczarr.convert(file, tmp_path / "back.zarr", "zarr3", allow_loss="all")
    assert attributes_of(tmp_path / "back.zarr")[""] == {**members, "n": "8", "title": '"T"'}


@pytest.mark.parametrize("form", ["cdl", "notation", "ncstream", "dmrpp", "awkward0"])
def test_other_formats_name_the_loss(form: str, tmp_path: Path) -> None:
    with pytest.raises(nczarr.CompileError, match="json-attribute"):
        nczarr.convert(make(tmp_path / "in.zarr", 3), tmp_path / "out", form)


def test_nan_is_written_as_xarray_writes_it(peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    xarray = peer("xarray")
    peer("zarr")
    text = "netcdf t { dimensions: x = 1 ; variables: float v(x) ; v:missing_value = NaNf ; v:m = NaN, 1. ; }"
    nczarr.write(nczarr.from_cdl(text), tmp_path / "t.nc")
    for version in (2, 3):
        known = xarray.Dataset({"v": ("x", [1.0], {"missing_value": float("nan"), "m": [float("nan"), 1.0]})})
        known.to_zarr(tmp_path / f"x{version}.zarr", zarr_format=version, consolidated=False)
        nczarr.convert(tmp_path / "t.nc", tmp_path / f"n{version}.zarr", f"zarr{version}")
        both = [attributes_of(tmp_path / f"{name}{version}.zarr")["v"] for name in "xn"]
        assert both[0] == both[1] == {"missing_value": '"word NaN"', "m": '["word NaN", "real 1.0"]'}
        assert not list(nczarr.diff(tmp_path / f"n{version}.zarr", tmp_path / f"n{version}.zarr"))


# ---- stores of the field ---------------------------------------------------------------------------------------------
def unpack(shared: Path, folder: Path) -> dict[str, Path]:
    """Return the stores of other projects by name; archives of folders are unpacked."""
    stores = {}
    for file in sorted((shared / "data" / "zarr-field").glob("*.*")):
        target = folder / file.stem
        if file.suffix == ".tar":
            with tarfile.open(file) as archive:
                archive.extractall(target, filter="data")
        elif file.suffix == ".zip":
            with zipfile.ZipFile(file) as zipped:
                zipped.extractall(target)
        else:
            continue
        tops = [target, *sorted(path for path in target.rglob("*") if path.is_dir())]
        roots = [top for top in tops if any((top / name).exists() for name in (".zgroup", ".zarray", "zarr.json"))]
        stores[file.stem] = roots[0]
    return stores


@pytest.mark.long
def test_stores_of_the_field_keep_their_json(shared: Path, tmp_path: Path) -> None:
    checked = 0
    for name, source in unpack(shared, tmp_path / "in").items():
        expected = attributes_of(source)
        for form in ("zarr2", "zarr3", "nczarr", "nczarr3"):
            target = tmp_path / "out.zarr"
            if "zfpy" in name and find_spec("zfpy") is None:
                with pytest.raises(nczarr.CompileError, match="needs a library: `pip install zfpy`"):
                    convert(source, target, form)
                continue
            convert(source, target, form)
            found = attributes_of(target)
            if "" in expected and len(expected) == 1 and len(found) == 2:  # an array becomes one in a group
                found = {"": found[next(node for node in found if node)]}
            for node, members in expected.items():
                assert {member: found[node].get(member) for member in members} == members, (name, form, node)
                checked += len(members)
            shutil.rmtree(target)
    assert checked > 1500


@pytest.mark.long
def test_the_census_of_each_store_is_read_or_named(shared: Path, tmp_path: Path) -> None:
    stores = unpack(shared, tmp_path / "in")
    stores |= {path.name: path / "store" for path in (shared / "data" / "nczarr-stores").glob("*/")}
    objects = 0
    for name, source in stores.items():
        command = [sys.executable, str(shared / "tools" / "census"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        handle = nczarr.open(source)
        told = " ".join(f"{each.primary.key} {each.message}" for each in handle.diagnostics)
        owners: dict[str, set[str]] = {}
        for path, node in (*handle.checked.groups.items(), *handle.checked.variables.items()):
            owners.setdefault("/".join(names.split(path)), set()).update(one.name for one in node.attributes)
        is_array = len(handle.checked.variables) == len(handle.checked.groups) == 1
        for line in done.stdout.splitlines():
            row = json.loads(line)
            path, _, attribute = row["path"].strip("/").partition("@")
            if row["kind"] in ("chunks", "implicit") or attribute in HIDDEN or attribute.startswith(("_nc", "_NC")):
                continue
            objects += 1
            path = path.rstrip("/")
            node = max(owners) if is_array and not path else path
            is_read = path in owners and (not attribute or attribute in owners[path] | owners[node])
            assert is_read or (path and path in told), (name, row, told[:300])
    assert objects > 1200
