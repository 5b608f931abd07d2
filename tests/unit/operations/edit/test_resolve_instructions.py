"""Instructions of an edit that contradict each other or the dataset."""

import pytest

import nczarr

TEXT = "netcdf a { dimensions: x = 2 ; variables: int temp(x) ; temp:u = 1 ; float two(x) ; }"


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
    ],
)
def test_a_refused_edit(instructions, message: str, tmp_path) -> None:
    path = tmp_path / "a.zarr"
    nczarr.convert(nczarr.from_cdl(TEXT), path, "nczarr3")
    before = {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.edit(path, **instructions)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["bad-edit"]
    assert message in str(caught.value)
    assert {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_a_dimension_goes_with_its_variables(tmp_path) -> None:
    path = tmp_path / "a.zarr"
    nczarr.convert(nczarr.from_cdl(TEXT), path, "nczarr3")
    nczarr.edit(path, delete=["dim:/x", "/temp", "/two"])
    assert nczarr.open(path).checked.dimensions == {}
