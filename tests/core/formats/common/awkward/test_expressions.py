"""Expressions of Awkward 0.x persistence from plain arguments."""

from __future__ import annotations

import json
import sys
from subprocess import run

import pytest

from nczarr.formats.common.awkward import expressions as made


def test_ids_go_depth_first_and_small_constants_have_one() -> None:
    numbers = made.ExpressionIds()
    assert numbers.next() == 0
    assert numbers.constant(3) == {"json": 3, "id": 1}
    assert numbers.constant(3) == {"json": 3}
    assert [numbers.constant(each)["id"] for each in (True, 1, "utf-8", None)] == [2, 3, 4, 5]
    assert [numbers.constant(each).get("id") for each in (256, 256, 257, 257)] == [6, None, 7, 8]
    assert [numbers.constant(each)["id"] for each in (0.5, 0.5, [1], [1])] == [9, 10, 11, 12]
    assert numbers.next() == 13


def test_chunks_of_another_store_are_read_by_their_whole_key() -> None:
    """A ragged variable whose buffers are chunks of two Zarr arrays."""
    counts = made.buffer(made.inflate({"read": "v/counts/0", "absolute": True}), "<i8", made.constant(2), 1)
    pieces = [
        made.buffer({"read": f"v/content/{n}", "absolute": True}, "<f8", size, 3 + n) for n, size in enumerate((4, 2))
    ]
    document = made.document(made.call("JaggedArray.fromcounts", counts, made.chunks(pieces, (4, 2), 2), number=0))
    assert json.loads(made.encode(document)) == {
        "awkward0": "0.15.5",
        "schema": {
            "call": ["awkward0", "JaggedArray", "fromcounts"],
            "args": [
                {
                    "call": ["awkward0", "numpy", "frombuffer"],
                    "args": [
                        {
                            "call": ["zlib", "decompress"],
                            "args": [{"read": "v/counts/0", "absolute": True}],
                        },
                        {"dtype": "<i8"},
                        {"json": 2},
                    ],
                    "id": 1,
                },
                {"call": ["awkward0", "ChunkedArray"], "args": [{"list": pieces}, {"json": [4, 2]}], "id": 2},
            ],
            "id": 0,
        },
    }


def test_an_empty_prefix_is_left_out() -> None:
    assert "prefix" not in made.document(made.constant(1))
    assert made.document(made.constant(1), prefix="v-", doc="d", metadata={"m": 1}) == {
        "awkward0": "0.15.5",
        "doc": "d",
        "metadata": {"m": 1},
        "schema": {"json": 1},
        "prefix": "v-",
    }


def test_documents_are_ascii_and_strict_json() -> None:
    assert made.encode(made.document(made.constant("ü"))).isascii()
    with pytest.raises(ValueError, match="JSON"):
        made.encode(made.document(made.constant(float("nan"))))


def test_numpy_is_not_loaded() -> None:
    code = "import nczarr.formats.common.awkward.expressions, sys; print('numpy' in sys.modules)"
    assert run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
