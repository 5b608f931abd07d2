"""Arrays that zarr-python writes: one store for each type, codec, fill value, grid and oddity of a document."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ["y", "x", "z"]
BASE = np.random.default_rng(0).random((6, 7)) * 100

TYPES = ("i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f2", "<f4", ">f4", "<f8", ">f8",
         "<c8", "<c16", "|b1")  # fmt: skip


class Matrix:
    """A folder with the stores; `made` has their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[str] = []

    def put(self, name: str, version: int, values: Any, part: tuple[slice, ...] = (), **options: Any) -> None:
        """Write one array; one that this release of zarr-python cannot write is left out."""
        import zarr

        path = self.folder / f"{name}.{version}"
        options.setdefault("chunks", tuple(max(1, (length + 1) // 2) for length in values.shape))
        options.setdefault("compressors", None)
        if version == 3 and values.ndim:
            options["dimension_names"] = NAMES[: values.ndim]
        dtype = options.pop("dtype", values.dtype)
        try:
            group = zarr.open_group(path, mode="w", zarr_format=version)
            array = group.create_array("v", shape=values.shape, dtype=dtype, **options)
            if version == 2 and values.ndim:
                array.attrs["_ARRAY_DIMENSIONS"] = NAMES[: values.ndim]
            array[part or ...] = values[part or ...]
            array[...]
        except Exception:
            shutil.rmtree(path, ignore_errors=True)
            return
        self.made.append(path.name)

    def edit(self, source: str, name: str, change: Callable[[Any], object], key: str = "") -> None:
        """Write a copy of a store with another document of the array."""
        version = source[-1]
        target = self.folder / f"{name}.{version}"
        shutil.copytree(self.folder / source, target)
        path = target / "v" / (key or (".zarray" if version == "2" else "zarr.json"))
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))
        self.made.append(target.name)


def make_matrix(folder: Path) -> Matrix:
    """Write all stores."""
    matrix = Matrix(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _types(matrix)
        _codecs(matrix)
        _grids(matrix)
        _documents(matrix)
    return matrix


def _types(matrix: Matrix) -> None:
    for dtype in TYPES:
        values = BASE > 50 if dtype == "|b1" else BASE.astype(dtype)
        for version in (2, 3):
            matrix.put(f"type-{np.dtype(dtype).str[1:]}-{dtype[0] == '>'}", version, values)
    texts = [["ab", "cdéfg"], ["", "x"]]
    for version in (2, 3):
        matrix.put("type-S5", version, np.array([["ab", "cdefg"], ["", "x"]], "S5"))
        matrix.put("type-S1", version, np.array([b"a", b"", b"c"], "S1"))
        matrix.put("type-U5", version, np.array(texts, "<U5"))
        matrix.put("type-record", version, np.array([(1, 2.5), (3, 4.5)], [("a", "<i4"), ("b", "<f8")]))
        for dtype in ("M8[ns]", "m8[s]"):
            matrix.put(f"type-{dtype[:2]}", version, np.array([1, 2], dtype))
        if hasattr(np.dtypes, "StringDType"):
            matrix.put("type-string", version, np.array(texts, np.dtypes.StringDType()))
        part = (slice(3), slice(4))
        for name, fill in (("nan", np.nan), ("inf", np.inf), ("zero", 0), ("negative", -1.5)):
            matrix.put(f"fill-{name}", version, BASE.astype("<f4"), part, fill_value=fill)
        for dtype, value in (("|b1", True), ("<i8", 2**60 + 1), ("<u8", 2**64 - 1), ("<c8", 1 + 2j), ("i1", -3)):
            values = BASE > 50 if dtype == "|b1" else BASE.astype(dtype)
            matrix.put(f"fill-{dtype[1:]}", version, values, part, fill_value=value)


def _codecs(matrix: Matrix) -> None:
    import numcodecs as old
    import numcodecs.zarr3 as new
    import zarr.codecs as own

    floats, whole = BASE.astype("<f4"), BASE.astype("<i4")
    compressors = [old.Zlib(5), old.GZip(5), old.BZ2(5), old.LZMA(), old.LZ4(), old.Zstd(3)]
    compressors += [old.Blosc(name) for name in ("lz4", "zstd", "zlib", "blosclz")] + [old.Blosc("lz4", shuffle=2)]
    for number, compressor in enumerate(compressors):
        matrix.put(f"codec-{number}-{compressor.codec_id}", 2, floats, compressors=compressor)
    for steps, values in (
        ([old.Shuffle(4)], floats), ([old.Delta("<i4")], whole), ([old.FixedScaleOffset(0, 10, "<i4", "<i4")], whole),
        ([old.BitRound(10)], floats), ([old.Quantize(2, "<f4")], floats), ([old.CRC32()], whole),
        ([old.Adler32()], whole), ([old.Fletcher32()], whole), ([old.AsType("<i8", "<i4")], whole),
        ([old.PackBits()], BASE > 50),
    ):  # fmt: skip
        matrix.put(f"filter-{steps[0].codec_id}", 2, values, filters=steps, compressors=old.Zlib(1))
    chains: list[Any] = [own.GzipCodec(level=5), own.ZstdCodec(level=3), own.BloscCodec(cname="lz4"), own.Crc32cCodec()]
    chains += [new.Zlib(level=5), new.BZ2(level=5), new.LZMA(), new.LZ4(), new.Shuffle(elementsize=4)]
    chains += [new.Fletcher32(), new.CRC32(), [own.ZstdCodec(level=3), own.Crc32cCodec()]]
    for number, chain in enumerate(chains):
        matrix.put(f"codec-{number}", 3, floats, compressors=chain)
    for number, (step, values) in enumerate((
        (own.TransposeCodec(order=(1, 0)), floats), (new.Delta(dtype="<i4"), whole),
        (new.BitRound(keepbits=10), floats),
        (new.FixedScaleOffset(offset=0, scale=10, dtype="<i4", astype="<i4"), whole), (new.PackBits(), BASE > 50),
        (new.AsType(encode_dtype="<i8", decode_dtype="<i4"), whole), (new.Quantize(digits=2, dtype="<f4"), floats),
    )):  # fmt: skip
        matrix.put(f"filter-{number}", 3, values, filters=[step])
    matrix.put("big", 3, floats, serializer=own.BytesCodec(endian="big"))
    for name, options in (
        ("plain", {}), ("start", {"index_location": "start"}), ("bare", {"index_codecs": [own.BytesCodec()]}),
        ("zstd", {"codecs": [own.BytesCodec(), own.ZstdCodec(level=3)]}),
        ("nested", {"codecs": [own.ShardingCodec(chunk_shape=(3, 2), codecs=[own.BytesCodec()])]}),
        ("lz4", {"codecs": [own.BytesCodec(), new.LZ4()]}),
    ):  # fmt: skip
        shards = own.ShardingCodec(chunk_shape=(3, 4), **options)
        matrix.put(f"shards-{name}", 3, floats, chunks=(6, 8), serializer=shards)
    shards = own.ShardingCodec(chunk_shape=(3, 4))
    matrix.put("shards-behind", 3, floats, chunks=(6, 8), serializer=shards, compressors=[own.Crc32cCodec()])


def _grids(matrix: Matrix) -> None:
    floats = BASE.astype("<f4")
    matrix.put("order-F", 2, floats, order="F")
    matrix.put("slash", 2, floats, chunk_key_encoding={"name": "v2", "separator": "/"})
    for number, encoding in enumerate(({"name": "v2", "separator": "."}, {"name": "default", "separator": "."})):
        matrix.put(f"keys-{number}", 3, floats, chunk_key_encoding=encoding)
    for version in (2, 3):
        matrix.put("scalar", version, np.array(5.5), chunks=())
        matrix.put("empty", version, np.zeros((0, 4), "<f4"), chunks=(1, 4))
        matrix.put("cube", version, np.random.default_rng(1).random((3, 4, 5)))


def _documents(matrix: Matrix) -> None:
    def put(name: str, value: Any) -> Callable[[Any], object]:
        return lambda document: document.__setitem__(name, value)

    def drop(name: str) -> Callable[[Any], object]:
        return lambda document: document.pop(name, None)

    two, three = "type-f4-False.2", "type-f4-False.3"
    for name in ("type-S5", "type-U5", "type-S1", "type-record", "type-c8-False", "type-M8", "empty", "type-b1-False"):
        if f"{name}.2" in matrix.made:
            matrix.edit(f"{name}.2", f"{name}-null", put("fill_value", None))
    matrix.edit(two, "raw", lambda document: document.update(dtype="|V4", fill_value=None))
    matrix.edit(two, "no-filters", drop("filters"))
    matrix.edit(two, "fill-text", put("fill_value", "NaN"))
    matrix.edit(two, "foreign", put("_nczarr_array", {"a": 1}))
    matrix.edit(two, "separator", put("dimension_separator", "."))
    matrix.edit(two, "not-a-number", put("a", float("nan")), ".zattrs")
    matrix.edit("type-u1-False.2", "one-byte", put("dtype", "<u1"))
    matrix.edit(three, "fill-bits", put("fill_value", "0x7fc00001"))
    matrix.edit(three, "names-same", put("dimension_names", ["x", "x"]))
    matrix.edit(three, "names-none", drop("dimension_names"))
    matrix.edit(three, "optional", put("extra", {"must_understand": False}))
    matrix.edit(three, "required", put("extra", {"name": "x"}))
    matrix.edit(three, "no-endian", lambda document: document["codecs"][0].pop("configuration", None))
    matrix.edit("type-u1-False.3", "codec-name", put("codecs", ["bytes"]))
    matrix.edit(three, "keys-name", put("chunk_key_encoding", "default"))
    matrix.edit(three, "keys-bare", put("chunk_key_encoding", {"name": "default"}))
    matrix.edit(three, "not-a-number", lambda document: document["attributes"].update(a=float("nan")))
