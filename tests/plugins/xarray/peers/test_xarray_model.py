"""Content without a model in xarray, hidden dimensions, and sources that the engine claims."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.stores.ranges import BoundedCache
from tests.conftest import ROOT

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def xr(peer: Callable[[str], ModuleType]) -> ModuleType:
    return peer("xarray")


SCOPES = """netcdf d {
dimensions: x = 2 ; y = 3 ;
variables: double x(x) ; float a(x, y) ;
data: x = 1, 2 ;
group: g {
  dimensions: x = UNLIMITED ;
  variables: double x(x) ; float b(x, y) ;
  data: x = 5, 6, 7 ;
  group: inner { variables: float c(x) ; }
  group: same { dimensions: x = 2 ; variables: double x(x) ; data: x = 1, 2 ; }
}
group: same { dimensions: x = 2 ; variables: double x(x) ; data: x = 1, 2 ; }
group: other { dimensions: x = 2 ; variables: double x(x) ; data: x = 1, 3 ; }
group: empty { }
}"""


def test_a_hidden_dimension_has_another_name(xr: ModuleType) -> None:
    """In the tree, together with its coordinate and in all groups that use it; `open_groups` keeps the name."""
    handle = nczarr.from_cdl(SCOPES)
    with pytest.warns(nczarr.DataWarning, match="because a group above has another `x`") as caught:
        tree = handle.to_datatree()
    assert sorted(str(each.message).split(":")[0] for each in caught) == [
        "group `/g`",
        "group `/other`",
    ]
    assert all(each.filename == __file__ for each in caught)
    found = {path: dict(tree[path].to_dataset(inherit=False).sizes) for path in tree.groups}
    assert found == {
        "/": {"x": 2, "y": 3},
        "/g": {"x_2": 3, "y": 3},
        "/g/inner": {"x_2": 3},
        "/g/same": {},
        "/same": {},
        "/other": {"x_3": 2},
        "/empty": {},
    }
    assert tree["g"]["x_2"].values.tolist() == [5, 6, 7]
    assert "x_2" in tree["g"].to_dataset().indexes
    assert tree["g"].encoding["unlimited_dims"] == {"x_2"}
    assert tree["g/same"]["x"].values.tolist() == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        groups = xr.open_groups(handle, engine="nczarr")
    assert [dict(each.sizes).get("x") for each in groups.values()] == [2, 3, 3, 2, 2, 2, None]


@pytest.mark.parametrize("fill", [b"\0", b"x"])
def test_fill_values_of_chars(fill: bytes, xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """They have the type of netCDF4's engine, in attributes and encodings, and are written again."""
    with peer("netCDF4").Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("c", "S1", ("x",), fill_value=fill)[:] = np.array([b"a", b"x", b"\0"])
    for decode in (True, False):
        found = {}
        for engine in ("nczarr", "netcdf4"):
            with xr.open_dataset(tmp_path / "a.nc", engine=engine, decode_cf=decode) as dataset:
                place = dataset["c"].encoding if decode else dataset["c"].attrs
                found[engine] = repr(place["_FillValue"]), dataset["c"].values.tolist()
                nczarr.write(dataset, tmp_path / f"{engine}.{decode}.nc")
        assert found["nczarr"] == found["netcdf4"]
        assert nczarr.open(tmp_path / f"nczarr.{decode}.nc")["c"].attributes["_FillValue"] == fill.decode()


def test_every_group_of_a_tree_closes(xr: ModuleType, tmp_path: Path) -> None:
    """As xarray's own engines have it, also groups with renamed dimensions."""
    (tmp_path / "a.cdl").write_text(SCOPES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = xr.open_datatree(tmp_path / "a.cdl", engine="nczarr")
    assert len(tree.groups) == 7
    assert all(tree[path]._close is not None for path in tree.groups)
    tree.close()
    assert all(tree[path]._close is None for path in tree.groups)


def test_two_dimensions_of_one_name_in_a_group(xr: ModuleType) -> None:
    """A text that CDL cannot express: the variable uses a dimension that its group hides."""
    handle = nczarr.from_notation(
        "dataset d 2.0.0 { dimension x 2 group g { dimension x 3 variable v int /g/x variable w int /x } }"
    )
    with pytest.warns(nczarr.DataWarning, match="variable `/g/w`: two dimensions in its group have one name"):
        dataset = handle.to_xarray(group="g")
    assert dict(dataset.sizes) == {"x": 3, "x_2": 2}


def test_groups_are_found_by_path(xr: ModuleType) -> None:
    handle = nczarr.from_cdl(SCOPES)
    assert handle.to_xarray(group="/g/inner")["c"].dims == ("x",)
    assert handle.to_xarray(group="g/inner/")["c"].shape == (3,)
    with pytest.raises(OSError, match="group not found: 'g/iner'; did you mean `/g/inner`"):
        handle.to_xarray(group="g/iner")
    below = xr.open_groups(handle, engine="nczarr", group="g")
    assert list(below) == [".", "inner", "same"]
    assert list(handle.to_xarray(drop_variables=["a"]).variables) == ["x"]
    assert list(handle.to_xarray(drop_variables="a").variables) == ["x"]


def test_a_group_opens_as_the_root_does(xr: ModuleType) -> None:
    handle = nczarr.from_cdl(SCOPES)
    group = handle["g"]
    assert group.to_xarray().identical(handle.to_xarray(group="g"))
    assert group.to_xarray(group="inner").identical(handle.to_xarray(group="g/inner"))
    assert handle["/g/inner"].to_xarray(group="/").identical(handle.to_xarray(group="g/inner"))
    assert group.to_datatree().identical(xr.open_datatree(handle, engine="nczarr", group="g"))
    assert group.to_datatree()["inner"].to_dataset(inherit=False).identical(group["inner"].to_xarray())
    assert group.to_datatree(group="inner").groups == ("/",)
    assert group.to_xarray(chunks={}).identical(group.to_xarray())
    assert xr.open_dataset(group).identical(group.to_xarray())
    again = pickle.loads(pickle.dumps(group.to_xarray()))
    assert again.identical(group.to_xarray())
    assert handle["/"].to_xarray().identical(handle.to_xarray())
    with pytest.raises(OSError, match="group not found: 'iner'; did you mean `/g/inner`"):
        group.to_xarray(group="iner")


TYPES = """netcdf d {
types:
  compound mixed { byte a ; string s ; } ;
  compound pair { byte a ; double b ; } ;
  int(*) list ;
  list(*) lists ;
  string(*) words ;
  pair(*) pairs ;
  opaque(3) raw ;
  ubyte enum color { RED = 0, BLUE = 200 } ;
dimensions: x = 2 ; n = 4 ; z = UNLIMITED ;
variables:
  mixed m(x) ; pair p(x) ; list l(x) ; lists ll(x) ; words w(x) ; pairs lp(x) ; raw r(x) ; color c(x) ;
  char t(x, n) ; string s(x) ; string s0 ; list l0 ; string none(z) ;
  p:_FillValue = {1, 2} ;
  r:_FillValue = 0Xffffff ;
  c:_FillValue = BLUE ;
  raw :of_raw = 0Xaabbcc ;
  color :of_enum = RED, BLUE ;
  pair :of_pair = {1, 2} ;
  list :of_list = {1, 2}, {3} ;
  string :of_strings = "a", NIL ;
  :nul = "a\\000b" ;
  :empty = "" ;
data:
  m = {1, "a"}, {2, NIL} ;
  p = {1, 0.5}, {2, 1.5} ;
  l = {1, 2}, {} ;
  lp = {{1, 2}}, {} ;
  r = 0X010203, 0X040506 ;
  c = RED, BLUE ;
  t = "ab", "cdef" ;
  s = "é", NIL ;
  l0 = {7, 8} ;
}"""


def test_types_beyond_numbers(xr: ModuleType) -> None:
    handle = nczarr.from_cdl(TYPES)
    with pytest.warns(nczarr.DataWarning, match="is left out") as caught:
        dataset = handle.to_xarray()
    assert [str(each.message) for each in caught] == [
        f"variable `/{name}` is left out: xarray has no lists of strings or of lists" for name in ("ll", "w")
    ]
    dataset = pickle.loads(pickle.dumps(dataset))
    assert dataset["m"].values.tolist() == [(1, "a"), (2, None)]
    assert dataset["p"].dtype == np.dtype([("a", "i1"), ("b", "f8")], align=True)
    assert dataset["p"].values.tolist() == [(1, 0.5), (2, 1.5)]
    assert [each.tolist() for each in dataset["l"].values] == [[1, 2], []]
    assert dataset["l0"].values[()].tolist() == [7, 8]
    assert [each.tolist() for each in dataset["lp"].values] == [[(1, 2.0)], []]
    assert [bytes(each) for each in dataset["r"].values] == [b"\x01\x02\x03", b"\x04\x05\x06"]
    assert dataset["t"].values.tolist() == [b"ab", b"cdef"]
    assert dataset["s"].values.tolist() == ["é", ""]
    assert dataset["s0"].values.tolist() == ""
    assert dataset["none"].shape == (0,)
    assert dataset["c"].values.tolist() == pytest.approx([0, np.nan], nan_ok=True)
    assert dataset["c"].encoding["dtype"].metadata == {"enum": {"RED": 0, "BLUE": 200}, "enum_name": "color"}
    assert dataset["p"].encoding["_FillValue"].tolist() == (1, 2.0)
    assert bytes(dataset["r"].encoding["_FillValue"]) == b"\xff\xff\xff"
    found = dataset.attrs
    assert bytes(found["of_raw"]) == b"\xaa\xbb\xcc"
    assert found["of_enum"].tolist() == [0, 200]
    assert found["of_pair"].tolist() == (1, 2.0)
    assert [each.tolist() for each in found["of_list"]] == [[1, 2], [3]]
    assert (found["of_strings"], found["nul"], found["empty"]) == (["a", ""], "ab", "")


def test_bytes_of_big_endian_values(xr: ModuleType, tmp_path: Path) -> None:
    """Values are native, and the encoding knows the byte order."""
    handle = nczarr.from_cdl(
        'netcdf d { dimensions: x = 2 ; variables: int v(x) ; v:_Endianness = "big" ; data: v = 1, 2 ; }'
    )
    nczarr.write(handle, tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="nczarr") as dataset:
        assert dataset["v"].values.tolist() == [1, 2]
        assert repr(dataset["v"].dtype) == repr(np.dtype("i4"))
        assert dataset["v"].encoding["dtype"] == np.dtype(">i4")


def test_what_cannot_be_read_is_a_warning(xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    handle = nczarr.from_cdl(
        "netcdf d { dimensions: x = 2 ; variables: int v(x) ; int w(x) ; data: v = 1, 2 ; w = 3, 4 ; }"
    )
    nczarr.write(handle, tmp_path / "a.zarr", format="zarr2")
    (tmp_path / "a.zarr" / "w" / ".zarray").write_text("{}")
    with pytest.warns(nczarr.DataWarning, match="content of the dataset was left out: .*metadata") as caught:
        dataset = xr.open_dataset(tmp_path / "a.zarr", engine="nczarr")
    assert list(dataset.variables) == ["v"]
    assert len(caught) == 1


def test_an_index_reads_what_numpy_reads(xr: ModuleType, tmp_path: Path) -> None:
    values = np.arange(20 * 30 * 8).reshape(20, 30, 8)
    builder = nczarr.DatasetBuilder("d")
    axes = [builder.dimension(name, length) for name, length in zip("tyx", values.shape, strict=True)]
    builder.variable("a", "int64", axes, chunks=(3, 7, 5))
    known = xr.Dataset({"a": (tuple("tyx"), values)})
    nczarr.write(builder.finish(data={"/a": values}), tmp_path / "a.zarr")
    points = xr.DataArray([[0, 19], [5, 5]], dims=("p", "q"))
    keys: list[dict[str, Any]] = [
        {"t": 0},
        {"t": -1, "y": slice(None, None, -2)},
        {"t": [5, 2, 2, -1]},
        {"t": [0, 19], "y": [3, 1], "x": [7, 0]},
        {"y": np.arange(30) % 2 == 0},
        {"t": points, "y": points},
        {"t": points, "y": points, "x": slice(1, 7, 2)},
        {"t": points, "x": 3},
        {"t": []},
        {"t": slice(5, 5)},
        {"t": slice(100, 200)},
    ]
    for key in keys:
        opened = xr.open_dataset(tmp_path / "a.zarr", engine="nczarr")
        assert opened["a"].isel(key).identical(known["a"].isel(key)), key
        assert (
            opened["a"].transpose("x", "t", "y").isel(key).identical(known["a"].transpose("x", "t", "y").isel(key))
        ), key
        assert opened["a"][2:18:3].isel(t=[4, 0]).identical(known["a"][2:18:3].isel(t=[4, 0]))


def test_loaded_values_belong_to_the_caller(xr: ModuleType, tmp_path: Path) -> None:
    """One chunk, of which a cache may have a copy, a whole file of the classic format, and constants."""
    handle = nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: int v(x) ; int w(x) ; data: v = 1, 2 ; }")
    for name in ("a.zarr", "a.nc"):
        nczarr.write(handle, tmp_path / name, kind="nc3" if name == "a.nc" else None)
        for _ in range(2):
            dataset = xr.open_dataset(tmp_path / name, engine="nczarr", decode_cf=False).load()
            assert dataset["v"].values.tolist() == [1, 2]
            dataset["v"].values[:] = 0
            dataset["w"].values[:] = 0


def test_threads_read_side_by_side(xr: ModuleType, tmp_path: Path) -> None:
    values = np.arange(64 * 1000, dtype="i4").reshape(64, 1000)
    builder = nczarr.DatasetBuilder("d")
    axes = [builder.dimension("t", 64), builder.dimension("x", 1000)]
    for name in "ab":
        builder.variable(name, "int", axes, chunks=(4, 1000))
    handle = builder.finish(data={"/a": values, "/b": -values})
    for name in ("a.nc", "a.zarr"):
        nczarr.write(handle, tmp_path / name, codecs="zlib:1")
        dataset = xr.open_dataset(tmp_path / name, engine="nczarr", cache=False)
        failures: list[object] = []

        def work(number: int, dataset: Any = dataset, failures: list[object] = failures) -> None:
            try:
                for row in range(number, 64, 8):
                    assert (dataset["a"][row].values == values[row]).all()
                    assert (dataset["b"][::8, row].values == -values[::8, row]).all()
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []


def test_arrays_pickle_as_path_and_options(xr: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of one dataset open it once, in this process not at all; a secret is not printed."""
    from nczarr.plugins.xarray.engine import _open
    from nczarr.plugins.xarray.values import OpenedDataset

    nczarr.write(nczarr.from_cdl("netcdf d { variables: int v ; int w ; data: v = 1 ; w = 2 ; }"), tmp_path / "a.nc")
    opened, source, top = _open(tmp_path / "a.nc", None, {"key": "t0psecret"}, nczarr.refs.Following(), "expand")
    assert (source, top) == (str(tmp_path / "a.nc"), "/")
    assert "t0p" not in repr(opened)
    data = pickle.dumps((opened, opened))
    first, second = pickle.loads(data)
    assert first is second is opened
    token, again = opened.__reduce__()[1]
    assert "t0p" not in repr(again)
    opened._token = ""
    del first, second, opened
    from nczarr.plugins.xarray import values as module

    module._kept = BoundedCache(module.MOST)
    fresh = pickle.loads(data)[0]
    assert isinstance(fresh, OpenedDataset)
    assert fresh._token == token
    assert pickle.loads(data)[1] is fresh
    assert list(fresh.handle) == ["/v", "/w"]


@pytest.mark.long
def test_processes_of_dask(xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path) -> None:
    peer("dask")
    handle = nczarr.open(ROOT / "samples" / "01-station.cdl")
    nczarr.write(handle, tmp_path / "a.nc")
    dataset = xr.open_dataset(tmp_path / "a.nc", engine="nczarr", chunks={"time": 1})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        found = dataset.compute(scheduler="processes", num_workers=1)
    assert found.identical(xr.open_dataset(tmp_path / "a.nc", engine="nczarr"))


CLAIMED = {"a.cdl": "cdl", "a.ncz": "notation", "a.ast.json": "ast", "a.ncs": "ncstream", "a.awkd": "awkward0",
           "a.json": "reference", "a.parq": "reference", "other": "cdl"}  # fmt: skip
UNCLAIMED = {
    "a.nc": "netcdf",
    "b.nc": "netcdf3",
    "a.zarr": "zarr2",
    "b.zarr": "nczarr",
    "store": "zarr3",
    "a.zip": "zarr2",
}


def test_sources_that_xarray_takes_by_itself(xr: ModuleType, tmp_path: Path) -> None:
    """Formats that no other engine reads, by content; what is not there, by suffix."""
    from nczarr.plugins.xarray.engine import NczarrBackendEntrypoint

    engine = NczarrBackendEntrypoint()
    source = nczarr.from_cdl("netcdf d { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    nczarr.write(source, tmp_path / "source.nc")
    for name, form in {**CLAIMED, **UNCLAIMED}.items():
        nczarr.convert(tmp_path / "source.nc", tmp_path / name, format=form, allow_loss=("all",))
        assert engine.guess_can_open(str(tmp_path / name)) is (name in CLAIMED), name
        assert engine.guess_can_open(tmp_path / name) is (name in CLAIMED), name
        assert xr.open_dataset(tmp_path / name, engine="nczarr")["v"].shape == (2,), name
    assert xr.open_dataset(tmp_path / "a.cdl")["v"].values.tolist() == [1, 2]
    if find_spec("kerchunk") is None:  # its engine takes the document, and then fails
        assert xr.open_dataset(tmp_path / "a.json")["v"].values.tolist() == [1, 2]
    assert xr.open_dataset(source)["v"].values.tolist() == [1, 2]
    (tmp_path / "text.json").write_text('{"name": "package"}')
    (tmp_path / "folder").mkdir()
    refused = [tmp_path / "text.json", tmp_path / "folder", "/nowhere.nc", "", "\0", b"CDF", 3, None, "http://h/a.nc"]
    assert [each for each in refused if engine.guess_can_open(each)] == []
    taken = ["/nowhere.cdl", "cdmremote:http://h/a", "https://h/a.ncs?x=y", "s3://b/a.parq"]
    assert [each for each in taken if not engine.guess_can_open(each)] == []
    with pytest.raises(nczarr.CompileError, match="`bytes` is not in a format that can be read"):
        engine.open_dataset(b"CDF")
    with pytest.raises(TypeError, match="int"):
        engine.open_dataset(3)
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "nowhere.nc", engine="nczarr")


def test_the_engine_is_listed(xr: ModuleType) -> None:
    engine = xr.backends.list_engines()["nczarr"]
    assert engine.supports_groups
    assert engine.description
    assert {"group", "storage_options", "following", "kind", "drop_variables"} <= set(engine.open_dataset_parameters)


def test_without_xarray(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = nczarr.from_cdl("netcdf d { }")
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(ImportError, match=r"pip install 'nczarr\[xarray\]'"):
        handle.to_xarray()
    with pytest.raises(ImportError, match="this needs xarray"):
        handle.to_datatree()


@pytest.mark.parametrize("first", [1, 2])
def test_coordinates_of_lists_in_trees(
    xr: ModuleType, peer: Callable[[str], ModuleType], tmp_path: Path, first: int
) -> None:
    """A child's coordinate of lists is compared with that of its parent, list by list."""
    with peer("netCDF4").Dataset(tmp_path / "a.nc", "w") as file:
        kind = file.createVLType("i4", "list")
        for start, group in ((1, file), (first, file.createGroup("g"))):
            group.createDimension("x", 2)
            variable = group.createVariable("x", kind, ("x",))
            for place in range(2):
                variable[place] = np.arange(start + place, dtype="i4")
    with xr.open_datatree(tmp_path / "a.nc", engine="nczarr") as tree:
        child = tree["g"]
        name = "x" if first == 1 else "x_2"
        assert [len(values) for values in child[name].values] == [first, first + 1]
