"""netCDF-4 files read: trees, values of every type, in pieces; and what is no such file."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import nczarr
from nczarr.arrays.values.parts import parts
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.stores.open import open_source
from tests.conftest import run_command
from tests.support.peers.read_library import bits

RICH = """netcdf rich {
types:
  byte enum sky { clear = 0, cloudy = 1 } ;
  opaque(3) key ;
  int(*) row ;
  string(*) texts ;
  compound place { double lat ; byte flag ; } ;
  compound entry { place at(2) ; string note ; row path ; } ;
  entry(*) log ;
dimensions:
  t = UNLIMITED ; x = 2 ; y = 3 ;
variables:
  short v(t, x, y) ;
    v:_FillValue = -1s ;
    v:_Endianness = "big" ;
  sky s(x) ;
  key k(x) ;
  row r(x, y) ;
  texts n(y) ;
  entry e(x) ;
  log l(t) ;
  string w(x, y) ;
  char c(x, y) ;
  int alone ;
  place :here = {1.5, 2} ;
  log :trip = {{{{1, 2}, {3, 4}}, "a", {5}}}, {} ;
  string :names = "a", NIL, "" ;
  :empty = "" ;
data:
  v = 1, 2, 3, 4, 5, 6, 7, _, 9, 10, 11, 12 ;
  s = cloudy, clear ;
  k = 0X010203, 0XFFFEFD ;
  r = {1}, {}, {2, 3}, {4, 5, 6}, {}, {7} ;
  n = {"a", NIL}, {}, {"bc"} ;
  e = {{{1, 2}, {3, 4}}, "one", {1, 2}}, {{{5, 6}, {7, 8}}, NIL, {}} ;
  l = {}, {{{{1, 2}, {3, 4}}, "p", {1}}, {{{5, 6}, {7, 8}}, "q", {2, 3}}} ;
  w = "1", "2", "", NIL, "é", "6" ;
  c = "abc", "de" ;
  alone = 42 ;
group: g {
  dimensions: x = 5 ;
  variables: float x(x) ; double y(/x, x) ;
  data: x = 1, 2, 3, 4, 5 ;
}
}
"""


@pytest.fixture
def rich(tmp_path: Path, peer: Callable[[str], ModuleType]) -> Path:
    peer("netCDF4")
    nczarr.write(nczarr.from_cdl(RICH), tmp_path / "rich.nc", "netcdf4")
    return tmp_path / "rich.nc"


def test_the_tree_is_the_one_that_was_written(rich: Path) -> None:
    text, file = nczarr.from_cdl(RICH).dataset, nczarr.open(rich).dataset
    assert file.kind == "nc4"
    assert (file.types, file.dimensions, file.attributes) == (text.types, text.dimensions, text.attributes)
    for mine, theirs in zip(file.variables, text.variables, strict=True):
        assert (mine.name, mine.type, mine.dimensions) == (theirs.name, theirs.type, theirs.dimensions)
        assert mine.attributes == theirs.attributes
    assert [group.name for group in file.groups] == ["g"]
    assert file.variables[0].storage.endian == "big"
    assert file.variables[0].storage.chunks == (1, 2, 3)


def test_every_value_in_one_piece_and_in_many(rich: Path) -> None:
    text, file = nczarr.from_cdl(RICH).checked, nczarr.open(rich).checked
    for fqn, given in text.parts.items():
        if fqn == "/g/y":
            continue
        assert set(given) == set(file.parts[fqn])
        for part, source in file.parts[fqn].items():
            shape = source.layout.shape
            whole = given[part].read(tuple(slice(0, length) for length in shape))
            assert bits(source.read(tuple(slice(0, length) for length in shape))) == bits(whole), (fqn, part)
            again = pickle.loads(pickle.dumps(source))
            for place in range(shape[0] if shape else 0):
                region = (slice(place, place + 1), *(slice(0, max(1, length - 1)) for length in shape[1:]))
                assert bits(again.read(region)) == bits(whole[region]), (fqn, part, place)


def test_parts_are_those_of_the_type(rich: Path) -> None:
    checked = nczarr.open(rich).checked
    for fqn, variable in checked.variables.items():
        wanted = parts(variable.type, checked.shapes[fqn], checked.types)
        assert list(checked.parts[fqn]) == [part.path for part in wanted]


def test_values_by_index(rich: Path) -> None:
    with nczarr.open(rich) as ds:
        assert ds["/v"][-1, 0].tolist() == [7, -1, 9]
        assert ds["/l"][1][1]["note"] == "q"
        assert ds["/alone"][()] == 42
        assert ds["/w"][1, 0] is None


def test_dump_check_and_compile_take_it(rich: Path, tmp_path: Path) -> None:
    dumped = run_command("dump", str(rich), "-s")
    assert dumped.status == 0
    again = nczarr.from_cdl(dumped.text)
    assert again.dataset.variables[0].storage == nczarr.open(rich).dataset.variables[0].storage
    assert again["/r"][1, 0].tolist() == [4, 5, 6]
    assert run_command("check", str(rich)).status == 0
    assert run_command("check", str(rich), "--kind", "nc3").status == 1
    assert run_command("compile", str(rich), "-o", str(tmp_path / "rich.zarr")).status == 0
    assert run_command("dump", str(rich), "--as", "tree").status == 0


@pytest.mark.slow
def test_a_copy_is_exact(rich: Path, tmp_path: Path, shared: Path) -> None:
    assert run_command("compile", str(rich), "-o", str(tmp_path / "copy.nc")).status == 0
    tool = shared / "tools" / "nc-same"
    command = [sys.executable, str(tool), str(rich), str(tmp_path / "copy.nc")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("content", [b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(1000)])
def test_a_damaged_file_is_a_diagnostic(content: bytes, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("netCDF4")
    (tmp_path / "t.nc").write_bytes(content)
    with pytest.raises(CompileError) as error:
        nczarr.open(tmp_path / "t.nc")
    assert [found.code for found in error.value.diagnostics] == ["unreadable-file"]


def test_a_file_that_changes_is_opened_again(rich: Path, tmp_path: Path) -> None:
    assert nczarr.open(rich)["/alone"][()] == 42
    nczarr.write(nczarr.from_cdl(RICH.replace("alone = 42", "alone = 43")), rich, "netcdf4", overwrite=True)
    report = Report()
    checked = phases.read(open_source(str(rich)), report, Options())
    assert checked is not None
    assert checked.parts["/alone"][""].read(()) == 43


@pytest.mark.slow
def test_a_variable_shorter_than_its_dimensions(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """Fill lies behind what was written, in every direction; libnetcdf itself mixes up the rows."""
    netcdf = peer("netCDF4")
    path = tmp_path / "t.nc"
    with netcdf.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("u", None)
        for name, kind in (("v", "i4"), ("w", "f8"), ("s", str)):
            file.createVariable(name, kind, ("t", "u"))
        file.createVariable("f", "i2", ("t", "u"), fill_value=-7)
        file["v"][0:3, 0:1] = [[1], [2], [3]]
        file["f"][0:1, 0:2] = [[4, 5]]
        file["w"][0:2, 0:3] = [[1, 2, 3], [4, 5, 6]]
        file["s"][0, 0] = "a"
    with nczarr.open(path) as ds:
        empty = -2147483647
        assert ds["/v"][...].tolist() == [[1, empty, empty], [2, empty, empty], [3, empty, empty]]
        assert ds["/f"][...].tolist() == [[4, 5, -7], [-7, -7, -7], [-7, -7, -7]]
        assert ds["/w"][2].tolist() == [9.969209968386869e36] * 3
        assert ds["/w"][:2].tolist() == [[1, 2, 3], [4, 5, 6]]
        assert ds["/s"][...].tolist() == [["a", "", ""], ["", "", ""], ["", "", ""]]
        assert ds["/v"][2, 1:].tolist() == [empty, empty]


def test_a_header_is_read_without_numpy(tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    """The records that refer from a dimension scale to its variables are not decoded."""
    path = tmp_path / "t.nc"
    with peer("netCDF4").Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("x", "f8", ("x",))[:] = [1, 2, 3]
        file.createVariable("v", "i2", ("x",), zlib=True, fill_value=-1).units = "m"
    code = "import sys; from nczarr.__main__ import main; status = main(['dump', '-h', sys.argv[1]]); "
    code += "print(sorted({'numpy', 'pydantic', 'netCDF4'} & set(sys.modules))); sys.exit(status)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr
