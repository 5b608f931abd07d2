"""Conversion of keyword arguments to the `Storage` of a variable."""

from collections.abc import Sequence
from typing import Any

from nczarr.api.builder.pieces import Site
from nczarr.arrays.codecs.chain import parse
from nczarr.ast import Codec, Quantize, Storage
from nczarr.ast.dataset import FILTER_NUMBERS
from nczarr.ast.rectilinear import chunk_length

LAYOUTS, ENDIANS = ("contiguous", "compact", "chunked"), ("little", "big")
QUANTIZERS = ("bitgroom", "granularbitround", "bitround")


def build(
    site: Site,
    variable: str,
    chunks: Sequence[int | Sequence[int]] | None,
    codecs: Sequence[Any] | str,
    layout: str | None,
    endian: str | None,
    no_fill: bool,
    quantize: tuple[str, int] | None,
) -> Storage:
    """Return the storage of one variable; reports and omits invalid options."""
    lengths = None
    if chunks is not None:
        chunk_lengths = chunks if isinstance(chunks, Sequence) and not isinstance(chunks, str) else [chunks]
        lengths = tuple(_length(site, variable, length) for length in chunk_lengths)
    return Storage(
        layout=_choice(site, variable, "layout", layout, LAYOUTS) or ("chunked" if lengths else None),
        chunks=lengths,
        codecs=_convert_codecs(site, variable, codecs),
        endian=_choice(site, variable, "endian", endian, ENDIANS),
        no_fill=bool(no_fill),
        quantize=_convert_quantize(site, variable, quantize),
    )


def _length(site: Site, variable: str, written: Any) -> int:
    """Return the chunk length of a dimension, or those of all its chunks."""
    several = isinstance(written, Sequence) and not isinstance(written, str) and len(written) > 0
    runs = [
        (site.count(n, 1, "bad-chunk-size", f"a chunk length of `{variable}`"), 1)
        for n in (written if several else [written])
    ]
    return chunk_length(runs)


def _choice(site: Site, variable: str, option: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value is None or value in choices:
        return value
    site.error("bad-special-value", f"`{option}` of `{variable}` is {value!r}; it is one of {', '.join(choices)}")
    return None


def _convert_codecs(site: Site, variable: str, written: Sequence[Any] | str) -> tuple[Codec, ...]:
    """Convert the argument `codecs`, such as `"zlib:5"` or `["shuffle", (307, 9)]`."""
    out: list[Codec] = []
    for item in [written] if isinstance(written, str) else written:
        try:
            out += parse(item) if isinstance(item, str) and item not in FILTER_NUMBERS else [_read_codec(item)]
        except ValueError as error:
            site.error("bad-special-value", f"codec {item!r} of `{variable}`: {error}")
    return tuple(out)


def _read_codec(item: Any) -> Codec:
    """Return the codec of a name or number of a filter, with parameters. Raises ValueError for others."""
    name, *parameters = item if isinstance(item, tuple | list) else (item,)
    numbers = [FILTER_NUMBERS.get(name) if isinstance(name, str) else name, *parameters]
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise ValueError(f"it is neither a filter number with parameters nor one of {', '.join(FILTER_NUMBERS)}")
    return Codec(id=numbers[0], parameters=tuple(parameters))


def _convert_quantize(site: Site, variable: str, written: Any) -> Quantize | None:
    if written is None:
        return None
    if isinstance(written, tuple) and len(written) == 2 and written[0] in QUANTIZERS:
        digits = site.count(written[1], 1, "bad-special-value", f"the digits of `quantize` of `{variable}`")
        return Quantize(algorithm=written[0], digits=digits)
    text = f"`quantize` of `{variable}` is {written!r}; give ({' | '.join(QUANTIZERS)}, digits)"
    site.error("bad-special-value", text)
    return None
