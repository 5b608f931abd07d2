"""Steps that change arrays: damaged shards, casts and scales are errors, and memory is bounded."""

from __future__ import annotations

import struct
from typing import Any

import numcodecs
import numpy as np
import pytest

from nczarr.arrays.codecs.chain import DECODING_ERRORS, decode, dtypes_of, in_order_of, with_fill
from nczarr.arrays.codecs.sharding_indexed import ABSENT, shard_step
from nczarr.plugins.rare_codecs.arithmetic import ROUNDINGS, CastValue, cast_step, scale_step


def shard(*table: int, data: bytes = bytes(range(8))) -> bytes:
    """Four bytes in two chunks of an int16 shard, and its index."""
    return data + struct.pack(f"<{len(table)}Q", *table)


def step(fill: bytes = b"\7\0", **changed: Any) -> dict[str, Any]:
    made = shard_step((4,), (2,), (), None, 2, ({"id": "bytes"},), index_first=False)
    return {**made, "fill": fill, **changed}


def test_missing_chunks_of_a_shard_have_its_fill_value() -> None:
    data = decode(shard(0, 4, ABSENT, ABSENT), [step()], 2, 8)
    assert np.frombuffer(data, "<i2").tolist() == [256, 770, 7, 7]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "shorter than its index"),
        (shard(0, 4), "shorter than its index"),
        (shard(0, 4, 2, 4), "more than once"),
        (shard(0, 4, 38, 4), "beyond the end"),
        (shard(0, 3, 4, 4), "3 bytes, and a chunk has 4"),
        (shard(0, 5, 5, 3), "5 bytes, and a chunk has 4"),
    ],
    ids=["nothing", "half an index", "shared bytes", "beyond", "short", "long"],
)
def test_damaged_shards_are_errors(data: bytes, message: str) -> None:
    with pytest.raises(DECODING_ERRORS, match=message):
        decode(data[8:] if data and len(data) < 32 else data, [step()], 2, 8)


def test_a_shard_larger_than_its_chunk_allocates_nothing() -> None:
    with pytest.raises(ValueError, match="larger than its shape allows"):
        decode(shard(0, 4, 4, 4), [step(shape=(2**40,), chunks=(2**39,))], 2, 8)


@pytest.mark.parametrize(
    ("stored", "dtype", "rounding", "out_of_range", "given", "wanted"),
    [
        ("<f4", "<i2", "nearest-even", None, [0.5, 1.5, -2.5], [0, 2, -2]),
        ("<f4", "<i2", "nearest-away", None, [0.5, 1.5, -2.5], [1, 2, -3]),
        ("<f4", "<i2", "towards-zero", None, [0.9, -1.9], [0, -1]),
        ("<f4", "<i2", "towards-positive", None, [0.1, -1.9], [1, -1]),
        ("<f4", "<i2", "towards-negative", None, [0.9, -1.1], [0, -2]),
        ("<f8", "<i8", "nearest-even", "clamp", [1e300, -np.inf], [2**63 - 1, -(2**63)]),
        ("<i4", "|i1", "nearest-even", "wrap", [128, 300, -129], [-128, 44, 127]),
        ("<i4", "|u1", "nearest-even", "clamp", [-1, 300], [0, 255]),
        ("<f8", "<f4", "nearest-even", "clamp", [1e300, 0.5], [float(np.finfo("f4").max), 0.5]),
        ("<i8", "<f8", "nearest-even", None, [2**53 + 1], [float(2**53)]),
    ],
)
def test_casts(stored: str, dtype: str, rounding: str, out_of_range: str | None, given: Any, wanted: Any) -> None:
    made = cast_step(dtype, stored, rounding, out_of_range, {})
    data = decode(np.array(given, stored).tobytes(), [made], 1, 64)
    assert np.frombuffer(data, dtype).tolist() == wanted


@pytest.mark.parametrize(
    ("stored", "dtype", "given"),
    [("<f8", "<i8", 2.0**63), ("<f8", "<i4", np.nan), ("<i4", "|u1", -1), ("<f8", "<f4", 1e300)],
)
def test_values_that_do_not_fit_a_cast_are_errors(stored: str, dtype: str, given: Any) -> None:
    made = cast_step(dtype, stored, "nearest-even", None, {})
    with pytest.raises(ValueError, match=r"out of range|not finite"):
        decode(np.array([given], stored).tobytes(), [made], 1, 64)


def test_mapped_scalars_replace_a_cast() -> None:
    made = cast_step("<f4", "|u1", "nearest-even", None, {"decode": [(255, np.nan)], "encode": [(np.nan, 255)]})
    assert np.isnan(np.frombuffer(decode(b"\xff\1", [made], 4, 8), "<f4")).tolist() == [True, False]
    assert CastValue().with_fill(made, np.array([np.nan], "<f4").tobytes()) == (made, b"\xff")


def test_scales_are_exact_or_errors() -> None:
    made = scale_step("<i2", 5, 2)
    assert np.frombuffer(decode(np.array([4, -6], "<i2").tobytes(), [made], 2, 8), "<i2").tolist() == [
        7,
        2,
    ]
    with pytest.raises(ValueError, match="not a multiple of the scale"):
        decode(np.array([3], "<i2").tobytes(), [made], 2, 8)
    with pytest.raises(ValueError, match="out of range for uint64"):
        decode(np.array([4], "<u8").tobytes(), [scale_step("<u8", -5, 1)], 8, 8)


@pytest.mark.parametrize("rounding", sorted(ROUNDINGS))
def test_nan_is_cast_to_a_wider_float_in_every_rounding(rounding: str) -> None:
    made = cast_step("<f8", "<f4", rounding, None, {})
    data = decode(np.array([np.nan, 0.5], "<f4").tobytes(), [made], 4, 16)
    assert np.array_equal(np.frombuffer(data, "<f8"), [np.nan, 0.5], equal_nan=True)


def test_inexact_floats_are_not_cast_in_a_rounding_that_is_not_known() -> None:
    made = cast_step("<f4", "<f8", "towards-zero", None, {})
    with pytest.raises(ValueError, match="rounding towards-zero to float32"):
        decode(np.array([0.1], "<f8").tobytes(), [made], 4, 8)


FILTERS: list[tuple[numcodecs.abc.Codec, str]] = [
    (numcodecs.Delta(dtype="<i8"), "<i8"),
    (numcodecs.Delta(dtype="<i8", astype="<i4"), "<i8"),
    (numcodecs.Delta(dtype=">i8"), ">i8"),
    (numcodecs.AsType(encode_dtype="<i2", decode_dtype="<i8"), "<i8"),
    (numcodecs.AsType(encode_dtype=">i2", decode_dtype="<i8"), "<i8"),
    (numcodecs.FixedScaleOffset(offset=0, scale=1, dtype="<i8", astype="<i2"), "<i8"),
    (numcodecs.PackBits(), "|b1"),
]


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(("codec", "dtype"), FILTERS, ids=[f"{codec}" for codec, _ in FILTERS])
def test_filters_decode_elements_of_each_byte_order(codec: numcodecs.abc.Codec, dtype: str, big: bool) -> None:
    values = np.array([300, -5, 2**14, 0, 257]).astype(dtype)
    encoded = np.asarray(codec.encode(values))
    stored = encoded.astype(encoded.dtype.newbyteorder(">" if big else "<")).tobytes()
    steps, result_big = in_order_of([codec.get_config()], big=big)
    found = np.frombuffer(decode(stored, steps, 8, 40), dtype)
    assert found.tolist() == values.tolist()
    if found.itemsize > 1:
        assert result_big == (dtype[0] == ">")


@pytest.mark.parametrize("written", ["|O", "M8[s]", "<i4,<i4", None, 3, "nothing"])
def test_dtypes_of_filters_are_numbers(written: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        dtypes_of({"id": "delta", "dtype": written})


def test_the_fill_value_of_shards_is_encoded_by_filters() -> None:
    outer = {"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<i8"}
    steps, big = in_order_of([outer], big=True)
    filled = with_fill([*steps, step()], np.int64(300).tobytes())
    assert (filled[-1]["fill"], big) == (np.array(300, ">i2").tobytes(), False)
