"""Instructions of an edit that contradict each other or the dataset."""

import pytest

import nczarr

TEXT = "netcdf a { dimensions: x = 2 ; variables: int temp(x) ; temp:u = 1 ; float two(x) ; group: g { } }"


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        (
            {"delete": ["/temp"], "rename": {"/two": "temp"}},
            "`/temp` is removed, and its name given to another variable",
        ),
        ({"delete": ["dim:/x"]}, "dimension `/x` cannot be removed: `/temp`, `/two` use it"),
        ({"delete": ["dim:/x", "/temp"]}, "dimension `/x` cannot be removed: `/two` uses it"),
        ({"delete": ["/temp"], "rename": {"/temp": "b"}}, "`/temp` is renamed and removed"),
        ({"rename": {"/temp": "two"}}, "`/temp` cannot be renamed to `two`, which variable `/two` has after the edit"),
        ({"rename": {"dim:/x": "g"}}, "`/x` cannot be renamed to `g`, which group `/g` has after the edit"),
        ({"rename": {"/temp": "x2", "/g": "x2"}}, "which group `/g` has after the edit"),
    ],
)
def test_a_refused_edit(instructions, message: str, tmp_path) -> None:
    path = tmp_path / "a.zarr"
    nczarr.convert(nczarr.from_cdl(TEXT), path, "nczarr3")
    before = {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.edit(path, **instructions)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"bad-edit"}
    assert message in str(caught.value)
    assert {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_two_variables_exchange_their_names(tmp_path) -> None:
    path = tmp_path / "a.nc"
    nczarr.convert(nczarr.from_cdl(TEXT), path, "netcdf4")
    nczarr.edit(path, rename={"/temp": "two", "/two": "temp"})
    types = {fqn: variable.type for fqn, variable in nczarr.open(path).checked.variables.items()}
    assert types == {"/two": "int", "/temp": "float"}


def test_a_dimension_goes_with_its_variables(tmp_path) -> None:
    path = tmp_path / "a.zarr"
    nczarr.convert(nczarr.from_cdl(TEXT), path, "nczarr3")
    nczarr.edit(path, delete=["dim:/x", "/temp", "/two"])
    assert nczarr.open(path).checked.dimensions == {}
