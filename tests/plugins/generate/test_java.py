"""Programs in Java compile without warnings; those for files of the classic model run, and write what `compile` writes.

The release of netCDF-Java that registries of packages have is a part of Bio-Formats, without its way to libnetcdf:
programs for netCDF-4 are compiled only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.plugins.generate.java import number, text
from tests.conftest import missing_peer
from tests.support.generated import HOSTILE, find_sample, run, write_files
from tests.support.netcdf_java import find_jar

pytestmark = pytest.mark.peer

NUMBERS = """netcdf class { dimensions: x = 2 ; time = UNLIMITED ; w = 5000 ;
variables: byte b(x) ; float f(x) ; f:edges = NaNf, -Infinityf, -0.f, 1.e-45f ; double d(x) ; d:a = -1. ; int i ;
  char c ; char cc(x, x, x) ; char tt(time, x) ; double g(time, x) ; int none(w) ; float e(x) ; short s(w) ;
  s:_FillValue = -1s ; byte \\int, Int ; \\int:t = "a\\303\\251  " ; int late(time) ; :n = 1b, -128b ;
data: b = -128, 127 ; f = NaNf, 1.e-40 ; d = 4.9e-324, 1.7976931348623157e308 ; c = "x" ; cc = "ab", "cd", "e", "" ;
  g = 1, 2, 3, 4 ; i = -2147483648 ; e = -0.f, Infinityf ; tt = "ab", "cd" ; s = 1, 2, 3 ; late = 5 ;
  \\int = 1 ; Int = 2 ;
}"""

BLANKS = {r"\>\ end": r"\>end", r"\}\ ": r"\}", r"größe\ ": "größe", r"end\ ": "end"}
CLASSIC = "\n".join(line for line in HOSTILE.split("\n") if not line.startswith("group"))
for before, after in BLANKS.items():
    CLASSIC = CLASSIC.replace(before, after)
"""Hostile names and texts that files of the classic model hold, without blanks in names."""


@pytest.fixture(scope="module")
def jar() -> Path:
    """The library."""
    found = find_jar()
    if found is None:  # a machine may have no way to the registry
        missing_peer("netCDF-Java")
    assert found is not None
    return found


def compile_class(schema: nczarr.DatasetHandle, folder: Path, jar: Path, tool: Callable[[str], str]) -> str:
    """Compile the program of a schema; return the name of its class."""
    [source] = write_files(nczarr.generate("java", schema), folder)
    run(tool("javac"), "-Xlint:all", "-Werror", "-proc:none", "-implicit:none", "-cp", jar, source.name, cwd=folder)
    return source.stem


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "kind"),
    [(find_sample("01").read_text("utf-8"), None), (NUMBERS, None), (NUMBERS, "nc6"), (CLASSIC, "nc3")],
    ids=["station", "numbers", "large", "hostile"],
)
def test_files_of_java(source: str, kind: str | None, tmp_path: Path, jar: Path, tool: Callable[[str], str]) -> None:
    schema = nczarr.from_cdl(source, kind=kind)
    name = compile_class(schema, tmp_path, jar, tool)
    run(tool("java"), "-cp", f"{jar}:.", name, "a.nc", cwd=tmp_path)
    assert nczarr.diff(schema, tmp_path / "a.nc") == []
    assert nczarr.digest(schema) == nczarr.digest(tmp_path / "a.nc")
    assert nczarr.open(tmp_path / "a.nc").dataset.kind == (kind or "nc3")


@pytest.mark.long
@pytest.mark.parametrize("number_of_sample", ["02", "08"])
def test_programs_for_netcdf4_compile(
    number_of_sample: str, tmp_path: Path, jar: Path, tool: Callable[[str], str]
) -> None:
    schema = nczarr.open(find_sample(number_of_sample))
    name = compile_class(schema, tmp_path, jar, tool)
    assert "Version.netcdf4," in (tmp_path / f"{name}.java").read_text("utf-8")


@pytest.mark.parametrize(
    ("value", "type_name", "wanted"),
    [
        (255, "ubyte", "-1"),
        (2**64 - 1, "uint64", "-1L"),
        (-(2**63), "int64", "-9223372036854775808L"),
        (-0.0, "float", "-0.0f"),
    ],
)
def test_numbers_of_java(value: float, type_name: str, wanted: str) -> None:
    assert number(value, type_name) == wanted


def test_texts_of_java_have_no_escapes_of_their_own() -> None:
    assert text('a"\\u000a\n\0漢😀') == '"a\\"\\\\u000a\\012\\000\\u6f22\\ud83d\\ude00"'
