"""Dimensions of HDF-EOS5 files: those of StructMetadata, as HDF-EOS 2.0 writes it, or those of libnetcdf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.hdfeos.dimension_names import read_structures
from tests.conftest import run_command

SWATH = """GROUP=SwathStructure
	GROUP=SWATH_1
		SwathName="O3"
		GROUP=Dimension
			OBJECT=Dimension_1
				DimensionName="nTimes"
				Size=4
			END_OBJECT=Dimension_1
			OBJECT=Dimension_2
				DimensionName="nLevels"
				Size=3
			END_OBJECT=Dimension_2
			OBJECT=Dimension_3
				DimensionName="IndxTrack"
				Size=2
			END_OBJECT=Dimension_3
			OBJECT=Dimension_4
				DimensionName="Unlim"
				Size=-1
			END_OBJECT=Dimension_4
		END_GROUP=Dimension
		GROUP=GeoField
			OBJECT=GeoField_1
				GeoFieldName="Pressure"
				DataType=H5T_NATIVE_FLOAT
				DimList=("nLevels")
				MaxdimList=("nLevels")
			END_OBJECT=GeoField_1
			OBJECT=GeoField_2
				GeoFieldName="Time"
				DataType=H5T_NATIVE_DOUBLE
				DimList=("nTimes")
				MaxdimList=("nTimes")
			END_OBJECT=GeoField_2
		END_GROUP=GeoField
		GROUP=DataField
			OBJECT=DataField_1
				DataFieldName="L2gpValue"
				DataType=H5T_NATIVE_FLOAT
				DimList=("nTimes","nLevels")
				MaxdimList=("nTimes","nLevels")
			END_OBJECT=DataField_1
			OBJECT=DataField_2
				DataFieldName="Count"
				DataType=H5T_NATIVE_INT
				DimList=("nTimes")
				MaxdimList=("Unlim")
			END_OBJECT=DataField_2
		END_GROUP=DataField
		GROUP=ProfileField
		END_GROUP=ProfileField
	END_GROUP=SWATH_1
END_GROUP=SwathStructure
GROUP=GridStructure
END_GROUP=GridStructure
END
"""

GRID = """GROUP=GridStructure
	GROUP=GRID_1
		GridName="Polar Grid"
		XDim=5
		YDim=5
		UpperLeftPointMtrs=(210584.500410,3322395.954450)
		GROUP=Dimension
			OBJECT=Dimension_1
				DimensionName="Bands"
				Size=2
			END_OBJECT=Dimension_1
		END_GROUP=Dimension
		GROUP=DataField
			OBJECT=DataField_1
				DataFieldName="Spectra"
				DimList=("Bands","YDim","XDim")
				MaxdimList=("Bands","YDim","XDim")
				TilingDimensions=(2,5,5)
			END_OBJECT=DataField_1
		END_GROUP=DataField
	END_GROUP=GRID_1
END_GROUP=GridStructure
GROUP=PointStructure
	GROUP=POINT_1
		PointName="Buoys"
		GROUP=Level
			GROUP=Level_0
				LevelName="Sites"
				OBJECT=PointField_1
					PointFieldName="Longitude"
					DataType=H5T_NATIVE_DOUBLE
					Order=1
				END_OBJECT=PointField_1
			END_GROUP=Level_0
			GROUP=Level_1
				LevelName="Observations"
			END_GROUP=Level_1
		END_GROUP=Level
		GROUP=LevelLink
			OBJECT=LevelLink_1
				Parent="Sites"
				Child="Observations"
				LinkField="ID"
			END_OBJECT=LevelLink_1
		END_GROUP=LevelLink
	END_GROUP=POINT_1
END_GROUP=PointStructure
GROUP=ZaStructure
	GROUP=ZA_1
		ZaName="ZA1"
		GROUP=Dimension
			OBJECT=Dimension_1
				DimensionName="nLats"
				Size=6
			END_OBJECT=Dimension_1
		END_GROUP=Dimension
		GROUP=DataField
			OBJECT=DataField_1
				DataFieldName="Density"
				DimList=("nLats")
			END_OBJECT=DataField_1
		END_GROUP=DataField
	END_GROUP=ZA_1
END_GROUP=ZaStructure
END
"""

O3 = "/HDFEOS/SWATHS/O3"
VALUE = f"{O3}/Data\\ Fields/L2gpValue"

SWATH_FIELDS = {
    "HDFEOS/SWATHS/O3/Geolocation Fields/Pressure": np.arange(3, dtype="f4"),
    "HDFEOS/SWATHS/O3/Geolocation Fields/Time": np.arange(4.0),
    "HDFEOS/SWATHS/O3/Data Fields/L2gpValue": np.arange(12, dtype="f4").reshape(4, 3),
    "HDFEOS/SWATHS/O3/_INDEXMAP:IndxTrack,nTimes": np.arange(2),
}

Maker = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Maker:
    """Return a function that writes an HDF-EOS5 file as the library lays it out, by h5py."""
    h5py = peer("h5py")

    def write(fields: Mapping[str, Any], *parts: str, grows: str = "", alias: str = "") -> Path:
        path = tmp_path / "granule.he5"
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, values in fields.items():
                options = {"maxshape": (None,), "chunks": (100,)} if name == grows else {}
                file.create_dataset(name, data=values, **options)
            if alias:
                file[f"{alias.rpartition('/')[0]}/alias"] = file[alias]
            group = file.create_group("HDFEOS INFORMATION")
            group.attrs["HDFEOSVersion"] = np.bytes_("HDFEOS_5.1.17")
            for number, part in enumerate(parts):
                group[f"StructMetadata.{number}"] = np.array(part.encode("utf-8", "surrogateescape"), "S32000")
        return path

    return write


def dimensions_of(path: Path, **options: Any) -> dict[str, tuple[Any, ...]]:
    """Return the dimensions of each variable."""
    return {name: node.dimensions for name, node in nczarr.open(path, **options).checked.variables.items()}


def test_fields_of_a_swath_share_dimensions_of_its_group(make: Maker) -> None:
    path = make(SWATH_FIELDS, SWATH, alias="HDFEOS/SWATHS/O3/Data Fields/L2gpValue")
    found = dimensions_of(path)
    times, levels = f"{O3}/nTimes", f"{O3}/nLevels"
    assert found == {
        f"{O3}/Data\\ Fields/L2gpValue": (times, levels),
        f"{O3}/Data\\ Fields/alias": (times, levels),  # another link to it, which the text does not list
        f"{O3}/Geolocation\\ Fields/Pressure": (levels,),
        f"{O3}/Geolocation\\ Fields/Time": (times,),
        f"{O3}/_INDEXMAP:IndxTrack,nTimes": (f"{O3}/IndxTrack",),
        "/HDFEOS\\ INFORMATION/StructMetadata.0": (),
    }
    checked = nczarr.open(path).checked
    assert {name: node.size for name, node in checked.dimensions.items()} == {
        times: 4, levels: 3, f"{O3}/IndxTrack": 2
    }  # fmt: skip
    np.testing.assert_array_equal(nczarr.open(path)[VALUE][...], np.arange(12, dtype="f4").reshape(4, 3))


def test_grids_points_and_zonal_averages(make: Maker) -> None:
    fields = {
        "HDFEOS/GRIDS/Polar Grid/Data Fields/Spectra": np.zeros((2, 5, 5), "f4"),
        "HDFEOS/POINTS/Buoys/Data/Sites": np.zeros(3, [("Longitude", "f8")]),
        "HDFEOS/POINTS/Buoys/Data/Observations": np.zeros(7, [("Time", "f8")]),
        "HDFEOS/POINTS/Buoys/Linkage/BCKPOINTER:1->0": np.zeros(7, [("BCKPOINTER", "i8")]),
        "HDFEOS/ZAS/ZA1/Data Fields/Density": np.zeros(6, "f4"),
    }
    found = dimensions_of(make(fields, GRID))
    grid, buoys = "/HDFEOS/GRIDS/Polar\\ Grid", "/HDFEOS/POINTS/Buoys"
    assert found[f"{grid}/Data\\ Fields/Spectra"] == (f"{grid}/Bands", f"{grid}/YDim", f"{grid}/XDim")
    assert found[f"{buoys}/Data/Sites"] == (f"{buoys}/Sites_records",)
    assert found[f"{buoys}/Data/Observations"] == (f"{buoys}/Observations_records",)
    assert found[f"{buoys}/Linkage/BCKPOINTER:1->0"] == (f"{buoys}/Observations_records",)
    assert found["/HDFEOS/ZAS/ZA1/Data\\ Fields/Density"] == ("/HDFEOS/ZAS/ZA1/nLats",)


@pytest.mark.parametrize("cut", [1, 300, SWATH.index("nLevels") + 3, len(SWATH) - 2])
def test_parts_of_the_text_are_joined(make: Maker, cut: int) -> None:
    joined = dimensions_of(make(SWATH_FIELDS, SWATH[:cut], SWATH[cut:]))
    assert joined[VALUE] == (f"{O3}/nTimes", f"{O3}/nLevels")


def test_an_axis_of_another_length_keeps_its_name(make: Maker) -> None:
    fields = {**SWATH_FIELDS, "HDFEOS/SWATHS/O3/Data Fields/L2gpValue": np.zeros((5, 3), "f4")}
    path = make(fields, SWATH)
    ran = run_command("dump", "-h", str(path))
    assert ran.status == 0
    assert "warning[mismatched-dimension]" in ran.err
    assert f"`{VALUE}`, axis 0, has 5 cells, `nTimes` has 4" in ran.err
    found = dimensions_of(path)
    assert found[VALUE][1] == f"{O3}/nLevels"
    assert found[VALUE][0].startswith(f"{O3}/Data\\ Fields/phony_dim_")
    assert found[f"{O3}/Geolocation\\ Fields/Time"] == (f"{O3}/nTimes",)


@pytest.mark.parametrize(
    "text", [SWATH + "\udcff", SWATH.replace("GROUP=DataField", "X=\udcb0\n\t\tGROUP=DataField", 1)]
)
def test_bytes_that_are_not_utf_8_beside_the_names_do_no_harm(make: Maker, text: str) -> None:
    assert dimensions_of(make(SWATH_FIELDS, text))[VALUE] == (f"{O3}/nTimes", f"{O3}/nLevels")


def test_names_that_are_not_utf_8_are_reported(make: Maker, tmp_path: Path) -> None:
    path = make(SWATH_FIELDS, SWATH.replace("nTimes", "n\udcb0"))
    for command in (("dump", "-h"), ("info",), ("check", "--data")):
        ran = run_command(*command, str(path))
        assert (ran.status, "internal-error" in ran.err) == (0, False)
        assert f"`{VALUE}`, axis 0: name 'n\\udcb0' is not UTF-8" in ran.err
    found = dimensions_of(path)
    assert found[VALUE][1] == f"{O3}/nLevels"
    assert found[VALUE][0].startswith(f"{O3}/Data\\ Fields/phony_dim_")


def test_fewer_axes_than_names_are_reported(make: Maker) -> None:
    fields = {**SWATH_FIELDS, "HDFEOS/SWATHS/O3/Data Fields/L2gpValue": np.zeros(4, "f4")}
    ran = run_command("info", str(make(fields, SWATH)))
    assert f"`{VALUE}` has 1 dimensions, not 2" in ran.err


def test_the_names_of_libnetcdf_on_request(make: Maker, peer: Callable[[str], ModuleType]) -> None:
    netcdf4, path = peer("netCDF4"), make(SWATH_FIELDS, SWATH)
    for options in ({"storage_options": {"hdfeos.dimensions": "phony"}}, {"aggregation": "keep"}):
        found = dimensions_of(path, **options)
        with netcdf4.Dataset(path) as file:
            group = file["HDFEOS/SWATHS/O3/Data Fields"]
            folder = f"{O3}/Data\\ Fields"
            assert found[VALUE] == tuple(f"{folder}/{name}" for name in group["L2gpValue"].dimensions)
    ran = run_command("info", str(path), "--storage-option", "hdfeos.dimensions=none")
    assert ran.status != 0
    assert "must be `named` or `phony`, not 'none'" in ran.err


def test_a_dimension_is_unlimited_only_where_all_fields_grow(make: Maker, tmp_path: Path) -> None:
    count = "HDFEOS/SWATHS/O3/Data Fields/Count"
    path = make({**SWATH_FIELDS, count: np.arange(4, dtype="i4")}, SWATH, grows=count)
    ran = run_command("convert", str(path), str(tmp_path / "copy.nc"))  # chunks of 100 would not fit 4 cells
    assert ran.status == 0, ran.err
    assert f"note[adapted-form]: `{O3}/nTimes` is a fixed dimension, although some fields can grow" in ran.err
    alone = make({count: np.arange(4, dtype="i4")}, SWATH, grows=count)
    assert nczarr.open(alone).checked.dimensions[f"{O3}/nTimes"].unlimited


@pytest.mark.parametrize("form", ["netcdf4", "zarr3", "zarr2", "nczarr"])
def test_copies_keep_the_names(make: Maker, form: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    xarray, target = peer("xarray"), tmp_path / "copy.nc"
    ran = run_command("convert", str(make(SWATH_FIELDS, SWATH)), str(target), "--to", form, "--verify")
    assert ran.status == 0, ran.err
    engine = {"netcdf4": "h5netcdf", "zarr3": "zarr", "zarr2": "zarr", "nczarr": "nczarr"}[form]
    with xarray.open_dataset(target, group="HDFEOS/SWATHS/O3/Data Fields", engine=engine) as dataset:
        assert dataset.L2gpValue.dims == ("nTimes", "nLevels")
        np.testing.assert_array_equal(dataset.L2gpValue, np.arange(12, dtype="f4").reshape(4, 3))


def test_own_scales_stay(tmp_path: Path, make: Maker, peer: Callable[[str], ModuleType]) -> None:
    """Files that were augmented for netCDF have dimensions with names of their own."""
    h5py, path = peer("h5py"), make(SWATH_FIELDS, SWATH)
    with h5py.File(path, "r+") as file:
        scale = file.create_dataset("HDFEOS/SWATHS/O3/height", data=np.arange(3.0))
        scale.make_scale("height")
        file["HDFEOS/SWATHS/O3/Geolocation Fields/Pressure"].dims[0].attach_scale(scale)
    found = dimensions_of(path)
    assert found[f"{O3}/Geolocation\\ Fields/Pressure"] == (f"{O3}/height",)
    assert found[VALUE] == (f"{O3}/nTimes", f"{O3}/nLevels")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "END",
        "END_GROUP=x\nGROUP=SwathStructure\nDimList=(",
        SWATH.replace('"nTimes"', '"a/b"'),
        SWATH.replace('"nTimes"', '"Data Fields"'),
        SWATH.replace("Size=4", "Size=" + "9" * 40),
        SWATH.replace('SwathName="O3"', 'SwathName=""'),
    ],
)
def test_odd_texts_leave_a_dataset_that_reads(make: Maker, text: str) -> None:
    dataset = nczarr.open(make(SWATH_FIELDS, text))
    np.testing.assert_array_equal(dataset[VALUE][...], np.arange(12, dtype="f4").reshape(4, 3))


def test_structures_of_a_text() -> None:
    [swath] = read_structures(SWATH)
    assert swath.path == ("HDFEOS", "SWATHS", "O3")
    assert swath.lengths == {"nTimes": 4, "nLevels": 3, "IndxTrack": 2, "Unlim": -1}
    assert [field.names for field in swath.fields] == [("nLevels",), ("nTimes",), ("nTimes", "nLevels"), ("nTimes",)]
    assert [structure.path[-1] for structure in read_structures(GRID)] == ["Polar Grid", "Buoys", "ZA1"]
