"""Sources at URLs are combined as those of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.remote.conftest import S3

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
    assert (ran.status, ran.err) == (0, f"`{document}`: 12 references, 6 targets, 12 chunks read\n")
    assert s3.run("diff", document, whole).status == 0
