"""Values of a variable as texts in the spelling of CDL's `data:` section, and their folding at 80 columns.

Numbers (1-D arrays in the dtypes of `arrays/values/parts.py`) are formatted in bulk
and verified to read back bit-exactly; the few others get more digits.
Invariant: each part is read once, sequentially, in bounded slabs; a vlen reads
its counts, then that much content.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias, assert_never

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, little
from nczarr.arrays.values.parts import ListTree, PartLeaf, PartTree, RecordTree, Types
from nczarr.ast import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.ast.types import Atomic
from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.formats.cdl.spelling import identifier, plain_float, quote

LIMIT = 78
"""Line limit: 80 minus 2."""


def fold(items: list[str], column: int, indent: int, *, last: bool = True, words: bool = False) -> tuple[str, int]:
    """Return the items joined by `, ` and folded, and the column after them.

    Text starts at `column`; continuation lines are indented by `indent` + 4.
    Unless `last`, a `, ` follows. `words`: items contain no blanks, which
    allows a faster method.
    """
    if not items:
        return "", column
    if words and len(items) > 8:
        return _fold_words(items, column, indent, last=last)
    pieces: list[str] = []
    end = len(items) - 1 if last else len(items)
    for number, item in enumerate(items):
        written = item if number == end else item + ", "
        size = len(written) if written.isascii() else len(written.encode("utf-8", "surrogatepass"))
        if column + size > LIMIT and size > 2:  # as ncdump: an item of two characters may pass the limit
            pieces.append("\n" + " " * (indent + 4))
            column = indent + 4
        pieces.append(written)
        column += size
    return "".join(pieces), column


def _fold_words(items: list[str], column: int, indent: int, *, last: bool) -> tuple[str, int]:
    """Fold ASCII items without blanks by regular expression."""
    tail = items[-1] if last else ""
    text = ", ".join(items[:-1] if last else items) + ", "
    margin = " " * (indent + 4)
    room = LIMIT - column
    if len(text) <= room:
        column += len(text)
    else:
        cut = text.rfind(" ", 0, max(room, 0)) + 1
        lines = _lines(LIMIT - indent - 4).findall(text, cut)
        column = indent + 4 + len(lines[-1])
        text = text[:cut] + "".join(f"\n{margin}{line}" for line in lines)
    if len(tail) > 2 and column + len(tail) > LIMIT:
        return f"{text}\n{margin}{tail}", indent + 4 + len(tail)
    return text + tail, column + len(tail)


@lru_cache(maxsize=16)
def _lines(room: int) -> re.Pattern[str]:
    """Return the pattern of a line: as many whole words as fit, or one longer word."""
    return re.compile(rf".{{1,{max(room - 1, 1)}}} |[^ ]+ ")


def value_texts(values: NDArray[Any], type_name: str, types: Types, fill: bytes | None = None) -> list[str]:
    """Return the texts of all values; those bit-equal to `fill` are `_`. For chars see `char_texts`.

    `values`: shape (values,), the packed dtype of the type, or objects for
    strings. Raises TypeError for vlens.
    """
    declared = types.get(type_name)
    match declared:
        case None if type_name == "string":
            return string_texts(values.tolist(), fill)
        case None:
            texts = _format_numbers(values, ATOMIC[type_name])
        case EnumType():
            texts = _spell_enum(values, declared, types)
        case OpaqueType():
            texts = _hexadecimal(values, declared.size)
        case CompoundType():
            columns = [
                field_texts(values[field.name], field.type, field.shape, len(values), types)
                for field in declared.fields
            ]
            texts = [f"{{{', '.join(row)}}}" for row in zip(*columns, strict=True)]
        case VlenType():
            raise TypeError(f"values of {type_name} are not one array")
        case _:
            assert_never(declared)
    if fill is not None:
        _replace_fill(texts, values, fill)
    return texts


def is_word(type_name: str, types: Types) -> bool:
    """Return whether texts of the type contain no blanks: numbers and opaque values."""
    declared = types.get(type_name)
    return isinstance(declared, OpaqueType) or (declared is None and type_name not in ("string", "char"))


def string_texts(values: Sequence[bytes | None], fill: bytes | None = None) -> list[str]:
    """Return the texts of strings; None is NIL."""
    return ["NIL" if value is None else "_" if value == fill else quote(value) for value in values]


def field_texts(values: NDArray[Any], type_name: str, shape: tuple[int, ...], count: int, types: Types) -> list[str]:
    """Return one text per record for a field, in braces if it is an array.

    `values`: shape (count, *shape), the packed dtype of the field's type.
    """
    flat = values.reshape(-1)
    if type_name == "char":
        return char_texts(flat.tobytes(), shape, count)
    return group_texts(value_texts(flat, type_name, types), shape, count)


def group_texts(texts: list[str], shape: tuple[int, ...], count: int) -> list[str]:
    """Join element texts to the texts of `count` fields."""
    if not shape:
        return texts
    size = math.prod(shape)
    return [f"{{{', '.join(texts[at * size : (at + 1) * size])}}}" for at in range(count)]


def char_texts(data: bytes, shape: tuple[int, ...], count: int) -> list[str]:
    """Return char fields; arrays have one string per row, full length except the last, to keep rows separate."""
    if not shape:
        return [quote(data[at : at + 1]) for at in range(count)]
    size, width = math.prod(shape), shape[-1]
    texts = []
    for start in range(0, count * size, size):
        rows = [data[at : at + width] for at in range(start, start + size, width)]
        rows[-1] = rows[-1].rstrip(b"\0")
        texts.append(f"{{{', '.join(map(quote, rows))}}}")
    return texts


def _replace_fill(texts: list[str], values: NDArray[Any], fill: bytes) -> None:
    """Replace the texts of values bit-equal to the fill value, in place. `values`: one for each text, any dtype."""
    plain = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    same = (plain == np.frombuffer(fill, np.uint8)).all(axis=1)
    if same.all():
        texts[:] = ["_"] * len(texts)
        return
    for at in np.flatnonzero(same).tolist():
        texts[at] = "_"


def _format_numbers(values: NDArray[Any], atomic: Atomic) -> list[str]:
    """Return numbers as texts with ncdump's digits, or as many as it takes to read the same value back."""
    listed = values.tolist()
    if not atomic.is_float:
        return repr(listed)[1:-1].split(", ") if listed else []
    if not listed:
        return []
    digits = "%.7g " if atomic.code == "f" else "%.15g "
    joined = (digits * len(listed)) % tuple(listed)
    texts = joined.split()
    # Reading back in bulk finds the values that ncdump's number of digits does not tell exactly.
    with np.errstate(over="ignore"):
        again = np.fromstring(joined, sep=" ", dtype="<f8").astype(values.dtype)
    bits = "<u4" if atomic.code == "f" else "<u8"
    inexact = again.view(bits) != np.ascontiguousarray(values).view(bits)
    unusual = inexact | ~np.isfinite(values) | (np.signbit(values) & (values == 0))
    for at in np.flatnonzero(unusual).tolist():
        texts[at] = plain_float(listed[at], atomic)
    return texts


def _spell_enum(values: NDArray[Any], declared: EnumType, types: Types) -> list[str]:
    """Return constants by name; as `enum.name` if another enum has the name, because ncgen takes the first match.

    `values`: integers, shape (values,). Values without a name become numbers.
    """
    enums = [other for other in types.values() if isinstance(other, EnumType) and other is not declared]
    others = {constant.name for other in enums for constant in other.constants}
    unique = all(other.name != declared.name for other in enums) and "." not in declared.name
    labels = {
        constant.value: f"{identifier(declared.name)}.{names.escape_cdl(constant.name)}"
        if constant.name in others and unique and "." not in constant.name
        else identifier(constant.name)
        for constant in reversed(declared.constants)
    }
    return [labels.get(value) or str(value) for value in values.tolist()]


def _hexadecimal(values: NDArray[Any], size: int) -> list[str]:
    text = values.tobytes().hex().upper()
    return [f"0X{text[at : at + 2 * size]}" for at in range(0, len(text), 2 * size)]


SLAB = 1 << 22
"""Bytes read at once; for strings, an eighth of it is the number of values."""

Take: TypeAlias = Callable[[int], list[str]]
"""Function that returns the texts of the next values."""


class Stream:
    """Sequential reader of an array in C order."""

    def __init__(self, source: ArraySource) -> None:
        self._slabs = slabs(source, SLAB // max(8, itemsize(source.layout.dtype)))
        self._rest: NDArray[Any] | None = None

    def take(self, count: int) -> NDArray[Any]:
        """Return the next `count` elements: shape (count,), the layout's dtype in little-endian order.

        Raises CompileError if the array is too short.
        """
        pieces = []
        while count > 0:
            if self._rest is None or not len(self._rest):
                self._rest = next(self._slabs, None)
                if self._rest is None:
                    text = f"the content of a list is {count} elements shorter than its counts"
                    raise CompileError([Diagnostic("unreadable-chunk", Severity.ERROR, text)])
                self._rest = little(self._rest)
            piece, self._rest = self._rest[:count], self._rest[count:]
            pieces.append(piece)
            count -= len(piece)
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty(0, object)


def column(parts: Parts, tree: PartTree, types: Types, fill: bytes | None = None) -> Take:
    """Return the reader of texts of a type with this part tree. Raises KeyError if a part is missing."""
    match tree:
        case ListTree():
            return partial(_lists, Stream(parts[tree.counts.path]), _inner(parts, tree.content, types))
        case RecordTree():
            return partial(_records, [(field.shape, _inner(parts, inner, types)) for field, inner in tree.members])
        case PartLeaf():
            stream = Stream(parts[tree.path])
            return lambda count: value_texts(stream.take(count), tree.type, types, fill) if count else []


def _inner(parts: Parts, tree: PartTree, types: Types) -> Take | Stream:
    """Return the reader of nested values: for chars their bytes, else texts."""
    is_char = isinstance(tree, PartLeaf) and tree.type == "char"
    return Stream(parts[tree.path]) if isinstance(tree, PartLeaf) and is_char else column(parts, tree, types)


def _lists(counts: Stream, content: Take | Stream, count: int) -> list[str]:
    """Return the texts of the next values of a vlen, each in braces."""
    lengths = counts.take(count).tolist() if count else []
    cuts = list(itertools.pairwise(itertools.accumulate(lengths, initial=0)))
    if isinstance(content, Stream):
        data = content.take(sum(lengths)).tobytes()
        return [f"{{{quote(data[start:stop]) if start < stop else ''}}}" for start, stop in cuts]
    items = content(sum(lengths))
    return [f"{{{', '.join(items[start:stop])}}}" for start, stop in cuts]


def _records(fields: Sequence[tuple[tuple[int, ...], Take | Stream]], count: int) -> list[str]:
    """Return the texts of the next values of a compound with variable-size members, each in braces."""
    columns = []
    for shape, values in fields:
        size = count * math.prod(shape)
        if isinstance(values, Stream):
            columns.append(char_texts(values.take(size).tobytes(), shape, count))
        else:
            columns.append(group_texts(values(size), shape, count))
    return [f"{{{', '.join(row)}}}" for row in zip(*columns, strict=True)]
