"""Conversion of keyword arguments to the `Storage` of a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nczarr.api.builder.pieces import Site
from nczarr.ast import Codec, Quantize, Storage
from nczarr.ast.rectilinear import chunk_length
from nczarr.ast.storage import CODEC_IDS

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
        given = chunks if isinstance(chunks, Sequence) and not isinstance(chunks, str) else [chunks]
        lengths = tuple(_length(site, variable, each) for each in given)
    return Storage(
        layout=_choice(site, variable, "layout", layout, LAYOUTS) or ("chunked" if lengths else None),
        chunks=lengths,
        codecs=_codecs(site, variable, codecs),
        endian=_choice(site, variable, "endian", endian, ENDIANS),
        no_fill=bool(no_fill),
        quantize=_quantize(site, variable, quantize),
    )


def _length(site: Site, variable: str, given: Any) -> int:
    """Return the chunk length of a dimension, or those of all its chunks."""
    several = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    runs = [
        (site.count(n, 1, "bad-chunk-size", f"a chunk length of `{variable}`"), 1)
        for n in (given if several else [given])
    ]
    return chunk_length(runs)


def _choice(site: Site, variable: str, option: str, given: Any, known: tuple[str, ...]) -> Any:
    if given is None or given in known:
        return given
    site.error("bad-special-value", f"`{option}` of `{variable}` is {given!r}; it is one of {', '.join(known)}")
    return None


def _codecs(site: Site, variable: str, given: Sequence[Any] | str) -> tuple[Codec, ...]:
    out = []
    for item in [given] if isinstance(given, str) else given:
        name, *parameters = item if isinstance(item, tuple | list) else (item,)
        number = CODEC_IDS.get(name) if isinstance(name, str) else name
        numbers = [number, *parameters]
        if not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in numbers):
            known = ", ".join(CODEC_IDS)
            text = f"codec {item!r} of `{variable}` is neither a filter number with parameters nor one of {known}"
            site.error("bad-special-value", text)
            continue
        out.append(Codec(id=numbers[0], parameters=tuple(parameters)))
    return tuple(out)


def _quantize(site: Site, variable: str, given: Any) -> Quantize | None:
    if given is None:
        return None
    if isinstance(given, tuple) and len(given) == 2 and given[0] in QUANTIZERS:
        digits = site.count(given[1], 1, "bad-special-value", f"the digits of `quantize` of `{variable}`")
        return Quantize(algorithm=given[0], digits=digits)
    site.error("bad-special-value", f"`quantize` of `{variable}` is {given!r}; give ({' | '.join(QUANTIZERS)}, digits)")
    return None
