"""`compile --dry-run` and `dump --as keys --to FORMAT`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import run_command

TEXT = "netcdf d { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.cdl").write_text(TEXT)


@pytest.mark.parametrize("target", ["d.nc", "d.zarr", "d.zip"])
def test_a_dry_run_of_compile_writes_nothing(target: str) -> None:
    ran = run_command("compile", "d.cdl", "-o", target, "--dry-run")
    assert (ran.status, "/v" in ran.out.decode(), "nothing was written" in ran.out.decode()) == (0, True, True)
    assert [path.name for path in Path().iterdir()] == ["d.cdl"]
    assert run_command("compile", "d.cdl", "--dry-run").status == 2


def test_keys_of_each_format_of_stores() -> None:
    assert "== v/zarr.json" in run_command("dump", "d.cdl", "--as", "keys", "--to", "zarr3").out.decode()
    assert "== v/.zarray" in run_command("dump", "d.cdl", "--as", "keys", "--to", "zarr2").out.decode()
    assert run_command("dump", "d.cdl", "--to", "zarr2").status == 2
    ran = run_command("dump", "d.cdl", "--as", "keys", "--to", "zar2")
    assert (ran.status, "did you mean `zarr2`?" in ran.err) == (2, True)
    assert run_command("dump", "d.cdl", "--as", "keys", "--to", "netcdf4").status == 2
