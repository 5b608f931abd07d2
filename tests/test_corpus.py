"""The corpus of netcdf-c: what ncgen accepts, we compile; what it rightly refuses, we refuse with a diagnostic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases

NOT_CDL = {"nczarr_test__ref_ut_map_writemeta.cdl", "nczarr_test__ref_ut_map_writemeta2.cdl"} | {
    "nczarr_test__ref_ut_mapapi_meta.cdl",  # dumps of keys
    "nczarr_test__ref_any.cdl",  # a template: @placeholders@ stand for values
    "nczarr_test__ref_byte.cdl",  # a variable named `byte`
    "ncdump__ref_tst_vlen_data2.cdl",  # compounds with more values than fields
}
"""Files that no CDL compiler can take (ncgen refuses them with every kind)."""


@pytest.mark.slow
def test_every_file_that_is_cdl_compiles(shared: Path) -> None:
    folder = shared / "data" / "netcdf-c" / "cdl"
    files = json.loads((folder / "index.json").read_text("utf-8"))["files"]
    accepted = {entry["file"] for entry in files if entry["ncgen_result"] == "ok"}
    assert len(accepted) >= 184
    failed: dict[str, list[str]] = {}
    for entry in files:
        name = entry["file"]
        report = Report()
        checked = phases.read(Source(name, (folder / name).read_bytes()), report, Options())
        if (checked is None) != (name in NOT_CDL):
            failed[name] = [found.code for found in report.list_sorted()]
        if checked is None:
            assert report.errors, f"{name} is refused without a word"
    assert failed == {}
