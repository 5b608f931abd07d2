"""A full disk: the message names the target, and nothing half written stays."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.stores import ranges
from nczarr.stores.open import add_path_to_errors
from tests.conftest import ROOT, run_command

CDL = "netcdf t { dimensions: t = UNLIMITED ; variables: int t(t) ; data: t = 1, 2 ; }"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "full-disk"),
        (errno.EDQUOT, "full-disk"),
        (errno.EACCES, "missing-permission"),
        (errno.EPERM, "missing-permission"),
        (errno.EIO, "unreachable-file"),
        (errno.ENOENT, "unreachable-file"),
    ],
)
def test_the_code_says_why_the_system_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    (tmp_path / "t.cdl").write_text(CDL)

    def refuse(*arguments: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(ranges, "write", refuse)
    done = run_command("compile", str(tmp_path / "t.cdl"), "-o", str(tmp_path / "t.zarr"))
    assert done.status == 3
    assert f"error[{code}]: `{tmp_path / 't.zarr'}`: {os.strerror(number)}" in done.err
    assert os.listdir(tmp_path) == ["t.cdl"]


def test_full_standard_output(tmp_path: Path) -> None:
    (tmp_path / "t.cdl").write_text(CDL)
    call = [sys.executable, "-m", "nczarr", "dump", str(tmp_path / "t.cdl")]
    with open("/dev/full", "wb") as target:
        done = subprocess.run(call, stdout=target, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    assert done.returncode == 3
    assert "error[full-disk]" in done.stderr
    assert "No space left on device" in done.stderr


def full(*arguments: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_failures_without_a_place_get_one() -> None:
    with pytest.raises(OSError, match="No space left") as caught, add_path_to_errors("t.nc"):
        full()
    assert caught.value.filename == "t.nc"
    with pytest.raises(OSError, match="No space left") as caught, add_path_to_errors("t.nc"):
        raise OSError(errno.ENOSPC, "No space left on device", "other.nc")
    assert caught.value.filename == "other.nc"


@pytest.mark.parametrize("name", ["t.nc", "t.cdl", "t.json", "t.ncs"])
def test_files_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The special file is always full."""
    source = tmp_path / "s.nc"
    nczarr.write(nczarr.from_cdl(CDL), source, kind="nc4")
    real = open

    def opened(path: Any, mode: str = "r", *given: Any, **options: Any) -> Any:
        if mode == "xb" and ".partial-" in str(path):
            real(path, mode).close()
            return real("/dev/full", "wb", *given, **options)
        return real(path, mode, *given, **options)

    monkeypatch.setattr("builtins.open", opened)
    also = {"t.nc": ["--kind", "nc3"], "t.ncs": ["--to", "ncstream"]}.get(name, [])
    done = run_command("convert", str(source), str(tmp_path / name), *also)
    assert done.status == 3
    assert f"error[full-disk]: `{tmp_path / name}`: No space left on device" in done.err
    assert os.listdir(tmp_path) == ["s.nc"]


def test_stores_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "s.nc", tmp_path / "t.zarr"
    nczarr.write(nczarr.from_cdl(CDL), source, kind="nc4")
    nczarr.convert(source, target)
    nczarr.write(nczarr.from_cdl(CDL.replace("1, 2", "3, 4")), source, kind="nc4", overwrite=True)
    monkeypatch.setattr(ranges, "write", full)
    commands = (["append", "--along", "t"], ["convert", "--overwrite"])
    for command, *also in commands:
        done = run_command(command, str(source), str(target), *also)
        assert done.status == 3
        assert f"error[full-disk]: `{target}`: No space left on device" in done.err
        assert "Traceback" not in done.err
    monkeypatch.undo()
    assert nczarr.open(target)["t"][:].tolist() == [1, 2]
