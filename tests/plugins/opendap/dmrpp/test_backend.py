"""Documents that are written: they are read back as the same dataset, and name their targets as asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import run_command

CDL = """netcdf t {
types:
  byte enum colour { red = 1, blue = 2 } ;
  compound point { int x ; double y(2) ; } ;
  compound named { short n ; string s(2) ; } ;
dimensions:
  time = unlimited ;
  x = 3 ;
variables:
  float t(time, x) ;
    t:_FillValue = -9.f ;
    t:units = "K" ;
    t:_ChunkSizes = 2, 2 ;
    t:_DeflateLevel = 4 ;
    t:_Shuffle = "true" ;
    t:_Fletcher32 = "true" ;
  double x(x) ;
  int big(x) ;
    big:_Endianness = "big" ;
  short scalar ;
  char letters(x) ;
  char letter ;
  string words(x) ;
  colour c(x) ;
    colour c:flag = blue ;
  point p(x) ;
  named m(x) ;
  uint64 never(x) ;
:title = "a < b & \\"c\\"", "two" ;
:one = "" ;
string :s = "only" ;
:n = NaN, Infinity ;
:bytes = "caf\\xe9" ;
data:
  t = 1, 2, 3, 4, 5, _, 7, 8, 9 ;
  x = 0.5, 1.5, 2.5 ;
  big = 1, 2, 3 ;
  scalar = -4 ;
  letters = "a\\x01z" ;
  letter = "q" ;
  words = "one", "", "a\\x02" ;
  c = red, blue, red ;
  p = {1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}} ;
  m = {1, {"a", "b"}}, {2, {"", "c"}}, {3, {"d", "e;"}} ;
group: g {
  variables:
    int64 v(x) ;
  data:
    v = 1, 2, 3 ;
}
}
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A netCDF-4 file and the document of it."""
    netcdf(tmp_path / "t.nc")
    ran = run_command("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.nc.dmrpp"))
    assert (ran.status, [line for line in ran.err.splitlines() if "error" in line]) == (0, [])
    return tmp_path / "t.nc.dmrpp"


def netcdf(path: Path, cdl: str = CDL) -> Path:
    """Write a netCDF-4 file."""
    ran = run_command("compile", "-", "-o", str(path), "-k", "nc4", stdin=cdl.encode("latin-1"))
    assert ran.status == 0, ran.err
    return path


def differences(one: Path, other: Path) -> list[str]:
    """Return the lines of `nczarr diff`."""
    ran = run_command("diff", str(one), str(other))
    assert ran.status in (0, 1), ran.err
    return ran.text.splitlines()


def test_the_same_dataset_is_read_back(written: Path) -> None:
    assert not differences(written.with_suffix(""), written)


def test_documents_are_verified(tmp_path: Path) -> None:
    netcdf(tmp_path / "t.nc")
    ran = run_command("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.dmrpp"), "--verify")
    assert ran.status == 0, ran.err


def test_a_document_becomes_a_file_again(written: Path) -> None:
    again = written.parent / "again.nc"
    assert run_command("convert", str(written), str(again)).status == 0
    assert not differences(written.with_suffix(""), again)


def test_a_document_becomes_references(written: Path) -> None:
    again = written.parent / "again.json"
    assert run_command("convert", str(written), str(again), "--allow-loss", "all", "--inline", "0").status == 0
    assert b'"t/0.0":["file://' in again.read_bytes()
    assert not [each for each in differences(written, again) if each.startswith("/t ")]


def test_the_same_input_gives_the_same_bytes(written: Path) -> None:
    first = written.read_bytes()
    assert run_command("convert", str(written.with_suffix("")), str(written), "--overwrite").status == 0
    assert written.read_bytes() == first


def test_names_of_targets(written: Path) -> None:
    source = written.with_suffix("")
    other = written.parent / "documents" / "a.dmrpp"
    other.parent.mkdir()
    assert b'dmrpp:href="t.nc"' in written.read_bytes()
    assert run_command("convert", str(source), str(other)).status == 0
    assert f'dmrpp:href="file://{source}"'.encode() in other.read_bytes()
    assert run_command("convert", str(source), str(other), "--relative", "--overwrite").status == 0
    assert b'dmrpp:href="../t.nc"' in other.read_bytes()
    assert run_command("convert", str(source), str(other), "--base", "s3://b/d", "--overwrite").status == 0
    assert b'dmrpp:href="s3://b/d/t.nc"' in other.read_bytes()


def test_a_dataset_without_a_file_stands_in_the_document(tmp_path: Path) -> None:
    ran = run_command("compile", "-", "-o", str(tmp_path / "t.dmrpp"), stdin=CDL.encode("latin-1"))
    assert ran.status == 0, ran.err
    assert b"dmrpp:href" not in (tmp_path / "t.dmrpp").read_bytes()
    found = differences(netcdf(tmp_path / "t.nc"), tmp_path / "t.dmrpp")
    assert all("storage" in line or "kind" in line for line in found), found


def test_values_that_the_document_cannot_tell(tmp_path: Path) -> None:
    lists = "netcdf t { types: int(*) l ; opaque(2) o ; variables: l v ; o w ; int k ; "
    lists += "data: v = {1} ; w = 0X0102 ; k = 5 ; }"
    netcdf(tmp_path / "t.nc", lists)
    ran = run_command("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.dmrpp"))
    assert ran.status == 1
    assert ran.err.count("error[unreferable-variable]") == 2
    call = ("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.dmrpp"), "--allow-loss", "unreferable-variable")
    assert run_command(*call).status == 0
    assert "int k ;" in run_command("dump", str(tmp_path / "t.dmrpp")).text


def test_values_that_are_too_many_for_the_document(tmp_path: Path) -> None:
    netcdf(tmp_path / "t.nc")
    ran = run_command("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.dmrpp"), "--embed", "4")
    assert ran.status == 1
    assert "`/words` has no byte ranges" in ran.err


def test_targets_are_hdf5_files(tmp_path: Path) -> None:
    text = b"netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"
    assert run_command("compile", "-", "-o", str(tmp_path / "t.nc"), "-k", "nc3", stdin=text).status == 0
    assert run_command("convert", str(tmp_path / "t.nc"), str(tmp_path / "t.nc.dmrpp")).status == 0
    assert b"dmrpp:missingdata" in (tmp_path / "t.nc.dmrpp").read_bytes()
    assert not differences(tmp_path / "t.nc", tmp_path / "t.nc.dmrpp")


def test_maps_are_variables_of_the_document(tmp_path: Path) -> None:
    """A coordinate variable that is left out is no map."""
    cdl = "netcdf t { types: int(*) row ; dimensions: x = 2 ; y = 1 ; variables: row x(x) ; int y(y) ; int v(y, x) ; }"
    (tmp_path / "t.cdl").write_text(cdl)
    target = tmp_path / "t.dmrpp"
    ran = run_command("convert", str(tmp_path / "t.cdl"), str(target), "--allow-loss", "all")
    assert ran.status == 0, ran.err
    lines = [line.strip() for line in target.read_text().splitlines()]
    assert [line for line in lines if line.startswith("<Map")] == ['<Map name="/y"/>']
