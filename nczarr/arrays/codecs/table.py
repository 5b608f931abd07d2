"""Kinds of codecs, and the table of all, by name and by number.

Each codec is one module of this folder, loaded when it is asked for, and a row of
`ROWS`. All formats, options and messages take what they need from both. A module
that has no row here has it itself, in a `ROWS` of its own, and is loaded at once.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Literal

from nczarr.arrays import codecs
from nczarr.arrays.lazy_numpy import np
from nczarr.ast.dataset import (
    BITSHUFFLE,
    BLOSC,
    BZIP2,
    CRC32C,
    DEFLATE,
    FILTER_NAMES,
    FLETCHER32,
    GZIP,
    HDF5_LZ4,
    LAST_HDF5,
    LZF,
    NBIT,
    SCALE_OFFSET,
    SHUFFLE,
    SZIP,
    ZARR_PLUGIN,
    ZSTD,
    Codec,
)
from nczarr.names.plugin_index import find_place, load_part
from nczarr.names.records import NamedTuple

Config = Mapping[str, Any]
"""Step of a chain in numcodecs' form: `id` and its parameters."""

Step = dict[str, Any]
"""A `Config` that may change, with the shapes and dtypes that decoding needs."""

Parameters = tuple[int, ...]
"""Parameters of an HDF5 filter."""

TOO_MUCH = "the decompressed chunk is larger than its shape allows"


class Row(NamedTuple):
    """Row of the table of codecs: what is asked of a codec that is not loaded."""

    module: str
    """Module of this folder, whose `CODECS` have the codec; of a plugin's one `module:attribute`."""
    number: int | None = None
    """Number of the HDF5 filter; None: the codec is only read from stores."""
    encodes: bool = False
    """True if chunks are encoded with this codec."""
    decodes: bool = True
    """True if chunks are decoded with this codec."""
    carried: bool = False
    """True if references of Zarr v3 keep chunks with this codec, although none is encoded."""


ROWS: dict[str, Row] = {
    "zlib": Row("deflate", DEFLATE, encodes=True),
    "shuffle": Row("shuffle", SHUFFLE, encodes=True),
    "fletcher32": Row("fletcher32", FLETCHER32, encodes=True),
    "szip": Row("szip", SZIP, decodes=False),
    "bz2": Row("bzip2", BZIP2, encodes=True),
    "lzf": Row("lzf", LZF),
    "blosc": Row("blosc", BLOSC, encodes=True),
    "hdf5_lz4": Row("lz4", HDF5_LZ4),
    "hdf5_bitshuffle": Row("bitshuffle", BITSHUFFLE),
    "zstd": Row("zstd", ZSTD, encodes=True),
    "gzip": Row("deflate", GZIP, encodes=True),
    "crc32c": Row("crc32c", CRC32C, encodes=True),
    **{name: Row(name) for name in ("byteswap", "lz4", "lzma", "sharding_indexed", "transpose")},
    "zarr_plugin": Row("zarr_plugin", ZARR_PLUGIN, carried=True),
}
"""Codecs by their name in numcodecs, those of HDF5 in the order of their numbers; plugins have further ones."""

FOREIGN_FILTERS = {
    NBIT: "nbit", SCALE_OFFSET: "scaleoffset",
    32003: "snappy", 32005: "apax", 32006: "cbf", 32007: "jpeg-xr", 32009: "SPDP",
    32010: "LPC-Rice", 32011: "ccsds-123", 32012: "jpeg-ls", 32013: "zfp", 32014: "fpzip", 32016: "B3D", 32017: "SZ",
    32018: "fcidecomp", 32019: "jpeg", 32022: "granular bitround", 32024: "SZ3", 32025: "delta-rice", 32026: "blosc2",
    32030: "JPEG-XL",
}  # fmt: skip
"""Names of HDF5's filters without a codec here by number, for messages."""

_LOSSLESS = frozenset({NBIT, 32003, 32006, 32009, 32010, 32018, 32025})
"""Those that restore every value of the types that are written; nbit drops only bits that these types use."""

_EXACT_OFFSET = (2, 0)
"""First parameters of scale-offset for integers (H5Z_SO_INT) with as many bits as they need."""


class UnsupportedConfigurationError(ValueError):
    """A valid configuration of a codec that this package cannot decode."""


class CodecKind:
    """One codec: its names in each format, its parameters, encoder, decoder, and the bound of its output."""

    config_id: ClassVar[str] = ""
    """Name in numcodecs, in documents of Zarr and in `--codec`."""
    registered: ClassVar[bool] = False
    """True if Zarr v3 has the codec under its `config_id`; the registry has the others as `numcodecs.NAME`."""
    stands_for: ClassVar[frozenset[int]] = frozenset()
    """Numbers of the codecs that this one replaces where only registered ones are allowed."""
    changes_arrays: ClassVar[bool] = False
    """True for a step of our own that knows the shape or dtype of a chunk; documents do not name it."""
    length_added: ClassVar[int | None] = None
    """Bytes by which every encoded chunk is longer; None if that depends on the values."""
    gains_by_shuffle: ClassVar[bool] = False
    """True if the codec finds more in shuffled numbers."""
    substitute: ClassVar[int | None] = None
    """Number of a codec with the same parameters, for targets that lack this one."""
    stage: ClassVar[Literal["array", "bytes"] | None] = None
    """Place of a step of Zarr v2 in a chain of Zarr v3: before or behind the codec `bytes`; None: not named there."""
    blosc_compressor: ClassVar[str] = ""
    """Compressor of blosc that stands for this codec behind a shuffle."""

    @property
    def number(self) -> int | None:
        """Number of the HDF5 filter; None: the codec is only read from stores."""
        return ROWS[self.config_id].number

    def is_valid(self, parameters: Parameters) -> bool:
        """Return whether the encoder accepts the parameters."""
        return True

    def essence(self, parameters: Parameters) -> Parameters:
        """Return the parameters that determine the encoded bytes."""
        return parameters

    def stand_in(self, parameters: Parameters) -> Parameters:
        """Return the parameters with which this codec replaces one of `stands_for`."""
        return ()

    def config(self, parameters: Parameters, itemsize: int) -> dict[str, Any]:
        """Return numcodecs' configuration. `itemsize`: bytes of an element."""
        return {"id": self.config_id}

    def parameters(self, config: Config) -> Parameters | None:
        """Return the parameters of numcodecs' configuration; None if no filter of HDF5 has them."""
        return ()

    def parse(self, arguments: list[str]) -> Parameters:
        """Return the parameters of a `--codec` specification. Raises ValueError with an explanation."""
        if arguments:
            raise ValueError(f"`{self.config_id}` has no level")
        return ()

    def usage(self) -> str:
        """Return the name in `--codec` and its arguments, for the help."""
        return f"`{self.config_id}`"

    def zarr3_configuration(self, config: Config, itemsize: int) -> dict[str, Any]:
        """Return the `configuration` in `zarr.json` for numcodecs' configuration."""
        return {key: member for key, member in config.items() if key != "id"}

    def from_zarr3(self, configuration: Config) -> Config:
        """Return numcodecs' configuration of a registered codec; its id is empty if the configuration is invalid."""
        return {"id": self.config_id, **configuration}

    def read(
        self, configuration: Config, stored: str, scalar: Callable[[Any, str], Any], dtype: Callable[[Any], Any]
    ) -> Step:
        """Return the step of a codec of Zarr v3 that changes numbers of the dtype `stored`.

        `scalar` and `dtype` read a number and a data type of the document. Raises ValueError.
        """
        raise UnsupportedConfigurationError(f"codec `{self.config_id}` is not read")

    def encode(self, data: bytes, parameters: Parameters, itemsize: int) -> bytes:
        """Return the encoded bytes of a chunk; by numcodecs, unless a codec has a better way."""
        import numcodecs.registry

        return bytes(numcodecs.registry.get_codec(self.config(parameters, itemsize)).encode(data))

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        """Return the decoded bytes, `limit` at most. Raises one of `DECODING_ERRORS`; by numcodecs, if it can."""
        import numcodecs.registry

        for name in ("dtype", "astype", "encode_dtype", "decode_dtype"):
            if name in step and (np.dtype(step[name]).kind not in "biufc"):
                raise ValueError(f"codec `{step.get('id')}` does not return numbers")
        if len(data) * self.expansion > 2 * limit:
            raise ValueError(TOO_MUCH)
        codec = numcodecs.registry.get_codec(dict(step))
        with np.errstate(all="ignore"):  # else numpy prints a warning with the place of numcodecs
            out = np.asarray(codec.decode(data))
        if out.dtype.hasobject:
            raise ValueError(f"codec `{step.get('id')}` returns Python objects")
        if out.nbytes > limit:
            raise ValueError(TOO_MUCH)
        return out.tobytes()

    def decode_whole(self, data: bytes, size: int) -> bytes | None:
        """Return `size` decoded bytes by a quicker way; None without one, or if it fails: `decode` says why."""
        return None

    expansion: ClassVar[int] = 1
    """Maximum decoded bytes of an encoded byte, where numcodecs decodes."""

    def dtypes(self, step: Config) -> tuple[Any, Any] | None:
        """Return the stored and the decoded dtype of a step that names dtypes, else None."""
        return None

    def with_fill(self, step: Step, fill: bytes) -> tuple[Step, bytes]:
        """Return the step and the encoded fill value of the shards behind it. Raises ValueError."""
        return step, fill

    def is_lossy(self, step: Config) -> bool:
        """Return whether decoding may not restore the values that were encoded."""
        return False


class TextCodec(CodecKind):
    """Codec of text arrays besides `vlen-utf8` and `vlen-bytes`; its texts are decoded to the form of these."""


class LeveledCodec(CodecKind):
    """Compressor whose only parameter is a level."""

    gains_by_shuffle = True
    levels: ClassVar[tuple[int, int]]
    """Lowest and highest level."""
    default_level: ClassVar[int]
    """Level of a filter without one; the netCDF library's default where it has one."""

    def level(self, parameters: Parameters) -> int:
        """Return the compression level."""
        return parameters[0] if parameters else self.default_level

    def is_valid(self, parameters: Parameters) -> bool:
        return len(parameters) <= 1 and self.levels[0] <= self.level(parameters) <= self.levels[1]

    def essence(self, parameters: Parameters) -> Parameters:
        return (self.level(parameters),)

    def config(self, parameters: Parameters, itemsize: int) -> dict[str, Any]:
        return {"id": self.config_id, "level": self.level(parameters)}

    def parameters(self, config: Config) -> Parameters | None:
        return (int(config.get("level", 1)),)

    def zarr3_configuration(self, config: Config, itemsize: int) -> dict[str, Any]:
        return {"level": 1, **super().zarr3_configuration(config, itemsize)}

    def encode_fast(self, data: bytes) -> bytes:
        """Return the bytes of `zlib:fast` and its like, which documents call level 1; only deflate has it."""
        return self.encode(data, (1,), 1)

    def parse(self, arguments: list[str]) -> Parameters:
        return (parse_level(self.config_id, arguments, self.default_level, self.levels),)

    def usage(self) -> str:
        return f"`{self.config_id}` ({self.levels[0]} to {self.levels[1]})"


def parse_level(name: str, arguments: list[str], default: int, limits: tuple[int, int]) -> int:
    """Return the level of a `--codec` specification. Raises ValueError with an explanation."""
    if not arguments:
        return default
    text = arguments[0]
    if len(arguments) > 1 or not (text.isascii() and text.isdigit()) or not limits[0] <= int(text) <= limits[1]:
        raise ValueError(f"`{':'.join(arguments)}` is not a level of `{name}`: {limits[0]} to {limits[1]}")
    return int(text)


def of_config_id(config_id: object) -> CodecKind | None:
    """Return the codec of a name in numcodecs, or None; that of a plugin is taken into the table."""
    if isinstance(config_id, str) and config_id not in ROWS and (place := find_place("codec", config_id)):
        ROWS[config_id] = Row(place)
    return _load(config_id) if isinstance(config_id, str) and config_id in ROWS else None


@cache
def _load(config_id: str) -> CodecKind:
    place = ROWS[config_id].module
    if ":" in place:
        kind: CodecKind = load_part(place)
        return kind
    kinds_of_module: tuple[CodecKind, ...] = import_module(f"nczarr.arrays.codecs.{place}").CODECS
    return next(kind for kind in kinds_of_module if kind.config_id == config_id)


def of_number(number: int) -> CodecKind | None:
    """Return the codec of a filter number, or None."""
    return of_config_id(_CONFIG_IDS.get(number))


def is_lossy_filter(codec: Codec) -> bool:
    """Return whether a filter may not restore the values that were encoded: a filter that is unknown may not."""
    is_exact = codec.id == SCALE_OFFSET and codec.parameters[:2] == _EXACT_OFFSET
    return not is_exact and codec.id not in _CONFIG_IDS and codec.id not in _LOSSLESS


def list_lossy(steps: Iterable[Config]) -> frozenset[str]:
    """Return the names of the steps that may not restore the values that were encoded."""
    found = ((step, of_config_id(step.get("id"))) for step in steps)
    return frozenset(kind.config_id for step, kind in found if kind is not None and kind.is_lossy(step))


def filter_name(number: int) -> str:
    """Return the number of a filter, with its name if that is known."""
    name = FILTER_NAMES.get(number) or FOREIGN_FILTERS.get(number)
    return str(number) if name is None else f"{number} ({name})"


def kinds() -> tuple[CodecKind, ...]:
    """Return all codecs, in the order of their numbers; those without one last."""
    return tuple(map(_load, ROWS))


@cache
def list_encoded(*, hdf5: bool) -> frozenset[int]:
    """Return the numbers of all codecs that encode chunks; `hdf5`: those only that HDF5 has a number for."""
    return frozenset(
        row.number
        for row in ROWS.values()
        if row.encodes and row.number is not None and (row.number <= LAST_HDF5 or not hdf5)
    )


def nameable(names_of_target: str, *, by_reference: bool = False) -> frozenset[int]:
    """Return the numbers of the codecs that a store can name (`Arrays.codecs`: `hdf5`, `all` or `none`).

    `by_reference`: with those of chunks that stay where they are.
    """
    if names_of_target == "none":
        return frozenset()
    carried = {row.number for row in ROWS.values() if row.carried and row.number is not None}
    encoded = list_encoded(hdf5=names_of_target == "hdf5")
    return encoded | carried if by_reference and names_of_target == "all" else encoded


@cache
def list_decoded_filters() -> frozenset[int]:
    """Return the numbers of the filters of HDF5 that are decoded."""
    return frozenset(
        row.number for row in ROWS.values() if row.decodes and row.number is not None and row.number <= LAST_HDF5
    )


def usage() -> str:
    """Return the codecs that `--codec` takes, with their levels, in two sentences for the help."""
    texts = [kind.usage() for kind in kinds() if ROWS[kind.config_id].encodes]
    leveled = ", ".join(text for text in texts if "(" in text)
    plain = ", ".join(text for text in texts if "(" not in text)
    return f"Codecs, with levels: {leveled}. Without levels: {plain}. The level may be omitted."


def _list_other_rows() -> dict[str, Row]:
    """Return the rows of the modules of this folder that `ROWS` does not name."""
    named = {"__init__", "chain", "lengths", "table", *(row.module for row in ROWS.values())}
    files: list[str] = []
    for folder in codecs.__path__:
        with suppress(OSError):  # a package in an archive has no folder
            files += os.listdir(folder)
    others: dict[str, Row] = {}
    for module in sorted({name.removesuffix(".py") for name in files if name.endswith(".py")} - named):
        others |= import_module(f"{codecs.__name__}.{module}").ROWS
    return others


ROWS |= _list_other_rows()

_CONFIG_IDS = {row.number: config_id for config_id, row in ROWS.items() if row.number is not None}
"""Names in numcodecs by filter number."""
