"""Sources at URLs are combined as those of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from tests.conftest import Ran
from tests.support.s3 import S3
from tests.support.series import content, day

TEXT = "netcdf t {{ dimensions: t = UNLIMITED ; x = 3 ; variables: int t(t) ; int v(t, x) ; data: t = {} ; v = {} ; }}"


@pytest.mark.slow
def test_stores_and_files_in_a_bucket(s3: S3, nczarr_command: Callable[..., Ran], tmp_path: Path) -> None:
    texts = {"a.zarr": ("0, 1", "1, 2, 3, 4, 5, 6"), "b.nc": ("2", "7, 8, 9"), "c.zarr": ("3", "10, 11, 12")}
    for name, (times, values) in texts.items():
        (tmp_path / "t.cdl").write_text(TEXT.format(times, values))
        ran = s3.run("compile", str(tmp_path / "t.cdl"), "-o", s3.url(f"combine/{name}"), "--chunks", "t=1")
        assert ran.status == 0, ran.err
    out = str(tmp_path / "out.cdl")
    ran = s3.run("refs", "combine", *(s3.url(f"combine/{name}") for name in texts), "--along", "t", "-o", out, "-q")
    assert (ran.status, ran.err) == (0, "")
    (tmp_path / "whole.cdl").write_text(TEXT.format("0, 1, 2, 3", ", ".join(map(str, range(1, 13)))))
    assert nczarr_command("diff", out, str(tmp_path / "whole.cdl")).status == 0


@pytest.mark.slow
def test_references_to_files_and_stores_in_a_bucket(s3: S3, tmp_path: Path) -> None:
    sources = []
    for number, name in enumerate(("a.nc", "b.nc", "c.zarr")):
        values = ", ".join(str(1000 * number + each) for each in range(60))
        text = TEXT.replace("x = 3", "x = 30").format(f"{2 * number}, {2 * number + 1}", values)
        (tmp_path / "t.cdl").write_text(text)
        sources.append(s3.url(f"referred/{name}"))
        ran = s3.run("compile", str(tmp_path / "t.cdl"), "-o", sources[-1], "--chunks", "t=1", "--codec", "none")
        assert ran.status == 0, ran.err
    whole, document = s3.url("referred/whole.zarr"), s3.url("referred/all.json")
    for out in (whole, document):
        ran = s3.run("refs", "combine", *sources, "--along", "t", "-o", out, "-q")
        assert (ran.status, ran.err) == (0, "")
    ran = s3.run("refs", "verify", document, "--chunks", "all")
    assert (ran.status, ran.err) == (0, f"`{document}`: 9 references, 5 targets, 9 chunks read\n")
    assert s3.run("diff", document, whole).status == 0


@pytest.mark.slow
def test_processes_read_files_in_a_bucket(s3: S3, tmp_path: Path) -> None:
    """The document is that of one process; a file that changes is read again, and another one is appended."""
    sources = []
    for number in range(20):
        nczarr.write(day(number), tmp_path / "t.nc", overwrite=True)
        sources.append(s3.url(f"days/{number:02}.nc"))
        assert s3.run("convert", str(tmp_path / "t.nc"), sources[-1], "-q").status == 0
    for workers in (1, 2):
        target, options = str(tmp_path / f"{workers}.json"), ["--along", "time", "--workers", str(workers), "--resume"]
        ran = s3.run("refs", "combine", *sources[:19], "-o", target, *options, "-q")
        assert (ran.status, ran.err) == (0, "")
    assert content(tmp_path / "1.json") == content(tmp_path / "2.json")
    targets = json.loads((tmp_path / "1.json").read_text())["nczarr"]["targets"]
    assert [set(facts) for facts in targets.values()] == [{"size", "etag"}] * 19
    assert s3.run("refs", "append", str(tmp_path / "1.json"), sources[19], "-q").status == 0
    ran = s3.run("refs", "combine", *sources, "-o", str(tmp_path / "all.json"), "--along", "time", "-q")
    assert (ran.status, ran.err) == (0, "")
    assert content(tmp_path / "1.json") == content(tmp_path / "all.json")
    ran = s3.run("refs", "verify", str(tmp_path / "1.json"), "--chunks", "all")
    assert ran.status == 0, ran.err
    document = s3.url("days/all.json")
    assert s3.run("refs", "combine", *sources[:10], "-o", document, "--along", "time", "-q").status == 0
    assert s3.run("refs", "append", document, *sources[10:], "-q").status == 0
    assert s3.run("diff", document, str(tmp_path / "all.json")).status == 0
