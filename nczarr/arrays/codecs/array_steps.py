"""Decoding steps of Zarr v3 that change arrays: shards within any chain, transposes, scaling and casts.

A usual chain has at most one transpose and one level of shards, which are members
of `Encoding`: their inner chunks are read one by one. In all other chains these
codecs are steps of the whole chunk. Each step carries the shapes and dtypes that
decoding needs. All arrays of bytes are in C order.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from nczarr.arrays.codecs import decode
from nczarr.arrays.codecs.bounded_decompression import TOO_MUCH
from nczarr.arrays.codecs.decode import LARGEST, SLACK, Config
from nczarr.arrays.codecs.lengths import misfit
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import every_block, grid_of, region_of

Step = dict[str, Any]

ABSENT = 2**64 - 1
"""Offset and length of a missing chunk in the index of a shard."""


ROUNDINGS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "nearest-even": lambda values: np.rint(values),
    "towards-zero": lambda values: np.trunc(values),
    "towards-positive": lambda values: np.ceil(values),
    "towards-negative": lambda values: np.floor(values),
    "nearest-away": lambda values: np.copysign(np.floor(np.abs(values) + 0.5), values),
}
"""Rounding modes by name."""


def decoded(data: bytes, steps: Sequence[Config], itemsize: int, size: int | None) -> bytes:
    """Undo all steps, those that change arrays included. Raises one of `DECODING_ERRORS`.

    `itemsize`: bytes of a decoded element; `size`: approximate decoded bytes, None
    if unknown.
    """
    limit = LARGEST if size is None else 2 * size + SLACK
    for step in reversed(steps):
        undo = _UNDO.get(str(step.get("id")))
        data = decode.decoded(data, (step,), itemsize, size) if undo is None else undo(step, data, limit)
    return data


def index_table(data: bytes, steps: Sequence[Config], count: int) -> NDArray[np.uint64]:
    """Decode the index of a shard: offset and length of each chunk, one after the other, shape `(2 * count,)`.

    Raises one of `DECODING_ERRORS`, also if chunks share bytes.
    """
    plain = decode.decoded(data, steps[1:], 8, 16 * count)
    table = np.frombuffer(plain, ">u8" if steps[0].get("endian") == "big" else "<u8", 2 * count)
    if _overlap(table[0::2], table[1::2]):
        raise ValueError("the index of the shard points at the same bytes more than once")
    return table


def index_size(steps: Sequence[Config], count: int) -> int:
    """Return the bytes of the index of a shard with so many chunks."""
    return 16 * count + (4 if len(steps) > 1 else 0)


def _overlap(offset: NDArray[np.uint64], length: NDArray[np.uint64]) -> bool:
    """Return whether chunks share bytes; else a few bytes could expand to any number of chunks.

    No writer does that. `offset`, `length`: uint64, shape (chunks,).
    """
    there = (offset != ABSENT) & (length > 0)
    begin, size = offset[there].astype(np.uint64), length[there].astype(np.uint64)
    order = np.argsort(begin, kind="stable")
    begin, size = begin[order], size[order]
    return bool((begin[1:] - begin[:-1] < size[:-1]).any())


def shard_step(
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    inner: Sequence[Config],
    permutation: tuple[int, ...] | None,
    itemsize: int,
    index_steps: Sequence[Config],
    *,
    index_first: bool,
) -> Step:
    """Return the step for shards of this shape. `itemsize`: 0 for variable-length texts. `with_fill` adds the fill."""
    return {
        "id": "sharding_indexed",
        "shape": shape,
        "chunks": chunks,
        "steps": tuple(inner),
        "permutation": permutation,
        "itemsize": itemsize,
        "index_steps": tuple(index_steps),
        "index_first": index_first,
        "fill": bytes(itemsize),
    }


def _unsharded(step: Config, data: bytes, limit: int) -> bytes:
    """Return all elements of a shard; missing chunks have the fill value."""
    shape, chunks, itemsize = step["shape"], step["chunks"], step["itemsize"]
    count = math.prod(grid_of(shape, chunks))
    size = index_size(step["index_steps"], count)
    if len(data) < size:
        raise ValueError("the shard is shorter than its index")
    if math.prod(shape) * max(1, itemsize) > limit:
        raise ValueError(TOO_MUCH)
    index = data[:size] if step["index_first"] else data[len(data) - size :]
    table = index_table(index, step["index_steps"], count).tolist()
    out = np.empty(shape, dtype=f"V{itemsize}" if itemsize else object)
    out[...] = np.frombuffer(step["fill"], f"V{itemsize}")[0] if itemsize else step["fill"]
    for place, number in enumerate(every_block(shape, chunks)):
        offset, length = table[2 * place : 2 * place + 2]
        if offset == length == ABSENT:
            continue
        if offset + length > len(data):
            raise ValueError("the index points beyond the end of the shard")
        out[region_of(number, chunks, shape)] = _inner_chunk(step, data[offset : offset + length])
    if itemsize:
        whole: bytes = out.tobytes()
        return whole
    texts: list[bytes] = out.ravel().tolist()
    return struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(text)) + text for text in texts)


def _inner_chunk(step: Config, data: bytes) -> NDArray[Any]:
    """Return a chunk of a shard as an array of `V` elements or texts."""
    chunks, permutation, itemsize = step["chunks"], step["permutation"], step["itemsize"]
    count = math.prod(chunks)
    plain = decoded(data, step["steps"], itemsize or 1, count * itemsize or None)
    if itemsize:
        if len(plain) != count * itemsize:
            raise ValueError(misfit(len(plain), count * itemsize))
        flat: NDArray[Any] = np.frombuffer(plain, f"V{itemsize}", count)
    else:
        flat = np.empty(count, object)
        flat[:] = decode.texts_of(plain, count)
    if permutation is None:
        return flat.reshape(chunks)
    return flat.reshape([chunks[axis] for axis in permutation]).transpose(np.argsort(permutation))


def transpose_step(shape: tuple[int, ...], order: tuple[int, ...]) -> Step:
    """Return the step that transposes an array of this shape to `order`."""
    return {"id": "transpose", "shape": shape, "order": order}


def _untransposed(step: Config, data: bytes, limit: int) -> bytes:
    shape, order = step["shape"], step["order"]
    count = math.prod(shape)
    if not count or len(data) % count:
        raise ValueError(misfit(len(data), count))
    values = np.frombuffer(data, f"V{len(data) // count}", count).reshape([shape[axis] for axis in order])
    return values.transpose(np.argsort(order)).tobytes()


def scale_step(dtype: str, offset: Any, scale: Any) -> Step:
    """Return the step that stores `(x - offset) * scale`, in the arithmetic of a little-endian dtype."""
    return {"id": "scale_offset", "dtype": dtype, "stored": dtype, "offset": offset, "scale": scale}


def _unscaled(step: Config, data: bytes, limit: int) -> bytes:
    """Return `x / scale + offset`. Raises ValueError for inexact integers, and those out of range."""
    values = np.frombuffer(data, step["stored"]).astype(step["dtype"])
    offset, scale = step["offset"], step["scale"]
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):
            unscaled: bytes = (values / values.dtype.type(scale) + values.dtype.type(offset)).tobytes()
        return unscaled
    if not values.size:
        return b""
    wide = values.astype(object)
    if (wide % scale).any():
        raise ValueError(f"a stored value is not a multiple of the scale {scale}")
    return _in_range(wide // scale + offset, values.dtype).tobytes()


def scaled(step: Config, data: bytes) -> bytes:
    """Encode one element by a scale step. Raises ValueError if it is out of range."""
    values = np.frombuffer(data, step["dtype"])
    offset, scale = step["offset"], step["scale"]
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):
            encoded_values = (values - values.dtype.type(offset)) * values.dtype.type(scale)
    else:
        encoded_values = _in_range((values.astype(object) - offset) * scale, values.dtype)
    encoded: bytes = encoded_values.astype(step["stored"]).tobytes()
    return encoded


def _in_range(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return Python integers as a dtype. Raises ValueError for one out of range."""
    info = np.iinfo(dtype)
    if values.min() < info.min or values.max() > info.max:
        raise ValueError(f"a value is out of range for {dtype.name}")
    return values.astype(dtype)


def cast_step(dtype: str, stored: str, rounding: str, out_of_range: str | None, maps: dict[str, list[Any]]) -> Step:
    """Return the step that stores elements of `dtype` as `stored`; both are little-endian.

    `maps`: pairs of values for `encode` and `decode`.
    """
    return {
        "id": "cast_value",
        "dtype": dtype,
        "stored": stored,
        "rounding": rounding,
        "out_of_range": out_of_range,
        "maps": maps,
    }


def _uncast(step: Config, data: bytes, limit: int) -> bytes:
    values = np.frombuffer(data, step["stored"])
    return _cast(step, values, np.dtype(step["dtype"]), step["maps"].get("decode", ())).tobytes()


def cast(step: Config, data: bytes) -> bytes:
    """Encode one element by a cast step. Raises ValueError if it does not fit."""
    values = np.frombuffer(data, step["dtype"])
    return _cast(step, values, np.dtype(step["stored"]), step["maps"].get("encode", ())).tobytes()


def _cast(step: Config, values: NDArray[Any], dtype: np.dtype[Any], pairs: Sequence[Any]) -> NDArray[Any]:
    """Convert numbers by the rules of the step. Raises ValueError for a number that does not fit."""
    out = np.empty(values.shape, dtype)
    free = np.ones(values.shape, bool)
    for old, new in pairs:
        same = np.isnan(values) if old != old else values == old
        out[same & free] = new
        free &= ~same
    out[free] = _converted(values[free], dtype, step["rounding"], step["out_of_range"])
    return out


def _converted(values: NDArray[Any], dtype: np.dtype[Any], rounding: str, out_of_range: str | None) -> NDArray[Any]:
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            rounded = values.astype(dtype)
        beyond = np.isinf(rounded) & np.isfinite(values.astype("f8"))
        if beyond.any():
            if out_of_range != "clamp":
                raise ValueError(f"a value is out of range for {dtype.name}")
            rounded[beyond] = np.copysign(np.finfo(dtype).max, rounded[beyond])
        back = rounded.astype(values.dtype)
        if rounding != "nearest-even" and ((back != values) & (values == values)).any():
            raise ValueError(f"rounding {rounding} to {dtype.name} is not supported")
        return rounded
    finite = bool(np.isfinite(values).all())
    if not finite and (out_of_range != "clamp" or np.isnan(values).any()):
        raise ValueError("a value that is not finite has no integer")
    if values.dtype.kind == "f":
        values = ROUNDINGS[rounding](values)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not values.size or (finite and low <= int(values.min()) and int(values.max()) <= high):
        return values.astype(dtype)
    if out_of_range == "clamp":
        return np.array([int(min(max(value, low), high)) for value in values.tolist()], object).astype(dtype)
    if out_of_range == "wrap":
        modulus = high - low + 1
        return np.array([(int(value) - low) % modulus + low for value in values.tolist()], object).astype(dtype)
    raise ValueError(f"a value is out of range for {dtype.name}")


def dtypes_of(step: Config) -> tuple[str, str] | None:
    """Return the stored and the decoded dtype of a step that names dtypes, else None.

    Raises ValueError or TypeError for a dtype that is not of numbers.
    """
    match step.get("id"):
        case "scale_offset" | "cast_value":
            pair = step["stored"], step["dtype"]
        case "astype":
            pair = step.get("encode_dtype"), step.get("decode_dtype")
        case "delta" | "fixedscaleoffset" | "quantize":
            pair = step.get("astype") or step.get("dtype"), step.get("dtype")
        case _:
            return None
    stored, decoded = (np.dtype(name) if isinstance(name, str) else np.dtype("V") for name in pair)
    if stored.kind not in "biufc" or decoded.kind not in "biufc":
        raise ValueError(f"codec `{step['id']}` does not have dtypes of numbers")
    return stored.str, decoded.str


def in_order_of(steps: Sequence[Step], *, big: bool) -> tuple[tuple[Step, ...], bool]:
    """Return the steps with swaps of bytes where neighbours differ in byte order, and whether decoded elements are big.

    `big`: the byte order of the stored elements. A step that names dtypes reads and makes the byte order of these.
    """
    ordered_steps: list[Step] = []
    for step in reversed(steps):
        dtypes = dtypes_of(step)
        if dtypes is not None:
            stored, decoded = dtypes
            if stored[0] == ("<" if big else ">"):
                ordered_steps.append({"id": "byteswap", "dtype": stored})
            big = decoded[0] == ">"
        ordered_steps.append(step)
    return tuple(reversed(ordered_steps)), big


def _swapped(step: Config, data: bytes, limit: int) -> bytes:
    """Return elements in the other byte order."""
    return np.frombuffer(data, step["dtype"]).byteswap().tobytes()


def with_fill(steps: Sequence[Step], fill: bytes) -> tuple[Step, ...]:
    """Return the steps with the fill value of shards: one stored element, or a text, before encoding.

    Raises ValueError if a step cannot encode it.
    """
    filled_steps: list[Step] = []
    for step in steps:
        match step.get("id"):
            case "scale_offset":
                fill = scaled(step, fill)
            case "cast_value":
                fill = cast(step, fill)
            case "astype":
                stored, decoded = dtypes_of(step) or ("", "")
                fill = np.frombuffer(fill, decoded).astype(stored).tobytes()
            case "byteswap":
                fill = _swapped(step, fill, len(fill))
            case "sharding_indexed" if "shape" in step:
                step = {**step, "fill": fill, "steps": with_fill(step["steps"], fill)}
        filled_steps.append(step)
    return tuple(filled_steps)


_UNDO: dict[str, Callable[[Config, bytes, int], bytes]] = {
    "sharding_indexed": _unsharded,
    "transpose": _untransposed,
    "scale_offset": _unscaled,
    "cast_value": _uncast,
    "byteswap": _swapped,
}
"""Decoders by id."""
