"""Paths are those of the system, where links and `..` meet."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.stores import local_paths
from tests.conftest import Ran

SCHEMA = 'netcdf t {{ dimensions: x = 2 ; variables: int v(x) ; :who = "{}" ; data: v = 1, 2 ; }}'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: `link` leads to `real/deep`, beside which other files lie than beside the link."""
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real/deep")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(target: str, who: str) -> None:
    Path("schema.cdl").write_text(SCHEMA.format(who))
    nczarr.convert("schema.cdl", target)


def who(path: str) -> str:
    with nczarr.open(path) as found:
        return str(found.attributes["who"])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("link/../a", "real/a"),
        ("link/./../a/", "real/a"),
        ("link/../../a", "a"),
        ("link/a", "link/a"),
        ("missing/../a", "missing/../a"),
        ("./a//b", "a/b"),
        ("..a/b..", "..a/b.."),
    ],
)
def test_absolute_paths_are_those_of_the_system(here: Path, path: str, expected: str) -> None:
    assert local_paths.absolute(path) == os.path.join(here, expected)


@pytest.mark.parametrize(
    ("path", "folder", "name"),
    [
        ("a.nc", "", "a.nc"),
        ("sub/a.nc", "sub", "a.nc"),
        ("sub/a.zarr/", "sub", "a.zarr"),
        ("/a.nc", "/", "a.nc"),
        ("/", "/", ""),
        ("", "", ""),
    ],
)
def test_paths_are_split(path: str, folder: str, name: str) -> None:
    assert local_paths.split(path) == (folder, name)
    assert (local_paths.parent_of(path), local_paths.name_of(path)) == (folder, name)


def test_the_last_name_is_that_of_a_file(here: Path) -> None:
    """`..` and `.` are resolved as the system does: a link first."""
    assert local_paths.name_of("sub/.") == "sub"
    assert local_paths.name_of(".") == here.name
    assert local_paths.split("link/..") == os.path.split(os.path.realpath(here / "link/.."))
    assert local_paths.stem_of("a.b/c.nc") == "a.b/c"
    assert local_paths.suffix_of("a.b/c.nc") == ".nc"


def test_relative_paths_lead_out_of_where_a_link_leads(here: Path) -> None:
    (here / "a").touch()
    path = local_paths.relative("a", "link")
    assert path == "../../a"
    assert (here / "link" / path).exists()
    assert local_paths.segments_below("link/x", "real") is not None
    assert local_paths.segments_below("real", "link") is None
    assert local_paths.segments_below("link/x", "real") == ("deep", "x")


@pytest.mark.parametrize("suffix", ["zarr", "zip", "nc", "json", "ncs", "awkd", "cdl"])
def test_what_was_named_is_replaced_and_edited(here: Path, suffix: str) -> None:
    write("in.nc", "new")
    write(f"t.{suffix}", "beside the link")
    write(f"real/t.{suffix}", "old")
    named = f"link/../t.{suffix}"
    assert who(named) == "old"
    nczarr.convert("in.nc", named, overwrite=True)
    assert (who(f"t.{suffix}"), who(f"real/t.{suffix}"), who(named)) == ("beside the link", "new", "new")


@pytest.mark.parametrize("target", ["t.zarr", "t.zip", "t.nc", "t.json"])
def test_a_missing_folder_is_named(here: Path, target: str) -> None:
    write("in.nc", "new")
    with pytest.raises(OSError, match=r"missing/\.\."):
        nczarr.convert("in.nc", f"missing/../{target}")
    assert not (here / target).exists()


def test_references_are_found_through_links(here: Path, nczarr_command: Callable[..., Ran]) -> None:
    write("real/in.nc", "right")
    write("in.nc", "wrong")
    assert nczarr_command("convert", "link/../in.nc", "link/t.json", "--relative").status == 0
    assert "../../in.nc" not in (here / "link/t.json").read_text()
    assert who("link/t.json") == who("real/deep/t.json") == "right"
    with nczarr.open("link/t.json") as found:
        assert found["/v"][...].tolist() == [1, 2]


def test_a_target_inside_its_source_is_refused(here: Path) -> None:
    write("s.zarr", "source")
    (here / "alias").symlink_to("s.zarr")
    before = sorted(here.rglob("*"))
    for target in ("s.zarr/t.zarr", "alias/t.zarr", "link/../../s.zarr/v/t.zarr"):
        with pytest.raises(CompileError) as refused:
            nczarr.convert("s.zarr", target)
        assert [one.code for one in refused.value.diagnostics] == ["nested-target"]
    assert sorted(here.rglob("*")) == before
