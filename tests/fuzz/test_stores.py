"""Hostile stores: documents cut, mutated, with other members and values. Diagnostics, no traceback, hang or escape."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from nczarr import from_cdl, registry
from nczarr.diagnostics.report import CompileError, Report
from nczarr.options import UNREAD, Options
from nczarr.pipeline import phases
from nczarr.pipeline.select.indexing import read
from nczarr.semantics.checked import Checked
from nczarr.stores.base import is_metadata, safe_key
from nczarr.stores.memory import MemoryStore
from tests.conftest import ROOT
from tests.support.proof import WHOLE
from tests.support.work import counted

TEXT = """netcdf t {
types:
  byte enum sky { clear = 0, cloudy = 1 } ;
  compound obs { int a ; float b(2) ; } ;
  int(*) row ;
  compound mixed { string s ; row r ; } ;
  opaque(3) key ;
dimensions:
  x = 4 ;
  t = UNLIMITED ;
variables:
  float v(t, x) ;
    v:_FillValue = -1.f ;
    v:_ChunkSizes = 1, 2 ;
    v:_DeflateLevel = 1 ;
    v:units = "K" ;
  string s(x) ;
  char c(x) ;
  sky e(x) ;
  obs o(x) ;
  row r(x) ;
  mixed m ;
  key k ;
  double sc ;
  key :note = 0X010203 ;
  string :texts = "a", NIL ;
data:
  v = 1, 2, 3, 4, 5, 6, 7, 8 ;
  s = "a", NIL, "ccc", "" ;
  c = "abcd" ;
  e = clear, cloudy, clear, cloudy ;
  o = {1, {1, 2}}, {2, {3, 4}}, {3, {5, 6}}, {4, {7, 8}} ;
  r = {1, 2}, {}, {3}, {4, 5, 6} ;
  m = {"x", {7}} ;
  k = 0X0A0B0C ;
  sc = 3 ;
group: g {
dimensions:
  x = 2 ;
variables:
  int v(x, t) ;
}
}
"""

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**31,
    2**62,
    2**200,
    1.5,
    1e300,
    float("nan"),
    "",
    "..",
    "../../etc/passwd",
    "/",
    "a/b",
    "\0",
    "x" * 300,
    "NaN",
    ".zgroup",
    "zarr.json",
    "|O",
    "<M8[s]",
    "|V0",
    ">S1",
    "\ud800",
    [],
    {},
    [[]],
    [1, "a"],
    [2**40, 2**40],
    [-1],
    ["/x", None],
    {"a": {"a": {}}},
    {"size": 3, "unlimited": 1},
    {"id": "pickle"},
    {"name": "bytes"},
    [{"id": "zlib", "level": "x"}],
    [{"name": "transpose", "configuration": {"order": [9]}}],
    ["loop", "."],
    [["f", "<i4"], ["f", "<i4"]],
    [["", "<i4"]],
]


class Watched(MemoryStore):
    """A store that refuses keys that are none."""

    def get(self, key: str) -> bytes | None:
        return super().get(safe_key(key))


def contents() -> Iterator[tuple[str, dict[str, bytes]]]:
    handle = from_cdl(TEXT)
    for form in ("nczarr", "nczarr3", "zarr2", "zarr3", "zarr3-2019"):
        for options in ({"consolidated": True}, {"shards": "auto"} if form.endswith("3") else {}):
            yield form, dict(handle.to_keys(form, allow_loss=["all"], **options))


def judge(content: dict[str, bytes]) -> None:
    """Read everything of a store, small variables with their values; faults are reported, in few calls."""
    with counted(20_000_000):
        _judge(content)


def _judge(content: dict[str, bytes]) -> None:
    """Read a store; faults are reported."""
    store = Watched(content)
    report = Report()
    options = Options.of(allow_loss=UNREAD)
    if registry.detect_store(store) is None:
        return
    found = phases.read(store, report, options)
    assert found is not None or report.errors
    for diagnostic in report.list_sorted():
        assert diagnostic.code != "internal-error"
    if found is None and {each.code for each in report.list_sorted()} & {"foreign-extension", "unknown-format"}:
        return
    assert found is not None, [
        f"{each.code}: {each.message}" for each in report.list_sorted() if each.severity == "error"
    ]
    for path, shape in found.shapes.items():
        size = 1
        for length in shape:
            size *= length
        if size > 10_000:
            continue
        assert codes_of_reading(found, path) <= {"unreadable-chunk"}


def codes_of_reading(found: Checked, path: str) -> set[str]:
    try:
        read(found, path, ...)
    except CompileError as fault:
        return {each.code for each in fault.diagnostics}
    return set()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(document: Any, pick: random.Random) -> Any:
    """A document with one member taken away, or another value in its place."""
    found = json.loads(json.dumps(document))
    path = pick.choice(list(places(found)) or [()])
    if not path:
        return pick.choice(VALUES)
    holder = found
    for step in path[:-1]:
        holder = holder[step]
    if pick.random() < 0.25:
        del holder[path[-1]]
    elif pick.random() < 0.2 and isinstance(holder, dict):
        holder[str(pick.choice(VALUES))] = holder.pop(path[-1])
    else:
        holder[path[-1]] = pick.choice(VALUES)
    return found


def mutated(content: dict[str, bytes], pick: random.Random) -> dict[str, bytes]:
    found = dict(content)
    for _ in range(pick.randint(1, 3)):
        key = pick.choice(sorted(found))
        data = found[key]
        match pick.randrange(8):
            case 0:
                found[key] = data[: pick.randrange(len(data) + 1)]
            case 1:
                at = pick.randrange(len(data) + 1)
                found[key] = data[:at] + bytes([pick.randrange(256)]) + data[at + 1 :]
            case 2:
                del found[key]
                if not found:
                    return found
            case _ if is_metadata(key):
                try:
                    document = json.loads(data)
                except ValueError:
                    continue
                found[key] = json.dumps(changed(document, pick)).encode("utf-8", "surrogatepass")
            case _:
                found[key] = data[::-1]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_mutated_stores(seed: int) -> None:
    seed = seed if os.environ.get("NCZARR_RANDOM") != "1" else random.SystemRandom().randrange(1 << 30)
    pick = random.Random(seed)
    stores = [content for _, content in contents()]
    for _ in range(1000 if WHOLE else 500):
        judge(mutated(pick.choice(stores), pick))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nczarr", "zarr2", "zarr3", "nczarr3", "zarr3-2019"])
def test_every_document_cut_off_everywhere(form: str) -> None:
    content = dict(from_cdl((ROOT / "samples" / "01-station.cdl").read_bytes()).to_keys(form, allow_loss=["all"]))
    for key in [key for key in content if is_metadata(key)][:6]:
        for length in range(0, len(content[key]), 7):
            judge(content | {key: content[key][:length]})
