"""Writing an open dataset that is damaged says the same as converting its file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nczarr
from tests.conftest import Ran


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A store with a variable that cannot be read beside one that can."""
    document = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None, "filters": None}
    document |= {"order": "C", "fill_value": 0}
    for name, made in (("good", document), ("bad", {**document, "dtype": "<q9"})):
        (tmp_path / "s.zarr" / name).mkdir(parents=True)
        (tmp_path / "s.zarr" / name / ".zarray").write_text(json.dumps(made))
    (tmp_path / "s.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    return tmp_path / "s.zarr"


def codes(found: Any) -> list[str]:
    return [each.code for each in found if each.code != "unnamed-dimension"]


def test_what_was_left_out_is_refused(damaged: Path, tmp_path: Path) -> None:
    found = nczarr.open(damaged)
    assert list(found) == ["/good"]
    assert codes(found.losses) == codes(found.diagnostics)
    calls: list[Callable[[], Any]] = [
        lambda: nczarr.write(found, tmp_path / "t.nc"),
        lambda: nczarr.convert(found, tmp_path / "t.zarr"),
        lambda: found.to_keys(),
    ]
    for call in calls:
        with pytest.raises(nczarr.CompileError) as caught:
            call()
        assert codes(caught.value.diagnostics) == codes(found.losses)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["s.zarr"]


def test_the_command_line_says_the_same(damaged: Path, tmp_path: Path, nczarr_command: Callable[..., Ran]) -> None:
    (loss,) = nczarr.open(damaged).losses
    ran = nczarr_command("convert", str(damaged), str(tmp_path / "t.nc"))
    assert ran.status == 1
    assert f"error[{loss.code}]: {loss.message}" in ran.err


def test_what_was_left_out_is_a_warning_where_that_is_accepted(damaged: Path, tmp_path: Path) -> None:
    found = nczarr.open(damaged)
    (loss,) = found.losses
    warnings = nczarr.write(found, tmp_path / "t.nc", allow_loss=[loss.code])
    assert loss.code in codes(warnings)
    assert list(nczarr.open(tmp_path / "t.nc")) == ["/good"]


def test_a_whole_dataset_is_written_as_before(tmp_path: Path) -> None:
    found = nczarr.from_cdl("netcdf t { variables: int v ; data: v = 1 ; }")
    assert found.losses == ()
    assert nczarr.write(found, tmp_path / "t.nc") == ()
