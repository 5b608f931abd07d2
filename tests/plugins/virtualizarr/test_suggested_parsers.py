"""Files that only parsers of VirtualiZarr read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import run_command


@pytest.mark.parametrize(
    ("head", "parser"),
    [
        (b"GRIB\0\0\0\2", "gribberish.virtualizarr:GribberishParser"),
        (b"MM\0*", "virtual_tiff:VirtualTIFF(ifd=0)"),
        (b"\x0e\x03\x13\x01", "virtualizarr.parsers:HDF4Parser"),
        (b"SIMPLE  =                    T", "virtualizarr.parsers:FITSParser"),
    ],
)
def test_a_parser_is_proposed(head: bytes, parser: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(head + bytes(100))
    ran = run_command("convert", str(tmp_path / "a.bin"), str(tmp_path / "a.nc"))
    assert (ran.status, (tmp_path / "a.nc").exists()) == (1, False)
    assert "error[unknown-format]" in ran.err
    assert f"--parser '{parser}'" in ran.err


def test_no_parser_is_proposed_for_noise(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(1, 100)))
    ran = run_command("dump", str(tmp_path / "a.bin"))
    assert "error[unknown-format]" in ran.err
    assert "--parser" not in ran.err
