"""Groups, dimensions and variables as mappings of plain values, pickles, copies and threads."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.brief import brief

TEXT = """netcdf t {
types:
  byte enum e { one = 1 } ;
  opaque(2) o ;
  int(*) l ;
  string(*) ls ;
  compound c { int a(2) ; double b ; } ;
  compound cs { string s ; l k(2) ; } ;
dimensions:
  x = 3 ;
  odd\\ name = UNLIMITED ;
variables:
  int v(x) ;
    v:units = "K" ; v:empty = "" ; v:many = 1b, 2b ; v:one = 1.5f ; string v:s = "é" ; string v:ss = "a", NIL ;
    e v:en = one ; e v:ens = one, one ; o v:op = 0xabcd ; l v:li = {1, 2} ; l v:lis = {1}, {} ;
    c v:co = {{1, 2}, 3} ; cs v:cos = {"z", {{1}, {2, 3}}} ; ls v:lst = {"a", NIL} ;
  float z ;
  string s(x) ;
  l lists(x) ;
  char empty(odd\\ name) ;
// global attributes:
  :title = "T" ;
data:
  v = 1, 2, 3 ;
  z = 2.5 ;
  s = "a", NIL, "é" ;
  lists = {1}, {}, {2, 3} ;
group: g {
  dimensions:
    x = 2 ;
  variables:
    short w(x, odd\\ name) ;
  :level = 5 ;
  group: h {
    variables:
      byte deep ;
  }
}
}
"""


@pytest.fixture(scope="module")
def ds() -> nczarr.DatasetHandle:
    return nczarr.from_cdl(TEXT)


def test_attributes_are_plain_values(ds: nczarr.DatasetHandle) -> None:
    found = ds["v"].attributes
    assert (found["units"], found["empty"], found["s"], found["ss"]) == ("K", "\0", "é", ["a", None])
    assert found["many"].dtype == np.int8
    assert found["many"].tolist() == [1, 2]
    assert type(found["one"]) is np.float32
    assert (found["en"], type(found["en"])) == (1, np.int8)
    assert found["ens"].tolist() == [1, 1]
    assert (type(found["op"]), found["op"].tobytes()) == (np.void, b"\xab\xcd")
    assert found["li"].tolist() == [1, 2]
    assert [each.tolist() for each in found["lis"]] == [[1], []]
    assert (found["co"]["a"].tolist(), found["co"]["b"]) == ([1, 2], 3.0)
    assert (found["cos"]["s"], [each.tolist() for each in found["cos"]["k"]]) == ("z", [[1], [2, 3]])
    assert found["lst"].tolist() == ["a", None]
    assert ds.attributes == {"title": "T"}
    assert ds["v"].variable.attributes[0].value.data == b"K"


def test_attributes_cannot_be_changed(ds: nczarr.DatasetHandle) -> None:
    with pytest.raises(TypeError):
        ds["v"].attributes["units"] = "m"  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        ds["v"].attributes["many"][0] = 5


def test_groups_and_dimensions_are_mappings(ds: nczarr.DatasetHandle) -> None:
    assert list(ds.groups) == ["g"]
    group = ds.groups["g"]
    assert isinstance(group, nczarr.GroupHandle)
    assert (group.path, group.name, dict(group.attributes)) == ("/g", "g", {"level": 5})
    assert (list(group.variables), list(group.dimensions), list(group)) == (["w"], ["x"], ["/g/w", "/g/h/deep"])
    assert group["h/deep"].path == group["/g/h/deep"].path == ds["/g/h/deep"].path
    assert ds["/g"].path == ds["g"].path == "/g"
    assert ds["/g"]["/"] is ds
    assert [each.path for each in ds.walk()] == ["/", "/g", "/g/h"]
    grows = ds.dimensions["odd name"]
    assert (grows.length, len(grows), grows.unlimited, grows.name, grows.path) == (
        0,
        0,
        True,
        "odd name",
        "/odd\\ name",
    )
    assert ds["/g/w"].dims == ("x", "odd name")
    assert ds.dimensions["x"] == nczarr.from_cdl(TEXT).dimensions["x"] != group.dimensions["x"]
    with pytest.raises(KeyError, match="did you mean `/g/h`"):
        ds["/g/hh"]
    with pytest.raises(KeyError):
        group["v"]


def test_a_name_at_the_beginning_of_another_is_another_group() -> None:
    ds = nczarr.from_cdl("netcdf t { group: a { variables: int v ; } group: ab { variables: int v ; } }")
    assert list(ds["/a"]) == ["/a/v"]


def test_facts_of_variables() -> None:
    text = """netcdf t { dimensions: x = 6 ; y = 5 ; variables: short v(x, y) ; v:_FillValue = 7s ;
    v:_ChunkSizes = 2, 5 ; v:_DeflateLevel = 3 ; }"""
    v = nczarr.from_cdl(text)["v"]
    assert (v.ndim, v.size, v.nbytes, v.chunks, v.fill_value) == (2, 30, 60, (2, 5), 7)
    assert [(each.name, each.parameters) for each in v.codecs] == [("deflate", (3,))]
    assert nczarr.from_cdl("netcdf t { variables: string s ; }")["s"].fill_value == ""


def test_iteration_and_numbers(ds: nczarr.DatasetHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [int(each) for each in ds["v"]] == [1, 2, 3]
    assert list(ds["s"]) == ["a", None, "é"]
    assert (float(ds["z"]), int(ds["z"]), bool(ds["z"])) == (2.5, 2, True)
    with pytest.raises(TypeError):
        iter(ds["z"]).__next__()
    with pytest.raises(TypeError):
        float(ds["v"])
    with pytest.raises(ValueError, match="ambiguous"):
        bool(ds["v"])
    monkeypatch.setattr("nczarr.api.node_handles.AT_ONCE", 7)
    many = nczarr.from_cdl("netcdf t { dimensions: x = 9 ; y = 3 ; variables: int v(x, y) ; }")["v"]
    assert [each.shape for each in many] == [(3,)] * 9


def test_arrays_are_copies(ds: nczarr.DatasetHandle) -> None:
    assert np.asarray(ds["v"], "f4").dtype == np.float32
    assert np.array(ds["lists"])[2].tolist() == [2, 3]
    assert np.asarray(ds["z"]).shape == ()
    lists = nczarr.from_cdl("netcdf t { types: int(*) l ; variables: l v ; data: v = {1, 2} ; }")
    assert np.asarray(lists["v"]).shape == ()
    with pytest.raises(ValueError, match="copy"):
        ds["v"].__array__(copy=False)


def test_representations_are_bounded() -> None:
    names = "".join(f" int v{number} ;" for number in range(10_000))
    ds = nczarr.from_cdl(f"netcdf t {{ variables:{names} }}")
    assert repr(ds).startswith("<dataset t: 10000 variables>\n├─ v0  int")
    assert repr(ds).count("\n") == 61
    assert repr(ds).endswith("… and 9940 more lines")
    long = nczarr.from_cdl('netcdf t { variables: int v ; v:a = "' + "x" * 10**5 + '\\n\\033[31m" ; }')
    assert len(repr(long["v"])) < 500
    builder = nczarr.DatasetBuilder("")
    builder.variable("v", "int", []).attribute("a", "red \x1b[31m")
    assert "\x1b" not in repr(builder.finish()["v"])


def test_names_do_not_control_the_terminal(peer: Callable[[str], ModuleType]) -> None:
    peer("zarr")
    odd = "v\x9b31m\u202e\u2028"
    builder = nczarr.DatasetBuilder("t\x9b")
    x = builder.dimension(odd, 2)
    builder.variable(odd, "int", [x]).attribute(odd, odd)
    ds = builder.finish()
    for each in (ds, ds[odd], ds.dimensions[odd], nczarr.zarr_store(ds)):
        assert not set(repr(each)) & set("\x9b\u202e\u2028"), each
        assert "\\x9b" in repr(each)
    assert "\\u202e\\u2028" in repr(ds)


def test_brief_texts() -> None:
    assert brief(np.arange(100)).endswith("18, 19, … 80 more]")
    assert brief(["a", None]) == "['a', None]"
    assert len(brief("x" * 10**6)) < 400
    assert brief(np.void(b"\x01\x02")) == "0x0102"


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("name", ["t.nc", "t.zarr", "t.cdl"])
def test_handles_of_a_path_are_pickled_as_the_path(
    name: str, relative: bool, ds: nczarr.DatasetHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nczarr.write(ds, name, allow_loss=["lost-nil"])
    found = nczarr.open(name if relative else tmp_path / name, storage_options={"secret": "hunter2"})
    stored = pickle.dumps([found, found["v"], found["/g"]])
    assert b"hunter2" not in stored
    assert len(stored) < 3000
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again, v, group = pickle.loads(stored)
    assert again.dataset == found.dataset
    assert v[...].tolist() == [1, 2, 3]
    assert (group.path, v._root is again, group._root is again) == ("/g", True, True)


@pytest.mark.parametrize("name", ["t.nc", "t.cdf", "t.zarr", "t.cdl"])
def test_parts_of_handles_are_pickled_and_copied(name: str, ds: nczarr.DatasetHandle, tmp_path: Path) -> None:
    nczarr.write(ds, tmp_path / name, "netcdf3" if name == "t.cdf" else None, allow_loss=["all"])
    found = nczarr.open(tmp_path / name)
    assert repr(pickle.loads(pickle.dumps(found["v"].attributes))) == repr(found["v"].attributes)
    assert repr(copy.deepcopy(found["v"].attributes)) == repr(found["v"].attributes)
    assert pickle.loads(pickle.dumps(found.dimensions)) == found.dimensions
    assert copy.deepcopy(found.variables)["v"][1] == 2
    assert list(pickle.loads(pickle.dumps(found.groups))) == list(found.groups)
    assert pickle.loads(pickle.dumps(found.diagnostics)) == found.diagnostics


def test_errors_of_a_file_are_pickled(tmp_path: Path) -> None:
    """Workers send them to their client."""
    (tmp_path / "t.cdl").write_text("netcdf t {\nvariables: int v(x) ; }")
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.open(tmp_path / "t.cdl")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert "t.cdl:2:18" in str(again)


def test_arrays_inside_attributes_cannot_be_changed(ds: nczarr.DatasetHandle) -> None:
    attributes = ds["v"].attributes
    for name, change in {
        "many": lambda value: value.__setitem__(0, 9),
        "lis": lambda value: value[0].__setitem__(0, 9),
        "co": lambda value: value.__setitem__("b", 9),
        "cos": lambda value: value["k"][1].__setitem__(0, 9),
    }.items():
        with pytest.raises(ValueError, match="read-only"):
            change(attributes[name])
    assert (attributes | {"units": "m"})["units"] == "m"
    assert ({"units": "m"} | attributes)["units"] == "K"
    assert list(attributes.copy()) == list(attributes)


def test_handles_of_texts_and_the_builder_are_pickled_by_value(ds: nczarr.DatasetHandle) -> None:
    again = pickle.loads(pickle.dumps(ds))
    assert again.dataset == ds.dataset
    assert again["s"][...].tolist() == ["a", None, "é"]
    assert pickle.loads(pickle.dumps(ds["v"]))[1] == 2
    builder = nczarr.DatasetBuilder("")
    builder.variable("v", "int", [builder.dimension("x", 2)])
    assert pickle.loads(pickle.dumps(builder.finish(data={"/v": [1, 2]})))["v"][...].tolist() == [1, 2]


@pytest.mark.parametrize(
    "url",
    ["https://me:hunter2@example.org/a.nc", "https://example.org/a.nc?signature=hunter2", "s3://k:hunter2@b/a.zarr"],
)
def test_a_url_with_credentials_is_not_pickled(url: str, ds: nczarr.DatasetHandle) -> None:
    from nczarr.api.handle import open_dataset
    from nczarr.api.pickling import opening
    from nczarr.options import Following

    calls = [opening(open_dataset, url, Following()), opening(open_dataset, "/a", Following(base=url))]
    for call in calls:
        with pytest.raises(pickle.PicklingError) as caught:
            pickle.dumps(nczarr.DatasetHandle(ds.checked, (), (), call))
        assert "hunter2" not in str(caught.value)
    stored = pickle.dumps(opening(open_dataset, "s3://b/a.zarr", Following()))
    assert b"s3://b/a.zarr" in stored


def test_a_deep_copy_is_the_handle(ds: nczarr.DatasetHandle) -> None:
    for handle in (ds, ds["v"], ds["/g"]):
        assert copy.deepcopy(handle) is copy.copy(handle) is handle


@pytest.mark.long
@pytest.mark.parametrize("name", ["t.nc", "t.zarr"])
def test_sixteen_threads_read_the_same_variables(name: str, tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 1000, (64, 50, 40), "i4")
    texts = values[:, 0, 0].astype("U4").astype(object)
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension(each, length) for each, length in zip("zyx", values.shape, strict=True)]
    builder.variable("v", "int", axes, chunks=(8, 25, 40), codecs=["shuffle", ("deflate", 1)])
    builder.variable("s", "string", axes[:1])
    nczarr.write(builder.finish(data={"/v": values, "/s": texts}), tmp_path / name)
    found = nczarr.open(tmp_path / name)

    def read(number: int) -> bool:
        rng = np.random.default_rng(number)
        for _ in range(20):
            start = int(rng.integers(0, 60))
            rows = rng.integers(0, 64, 5)
            if not np.array_equal(found["v"][start : start + 4, ::3], values[start : start + 4, ::3]):
                return False
            if not np.array_equal(found["v"][rows, 1], values[rows, 1]):
                return False
            if found["s"][rows].tolist() != texts[rows].tolist():
                return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(read, range(16)))


def test_omitted_content_is_one_warning(tmp_path: Path) -> None:
    document = '{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<q9", "compressor": null, "filters": null, '
    document += '"order": "C", "fill_value": 0}'
    (tmp_path / "s.zarr").mkdir()
    (tmp_path / "s.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    for number in range(7):
        (tmp_path / "s.zarr" / f"bad{number}").mkdir()
        (tmp_path / "s.zarr" / f"bad{number}" / ".zarray").write_text(document)
    with pytest.warns(nczarr.DataWarning, match="and 2 more") as caught:
        found = nczarr.open(tmp_path / "s.zarr")
    assert len(caught) == 1
    assert os.path.basename(caught[0].filename) == "test_node_handles.py"
    assert len(found.losses) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        handles: list[Any] = [nczarr.from_cdl(TEXT)]
        nczarr.write(handles[0], tmp_path / "good.zarr")
        nczarr.open(tmp_path / "good.zarr")


def test_an_object_that_netcdf_lacks_is_a_warning(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    h5py = peer("h5py")
    peer("netCDF4")
    with h5py.File(tmp_path / "t.nc", "w") as file:
        file["good"] = np.arange(3)
        file["bad"] = np.array([file["good"].ref], h5py.ref_dtype)
    with pytest.warns(nczarr.DataWarning, match="bad"):
        found = nczarr.open(tmp_path / "t.nc")
    assert list(found) == ["/good"]
    assert any(each.code == "unread" for each in found.diagnostics)


def test_comparisons_refuse_omitted_content_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "s.zarr" / "bad").mkdir(parents=True)
    (tmp_path / "s.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "s.zarr" / "bad" / ".zarray").write_text("{")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(nczarr.CompileError):
            nczarr.digest(tmp_path / "s.zarr")


@pytest.mark.parametrize("key", [0, ..., None, ("v",)])
def test_members_of_groups_have_names(key: object) -> None:
    group = nczarr.from_cdl("netcdf a { variables: int v ; group: g { variables: int w ; } }")
    for each in (group, group["/g"]):
        with pytest.raises(TypeError, match="have names"):
            each[key]
        assert key not in each
