"""Write one store for each array that this release of zarr-python can make: types, codecs and layouts.

`python make_zarr_arrays.py FOLDER [pairs]` writes FOLDER/NAME.zarr with the array `v`, and FOLDER/NAME.npy with the
values that zarr-python reads. The last line of the output is a JSON object: the release, and for each case `null` or
the error. With `pairs`, the cases are all pairs of type and codec, of type and layout, and of codec and layout.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import zarr
from zarr import codecs as own
from zarr.codecs import numcodecs as others

SHAPE = (6, 5)
NUMBERS = (
    "bool",
    "i1",
    "u1",
    "<i2",
    ">i2",
    "<u2",
    "<i4",
    ">i4",
    "u4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    ">f8",
    "c8",
    ">c16",
)
TRANSPOSE = own.TransposeCodec(order=(1, 0))


def values(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Different values, of which no chunk is all fill."""
    count = np.arange(30)
    if dtype.names is not None:
        made = np.zeros(SHAPE, dtype)
        for name in dtype.names:
            made[name] = values(dtype[name])
        return made
    match dtype.kind:
        case "b":
            found = count % 3 == 0
        case "c":
            found = count / 3 + 1j * count
        case "f":
            found = count / 4 - 2
        case "M" | "m":
            found = (count * 1000 - 5).astype("i8").view(dtype.str.replace(">", "<"))
        case "S" | "U":
            found = np.array(["", "a", "bc"])[count % 3]
        case "V" if dtype.subdtype is not None:
            raise TypeError("array fields")
        case "V":
            found = np.frombuffer(bytes(range(30)) * dtype.itemsize, dtype)
        case "O":
            found = np.array([f"t{each}é" for each in count], object)
        case _:
            found = count * 3 % 100
    return np.asarray(found).astype(dtype).reshape(SHAPE)


def array(
    dtype: Any = "i4", chunks: tuple[int, ...] = (3, 2), form: int = 3, **options: Any
) -> Callable[[Path], np.ndarray[Any, Any]]:
    """A maker of a store with one array, whose last rows are never written."""

    def make(path: Path) -> np.ndarray[Any, Any]:
        group = zarr.open_group(str(path), mode="w", zarr_format=form)
        kind = np.dtype("O") if dtype is str else np.dtype(dtype)
        made = group.create_array("v", shape=SHAPE, dtype=dtype, chunks=chunks, **options)
        made[:4] = values(kind)[:4]
        return np.asarray(zarr.open_group(str(path), mode="r")["v"][...])

    return make


def shards(chunk: tuple[int, ...], *codecs: Any, **options: Any) -> Any:
    return own.ShardingCodec(chunk_shape=chunk, codecs=list(codecs) or [own.BytesCodec()], **options)


def named(name: str, **options: Any) -> Any:
    """A codec that only some releases have."""
    found = getattr(own, name, None) or getattr(others, name, None)
    if found is None:
        raise AttributeError(f"no codec {name}")
    return found(**options)


def late(make: Callable[[], Callable[[Path], Any]]) -> Callable[[Path], Any]:
    return lambda path: make()(path)


def since(release: str, make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A maker for a release and later ones; earlier ones read other values than they have written."""
    if tuple(map(int, zarr.__version__.split(".")[:2])) < tuple(map(int, release.split("."))):
        raise RuntimeError(f"needs zarr-python {release}")
    return make


CASES: dict[str, Callable[[Path], Any]] = {
    **{
        f"v{form}-{name.replace('>', 'big-').replace('<', '')}": array(name, form=form)
        for form in (2, 3)
        for name in NUMBERS
    },
    **{f"v{form}-text": array(str, form=form) for form in (2, 3)},
    **{f"v{form}-bytes4": array("S4", form=form) for form in (2, 3)},
    **{f"v{form}-raw5": array("V5", form=form) for form in (2, 3)},
    **{f"v{form}-record": array(np.dtype([("a", "<i4"), ("b", "<f8")]), form=form) for form in (2, 3)},
    **{
        f"v{form}-{name.replace('>', 'big-')}": array(name, form=form)
        for form in (2, 3)
        for name in ("M8[ns]", "M8[D]", "M8[25s]", ">M8[ms]", "m8[us]", "m8[Y]", "U3", ">U2")
    },
    **{f"v{form}-epoch": array("M8[s]", form=form, fill_value=np.datetime64(0, "s")) for form in (2, 3)},
    "v3-record-time": array(np.dtype([("a", "<i4"), ("t", "<M8[s]")])),
    **{
        f"v{form}-record-{name.strip('<?')}{'bool' * (name == '?')}": array(
            np.dtype([("a", "<i2"), ("f", name)]), form=form
        )
        for form in (2, 3)
        for name in ("?", "<f2", "<c8", "S3", "<U3", "V2")
    },
    "v3-record-nested": array(np.dtype([("a", [("x", "i1"), ("t", "<m8[ms]")]), ("h", "<f2")])),
    "v3-record-big": array(np.dtype([("a", ">i4"), ("u", ">U2")]), serializer=own.BytesCodec(endian="big")),
    "v2-F": array(form=2, order="F"),
    "transpose": array(filters=[TRANSPOSE]),
    "transposes": array(filters=[TRANSPOSE, TRANSPOSE]),
    "big": array("i4", serializer=own.BytesCodec(endian="big")),
    "gzip": array(compressors=[own.GzipCodec()]),
    "zstd": array(compressors=[own.ZstdCodec()]),
    "blosc": array(compressors=[own.BloscCodec()]),
    "crc32c": array(compressors=[own.Crc32cCodec()]),
    "several": array(compressors=[own.GzipCodec(), own.Crc32cCodec()]),
    **{
        f"numcodecs-{name}": late(lambda name=name: array(compressors=[named(name)]))
        for name in (
            "Zlib",
            "BZ2",
            "LZ4",
            "LZMA",
            "Blosc",
            "Zstd",
            "GZip",
            "Adler32",
            "CRC32",
            "CRC32C",
            "Fletcher32",
            "JenkinsLookup3",
        )
    },
    "numcodecs-shuffle": late(lambda: array(compressors=[named("Shuffle", elementsize=4)])),
    "delta": late(lambda: array(filters=[named("Delta", dtype="<i4")])),
    "delta-transpose": late(lambda: array(filters=[named("Delta", dtype="<i4"), TRANSPOSE])),
    **{
        f"delta-big-{kind}": late(
            lambda kind=kind, stored=stored: since(
                "3.4",
                array(
                    "i8",
                    filters=[named("Delta", dtype="<i8", astype=stored)],
                    serializer=own.BytesCodec(endian="big"),
                    fill_value=7,
                ),
            )
        )
        for kind, stored in (("same", "<i8"), ("narrow", "<i2"))
    },
    **{
        f"astype-{endian}-shards": late(
            lambda endian=endian: since(
                "3.4",
                array(
                    "i4",
                    chunks=(6, 4),
                    filters=[named("AsType", encode_dtype="<i2", decode_dtype="<i4")],
                    serializer=shards((3, 2), own.BytesCodec(endian=endian)),
                    compressors=None,
                    fill_value=300,
                ),
            )
        )
        for endian in ("little", "big")
    },
    "bitround": late(lambda: array("f4", filters=[named("BitRound", keepbits=10)])),
    "quantize": late(lambda: array("f4", filters=[named("Quantize", digits=3, dtype="<f4")])),
    "fixedscaleoffset": late(
        lambda: array("f4", filters=[named("FixedScaleOffset", offset=0, scale=4, dtype="<f4", astype="<i2")])
    ),
    "astype": late(lambda: array("i4", filters=[named("AsType", encode_dtype="<i2", decode_dtype="<i4")])),
    "packbits": late(lambda: array("bool", filters=[named("PackBits")])),
    "shards": array(shards=(6, 4)),
    "shards-gzip": array(shards=(6, 4), compressors=[own.GzipCodec()]),
    "shards-start": array(chunks=(6, 4), serializer=shards((3, 2), index_location="start"), compressors=None),
    "shards-plain-index": array(
        chunks=(6, 4), serializer=shards((3, 2), index_codecs=[own.BytesCodec()]), compressors=None
    ),
    "shards-big-index": array(
        chunks=(6, 4),
        serializer=shards((3, 2), index_codecs=[own.BytesCodec(endian="big"), own.Crc32cCodec()]),
        compressors=None,
    ),
    "shards-transposed-inside": array(
        chunks=(6, 4), serializer=shards((3, 2), TRANSPOSE, own.BytesCodec()), compressors=None
    ),
    "shards-big": array("i4", chunks=(6, 4), serializer=shards((3, 2), own.BytesCodec(endian="big")), compressors=None),
    "transposed-shards": array(chunks=(6, 4), filters=[TRANSPOSE], serializer=shards((2, 3)), compressors=None),
    "transposed-square-shards": array(chunks=(4, 4), filters=[TRANSPOSE], serializer=shards((2, 2)), compressors=None),
    "gzip-of-shards": array(chunks=(6, 4), serializer=shards((3, 2)), compressors=[own.GzipCodec()]),
    "nested-shards": array(
        chunks=(6, 4), serializer=shards((6, 2), shards((3, 2), own.BytesCodec(), own.GzipCodec())), compressors=None
    ),
    "nested-shards-big": array(
        chunks=(6, 4), serializer=shards((6, 2), shards((3, 1), own.BytesCodec(endian="big"))), compressors=None
    ),
    "nested-shards-fill": array(
        chunks=(6, 4), serializer=shards((2, 4), shards((1, 2))), compressors=None, fill_value=-7
    ),
    "nested-shards-text": array(
        str,
        chunks=(6, 4),
        serializer=shards((6, 2), shards((3, 2), own.VLenUTF8Codec())),
        compressors=None,
        fill_value="é",
    ),
    "scale-offset": late(lambda: array("i4", filters=[named("ScaleOffset", offset=5, scale=2)])),
    "scale-offset-float": late(lambda: array("f8", filters=[named("ScaleOffset", offset=0.5, scale=0.25)])),
    "scale-offset-big": late(
        lambda: array("i4", filters=[named("ScaleOffset", offset=5, scale=2)], serializer=own.BytesCodec(endian="big"))
    ),
    "scale-offset-shards": late(
        lambda: array(
            chunks=(6, 4),
            filters=[named("ScaleOffset", offset=-5, scale=3)],
            serializer=shards((2, 2)),
            compressors=None,
            fill_value=4,
        )
    ),
    "cast-value": late(lambda: array("i4", filters=[named("CastValue", data_type="int16")])),
    "cast-value-rounded": late(
        lambda: array(
            "f4", filters=[named("CastValue", data_type="uint8", rounding="towards-zero", out_of_range="clamp")]
        )
    ),
    "cast-value-nan": late(
        lambda: array(
            "f8", fill_value=np.nan, filters=[named("CastValue", data_type="float32", rounding="towards-zero")]
        )
    ),
    "keys-v2": array(chunk_key_encoding={"name": "v2", "separator": "/"}),
    "keys-dots": array(chunk_key_encoding={"name": "default", "separator": "."}),
    **{
        f"v2-{name}": array(dtype, form=2, filters=[codec])
        for name, codec, dtype in (
            ("delta", numcodecs.Delta(dtype="<i4"), "i4"),
            ("fixedscaleoffset", numcodecs.FixedScaleOffset(offset=0, scale=4, dtype="<f4", astype="<i2"), "f4"),
            ("astype", numcodecs.AsType(encode_dtype="<i2", decode_dtype="<i4"), "i4"),
            ("base64", numcodecs.Base64(), "i4"),
            ("packbits", numcodecs.PackBits(), "bool"),
            ("quantize", numcodecs.Quantize(digits=3, dtype="<f4"), "f4"),
            ("bitround", numcodecs.BitRound(keepbits=10), "f4"),
            ("shuffle", numcodecs.Shuffle(elementsize=4), "i4"),
            ("fletcher32", numcodecs.Fletcher32(), "i4"),
            ("crc32", numcodecs.CRC32(), "i4"),
            ("adler32", numcodecs.Adler32(), "i4"),
            ("categorize", numcodecs.Categorize(["a", "bc"], dtype="<U2"), "<U2"),
            ("categorize-wide", numcodecs.Categorize(["a"], dtype="<U2", astype="<u2"), "<U2"),
            ("delta-of-times", numcodecs.Delta(dtype="<i8"), "M8[s]"),
        )
    },
    **{
        f"v2-{name}": array(form=2, compressors=codec)
        for name, codec in (
            ("none", None),
            ("zlib", numcodecs.Zlib()),
            ("gzip", numcodecs.GZip()),
            ("bz2", numcodecs.BZ2()),
            ("lz4", numcodecs.LZ4()),
            ("lzma", numcodecs.LZMA()),
            ("zstd", numcodecs.Zstd()),
            ("blosc", numcodecs.Blosc()),
        )
    },
}


TYPES: dict[str, Any] = {
    **{name.replace(">", "big-").replace("<", ""): name for name in NUMBERS},
    **{name.replace(">", "big-").replace("<", ""): name for name in ("S4", "<U3", ">U2", "V5", "M8[ns]", ">m8[3h]")},
    "text": str,
    "record": np.dtype([("a", "<i2"), ("b", "?"), ("c", "<c8"), ("s", "S3"), ("u", "<U2"), ("h", "<f2")]),
}

CODECS_3: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "gzip": lambda: [own.GzipCodec(level=1)],
    "zstd": lambda: [own.ZstdCodec(level=1)],
    "blosc": lambda: [own.BloscCodec(cname="lz4", shuffle="bitshuffle")],
    "crc32c": lambda: [own.Crc32cCodec()],
    "zlib": lambda: [named("Zlib", level=1)],
    "shuffle-zlib": lambda: [named("Shuffle", elementsize=4), named("Zlib", level=1)],
    "bz2": lambda: [named("BZ2", level=1)],
    "gzip-crc32c": lambda: [own.GzipCodec(level=1), own.Crc32cCodec()],
}

CODECS_2: dict[str, Any] = {
    "none": None,
    "zlib": numcodecs.Zlib(1),
    "zstd": numcodecs.Zstd(1),
    "blosc": numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE),
    "lz4": numcodecs.LZ4(),
    "lzma": numcodecs.LZMA(),
}

LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "whole": {"chunks": SHAPE},
    "large": {"chunks": (10, 7)},
    "transposed": {"filters": [TRANSPOSE]},
    "shards": {"chunks": (3, 2), "shards": (6, 4)},
    "large-shards": {"chunks": (2, 5), "shards": (12, 10)},
    "v2-keys": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
}


def pairs() -> dict[str, Callable[[Path], Any]]:
    """All pairs of type and codec, of type and layout, and of codec and layout, in both versions of Zarr."""
    found: dict[str, Callable[[Path], Any]] = {}

    def three(kind: str, codec: str, layout: str) -> None:
        def make() -> Callable[[Path], Any]:
            return array(TYPES[kind], compressors=CODECS_3[codec](), **LAYOUTS[layout])

        found.setdefault(f"v3-{kind}-{codec}-{layout}", late(make))

    for kind in TYPES:
        for codec in CODECS_3:
            three(kind, codec, "plain")
        for layout in LAYOUTS:
            three(kind, "gzip", layout)
        for codec, compressor in CODECS_2.items():
            for order in "CF" if codec == "zlib" else "C":
                found[f"v2-{kind}-{codec}-{order}"] = array(
                    TYPES[kind], form=2, compressors=compressor, order=order, chunks=(4, 3)
                )
    for codec in CODECS_3:
        for layout in LAYOUTS:
            three("i4", codec, layout)
    return found


def main(folder: Path, *, every: bool = False) -> None:
    warnings.simplefilter("ignore")
    failed: dict[str, str | None] = {}
    for name, make in (pairs() if every else CASES).items():
        try:
            np.save(folder / f"{name}.npy", make(folder / f"{name}.zarr"), allow_pickle=True)
            failed[name] = None
        except Exception as error:  # of a release that lacks a codec or type
            failed[name] = f"{type(error).__name__}: {error}"
    print(json.dumps({"zarr": zarr.__version__, "cases": failed}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), every="pairs" in sys.argv[2:])
