"""`nczarr convert`: targets, names of targets, parts, nccopy's spellings, status."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import run_command

TEXT = """netcdf t {
dimensions:
  time = UNLIMITED ;
  lat = 4 ;
  nv = 2 ;
variables:
  double time(time) ;
    time:bounds = "time_bnds" ;
  double time_bnds(time, nv) ;
  float lat(lat) ;
  float temp(time, lat) ;
    temp:units = "K" ;
data:
  time = 0, 1, 2, 3, 4, 5 ;
  time_bnds = 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6 ;
  lat = 10, 20, 30, 40 ;
  temp = 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33, 40, 41, 42, 43, 50, 51, 52, 53 ;
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.cdl").write_text(TEXT)
    return tmp_path


def convert(*arguments: str, status: int = 0) -> str:
    done = run_command("convert", *arguments)
    assert done.status == status, done.err
    return done.err


def test_one_source_and_a_summary(folder: Path) -> None:
    assert convert("t.cdl", "t.nc") == "`t.nc`: netcdf3, 4 variables, 540 B\n"
    assert convert("t.nc", "t.zarr") == (
        "`t.zarr`: NCZarr, Zarr v2 (`--to zarr3` writes v3), 4 variables, 4 chunks (1 copied, 3 gathered; 1 not "
        "decoded), 256 B\n"
    )
    assert convert("-q", "t.zarr", "u.nc", "--to", "netcdf") == ""
    assert (folder / "t.nc").read_bytes() == (folder / "u.nc").read_bytes()


def test_a_section_cuts_coordinates_and_their_bounds(folder: Path) -> None:
    assert "warning" not in convert("t.cdl", "p.nc", "--section", "temp(1:5:2, 0:1)")
    part = nczarr.open("p.nc")
    assert part["temp"][...].tolist() == [[10, 11], [30, 31], [50, 51]]
    assert part["time"][...].tolist() == [1, 3, 5]
    assert part["time_bnds"][...].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert part["lat"][...].tolist() == [10, 20]
    assert part.checked.dimensions["/time"].unlimited


def test_what_belongs_to_a_variable_is_cut_with_it(folder: Path) -> None:
    (folder / "c.cdl").write_text("""netcdf c {
dimensions:
  j = 3 ;
  i = 4 ;
  nv = 2 ;
variables:
  float lat(j, i) ;
    lat:bounds = "lat_vertices" ;
  float lat_vertices(j, i, nv) ;
  float area(j, i) ;
  float flag(j, i) ;
  float temp(j, i) ;
    temp:coordinates = "lat" ;
    temp:cell_measures = "area: area" ;
    temp:ancillary_variables = "flag" ;
  float other(j) ;
data:
  lat = 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23 ;
}
""")
    assert "warning[split-dimension]: `/temp` has" in convert("c.cdl", "p.nc", "--section", "temp(1, 1:2)")
    part = nczarr.open("p.nc")  # `other` keeps the dimension as it is, and with it the coordinates
    assert (part["temp"].dimensions, part["temp"].shape) == (("/j_2", "/i"), (1, 2))
    assert [part[name].shape for name in ("lat", "area", "flag", "other")] == [(3, 2), (3, 2), (3, 2), (3,)]
    part = nczarr.open(nczarr.convert("c.cdl", "q.nc", sections=["temp(:, 1:2)"]).target)
    assert [part[name].shape for name in ("temp", "lat", "area", "flag")] == [(3, 2)] * 4
    assert part["lat_vertices"].shape == (3, 2, 2)
    assert part["lat"][...].tolist() == [[1, 2], [11, 12], [21, 22]]
    part = nczarr.open(nczarr.convert("c.cdl", "r.nc", sections=["temp(1, 1:2)", "other(1)"]).target)
    assert part["lat"][...].tolist() == [[11, 12]]


def test_an_index_alone_keeps_its_dimension(folder: Path) -> None:
    convert("t.cdl", "p.cdl", "--var", "temp", "--no-coordinates", "--section", "temp(:, 3)")
    part = nczarr.open("p.cdl")
    assert list(part) == ["/temp"]
    assert part["temp"].shape == (6, 1)
    assert part["temp"][:, 0].tolist() == [3, 13, 23, 33, 43, 53]


def test_names_that_are_not_there(folder: Path) -> None:
    assert "did you mean `temp`?" in convert("t.cdl", "p.nc", "--var", "tmp", status=1)
    assert "did you mean `temp`?" in convert("t.cdl", "p.nc", "--section", "temps(0,0)", status=1)
    assert "the last index is 3" in convert("t.cdl", "p.nc", "--section", "temp(0,4)", status=1)
    assert "has 2 dimensions" in convert("t.cdl", "p.nc", "--section", "temp(0)", status=1)
    assert "parentheses" in convert("t.cdl", "p.nc", "--section", "temp[0:3]", status=1)
    assert "--section:1:6" in convert("t.cdl", "p.nc", "--section", "temp(-1)", status=2)
    assert not (folder / "p.nc").exists()


def test_several_sources(folder: Path) -> None:
    convert("t.cdl", "s.zarr")
    assert convert("t.cdl", "s.zarr", "out").startswith(
        "2 of 2 in `out`: NCZarr, Zarr v2 (`--to zarr3` writes v3), netcdf3, 8 variables, 4 chunks (4 encoded), "
    )
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["s.nc", "t.zarr"]
    convert("t.cdl", "s.zarr", "out/", "--to", "nczarr3", status=2)  # t.zarr is there
    convert("t.cdl", "s.zarr", "out/", "--to", "nczarr3", "--overwrite")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["s.nc", "s.zarr", "t.zarr"]


def test_a_dimension_is_not_both_unlimited_and_fixed(folder: Path) -> None:
    said = convert("t.cdl", "p.nc", "--unlimited", "lat", "--fixed", "lat", status=1)
    assert "the dimension `lat` cannot be both unlimited and fixed" in said
    assert not (folder / "p.nc").exists()


def test_a_kind_of_several_targets_makes_files(folder: Path) -> None:
    convert("t.cdl", "s.zarr")
    convert("t.cdl", "s.zarr", "out", "--kind", "nc5")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["s.nc", "t.nc"]
    assert {path.read_bytes()[:4] for path in (folder / "out").iterdir()} == {b"CDF\x05"}


def test_one_bad_source_is_no_loss_to_the_others(folder: Path) -> None:
    (folder / "bad.cdl").write_text("netcdf bad { int ; }")
    said = convert("bad.cdl", "t.cdl", "missing.nc", "out", status=3)
    assert said.splitlines()[-1].startswith(
        "1 of 3 in `out`: NCZarr, Zarr v2 (`--to zarr3` writes v3), 4 variables, 4 chunks"
    )
    assert [path.name for path in (folder / "out").iterdir()] == ["t.zarr"]


def test_nothing_is_left_where_nothing_was_made(folder: Path) -> None:
    (folder / "bad.cdl").write_text("netcdf bad { int ; }")
    convert("bad.cdl", "bad.cdl", "out", status=2)
    convert("bad.cdl", "./missing.cdl", "out", status=3)
    convert("t.cdl", "missing.nc", "nowhere/out", status=3)
    (folder / "file").touch()
    assert "is not a folder" in convert("t.cdl", "bad.cdl", "file", status=2)
    assert sorted(path.name for path in folder.iterdir()) == ["bad.cdl", "file", "t.cdl"]


def test_a_folder_goes_with_the_failure_that_it_was_made_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "out/t.zarr")

    monkeypatch.setattr("nczarr.pipeline.phases.write", full)
    (folder / "u.cdl").write_text(TEXT)
    assert "No space left" in convert("t.cdl", "u.cdl", "out", status=3)
    assert not (folder / "out").exists()


def test_clashing_names(folder: Path) -> None:
    convert("t.cdl", "t.nc")
    assert "both be written to `out/t.zarr`" in convert("t.cdl", "t.nc", "out", status=2)
    assert not (folder / "out").exists()


def test_standard_streams(folder: Path) -> None:
    done = run_command("convert", "-", "-", "--to", "cdl", "--from", "cdl", "--var", "lat", stdin=TEXT.encode())
    assert done.status == 0
    assert "lat = 10, 20, 30, 40 ;" in done.text
    assert "temp" not in done.text
    assert "is not a text format" in convert("t.cdl", "-", "--to", "netcdf4", status=2)
    stream = run_command("convert", "t.cdl", "-", "--to", "ncstream").out
    assert run_command("dump", "-", "--as", "notation", stdin=stream).text.startswith("dataset t 2.0.0")


def test_a_format_that_the_source_cannot_have(folder: Path) -> None:
    assert "is a file" in convert("t.cdl", "p.nc", "--from", "zarr2", status=1)
    convert("t.cdl", "t.zarr")
    assert "is a store of keys" in convert("t.zarr", "p.nc", "--from", "netcdf4", status=1)
    assert "unknown format `zar`" in convert("t.cdl", "p.nc", "--from", "zar", status=1)
    convert("t.zarr", "p.nc", "--from", "zarr2")


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (["-d", "5"], ["--codec", "noshuffle+zlib:5"]),
        (["-d", "5", "-s"], ["--codec", "shuffle+zlib:5"]),
        (["-d", "0"], ["--codec", "none"]),
        (["-c", "time/2,lat/3"], ["--chunks", "time=2,lat=3"]),
        (["-c", "lat/"], ["--chunks", "lat=4"]),
        (["-c", "temp:2,3"], ["--chunks", "/temp=2,3"]),
        (["-c", "/temp:2,3", "-c", "nv/1"], ["--chunks", "/temp=2,3", "--chunks", "nv=1"]),
        (["-k", "nc7"], ["--kind", "4"]),
    ],
)
def test_nccopy_spellings(folder: Path, given: list[str], same: list[str]) -> None:
    convert("t.cdl", "base.nc", "--kind", "nc4", "--codec", "zlib:1", "--chunks", "time=1")
    convert("base.nc", "a.nc", *given)
    convert("base.nc", "b.nc", *same)
    one, other = nczarr.open("a.nc"), nczarr.open("b.nc")
    assert one.dataset.variables == other.dataset.variables
    assert one.dataset.kind == other.dataset.kind


def test_unlimited_becomes_fixed(folder: Path) -> None:
    convert("t.cdl", "base.nc", "--kind", "nc4", "--chunks", "time=512")
    convert("base.nc", "a.nc", "-u")
    made = nczarr.open("a.nc")
    assert not made.checked.dimensions["/time"].unlimited
    assert made["temp"].shape == (6, 4)


def test_wrong_spellings(folder: Path) -> None:
    for wrong in (["-s"], ["-d", "10"], ["-c", "time"], ["-c", "time/x"], ["-c", ":1"], ["--allow-loss", "x"]):
        convert("t.cdl", "p.nc", *wrong, status=2)
    assert not (folder / "p.nc").exists()


def test_netcdf_urls(folder: Path) -> None:
    convert("t.cdl", f"file://{folder}/a.zarr#mode=zarr,consolidated")
    assert (folder / "a.zarr" / ".zmetadata").is_file()
    assert b"_nczarr" not in (folder / "a.zarr" / ".zattrs").read_bytes()
    convert("t.cdl", f"file://{folder}/b.zip#mode=nczarr,zip")
    assert run_command("check", f"file://{folder}/b.zip#mode=nczarr,zip").status == 0
    assert run_command("dump", "-h", f"file://{folder}/a.zarr#mode=zarr,file").status == 0
    assert list(nczarr.open(f"file://{folder}/b.zip")) == list(nczarr.open("t.cdl"))
    assert "a.zarr" in [path.name for path in folder.iterdir()]


def test_the_mode_zarr_reads_past_the_extension(folder: Path) -> None:
    convert("t.cdl", "a.zarr")
    assert nczarr.open("a.zarr").checked.dimensions["/time"].unlimited
    assert not nczarr.open(f"file://{folder}/a.zarr#mode=zarr").checked.dimensions["/time"].unlimited


def test_noxarray_keeps_dimension_names_to_netcdf(folder: Path) -> None:
    convert("t.cdl", f"file://{folder}/a.zarr#mode=nczarr,noxarray")
    assert not any(b"_ARRAY_DIMENSIONS" in path.read_bytes() for path in (folder / "a.zarr").rglob(".zattrs"))
    assert nczarr.diff("t.cdl", "a.zarr") == []


@pytest.mark.parametrize("mode", ["s3", "zip", "zarr,noxarray", "nczar"])
def test_modes_that_cannot_be_kept(folder: Path, mode: str) -> None:
    assert "error[bad-url]" in convert("t.cdl", f"file://{folder}/a.zarr#mode={mode}", status=2)
    assert not (folder / "a.zarr").exists()


@pytest.mark.slow
def test_from_python(folder: Path) -> None:
    done = nczarr.convert("t.cdl", "t.nc", kind="nc4", chunks={"time": 2}, codecs="zlib:1", verify=True)
    assert isinstance(done, nczarr.Conversion)
    assert (done.target, done.format, done.variables, done.losses) == ("t.nc", "netcdf4", 4, ())
    done = nczarr.convert(Path("t.nc"), "t.zarr", verify=True)
    assert done.transcoded_chunks == 0
    chunks = [path for path in Path("t.zarr").rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert (done.copied_chunks, done.bytes) == (len(chunks), sum(path.stat().st_size for path in chunks))
    part = nczarr.convert("t.zarr", "p.zarr", "zarr3", variables=["temp"], sections=["temp(0, :)"], verify=True)
    assert "unlimited" in {loss.kind for loss in part.losses}
    assert {each.code for each in part.diagnostics} == {"lost-annotations"}
    assert nczarr.open("p.zarr")["temp"][...].tolist() == [[0, 1, 2, 3]]
    assert not nczarr.open(nczarr.convert("t.nc", "f.nc", fixed=True).target).checked.dimensions["/time"].unlimited


def test_python_errors(folder: Path) -> None:
    nczarr.convert("t.cdl", "t.zarr")
    with pytest.raises(FileExistsError, match="the target exists; overwrite=True replaces it"):
        nczarr.convert("t.cdl", "t.zarr")
    with pytest.raises(FileNotFoundError):
        nczarr.convert("missing.nc", "u.zarr")
    with pytest.raises(nczarr.CompileError, match="unknown-target"):
        nczarr.convert("t.cdl", "u.xyz")
    with pytest.raises(nczarr.CompileError, match="bad-section"):
        nczarr.convert("t.cdl", "u.zarr", sections=["temp("])
    with pytest.raises(nczarr.CompileError, match="unknown-format"):
        nczarr.convert("t.cdl", "u.zarr", from_format="zarr2")
    assert not Path("u.zarr").exists()


def test_a_damaged_target_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program changes a chunk between writing and reading."""
    from nczarr.stores.directory import DirectoryTarget

    def damaging(target: DirectoryTarget) -> None:
        chunk = Path(target.path, "lat", "0")
        chunk.write_bytes(bytes(chunk.stat().st_size))

    monkeypatch.setattr(DirectoryTarget, "seal", damaging)
    with pytest.raises(nczarr.CompileError, match="unequal-target: `/lat` is not equal"):
        nczarr.convert("t.cdl", "t.zarr", verify=True)
    assert os.listdir() == ["t.cdl"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["t.zip", "t.nc", "t.cdl2.cdl"])
def test_targets_of_every_kind_are_verified(folder: Path, name: str) -> None:
    status = run_command("convert", "t.cdl", name, "--verify")
    assert (status.status, status.out) == (0, b"")
    assert sorted(os.listdir()) == sorted(["t.cdl", name])


def test_a_dry_run_shows_the_ways_and_writes_nothing(folder: Path) -> None:
    nczarr.convert("t.cdl", "t.zarr")
    shown = run_command("convert", "t.zarr", "t.nc", "--dry-run")
    assert shown.status == 0
    assert b"nothing was written" in shown.out
    assert {line.split()[0] for line in shown.out.decode().splitlines()[:-1]} <= {
        "copy",
        "gather",
        "transcode",
        "encode",
    }
    lines = run_command("convert", "t.zarr", "u.zip", "--dry-run", "--message-format", "json").out.splitlines()
    assert {json.loads(line)["route"] for line in lines} == {"copy"}
    assert sorted(os.listdir()) == ["t.cdl", "t.zarr"]
    assert run_command("convert", "t.zarr", "t.zarr", "--dry-run").status == 2


def test_progress_is_shown_when_asked_for(folder: Path) -> None:
    shown = run_command("convert", "t.cdl", "t.zarr", "--progress")
    assert (shown.status, shown.out) == (0, b"")
    quiet = run_command("convert", "t.cdl", "u.zarr", "--no-progress", "-q")
    assert (quiet.status, quiet.out, quiet.err) == (0, b"", "")


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ([], "nc3"),
        (["-d", "5"], "nc7"),
        (["-c", "lat/2"], "nc7"),
        (["-d", "0"], "nc3"),
        (["-k", "nc4", "-d", "1"], "nc4"),
    ],
)
def test_what_classic_files_have_not_makes_them_hdf5(folder: Path, options: list[str], kind: str) -> None:
    convert("t.cdl", "t.nc", "-k", "nc3")
    convert("t.nc", "u.nc", *options)
    assert nczarr.open("u.nc").dataset.kind == kind


@pytest.mark.parametrize(
    "options",
    [{"chunks": "4"}, {"chunks": 4}, {"chunks": {"/v": None}}, {"shards": 3}, {"codecs": {"/v": ["zlib:1"]}},
     {"codecs": 1}],
)  # fmt: skip
def test_values_of_another_type_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"is expected"):
        nczarr.convert("t.cdl", tmp_path / "t.zarr", **options)


@pytest.mark.parametrize("target", ["t.zarr", "t.json", "t.nc"])
def test_ragged_variables_without_content_are_verified(target: str, tmp_path: Path) -> None:
    text = "netcdf a { types: int(*) row ; dimensions: x = 3 ; variables: row v(x) ; row scalar ; }"
    (tmp_path / "a.cdl").write_text(text)
    nczarr.convert(tmp_path / "a.cdl", tmp_path / target, verify=True)
