"""Closed table of the functions that documents may call. Nothing is imported by name.

Functions have awkward0's parameters and return columns with valid indices only.
`awkward` and its modules, the former name of awkward0, are synonyms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from nczarr.formats.awkward0.read import constructors as make
from nczarr.formats.awkward0.read import lists
from nczarr.formats.awkward0.read.arguments import Arguments
from nczarr.formats.awkward0.wire.blobs import DECOMPRESSORS, PackedBlob, StoredBlob


class TableFunction(NamedTuple):
    """A function of the table."""

    parameters: tuple[str, ...]
    """Parameters in order."""
    required: int
    """Number of required parameters."""
    make: Callable[[Arguments], Any]
    """Implementation."""


def _decompress(module: str) -> TableFunction:
    def made(arguments: Arguments) -> PackedBlob:
        value = arguments.value("data")
        if not isinstance(value, StoredBlob | PackedBlob):
            raise arguments.wrong("data", "bytes of a blob")
        return PackedBlob(module, value)

    return TableFunction(("data",), 1, made)


def _function(make: Callable[[Arguments], Any], parameters: str, required: int) -> TableFunction:
    return TableFunction(tuple(parameters.split()), required, make)


def _ragged(make: Callable[..., Any], parameters: str, *, texts: bool = False) -> TableFunction:
    """Return a function for lists, or for texts with a final parameter `encoding`."""
    names = tuple(parameters.split())
    return TableFunction((*names, "encoding") if texts else names, len(names), partial(make, texts=texts))


FUNCTIONS: dict[tuple[str, ...], TableFunction] = {
    ("numpy", "frombuffer"): _function(make.from_buffer, "buffer dtype count offset", 1),
    ("awkward0", "JaggedArray"): _ragged(lists.of_spans, "starts stops content"),
    ("awkward0", "JaggedArray", "fromcounts"): _ragged(lists.of_counts, "counts content"),
    ("awkward0", "JaggedArray", "fromoffsets"): _ragged(lists.of_offsets, "offsets content"),
    ("awkward0", "StringArray"): _ragged(lists.of_spans, "starts stops content", texts=True),
    ("awkward0", "StringArray", "fromcounts"): _ragged(lists.of_counts, "counts content", texts=True),
    ("awkward0", "StringArray", "fromoffsets"): _ragged(lists.of_offsets, "offsets content", texts=True),
    ("awkward0", "Table"): _function(make.table, "columns1", 0),
    ("awkward0", "Table", "frompairs"): _function(make.table_of_pairs, "pairs rowstart", 1),
    ("awkward0", "Table", "fromview"): _function(make.table_view, "view base", 2),
    ("awkward0", "MaskedArray"): _function(make.masked, "mask content maskedwhen", 2),
    ("awkward0", "BitMaskedArray"): _function(make.bit_masked, "mask content maskedwhen lsborder", 2),
    ("awkward0", "IndexedMaskedArray"): _function(make.indexed_masked, "mask content maskedwhen", 2),
    ("awkward0", "IndexedArray"): _function(make.indexed, "index content", 2),
    ("awkward0", "SparseArray"): _function(make.sparse, "length index content default", 3),
    ("awkward0", "UnionArray"): _function(make.union, "tags index contents", 3),
    ("awkward0", "UnionArray", "fromtags"): _function(make.union_of_tags, "tags contents", 2),
    ("awkward0", "ChunkedArray"): _function(make.chunked, "chunks chunksizes", 1),
    ("awkward0", "AppendableArray"): _function(make.appendable, "chunkshape dtype chunks", 2),
    ("awkward0", "ObjectArray"): _function(make.objects, "content generator args kwargs", 2),
    ("awkward0", "VirtualArray"): _function(
        make.virtual, "generator args kwargs cache persistentkey type nbytes persistvirtual", 1
    ),
    ("awkward0.persist", "json2type"): _function(make.type_, "obj whitelist", 1),
    **{(module, "decompress"): _decompress(module) for module in DECOMPRESSORS},
}
"""Functions by canonical name."""

_MODULES = {
    "JaggedArray": "jagged",
    "StringArray": "objects",
    "ObjectArray": "objects",
    "Table": "table",
    "MaskedArray": "masked",
    "BitMaskedArray": "masked",
    "IndexedMaskedArray": "masked",
    "IndexedArray": "indexed",
    "SparseArray": "indexed",
    "UnionArray": "union",
    "ChunkedArray": "chunked",
    "AppendableArray": "chunked",
    "VirtualArray": "virtual",
}
"""Module below awkward0.array, by class."""


def current(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Replace the module `awkward` in a name by `awkward0`."""
    module, dot, below = parts[0].partition(".")
    return (f"awkward0{dot}{below}", *parts[1:]) if module == "awkward" else parts


def canonical(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name that the table would use for a function."""
    parts = current(parts)
    if parts in (("awkward0", "numpy", "frombuffer"), ("awkward0.util", "frombuffer")):
        return ("numpy", "frombuffer")
    if parts in (("awkward0.util", "numpy", "frombuffer"), ("awkward0", "util", "frombuffer")):
        return ("numpy", "frombuffer")
    if parts == ("awkward0", "persist", "json2type"):
        return ("awkward0.persist", "json2type")
    if len(parts) > 1 and parts[1] in _MODULES and parts[0] == f"awkward0.array.{_MODULES[parts[1]]}":
        return ("awkward0", *parts[1:])
    return parts
