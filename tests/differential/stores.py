"""Stores by zarr-python and tensorstore."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .elements import Draw, Element, Source, attribute_lines, boxes, chunk_lengths, extent, indices, numbers, shapes

ZARR_TYPES = (
    Element("bool", ("True", "False")),
    Element("'<f2'", ("0.5", "np.nan"), numeric=True),
    Element("'<c8'", ("1 + 2j", "0")),
    Element("'S3'", ("b'ab'", "b''", "b'abc'")),
    Element("'S1'", ("b'a'", "b'\\x00'")),
    Element("'V3'", ("b'abc'", "b'\\x00\\x00\\x01'")),
)
TEXTS = Element("str", ("'a'", "''", "'\\xe9\\u20ac'"))


@st.composite
def zarr(draw: Draw, process: str = "old") -> Source:
    """Stores by zarr-python: both versions, codecs, shards, orders, keys, fill values that are null."""
    version = draw(st.sampled_from([2, 3]))
    lines = [
        "import zarr, numcodecs",
        "from zarr import codecs",
        f"g = zarr.open_group(path, mode='w', zarr_format={version})",
    ]
    lines += draw(attribute_lines("g", "{target}.attrs['{name}'] = ({value}).tolist()", ("f8", "i4")))
    lines = [line.replace("np.nan", "0.25").replace("np.inf", "1e9") for line in lines]
    for number in range(draw(st.integers(1, 3))):
        name = f"{'g/' if draw(st.integers(0, 3)) == 3 else ''}v{number}"
        kinds = numbers(orders="<>" if version == 2 else "<") | st.sampled_from(ZARR_TYPES) | st.just(TEXTS)
        if version == 2:
            record = Element("np.dtype([('a', '<i2'), ('b', '>f8')])", ("(1, 0.5)", "(-1, 2)"))
            kinds = kinds | st.just(record)
        elif process == "new":
            record = Element("np.dtype([('a', '<i2'), ('b', '<f8')])", ("(1, 0.5)", "(-1, 2)"))
            kinds = kinds | st.just(record)
        element = draw(kinds)
        shape = draw(shapes())
        lines += draw(_zarr_array(name, element, shape, version))
    return Source(process, "zarr", ".zarr", "\n".join(lines), {})


@st.composite
def _zarr_array(draw: Draw, name: str, element: Element, shape: tuple[int, ...], version: int) -> list[str]:
    """The lines that make one array of a store."""
    options = [f"shape={shape}", f"dtype={element.dtype}"]
    chunks = draw(chunk_lengths(shape, beyond=True))
    text = element.dtype == "str"
    if draw(st.booleans()) and not text:
        options.append(f"fill_value={element.one(draw(st.integers(0, 3)))}")
    if version == 2:
        options.append(f"chunks={chunks}")
        options.append(f"order={draw(st.sampled_from('CF'))!r}")
        options.append(f"chunk_key_encoding={{'name': 'v2', 'separator': {draw(st.sampled_from('./'))!r}}}")
        compressors = [
            "None",
            "numcodecs.Zlib(1)",
            "numcodecs.Blosc()",
            "numcodecs.Zstd(3)",
            "numcodecs.LZ4()",
            "numcodecs.BZ2(1)",
        ]
        options.append(f"compressors={draw(st.sampled_from(compressors))}")
        if element.numeric and draw(st.booleans()):
            options.append(f"filters=[numcodecs.Shuffle(np.dtype({element.dtype}).itemsize)]")
    else:
        if shape and draw(st.booleans()):
            times = tuple(draw(st.integers(1, 3)) for _ in shape)
            options.append(f"shards={tuple(a * b for a, b in zip(chunks, times, strict=True))}")
        options.append(f"chunks={chunks}")
        options.append(f"compressors={draw(st.sampled_from(COMPRESSORS))}")
        if not text and len(shape) > 1 and draw(st.booleans()):
            order = draw(st.permutations(range(len(shape))))
            options.append(f"filters=[codecs.TransposeCodec(order={tuple(order)})]")
        if element.numeric and draw(st.booleans()):
            options.append(f"serializer=codecs.BytesCodec(endian={draw(st.sampled_from(['little', 'big']))!r})")
        options.append(f"chunk_key_encoding={draw(st.sampled_from(KEYS))}")
        if draw(st.booleans()):
            options.append(f"dimension_names={tuple(f'{name[-2:]}d{axis}' for axis in range(len(shape)))}")
    lines = [f"a = g.create_array({name!r}, {', '.join(options)})"]
    lines += [
        line.replace("np.nan", "0.25").replace("np.inf", "1e9")
        for line in draw(attribute_lines("a", "{target}.attrs['{name}'] = ({value}).tolist()", ("f8", "i4")))
    ]
    for turn in range(draw(st.integers(0, 2))):
        if 0 not in shape:
            box = draw(boxes(shape))
            value = element.array(extent(box), turn)
            lines.append(f"a[{indices(box) if shape else '...'}] = {value}")
    return lines


COMPRESSORS = (
    "None",
    "codecs.GzipCodec(level=1)",
    "codecs.ZstdCodec(level=3)",
    "codecs.ZstdCodec(level=1, checksum=True)",
    "codecs.BloscCodec(typesize=4)",
    "[codecs.GzipCodec(level=1), codecs.Crc32cCodec()]",
)
KEYS = (
    "{'name': 'default', 'separator': '/'}",
    "{'name': 'default', 'separator': '.'}",
    "{'name': 'v2', 'separator': '.'}",
)


@st.composite
def tensorstore(draw: Draw) -> Source:
    """Arrays by tensorstore: Zarr v2 and v3, codecs, permuted axes, shards with an index in front or behind."""
    driver = draw(st.sampled_from(["zarr", "zarr3"]))
    shape = draw(shapes(least=1))
    chunks = draw(chunk_lengths(shape, beyond=True))
    element = draw(numbers(orders="<>" if driver == "zarr" else "<"))
    name = element.dtype.strip("'")
    lines = ["import tensorstore, os, json", "os.makedirs(path)"]
    if driver == "zarr":
        document = "{'zarr_format': 2}"
        metadata: dict[str, Any] = {
            "shape": list(shape),
            "chunks": list(chunks),
            "dtype": name if name[0] in "<>" else f"|{name}",
            "order": draw(st.sampled_from("CF")),
            "compressor": draw(st.sampled_from([None, {"id": "zlib", "level": 1}, {"id": "zstd", "level": 1},
                                                {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}])),
            "dimension_separator": draw(st.sampled_from("./")),
        }  # fmt: skip
    else:
        document = "{'zarr_format': 3, 'node_type': 'group'}"
        endian = draw(st.sampled_from(["little", "big"]))
        inner: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": endian}}]
        if draw(st.booleans()):
            order = list(draw(st.permutations(range(len(shape)))))
            inner.insert(0, {"name": "transpose", "configuration": {"order": order}})
        inner += draw(st.sampled_from(CHAINS))
        grid = list(chunks)
        if draw(st.booleans()):
            grid = [each * draw(st.integers(1, 3)) for each in chunks]
            index = [{"name": "bytes", "configuration": {"endian": "little"}}]
            index += draw(st.sampled_from([[], [{"name": "crc32c"}]]))
            place = draw(st.sampled_from(["start", "end"]))
            sharding = {"chunk_shape": list(chunks), "codecs": inner, "index_codecs": index, "index_location": place}
            inner = [{"name": "sharding_indexed", "configuration": sharding}]
        metadata = {
            "shape": list(shape),
            "data_type": np.dtype(name).name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid}},
            "codecs": inner,
        }
    file = ".zgroup" if driver == "zarr" else "zarr.json"
    lines.append(f"open(os.path.join(path, {file!r}), 'w').write(json.dumps({document}))")
    lines.append(f"spec = {{'driver': {driver!r}, 'kvstore': {{'driver': 'file', 'path': os.path.join(path, 'v0')}},")
    lines.append(f"        'metadata': {metadata!r}, 'create': True}}")
    lines.append("a = tensorstore.open(spec).result()")
    for turn in range(draw(st.integers(0, 2))):
        if 0 not in shape:
            box = draw(boxes(shape))
            lines.append(f"a[{indices(box)}].write({element.array(extent(box), turn)}).result()")
    return Source("old", "tensorstore", ".zarr", "\n".join(lines), {})


CHAINS: tuple[list[dict[str, Any]], ...] = (
    [],
    [{"name": "gzip", "configuration": {"level": 1}}],
    [{"name": "crc32c"}],
    [{"name": "zstd", "configuration": {"level": 1}}, {"name": "crc32c"}],
)
"""Codecs behind `bytes`, as Zarr v3 names them."""
