"""Targets without a place for values: they say which values they leave out, and `--verify` refuses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from tests.conftest import Ran

SCHEMA = "netcdf d { dimensions: t = UNLIMITED ; x = 2 ; variables: int v(t, x), u(x) ; }"
WITH_VALUES = SCHEMA.replace("u(x) ;", 'u(x) ; string s(x) ; data: v = 1, 2 ; s = "a", "b" ;')
TARGETS = ["d.ncz", "d.ast.json"]
SOURCES = [("s.nc", "nc4"), ("s.zarr", None), ("s.cdl", None)]


@pytest.fixture(params=SOURCES, ids=[name for name, _ in SOURCES])
def write(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that writes the source of a text."""
    monkeypatch.chdir(tmp_path)
    name, kind = request.param

    def make(text: str) -> str:
        nczarr.write(nczarr.from_cdl(text), name, kind=kind)
        return str(name)

    return make


@pytest.mark.parametrize("target", TARGETS)
def test_values_that_are_left_out_are_one_warning(
    target: str, write: Callable[[str], str], nczarr_command: Callable[..., Ran]
) -> None:
    source = write(WITH_VALUES)
    ran = nczarr_command("convert", source, target)
    assert ran.status == 0
    assert ran.err.count("warning[lost-values]") == 1
    assert "those of `/v`, " in ran.err
    assert "`/s` are left out" in ran.err
    assert "lost" not in nczarr_command("convert", source, target, "--overwrite", "-W", "lost-values=ignore").err


@pytest.mark.parametrize("option", ["--strict", "--verify"])
@pytest.mark.parametrize("target", TARGETS)
def test_strict_and_verify_refuse_to_leave_values_out(
    option: str, target: str, write: Callable[[str], str], nczarr_command: Callable[..., Ran]
) -> None:
    ran = nczarr_command("convert", write(WITH_VALUES), target, option)
    assert ran.status == 1
    assert "error[lost-values]" in ran.err
    assert not Path(target).exists()


@pytest.mark.parametrize("target", TARGETS)
def test_a_schema_without_values_is_verified(
    target: str, write: Callable[[str], str], nczarr_command: Callable[..., Ran]
) -> None:
    source = write(SCHEMA)
    ran = nczarr_command("convert", source, target, "--verify", "--strict")
    assert (ran.status, "verified" in ran.err) == (0, True)
    assert nczarr.diff(source, target) == []


def test_other_ways_to_write_say_so_too(tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    (tmp_path / "d.cdl").write_text(WITH_VALUES)
    source = str(tmp_path / "d.cdl")
    handle = nczarr.open(source)
    assert [found.code for found in nczarr.convert(handle, tmp_path / "d.ncz").diagnostics] == ["lost-values"]
    assert "warning[lost-values]" in nczarr_command("compile", source, "-o", str(tmp_path / "e.ncz")).err
    assert "warning[lost-values]" in nczarr_command("convert", source, str(tmp_path / "f.ncz"), "--dry-run").err
    assert "warning[lost-values]" in nczarr_command("check", source, "--for", "notation").err
    assert nczarr_command("dump", source, "--as", "notation").err == ""
    assert nczarr.from_notation(handle.to_notation()).dataset == handle.dataset
