"""A real S3 server: there and back, exact; requests counted; keys that are wrong; processes that are killed."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT
from tests.support.chunky_files import make_chunky
from tests.support.peers.exactness import real, real_folder
from tests.support.proof import part, share
from tests.support.s3 import S3

pytestmark = pytest.mark.peer

CHUNKS = 125
"""Chunks of the file that is sent again and again. Five are never written; a small array is sent whole."""

SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))


@pytest.fixture(scope="session")
def chunky(tmp_path_factory: pytest.TempPathFactory, peer: object) -> Path:
    """A netCDF-4 file of 120 deflated chunks of some kilobytes, and five that are never written."""
    path = tmp_path_factory.mktemp("chunky") / "chunky.nc"
    make_chunky(path, CHUNKS - 5, 3000)
    return path


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("path", "form"),
    list(zip(SAMPLES, itertools.cycle(["nczarr", "nczarr3"]))),
    ids=lambda each: getattr(each, "stem", each),
)
def test_samples_come_back_exact(s3: S3, path: Path, form: str, tmp_path: Path) -> None:
    url = s3.url(f"samples/{form}/{path.stem}.zarr")
    nczarr.convert(path, tmp_path / "a.nc")
    nczarr.convert(tmp_path / "a.nc", url, form, verify=True)
    nczarr.convert(url, tmp_path / "b.nc")
    assert s3.same(tmp_path / "a.nc", tmp_path / "b.nc") == ""
    assert nczarr.diff(path, url) == []
    assert nczarr.digest(tmp_path / "a.nc") == nczarr.digest(url)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nc", ".zip", ".cdl"])
def test_single_files_come_back(s3: S3, suffix: str) -> None:
    url = s3.url(f"single/every{suffix}")
    source = ROOT / "samples" / "05-every-type.cdl"
    assert s3.run("convert", str(source), url).status == 0
    assert s3.run("diff", str(source), url).status == 0
    assert s3.run("convert", str(source), url).status == 2


@pytest.mark.slow
def test_zarr_python_reads_what_is_there(s3: S3, chunky: Path) -> None:
    zarr = pytest.importorskip("zarr")
    for form in ("zarr2", "zarr3"):
        url = s3.url(f"zp/{form}.zarr")
        nczarr.convert(chunky, url, form, variables=["v"])
        found = zarr.open_group(url, mode="r")["v"][:3]
        with nczarr.open(chunky) as ours:
            assert np.array_equal(found, ours["/v"][:3])


@pytest.mark.slow
def test_a_bucket_is_named_by_its_server(s3: S3) -> None:
    source, key = str(ROOT / "samples" / "05-every-type.cdl"), "named.zarr"
    url = f"{s3.environment['AWS_ENDPOINT_URL']}/tests/{key}#mode=nczarr,s3"
    elsewhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    done = s3.run("convert", source, url, "--verify", **elsewhere)
    assert done.status == 0, done.err
    assert s3.run("diff", source, url, **elsewhere).status == 0
    assert s3.run("diff", source, s3.url(key)).status == 0


@pytest.mark.slow
def test_a_wrong_key_is_told_in_the_words_of_the_server_without_secrets(s3: S3, chunky: Path) -> None:
    secret, key = "hush" * 10, "AKIAHUSHHUSHHUSH0000"
    url = s3.url("denied.zarr")
    for environment in ({"AWS_SECRET_ACCESS_KEY": secret}, {"AWS_ACCESS_KEY_ID": key}):
        for command in (
            ["convert", str(chunky), url],
            ["dump", url],
            ["convert", s3.url("single/every.nc"), "/tmp/n.nc"],
        ):
            done = s3.run(*command, "--verbose", **environment)
            assert done.status == 3
            assert re.search("signature|access key", done.err, re.IGNORECASE)
            assert secret not in done.err
            assert key not in done.err
    option = ["--storage-option", f"secret={secret}", "--storage-option", f"key={key}"]
    done = s3.run("convert", str(chunky), url, *option)
    assert (done.status, secret in done.err, key in done.err) == (3, False, False)
    assert s3.run("dump", url).status == 3


@pytest.mark.slow
def test_whoever_may_only_read_writes_nothing(s3: S3, chunky: Path) -> None:
    reader = {
        "AWS_ACCESS_KEY_ID": s3.environment["READER_ACCESS_KEY_ID"],
        "AWS_SECRET_ACCESS_KEY": s3.environment["READER_SECRET_ACCESS_KEY"],
    }
    done = s3.run("convert", str(chunky), s3.url("reader.zarr"), **reader)
    assert done.status == 3
    assert "denied" in done.err.lower()
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_bucket_that_is_not_there(s3: S3, chunky: Path) -> None:
    for command in (["convert", str(chunky), "s3://nothing-here/a.zarr"], ["dump", "s3://nothing-here/a.zarr"]):
        done = s3.run(*command)
        assert done.status == 3
        assert "bucket does not exist" in done.err


@pytest.mark.slow
def test_one_request_a_chunk_and_sixteen_at_once(s3: S3, chunky: Path, tmp_path: Path) -> None:
    url = s3.url("counted.zarr")
    s3.proxy.clear()
    s3.proxy.seconds = 0.02
    assert s3.run("convert", str(chunky), url, **s3.counted).status == 0
    sent = chunk_puts(s3)
    assert len(sent) == CHUNKS + 1
    assert set(sent.values()) == {1}
    documents = sum(request.method == "PUT" for request in s3.proxy.requests) - len(sent)
    others = len(s3.proxy.requests) - len(sent) - documents
    assert others <= 9  # three of them look at the lock, and remove it
    assert 12 <= s3.proxy.most <= 64
    s3.proxy.clear()
    assert s3.run("convert", url, str(tmp_path / "back.nc"), **s3.counted).status == 0
    gets = [request for request in s3.proxy.requests if request.method == "GET"]
    assert len(s3.proxy.requests) <= CHUNKS + documents + 7
    assert len(gets) > CHUNKS
    assert s3.same(chunky, tmp_path / "back.nc") == ""


@pytest.mark.slow
def test_large_objects_are_sent_in_parts(s3: S3, tmp_path: Path) -> None:
    """So that what is held of them in memory does not grow with them."""
    source = tmp_path / "large.nc"
    make_chunky(source, 9, 2_000_000, 2**31)
    s3.proxy.clear()
    assert s3.run("convert", str(source), s3.url("large.nc"), **s3.counted).status == 0
    sent = [request.path for request in s3.proxy.requests if request.method == "PUT" and "/large.nc" in request.path]
    assert len(sent) == 5
    assert all("partNumber=" in path for path in sent)
    assert nczarr.diff(source, s3.url("large.nc")) == []


def chunk_puts(s3: S3) -> Counter[str]:
    """How often each key of data was put, and the server said that it was."""
    done = (request for request in s3.proxy.requests if request.method == "PUT" and request.status == 200)
    paths = (unquote(request.path.partition("?")[0]) for request in done)
    return Counter(path for path in paths if not path.rpartition("/")[2].startswith(".z") and ".nczarr-" not in path)


def killed(s3: S3, source: Path, url: str, role: str, after: float) -> int:
    """Convert, and kill a process on the way; the status of ours."""
    process = s3.process("convert", str(source), url, "--storage-option", "retries=1", **s3.counted)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.kill(process.pid if role == "own" else s3.pid(role), signal.SIGKILL)
    try:
        process.communicate(timeout=120)
    finally:
        process.kill()
        if role != "own":  # else the tests behind this one have no server
            s3.start()
    return process.returncode


def check_resumed(s3: S3, source: Path, url: str, status: int) -> None:
    """After a kill: refused where it is unfinished, then gone on with to its end, nothing sent twice."""
    assert status in (0, 3, -signal.SIGKILL)
    if status:
        dumped = s3.run("dump", "-h", url)
        if dumped.status:  # else it was killed when all was done
            assert dumped.status in (1, 3)
            assert "unfinished-store" in dumped.err or "No such" in dumped.err
        resumed = s3.run("convert", str(source), url, "--resume", "--verify", **s3.counted)
        assert resumed.status == 0, resumed.err
    twice = {key for key, count in chunk_puts(s3).items() if count > 1}
    assert not twice
    assert s3.run("diff", str(source), url).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("role", ["s3", "own"])
def test_a_killed_run_is_gone_on_with(s3: S3, chunky: Path, role: str) -> None:
    s3.proxy.clear()
    url = s3.url(f"killed/{role}.zarr")
    status = killed(s3, chunky, url, role, 0.8)
    check_resumed(s3, chunky, url, status)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["s3", "filer", "own"])
def test_killed_at_thirty_moments(s3: S3, chunky: Path, role: str) -> None:
    choose = random.Random(role)
    start = time.monotonic()
    assert s3.run("convert", str(chunky), s3.url(f"killed/whole-{role}.zarr")).status == 0
    whole = time.monotonic() - start
    unfinished = 0
    for number in range(share(30)):
        s3.proxy.clear()
        url = s3.url(f"killed/{role}-{number}.zarr")
        status = killed(s3, chunky, url, role, choose.uniform(0.3, whole))
        unfinished += status != 0
        check_resumed(s3, chunky, url, status)
    assert unfinished


def real_files() -> list[Path]:
    """The real files by size; a visible skip where there are none."""
    folder = real_folder()
    if folder is None:
        pytest.skip("no real files: `real-files DIR`, and NCZARR_REAL names DIR")
    paths = [subject.path for subject in real(folder)]
    return sorted(paths, key=lambda path: (path.stat().st_size, path.name))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nczarr", "nczarr3"])
def test_real_files_come_back_exact(s3: S3, form: str, tmp_path: Path) -> None:
    paths = real_files()
    paths = paths[:: max(1, len(paths) // 20)][:20]
    assert len(paths) == 20
    for number, path in enumerate(part(paths)):
        url = s3.url(f"real/{form}/{number}.zarr")
        nczarr.convert(path, url, form, verify=True)
        back = tmp_path / f"{number}.nc"
        nczarr.convert(url, back)
        assert s3.same(path, back) == "", path.name
        assert nczarr.digest(path) == nczarr.digest(url), path.name


@pytest.mark.slow
def test_digests_of_real_files_are_those_of_their_stores_on_s3(s3: S3) -> None:
    wrong = []
    for number, path in enumerate(part(real_files())):
        url = s3.url(f"digests/{number}.zarr")
        nczarr.convert(path, url, ("nczarr", "nczarr3")[number % 2])
        if nczarr.digest(path) != nczarr.digest(url):
            wrong.append(path.name)
    assert wrong == []


@pytest.mark.giant
def test_a_gigabyte_comes_back_exact(s3: S3, tmp_path: Path) -> None:
    path = tmp_path / "large.nc"
    make_chunky(path, share(1024), 1 << 18, 2**31)
    assert path.stat().st_size > share(1024) * 1e6
    url = s3.url("gigabyte.zarr")
    assert s3.run("convert", str(path), url, "--verify").status == 0
    assert s3.run("convert", url, str(tmp_path / "back.nc")).status == 0
    assert s3.same(path, tmp_path / "back.nc") == ""
    assert s3.run("convert", str(path), s3.url("gigabyte.nc")).status == 0
    assert s3.run("convert", s3.url("gigabyte.nc"), str(tmp_path / "again.nc")).status == 0
    assert s3.same(path, tmp_path / "again.nc") == ""
