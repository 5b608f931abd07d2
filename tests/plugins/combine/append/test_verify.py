"""`append --verify`: records that were not written as the sources have them do not become visible."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.common.store_changes import ExtensibleFolder
from tests.conftest import run_command

TEXT = """netcdf s {{ dimensions: time = UNLIMITED ; x = 3 ;
variables: double time(time) ; float v(time, x) ; string s(time) ; v:_Storage = "chunked" ; v:_ChunkSizes = 2, 3 ;
data: time = {time} ; v = {v} ; s = {s} ; }}"""


def days(*times: int) -> nczarr.api.handle.DatasetHandle:
    """Some days; a cell is missing in each."""
    rows = ", ".join(f"{10 * time}, NaN, {10 * time + 2}" for time in times)
    texts = ", ".join(f'"{time}"' for time in times)
    return nczarr.from_cdl(TEXT.format(time=", ".join(map(str, times)), v=rows, s=texts))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("form", ["zarr2", "zarr3", "nczarr", "icechunk", "netcdf4"])
def test_what_was_written_is_what_the_sources_have(form: str, tmp_path: Path) -> None:
    if form == "icechunk":
        pytest.importorskip("icechunk")
    target = f"icechunk:{tmp_path / 'r'}" if form == "icechunk" else str(tmp_path / "t")
    nczarr.write(days(0, 1, 2), target, form)
    done = nczarr.append([days(3), days(4, 5)], target, along="time", verify=True)
    assert "nczarr" in done.verified_with
    assert nczarr.open(target)["time"][:].tolist() == [0, 1, 2, 3, 4, 5]
    if form not in ("icechunk", "netcdf4"):
        done = nczarr.append(days(5, 6), target, along="time", region="auto", verify=True)
        assert nczarr.open(target)["v"][:, 0].tolist() == [10 * time for time in range(7)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ["v/c/1", "v/c/2", "time/c/1", "s/c/"])
def test_a_wrong_chunk_is_an_error_and_leaves_nothing(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "t.zarr"
    nczarr.write(days(0, 1, 2), target, "zarr3", chunks={"time": 2})
    nczarr.write(days(3, 4, 5), tmp_path / "next.nc")
    before, original, damaged = files(target), ExtensibleFolder._write, []

    def damage(self: Any, name: str, pieces: Iterable[Any]) -> None:
        data = b"".join(bytes(piece) for piece in pieces)
        if key in name:
            damaged.append(name)
            data = data[:-2] + bytes(np.frombuffer(data[-2:], "u1") ^ 1)
        original(self, name, (data,))

    with monkeypatch.context() as patch:
        patch.setattr(ExtensibleFolder, "_write", damage)
        ran = run_command("append", str(tmp_path / "next.nc"), str(target), "--along", "time", "--verify")
    if not damaged:
        pytest.skip("no such key was written")
    assert ran.status == 1
    assert "error[unequal-target]" in ran.err
    assert files(target) == before
    done = run_command("append", str(tmp_path / "next.nc"), str(target), "--along", "time", "--verify")
    assert (done.status, "verified" in done.err) == (0, True)
