"""Packed variables as the numbers that they stand for: attributes, messages, kinds of source."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.diagnostics.report import Report
from nczarr.names import plugin_index
from nczarr.plugins.unpack.unpack import unpack
from tests.conftest import run_command
from tests.support.packings import PACKED, packed


def unpacked(tmp_path: Path, source: Any, **options: Any) -> tuple[DatasetHandle, list[str]]:
    """The source with unpacked variables, and the messages of the run."""
    done = nczarr.convert(source, tmp_path / "plain.nc", unpack=True, verify=True, **options)
    return nczarr.open(tmp_path / "plain.nc"), [f"{one.code}: {one.message}" for one in done.diagnostics]


def test_a_packed_variable_becomes_its_numbers_and_others_stay(tmp_path: Path) -> None:
    made, messages = unpacked(tmp_path, packed())
    assert messages == []
    stored = np.array([[1, 0, 3], [4, 5, 6]], "f8") * 0.01 + 273.15
    stored[0, 1] = np.nan
    assert np.array_equal(made["temp"][...], stored, equal_nan=True)
    assert {name: str(value) for name, value in made["temp"].attributes.items()} == {"_FillValue": "nan"}
    assert made["count"][...].tolist() == nczarr.from_cdl(PACKED.format(
        scale=1, offset=0, more="", times="0, 1", values="0"))["count"][...].tolist()  # fmt: skip


def test_limits_of_stored_numbers_become_those_of_their_numbers(tmp_path: Path) -> None:
    more = "temp:valid_min = -10s ; temp:valid_max = 100s ; temp:flag_values = 1s, 2s ;"
    made, messages = unpacked(tmp_path, packed(more=more))
    assert messages == []
    limits = {name: np.asarray(value).tolist() for name, value in made["temp"].attributes.items()}
    del limits["_FillValue"]
    assert limits == {
        "valid_min": -10 * 0.01 + 273.15,
        "valid_max": 100 * 0.01 + 273.15,
        "flag_values": [1 * 0.01 + 273.15, 2 * 0.01 + 273.15],
    }


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("temp:valid_min = -10s ;", {"valid_max": 20.0}),
        ("temp:valid_min = -10s ; temp:valid_max = 100s ;", {"valid_min": -200.0, "valid_max": 20.0}),
        ("temp:valid_range = -10s, 100s ;", {"valid_range": [-200.0, 20.0]}),
        ("temp:valid_range = -10., 100. ;", {"valid_range": [-10.0, 100.0]}),  # unpacked, as the type says
        ("temp:valid_max = 70000 ;", {"valid_min": -140000.0}),
    ],
)
def test_limits_change_places_if_the_scale_is_negative(tmp_path: Path, more: str, wanted: dict[str, Any]) -> None:
    made, _ = unpacked(tmp_path, packed(scale="-2.", offset="0.", more=more))
    found = {name: np.asarray(value).tolist() for name, value in made["temp"].attributes.items()}
    del found["_FillValue"]
    assert found == wanted


def test_limits_of_unsigned_numbers_have_their_sign(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        'netcdf d { dimensions: x = 2 ; variables: byte v(x) ; v:scale_factor = 2.f ; v:_Unsigned = "true" ;'
        " v:valid_range = 0b, -1b ; data: v = -1, 1 ; }"
    )
    made, _ = unpacked(tmp_path, source)
    assert made["v"][...].tolist() == [510.0, 2.0]
    assert np.asarray(made["v"].attributes["valid_range"]).tolist() == [0.0, 510.0]
    assert made["v"].dtype == np.dtype("f4")


def test_attributes_whose_meaning_is_unclear_are_left_out_with_a_warning(tmp_path: Path) -> None:
    made, messages = unpacked(tmp_path, packed(more="temp:actual_range = 1s, 6s ; temp:flag_masks = 1s, 2s ;"))
    assert messages == ["dropped-limits: `/temp` is unpacked without `actual_range`, `flag_masks`"]
    assert set(made["temp"].attributes) == {"_FillValue"}
    (tmp_path / "plain.nc").unlink()
    made, messages = unpacked(tmp_path, packed(more="temp:actual_range = 273.16, 273.21 ;"))
    assert messages == []
    assert np.asarray(made["temp"].attributes["actual_range"]).tolist() == [273.16, 273.21]


@pytest.mark.parametrize(
    ("scale", "reason"),
    [("0.1, 0.2", "`scale_factor` has 2 values"), ('"0.1"', "`scale_factor` is no number")],
)
def test_a_variable_without_arithmetic_stays_packed_with_a_warning(tmp_path: Path, scale: str, reason: str) -> None:
    made, messages = unpacked(tmp_path, packed(scale=scale))
    assert messages == [f"kept-packing: `/temp` stays packed: {reason}"]
    assert made["temp"].dtype == np.dtype("i2")
    assert "add_offset" in made["temp"].attributes


def test_texts_with_a_scale_stay_as_they_are(tmp_path: Path) -> None:
    source = nczarr.from_cdl('netcdf d { variables: char v ; v:scale_factor = 2. ; data: v = "a" ; }')
    made, messages = unpacked(tmp_path, source)
    assert messages == ["kept-packing: `/v` stays packed: its type is char"]
    assert made["v"][...] == b"a"


def test_a_coordinate_gets_no_fill_value(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        "netcdf d { dimensions: x = 3 ; b = 2 ; variables: short x(x) ; x:scale_factor = 0.5 ; "
        'x:bounds = "x_bounds" ; short x_bounds(x, b) ; x_bounds:scale_factor = 0.5 ; '
        "data: x = 1, 2, 3 ; x_bounds = 0, 1, 1, 2, 2, 3 ; }"
    )
    made, _ = unpacked(tmp_path, source)
    assert made["x"][...].tolist() == [0.5, 1.0, 1.5]
    assert "_FillValue" not in made["x"].attributes
    assert "_FillValue" not in made["x_bounds"].attributes


def test_marks_are_compared_before_numbers_are_rounded(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        "netcdf d { dimensions: x = 2 ; variables: int v(x) ; v:scale_factor = 0.5f ; v:_FillValue = -2147483647 ; "
        "data: v = _, 3 ; }"
    )
    made, _ = unpacked(tmp_path, source)
    assert np.isnan(made["v"][0])  # as float, -2147483647 is another number
    assert made["v"][1] == 1.5


def test_cells_without_data_are_missing_or_the_default_of_their_type(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        "netcdf d { dimensions: x = 2 ; variables: short a(x) ; a:scale_factor = 0.5 ; a:_FillValue = 7s ; "
        "short b(x) ; b:scale_factor = 0.5 ; }"
    )
    made, _ = unpacked(tmp_path, source)
    assert np.isnan(made["a"][...]).all()
    assert made["b"][...].tolist() == [-32767 * 0.5] * 2


def test_unwritten_chunks_stay_unwritten(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        "netcdf d { dimensions: x = UNLIMITED ; variables: short v(x) ; v:scale_factor = 0.5 ; v:_FillValue = 7s ; "
        'v:_ChunkSizes = 10 ; v:_Storage = "chunked" ; data: v = 1 ; }'
    )
    nczarr.write(source, tmp_path / "packed.zarr", "zarr3")
    with nczarr.open(tmp_path / "packed.zarr") as packed_store:
        assert packed_store["v"].shape == (1,)
    grown = nczarr.from_cdl(
        "netcdf d { dimensions: x = 1000000000000 ; variables: short v(x) ; v:scale_factor = 0.5 ; v:_FillValue = 7s ; "
        'v:_ChunkSizes = 1000000 ; v:_Storage = "chunked" ; data: v = 1 ; }'
    )
    done = nczarr.convert(grown, tmp_path / "plain.zarr", "zarr3", unpack=True)
    assert done.variables == 1
    assert len(list((tmp_path / "plain.zarr" / "v" / "c").iterdir())) == 1


def test_without_the_plugin_the_option_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_index, "find_place", lambda kind, name: None)
    with pytest.raises(nczarr.CompileError, match="`unpack=True` needs a plugin, which is not installed"):
        nczarr.convert(packed(), tmp_path / "plain.zarr", unpack=True)


def test_a_part_of_a_source_is_unpacked(tmp_path: Path) -> None:
    made, _ = unpacked(tmp_path, packed(), sections=["temp(1, 0:1)"])
    assert made["temp"][...].tolist() == [[4 * 0.01 + 273.15, 5 * 0.01 + 273.15]]
    nczarr.rechunk(packed(), tmp_path / "rechunked.zarr", unpack=True, chunks={"t": 1})
    assert nczarr.open(tmp_path / "rechunked.zarr")["temp"][1, 0] == 4 * 0.01 + 273.15


def test_levels_alone_are_unpacked_in_a_pyramid(tmp_path: Path) -> None:
    source = nczarr.from_cdl(
        "netcdf d { dimensions: y = 2 ; x = 2 ; variables: short v(y, x) ; v:scale_factor = 0.5 ; "
        "data: v = 1, 2, 3, 4 ; }"
    )
    nczarr.pyramid(source, tmp_path / "map.zarr", levels=1, unpack=True, allow_loss=["all"])
    made = nczarr.open(tmp_path / "map.zarr")
    assert made["/0/v"].dtype == np.dtype("i2")
    assert made["/1/v"][...].tolist() == [[1.25]]


def test_the_command_line_has_the_option(tmp_path: Path) -> None:
    nczarr.write(packed(more="temp:actual_range = 1s, 6s ;"), tmp_path / "packed.nc")
    done = run_command("convert", str(tmp_path / "packed.nc"), str(tmp_path / "plain.zarr"), "--unpack", "--verify")
    assert done.status == 0
    assert "warning[dropped-limits]: `/temp` is unpacked without `actual_range`" in done.err
    assert nczarr.open(tmp_path / "plain.zarr")["temp"][1, 0] == 4 * 0.01 + 273.15


def test_an_unpacked_array_goes_to_other_processes(tmp_path: Path) -> None:
    nczarr.write(packed(), tmp_path / "packed.nc")
    checked = unpack(nczarr.open(tmp_path / "packed.nc").checked, Report(), joined=False)
    source = checked.parts["/temp"][""]
    again = pickle.loads(pickle.dumps(source))
    region = (slice(0, 2), slice(0, 3))
    assert np.array_equal(again.read(region), source.read(region), equal_nan=True)
