"""`nczarr diff` and `nczarr.diff`: kinds of difference, status, forms of output, choice of parts."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import nczarr
from nczarr.arrays.chunks import chunk_grid_array
from tests.conftest import run_command

TEXT = """netcdf t {
types:
  byte enum sky { clear = 0, cloudy = 1 } ;
  compound obs { int64 t ; float v(2) ; } ;
  float(*) row ;
dimensions:
  time = UNLIMITED ;
  x = 4 ;
variables:
  double time(time) ;
  float v(time, x) ;
    v:units = "K" ;
    v:range = 1.f, 2.f ;
  string s(x) ;
  row r(x) ;
  obs o(time) ;
  sky k(x) ;
  :title = "t" ;
data:
  time = 1, 2 ;
  v = 1, 2, 3, NaN, 5, 6, 7, -0. ;
  s = "a", NIL, "", "d" ;
  r = {1, 2}, {}, {3}, {4, 5, 6} ;
  o = {1, {2, 3}}, {4, {5, 6}} ;
  k = clear, cloudy, clear, cloudy ;
group: g {
  variables:
    int n ;
  :note = "n" ;
  data:
    n = 7 ;
}
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.cdl").write_text(TEXT)
    return tmp_path


def against(*changes: tuple[str, str]) -> str:
    """What differs from the text once it is changed."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path("other.cdl").write_text(text)
    done = run_command("diff", "t.cdl", "other.cdl")
    assert done.err == ""
    assert done.status == (1 if done.out else 0)
    return " ".join(done.text.split())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NaN, 5", "NaNf, 5", ""),
        ('units = "K"', 'units = "C"', '/v attribute `units`: "K" | "C"'),
        ("2.f ;", "2. ;", "/v attribute `range`: 1.0, 2.0 (float, 2) | 1.0, 2.0 (double, 2)"),
        ('    v:units = "K" ;\n', "", '/v attribute `units` only in the first: "K"'),
        (
            '    v:units = "K" ;\n    v:range = 1.f, 2.f ;',
            '    v:range = 1.f, 2.f ;\n    v:units = "K" ;',
            "/v order of attributes: units, range | range, units",
        ),
        ("  x = 4 ;", "  x = 4 ;\n  y = 2 ;", "/y dimension only in the second"),
        (
            "cloudy = 1",
            "cloudy = 1, foggy = 2",
            "/sky type: byte enum {clear = 0, cloudy = 1} | byte enum {clear = 0, ",
        ),
        ("    int n ;", "    short n ;", "/g/n type: int | short"),
        ('  :note = "n" ;\n', "", '/g attribute `note` only in the first: "n"'),
        ("v = 1, 2, 3,", "v = 1, 2.5, 4,", "/v 2 of 8 values differ, first at (0, 1): 2.0 | 2.5; at most 1 apart"),
        ("-0. ;", "0. ;", "/v 1 of 8 values differ, first at (1, 3): -0.0 | 0.0"),
        ("NaN, 5", "8, 5", "/v 1 of 8 values differ, first at (0, 3): nan | 8.0"),
        ("NIL", '""', '/s 1 of 4 values differ, first at (1): NIL | ""'),
        ("{3}, {4, 5, 6}", "{}, {3, 4, 5, 6}", "/r 2 of 4 values differ, first at (2): {3.0} | {}"),
        ("{1, 2}, {}", "{1, 9}, {}", "/r 1 of 4 values differ, first at (0): {1.0, 2.0} | {1.0, 9.0}"),
        ("{5, 6}", "{5, 7}", "/o 1 of 2 values differ, first at (1): {4, {5.0, 6.0}} | {4, {5.0, 7.0}}"),
        ("k = clear, cloudy", "k = clear, clear", "/k 1 of 4 values differ, first at (1): 1 | 0"),
        ("n = 7", "n = 8", "/g/n the value differs: 7 | 8"),
    ],
)
def test_one_change_is_one_difference(folder: Path, old: str, new: str, said: str) -> None:
    found = against((old, new))
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_long_strings_are_shown_where_they_differ(folder: Path) -> None:
    words = "The quick brown fox jumps over the lazy dog. " * 5
    Path("one.cdl").write_text(
        "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  string s(x) ;\n"
        f'  :history = "{words}2019" ;\n  string :note = "{words}" ;\n  string :names = "{words}", "b" ;\n'
        f'  :cut = "{words}" ;\n  :bytes = "\\000{words}1" ;\n  :short = "a" ;\n'
        f'data:\n  s = "b", "{words}1" ;\n}}\n'
    )
    other = Path("one.cdl").read_text().replace("2019", "2020").replace('"b" ;', '"c" ;').replace('1" ;', '2" ;')
    other = other.replace(f':cut = "{words}"', f':cut = "{words[:-9]}"').replace(
        f'note = "{words}"', f'note = "?{words}"'
    )
    Path("two.cdl").write_text(other)
    done = run_command("diff", "one.cdl", "two.cdl")
    lines = [line.removeprefix("/s").removeprefix("/").strip() for line in done.text.splitlines()]
    assert lines == [
        'attribute `history`: …"the lazy dog. 2019" | …"the lazy dog. 2020" (they differ after 227 characters)',
        'attribute `note`: "The quick brown fox jumps over the lazy dog."… | '
        '"?The quick brown fox jumps over the lazy dog"… (they differ after 0 characters)',
        'attribute `names`: "b" | "c" (string 2 of 2)',
        'attribute `cut`: …"jumps over the lazy dog. " | …"jumps over the l" (they differ after 216 characters)',
        "attribute `bytes`: …'r the lazy dog. 1' | …'r the lazy dog. 2' (they differ after 226 bytes)",
        '1 of 2 values differ, first at (1): …"r the lazy dog. 1" | …"r the lazy dog. 2" '
        "(they differ after 225 characters)",
    ]
    assert "(they differ after 225 characters)" in nczarr.diff("one.cdl", "two.cdl")[-1].message


def test_of_a_missing_group_the_group_is_said_alone(folder: Path) -> None:
    assert against((TEXT[TEXT.index("group: g") :], "}\n")) == "/g group only in the first"


def test_lengths_and_growth(folder: Path) -> None:
    assert against(("time = UNLIMITED", "time = 2")) == "/time dimension: unlimited | fixed"
    found = against(("time = 1, 2", "time = 1, 2, 3"), ("o = {1", "o = {1"))
    assert "/time length: 2 | 3" in found


@pytest.mark.parametrize("target", ["t.nc", "t.zarr", "t3.zarr", "t.zip", "t.cdl2"])
def test_formats_do_not_matter(folder: Path, target: str) -> None:
    to = {"t3.zarr": ["--to", "nczarr3"], "t.cdl2": ["--to", "cdl"]}.get(target, [])
    assert run_command("convert", "t.cdl", target, *to).status == 0
    done = run_command("diff", "t.cdl", target)
    assert (done.status, done.text, done.err) == (0, "", "")


def test_what_a_pure_store_loses_is_what_differs(folder: Path) -> None:
    assert run_command("convert", "t.cdl", "t.zarr", "--to", "zarr2", "--var", "v,k", "--allow-loss", "all").status == 0
    done = run_command("diff", "t.cdl", "t.zarr", "--var", "v,k")
    lines = [" ".join(line.split()) for line in done.text.splitlines()]
    assert lines == [
        "/sky type only in the first",
        "/time dimension: unlimited | fixed",
        "/v attribute `range`: 1.0, 2.0 (float, 2) | 1.0, 2.0 (double, 2)",
        "/k type: /sky | byte",
    ]


def test_storage_is_compared_where_it_is_asked_for(folder: Path) -> None:
    run_command("convert", "t.cdl", "a.nc", "--chunks", "time=1", "--codec", "/v=shuffle+zlib:5")
    run_command("convert", "t.cdl", "b.nc", "--chunks", "time=2")
    assert run_command("diff", "a.nc", "b.nc").status == 0
    done = run_command("diff", "a.nc", "b.nc", "--storage", "--var", "v")
    assert done.status == 1
    assert [" ".join(line.split()) for line in done.text.splitlines()] == [
        "/v chunks: 1×4 | 2×4",
        "codecs: shuffle+deflate:5 | none",
    ]


def test_tolerance(folder: Path) -> None:
    Path("other.cdl").write_text(TEXT.replace("v = 1, 2, 3", "v = 1, 2.25, 3"))
    assert run_command("diff", "t.cdl", "other.cdl", "--tolerance", "0.25").status == 0
    assert run_command("diff", "t.cdl", "other.cdl", "--tolerance", "0.2").status == 1
    assert run_command("diff", "t.cdl", "other.cdl", "--tolerance", "rel:0.2").status == 0
    assert run_command("diff", "t.cdl", "other.cdl", "--no-data").status == 0
    for wrong in ("x", "-1", "nan", "inf", "rel:", "rel:-1"):
        assert run_command("diff", "t.cdl", "other.cdl", f"--tolerance={wrong}").status == 2


def test_choice(folder: Path) -> None:
    Path("other.cdl").write_text(TEXT.replace("n = 7", "n = 8").replace('title = "t"', 'title = "u"'))
    assert run_command("diff", "t.cdl", "other.cdl", "--var", "v").status == 0
    assert run_command("diff", "t.cdl", "other.cdl", "--group", "g").text.split()[0] == "/g/n"
    assert run_command("diff", "t.cdl", "other.cdl", "--group", "/").status == 1
    Path("other.cdl").write_text(TEXT.replace("int n ;", "int m ;").replace("n = 7", "m = 7"))
    assert "/g/n" in run_command("diff", "t.cdl", "other.cdl", "--var", "/g/n").text
    missing = run_command("diff", "t.cdl", "other.cdl", "--var", "/g/q")
    assert missing.status == 1
    assert "error[unmatched-name]" in missing.err


def test_machines_and_the_quiet(folder: Path) -> None:
    Path("other.cdl").write_text(TEXT.replace("NaN", "8"))
    done = run_command("diff", "t.cdl", "other.cdl", "--message-format", "json")
    (record,) = (json.loads(line) for line in done.text.splitlines())
    assert set(record) >= {"code", "severity", "message", "file", "line", "column", "notes", "helps", "key", "pointer"}
    assert (record["code"], record["path"], record["file"]) == ("values", "/v", "other.cdl")
    assert record["values"] == {
        "different": 1, "total": 8, "place": [0, 3], "first": "nan", "second": 8.0, "largest": None
    }  # fmt: skip
    done = run_command("diff", "-q", "t.cdl", "other.cdl")
    assert (done.status, done.out) == (1, b"")


def test_what_cannot_be_read(folder: Path) -> None:
    assert run_command("diff", "t.cdl", "missing.nc").status == 3
    Path("bad.cdl").write_text("netcdf bad { int ; }")
    assert run_command("diff", "t.cdl", "bad.cdl").status == 1
    assert run_command("diff", "t.cdl", "-", stdin=TEXT.encode()).status == 0


def test_from_python(folder: Path) -> None:
    Path("other.cdl").write_text(TEXT.replace("NaN", "8"))
    (found,) = nczarr.diff("t.cdl", Path("other.cdl"))
    assert isinstance(found, nczarr.Difference)
    assert found.values is not None
    assert found.values.place == (0, 3)
    assert np.isnan(found.values.first)
    assert nczarr.diff(nczarr.open("t.cdl"), "other.cdl", data=False) == []
    assert nczarr.diff("t.cdl", "other.cdl", variables=["s"]) == []
    assert nczarr.diff("t.cdl", "other.cdl", tolerance=1e-3)
    with pytest.raises(ValueError, match="is not a tolerance"):
        nczarr.diff("t.cdl", "other.cdl", tolerance=-1)
    with pytest.raises(nczarr.CompileError, match="unmatched-name"):
        nczarr.diff("t.cdl", "other.cdl", variables=["q"])


def test_what_is_undefined_is_like_anything(folder: Path) -> None:
    text = 'netcdf t {\ndimensions:\n  x = 4 ;\nvariables:\n  int v(x) ;\n    v:_NoFill = "true" ;\n}\n'
    Path("a.cdl").write_text(text)
    Path("b.cdl").write_text(text.replace("}", "data:\n  v = 1, 2, 3, 4 ;\n}"))
    assert run_command("convert", "a.cdl", "a.nc", "--kind", "nc4").status == 0
    assert run_command("diff", "a.cdl", "a.nc").status == 0
    assert run_command("diff", "a.cdl", "b.cdl").status == 0


def test_what_is_missing_of_a_target_is_no_undefined_value(folder: Path) -> None:
    text = 'netcdf t {\ndimensions:\n  x = 4 ;\nvariables:\n  int v(x) ;\n    v:_NoFill = "true" ;\n'
    Path("a.cdl").write_text(text + "    v:_ChunkSizes = 2 ;\ndata:\n  v = 1, 2, 3, 4 ;\n}\n")
    run_command("convert", "a.cdl", "a.zarr", "--to", "nczarr3")
    Path("b.cdl").write_text(text.replace('    v:_NoFill = "true" ;\n', "") + "data:\n  v = 1, 2 ;\n}\n")
    assert "2 of 4 values differ, first at (2)" in run_command("diff", "a.cdl", "b.cdl").text
    assert run_command("diff", "a.cdl", "a.zarr").status == 0


def test_vast_declarations_cost_nothing(folder: Path) -> None:
    """Fill stands against fill wherever neither side has anything else."""
    text = (
        "dataset t 2.0.0 {\n dimension x 1000000000000\n vlen row int\n variable v int /x {0}\n variable s string /x\n"
        " variable r row /x\n}\n"
    )
    fill = "{ attribute _FillValue int 5 }"
    Path("a.ncz").write_text(text.replace(" {0}", ""))
    Path("b.ncz").write_text(text.replace("{0}", fill))
    assert run_command("diff", "a.ncz", "a.ncz").status == 0
    done = run_command("diff", "a.ncz", "b.ncz")
    assert "1000000000000 of 1000000000000 values differ, first at (0): -2147483647 | 5" in done.text, done.err


def test_characters_are_shown_without_their_class() -> None:
    text = 'netcdf c { dimensions: n = 3 ; variables: char v(n) ; data: v = "%s" ; }'
    (difference,) = nczarr.diff(nczarr.from_cdl(text % "abc"), nczarr.from_cdl(text % "abd"))
    assert difference.message.endswith("first at (2): 'c' | 'd'")


def test_shards_are_storage(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    paths = {}
    for name, shards in (("plain", None), ("sharded", (4,)), ("whole", (8,))):
        paths[name] = tmp_path / f"{name}.zarr"
        group = zarr.open_group(paths[name], mode="w")
        group.create_array("v", shape=(8,), chunks=(2,), shards=shards, dtype="i4", dimension_names=["x"])[:] = range(8)
    assert nczarr.diff(paths["plain"], paths["sharded"]) == []
    for other, text in (("plain", "none"), ("whole", "8")):
        (found,) = nczarr.diff(paths["sharded"], paths[other], storage=True)
        assert (found.path, found.message) == ("/v", f"shards: 4 | {text}")
    done = nczarr.convert(paths["sharded"], tmp_path / "kept.zarr", format="zarr3", shards={"x": 4})
    assert done.losses == ()
    assert nczarr.diff(paths["sharded"], tmp_path / "kept.zarr", storage=True) == []
    for form, way in (("zarr3", ", which `--shards` makes"), ("zarr2", "")):
        done = nczarr.convert(paths["sharded"], tmp_path / form, format=form)
        assert f"variable `/v`, its shards of 4{way}" in [loss.message for loss in done.losses]
    assert nczarr.convert(paths["sharded"], tmp_path / "none", format="zarr3", shards="none").losses == ()


@pytest.fixture
def count_decoded(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """Function that returns how many chunks are decoded during a call."""
    decoded: list[object] = []
    for name in ("put_chunk", "chunk_of"):
        original = getattr(chunk_grid_array, name)

        def note(*given: object, original: Any = original) -> Any:
            decoded.append(given[0])
            return original(*given)

        monkeypatch.setattr(chunk_grid_array, name, note)

    def count(function: Callable[[], object]) -> int:
        decoded.clear()
        function()
        return len(decoded)

    return count


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A netCDF-4 file of eight deflated chunks of 100 kB, and a store of Zarr v2 with their bytes."""
    monkeypatch.chdir(tmp_path)
    field = np.random.default_rng(1).normal(size=(8, 160, 160)).round(1).astype("f4")
    made = xarray.Dataset({"v": (("t", "y", "x"), field)})
    options = {"zlib": True, "shuffle": True, "complevel": 4, "chunksizes": (1, 160, 160)}
    made.to_netcdf("a.nc", encoding={"v": options}, engine="netcdf4")
    nczarr.convert("a.nc", "b.zarr", format="zarr2")
    return tmp_path / "a.nc", tmp_path / "b.zarr"


def test_copied_chunks_are_decoded_on_one_side(
    copied: tuple[Path, Path], count_decoded: Callable[[Callable[[], object]], int]
) -> None:
    source, target = copied
    assert count_decoded(lambda: nczarr.diff(source, target)) == 8
    nczarr.convert(source, "c.zarr", format="zarr2", codecs="zstd:1")
    assert count_decoded(lambda: nczarr.diff(source, "c.zarr")) == 16
    verified = count_decoded(lambda: nczarr.convert(source, "d.zarr", format="nczarr", verify=True))
    assert verified == 8  # and the hash for the second reader is of the same chunks, which are in the cache


def test_a_copied_chunk_with_other_bytes_is_compared_by_value(copied: tuple[Path, Path]) -> None:
    source, target = copied
    chunk = target / "v" / "3.0.0"
    plain = bytearray(zlib.decompress(chunk.read_bytes()))
    chunk.write_bytes(zlib.compress(bytes(plain), 9))
    assert not nczarr.diff(source, target)
    plain[5] ^= 1
    chunk.write_bytes(zlib.compress(bytes(plain), 4))
    (found,) = nczarr.diff(source, target)
    assert (found.kind, found.path) == ("values", "/v")
    assert "first at (3, 0, " in found.message


def test_equal_bytes_that_cannot_be_decoded_are_not_equal(copied: tuple[Path, Path]) -> None:
    _, target = copied
    chunk = target / "v" / "3.0.0"
    chunk.write_bytes(chunk.read_bytes()[:-9])
    shutil.copytree(target, "c.zarr")
    ran = run_command("diff", str(target), "c.zarr")
    assert (ran.status, ran.out) == (1, b"")
    assert "error[unreadable-chunk]" in ran.err
    assert "b.zarr/v/3.0.0" in ran.err
