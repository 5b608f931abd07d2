"""Targets in a bucket and behind a web server are looked at as those of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from nczarr import refs
from tests.support.s3 import S3

TEXT = "netcdf t { dimensions: x = 4 ; y = 50 ; variables: int v(x, y) ; data: v = VALUES ; }"


def made(folder: Path) -> Path:
    path = folder / "t.cdl"
    path.write_text(TEXT.replace("VALUES", ", ".join(map(str, range(200)))))
    return path


@pytest.mark.slow
def test_targets_in_a_bucket(s3: S3, tmp_path: Path) -> None:
    store, document = s3.url("verify/t.zarr"), s3.url("verify/t.json")
    assert s3.run("compile", str(made(tmp_path)), "-o", store, "--chunks", "x=1", "--codec", "zlib:1").status == 0
    assert s3.run("convert", store, document, "-q").status == 0
    ran = s3.run("refs", "verify", document, "--chunks", "all")
    assert (ran.status, ran.out) == (0, b"")
    assert ran.err == f"`{document}`: 4 references, 4 targets, 4 chunks read\n"
    (tmp_path / "t.json").write_text(json.dumps({"x/0": [f"{store}/v/0.0", 0, 10**6], "x/1": [f"{store}/v/9.9"]}))
    ran = s3.run("refs", "verify", str(tmp_path / "t.json"), "--chunks", "none")
    assert ran.status == 3
    assert f"`x/0` refers to 1000000 bytes at 0 of `{store}/v/0.0`, which has " in ran.err
    assert f"`{store}/v/9.9`, the target of `x/1`, cannot be reached: No such file or object" in ran.err


@pytest.mark.slow
def test_a_tag_that_has_changed(s3: S3, tmp_path: Path) -> None:
    assert s3.run("compile", str(made(tmp_path)), "-o", s3.url("verify/t.nc")).status == 0
    document = tmp_path / "t.json"
    assert s3.run("convert", s3.url("verify/t.nc"), str(document), "-q").status == 0
    assert json.loads(document.read_text())["nczarr"]["targets"][s3.url("verify/t.nc")]["etag"]
    assert s3.run("refs", "verify", str(document)).status == 0
    (tmp_path / "t.cdl").write_text((tmp_path / "t.cdl").read_text().replace("v = 0,", "v = 7,"))
    assert s3.run("compile", str(tmp_path / "t.cdl"), "-o", s3.url("verify/t.nc"), "--overwrite").status == 0
    ran = s3.run("refs", "verify", str(document), "--message-format", "json")
    assert ran.status == 1
    (found,) = [json.loads(line) for line in ran.err.splitlines()]
    assert found["code"] == "changed-target"
    assert "its tag was" in found["message"]


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, whole."""

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as found:
        thread = Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


@pytest.mark.slow
def test_targets_behind_a_web_server(server: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "a").write_bytes(b"12345678")
    document = {"x/0": [f"{server}/a", 0, 8], "x/1": [f"{server}/a", 4, 5], "x/2": [f"{server}/b"]}
    found = refs.verify(document, chunks="none", storage_options={"retries": 0})
    assert sorted((each.code, each.message.partition(" refers")[0].partition(",")[0]) for each in found) == [
        ("range-beyond-target", "`x/1`"),
        ("unreachable-target", f"`{server}/b`"),
    ]
