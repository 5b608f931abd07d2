"""`scale_offset` of Zarr v3: numbers stored as `(x - offset) * scale`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nczarr.arrays.codecs.table import CodecKind, Config, Step
from nczarr.arrays.lazy_numpy import NDArray, np


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
