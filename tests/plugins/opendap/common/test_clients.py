"""Clients of DAP2 and DAP4 against a server: sections, what is requested, and answers that do not fit."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.plugins.common import dataset_service, remote_variable
from tests.conftest import run_command
from tests.support.library import library
from tests.support.opendap_server import Change, Reply, serving

library("aiohttp")

PROTOCOLS = ["dap2", "dap4"]

ARRAYS = {
    "b": np.arange(6, dtype="u1"),
    "i": np.arange(-6, 6, dtype="<i2").reshape(3, 4),
    "f": np.linspace(0, 1, 24, dtype="<f8").reshape(2, 3, 4),
    "one": np.array(7, "<i4"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sections_are_requested_when_they_are_read(protocol: str) -> None:
    with serving(ARRAYS) as server:
        found = nczarr.open(server.url(protocol))
        opened = len(server.requests)
        assert opened <= 2
        for name, values in ARRAYS.items():
            assert np.array_equal(found["/" + name][...], values)
            assert found["/" + name].shape == values.shape
        assert len(server.requests) == opened + len(ARRAYS)
        assert np.array_equal(found["/f"][1, 1:3, ::2], ARRAYS["f"][1, 1:3, ::2])
        assert np.array_equal(found["/i"][2, 3], ARRAYS["i"][2, 3])
        assert all("[" not in request for request in server.requests)
        if protocol == "dap2":
            assert dict(found.attributes) == {"title": "served"}
        else:
            assert all("dap4.checksum=true" in each for each in server.requests[opened:])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_large_regions_come_in_pieces(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_variable, "PIECE", 32)
    with serving(ARRAYS) as server:
        found = nczarr.open(server.url(protocol))
        opened = len(server.requests)
        assert np.array_equal(found["/f"][...], ARRAYS["f"])
        assert len(server.requests) == opened + 6


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_convert_dump_and_pickle(protocol: str, tmp_path: Path) -> None:
    with serving(ARRAYS) as server:
        target = tmp_path / "a.zarr"
        assert run_command("convert", server.url(protocol), str(target), "--var", "i").status == 0
        assert np.array_equal(nczarr.open(target)["/i"][...], ARRAYS["i"])
        assert b"short i(" in run_command("dump", "-h", server.url(protocol)).out
        handle = pickle.loads(pickle.dumps(nczarr.open(server.url(protocol))["/i"]))
        assert np.array_equal(handle[1:], ARRAYS["i"][1:])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_redirects_are_followed(protocol: str) -> None:
    with serving(ARRAYS) as server:
        found = nczarr.open(server.url(protocol, "moved/a.nc"))
        assert found["/one"][()] == 7


def replaced(mark: str, data: bytes, status: int = 200) -> Change:
    return lambda request, reply: Reply(status, data) if mark in request else reply


def changed(mark: str, old: bytes, new: bytes) -> Change:
    return lambda request, reply: reply._replace(data=reply.data.replace(old, new)) if mark in request else reply


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("protocol", "change", "words"),
    [
        ("dap2", replaced(".dods", b'Error { code = 4; message = "no \\"i\\""; };'), "it has no values: no"),
        ("dap2", replaced(".dods", b'Error { code = 4; message = "gone"; };', 404), "reports 404: gone"),
        ("dap2", replaced(".dods", b"<html>"), "it has no values"),
        ("dap2", changed(".dods", b"[d0 = 3]", b"[d0 = 2]"), "declares other variables or another shape"),
        ("dap2", changed(".dods", b"Int16", b"Int32"), "declares other variables or another shape"),
        ("dap2", changed(".dods", b" i[", b" j["), "declares other variables or another shape"),
        ("dap2", lambda q, r: r._replace(data=r.data[:-1]) if ".dods" in q else r, "needs 48 bytes, but 47 are left"),
        ("dap2", lambda q, r: r._replace(data=r.data + b"\1" * 4) if ".dods" in q else r, "4 bytes follow the values"),
        ("dap4", replaced(".dap", b"<Error><Message>gone</Message></Error>", 400), "reports 400: gone"),
        ("dap4", replaced(".dap", b"\x03\0\0\x26<Error><Message>gone</Message></Error>"), "reports an error: gone"),
        ("dap4", replaced(".dap", b"<html>"), "are not the flags of a chunk"),
        ("dap4", changed(".dap", b"<Dim size='3'/>", b"<Dim size='2'/>"), "has another shape or type"),
        ("dap4", changed(".dap", b"Int16", b"UInt8"), "has another shape or type"),
        ("dap4", changed(".dap", b'name="i"', b'name="j"'), "it has other variables"),
        ("dap4", lambda q, r: r._replace(data=r.data[:-1] + b"!") if ".dap?" in q else r, "the checksum is"),
    ],
)  # fmt: skip
def test_answers_that_do_not_fit_are_errors(protocol: str, change: Change, words: str) -> None:
    with serving(ARRAYS, change) as server:
        found = nczarr.open(server.url(protocol))
        with pytest.raises((OSError, nczarr.CompileError)) as fault:
            found["/i"][...]
        assert words in str(fault.value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_answers_have_a_limit(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long: Any = lambda request, reply: reply._replace(data=bytes(40 << 20)) if "?" in request else reply  # noqa: E731
    with serving(ARRAYS, long) as server, pytest.raises((OSError, nczarr.CompileError), match="more than"):
        nczarr.open(server.url(protocol))["/i"][...]


@pytest.mark.parametrize(
    ("protocol", "change", "words"),
    [
        ("dap2", replaced(".dds", b"<html>no</html>"), "this is not an OPeNDAP server"),
        ("dap2", replaced(".dds", b"no", 404), "the server reports 404: no"),
        ("dap2", replaced(".dds", b'Error { code = 1; message = "closed"; };'), "reports an error: closed"),
        ("dap4", replaced(".dmr", b"<Error><Message>closed</Message></Error>"), "reports an error: closed"),
        ("dap4", replaced(".dmr", b"no", 403), "the server reports 403: no"),
    ],
)  # fmt: skip
def test_datasets_that_do_not_open(protocol: str, change: Change, words: str) -> None:
    with serving(ARRAYS, change) as server:
        ran = run_command("dump", "-h", server.url(protocol))
        assert ran.status != 0
        assert words in ran.err


def test_attributes_that_are_invalid_are_a_warning() -> None:
    with serving(ARRAYS, replaced(".das", b"Attributes {")) as server:
        ran = run_command("dump", "-h", server.url("dap2"))
        assert ran.status == 0
        assert "warning[foreign-member]" in ran.err


def test_a_query_in_the_url_is_refused() -> None:
    ran = run_command("dump", "dap2:http://127.0.0.1:1/a?b")
    assert ran.status == 2 or "has a query" in ran.err
    assert "has a query" in ran.err


def test_names_keep_the_escapes_of_the_server() -> None:
    assert dataset_service.encode("a%20b.c[0:1:2]") == "a%2520b.c%5B0:1:2%5D"
    assert dataset_service.encode("/gé/x y") == "/g%C3%A9/x%20y"
