"""References in buckets and behind web servers: written there, read from there, and what a document may name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import nczarr
from tests.conftest import run_command
from tests.support.s3 import S3

TEXT = "netcdf t { dimensions: x = LENGTH ; variables: int v(x) ; data: v = VALUES ; }"


def made(folder: Path, length: int) -> Path:
    """Make a file of so many compressed chunks."""
    path = folder / "t.nc"
    text = TEXT.replace("LENGTH", str(length)).replace("VALUES", ", ".join(map(str, range(length))))
    nczarr.write(nczarr.from_cdl(text), path, kind="nc4", chunks={"x": 1}, codecs="zlib:1")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of four hundred compressed chunks."""
    return made(tmp_path, 400)


@pytest.mark.slow
def test_a_file_in_a_bucket(s3: S3, file: Path, tmp_path: Path) -> None:
    url, document = s3.url("through/t.nc"), s3.url("through/t.json")
    assert s3.run("convert", str(file), url).status == 0
    ran = s3.run("convert", url, document, "--relative", "--inline", "0", "--verify")
    assert ran.status == 0, ran.err
    s3.proxy.requests.clear()
    ran = s3.run("convert", document, str(tmp_path / "out.zarr"), **s3.counted)
    assert ran.status == 0, ran.err
    assert "400 chunks (400 copied, not decoded)" in ran.err
    ranges = [each for each in s3.proxy.requests if each.path.endswith("t.nc") and each.method == "GET"]
    assert 1 <= len(ranges) <= 10
    assert s3.run("diff", str(tmp_path / "out.zarr"), str(file)).status == 0
    assert s3.run("convert", document, s3.url("through/u.parq"), "--inline", "0").status == 0
    assert s3.run("diff", s3.url("through/u.parq"), str(file)).status == 0
    ran = s3.run("convert", document, str(tmp_path / "out.nc"), **s3.counted)
    assert ran.status == 0, ran.err
    assert s3.same(file, tmp_path / "out.nc") == ""


@pytest.mark.slow
def test_a_target_that_is_not_there_is_never_fill(s3: S3, tmp_path: Path) -> None:
    array = {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<i4", "fill_value": 0, "order": "C",
             "compressor": None, "filters": None}  # fmt: skip
    refs = {".zgroup": {"zarr_format": 2}, "v/.zarray": array, "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}}
    for url, status in ((s3.url("never.nc"), 3), ("s3://no-such-bucket/a.nc", 3), ("http://127.0.0.1:1/a.nc", 3)):
        (tmp_path / "t.json").write_text(json.dumps({**refs, "v/1": [url, 0, 4]}))
        ran = s3.run("dump", str(tmp_path / "t.json"), "--storage-option", "retries=0")
        assert ran.status == status
        assert "`v/1` of" in ran.err
        assert b"v = _" not in ran.out


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, whole, whatever range is asked for."""

    def log_message(self, *words: object) -> None:
        """Nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_web_server_without_ranges(web: str, tmp_path: Path) -> None:
    file = made(tmp_path, 40)
    done = run_command("convert", f"{web}/t.nc", str(tmp_path / "t.json"), "--relative", "--inline", "0")
    assert done.status == 0, done.err
    assert json.loads((tmp_path / "t.json").read_text())["refs"]["v/0"][0] == f"{web}/t.nc"
    (tmp_path / "u.json").write_text((tmp_path / "t.json").read_text().replace(f"{web}/", ""))
    for document in (str(tmp_path / "t.json"), f"{web}/t.json", f"{web}/u.json?for=some/body"):
        assert run_command("diff", document, str(file)).status == 0
    last = json.loads((tmp_path / "t.json").read_text())["refs"]["v/39"]
    (tmp_path / "t.nc").write_bytes(file.read_bytes()[: last[1] + 1])
    done = run_command("digest", f"{web}/t.json")
    assert done.status == 1
    assert "short-target" in done.err


@pytest.mark.slow
def test_a_document_from_elsewhere_names_no_files_of_this_machine(web: str, file: Path, tmp_path: Path) -> None:
    for url in (f"file://{file}", str(file), f"local://{file}"):
        (tmp_path / "t.json").write_text(json.dumps({".zgroup": {"zarr_format": 2}, "v/0": [url, 0, 4]}))
        done = run_command("check", f"{web}/t.json")
        assert done.status == 1
        assert "forbidden-target" in done.err
        assert run_command("check", f"{web}/t.json", "--source-root", str(tmp_path)).status == 0
        assert run_command("check", str(tmp_path / "t.json")).status == 0
