"""How a variable wishes to lie on disk, in words of no single format.

Every member may be absent: None means that nothing was said and the target's default holds.
"""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

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
"""The codecs that have a name of their own, by HDF5 filter number (registered with The HDF Group).

HDF5's numbers end at 65535: those beyond are ours, for codecs that only stores have.
"""

CODEC_NAMES: dict[int, str] = {number: name for name, number in CODEC_IDS.items()}


class Codec(Node):
    """One step of a chunk's encoding, first applied first: an HDF5 filter number and its numeric parameters.

    `Codec(id=1, parameters=(5,))` is deflate at level 5; shuffle and fletcher32 take no parameters.
    """

    id: NonNegativeInt
    parameters: tuple[NonNegativeInt, ...] = ()

    @property
    def name(self) -> str | None:
        """The codec's usual name, or None for a filter known by number alone."""
        return CODEC_NAMES.get(self.id)


class Quantize(Node):
    """Lossy rounding of floats before compression; `digits` counts decimal digits, or bits for `bitround`."""

    algorithm: Literal["bitgroom", "granularbitround", "bitround"]
    digits: PositiveInt


Element = Literal["bool", "float16", "complex64", "complex128"]
"""Elements of stores that the data model has no atomic type for."""


class Storage(Node):
    """Layout, chunk lengths (one a dimension), codecs in the order of encoding, byte order, fill mode; `element`: what
    a store calls the values, where the model has no type of that name.
    """

    layout: Literal["contiguous", "compact", "chunked"] | None = None
    chunks: tuple[PositiveInt, ...] | None = None
    codecs: tuple[Codec, ...] = ()
    endian: Literal["little", "big"] | None = None
    no_fill: bool = False
    quantize: Quantize | None = None
    element: Element | None = None


DEFAULT_STORAGE = Storage()

FILTER_LIMIT = 2**32
"""Numbers of filters and their parameters are less than this: HDF5 keeps 32 bits of each."""

_MOST_DIGITS = {"float": 7, "double": 15}
_MOST_BITS = {"float": 23, "double": 52}


def most_digits(type_name: str, algorithm: str) -> int:
    """How many digits (bits for `bitround`) quantization can keep of a type; 0: the netCDF library has none for it."""
    return (_MOST_BITS if algorithm == "bitround" else _MOST_DIGITS).get(type_name, 0)
