"""Numbers of Zarr v3 in other forms: `cast_value`, in another type, and `scale_offset`, as `(x - offset) * scale`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nczarr.arrays.codecs.table import CodecKind, Config, Step, UnsupportedConfigurationError
from nczarr.arrays.lazy_numpy import NDArray, np

ROUNDINGS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "nearest-even": lambda values: np.rint(values),
    "towards-zero": lambda values: np.trunc(values),
    "towards-positive": lambda values: np.ceil(values),
    "towards-negative": lambda values: np.floor(values),
    "nearest-away": lambda values: np.copysign(np.floor(np.abs(values) + 0.5), values),
}
"""Rounding modes by name."""


class CastValue(CodecKind):
    """Numbers of another type, converted by the rules of the step."""

    config_id = "cast_value"
    changes_arrays = True

    def read(
        self, configuration: Config, stored: str, scalar: Callable[[Any, str], Any], dtype: Callable[[Any], Any]
    ) -> Step:
        """Return the step of a codec from its configuration in `zarr.json`. Raises ValueError."""
        target = dtype(configuration.get("data_type"))
        rounding, out_of_range = configuration.get("rounding", "nearest-even"), configuration.get("out_of_range")
        if not isinstance(target, str) or target[1] not in "iuf":
            raise ValueError("the data type is not of numbers")
        if rounding not in ROUNDINGS or out_of_range not in (None, "clamp", "wrap"):
            raise UnsupportedConfigurationError("a rule of `cast_value` is unknown")
        maps = configuration.get("scalar_map") or {}
        mapping = {
            "encode": [(scalar(old, stored), scalar(new, target)) for old, new in maps.get("encode") or ()],
            "decode": [(scalar(old, target), scalar(new, stored)) for old, new in maps.get("decode") or ()],
        }
        return cast_step(stored, target, rounding, out_of_range, mapping)

    def dtypes(self, step: Config) -> tuple[Any, Any] | None:
        return step["stored"], step["dtype"]

    def is_lossy(self, step: Config) -> bool:
        return bool(step["maps"]) or not np.can_cast(np.dtype(step["dtype"]), np.dtype(step["stored"]))

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        values = np.frombuffer(data, step["stored"])
        return _cast(step, values, np.dtype(step["dtype"]), step["maps"].get("decode", ())).tobytes()

    def with_fill(self, step: Step, fill: bytes) -> tuple[Step, bytes]:
        values = np.frombuffer(fill, step["dtype"])
        return step, _cast(step, values, np.dtype(step["stored"]), step["maps"].get("encode", ())).tobytes()


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


def _cast(step: Config, values: NDArray[Any], dtype: np.dtype[Any], pairs: Sequence[Any]) -> NDArray[Any]:
    """Convert numbers by the rules of the step. Raises ValueError for a number that does not fit."""
    out = np.empty(values.shape, dtype)
    free = np.ones(values.shape, bool)
    for old, new in pairs:
        same = np.isnan(values) if old != old else values == old
        out[same & free] = new
        free &= ~same
    out[free] = _convert(values[free], dtype, step["rounding"], step["out_of_range"])
    return out


def _convert(values: NDArray[Any], dtype: np.dtype[Any], rounding: str, out_of_range: str | None) -> NDArray[Any]:
    """Convert numbers to a dtype by the rules of `cast_value`. Raises ValueError for unsuitable ones."""
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


CAST_VALUE = CastValue()


class ScaleOffset(CodecKind):
    """Scaled numbers, in the arithmetic of their little-endian dtype."""

    config_id = "scale_offset"
    changes_arrays = True

    def read(
        self, configuration: Config, stored: str, scalar: Callable[[Any, str], Any], dtype: Callable[[Any], Any]
    ) -> Step:
        """Return the step of a codec from its configuration in `zarr.json`. Raises ValueError."""
        offset, scale = (
            scalar(configuration.get(member, default), stored) for member, default in (("offset", 0), ("scale", 1))
        )
        if scale == 0 and stored[1] != "f":
            raise ValueError("the scale is 0")
        return scale_step(stored, offset, scale)

    def dtypes(self, step: Config) -> tuple[Any, Any] | None:
        return step["stored"], step["dtype"]

    def is_lossy(self, step: Config) -> bool:
        """Return whether the numbers are floats: scaled integers are exact, or refused."""
        return np.dtype(step["dtype"]).kind == "f"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
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

    def with_fill(self, step: Step, fill: bytes) -> tuple[Step, bytes]:
        """Return the step, and the fill value as it is stored; both fill values are bytes."""
        values = np.frombuffer(fill, step["dtype"])
        offset, scale = step["offset"], step["scale"]
        if values.dtype.kind == "f":
            with np.errstate(all="ignore"):
                encoded_values = (values - values.dtype.type(offset)) * values.dtype.type(scale)
        else:
            encoded_values = _in_range((values.astype(object) - offset) * scale, values.dtype)
        return step, encoded_values.astype(step["stored"]).tobytes()


def scale_step(dtype: str, offset: Any, scale: Any) -> Step:
    """Return the step that stores `(x - offset) * scale`, in the arithmetic of a little-endian dtype."""
    return {"id": "scale_offset", "dtype": dtype, "stored": dtype, "offset": offset, "scale": scale}


def _in_range(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return Python integers as a dtype. Raises ValueError for one out of range."""
    info = np.iinfo(dtype)
    if values.min() < info.min or values.max() > info.max:
        raise ValueError(f"a value is out of range for {dtype.name}")
    return values.astype(dtype)


SCALE_OFFSET = ScaleOffset()
