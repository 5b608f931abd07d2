"""Programs in Fortran compile as Fortran 2008 without warnings, run, and write what `compile` writes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.plugins.generate.fortran import number, text
from tests.conftest import missing_peer
from tests.support.generated import HOSTILE, find_sample, run, write_files

pytestmark = pytest.mark.peer

FLAGS = ("-std=f2008", "-Wall", "-Wextra", "-Werror", "-I/usr/include")

NUMBERS = """netcdf module { dimensions: x = 2 ; time = UNLIMITED ; Time = 3 ;
variables: ubyte ub(x) ; ub:_FillValue = 255ub ; ushort us(x) ; uint ui(x) ; ui:u = 4294967295U, 0U ; uint64 ul ;
  byte b(x) ; float f(x) ; f:edges = NaNf, -Infinityf, -0.f, 1.e-45f ; double d(x) ; d:a = -1. ; int64 l(x) ;
  l:m = -9223372036854775808LL ; char c ; char w(Time) ; w:t = "a\\303\\251\\000\\000\\000bb\\200  end" ; int my_int32 ;
  char cc(x, Time, x) ; double g(time) ; int none(Time) ; float e(x) ; g:_ChunkSizes = 2 ; g:_DeflateLevel = 3 ;
  short very_long_name_very_long_name_very_long_name_very_long_name_very_long_name ;
  int very_long_name_very_long_name_very_long_name_very_long_name_very_long_name2 ; short s(x) ; s:_NoFill = "true" ;
  s:_Endianness = "big" ; s:_Storage = "contiguous" ;
data: ub = 0, 255 ; us = 65535, 1 ; ui = 4294967295, 7 ; ul = 9223372036854775807 ; b = -128, 127 ; f = NaNf, 1.e-40 ;
  d = 4.9e-324, 1.7976931348623157e308 ; l = -9223372036854775808, 1 ; c = "x" ; w = "a\\"b" ; g = 1, 2 ; e = -0.f,
  Infinityf ; cc = "ab", "cd", "e", "", "gh", "ij" ; my_int32 = -2147483648 ; s = 1, 2 ;
  very_long_name_very_long_name_very_long_name_very_long_name_very_long_name = -32768 ;
}"""


def write_dataset(schema: nczarr.DatasetHandle, folder: Path, tool: Callable[[str], str]) -> Path | None:
    """Compile and run the program of a schema; return the file, or None where a filter is missing."""
    compiler = tool("gfortran")
    if not Path("/usr/include/netcdf.mod").exists():
        missing_peer("libnetcdff-dev")
    sources = write_files(nczarr.generate("fortran", schema), folder)
    run(compiler, *FLAGS, "-o", "program", *(path.name for path in sources), "-lnetcdff", cwd=folder)
    done = subprocess.run([folder / "program", folder / "a.nc"], capture_output=True, text=True, check=False)
    if "undefined filter" in done.stdout:
        assert any(variable.storage.codecs for variable in schema.dataset.variables)
        return None
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "a.nc"


@pytest.mark.parametrize(
    "source",
    [
        find_sample("01").read_text("utf-8"),
        pytest.param(NUMBERS, marks=pytest.mark.long),
        pytest.param(HOSTILE, marks=pytest.mark.long),
        *(
            pytest.param(find_sample(one).read_text("utf-8"), marks=pytest.mark.long)
            for one in ("02", "04", "07", "08")
        ),
    ],
)
def test_files_of_fortran(source: str, tmp_path: Path, tool: Callable[[str], str]) -> None:
    schema = nczarr.from_cdl(source)
    made = write_dataset(schema, tmp_path, tool)
    assert made is None or nczarr.diff(schema, made) == []
    assert made is None or nczarr.digest(schema) == nczarr.digest(made)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nc3", "nc5", "nc6", "nc7"])
def test_kinds_of_file(kind: str, tmp_path: Path, tool: Callable[[str], str]) -> None:
    schema = nczarr.from_cdl(find_sample("01").read_text("utf-8"), kind=kind)
    made = write_dataset(schema, tmp_path, tool)
    assert made is not None
    assert nczarr.open(made).dataset.kind == kind
    assert nczarr.digest(schema) == nczarr.digest(made)


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (-128, "int8", "-127_int8 - 1_int8"),
        (0.1, "real32", "0.1_real32"),
        (1e30, "real64", "1e+30_real64"),
        (float("nan"), "real64", "transfer(9221120237041090560_int64, 0.0_real64)"),
        (-0.0, "real32", "transfer(-2147483647_int32 - 1_int32, 0.0_real32)"),
    ],
)
def test_numbers_of_fortran(value: float, kind: str, wanted: str) -> None:
    assert number(value, kind) == wanted


def test_texts_of_fortran_have_short_lines_and_no_control_characters() -> None:
    assert text(b'a"\\\n\0&!') == '"a""\\" // char(10) // char(0) // "&!"'
    assert text("") == '""'
    assert max(map(len, text("word " * 500).split("\n"))) <= 110
