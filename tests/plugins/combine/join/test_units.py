"""Values of sources in several units are converted exactly, or refused by name."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.api.handle import DatasetHandle
from nczarr.plugins.cf.udunits import find_conversion
from tests.conftest import run_command

cf_units = pytest.importorskip("cf_units")

TEXT = """netcdf s {{ dimensions: t = UNLIMITED ; n = 2 ;
variables: double t(t) ; {type} v(t) ; v:units = "{units}" ; {more} data: t = {t} ; v = {v} ; {values} }}"""


def source(
    units: str, t: list[float], v: list[Any], kind: str = "float", more: str = "", values: str = ""
) -> DatasetHandle:
    """A source with a variable in some units."""
    both = (", ".join(map(str, row)) for row in (t, v))
    return nczarr.from_cdl(TEXT.format(type=kind, units=units, t=next(both), v=next(both), more=more, values=values))


def join(*sources: DatasetHandle, units: str = "majority", **options: Any) -> DatasetHandle:
    return nczarr.combine(sources, along="t", units=units, **options)


def refused(*sources: DatasetHandle, **options: Any) -> list[str]:
    with pytest.raises(nczarr.CompileError) as caught:
        join(*sources, **options)
    return [f"{one.code}: {one.message}" for one in caught.value.diagnostics if one.severity == "error"]


PAIRS = [
    *("degC K", "K degC", "degF K", "degC degF", "m cm", "km m", "hPa Pa", "mbar hPa", "kg m-2 s-1|mm day-1", "ft m"),
    *("mg m-3|kg m-3", "knot m s-1", "percent 1", "degrees radian", "g/kg kg/kg", "degR K", "inch mm"),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_conversions_are_those_of_udunits(pair: str) -> None:
    one, other = pair.split("|") if "|" in pair else pair.split(" ", 1)
    found = find_conversion(one, other)
    theirs = cf_units.Unit(one).convert(np.array([0.0, 1.0, -40.0, 1e5]), cf_units.Unit(other)) if found else None
    if found is None:
        assert not cf_units.Unit(one).is_convertible(other)
        return
    ours = [float(found.apply(number)) for number in (0.0, 1.0, -40.0, 1e5)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-10)


def test_fractions_are_exact() -> None:
    assert find_conversion("degF", "K") == (Fraction(5, 9), Fraction(45967, 180))
    assert find_conversion("degC", "degF") == (Fraction(9, 5), 32)
    assert find_conversion("degC", "K") == (1, Fraction(27315, 100))
    assert find_conversion("nm", "km") == (Fraction(1, 10**12), 0)
    assert find_conversion("K", "m") is None
    assert find_conversion("dBZ", "mm6 m-3") is None
    assert find_conversion("days since 2000-01-01", "hours since 2000-01-01") is None


def test_floats_are_converted_and_missing_cells_stay(tmp_path: Path) -> None:
    fill = "v:_FillValue = -999.f ;"
    made = join(
        source("K", [0, 1], [280.5, "_"], more=fill),
        source("degC", [2, 3], [20.1, "_"], more=fill),
        source("K", [4], [281], more=fill),
    )
    expected = np.array([280.5, -999, np.float32(np.float64(np.float32(20.1)) + 273.15), -999, 281], "f4")
    np.testing.assert_array_equal(made["v"][...], expected)
    assert made["v"].attributes["units"] == "K"
    (note,) = made.diagnostics
    assert (note.code, note.notes[0].partition(", in")[0]) == ("converted-units", "`/v`: degC becomes K, × 1 + 273.15")


def test_other_units_than_those_of_any_source() -> None:
    made = join(source("K", [0], [273.15], "double"), source("degC", [1], [100], "double"), units="degF")
    np.testing.assert_allclose(made["v"][...], [32, 212], rtol=1e-14)


def test_packed_numbers_stay_and_their_offset_changes(tmp_path: Path) -> None:
    packing = "v:scale_factor = 0.01 ; v:add_offset = {} ; v:_FillValue = -1s ; v:valid_max = 9000s ;"
    paths = []
    for number, (units, offset) in enumerate((("K", 273.15), ("degC", 0.0), ("K", 273.15))):
        handle = source(units, [2 * number, 2 * number + 1], [100 + number, "_"], "short", packing.format(offset))
        paths.append(tmp_path / f"{number}.nc")
        nczarr.write(handle, paths[-1])
    nczarr.combine(paths, tmp_path / "all.json", along="t", units="majority", writing=nczarr.refs.Writing(inline=0))
    with nczarr.open(tmp_path / "all.json") as joined:
        assert joined["v"][...].tolist() == [100, -1, 101, -1, 102, -1]
        assert joined["v"].attributes["add_offset"] == 273.15
    assert '"v/' in (tmp_path / "all.json").read_text()
    nczarr.combine(paths, tmp_path / "c.nc", along="t", units="degC")
    assert nczarr.open(tmp_path / "c.nc")["v"].attributes["add_offset"] == 0.0
    target = str(tmp_path / "f.zarr")
    done = run_command("combine", *map(str, paths), target, "--along", "t", "--units", "degF", "--repack")
    assert done.status == 0, done.err
    with nczarr.open(target) as joined:
        scale, offset = (joined["v"].attributes[name] for name in ("scale_factor", "add_offset"))
        np.testing.assert_allclose(joined["v"][::2] * scale + offset, np.array([1, 1.01, 1.02]) * 1.8 + 32, rtol=1e-12)


def test_integers_are_exact_or_refused_by_name() -> None:
    assert join(source("cm", [0], [500], "int"), source("m", [1], [3], "int"))["v"][...].tolist() == [500, 300]
    assert refused(source("K", [0], [280], "int"), source("degC", [1], [20], "int")) == [
        "inexact-units: 20 of `/v` in `s` is no int in `K` (× 1 + 273.15), or the mark of missing values"
    ]
    made = join(source("K", [0], [280.5], "double"), source("degC", [1, 2], [20, "_"], "int", "v:_FillValue = -9 ;"))
    np.testing.assert_array_equal(made["v"][...], [280.5, 293.15, np.nan])
    assert refused(source("m", [0], [1], "byte"), source("km", [1], [1], "byte"))[0].startswith("inexact-units: ")


def test_a_value_that_becomes_the_mark_of_missing_ones_is_refused() -> None:
    fill = "v:_FillValue = 273.15 ;"
    (message,) = refused(source("K", [0], [1], "double", fill), source("degC", [1], [0], "double", fill))
    assert message.startswith("inexact-units: ")


def test_coordinates_bounds_and_limits_are_converted() -> None:
    more = (
        'double t_b(t, n) ; t:units = "{0}" ; t:bounds = "t_b" ; v:valid_range = {1}.f, {2}.f ; t:actual_range = {3} ;'
    )
    one = source("K", [1, 2], [1, 2], more=more.format("m", 0, 300, "1., 2."), values="t_b = 0, 1, 1, 2 ;")
    other = source("mK", [300], [5000], more=more.format("cm", 0, 300000, "300., 300."), values="t_b = 200, 300 ;")
    made = join(one, other)
    assert made["t"][...].tolist() == [1, 2, 3]
    assert made["t_b"][...].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert made["v"][...].tolist() == [1, 2, 5]


def test_differences_of_temperatures_have_no_offset() -> None:
    for more in ('v:cell_methods = "t: standard_deviation" ;', 'v:units_metadata = "temperature: difference" ;'):
        made = join(source("K", [0], [1], more=more), source("degC", [1], [2], more=more))
        assert made["v"][...].tolist() == [1, 2]


def test_the_units_of_most_sources_and_spellings() -> None:
    made = join(
        source("degC", [0], [1]), source("celsius", [1], [2]), source("K", [2], [273.15]), source("K", [3], [274])
    )
    assert made["v"].attributes["units"] == "K"
    assert join(source("degC", [0], [1]), source("celsius", [1], [2]))["v"][...].tolist() == [1, 2]


def test_units_that_do_not_convert_are_refused_as_before() -> None:
    (message,) = refused(source("K", [0], [1]), source("m", [1], [2]))
    assert message.startswith("unequal-sources: attribute `units` of `/v` differs")
    assert refused(source("K", [0], [1]), source("m", [1], [2]), units="s")[0].startswith(
        "inexact-units: no variable has"
    )


@pytest.mark.parametrize("form", ["zarr3", "netcdf4"])
def test_append_converts_to_the_units_of_the_target(form: str, tmp_path: Path) -> None:
    target = tmp_path / "t"
    nczarr.write(source("K", [0, 1], [280, 281]), target, form)
    with pytest.raises(nczarr.CompileError, match="`units` of `/v` differs"):
        nczarr.append(source("degC", [2], [20]), target, along="t")
    done = nczarr.append(
        [source("degC", [2], [20]), source("degC", [3], [30])], target, along="t", units="majority", verify=True
    )
    assert "converted-units" in {one.code for one in done.diagnostics}
    assert nczarr.open(target)["v"][...].tolist() == [280, 281, 293.1499938964844, 303.1499938964844]
