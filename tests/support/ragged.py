"""Small documents of Awkward 0.x persistence, each with its blobs and values: one a function, and more."""

from __future__ import annotations

import json
import lzma
import zlib
from typing import Any

import numpy as np

Storage = dict[str, bytes]


def read(name: str, **more: Any) -> Any:
    return {"read": name, **more}


def buffer(name: str, dtype: Any = "<i8", count: int | None = None, **more: Any) -> Any:
    counted = [] if count is None else [{"json": count}]
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [read(name), {"dtype": dtype}, *counted], **more}


def call(*names: str, **arguments: Any) -> Any:
    return {"call": ["awkward0", *names], "kwargs": arguments}


def applied(*names: str, args: list[Any], **more: Any) -> Any:
    return {"call": ["awkward0", *names], "args": args, **more}


def numbers(*values: Any) -> Any:
    return {"json": list(values)}


def ints(*values: int, dtype: str = "<i8") -> bytes:
    return np.array(values, dtype).tobytes()


def document(schema: Any, prefix: str | None = None) -> bytes:
    top = {"awkward0": "0.15.5", "schema": schema}
    return json.dumps(top if prefix is None else {**top, "prefix": prefix}).encode()


def stored(schema: Any, prefix: str | None = None, **blobs: bytes) -> Storage:
    return {"": document(schema, prefix), **{(prefix or "") + name[1:]: data for name, data in blobs.items()}}


TABLE = call(
    "Table", "frompairs", pairs={"pairs": [["x", numbers(0, 1, 2, 3)], ["y", numbers("a", "b", "c", "d", "e")]]}
)
TREE = {
    "call": ["awkward0", "Table", "frompairs"],
    "args": [
        {
            "pairs": [
                ["v", numbers(1, 2, 3)],
                ["of", call("JaggedArray", "fromcounts", counts=numbers(2, 0, 0), content={"ref": 7})],
            ]
        }
    ],
    "id": 7,
}
"""Rows in rows: row 0 has rows 0 and 1, and so on without end."""

CASES: dict[str, tuple[Storage, Any]] = {
    "elements": (stored(buffer("1", "<i4", 3), _1=ints(1, -2, 3, dtype="<i4")), [1, -2, 3]),
    "big-endian": (stored(buffer("1", ">i2", 2), _1=ints(1, -2, dtype=">i2")), [1, -2]),
    "two dimensions": (stored(buffer("1", ["<i2", [2]], 2), _1=ints(1, 2, 3, 4, dtype="<i2")), [[1, 2], [3, 4]]),
    "structure": (
        stored(buffer("1", [["a", "|u1"], ["b", [["c", "<i2"]]]], 1), _1=b"\7\1\0"),
        [{"a": 7, "b": {"c": 1}}],
    ),
    "no count": (stored(buffer("1"), _1=ints(1, 2)), [1, 2]),
    "elements of no shape": (stored(buffer("1", ["<i4", [0]], 2), _1=b""), [[], []]),
    "truth values of other bytes": (stored(buffer("1", "|b1", 3), _1=b"\0\1\2"), [False, True, True]),
    "offset": (
        stored({"call": ["numpy", "frombuffer"], "args": [read("1"), {"dtype": "<i8"}, {"json": 1}, {"json": 8}]})
        | {"1": ints(1, 2)},
        [2],
    ),
    "util": (stored({"call": ["awkward.util", "frombuffer"], "args": [read("1"), {"dtype": "<i8"}]}, _1=ints(5)), [5]),
    "padded": (
        stored({"call": ["numpy", "frombuffer"], "args": [read("z/0", absolute=True), {"dtype": "<i8"}, {"json": 2}]})
        | {"z/0": ints(1, 2, 0, 0)},
        [1, 2],
    ),
    "padded and deflated": (
        stored(
            {
                "call": ["numpy", "frombuffer"],
                "args": [
                    {"call": ["zlib", "decompress"], "args": [read("z/0", absolute=True)]},
                    {"dtype": "<i8"},
                    {"json": 2},
                ],
            },
            "p-",
        )
        | {"z/0": zlib.compress(ints(1, 2, 0, 0))},
        [1, 2],
    ),
    "lzma in zlib": (
        stored(
            {
                "call": ["numpy", "frombuffer"],
                "args": [
                    {
                        "call": ["backports.lzma", "decompress"],
                        "args": [{"call": ["zlib", "decompress"], "kwargs": {"data": read("1")}}],
                    },
                    {"dtype": "<i8"},
                ],
            },
            _1=zlib.compress(lzma.compress(ints(1, 2))),
        ),
        [1, 2],
    ),
    "counts": (
        stored(call("JaggedArray", "fromcounts", counts=buffer("1", "<u2", 3), content=buffer("2", "<i8", 4)))
        | {"1": ints(2, 0, 1, dtype="<u2"), "2": ints(1, 2, 3, 4)},
        [[1, 2], [], [3]],
    ),
    "counts of two dimensions": (
        stored(
            call("JaggedArray", "fromcounts", counts=buffer("1", ["<i8", [2]], 2), content=numbers(1, 2, 3)),
            _1=ints(2, 0, 1, 0),
        ),
        [[[1, 2], []], [[3], []]],
    ),
    "offsets": (
        stored(call("JaggedArray", "fromoffsets", offsets=numbers(1, 2, 4), content=numbers(0, 1, 2, 3))),
        [[1], [2, 3]],
    ),
    "starts and stops": (
        stored(call("JaggedArray", starts=numbers(2, 0, 9), stops=numbers(3, 3, 9, 5), content=numbers(1.5, 2, 3))),
        [[3.0], [1.5, 2.0, 3.0], []],
    ),
    "counts in chunks": (
        stored(
            call(
                "JaggedArray",
                "fromcounts",
                counts=call("ChunkedArray", chunks={"list": [buffer("1"), buffer("2")]}),
                content=numbers(*range(6)),
            ),
            _1=ints(1),
            _2=ints(2, 3),
        ),
        [[0], [1, 2], [3, 4, 5]],
    ),
    "texts": (
        stored(applied("StringArray", "fromcounts", args=[numbers(2, 0, 1), buffer("1", "|u1", 3)]), _1="éa".encode()),
        ["é", "", "a"],
    ),
    "texts by starts": (
        stored(
            applied("StringArray", args=[numbers(1, 0), numbers(2, 2), buffer("1", "|u1", 2), {"json": "latin_1"}]),
            _1=b"\xe9a",
        ),
        ["a", "éa"],
    ),
    "texts by offsets": (
        stored(
            applied("StringArray", "fromoffsets", args=[numbers(0, 1, 2), buffer("1", "|u1", 2), {"json": None}]),
            _1=b"\xe9a",
        ),
        [b"\xe9", b"a"],
    ),
    "table": (stored(TABLE), [{"x": n, "y": "abcd"[n]} for n in range(4)]),
    "table by name": (stored(applied("Table", args=[{"dict": {"x": numbers(1)}}])), [{"x": 1}]),
    "view backwards": (
        stored(call("Table", "fromview", view={"tuple": [{"json": 2}, {"json": -2}, {"json": 2}]}, base=TABLE)),
        [{"x": 2, "y": "c"}, {"x": 0, "y": "a"}],
    ),
    "view by index": (
        stored(call("Table", "fromview", view=buffer("1"), base=TABLE), _1=ints(3, 3)),
        [{"x": 3, "y": "d"}] * 2,
    ),
    "view of the first rows": (
        stored(call("Table", "fromview", view={"tuple": [{"json": 0}, {"json": 1}, {"json": 1}]}, base=TABLE)),
        [{"x": 0, "y": "a"}],
    ),
    "no view": (
        stored(call("Table", "fromview", view={"json": None}, base=TABLE)),
        [{"x": n, "y": "abcd"[n]} for n in range(4)],
    ),
    "masked": (stored(call("MaskedArray", mask=numbers(True, False), content=numbers(1, 2, 3))), [None, 2]),
    "masked by numbers": (
        stored(call("MaskedArray", mask=numbers(0, 5), content=numbers(1, 2), maskedwhen={"json": False})),
        [None, 2],
    ),
    "bits, highest first": (
        stored(call("BitMaskedArray", mask=buffer("1", "|u1", 1), content=numbers(1, 2)), _1=b"\x80"),
        [None, 2],
    ),
    "bits, lowest first": (
        stored(
            call("BitMaskedArray", mask=buffer("1", "|u1", 1), content=numbers(1, 2), lsborder={"json": True}),
            _1=b"\x01",
        ),
        [None, 2],
    ),
    "indexed, masked": (
        stored(call("IndexedMaskedArray", mask=numbers(0, 7, 1, 7), content=numbers(1, 2), maskedwhen={"json": 7})),
        [1, None, 2, None],
    ),
    "indexed": (stored(call("IndexedArray", index=numbers(1, 1, 0), content=numbers(1, 2))), [2, 2, 1]),
    "indexed in two dimensions": (
        stored(call("IndexedArray", index={"json": [[1, 0], [0, 0]]}, content=numbers(1, 2))),
        [[2, 1], [1, 1]],
    ),
    "sparse": (
        stored(call("SparseArray", length={"json": 4}, index=numbers(1, 3), content=numbers(5, 6))),
        [0, 5, 0, 6],
    ),
    "sparse with a default": (
        stored(
            call(
                "SparseArray",
                length={"json": 3},
                index=numbers(1),
                content={"json": [[1, 2]]},
                default={"json": [8, 9]},
            )
        ),
        [[8, 9], [1, 2], [8, 9]],
    ),
    "sparse structures": (
        stored(
            call("SparseArray", length={"json": 2}, index=numbers(1), content=buffer("1", [["a", "|u1"]], 1)), _1=b"\1"
        ),
        [{"a": 0}, {"a": 1}],
    ),
    "sparse texts": (
        stored(call("SparseArray", length={"json": 2}, index=numbers(1), content=numbers("a"), default={"json": "b"})),
        ["b", "a"],
    ),
    "sparse lists": (
        stored(
            call(
                "SparseArray",
                length={"json": 2},
                index=numbers(1),
                content=call("JaggedArray", "fromcounts", counts=numbers(2), content=numbers(1, 2)),
            )
        ),
        [[], [1, 2]],
    ),
    "union": (
        stored(
            call(
                "UnionArray",
                tags=numbers(0, 1, 0),
                index=numbers(1, 0, 0),
                contents={"list": [numbers(1, 2), numbers("a")]},
            )
        ),
        [2, "a", 1],
    ),
    "union of tags": (
        stored(applied("UnionArray", "fromtags", args=[numbers(1, 0, 1), {"list": [numbers(1), numbers("a", "b")]}])),
        ["a", 1, "b"],
    ),
    "chunks": (
        stored(
            applied("ChunkedArray", args=[{"list": [{"ref": 9}, numbers(), {**buffer("1"), "id": 9}]}, numbers(2, 0)]),
            _1=ints(1, 2),
        ),
        [1, 2, 1, 2],
    ),
    "appendable": (
        stored(
            applied("AppendableArray", args=[{"tuple": [{"json": 4}]}, {"dtype": "<i8"}, {"list": [buffer("1")]}]),
            _1=ints(1),
        ),
        [1],
    ),
    "appendable, empty": (stored(applied("AppendableArray", args=[{"json": 4}, {"dtype": "<i8"}])), []),
    "objects": (
        stored(
            applied(
                "ObjectArray",
                args=[numbers(1, 2), {"function": ["fractions", "Fraction"]}, {"tuple": [{"json": 3}]}, {"dict": {}}],
            )
        ),
        [1, 2],
    ),
    "virtual": (
        stored(
            applied(
                "VirtualArray",
                args=[{"function": ["numpy", "frombuffer"]}, {"tuple": [read("1"), {"dtype": "<i8"}]}],
                cacheable=True,
                kwargs={
                    "persistentkey": {"json": "k"},
                    "type": {
                        "call": ["awkward0.persist", "json2type"],
                        "args": [{"json": {"takes": 1, "to": {"dtype": "int64"}}}],
                        "whitelistable": True,
                    },
                },
            ),
            _1=ints(1),
        ),
        [1],
    ),
    "lists of lists in lists": (
        stored(
            call(
                "JaggedArray",
                "fromcounts",
                counts=numbers(1, 1),
                content=call("JaggedArray", "fromcounts", counts=numbers(0, 2), content={"json": [[1, 2], [3, 4]]}),
            )
        ),
        [[[]], [[[1, 2], [3, 4]]]],
    ),
    "a tree": (
        stored(
            {
                **call(
                    "Table",
                    "frompairs",
                    pairs={
                        "pairs": [
                            ["v", numbers(1, 2, 3)],
                            [
                                "of",
                                call(
                                    "JaggedArray", starts=numbers(1, 3, 3), stops=numbers(3, 3, 3), content={"ref": 7}
                                ),
                            ],
                        ]
                    },
                ),
                "id": 7,
            }
        ),
        [{"v": 1, "of": [{"v": 2, "of": []}, {"v": 3, "of": []}]}, {"v": 2, "of": []}, {"v": 3, "of": []}],
    ),
}
"""Arrays by what is special about them."""

OTHERS: dict[str, tuple[Storage, Any]] = {
    "JSON": (stored({"json": {"a": [1, None, "é"]}}), {"a": [1, None, "é"]}),
    "bytes": (stored(read("1"), _1=b"abc"), b"abc"),
    "inflated bytes": (stored({"call": ["zlib", "decompress"], "args": [read("1")]}, _1=zlib.compress(b"abc")), b"abc"),
    "dtype": (stored({"dtype": [["a", "<i4"]]}), np.dtype([("a", "<i4")])),
    "function": (stored({"function": ["os", "getcwd"]}), ("os", "getcwd")),
    "tuple": (stored({"tuple": [{"json": 1, "id": 3}, {"ref": 3}]}), (1, 1)),
    "null that is referred to": (stored({"list": [{"json": None, "id": 3}, {"ref": 3}]}), [None, None]),
    "pairs": (stored({"pairs": [["b", {"json": 1}], ["a", {"json": 2}]]}), [("b", 1), ("a", 2)]),
    "dictionary": (stored({"dict": {"b": {"json": 1}}}), {"b": 1}),
}
"""Documents without an array."""
