"""A last argument that is a source: the user has forgotten the target."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from tests.conftest import run_command

TEXT = "netcdf d { dimensions: t = UNLIMITED ; variables: double t(t) ; int v(t) ; data: t = %s ; v = 1, 2 ; }"


@pytest.fixture(params=["nc", "zarr"])
def days(tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    paths = []
    for day in range(3):
        paths.append(str(tmp_path / f"d_{day}.{request.param}"))
        nczarr.write(nczarr.from_cdl(TEXT % f"{2 * day}, {2 * day + 1}"), paths[-1])
    return paths


@pytest.mark.parametrize("way", [("--along", "t"), ("--new-dim", "run")])
def test_a_forgotten_target_is_asked_for(days: list[str], way: tuple[str, str]) -> None:
    before = nczarr.digest(days[2])
    unsaid = run_command("combine", *days, *way)
    assert unsaid.status == 2
    assert "the last argument is the target: is it missing?" in unsaid.err
    assert "--overwrite" not in unsaid.err
    said = run_command("combine", *days, *way, "--overwrite")
    assert said.status == 2
    assert "is it missing?" in said.err
    assert f"remove `{days[2]}` first" in said.err
    assert nczarr.digest(days[2]) == before


@pytest.mark.parametrize("way", [("--along", "t"), ("--new-dim", "run")])
def test_an_earlier_result_is_replaced(days: list[str], way: tuple[str, str]) -> None:
    result = str(Path(days[0]).with_stem("all"))
    assert run_command("combine", *days[:2], result, *way).status == 0
    assert run_command("combine", *days, result, *way, "--overwrite").status == 0
    assert nczarr.open(result)["t"].size == 6


def test_a_target_with_an_option_is_replaced(days: list[str]) -> None:
    for command in ("combine", "refs combine"):
        words = (*command.split(), *days[:2], "-o", days[2], "--along", "t")
        assert "replace it with `--overwrite`" in run_command(*words).err
        assert run_command(*words, "--overwrite").status == 0
    assert nczarr.open(days[2])["v"].size == 4


@pytest.mark.parametrize("overwrite", [False, True])
def test_sources_that_are_no_list(days: list[str], *, overwrite: bool) -> None:
    before = nczarr.digest(days[1])
    with pytest.raises(FileExistsError, match="sources are a list") as failure:
        nczarr.combine(days[0], days[1], along="t", overwrite=overwrite)  # type: ignore[arg-type]
    assert "overwrite" not in str(failure.value)
    assert nczarr.digest(days[1]) == before
