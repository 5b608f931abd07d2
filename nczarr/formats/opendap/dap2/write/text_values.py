"""Readable texts: values (the ASCII response), errors. Floats have as many digits as they need."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.sources.bands import slabs
from nczarr.ast import ATOMIC
from nczarr.ast.values import shortest
from nczarr.formats.opendap.dap2.spelling import quoted
from nczarr.formats.opendap.dap2.write.declarations import ElementNode, GridNode, Mapping, Node, StructureNode, dds
from nczarr.formats.opendap.dap2.write.xdr import opaque_bytes, sources_of, text_slabs

ROOM = 1 << 14
"""Values converted at once."""


class UnprintableError(ValueError):
    """A request whose values have no text."""


def ascii_response(mapped: Mapping, nodes: tuple[Node, ...]) -> Iterator[bytes]:
    """Yield the declarations, a line, and the values: one line for each index of the leading dimensions.

    Raises OSError; UnprintableError for structures.
    """
    arrays = list(itertools.chain.from_iterable(map(_arrays, nodes)))
    yield dds(mapped, nodes).encode() + b"-" * 45 + b"\n"
    for name, leaf in arrays:
        yield from _array(mapped, name, leaf)


def error_document(code: int, message: str) -> str:
    """Return the document of an error: an HTTP status and a text."""
    text = quoted(message.encode("utf-8", "surrogateescape"))
    return f"Error {{\n    code = {code};\n    message = {text};\n}};\n"


def _arrays(node: Node, outer: str = "") -> Iterator[tuple[str, ElementNode]]:
    match node:
        case ElementNode():
            yield outer + node.name, node
        case GridNode():
            for leaf in (node.array, *node.maps):
                yield f"{node.name}.{leaf.name}", leaf
        case StructureNode(fqn=None):
            for part in node.members:
                yield from _arrays(part, f"{node.name}.")
        case StructureNode():
            raise UnprintableError(f"`{node.name}` is a structure, which has no text; ask for `.dods`")


def _array(mapped: Mapping, name: str, leaf: ElementNode) -> Iterator[bytes]:
    words = _words(mapped, leaf)
    shape = tuple(len(axis.indices) for axis in leaf.axes)
    if not shape:
        yield f"{name}, {next(words)}\n\n".encode()
        return
    yield (name + "".join(f"[{length}]" for length in shape) + "\n").encode()
    for index in itertools.product(*map(range, shape[:-1])):
        place = "".join(f"[{number}]" for number in index)
        if place:
            yield f"{place}, ".encode()
        for start in range(0, max(1, shape[-1]), ROOM):
            stop = min(start + ROOM, shape[-1])
            row = ", ".join(itertools.islice(words, stop - start))
            yield (row + ("\n" if stop == shape[-1] else ", ")).encode()
    yield b"\n"


def _words(mapped: Mapping, leaf: ElementNode) -> Iterator[str]:
    source = sources_of(mapped.checked, leaf)[""]
    if not leaf.element.array:
        for texts in text_slabs(leaf, source):
            yield from map(quoted, texts)
        return
    for part in slabs(source, ROOM):
        numbers: list[Any] = (part if leaf.type in ATOMIC else opaque_bytes(part, leaf).reshape(-1)).tolist()
        if leaf.type in ("float", "double"):
            yield from (shortest(number, leaf.type) for number in numbers)
        else:
            yield from map(str, numbers)
