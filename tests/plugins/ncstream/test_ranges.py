"""Remote streams are read by ranges: the header, the beginnings of messages, and the values that are asked for."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nczarr
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.ncstream.read import frontend
from tests.conftest import ROOT, run_command
from tests.support.library import library
from tests.support.ranged_server import RangedServer

library("aiohttp", reason="aiohttp is not installed: nczarr[remote]")

LENGTH = 4_000_000
PIECES = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stream of 48 MB: numbers in one message and in many, texts, lists."""
    path = tmp_path_factory.mktemp("streams")
    text = (
        f"netcdf a {{ types: int(*) list ; dimensions: x = {LENGTH} ; n = 3 ; variables: double v(x) ; float p(x) ; "
        'string s(n) ; list l(n) ; s:units = "1" ; data: s = "a", "b", "c" ; l = {1, 2}, {}, {3} ; }'
    )
    dataset = nczarr.from_cdl(text)
    values, step = np.arange(LENGTH), LENGTH // PIECES
    parts = [slice(first, first + step) for first in range(0, LENGTH, step)]
    with (path / "a.ncs").open("wb") as file:
        file.write(b"CDFS" + nczarr.ncstream.header_message(dataset))
        messages = [nczarr.ncstream.data("v", values.astype("f8"))]
        ranges = [(range(part.start, part.stop),) for part in parts]
        messages += [
            nczarr.ncstream.data("p", values[part].astype("f4"), section)
            for part, section in zip(parts, ranges, strict=True)
        ]
        nczarr.ncstream.write_messages(messages, file)
        file.writelines(nczarr.ncstream.data_messages(dataset, [("/s", None), ("/l", None)]))
        file.write(b"\xed\xed\xde\xde")
    return path


@pytest.fixture
def server(folder: Path) -> Iterator[RangedServer]:
    served = RangedServer(folder)
    yield served
    served.close()


def test_requests_and_bytes(folder: Path, server: RangedServer) -> None:
    near = nczarr.open(folder / "a.ncs")
    url = f"{server.url}/a.ncs"
    far = nczarr.open(url)
    assert far.dataset == near.dataset
    assert (len(server.asked), server.sent) < (3, 70_000)
    for name, region, most, size in (
        ("v", slice(1_000_000, 1_000_010), PIECES + 5, 250_000),  # with the beginnings of all messages
        ("p", slice(30_000, 30_010), 1, 40),
        ("p", slice(99_990, 100_010), 2, 80),
        ("s", slice(None), 0, 0),  # in the blocks that were fetched for the index
        ("l", slice(None), 0, 0),
        ("p", slice(None), PIECES, 4 * LENGTH),
    ):
        server.asked.clear()
        assert repr(far[name][region]) == repr(near[name][region])
        assert len(server.asked) <= most
        assert server.sent <= size


@pytest.mark.long
def test_values_are_those_of_the_file(folder: Path, server: RangedServer) -> None:
    url = f"{server.url}/a.ncs"
    assert nczarr.diff(folder / "a.ncs", url) == []
    far = pickle.loads(pickle.dumps(nczarr.open(url)))
    assert far["p"][7:9].tolist() == [7, 8]


def test_a_server_without_ranges_sends_the_file(folder: Path, server: RangedServer) -> None:
    server.fault = lambda number: "whole"
    done = run_command("dump", "-h", f"{server.url}/a.ncs")
    assert done.status == 0
    assert "unranged-server" in done.err


def test_a_stream_that_was_cut(folder: Path, server: RangedServer, tmp_path: Path) -> None:
    server.folder = tmp_path
    (tmp_path / "a.ncs").write_bytes((folder / "a.ncs").read_bytes()[:20_000_000])
    done = run_command("check", f"{server.url}/a.ncs")
    assert "unended-stream" in done.err
    with pytest.raises((OSError, CompileError), match="a block of 32000000 bytes, but only"):
        nczarr.open(f"{server.url}/a.ncs")["v"][5]


def test_a_stream_that_changes(folder: Path, server: RangedServer) -> None:
    far = nczarr.open(f"{server.url}/a.ncs")
    server.fault = lambda number: "other tag"
    with pytest.raises((OSError, CompileError), match="has changed since it was opened"):
        far["v"][5]


@pytest.mark.long
def test_a_message_of_no_variable(folder: Path, server: RangedServer, tmp_path: Path) -> None:
    server.folder = tmp_path
    other = io.BytesIO()
    nczarr.ncstream.write_messages([nczarr.ncstream.data("other", np.arange(3))], other)
    (tmp_path / "a.ncs").write_bytes((folder / "a.ncs").read_bytes()[:-4] + other.getvalue() + b"\xed\xed\xde\xde")
    done = run_command("convert", f"{server.url}/a.ncs", str(tmp_path / "b.zarr"), "--var", "s")
    assert done.status != 0
    assert "`other` is not a variable of the header" in done.err
    assert nczarr.open(f"{server.url}/a.ncs")["v"][5] == 5  # Python callers accept what cannot be read


def test_small_and_other_streams(server: RangedServer, tmp_path: Path) -> None:
    """Small files are fetched with one more request; streams without a header are read message by message."""
    server.folder = tmp_path
    nczarr.convert(ROOT / "samples" / "05-every-type.cdl", tmp_path / "small.ncs")
    assert nczarr.diff(tmp_path / "small.ncs", f"{server.url}/small.ncs") == []
    with (tmp_path / "bare.ncs").open("wb") as file:
        nczarr.ncstream.write_messages([nczarr.ncstream.data("v", np.arange(500_000.0))], file)
    assert nczarr.open(f"{server.url}/bare.ncs")["v"][7] == 7


@pytest.mark.parametrize("name", ["03-compound-vlen", "05-every-type", "06-strings", "02-grid-groups"])
def test_messages_of_every_kind_are_found_later(
    name: str, server: RangedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontend, "SMALL", 0)
    server.folder = tmp_path
    nczarr.convert(ROOT / "samples" / f"{name}.cdl", tmp_path / "a.ncs")
    assert nczarr.diff(tmp_path / "a.ncs", f"{server.url}/a.ncs") == []
