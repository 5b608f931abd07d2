"""What Python callers hold: values by index, texts, keys, writing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nczarr

TEXT = """netcdf t {
dimensions:
  x = 3 ;
  y = 4 ;
  station\\ id = 2 ;
variables:
  int v(x, y) ;
  string s(x) ;
  double scalar ;
  float empty(x, y) ;
group: g1 {
  variables:
    short w(station\\ id) ;
  data:
    w = 1, 2 ;
}
}
"""
VALUES = np.arange(12, dtype="i4").reshape(3, 4)


@pytest.fixture(scope="module")
def ds() -> nczarr.DatasetHandle:
    data = 'data:\n  v = 0,1,2,3,4,5,6,7,8,9,10,11 ;\n  s = "a", NIL, "é" ;\n  scalar = 2.5 ;\n'
    return nczarr.from_cdl(TEXT.replace("group: g1", data + "group: g1"))


KEYS = [
    ..., (), 0, -1, slice(None), (slice(None), 1), (..., -1), (1, ...), (slice(None, None, -1),),
    (slice(2, 0, -1), slice(3, None, -2)), (slice(0, 3, 2), slice(1, 4, 2)), (slice(1, 1),), (slice(5, 1, -2), 0),
    (np.int64(1), 2), (slice(None), ..., slice(None)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_indexing_is_that_of_numpy(ds: nczarr.DatasetHandle, key: object) -> None:
    found, wanted = ds["v"][key], VALUES[key]  # type: ignore[index]
    assert type(found) is type(wanted)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("key", "error"),
    [(3, IndexError), (-4, IndexError), ((0, 0, 0), IndexError), ((..., ...), IndexError), (1.5, TypeError),
     ("x", TypeError), ([0, 3], IndexError), ([True], IndexError), ([0.0], TypeError)],
)  # fmt: skip
def test_wrong_indices(ds: nczarr.DatasetHandle, key: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        ds["v"][key]


def test_strings_scalars_and_fill(ds: nczarr.DatasetHandle) -> None:
    assert ds["s"][:].tolist() == ["a", None, "é"]
    assert ds["s"][2] == "é"
    assert ds["scalar"][()] == 2.5
    assert ds["scalar"].shape == ()
    assert np.asarray(ds["empty"]).tolist() == np.full((3, 4), np.float32(9.969209968386869e36)).tolist()
    assert len(ds["v"]) == 3
    with pytest.raises(TypeError):
        len(ds["scalar"])


def test_strides_over_more_than_memory_holds() -> None:
    ds = nczarr.from_cdl("netcdf t {dimensions: x = 1000000000000; variables: byte v(x); data: v = 5;}")
    assert ds["v"][:: 10**11].tolist() == [5, *[-127] * 9]


def test_what_was_never_written_has_a_value_whatever_the_type() -> None:
    text = """netcdf t {
types:
  byte enum e { one = 1 } ;
  int(*) row ;
  compound c { row r ; e state ; string s(2) ; } ;
dimensions:
  x = 2 ;
variables:
  c v(x) ;
  row w(x) ;
  row w:_FillValue = {1, 2} ;
}
"""
    ds = nczarr.from_cdl(text)
    assert repr(ds["v"][1]) == repr(ds["v"][:][0])
    assert (ds["v"][1]["r"].tolist(), ds["v"][1]["state"], ds["v"][1]["s"].tolist()) == ([], 0, ["", ""])
    assert [row.tolist() for row in ds["w"][:]] == [[1, 2], [1, 2]]


def test_mapping(ds: nczarr.DatasetHandle) -> None:
    assert list(ds) == ["/v", "/s", "/scalar", "/empty", "/g1/w"]
    assert "/g1/w" in ds
    assert "w" not in ds
    assert ds["/g1/w"].dimensions == ("/station\\ id",)
    with pytest.raises(KeyError, match="did you mean `/g1/w`"):
        ds["/g1/ww"]
    with ds as same:
        assert same is ds


def test_texts_read_back_equal(ds: nczarr.DatasetHandle) -> None:
    assert nczarr.from_cdl(ds.to_cdl()).dataset == ds.dataset
    assert nczarr.from_notation(ds.to_notation()).dataset == ds.dataset
    again = nczarr.from_cdl(ds.to_cdl())
    assert np.array_equal(again["v"][:], VALUES)


def test_keys_are_those_that_write_makes(ds: nczarr.DatasetHandle, tmp_path: Path) -> None:
    keys = ds.to_keys("nczarr")
    nczarr.write(ds, tmp_path / "t.zarr")
    files = {
        str(path.relative_to(tmp_path / "t.zarr")): path.read_bytes()
        for path in (tmp_path / "t.zarr").rglob("*")
        if path.is_file()
    }
    assert files == dict(keys)


def test_open_detects(tmp_path: Path, ds: nczarr.DatasetHandle) -> None:
    (tmp_path / "x").write_text(ds.to_notation())
    with nczarr.open(tmp_path / "x") as found:
        assert found.dataset == ds.dataset
    with pytest.raises(FileNotFoundError):
        nczarr.open(tmp_path / "missing.cdl")


def test_faults_come_as_one_error() -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.from_cdl("netcdf t {\nvariables:\n  int v(x) ;\n  int32 w ;\n}\n")
    assert [each.code for each in caught.value.diagnostics] == ["undefined-dimension", "undefined-type"]
    assert "undefined-dimension" in str(caught.value)


def test_writing(tmp_path: Path, ds: nczarr.DatasetHandle) -> None:
    target = tmp_path / "t.cdl"
    nczarr.write(ds, target)
    with pytest.raises(FileExistsError):
        nczarr.write(ds, target)
    before = target.read_bytes()
    nczarr.write(ds, target, overwrite=True)
    assert target.read_bytes() == before
    with pytest.raises(nczarr.CompileError):
        nczarr.write(ds, tmp_path / "t.docx")
    with pytest.raises(ValueError, match="kind"):
        nczarr.from_cdl("netcdf t {}", kind="nc9")
    with pytest.raises(nczarr.CompileError):
        nczarr.write(ds, tmp_path / "lossy.zarr", "zarr2")  # NIL
    assert not (tmp_path / "lossy.zarr").exists()
    found = nczarr.write(ds, tmp_path / "lossy.zarr", "zarr2", allow_loss="all", chunks={"/v": (1, 4)}, codecs="zlib:1")
    assert {each.code for each in found} >= {"lost-nil"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lossy.zarr", "t.cdl"]


@pytest.mark.parametrize(("kind", "magic"), [(None, b"CDF\x01"), ("64-bit offset", b"CDF\x02"), ("nc5", b"CDF\x05")])
def test_the_kind_of_a_file_is_asked_for(kind: str | None, magic: bytes, tmp_path: Path) -> None:
    small = nczarr.from_cdl("netcdf t {\nvariables: int v ;\n}\n")
    nczarr.write(small, tmp_path / "t.nc", kind=kind)
    assert (tmp_path / "t.nc").read_bytes()[:4] == magic


def test_a_kind_that_there_is_not_and_a_file_that_is_too_large(tmp_path: Path) -> None:
    small = nczarr.from_cdl("netcdf t {\nvariables: int v ;\n}\n")
    with pytest.raises(ValueError, match="'nc9' is not a kind"):
        nczarr.write(small, tmp_path / "t.nc", kind="nc9")
    with pytest.raises(nczarr.CompileError, match="declares 4 bytes"):
        nczarr.write(small, tmp_path / "t.nc", max_size=3)


def test_chunks_do_not_change_the_kind_where_none_has_them(tmp_path: Path) -> None:
    small = nczarr.from_cdl("netcdf t {\ndimensions: x = 4 ;\nvariables: int v(x) ;\n}\n")
    (found,) = nczarr.write(small, tmp_path / "t.nc", "netcdf3", chunks={"x": 2})
    assert found.code == "lost-annotations"
    assert (tmp_path / "t.nc").read_bytes()[:4] == b"CDF\x01"
