"""Storage as special attributes, in the order of `ncdump -s`."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.ast import Codec, Kind, Storage
from nczarr.ast.storage import CODEC_IDS
from nczarr.formats.cdl.words import QUANTIZE

FORMATS: dict[Kind, str] = {
    "nc3": "classic",
    "nc6": "64-bit offset",
    "nc5": "cdf5",
    "nc4": "netCDF-4",
    "nc7": "netCDF-4 classic model",
}
"""`_Format` values by file kind."""

_QUANTIZE = {algorithm: name for name, algorithm in QUANTIZE.items()}
_SHUFFLE, _DEFLATE, _FLETCHER = CODEC_IDS["shuffle"], CODEC_IDS["deflate"], CODEC_IDS["fletcher32"]
_FLAG_ORDER = (_FLETCHER, _SHUFFLE, _DEFLATE)
_LEVELS = range(1, 10)


def special_attributes(storage: Storage) -> Iterator[tuple[str, str]]:
    """Yield name and written value of each specified property."""
    if storage.layout is not None:
        yield "_Storage", f'"{storage.layout}"'
    if storage.chunks:
        yield "_ChunkSizes", ", ".join(map(str, storage.chunks))
    yield from _codecs(storage.codecs)
    if storage.endian is not None:
        yield "_Endianness", f'"{storage.endian}"'
    if storage.no_fill:
        yield "_NoFill", '"true"'
    if storage.quantize is not None:
        yield _QUANTIZE[storage.quantize.algorithm], str(storage.quantize.digits)


def _codecs(codecs: tuple[Codec, ...]) -> Iterator[tuple[str, str]]:
    """Yield Fletcher32, shuffle and deflate as separate attributes if they are the whole chain, else
    `_Filter`.

    Separate attributes imply libnetcdf's order of these codecs.
    """
    ids = [codec.id for codec in codecs]
    usual = all(
        len(codec.parameters) == 1 and codec.parameters[0] in _LEVELS if codec.id == _DEFLATE else not codec.parameters
        for codec in codecs
    )
    if usual and ids == [number for number in _FLAG_ORDER if number in ids]:
        if _FLETCHER in ids:
            yield "_Fletcher32", '"true"'
        if _SHUFFLE in ids:
            yield "_Shuffle", '"true"'
        if _DEFLATE in ids:
            yield "_DeflateLevel", str(codecs[ids.index(_DEFLATE)].parameters[0])
    elif codecs:
        yield "_Filter", '"' + "|".join(",".join(map(str, (codec.id, *codec.parameters))) for codec in codecs) + '"'
