"""Arguments of `append` in the wrong order, and without a dimension."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr import CompileError, refs
from tests.conftest import run_command

TEXT = "netcdf d { dimensions: t = %s ; x = %d ; variables: int v(t, x) ; data: v = %s ; }"
"""Without a coordinate, records of any source continue those of any other."""


def day(path: Path, values: str, *, t: str = "UNLIMITED", x: int = 1) -> str:
    nczarr.write(nczarr.from_cdl(TEXT % (t, x, values)), path)
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [day(tmp_path / f"d_{number}.nc", f"{2 * number}, {2 * number + 1}") for number in range(3)]


@pytest.mark.parametrize("name", ["all.zarr", "all.json", "all.parq"])
def test_a_store_before_a_file_is_the_target(files: list[str], tmp_path: Path, name: str) -> None:
    store = str(tmp_path / name)
    nczarr.combine(files[:1], store, along="t")
    before = [nczarr.digest(path) for path in (store, *files)]
    ran = run_command("append", store, *files[1:], "--along", "t")
    assert ran.status == 2
    assert "error[unextendable-target]: the last argument is the target" in ran.err
    assert f"`nczarr append {files[1]} {files[2]} {store}`" in ran.err
    assert "--region" not in ran.err
    with pytest.raises(CompileError, match="the last argument is the target"):
        nczarr.append(store, files[1], along="t")
    assert [nczarr.digest(path) for path in (store, *files)] == before
    assert run_command("append", *files[1:], store, "--along", "t").status == 0
    assert nczarr.open(store)["v"].shape == (6, 1)


def test_a_document_after_its_sources(files: list[str], tmp_path: Path) -> None:
    document = str(tmp_path / "all.json")
    refs.combine(files[:1], document, along="t")
    ran = run_command("refs", "append", *files[1:], document)
    assert ran.status == 2
    assert f"`nczarr refs append {document} {files[1]} {files[2]}`" in ran.err
    assert run_command("refs", "append", document, *files[1:]).status == 0


def test_files_extend_a_file(files: list[str], tmp_path: Path) -> None:
    assert run_command("append", *files, "--along", "t").status == 0
    assert nczarr.open(files[2])["v"].shape == (6, 1)
    store = str(tmp_path / "one.zarr")
    nczarr.convert(files[0], store)
    nczarr.append([store], files[1], along="t")  # sources are a list: the target is certain
    assert nczarr.open(files[1])["v"].shape == (4, 1)


@pytest.mark.parametrize("form", ["nc", "zarr"])
def test_the_dimension_that_grows_is_found(files: list[str], tmp_path: Path, form: str) -> None:
    target = str(tmp_path / f"target.{form}")
    nczarr.convert(files[0], target)
    assert run_command("append", files[1], target).status == 0
    nczarr.append(files[2], target)
    assert nczarr.open(target)["v"].shape == (6, 1)


def test_dimensions_that_may_grow_are_named(tmp_path: Path) -> None:
    target, source = (day(tmp_path / f"{name}.nc", "1, 2, 3, 4", t="2", x=2) for name in "ab")
    ran = run_command("append", source, target)
    assert ran.status == 1
    assert "error[unmatched-dimension]" in ran.err
    assert "name it with `--along t` or `--along x`" in ran.err


def test_a_longer_fixed_dimension_is_not_extended(files: list[str], tmp_path: Path) -> None:
    before = nczarr.digest(files[0])
    ran = run_command("append", day(tmp_path / "wide.nc", "1, 2, 3, 4", x=2), files[0])
    assert ran.status == 1
    assert "name it with `--along t` or `--along x`" in ran.err
    assert nczarr.digest(files[0]) == before
