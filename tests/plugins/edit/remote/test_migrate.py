"""Migration and edit of stores on a real S3 server: documents alone, few requests, and whole after a kill."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from tests.support.s3 import S3

pytestmark = pytest.mark.peer

TEXT = """netcdf t {
dimensions:
  time = 4 ;
  x = 3 ;
variables:
%s
:title = "t" ;
}
"""


PUTS = {"a.zarr/.nczarr-journal", "a.zarr/v7/zarr.json", "a.zarr/zarr.json", ".a.zarr.nczarr-lock"}


def store(url: str, number: int, form: str = "zarr2") -> None:
    lines = "".join(f'  float v{index}(time, x) ;\n    v{index}:units = "C" ;\n' for index in range(number))
    nczarr.write(nczarr.from_cdl(TEXT % lines), url, form, allow_loss=["all"])


@pytest.mark.long
def test_migration_and_undo(s3: S3, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = s3.url("migrate/a.zarr")
    store(url, 20)
    before = nczarr.digest(url)
    done = nczarr.migrate(url, "zarr3")
    assert (len(done.added), len(done.removed), done.undo) == (21, 43, "a.zarr.undo-1.json")
    assert nczarr.digest(url) == before
    with pytest.raises(CompileError, match="unmigratable-store"):
        nczarr.migrate(url, "nczarr")
    nczarr.migrate(url, undo=done.undo)
    assert nczarr.digest(url) == before
    with pytest.raises(CompileError, match="unmatched-undo"):
        nczarr.migrate(url, undo=done.undo)


def test_an_edit_costs_few_requests(s3: S3, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = s3.url("edit/a.zarr")
    store(url, 20, "nczarr3")
    s3.proxy.clear()
    assert s3.run("edit", url, "--set", '/v7@units="K"', "--undo-file", "u.json", **s3.counted).status == 0
    puts = [request.path for request in s3.proxy.requests if request.method == "PUT"]
    assert {path.partition("/edit/")[2].partition("?")[0] for path in puts} == PUTS
    assert len(s3.proxy.requests) < 2 * 21 + 40  # each document is read twice, to prove the edit
    assert nczarr.open(url)["v7"].attributes["units"] == "K"
    with pytest.raises(CompileError, match="the bucket does not move them at once"):
        nczarr.edit(url, rename={"/v7": "w"})
    nczarr.edit(url, undo="u.json")
    assert nczarr.open(url)["v7"].attributes["units"] == "C"


@pytest.mark.slow
def test_kills(s3: S3, tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any moment, the store has the same values, and the same command completes it."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(1)
    for number in range(6):
        url = s3.url(f"kill/{number}.zarr")
        store(url, 60)
        before = nczarr.digest(url)
        process = s3.process("migrate", url, "--to", "zarr3")
        time.sleep(1 + 2 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert nczarr.digest(url) == before
        assert s3.run("migrate", url, "--to", "zarr3").status == 0
        assert nczarr.digest(url) == before
