"""The journal of a combination: where it is, and that one run writes it."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

import nczarr
from nczarr.plugins.combine.join.journal import SUFFIX
from tests.conftest import run_command

CDL = "netcdf t { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("a", "1, 2"), ("b", "3, 4")):
        nczarr.write(nczarr.from_cdl(CDL % text), f"{name}.nc", kind="nc4")


def combine(target: str, *flags: str) -> list[str]:
    return ["refs", "combine", "a.nc", "b.nc", "--along", "t", "-o", target, *flags]


@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/"])
def test_a_second_run_is_refused(tmp_path: Path, form: str) -> None:
    target = form.format(tmp_path / "t.json")
    with open(tmp_path / f"t.json{SUFFIX}", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run_command(*combine(target, "--resume"))
        with pytest.raises(nczarr.CompileError, match="busy-target"):
            nczarr.refs.combine(["a.nc", "b.nc"], tmp_path / "t.json", along="t", resume=True)
    assert done.status == 2
    assert f"error[busy-target]: `{target.rstrip('/')}" in done.err
    assert not (tmp_path / "t.json").exists()
    done = run_command(*combine(target, "--resume"))
    assert done.status == 0, done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "b.nc", "t.json"]


@pytest.mark.parametrize("length", [100, 236, 246, 255])
def test_long_names(tmp_path: Path, length: int) -> None:
    target = "t" * (length - 5) + ".json"
    done = run_command(*combine(target, "--resume"))
    assert done.status == 0, done.err
    done = run_command(*combine(target, "--resume", "--overwrite"))
    assert done.status == 0, done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "b.nc", target]
