"""Programs of `nczarr generate` compile without warnings, run, and write what `compile` writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.ast import Attribute, Constant, Dataset, Dimension, EnumConstant, EnumType, Variable
from nczarr.plugins.generate.c import number, text
from nczarr.plugins.generate.model import UniqueIdentifiers
from tests.conftest import ROOT, Ran, missing_peer
from tests.support.generated import HOSTILE, SAMPLES, load_program

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

EVERYTHING = """netcdf d {
types:
  byte enum state { off = 0, on = 1 } ; opaque(3) key ; int(*) counts ;
  uint64 enum large { top = 18446744073709551615 } ;
  compound inner { state s ; short pair(2, 2) ; } ;
  compound outer { inner one ; counts many ; string name ; char code(3) ; key k ; } ;
dimensions: x = 2 ; time = UNLIMITED ; none = 0 ;
variables:
  outer o(x) ; counts c(x) ; key k ; state s(x) ; large l ; string names(x) ; char t(x, x) ; float nothing(none) ;
  double v(time, x) ; v:_FillValue = -1. ; v:_ChunkSizes = 1, 2 ; v:_DeflateLevel = 4 ; v:_Shuffle = "true" ;
  int64 big ; int \\double ; byte do ; float f(x) ; f:edges = NaNf, -Infinityf, -0.f, 1.e-45f ;
  state s:usual = on ; counts c:all = {1, 2}, {} ; string names:list = "a\\"\\\\??=", NIL, "\\303\\251" ; :empty = "" ;
  outer :one = { { off, { 1, 2, 3, 4 } }, { 5 }, "n", "abc", 0X010203 } ;
data:
  o = { { on, { 1, 2, 3, 4 } }, { 7, 8 }, "x", "abc", 0X000102 }, { { off, { 5, 6, 7, 8 } }, {}, NIL, "d", 0XFFFEFD } ;
  c = { 1, 2, 3 }, {} ; k = 0XAABBCC ; s = on, off ; l = top ; names = "a\\nb", NIL ; t = "ab", "c" ;
  v = 1, 2, _, 0.1 ; big = -9223372036854775808 ; \\double = 3 ; do = -128 ; f = 0.1, 16777217 ;
group: g { dimensions: x = 3 ; variables: int v(x) ; v:units = "m" ; data: v = 1, 2, 3 ; }
}"""


def build(folder: Path, files: dict[str, str], tool: Callable[[str], str]) -> Path:
    """Compile a program in C; return it."""
    if not Path("/usr/include/netcdf.h").exists():
        missing_peer("libnetcdf-dev")
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    sources = [str(folder / name) for name in files if name.endswith(".c")]
    done = subprocess.run(
        [tool("gcc"), *FLAGS, "-o", str(folder / "program"), *sources, "-lnetcdf"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    return folder / "program"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_in_c(sample: Path, tmp_path: Path, tool: Callable[[str], str]) -> None:
    source = nczarr.open(sample)
    program = build(tmp_path, dict(nczarr.generate("c", source)), tool)
    done = subprocess.run([program, tmp_path / "a.nc"], capture_output=True, text=True, check=False)
    if "undefined filter" in done.stderr:
        assert any(variable.storage.codecs for variable in source.dataset.variables)
        return
    assert done.returncode == 0, done.stderr
    assert nczarr.digest(tmp_path / "a.nc") == nczarr.digest(source)


def test_everything_of_the_model_in_c(tmp_path: Path, tool: Callable[[str], str]) -> None:
    source = nczarr.from_cdl(EVERYTHING)
    program = build(tmp_path, dict(nczarr.generate("c", source)), tool)
    done = subprocess.run([program, tmp_path / "a.nc"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert nczarr.diff(source, tmp_path / "a.nc") == []
    again = subprocess.run([program, "/nowhere/a.nc"], capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr[:15]) == (1, "/nowhere/a.nc: ")


def test_hostile_names_and_texts_in_c(tmp_path: Path, tool: Callable[[str], str]) -> None:
    source = nczarr.from_cdl(HOSTILE)
    program = build(tmp_path, dict(nczarr.generate("c", source)), tool)
    subprocess.run([program, tmp_path / "a.nc"], check=True)
    assert nczarr.diff(source, tmp_path / "a.nc") == []


def test_functions_of_each_variable_read_and_write(tmp_path: Path, tool: Callable[[str], str]) -> None:
    source = nczarr.from_cdl("netcdf d { dimensions: t = UNLIMITED ; x = 2 ; variables: float temp(t, x) ; }")
    files = dict(nczarr.generate("c", source))
    files["d_main.c"] = """#include "d.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    const size_t start[] = {1, 0}, count[] = {1, 2};
    const float written[] = {1.5f, 2.5f};
    float read[2];
    int ncid;
    if (argc != 2 || create_d(argv[1], &ncid) || put_temp(ncid, start, count, written))
        return 1;
    if (get_temp(ncid, start, count, read) || nc_close(ncid))
        return 1;
    printf("%g %g\\n", read[0], read[1]);
    return 0;
}
"""
    program = build(tmp_path, files, tool)
    assert subprocess.check_output([program, tmp_path / "a.nc"], text=True) == "1.5 2.5\n"
    assert nczarr.open(tmp_path / "a.nc")["temp"][1].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("value", "type_name", "wanted"),
    [
        (-(2**63), "int64", "(-9223372036854775807LL - 1)"),
        (2**64 - 1, "uint64", "18446744073709551615ULL"),
        (-(2**31), "int", "(-2147483647 - 1)"),
        (1.0, "double", "1.0"),
        (0.1, "float", "0.1f"),
        (1e30, "float", "1e+30f"),
        (float("nan"), "float", "NAN"),
        (float("-inf"), "double", "-INFINITY"),
        (-0.0, "double", "-0.0"),
    ],
)
def test_numbers_of_c(value: float, type_name: str, wanted: str) -> None:
    assert number(value, type_name) == wanted


def test_texts_of_c_have_no_trigraphs_and_no_control_characters() -> None:
    assert text(b'a"\\\n\x00\xc3\xa9??=') == '"a\\"\\\\\\n\\000\\303\\251\\?\\?="'


def test_identifiers_are_unique_and_no_words_of_the_language() -> None:
    make = UniqueIdentifiers({"int"}).make
    assert [make(name) for name in ("a b", "a_b", "int", "2x", "Höhe", "日本", "")] == [
        *("a_b", "a_b_2", "int_2", "n2x", "Hohe", "x", "x_2"),
    ]


@pytest.mark.parametrize(
    ("language", "cdl", "message"),
    [
        ("python-netcdf4", "netcdf d { types: opaque(3) o ; }", "`/o` has no program for netCDF4-python: .* opaque"),
        ("python-netcdf4", "netcdf d { variables: string s ; data: s = NIL ; }", "`/s` .* no missing string"),
        ("c", 'netcdf d { :CLASS = "a" ; }', "`/@CLASS` has no program in C: libnetcdf has an attribute"),
        (
            "c",
            'netcdf d { types: int(*) l ; variables: l v ; v:_NoFill = "true" ; }',
            "`/v` .* leaves no cells of strings and lists undefined",
        ),
        ("fortran", "netcdf d { types: opaque(3) unused ; }", "`/unused` .* a user-defined type"),
        ("java", "netcdf d { types: opaque(3) unused ; }", "`/unused` .* a user-defined type"),
        (
            "fortran",
            "netcdf d { variables: float v ; v:_QuantizeBitRoundNumberOfSignificantBits = 3 ; }",
            "`/v` .* no quantization",
        ),
        (
            "python-netcdf4",
            'netcdf d { variables: int v ; v:_FillValue = 1 ; v:_NoFill = "true" ; }',
            "`/v` .* a fill value or none",
        ),
        ("xarray", "netcdf d { dimensions: x = 2 ; variables: int x ; int y(x) ; }", "`/x` .* have that one alone"),
        ("fortran", 'netcdf d { :t = "a " ; }', "`/@t` has no program in Fortran: .* blanks at the end"),
        ("java", "netcdf d { dimensions: a\\ b = 2 ; }", "`/a. b` has no program in Java: .* underscore"),
        ("typescript", "netcdf d { variables: int a\\%b ; }", "`/a%b` has no reader in TypeScript: .* URLs"),
        ("python-zarr", "netcdf d { variables: int a\\\\b ; }", "`/a.*b` has no program for zarr-python: .* slash"),
        (
            "xarray",
            'netcdf d { variables: int x, b ; x:bounds = "b" ; x:units = "m" ; b:units = "m" ; }',
            "`/b@units` has no program for xarray: .* boundaries",
        ),
        ("ncml", "netcdf d { dimensions: a\\ b = 2 ; }", "`/a. b` has no NcML: a shape"),
    ],
)
def test_what_a_language_cannot_express_is_refused_by_name(language: str, cdl: str, message: str) -> None:
    with pytest.raises(nczarr.CompileError, match=message):
        nczarr.generate(language, nczarr.from_cdl(cdl))
    with pytest.raises(ValueError, match="did you mean"):
        nczarr.generate(language.upper(), nczarr.from_cdl(cdl))


def test_a_nan_with_bits_of_its_own_is_refused() -> None:
    value = Constant(type="double", count=1, data=bytes.fromhex("010000000000f87f"))
    variable = Variable(name="v", type="double", attributes=(Attribute(name="a", value=value),))
    with pytest.raises(nczarr.CompileError, match="`/v@a` has no program in C: a NaN with bits of its own"):
        nczarr.generate("c", Dataset(name="d", variables=(variable,)))


RECORDS = Dataset(
    name="records",
    dimensions=(Dimension(name="t", size=3, unlimited=True), Dimension(name="x", size=2)),
    types=(EnumType(name="state", base="byte", constants=(EnumConstant(name="one", value=1),)),),
    variables=(
        Variable(name="e", type="/state", dimensions=("/t",)),
        Variable(name="s", type="string", dimensions=("/t", "/x")),
        Variable(name="v", type="int", dimensions=("/x", "/t")),
    ),
)
"""Three records without values."""


def test_lengths_of_records_without_values(
    tmp_path: Path, tool: Callable[[str], str], peer: Callable[[str], object]
) -> None:
    peer("netCDF4")
    program = build(tmp_path, dict(nczarr.generate("c", RECORDS)), tool)
    subprocess.run([program, tmp_path / "c.nc"], check=True)
    python = load_program(nczarr.generate("python-netcdf4", RECORDS))
    file = python["create"](tmp_path / "python.nc")
    python["write"](file)
    file.close()
    for name in ("c.nc", "python.nc"):
        assert nczarr.open(tmp_path / name).dataset.dimensions == RECORDS.dimensions
        assert nczarr.diff(nczarr.open(RECORDS), tmp_path / name) == []


@pytest.mark.parametrize("language", ["c", "fortran", "java", "python-netcdf4"])
def test_a_length_that_nothing_records_is_refused(language: str) -> None:
    alone = Dataset(name="d", dimensions=(Dimension(name="t", size=3, unlimited=True),))
    with pytest.raises(nczarr.CompileError, match=r"`/t` has no program .* no variable along it records its length 3"):
        nczarr.generate(language, alone)


@pytest.mark.long
def test_values_are_rounded_by_the_library(
    tmp_path: Path, tool: Callable[[str], str], peer: Callable[[str], object]
) -> None:
    peer("netCDF4")
    text = """netcdf d { dimensions: x = 2 ; variables: float v(x), w(x) ;
      v:_QuantizeBitRoundNumberOfSignificantBits = 3 ; w:_QuantizeGranularBitRoundNumberOfSignificantDigits = 2 ;
      data: v = 1.2345678, 300.12 ; w = 1.2345678, 300.12 ; }"""
    source = nczarr.from_cdl(text)
    nczarr.write(source, tmp_path / "own.nc")
    subprocess.run([build(tmp_path, dict(nczarr.generate("c", source)), tool), tmp_path / "c.nc"], check=True)
    python = load_program(nczarr.generate("python-netcdf4", source))
    with python["create"](tmp_path / "python.nc") as file:
        python["write"](file)
    assert nczarr.open(tmp_path / "own.nc")["v"][...].tolist() == [1.25, 288.0]
    for name in ("c.nc", "python.nc"):
        assert nczarr.diff(tmp_path / "own.nc", tmp_path / name) == []


def test_names_of_macros_and_types_of_headers_in_c(tmp_path: Path, tool: Callable[[str], str]) -> None:
    text = """netcdf EOF { types: compound size { int NULL ; int NC_INT ; int EINVAL ; } ; int enum NC { GLOBAL = 1 } ;
      opaque(2) nc_vlen ; dimensions: x = 2 ; variables: size types(x) ; NC E ; nc_vlen CHECK ;
      data: types = { 1, 2, 3 }, { 4, 5, 6 } ; E = GLOBAL ; CHECK = 0X0102 ; }"""
    source = nczarr.from_cdl(text)
    subprocess.run([build(tmp_path, dict(nczarr.generate("c", source)), tool), tmp_path / "a.nc"], check=True)
    assert nczarr.diff(source, tmp_path / "a.nc") == []


@pytest.mark.parametrize("number_of_sample", ["01", "02", "04", "08"])
def test_samples_for_netcdf4_python(number_of_sample: str, tmp_path: Path, peer: Callable[[str], object]) -> None:
    peer("netCDF4")
    sample = next(path for path in SAMPLES if path.name.startswith(number_of_sample))
    files = nczarr.generate("python-netcdf4", nczarr.open(sample))
    ((name, content),) = files.items()
    (tmp_path / name).write_text(content, encoding="utf-8")
    subprocess.run([sys.executable, "-W", "error", tmp_path / name, tmp_path / "a.nc"], check=True)
    found = {difference.kind for difference in nczarr.diff(sample, tmp_path / "a.nc")}
    assert found <= {"attribute-order"}, "netCDF4-python writes `_FillValue` first"


def test_compounds_for_netcdf4_python(tmp_path: Path, peer: Callable[[str], object]) -> None:
    peer("netCDF4")
    text = "netcdf d { types: compound p { int a ; double b(2) ; } ; variables: p v ; data: v = {1, {2, 3}} ; }"
    program = load_program(nczarr.generate("python-netcdf4", nczarr.from_cdl(text)))
    file = program["create"](tmp_path / "a.nc")
    program["write"](file)
    file.close()
    assert nczarr.diff(nczarr.from_cdl(text), tmp_path / "a.nc") == []


def test_the_command_writes_a_folder_whole(nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    schema = str(ROOT / "samples" / "01-station.cdl")
    ran = nczarr_command("generate", "c", schema, "-o", str(tmp_path / "new" / "program"))
    assert ran.status == 0, ran.err
    names = ["station.h", "station.c", "station_main.c"]
    assert ran.text.splitlines() == [str(tmp_path / "new" / "program" / name) for name in names]
    assert sorted(path.name for path in (tmp_path / "new" / "program").iterdir()) == sorted(names)
    again = nczarr_command("generate", "c", schema, "-o", str(tmp_path / "new" / "program"))
    assert again.status == 2
    assert "error[target-exists]" in again.err
    assert nczarr_command("generate", "c", schema, "-o", str(tmp_path / "new" / "program"), "--overwrite").status == 0
    assert nczarr_command("generate", "cobol", schema, "-o", str(tmp_path)).status == 2
