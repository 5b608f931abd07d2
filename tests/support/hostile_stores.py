"""Small stores and documents of stores that declare enormous sizes: archives, indexes, codecs, types, references."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

LARGE = (10**18, 2**31 - 1, 2**62, 10**9)
"""Numbers that documents declare."""

BOMB = 400 << 20
"""Bytes of zeros in a small compressed chunk: more than the memory of a run."""

Files = dict[str, bytes]
"""Bytes of files by path. The first path, up to a `!`, ends the name of the source."""


@cache
def squeeze(method: str) -> bytes:
    """Return compressed zeros, of which there are more than memory."""
    import bz2
    import lzma

    makers: dict[str, Callable[[], Any]] = {
        "zlib": lambda: zlib.compressobj(1), "raw": lambda: zlib.compressobj(1, wbits=-15),
        "gzip": lambda: zlib.compressobj(1, wbits=31), "bz2": lambda: bz2.BZ2Compressor(1),
        "lzma": lambda: lzma.LZMACompressor(preset=0),
    }  # fmt: skip
    made = makers[method]()
    piece = bytes(10 << 20)
    return b"".join([*(made.compress(piece) for _ in range(BOMB // len(piece))), made.flush()])


def zip_file(entries: Iterable[tuple[str, int, bytes, int]], *, start: int | None = None, count: int = 0) -> bytes:
    """Return an archive of (name, method, compressed bytes, declared size); `start`, `count`: of its directory."""
    body, directory, number = b"", b"", 0
    for name, method, data, size in entries:
        number += 1
        large = struct.pack("<HHQ", 1, 8, size) if size >= 2**32 else b""
        sizes = struct.pack("<III", 0, len(data), min(size, 2**32 - 1))
        middle = struct.pack("<HHHHH", 20, 0, method, 0, 0) + sizes + struct.pack("<HH", len(name), len(large))
        directory += b"PK\1\2\x14\0" + middle + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode() + large
        body += b"PK\3\4" + middle + name.encode() + large + data
    counts = struct.pack("<HH", count or number, count or number)
    place = len(body) if start is None else start
    return body + directory + b"PK\5\6\0\0\0\0" + counts + struct.pack("<IIH", len(directory), place, 0)


def array2(**given: Any) -> bytes:
    """Return the metadata of an array of Zarr v2."""
    plain = {"compressor": None, "filters": None, "fill_value": 0, "order": "C", "dtype": "|u1"}
    return json.dumps({"zarr_format": 2, "shape": [9], "chunks": [9], **plain, **given}).encode()


def array3(codecs: list[Any], *, shape: Any = (9,), chunk: Any = None, **given: Any) -> bytes:
    """Return the metadata of an array of Zarr v3."""
    grid = {"name": "regular", "configuration": {"chunk_shape": chunk or shape}}
    plain = {"data_type": "uint8", "fill_value": 0, "chunk_key_encoding": {"name": "default"}, "attributes": {}}
    core = {"zarr_format": 3, "node_type": "array", "shape": shape, "chunk_grid": grid, "codecs": codecs}
    return json.dumps({**core, **plain, **given}).encode()


GROUP2, GROUP3 = b'{"zarr_format": 2}', b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'
NAMES2 = b'{"_ARRAY_DIMENSIONS": ["x"]}'


def store2(metadata: bytes, chunk: bytes = bytes(9), attributes: bytes = NAMES2) -> Files:
    return {".zarr!/.zgroup": GROUP2, ".zarr!/v/.zarray": metadata, ".zarr!/v/.zattrs": attributes, ".zarr!/v/0": chunk}


def store3(metadata: bytes, chunk: bytes = bytes(9)) -> Files:
    return {".zarr!/zarr.json": GROUP3, ".zarr!/v/zarr.json": metadata, ".zarr!/v/c/0": chunk}


def archives(good: Path) -> Iterator[Files]:
    plain = [(".zgroup", GROUP2), ("v/.zarray", array2()), ("v/.zattrs", NAMES2), ("v/0", bytes(9))]
    zeros = {
        8: squeeze("raw"),
        12: squeeze("bz2"),
        14: b"\x09\x14\x05\0" + squeeze("lzma"),
        0: b"ab",
        93: b"(\xb5/\xfd",
    }
    for name, _ in plain:
        for method, data in zeros.items():
            yield {".zip": zip_file((n, *((method, data, BOMB) if n == name else (0, d, len(d)))) for n, d in plain)}
    stored = [(name, 0, data, len(data)) for name, data in plain]
    whole = zip_file(stored)
    yield from ({".zip": whole[: len(whole) * part // 8]} for part in range(3, 8))
    for size in (2**32 - 2, 2**62):
        yield {".zip": zip_file([*stored[:3], ("v/0", 0, b"", size)])}
        yield {".zip": zip_file([*stored[:3], ("v/0", 8, zlib.compress(bytes(9))[2:-4], size)])}
    yield {".zip": zip_file(stored, start=2**32 - 2)}
    yield {".zip": zip_file(stored, count=2**16 - 2)}


def shard_indexes(good: Path) -> Iterator[Files]:
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    for count in (10**6, 10**9, 10**12, 10**15, 10**18):
        for place in ("start", "end"):
            for index in ([little], [little, {"name": "crc32c"}]):
                settings = {"chunk_shape": [1], "codecs": [little], "index_codecs": index, "index_location": place}
                yield store3(
                    array3([{"name": "sharding_indexed", "configuration": settings}], shape=[count]), b"a" * 300
                )
    inner = {"chunk_shape": [1], "codecs": [little], "index_codecs": [little], "index_location": "end"}
    outer = {**inner, "chunk_shape": [10**9], "codecs": [{"name": "sharding_indexed", "configuration": inner}]}
    yield store3(array3([{"name": "sharding_indexed", "configuration": outer}], shape=[10**18]), b"a" * 300)
    for first, length in ((2**62, 9), (0, 2**62), (2**63, 2**63), (0, 10**10)):
        settings = {**inner, "chunk_shape": [9]}
        index = struct.pack("<QQ", first, length)
        yield store3(array3([{"name": "sharding_indexed", "configuration": settings}]), bytes(9) + index)


def codecs(good: Path) -> Iterator[Files]:
    frames = {
        "blosc": [struct.pack("<BBBBIII", 2, 1, flags, 1, 2**31 - 17, block, 16 + 9) + bytes(9)
                  for flags, block in ((0x21, 2**31 - 17), (0x02, 2**31 - 17), (0x81, 1))],
        "zstd": [b"(\xb5/\xfd\xe0" + struct.pack("<Q", 2**62) + b"\1\0\0",
                 b"(\xb5/\xfd\0" + bytes([0xF8]) + b"\x0b\0\0\0"],
        "lz4": [struct.pack("<i", size) + b"\x1f\0\1\0" + b"\xff" * 200 for size in (2**31 - 1, -1)],
        "gzip": [squeeze("gzip")], "zlib": [squeeze("zlib")], "bz2": [squeeze("bz2")], "lzma": [squeeze("lzma")],
    }  # fmt: skip
    for name, chunks in frames.items():
        for chunk in chunks:
            yield store2(array2(compressor={"id": name}), chunk)
            yield store3(array3(["bytes", {"name": name, "configuration": {}}]), chunk)
    for count in (2**31 - 1, 2**32 - 1):
        for filter_id in ("vlen-utf8", "vlen-bytes", "vlen-array"):
            yield store2(array2(dtype="|O", filters=[{"id": filter_id, "dtype": "<i4"}]), struct.pack("<II", count, 9))
    long = "|S2000000000"
    for settings in (
        {"id": "shuffle", "elementsize": 2**31 - 1},
        {"id": "delta", "dtype": long},
        {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f8", "astype": long},
    ):
        yield store2(array2(filters=[settings]), bytes(9))


def types_and_shapes(good: Path) -> Iterator[Files]:
    for dtype in ("|S2000000000", "<U500000000", "|V2000000000", "|S999999999999", "<M8[1000000000000s]",
                  [["a", "|u1", [100000, 100000]]], [[f"m{n}", "|u1"] for n in range(20000)]):  # fmt: skip
        yield store2(array2(dtype=dtype, fill_value=None))
    for name, size in (("null_terminated_bytes", "length_bytes"), ("fixed_length_utf32", "length_bytes"),
                       ("raw_bytes", "length_bytes")):  # fmt: skip
        yield store3(array3(["bytes"], data_type={"name": name, "configuration": {size: 4 * 10**9}}, fill_value=""))
    yield store3(array3(["bytes"], data_type="r32000000000", fill_value=[]))
    for shape, chunk in (([2**62], [9]), ([10**18], [10**18]), ([2**31] * 2, [2**31] * 2), ([1] * 1000, [1] * 1000),
                         ([9], [0]), ([-9], [9]), ([10**400], [9]), ([10**9], [1])):  # fmt: skip
        yield store2(array2(shape=shape, chunks=chunk))
        yield store3(array3(["bytes"], shape=shape, chunk=chunk))


def json_documents(good: Path) -> Iterator[Files]:
    deep, digits = 200_000, b"9" * 3_000_000
    for text in (b"[" * deep + b"]" * deep, b'{"a":' * deep + b"1" + b"}" * deep, b"[" * (20 << 20), b"1e" + digits,
                 digits, b"-" + digits, b'"' + b"\\u0000" * 500_000 + b'"', b"NaN", b'"\xff"', b'"\\ud800"',
                 b"[" + b"1," * 1_000_000 + b"1]"):  # fmt: skip
        yield store2(array2(), attributes=b'{"_ARRAY_DIMENSIONS": ["x"], "a": ' + text + b"}")
        yield {".json": b'{"version": 1, "refs": {".zgroup": {"zarr_format": 2}, "a": ' + text + b"}}"}


def _refs(chunk: Any, **more: Any) -> Files:
    made = {".zgroup": GROUP2.decode(), "v/.zarray": array2().decode(), "v/.zattrs": NAMES2.decode(), "v/0": chunk}
    return {".json": json.dumps({"version": 1, **more, "refs": made}).encode()}


def references(good: Path) -> Iterator[Files]:
    for offset, length in ((2**62, 9), (0, 2**62), (-1, 9), (0, -9), (10**400, 9), (0, 2**33)):
        yield _refs(["a.nc", offset, length])
    yield _refs("base64:" + base64.b64encode(bytes(5 << 20)).decode())
    yield _refs(["a.nc"])
    yield _refs(["/dev/zero", 0, 9])
    yield _refs(["/dev/zero"])
    yield _refs(["{{u}}"], templates={"u": "{{u}}{{u}}"})
    yield _refs(["{{a}}"], templates={chr(97 + n): f"{{{{{chr(98 + n)}}}}}" * 20 for n in range(12)})
    yield _refs(["{{u(n=999999999)}}"], templates={"u": "{{ 'a' * n }}"})
    yield _refs(["{{ 9 ** 9 ** 9 }}", 0, 9])
    yield _refs(["{{u}}", 0, 9], templates={"u": "{{ '%0999999999d' % 1 }}"})


def generators(good: Path) -> Iterator[Files]:
    for stop in (10**6, 10**12):
        generator = {
            "key": "w/{{i}}",
            "url": "a.nc",
            "offset": "{{i}}",
            "length": "1",
            "dimensions": {"i": {"stop": stop}},
        }
        yield _refs("", gen=[generator])


def parquet(good: Path) -> Iterator[Files]:
    source = good / "a.parq"
    files = {
        f".parq!/{path.relative_to(source)}": path.read_bytes() for path in sorted(source.rglob("*")) if path.is_file()
    }
    whole = {".parq!/.zmetadata": files.pop(".parq!/.zmetadata"), **files}
    document = json.loads(whole[".parq!/.zmetadata"])
    for size in (10**18, 10**9, 1, 0, -1, 10**400):
        yield {**whole, ".parq!/.zmetadata": json.dumps({**document, "record_size": size}).encode()}
    metadata = document["metadata"]
    key = next(key for key in metadata if key.endswith("v/.zarray"))
    for length in LARGE:
        changed = {**metadata, key: {**metadata[key], "shape": [length, 3]}}
        yield {**whole, ".parq!/.zmetadata": json.dumps({**document, "metadata": changed}).encode()}
    table = next(name for name in whole if name.endswith(".parq") and "/v/" in name)
    data = whole[table]
    footer = int.from_bytes(data[-8:-4], "little")
    for at in range(len(data) - 8 - footer, len(data) - 8, max(1, footer // 10)):
        yield {**whole, table: data[:at] + b"\xff\xff\xff\xff\x0f" + data[at + 5 :]}
    yield {**whole, table: data[:-8] + struct.pack("<I", 2**31) + b"PAR1"}


KINDS = (archives, shard_indexes, codecs, types_and_shapes, json_documents, references, generators, parquet)
"""Functions that make the inputs of a kind, given a folder with good datasets."""
