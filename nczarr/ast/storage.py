"""Storage hints of a variable, independent of formats. Every member is optional: None selects the target's default."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from nczarr.ast.node import Constraint, Natural, Node, Positive, all_are, is_natural, node
from nczarr.ast.rectilinear import Lengths, read_lengths

DEFLATE, SHUFFLE, FLETCHER32, SZIP, BZIP2, LZF, BLOSC = 1, 2, 3, 4, 307, 32000, 32001
HDF5_LZ4, BITSHUFFLE, ZSTD = 32004, 32008, 32015

LAST_HDF5 = 65535
"""Largest filter number of HDF5; larger ones are ours, for codecs that only stores have."""

GZIP, CRC32C = 65537, 65538

FILTER_NAMES = {
    DEFLATE: "deflate",
    SHUFFLE: "shuffle",
    FLETCHER32: "fletcher32",
    SZIP: "szip",
    BZIP2: "bzip2",
    BLOSC: "blosc",
    ZSTD: "zstd",
    GZIP: "gzip",
    CRC32C: "crc32c",
}
"""Usual names of filters by number, in texts and in Python; other filters have none."""

FILTER_NUMBERS = {name: number for number, name in FILTER_NAMES.items()}
"""Their numbers by name."""

Algorithm = Literal["bitgroom", "granularbitround", "bitround"]
"""Algorithms of quantization."""

LayoutName = Literal["contiguous", "compact", "chunked"]
"""Layouts of HDF5 datasets."""


@node
class Codec(Node):
    """One step of a chunk's encoding, in application order: an HDF5 filter number and its parameters.

    `Codec(id=1, parameters=(5,))` is deflate at level 5; shuffle and fletcher32
    have no parameters.
    """

    id: Natural
    """Number of the HDF5 filter."""
    parameters: tuple[Natural, ...] = ()
    """Parameters of the filter."""

    def __post_init__(self) -> None:
        if not (is_natural(self.id) and type(self.parameters) is tuple and all(map(is_natural, self.parameters))):
            self._decide()

    @property
    def name(self) -> str | None:
        """Usual name of the codec, or None for an unnamed filter."""
        return FILTER_NAMES.get(self.id)


@node
class Quantize(Node):
    """Lossy rounding of floats before compression."""

    algorithm: Algorithm
    """Name of the algorithm."""
    digits: Positive
    """Significant decimal digits, or bits for `bitround`."""

    def __post_init__(self) -> None:
        self._decide()  # rare


Element = Annotated[
    str,
    Constraint(
        pattern=r"^(bool|float16|complex64|complex128|(utf32|bytes)\[[1-9][0-9]{0,8}\]"
        r"|struct\[\[.*\]\]|(datetime64|timedelta64)(\[[1-9]?[0-9]{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)$"
    ),
]
"""Store elements without an atomic type in the data model, such as `bool` or `datetime64[ms]`."""


class _ChunkLengths:
    """Schema of a chunk length: an integer, or a list of integers and of pairs `[length, number]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        length = core_schema.int_schema(gt=0, strict=True)
        pair = core_schema.list_schema(length, min_length=2, max_length=2, strict=True)
        several = core_schema.list_schema(core_schema.union_schema([length, pair]), min_length=1, strict=True)
        written = core_schema.union_schema(
            [length, core_schema.no_info_after_validator_function(read_lengths, several)]
        )
        return core_schema.json_or_python_schema(
            written,
            core_schema.union_schema([core_schema.is_instance_schema(Lengths), written], mode="left_to_right"),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda length: length.written if isinstance(length, Lengths) else length, when_used="json"
            ),
        )


ChunkLength = Annotated[int, _ChunkLengths()]
"""Chunk length of a dimension: one, or those of all chunks (`Lengths`)."""


@node
class Storage(Node):
    """Requested or recorded storage of a variable."""

    layout: LayoutName | None = None
    """Layout in an HDF5 file."""
    chunks: tuple[ChunkLength, ...] | None = None
    """Chunk length of each dimension; a list has the lengths of all its chunks, `[length, number]` for equal ones."""
    codecs: tuple[Codec, ...] = ()
    """Codecs in encoding order."""
    endian: Literal["little", "big"] | None = None
    """Byte order of stored values."""
    no_fill: bool = False
    """True if cells that were never written are undefined."""
    quantize: Quantize | None = None
    """Lossy rounding."""
    element: Element | None = None
    """The store's type of the values, if the model lacks it."""

    def __post_init__(self) -> None:
        chunks, codecs = self.chunks, self.codecs
        if not (
            (self.layout is None or self.layout in _LAYOUTS)
            and (chunks is None or (type(chunks) is tuple and all(map(_is_length, chunks))))
            and all_are(codecs, Codec)
            and (self.endian is None or self.endian in _ORDERS)
            and type(self.no_fill) is bool
            and (self.quantize is None or type(self.quantize) is Quantize)
            and (self.element is None or self.element in _COMMON_ELEMENTS)
        ):
            self._decide()


def _is_length(candidate: object) -> bool:
    return type(candidate) is Lengths or (type(candidate) is int and candidate > 0)


_LAYOUTS = get_args(LayoutName)
_ORDERS = ("little", "big")
_COMMON_ELEMENTS = ("bool", "float16", "complex64", "complex128")
DEFAULT_STORAGE = Storage()

FILTER_LIMIT = 2**32
"""Exclusive limit of filter numbers and parameters: HDF5 stores 32 bits of each."""

_MOST_DIGITS = {"float": 7, "double": 15}
_MOST_BITS = {"float": 23, "double": 52}


def most_digits(type_name: str, algorithm: str) -> int:
    """Return the maximum quantization digits (bits for `bitround`); 0: the netCDF library does not support the type."""
    return (_MOST_BITS if algorithm == "bitround" else _MOST_DIGITS).get(type_name, 0)
