"""Columns for tests: a strategy that makes them, and their values by a reader that shares nothing with the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from nczarr.plugins.awkward0.columns.nodes import (
    ArrayPieces,
    BitMasked,
    Column,
    Flat,
    Indexed,
    ListNode,
    Masked,
    Objects,
    Spans,
    Sparse,
    TableNode,
    TextNode,
    Union,
)

NUMBERS = [
    f"{order}{kind}" for kind in ("i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16") for order in "<>"
]
NUMBERS += ["|i1", "|u1", "|b1", "<M8[s]", "<m8[ns]"]
FIXED = ["|S3", "<U2", ">U2", "|V5"]
STRUCTURES: list[Any] = [[("x", "<i4"), ("y", ">f8")], [("x", "|i1"), ("s", [("a", "<f4", (2,)), ("b", "|S2")])]]


def values(dtype: Any, length: int, seed: int) -> np.ndarray:
    """Any bytes as elements, but truth values, which are 0 or 1, and texts, which are ASCII."""
    kind = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if kind.names is not None:
        made = np.zeros(length, kind)
        for name in kind.names:
            part = kind[name].subdtype
            made[name] = (
                values(kind[name], length, seed)
                if part is None
                else values(part[0], length * int(np.prod(part[1])), seed).reshape(length, *part[1])
            )
        return made
    if kind.kind == "b":
        return random.integers(0, 2, length).astype(bool)
    if kind.kind in "SU":
        return np.array(["", "a", "bc", "déf"[: kind.itemsize]] if kind.kind == "U" else ["", "a", "bc"])[
            random.integers(0, 3, length)
        ].astype(kind)
    return np.frombuffer(random.bytes(length * kind.itemsize), kind)


@st.composite
def columns(draw: Any, length: int | None = None, depth: int = 3, *, fixed: bool = True) -> Column:
    """Columns of all kinds with few items. `fixed`: structures and texts of fixed length as well."""
    if length is None:
        length = draw(st.integers(0, 6))
    kinds = ["flat", "flat", "rows", "texts"]
    kinds += (
        ["lists", "spans", "table", "masked", "bits", "indexed", "option", "union", "chunks", "sparse"] if depth else []
    )
    return draw(_made(draw(st.sampled_from(kinds)), length, depth - 1, fixed))


@st.composite
def _made(draw: Any, kind: str, length: int, depth: int, fixed: bool) -> Column:
    def inner(count: int) -> Column:
        return draw(columns(count, depth, fixed=fixed))

    def integers(low: int, high: int, count: int = length) -> np.ndarray:
        return np.array(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)), "i8")

    seed = draw(st.integers(0, 1000))
    match kind:
        case "flat":
            return Flat(values(draw(st.sampled_from(NUMBERS + ((FIXED + STRUCTURES) if fixed else []))), length, seed))
        case "rows":
            width = draw(st.integers(1, 3))
            return Flat(values(draw(st.sampled_from(NUMBERS)), length * width * 2, seed).reshape(length, width, 2))
        case "texts":
            texts = draw(st.lists(st.sampled_from(["", "a", "å", "日本", "xyz"]), min_size=length, max_size=length))
            raw = [b"**", *(text.encode() for text in texts)] if seed % 2 else [b"", *(text.encode() for text in texts)]
            offsets = np.cumsum([len(each) for each in raw]).astype("i4" if seed % 3 else "i8")
            return TextNode(
                ListNode(offsets, Flat(np.frombuffer(b"".join(raw), "u1"))), None if seed % 5 == 0 else "utf-8"
            )
        case "lists":
            offsets = np.cumsum([draw(st.integers(0, 2)), *integers(0, 3).tolist()])
            return ListNode(offsets, inner(int(offsets[-1]) + draw(st.integers(0, 2))))
        case "spans":
            content = inner(draw(st.integers(0, 5)))
            starts = integers(0, len(content))
            return Spans(starts, np.minimum(starts + integers(0, 3), len(content)), content)
        case "table":
            names = draw(st.lists(st.sampled_from(["x", "y", "näme", "a b", "0"]), unique=True, max_size=3))
            return TableNode(tuple(names), tuple(inner(length + draw(st.integers(0, 1))) for _ in names), length)
        case "masked":
            mask = integers(0, 1).astype(draw(st.sampled_from(["?", "i1"])))
            return Masked(mask, inner(length + draw(st.integers(0, 1))), draw(st.booleans()))
        case "bits":
            mask = np.frombuffer(np.random.default_rng(seed).bytes(length // 8 + 1), "u1")
            return BitMasked(mask, inner(length), draw(st.booleans()), draw(st.booleans()))
        case "indexed" | "option":
            content = inner(draw(st.integers(kind == "indexed" and length > 0, 4)))
            low = -2 if kind == "option" else 0
            return Indexed(integers(low, max(len(content) - 1, low)), content, kind == "option")
        case "union":
            count = draw(st.integers(1, 3))
            contents = tuple(inner(draw(st.integers(1, 3))) for _ in range(count))
            tags = integers(0, count - 1)
            index = [draw(st.integers(0, len(contents[tag]) - 1)) for tag in tags.tolist()]
            return Union(tags.astype("i1"), np.array(index, "i4"), contents)
        case "chunks":
            cut = draw(st.integers(0, length))
            whole = inner(length)
            from nczarr.plugins.awkward0.columns.nodes import ColumnSlicer

            return ArrayPieces(
                (ColumnSlicer()(whole, 0, cut), ColumnSlicer()(whole, cut, cut), ColumnSlicer()(whole, cut, length))
            )
        case _:
            index = np.array(sorted(draw(st.sets(st.integers(0, length - 1))) if length else []), "i8")
            kind_, default = draw(st.sampled_from([("<i4", 0), ("<i4", 7), ("<f8", 0.0), ("<f8", 2.5)]))
            return Sparse(length, index, Flat(values(kind_, len(index), seed)), default)


def items(column: Column) -> list[Any]:
    """The values, marked as `read_awkward0.py` marks them."""
    match column:
        case Flat():
            return [_element(each, column.values.dtype) for each in column.values]
        case ListNode():
            inner = items(column.content)
            return [inner[a:b] for a, b in zip(column.offsets[:-1].tolist(), column.offsets[1:].tolist(), strict=True)]
        case Spans():
            inner = items(column.content)
            return [inner[a:b] for a, b in zip(column.starts.tolist(), column.stops.tolist(), strict=True)]
        case TextNode():
            found = [bytes(each) for each in items(column.bytes)]
            return [
                {"bytes": each.hex()} if column.encoding is None else each.decode(column.encoding) for each in found
            ]
        case TableNode():
            parts = [items(each)[: column.length] for each in column.columns]
            return [
                {"record": [[name, part[n]] for name, part in zip(column.names, parts, strict=True)]}
                for n in range(column.length)
            ]
        case Masked():
            pairs = zip(column.mask, items(column.content), strict=False)
            return [None if bool(missing) is column.masked_when else each for missing, each in pairs]
        case BitMasked():
            order = "little" if column.lsb_order else "big"
            mask = np.unpackbits(column.mask, bitorder=order)
            pairs = zip(mask, items(column.content), strict=False)
            return [None if bool(missing) is column.masked_when else each for missing, each in pairs]
        case Indexed():
            inner = items(column.content)
            return [None if column.optional and n < 0 else inner[n] for n in column.index.tolist()]
        case Sparse():
            given = dict(zip(column.index.tolist(), items(column.content), strict=True))
            default = _element(column.default, None)
            return [given.get(n, default) for n in range(column.length)]
        case Union():
            inner = [items(each) for each in column.contents]
            return [inner[tag][n] for tag, n in zip(column.tags.tolist(), column.index.tolist(), strict=True)]
        case ArrayPieces():
            return [each for piece in column.pieces for each in items(piece)]
        case Objects():
            return items(column.content)
        case _:
            raise AssertionError(column)


def _element(value: Any, dtype: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_element(each, value.dtype) for each in value]
    if isinstance(value, np.void) and value.dtype.names is not None:
        return {"record": [[name, _element(value[name], value.dtype[name])] for name in value.dtype.names]}
    if isinstance(value, np.datetime64 | np.timedelta64):
        return {"time": [int(value.astype("i8")), value.dtype.str[1:]]}
    if isinstance(value, np.void):
        return {"bytes": value.tobytes().hex()}
    return mark(value.item() if isinstance(value, np.generic) else value)


def mark(value: Any) -> Any:
    """A value of Python as `read_awkward0.py` marks it."""
    match value:
        case None | bool() | str() | int():
            return value
        case bytes():
            return {"bytes": value.hex()}
        case float():
            return {"float": value.hex()}
        case complex():
            return {"complex": [value.real.hex(), value.imag.hex()]}
        case np.datetime64() | np.timedelta64():
            return {"time": [int(value.astype("i8")), value.dtype.str[1:]]}
        case dict():
            return {"record": [[name, mark(each)] for name, each in value.items()]}
        case _:
            return [mark(each) for each in value]
