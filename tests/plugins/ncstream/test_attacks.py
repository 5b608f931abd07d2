"""Streams that announce more than they have: each refused at its byte, in a measured process, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PRELUDE = """
import io, itertools, json, resource, sys, time, zlib
import numpy as np
import nczarr.ncstream as door
from nczarr.diagnostics import CompileError
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.protobuf import encode
from tests.support import ncstream_streams as make

HUGE = encode(2**60)
RAGGED = 2**64 - 1

def field(number, data):
    return encode(number << 3 | 2) + encode(len(data)) + data

def nested(depth, number, innermost=b""):
    made = innermost
    for _ in range(depth):
        made = field(14, field(1, b"\\x0a\\x01m\\x10\\x08" + made)) if number == 14 else field(number, made)
    return made

def zeros(count):
    packer = zlib.compressobj(9)
    return b"".join([packer.compress(bytes(10**6)) for _ in range(count // 10**6)] + [packer.flush()])

class Pipe(io.RawIOBase):
    def __init__(self, data):
        self.data = data
    def readable(self):
        return True
    def read(self, size=-1):
        assert size < 1 << 22, size
        found, self.data = self.data[:1000], self.data[1000:]
        return found

def peak():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) * 1024

list(door.read_messages(make.numbers(pb.INT, np.zeros(3, "i4"))))[0].values  # all modules are there
one = make.header(make.structure("v", [make.variable("s", pb.STRING, 1000)], 3))

def column(**more):
    return make.columns(make.column(more.pop("kind", pb.INT), more.pop("sizes", (2,)), **more))

ATTACKS = {
    "block": lambda: make.START + make.HEADER + HUGE,
    "block of 2 GiB": lambda: make.HEADER + encode(2**31 - 1) + bytes(10),
    "block beyond": lambda: make.HEADER + encode(2**31) + bytes(10),
    "length without end": lambda: make.HEADER + b"\\xff" * 20,
    "payload": lambda: make.head(pb.BYTE, (2**60,)) + HUGE,
    "payload through a pipe": lambda: Pipe(make.head(pb.BYTE, (2**31 - 1,)) + encode(2**31 - 1) + bytes(100)),
    "objects": lambda: make.head(pb.STRING, (2**31,)) + encode(2**31) + bytes(100),
    "objects through a pipe": lambda: Pipe(make.head(pb.STRING, (2**31,)) + encode(2**31) + bytes(100)),
    "objects, 2^60": lambda: make.head(pb.OPAQUE, (2**60,)) + HUGE + bytes(100),
    "lists": lambda: make.head(pb.INT, (2**40, RAGGED), vdata=True) + encode(2**40) + bytes(100),
    "a string": lambda: make.head(pb.STRING, (1,)) + b"\\1" + HUGE + b"abc",
    "section": lambda: make.head(pb.BYTE, (RAGGED,)) + make.block(b"1"),
    "section of many": lambda: make.head(pb.BYTE, (2**31, 2**31, 2)) + make.block(b"1"),
    "section of many, empty": lambda: make.head(pb.BYTE, (2**62, 0)) + make.block(b""),
    "dimensions": lambda: make.head(pb.BYTE, (1,) * 1000) + make.block(b"1"),
    "ranges": lambda: make.head(pb.BYTE, None)[:4] + make.block(field(3, b"\\x0a\\x00" * 10**6)) + make.block(b""),
    "description": lambda: make.DATA + make.block(b"\\x78\\x01" * 10**6) + make.block(b""),
    "start": lambda: make.DATA + make.block(pb.Data(dataType=1, section=pb.Section(
        range=[pb.Range(start=2**63, size=1)])).SerializeToString()) + make.block(b"1"),
    "inflated size": lambda: make.head(pb.BYTE, (2**40,), compress=1) + make.block(zlib.compress(b"1" * 1000)),
    "inflated size, no section": lambda: make.head(pb.BYTE, None, compress=1, uncompressedSize=2**32 - 1)
        + make.block(zlib.compress(b"1" * 1000)),
    "uncompressedSize": lambda: make.head(pb.BYTE, (1000,), compress=1, uncompressedSize=2**32 - 1)
        + make.block(zlib.compress(b"1" * 1000)),
    "deflate bomb": lambda: make.head(pb.BYTE, (1000,), compress=1) + make.block(zeros(200_000_000)),
    "deflate bomb, announced": lambda: make.head(pb.BYTE, (2 * 10**9,), compress=1)
        + make.block(zeros(200_000_000) * 10),
    "deflate bomb of strings": lambda: make.head(pb.STRING, (2 * 10**9,), compress=1) + make.block(zeros(20_000_000)),
    "no zlib": lambda: make.head(pb.BYTE, (4,), compress=1) + make.block(b"1234"),
    "behind the stream": lambda: make.head(pb.BYTE, (4,), compress=1) + make.block(zlib.compress(b"1234") + b"5"),
    "rows": lambda: make.head(pb.STRUCTURE, (2**40,)) + make.rows(b"12345678", 2**40, 8),
    "rows of nothing": lambda: make.head(pb.STRUCTURE, (2**40,)) + make.rows(b"", 2**40, 0),
    "rows of the oldest form": lambda: make.head(pb.STRUCTURE, (2**40,), version=0) + make.block(b""),
    "long rows": lambda: make.head(pb.STRUCTURE, (0,)) + make.rows(b"", 0, 2**32 - 1),
    "heap": lambda: one + make.head(pb.STRUCTURE, (3,)) + make.block(pb.StructureData(
        data=bytes(12), nrows=3, rowLength=4, heapCount=[2**32 - 1] * 1000).SerializeToString()),
    "heap of one": lambda: make.header(make.structure("v", [make.variable("s", pb.STRING, 200_000)], 200_000))
        + make.head(pb.STRUCTURE, (200_000,)) + make.rows(bytes(800_000), 200_000, 4, [[b""] * 200_000]),
    "index": lambda: one + make.head(pb.STRUCTURE, (3,)) + make.rows(b"\\x7f" * 12, 3, 4, [[b""] * 1000]),
    "definition": lambda: make.header(make.structure("v", [make.variable("s", pb.DOUBLE, 2**62)], 3))
        + make.head(pb.STRUCTURE, (3,)) + make.rows(bytes(12), 3, 4),
    "definition of many dimensions": lambda: make.header(
        make.structure("v", [make.variable("s", pb.DOUBLE, *[1] * 100)], 3)
        ) + make.head(pb.STRUCTURE, (3,)) + make.rows(bytes(24), 3, 8),
    "deep header": lambda: make.HEADER + make.block(field(4, nested(5000, 6))),
    "deep columns": lambda: make.COLUMN + make.block(b"\\x0a\\x01v\\x10\\x08" + nested(3000, 14)),
    "columns": lambda: make.COLUMN + make.block(b"\\x10\\x08" + field(14, b"\\x0a\\x00" * 10**6)),
    "nelems": lambda: column(nelems=2**32 - 1, sizes=(2**32 - 1,)),
    "primdata": lambda: make.COLUMN + make.block(b"\\x0a\\x01v\\x10\\x03\\x52" + HUGE),
    "vlens": lambda: column(isVlen=True, vlens=[2**32 - 1] * 2),
    "vlens of nothing": lambda: column(isVlen=True, sizes=(2**40,)),
    "vlens, many": lambda: column(isVlen=True, vlens=[0] * 10**6, sizes=(10**7,)),
    "records of nothing": lambda: column(kind=pb.STRUCTURE, sizes=(2**40,)),
    "members": lambda: column(kind=pb.STRUCTURE, sizes=(0,), structdata=pb.ArrayStructureCol(
        memberData=[make.column(pb.DOUBLE, (0, 2**40), name=b"m")])),
    "nil": lambda: column(kind=pb.STRING, stringdata=[b"a", b"b"], nil=[0, 2**63]),
    "nil, half": lambda: make.head(pb.STRING, (1,), nil=[0]) + make.counted([b"a"]),
    "strings, many empty": lambda: column(kind=pb.STRING, sizes=(10**7,), stringdata=[b""] * 10**6),
    "sequence": lambda: make.head(pb.SEQUENCE, None) + (make.RECORD + make.rows(b"1", 1, 1)) * 10**4,
    "sequence of others": lambda: make.head(pb.SEQUENCE, None) + make.RECORD + make.rows(b"1", 1, 1)
        + make.RECORD + make.rows(b"12", 1, 2) + make.LAST_RECORD,
    "data type": lambda: make.head(99, (1,)) + make.block(b"1"),
    "data type of a column": lambda: column(kind=77),
    "magic": lambda: make.START + b"GIF8" + bytes(100),
    "magic of a record": lambda: make.LAST_RECORD,
    "coverage": lambda: bytes.fromhex("abeddeba") + make.block(pb.CoverageDataResponse(geoArray=[
        pb.GeoReferencedArray(dataType=5, shape=[2**32 - 1] * 3, primdata=b"1234")]).SerializeToString()),
    "coverage, deflated": lambda: bytes.fromhex("abeddeba") + make.block(pb.CoverageDataResponse(geoArray=[
        pb.GeoReferencedArray(dataType=1, shape=[10**9], compress=1, primdata=zlib.compress(bytes(100)))
        ]).SerializeToString()),
    "axis": lambda: bytes.fromhex("abeddeba") + make.block(pb.CoverageDataResponse(coordAxes=[
        pb.CoordAxis(name=b"x", values=b"1234")]).SerializeToString()),
}
"""
RUN = """
for name, attack in ATTACKS.items():
    stream = attack()
    given = len(stream.data if isinstance(stream, Pipe) else stream)
    open("/proc/self/clear_refs", "w").write("5")
    before, start = peak(), time.process_time()
    codes, offset = [], None
    try:
        for message in door.read_messages(stream):
            values = getattr(message, "values", None)
    except CompileError as error:
        (found,) = error.diagnostics
        codes, offset = [str(found.code)], found.primary.offset
    message = values = None
    used = time.process_time() - start
    print(json.dumps([name, codes, offset, given, peak() - before, used]))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[list[str], int | None, int, int, float]]:
    """What is said of each attack: codes, offset, bytes given, bytes taken, seconds."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + RUN], capture_output=True, text=True, cwd=ROOT, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        name, *rest = json.loads(line)
        found[name] = tuple(rest)
    return found


WANTED = {
    "truncated": ["block of 2 GiB", "payload through a pipe", "objects", "objects through a pipe",
                  "objects, 2^60", "lists", "sequence"],
    "oversized": ["block", "block beyond", "payload", "a string", "section", "section of many",
                  "section of many, empty", "dimensions", "ranges", "description", "start",
                  "deflate bomb, announced", "definition",
                  "definition of many dimensions", "deep columns", "columns", "members", "coverage"],
    "bad": ["length without end", "no zlib", "behind the stream", "deep header", "primdata", "nil", "nil, half",
            "data type", "data type of a column", "magic", "magic of a record"],
    "contradictory": ["inflated size", "inflated size, no section", "uncompressedSize", "deflate bomb", "rows",
                      "long rows", "rows of nothing", "rows of the oldest form", "heap", "heap of one",
                      "index", "nelems",
                      "vlens", "vlens of nothing", "vlens, many", "records of nothing", "sequence of others",
                      "deflate bomb of strings", "coverage, deflated", "axis", "strings, many empty"],
}  # fmt: skip


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("code", "name"), [(code, name) for code, names in WANTED.items() for name in names])
def test_refused(code: str, name: str, said: dict[str, tuple[list[str], int | None, int, int, float]]) -> None:
    codes, offset, given, taken, seconds = said[name]
    assert codes == [f"{code}-ncstream"]
    assert offset is not None
    assert 0 <= offset <= given
    assert taken < 40e6 + 12 * given
    assert seconds < 3


@pytest.mark.long
def test_all_are_looked_at(said: dict[str, object]) -> None:
    assert sorted(said) == sorted(name for names in WANTED.values() for name in names)
