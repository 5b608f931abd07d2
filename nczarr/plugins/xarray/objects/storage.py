"""Translation of `encoding` to storage: keys of xarray's netCDF and Zarr writers.

Keys that a call gives are obeyed or refused. Keys that a variable has from the
file it was read from are obeyed where they can be, else a warning names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.api.builder.pieces import Site, caller
from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs.blosc import parameters_of
from nczarr.ast import Codec
from nczarr.ast.dataset import BLOSC, BZIP2, DEFLATE, FLETCHER32, LZF, SHUFFLE, SZIP, ZSTD
from nczarr.diagnostics.report import suggest

if TYPE_CHECKING:
    from xarray import Variable

FLAGS = ("zlib", "szip", "bzip2", "blosc", "zstd")
"""Compressions that have a flag of their own; the last one that is set counts, as in xarray."""

MEANING = frozenset({"dtype", "_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar",
                     "_Encoding", "_Unsigned", "char_dim_name", "coordinates", "bounds", "grid_mapping", "climatology",
                     "geometry", "node_coordinates", "node_count", "part_node_count", "interior_ring",
                     "cell_measures", "formula_terms"})  # fmt: skip
"""Keys that xarray's coders obey."""

STORING = frozenset({*FLAGS, "complevel", "shuffle", "fletcher32", "contiguous", "chunksizes", "compression",
                     "compression_opts", "significant_digits", "quantize_mode", "blosc_shuffle", "szip_coding",
                     "szip_pixels_per_block", "endian", "least_significant_digit", "chunks", "shards", "compressors",
                     "compressor", "filters", "serializer"})  # fmt: skip
"""Keys that this module obeys."""

DESCRIPTIVE = frozenset({"source", "original_shape", "preferred_chunks"})
"""Keys that describe where a variable was read from; xarray's writers drop them as well."""

OWN = frozenset({"chunk_key_encoding", "write_empty_chunks", "cache_metadata", "fill_value", "object_codec", "order"})
"""Keys of Zarr that a target decides; no message if a variable has them from a store."""

KNOWN = MEANING | STORING | DESCRIPTIVE

QUANTIZERS = {"BitGroom": "bitgroom", "GranularBitRound": "granularbitround", "BitRound": "bitround"}
"""Algorithms by `quantize_mode`."""

BLOSC_NAMES = {"blosc": "blosclz", "blosc_lz": "blosclz", "blosc_lz4": "lz4", "blosc_lz4hc": "lz4hc",
               "blosc_zlib": "zlib", "blosc_zstd": "zstd"}  # fmt: skip
"""Compressors of Blosc by `compression`."""

SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}


class StorageArguments(NamedTuple):
    """Arguments for the storage of one variable."""

    chunks: tuple[int, ...] | None = None
    """Chunk lengths."""
    codecs: tuple[Codec, ...] = ()
    """Codecs in encoding order."""
    layout: str | None = None
    """Layout in a netCDF file."""
    endian: str | None = None
    """Byte order."""
    quantize: tuple[str, int] | None = None
    """Algorithm and digits."""
    shards: tuple[int, ...] | str | None = None
    """Shard lengths, or `auto`."""


class _UnsuitableError(ValueError):
    """A value of an encoding that cannot be obeyed: the key, and why."""

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        super().__init__(reason)


def check_keys(name: object, encoding: Mapping[Any, Any], site: Site) -> None:
    """Report unknown-encoding for keys of a call's `encoding` that are unknown or cannot be obeyed."""
    for key in encoding:
        if key in KNOWN:
            continue
        text = f"variable {name!r}: `{key}` is not a key of `encoding`"
        if key in OWN:
            text = f"variable {name!r}: `{key}` of `encoding` cannot be obeyed, because the target decides it"
        site.error("unknown-encoding", text, helps=suggest(str(key), KNOWN))


def storage_of(
    name: object, variable: Variable, unlimited: frozenset[object], site: Site, *, given: bool
) -> StorageArguments:
    """Return the storage that an encoded variable asks for.

    `given`: the encoding comes from the call. Reports unknown-encoding then,
    else unused-encoding.
    """
    encoding = {key: value for key, value in variable.encoding.items() if key not in MEANING | DESCRIPTIVE}
    refused: list[_UnsuitableError] = []
    if not given:
        _drop_outdated(encoding, variable, unlimited)
        refused += [_UnsuitableError(str(key), "the key is unknown") for key in encoding if key not in KNOWN | OWN]

    def try_storage(make: Any, otherwise: Any) -> Any:
        try:
            return make(encoding, variable)
        except _UnsuitableError as unsuitable:
            refused.append(unsuitable)
            return otherwise

    arguments = StorageArguments(
        chunks=try_storage(partial(_chunks, unlimited=unlimited), None),
        codecs=try_storage(_codecs, ()) if variable.ndim else (),
        layout="contiguous" if encoding.get("contiguous") and variable.ndim and not _needs_chunks(encoding) else None,
        endian=try_storage(_find_endian, None),
        quantize=try_storage(_quantize, None),
        shards=try_storage(_shards, None),
    )
    for problem in refused:
        text = f"variable {name!r}: `{problem.key}` of its encoding: {problem}"
        if given:
            site.error("unknown-encoding", text)
        else:
            site.report.warning("unused-encoding", text, caller())
    if arguments.chunks is None and arguments.layout is None:
        arguments = arguments._replace(chunks=_blocks(variable))
    return arguments


def _drop_outdated(encoding: dict[Any, Any], variable: Variable, unlimited: frozenset[object]) -> None:
    """Drop chunk lengths of a file whose variable had another shape, as xarray's writers do."""
    lengths = encoding.get("chunksizes")  # as xarray's netCDF4 engine leaves them out
    if lengths is not None:
        axes = zip(lengths, variable.shape, variable.dims, strict=False)
        large = any(chunk > length and axis not in unlimited for chunk, length, axis in axes)
        shape = variable.encoding.get("original_shape", variable.shape)
        if large or len(lengths) != variable.ndim or tuple(shape) != variable.shape:
            del encoding["chunksizes"]
    for key in ("chunks", "shards"):
        if isinstance(encoding.get(key), tuple) and len(encoding[key]) != variable.ndim:
            del encoding[key]
    if any(axis in unlimited for axis in variable.dims):
        encoding.pop("contiguous", None)  # HDF5 grows chunked datasets alone


def _needs_chunks(encoding: Mapping[Any, Any]) -> bool:
    return bool(encoding.get("chunksizes") or encoding.get("chunks"))


def _chunks(
    encoding: Mapping[Any, Any], variable: Variable, unlimited: frozenset[object] = frozenset()
) -> tuple[int, ...] | None:
    """Return the chunk lengths, at most the lengths of dimensions that cannot grow."""
    key = "chunksizes" if encoding.get("chunksizes") is not None else "chunks"
    lengths_of_key = _lengths(key, encoding.get(key), variable)
    if lengths_of_key is None:
        return None
    lengths = zip(lengths_of_key, variable.dims, variable.shape, strict=True)
    return tuple(chunk if axis in unlimited else min(chunk, max(1, size)) for chunk, axis, size in lengths)


def _shards(encoding: Mapping[Any, Any], variable: Variable) -> tuple[int, ...] | str | None:
    if encoding.get("shards") == "auto":
        return "auto"
    return _lengths("shards", encoding.get("shards"), variable)


def _lengths(key: str, requested: Any, variable: Variable) -> tuple[int, ...] | None:
    """Return one length for each dimension; an integer counts for all of them."""
    if requested is None or (isinstance(requested, str) and requested == "auto") or not variable.ndim:
        return None
    chunk_lengths = [requested] * variable.ndim if hasattr(requested, "__index__") else requested
    if not isinstance(chunk_lengths, Sequence) or not all(hasattr(length, "__index__") for length in chunk_lengths):
        raise _UnsuitableError(key, f"{requested!r} are not integers, one for each dimension")
    lengths = tuple(int(length) for length in chunk_lengths)
    if len(lengths) != variable.ndim:
        raise _UnsuitableError(key, f"{len(lengths)} lengths are given for {variable.ndim} dimensions")
    lengths = tuple(
        max(1, size) if length == -1 else length for length, size in zip(lengths, variable.shape, strict=True)
    )
    if min(lengths) < 1:
        raise _UnsuitableError(key, f"{requested!r} are not positive")
    return lengths


def _blocks(variable: Variable) -> tuple[int, ...] | None:
    """Return the lengths of a dask array's blocks if all but the last are equal along each dimension."""
    chunks = variable.chunks
    if not chunks:
        return None
    for lengths in chunks:
        if any(length != lengths[0] for length in lengths[:-1]) or lengths[-1] > lengths[0] or not lengths[0]:
            return None
    return tuple(lengths[0] for lengths in chunks)


def _find_endian(encoding: Mapping[Any, Any], variable: Variable) -> str | None:
    byte_order = encoding.get("endian")
    if byte_order is None and variable.dtype.kind in "iuf" and variable.dtype.itemsize > 1:
        byte_order = _config(encoding.get("serializer")).get("endian")  # zarr-python gives one to texts as well
    if byte_order in (None, "native"):
        return None
    if byte_order not in ("little", "big"):
        raise _UnsuitableError("endian", f"{byte_order!r} is not native, little or big")
    return str(byte_order)


def _quantize(encoding: Mapping[Any, Any], variable: Variable) -> tuple[str, int] | None:
    """Return the mode and number of significant digits of a quantization; None without `significant_digits`."""
    digits, mode = encoding.get("significant_digits"), encoding.get("quantize_mode", "BitGroom")
    if digits is None:
        return None
    if mode not in QUANTIZERS:
        raise _UnsuitableError("quantize_mode", f"{mode!r} is not one of {', '.join(QUANTIZERS)}")
    return QUANTIZERS[mode], _count("significant_digits", digits)


def rounding(encoding: Mapping[Any, Any]) -> int | None:
    """Return the decimal digits that `least_significant_digit` keeps. Raises ValueError for no integer."""
    digits = encoding.get("least_significant_digit")
    if digits is not None and not hasattr(digits, "__index__"):
        raise ValueError(f"`least_significant_digit` is {digits!r}, which is not an integer")
    return None if digits is None else int(digits)


def _count(key: str, value: Any) -> int:
    """Return an integer that is not negative. Raises _UnsuitableError for other values."""
    if not hasattr(value, "__index__") or int(value) < 0:
        raise _UnsuitableError(key, f"{value!r} is not a positive integer")
    return int(value)


def _codecs(encoding: Mapping[Any, Any], variable: Variable) -> tuple[Codec, ...]:
    """Return the codecs of an encoding: Zarr's, or netCDF4-python's flags, in the order of the netCDF library."""
    zarr = [key for key in ("filters", "compressors", "compressor") if encoding.get(key) not in (None, "auto", ())]
    if zarr:
        return tuple(step for key in zarr for step in _zarr_codecs(key, encoding[key], variable))
    compression = encoding.get("compression")
    if compression is None:
        compression = next((flag for flag in reversed(FLAGS) if encoding.get(flag)), None)
        detail = encoding.get(compression)
        if isinstance(detail, Mapping):  # as `filters()` of netCDF4-python describes blosc and szip
            pixels = {"szip_coding": detail.get("coding"), "szip_pixels_per_block": detail.get("pixels_per_block")}
            more = {"blosc_shuffle": detail.get("shuffle"), **pixels}
            encoding = {**encoding, **{key: value for key, value in more.items() if value is not None}}
            compression = detail.get("compressor", compression)
    compressed = _compression(compression, encoding)
    shuffled = (Codec(id=SHUFFLE),) if encoding.get("shuffle", compression in ("zlib", "gzip")) else ()
    checked = (Codec(id=FLETCHER32),) if encoding.get("fletcher32") else ()
    if not compressed:
        shuffled = shuffled if encoding.get("shuffle") and checked else ()  # HDF5 files: no compression, no shuffle
    if compressed and compressed[0].id == BLOSC:
        shuffled = ()
    return (*checked, *shuffled, *compressed)  # the order of the netCDF library


def _compression(name: Any, encoding: Mapping[Any, Any]) -> tuple[Codec, ...]:
    """Return the compressor that netCDF4-python and h5py mean by a name."""
    if name is None:
        return ()
    level = encoding.get("complevel")
    options = encoding.get("compression_opts")
    if isinstance(name, int) and not isinstance(name, bool):  # h5py: a level of gzip, or a number of a filter
        parameters = tuple(options) if isinstance(options, Sequence) else ()
        return (Codec(id=DEFLATE, parameters=(name,)),) if name < 10 else (Codec(id=name, parameters=parameters),)
    level = options if level is None and isinstance(options, int) else level
    if name in ("zlib", "gzip"):
        return _add_level(DEFLATE, 4 if level is None else level, 9)
    if name == "bzip2":
        return _add_level(BZIP2, 4 if level is None else level, 9)
    if name == "zstd":
        return _add_level(ZSTD, 4 if level is None else level, 22)
    if name in BLOSC_NAMES:
        number = 4 if level is None else _count("complevel", level)
        shuffle = _count("blosc_shuffle", encoding.get("blosc_shuffle", 1))
        return (Codec(id=BLOSC, parameters=parameters_of(BLOSC_NAMES[name], number, shuffle)),)
    if name == "lzf":
        return (Codec(id=LZF),)
    if name == "szip":
        mask = {"nn": 32, "ec": 4}.get(encoding.get("szip_coding", "nn"), 32)
        pixels = _count("szip_pixels_per_block", encoding.get("szip_pixels_per_block", 8))
        return (Codec(id=SZIP, parameters=(mask, pixels)),)
    raise _UnsuitableError("compression", f"{name!r} is not a compression of netCDF4 or h5py")


def _add_level(number: int, level: Any, most: int) -> tuple[Codec, ...]:
    if not hasattr(level, "__index__") or not 0 <= int(level) <= most:
        raise _UnsuitableError("complevel", f"{level!r} is not a level from 0 to {most}")
    return (Codec(id=number, parameters=(int(level),)),) if int(level) or number != DEFLATE else ()


def _zarr_codecs(key: str, written: Any, variable: Variable) -> tuple[Codec, ...]:
    """Return the codecs of Zarr's `filters` or `compressors`: objects of numcodecs or zarr, or their JSON."""
    steps = list(written) if isinstance(written, list | tuple) else [written]
    configs = [config for step in steps if (config := _config(step)) and not _is_of_texts(config)]
    for config in configs:
        if config.get("id") == "blosc" and config.get("shuffle") == -1:  # numcodecs: bits of bytes, bytes of others
            config["shuffle"] = 2 if variable.dtype.itemsize == 1 else 1
    chain = codecs.from_configs(configs)
    if chain is None or len(configs) < sum(1 for step in steps if step is not None) - _texts(steps):
        raise _UnsuitableError(key, f"{written!r} has a codec that nczarr does not write")
    return chain


def _texts(steps: Sequence[Any]) -> int:
    return sum(1 for step in steps if _is_of_texts(_config(step)))


def _is_of_texts(config: Mapping[str, Any]) -> bool:
    """Return whether a codec encodes texts of any length; targets have their own."""
    return str(config.get("id", "")).startswith("vlen-")


def _config(step: Any) -> dict[str, Any]:
    """Return a codec as numcodecs' configuration; empty if it has none."""
    if hasattr(step, "get_config"):
        return dict(step.get_config())
    if hasattr(step, "to_dict"):
        step = step.to_dict()
    if not isinstance(step, Mapping):
        return {}
    if "id" in step:
        return dict(step)
    configuration = dict(step.get("configuration") or {})
    shuffle = configuration.get("shuffle")
    if isinstance(shuffle, str):
        configuration["shuffle"] = SHUFFLES.get(shuffle, 1)
    return {**configuration, "id": str(step.get("name", "")).removeprefix("numcodecs.")}
