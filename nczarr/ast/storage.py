"""Storage hints of a variable, independent of formats. Every member is optional: None selects the target's default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from nczarr.ast.node import Node

CODEC_IDS: dict[str, int] = {
    "deflate": 1,
    "shuffle": 2,
    "fletcher32": 3,
    "szip": 4,
    "bzip2": 307,
    "blosc": 32001,
    "zstd": 32015,
    "gzip": 65537,
    "crc32c": 65538,
}
"""Named codecs by HDF5 filter number (registered with The HDF Group).

HDF5's numbers end at 65535; larger ones are ours, for codecs that only stores
have.
"""

CODEC_NAMES: dict[int, str] = {number: name for name, number in CODEC_IDS.items()}


class Codec(Node):
    """One step of a chunk's encoding, in application order: an HDF5 filter number and its parameters.

    `Codec(id=1, parameters=(5,))` is deflate at level 5; shuffle and fletcher32
    have no parameters.
    """

    id: NonNegativeInt
    """Number of the HDF5 filter."""
    parameters: tuple[NonNegativeInt, ...] = ()
    """Parameters of the filter."""

    @property
    def name(self) -> str | None:
        """Usual name of the codec, or None for an unnamed filter."""
        return CODEC_NAMES.get(self.id)


class Quantize(Node):
    """Lossy rounding of floats before compression."""

    algorithm: Literal["bitgroom", "granularbitround", "bitround"]
    """Name of the algorithm."""
    digits: PositiveInt
    """Significant decimal digits, or bits for `bitround`."""


Element = Annotated[
    str,
    Field(
        pattern=r"^(bool|float16|complex64|complex128|(utf32|bytes)\[[1-9][0-9]{0,8}\]"
        r"|struct\[\[.*\]\]|(datetime64|timedelta64)(\[[1-9]?[0-9]{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)$"
    ),
]
"""Store elements without an atomic type in the data model, such as `bool` or `datetime64[ms]`."""


class Storage(Node):
    """Requested or recorded storage of a variable."""

    layout: Literal["contiguous", "compact", "chunked"] | None = None
    """Layout in an HDF5 file."""
    chunks: tuple[PositiveInt, ...] | None = None
    """Chunk length of each dimension."""
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


DEFAULT_STORAGE = Storage()

FILTER_LIMIT = 2**32
"""Exclusive limit of filter numbers and parameters: HDF5 stores 32 bits of each."""

_MOST_DIGITS = {"float": 7, "double": 15}
_MOST_BITS = {"float": 23, "double": 52}


def most_digits(type_name: str, algorithm: str) -> int:
    """Return the maximum quantization digits (bits for `bitround`); 0: the netCDF library does not support the type."""
    return (_MOST_BITS if algorithm == "bitround" else _MOST_DIGITS).get(type_name, 0)
