"""`zlib:fast`: deflate by ISA-L, in documents level 1, for any reader."""

import gzip
import zlib
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.arrays.codecs.chain import encode, is_fast, parse, without_fast
from nczarr.ast.dataset import GZIP, Codec

pytest.importorskip("isal")


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A schema of smooth floats, one chunk of 80 kB and one of 4 bytes."""
    values = np.round(np.sin(np.arange(20_000) / 300) * 20, 2)
    path = tmp_path / "smooth.cdl"
    text = ", ".join(f"{value:.2f}f" for value in values)
    path.write_text(
        f"netcdf s {{ dimensions: x = 20000 ; variables: float v(x) ; float w ; data: v = {text} ; w = 1 ; }}"
    )
    return path


def test_bytes_are_those_of_any_inflater() -> None:
    data = np.arange(100_000, dtype="<f4").tobytes()
    fast = encode([Codec(id=1, parameters=(1,))], data, 4, fast=True)
    assert zlib.decompress(fast) == data
    assert fast != zlib.compress(data, 1)
    members = encode([Codec(id=GZIP, parameters=(1,))], data, 4, fast=True)
    assert gzip.decompress(members) == data
    assert members == encode([Codec(id=GZIP, parameters=(1,))], data, 4, fast=True)


def test_other_codecs_stay() -> None:
    data = bytes(range(256)) * 40
    chain = parse("shuffle+zstd:3+fletcher32")
    assert encode(chain, data, 4, fast=True) == encode(chain, data, 4)


@pytest.mark.parametrize("text", ["zlib:fast", "deflate:fast", "gzip:fast", "shuffle+zlib:fast+fletcher32"])
def test_specification(text: str) -> None:
    assert without_fast(text) == text.replace(":fast", ":1")
    assert is_fast({"": text}, "/v")
    assert not is_fast({"": text, "/v": "zlib:1"}, "/v")
    with pytest.raises(ValueError, match="`fast` is not a level of"):
        parse(text)


@pytest.mark.parametrize("text", ["zstd:fast", "zlib:faster", "zlib:fast:1"])
def test_what_is_no_codec(text: str, tmp_path: Path) -> None:
    schema = nczarr.from_cdl("netcdf s { dimensions: x = 3 ; variables: float v(x) ; data: v = 1, 2, 3 ; }")
    with pytest.raises(nczarr.CompileError, match="is not a codec"):
        nczarr.convert(schema, tmp_path / "o.zarr", codecs=text)


@pytest.mark.parametrize("target", ["o.zarr", "o3.zarr", "o.nc"])
def test_target_states_level_one(target: str, schema: Path, tmp_path: Path) -> None:
    sizes = {}
    for level in ("fast", "1"):
        place = tmp_path / level / target
        place.parent.mkdir()
        nczarr.convert(schema, place, codecs=f"zlib:{level}", format="nczarr3" if "3" in target else None)
        files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
        sizes[level] = sum(file.stat().st_size for file in files)
    one, other = tmp_path / "fast" / target, tmp_path / "1" / target
    assert not list(nczarr.diff(one, other))
    assert sizes["fast"] != sizes["1"]  # another encoder made it
    assert sizes["fast"] < 1.1 * sizes["1"]
    if target == "o.nc":
        netcdf4 = pytest.importorskip("netCDF4")
        with netcdf4.Dataset(str(one)) as file, netcdf4.Dataset(str(other)) as same:
            assert file["v"].filters()["complevel"] == 1
            assert np.array_equal(file["v"][:], same["v"][:])
    else:
        zarr = pytest.importorskip("zarr")
        fast, same = (zarr.open_group(place, mode="r")["v"] for place in (one, other))
        assert "level': 1" in str(fast.metadata.to_dict()).replace('"', "'")
        assert np.array_equal(fast[:], same[:])


def test_missing_library(schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.plan.requested_storage.find_spec", lambda name: None)
    with pytest.raises(nczarr.CompileError, match="needs `isal`") as caught:
        nczarr.convert(schema, tmp_path / "o.zarr", codecs="zlib:fast")
    assert any("nczarr[fast]" in line for found in caught.value.diagnostics for line in found.helps)
    assert not (tmp_path / "o.zarr").exists()
