"""Whatever is asked of a server: an answer or a refusal, nothing of another kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nczarr.diagnostics.report import CompileError
from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.options import Following
from nczarr.plugins.serve.answers import HttpAnswer, RefusedRequestError, part
from nczarr.plugins.serve.application import ROUTES, refusal_answer
from nczarr.plugins.serve.context import ServerContext
from nczarr.plugins.serve.dataset_cache import Shelf
from nczarr.plugins.serve.delivery import DeliveredBody
from nczarr.plugins.serve.places import Root
from nczarr.plugins.serve.request import request
from nczarr.plugins.serve.resources import Disk, Limits
from nczarr.plugins.serve.search_index import SearchIndex
from tests.conftest import ROOT
from tests.support.serving import answer

WORDS = [
    b"zarr2", b"zarr3", b"browse", b"cdmremote", b"cdmrfeature", b"dap2", b"",
    b".", b"..", b"%2e%2e", b"%2f", b"%5c", b"%00", b"%ff", b"%c3%bc",
    b"01-station.cdl", b"04-cmip.cdl", b"05-every-type.cdl", b"06-strings.cdl", b"demo.py", b"tides.broken", b"nothing",
    b".zgroup", b".zarray", b".zattrs", b".zmetadata", b"zarr.json", b"tas", b"lat", b"c", b"0", b"1", b"0.0.0", b"-1",
    b"99999999999999999999", b"a" * 300, b"04-cmip.cdl.dds", b"04-cmip.cdl.das", b"04-cmip.cdl.dods",
    b"05-every-type.cdl.dods", b"06-strings.cdl.asc", b"nothing.dds",
]  # fmt: skip
FIELDS = [b"req", b"var", b"deflate", b"format", b"page", b"REQ", b"x"]
VALUES = [
    b"header", b"data", b"CDL", b"NcML", b"capabilities", b"form", b"", b"json", b"html", b"1", b"9", b"-1", b"tas",
    b"lat;lon", b"tas(0,:,:)", b"tas(0:1:2,0,0)", b"tas(", b"tas(9)", b"%28%29", b"(;.,", b"s.m",
    b"..%2f", b"%00", b"%ff", b"a\\", b":" * 50,
]  # fmt: skip
HEADERS = [
    (b"range", b"bytes=0-3"), (b"range", b"bytes=-3"), (b"range", b"bytes=5-"), (b"range", b"bytes=9-1"),
    (b"range", b"bytes=0-0,2-2"), (b"range", b"\xff"), (b"if-none-match", b"*"), (b"if-none-match", b'"x",'),
    (b"if-modified-since", b"Sun, 99 Nov"), (b"accept", b"application/json"), (b"host", b"a b<>"), (b"host", b"h:1"),
    (b"if-range", b'"x"'),
]  # fmt: skip


def scope(chosen: random.Random) -> dict[str, Any]:
    """A request that somebody may send."""
    raw = b"/" + b"/".join(chosen.choices(WORDS, k=chosen.randint(1, 5)))
    if chosen.random() < 0.1:
        at = chosen.randrange(len(raw))
        raw = raw[:at] + bytes([chosen.randrange(33, 127)]) + raw[at + 1 :]
    query = b"&".join(
        chosen.choice(FIELDS) + b"=" + chosen.choice(VALUES) for _ in range(chosen.choice([0, 0, 1, 2, 3]))
    )
    headers = chosen.sample(HEADERS, chosen.choice([0, 0, 1, 2]))
    return {"method": "GET", "path": "/", "raw_path": raw, "query_string": query, "headers": headers}


def ask(context: ServerContext, asked: dict[str, Any]) -> HttpAnswer | RefusedRequestError | CompileError:
    """The answer, as the server finds it, or a refusal."""
    try:
        return answer(context, request(asked))
    except (RefusedRequestError, CompileError) as error:
        return error


@pytest.mark.parametrize("seed", range(4))
def test_any_request(seed: int) -> None:
    root = Root(str(ROOT / "samples"))
    limits = Limits()._replace(page=3, response=1 << 20)
    shelf = Shelf(limits, Following(roots=(root.home,)), NO_OPTIONS)
    context = ServerContext(root, shelf, limits, Disk(limits.spill), SearchIndex(root, shelf.read))
    chosen = random.Random(seed)
    statuses: dict[int, int] = {}
    for _ in range(2500):
        asked = scope(chosen)
        reply = ask(context, asked)
        status = 0 if isinstance(reply, CompileError) else reply.status
        statuses[status] = statuses.get(status, 0) + 1
        if isinstance(reply, HttpAnswer):
            held = DeliveredBody(reply.body)
            size = sum(map(len, iter(held.next, None)))
            assert reply.length in (None, size)
            assert str(ROOT).encode() not in (reply.body if isinstance(reply.body, bytes) else b"")
        else:
            assert str(reply)
    assert {200, 206, 400, 404} <= set(statuses)


def test_parts_of_bodies(tmp_path: Path) -> None:
    """Any range of pieces, some of them in files, is that range of their bytes."""
    from nczarr.stores.ranges import Range

    chosen, path = random.Random(7), tmp_path / "f"
    path.write_bytes(bytes(range(256)) * 4)
    for _ in range(300):
        pieces: list[bytes | Range] = []
        whole = b""
        for _ in range(chosen.randint(1, 5)):
            start, length = chosen.randrange(1000), chosen.randrange(24)
            pieces.append(Range(str(path), start, length) if chosen.random() < 0.5 else bytes([start % 256]) * length)
            last = pieces[-1]
            whole += path.read_bytes()[start : start + length] if isinstance(last, Range) else last
        begin = chosen.randint(0, len(whole))
        end = chosen.randint(begin, len(whole))
        held = DeliveredBody(part(tuple(pieces), begin, end))
        assert b"".join(iter(held.next, None)) == whole[begin:end]


PIECES = [
    "tas", "lat", "time", "s", "p", "c", "k", "first", "nothing", "g%2Fv", "%5B", "%5D", "[", "]", "[0]", "[0:1]",
    "[0:2:1]", "[*]", "[1:0]", "[99]", "[0:0:1]", ".", ",", "&", "(", ")", ":", "%", "%25", "\\", "a" * 50, "[0][0][0]",
    ">1",
    "[999999999999999999999]", "\xff", " ", "",
]  # fmt: skip


def constrained(count: int, protocol: str, suffixes: list[str], prefix: str, words: list[str]) -> Iterator[HttpAnswer]:
    """The answers to random expressions. At the end, some must be values, and the others refusals."""
    root = Root(str(ROOT / "samples"))
    limits = Limits()._replace(response=1 << 20)
    shelf = Shelf(limits, Following(roots=(root.home,)), NO_OPTIONS)
    context = ServerContext(root, shelf, limits, Disk(limits.spill), SearchIndex(root, shelf.read))
    chosen = random.Random(count)
    documents = {row.name: row.refusal for row in ROUTES}
    statuses: set[int] = set()
    for _ in range(count):
        name = chosen.choice(["04-cmip.cdl", "05-every-type.cdl", "06-strings.cdl"])
        path = f"/{protocol}/{name}.{chosen.choice(suffixes)}".encode()
        query = (prefix + "".join(chosen.choices(words, k=chosen.randint(0, 5)))).encode("latin-1")
        found = ask(context, {"method": "GET", "path": "/", "raw_path": path, "query_string": query, "headers": []})
        if isinstance(found, RefusedRequestError):
            found = refusal_answer(found, documents[protocol], "*/*")
        assert isinstance(found, HttpAnswer)
        statuses.add(found.status)
        yield found
    assert statuses == {200, 400}


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_constraint_of_dap2(count: int) -> None:
    """Whatever the expression: values, or a refusal in the protocol's own document."""
    for found in constrained(count, "dap2", ["dds", "dods", "asc"], "", PIECES):
        body = b"".join(iter(DeliveredBody(found.body).next, None))
        if found.status == 200:
            assert body.startswith(b"Dataset {")
        else:
            assert body.startswith(b"Error {\n    code = ")
            assert dict(found.headers)["Content-Description"] == "dods_error"


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_constraint_of_dap4(count: int) -> None:
    for found in constrained(count, "dap4", ["dmr", "dap"], "dap4.ce=", [*PIECES, ";", "/", "\\"]):
        body = b"".join(iter(DeliveredBody(found.body).next, None))
        assert (b"<Dataset" if found.status == 200 else b"<Error") in body[:200]
