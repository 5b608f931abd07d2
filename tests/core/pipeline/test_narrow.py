"""`--narrow`: types of netCDF-4 in classic files, as netCDF4-python reads both, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import nczarr
from nczarr.__main__ import main
from nczarr.pipeline import narrow

KINDS = ["nc3", "nc6", "nc5", "nc7"]


def era5(path: Path, *, texts: tuple[str, ...] = ("0001", "05"), first: int = 1704067200) -> Path:
    """A file as the Climate Data Store sends it: int64 times, a scalar, a variable of strings."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("valid_time", None)
        file.createDimension("longitude", 3)
        file.createVariable("number", "i8", ())[()] = 7
        time = file.createVariable("valid_time", "i8", ("valid_time",))
        time[:] = [first + 3600 * number for number in range(len(texts))]
        time.units, time.big = "seconds since 1970-01-01", np.int64(5)
        expver = file.createVariable("expver", str, ("valid_time",))
        expver[:] = np.array(texts, object)
        expver.setncattr_string("long_name", "version")
        data = file.createVariable("t2m", "f4", ("valid_time", "longitude"), zlib=True, fill_value=np.nan)
        data[:] = np.arange(3 * len(texts)).reshape(-1, 3)
        data.coordinates = "number valid_time expver"
    return path


def shown(path: Path) -> dict[str, Any]:
    """Return masks, values and attributes as netCDF4-python reads them; it decodes chars by their encoding."""
    found: dict[str, Any] = {}
    with netCDF4.Dataset(path) as file:
        for name, variable in file.variables.items():
            values = np.ma.asarray(variable[...])
            attributes = {key: repr(np.asarray(variable.getncattr(key)).tolist()) for key in variable.ncattrs()}
            attributes.pop("_Encoding", None)
            found[name] = (np.ma.getmaskarray(values).tolist(), values.filled(0).tolist(), attributes)
            if values.dtype.kind in "OUS":
                found[name] = (None, np.asarray(variable[...]).tolist(), attributes)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_era5(kind: str, tmp_path: Path) -> None:
    source, target = era5(tmp_path / "a.nc"), tmp_path / f"{kind}.nc"
    done = nczarr.convert(source, target, kind=kind, narrow=True, verify=True)
    assert done.verified_with
    assert shown(target) == shown(source)
    with netCDF4.Dataset(target) as file:
        assert file["expver"].dimensions == ("valid_time", "expver_strlen")
        assert file["valid_time"].dtype == ("i8" if kind == "nc5" else "i4")


def test_xarray_reads_the_texts(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    source, target = era5(tmp_path / "a.nc"), tmp_path / "b.nc"
    nczarr.convert(source, target, kind="nc3", narrow=True)
    for engine in ("netcdf4", "scipy"):
        with xarray.open_dataset(target, engine=engine) as narrowed, xarray.open_dataset(source) as own:
            assert narrowed["expver"].values.tolist() == own["expver"].values.tolist()
            assert (narrowed["valid_time"].values == own["valid_time"].values).all()


@pytest.mark.parametrize("name", ["u1", "u2", "u4", "i8", "u8"])
@pytest.mark.parametrize("fill", [None, 9])
@pytest.mark.parametrize("kind", ["nc3", "nc7"])
def test_integers_and_unwritten_cells(name: str, fill: int | None, kind: str, tmp_path: Path) -> None:
    """Cells that were never written are missing to netCDF4-python in both files; those of `ubyte` stay 255."""
    source, target = tmp_path / "a.nc", tmp_path / "b.nc"
    with netCDF4.Dataset(source, "w") as file:
        file.createDimension("x", 6)
        variable = file.createVariable("v", name, ("x",), fill_value=fill)
        variable[1:4] = np.array([0, 9, np.iinfo(name).max if name in ("u1", "u2") else 2**31 - 1], name)
        variable[2] = 9
        variable.valid_range = np.array([0, 100], name)
        file.createVariable("never", name, ("x",))
        if name == "u2":
            variable[3] = 65534
    nczarr.convert(source, target, kind=kind, narrow=True)
    for path in (source, target):
        with netCDF4.Dataset(path, "a") as file:
            file["v"].delncattr("valid_range")
    if name != "u1":
        assert shown(target) == shown(source)
    with netCDF4.Dataset(source) as one, netCDF4.Dataset(target) as other:
        for path in ("v", "never"):
            raw = [side[path] for side in (one, other)]
            for variable in raw:
                variable.set_auto_mask(False)
            assert name != "u1" or raw[0][:].tolist() == raw[1][:].tolist()
            written = slice(1, 4) if path == "v" else slice(0)
            assert raw[0][written].tolist() == raw[1][written].tolist()


@pytest.mark.parametrize(
    ("values", "fill", "message"),
    [
        ([1, 2**31, 3], None, "variable `/v`: its value 2147483648 at [1] does not fit type int"),
        ([1, -(2**31) - 1, 3], None, "variable `/v`: its value -2147483649 at [1] does not fit type int"),
        ([1, -2147483647], None, "variable `/v`: its value -2147483647 at [1] stands for missing cells of type int"),
        ([1], -(2**40), "variable `/v`: its `_FillValue` -1099511627776 does not fit type int"),
    ],
)
def test_numbers_that_do_not_fit(
    values: list[int], fill: int | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "a.nc", tmp_path / "b.nc"
    with netCDF4.Dataset(source, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("v", "i8", ("x",), fill_value=fill)[: len(values)] = np.array(values, "i8")
        file.createVariable("w", "i4", ("x",))
    command = ["convert", str(source), str(target), "--kind", "nc3", "--narrow"]
    assert main(command) == 1
    assert f"error[format-conflict]: {message}; the output format is classic" in capsys.readouterr().err
    assert not target.exists()
    assert main([*command, "--allow-loss", "format-conflict"]) == 0
    assert f"warning[format-conflict]: {message}; the output format is classic, and it is left out" in (
        capsys.readouterr().err
    )
    with netCDF4.Dataset(target) as file:
        assert list(file.variables) == ["w"]


def test_texts_that_do_not_fit(tmp_path: Path) -> None:
    source = tmp_path / "a.nc"
    with netCDF4.Dataset(source, "w") as file:
        file.setncattr_string("history", ["a", "b"])
        file.big = np.int64(2**40)
        filled = file.createVariable("filled", str, (), fill_value="none")
        filled[()] = "x"
    with pytest.raises(nczarr.CompileError) as raised:
        nczarr.convert(source, tmp_path / "b.nc", kind="nc3", narrow=True)
    found = [one.message for one in raised.value.diagnostics if one.code == "format-conflict"]
    assert [text.partition(";")[0] for text in sorted(found)] == [
        "attribute `big` of `/`: its value 1099511627776 does not fit type int",
        "attribute `history` of `/`: 2 strings do not fit one text",
        "variable `/filled`: chars have no place for the text of its `_FillValue`",
    ]


def test_without_the_option_each_variable_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = era5(tmp_path / "a.nc"), tmp_path / "b.nc"
    assert main(["convert", str(source), str(target), "--kind", "nc3"]) == 1
    err = capsys.readouterr().err
    for text in ("`/number` is of type int64", "the coordinate of `/expver`, `/t2m`, is of type int64", "--narrow"):
        assert text in err
    assert main(["convert", str(source), str(target), "--kind", "nc3", "--allow-loss", "all"]) == 0
    err = capsys.readouterr().err
    assert "variable `/valid_time`, the coordinate of `/expver`, `/t2m`, is of type int64" in err
    assert err.count("and it is left out") == 5, "three variables and two attributes"


def test_a_kind_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = era5(tmp_path / "a.nc")
    for target in ("b.nc", "b.zarr"):
        assert main(["convert", str(source), str(tmp_path / target), "--narrow"]) == 2
        assert "`--narrow` is for classic kinds" in capsys.readouterr().err


@pytest.mark.plugin("combine")
def test_combined_and_appended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [era5(tmp_path / f"{number}.nc", first=1704067200 + 7200 * number) for number in range(3)]
    target, wanted = tmp_path / "all.nc", tmp_path / "wanted.nc"
    names = [str(part) for part in parts]
    assert main(["combine", *names[:2], str(target), "--along", "valid_time", "--kind", "nc3", "--narrow"]) == 0
    assert main(["append", names[2], str(target), "--along", "valid_time", "--narrow"]) == 0
    assert main(["combine", *names, str(wanted), "--along", "valid_time"]) == 0
    assert shown(target) == shown(wanted)
    longer = era5(tmp_path / "longer.nc", texts=("00001", "05"), first=1704067200 + 7200 * 3)
    assert main(["append", str(longer), str(target), "--along", "valid_time", "--narrow"]) == 1
    assert "variable `/expver`: a text has 5 bytes, but the target has room for 4" in capsys.readouterr().err


def test_a_schema_is_narrowed(tmp_path: Path) -> None:
    dataset = nczarr.from_cdl("""netcdf t { dimensions: x = 2 ; variables: int64 v(x) ; string s(x) ; uint never(x) ;
        data: v = 1, 2 ; s = "a", "äb" ; }""")
    nczarr.write(dataset, tmp_path / "t.nc", kind="nc3", narrow=True)
    with netCDF4.Dataset(tmp_path / "t.nc") as file:
        assert file["v"][:].tolist() == [1, 2]
        assert file["s"][:].tolist() == ["a", "äb"]
        assert file["never"][:].mask.all()


def test_values_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a.nc", tmp_path / "b.nc"
    with netCDF4.Dataset(source, "w") as file:
        file.createDimension("x", 1000)
        file.createVariable("v", "i8", ("x",), chunksizes=(50,))[:] = np.arange(1000)
        file.createVariable("s", str, ("x",), chunksizes=(50,))[:] = np.array([f"{n}" for n in range(1000)], object)
    monkeypatch.setattr(narrow, "PIECE", 100)
    most: list[int] = []
    plain = narrow._pieces

    def pieces(array: Any) -> Any:
        for region, values in plain(array):
            most.append(values.size)
            yield region, values

    monkeypatch.setattr(narrow, "_pieces", pieces)
    nczarr.convert(source, target, kind="nc3", narrow=True)
    assert max(most) <= 100
    assert len(most) == 20
    assert shown(target) == shown(source)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("narrowed", [True, False])
def test_a_second_unlimited_dimension_without_length_is_left_out(kind: str, narrowed: bool, tmp_path: Path) -> None:
    source, target = tmp_path / "s.nc", tmp_path / "t.nc"
    with netCDF4.Dataset(source, "w") as file:
        file.createDimension("t", None)
        file.createDimension("u", None)
        file.createVariable("v", "i8" if narrowed else "i4", ("t",))[:] = [1, 2]
        file.createVariable("w", "i4", ("u",))
    with pytest.raises(nczarr.CompileError, match=r"one unlimited dimension \(`t`\)") as refused:
        nczarr.convert(source, target, kind=kind, narrow=narrowed)
    assert any("`nczarr edit --delete dim:/u`" in help_ for one in refused.value.diagnostics for help_ in one.helps)
    done = nczarr.convert(source, target, kind=kind, narrow=narrowed, allow_loss=["format-conflict"], verify=True)
    [lost] = [one.message for one in done.diagnostics if "unlimited dimension (`t`)" in one.message]
    assert "`u` has length 0 and is left out, with the variables along it" in lost
    found = nczarr.open(target)
    assert (list(found), list(found.dimensions), found["v"][...].tolist()) == (["/v"], ["t"], [1, 2])


def test_a_fixed_dimension_without_length_has_a_way_out(tmp_path: Path) -> None:
    source = nczarr.from_cdl("netcdf d { dimensions: u = UNLIMITED ; variables: int v ; data: v = 1 ; }")
    nczarr.write(source, tmp_path / "s.nc")
    with pytest.raises(nczarr.CompileError, match=r"`nczarr edit` removes an unused one"):
        nczarr.convert(tmp_path / "s.nc", tmp_path / "t.nc", kind="nc3", fixed=True)


@pytest.mark.parametrize("version", [2, 3])
def test_texts_and_times_of_zarr(version: int, tmp_path: Path) -> None:
    """Elements of fixed length and times are chars and int in the file, as xarray writes them."""
    xarray = pytest.importorskip("xarray")
    zarr = pytest.importorskip("zarr")
    store, target, expected = tmp_path / "s.zarr", tmp_path / "t.nc", tmp_path / "x.nc"
    texts = xarray.Dataset({"wide": ("x", ["ab", "éß"]), "bytes": ("x", np.array([b"ab", b"c"]))})
    texts.to_zarr(store, zarr_format=version, consolidated=False)
    texts.to_netcdf(expected, format="NETCDF3_CLASSIC")
    axes = {"dimension_names": ["x"]} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}}
    group = zarr.open_group(store, mode="a")
    group.create_array("day", data=np.array(["2000-01-02", "1999-12-31"], "M8[D]"), fill_value=0, **axes)
    nczarr.convert(store, target, kind="nc3", narrow=True)
    with xarray.open_dataset(target) as found, xarray.open_dataset(expected) as wanted:
        for name in texts.variables:
            assert found[name].astype(str).values.tolist() == wanted[name].astype(str).values.tolist(), name
        assert found["day"].values.astype("M8[D]").tolist() == group["day"][:].tolist()
