"""Reference documents and folders of Parquet references in a bucket, as sources and as targets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nczarr.formats.reference import parquet_rows
from nczarr.stores.memory import MemoryStore
from tests.support.library import library
from tests.support.s3 import S3

library("pyarrow")
fsspec = library("fsspec")

ARRAY = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "compressor": None, "fill_value": 0}
DOCUMENTS = {
    ".zgroup": b'{"zarr_format":2}',
    "x/.zarray": json.dumps({**ARRAY, "filters": None, "order": "C"}).encode(),
}


@pytest.mark.slow
def test_documents_in_a_bucket(s3: S3, tmp_path: Path) -> None:
    source, target = s3.url("refs/t.json"), s3.url("refs/out.json")
    (tmp_path / "t.json").write_text(
        json.dumps({"version": 1, "templates": {"u": "v"}, "refs": {"a": ["{{u}}", 0, 1]}})
    )
    assert s3.run("refs", "expand", str(tmp_path / "t.json"), "-o", source).status == 0
    assert json.loads(s3.run("refs", "expand", source).out) == {"a": ["v", 0, 1]}
    assert s3.run("refs", "compact", source, "-o", target).status == 0
    ran = s3.run("refs", "compact", source, "-o", target)
    assert ran.status == 2
    assert "target-exists" in ran.err
    assert s3.run("refs", "compact", source, "-o", target, "--overwrite").status == 0
    assert json.loads(s3.run("refs", "expand", target).out) == {"a": ["v", 0, 1]}
    assert s3.run("refs", "expand", s3.url("refs/nothing.json")).status == 3


@pytest.mark.slow
def test_parquet_references_in_a_bucket(s3: S3) -> None:
    store = MemoryStore()
    parquet_rows.write(store, DOCUMENTS.items(), {"x/1": b"\1\2"}, [])
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    for key, data in store.content.items():
        files.pipe_file(s3.url(f"refs/t.parq/{key}"), data)
    wanted = {**{key: data.decode() for key, data in DOCUMENTS.items()}, "x/1": "base64:AQI="}
    assert json.loads(s3.run("refs", "expand", s3.url("refs/t.parq")).out) == wanted
    ran = s3.run("refs", "expand", s3.url("refs/t.parq"), "-o", s3.url("refs/t.parq"), "--overwrite")
    assert ran.status == 2
    assert "is a folder" in ran.err
